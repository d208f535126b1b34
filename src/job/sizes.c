/* SPDX-License-Identifier: BSD-3-Clause */
/* sizes.c: how many accesses of which size, and about how many bytes they moved. */
#include "job/parts.h"

/* upper ends of the classes, which belong to them */
static const double ends[RAMA_JOB_SIZE_BINS] = { 100,	     1024,	10240,	  102400,
						 1048576,    4194304,	10485760, 104857600,
						 1073741824, 8589934592 };

static const struct {
	uint8_t layer;
	uint16_t first[2]; /* words of the classes: 0 writes, 1 reads */
} where[] = {
	{ RAMA_JOB_LAYER_POSIX,
	  { RAMA_TAB_POSIX_SIZE_WRITE_0_100, RAMA_TAB_POSIX_SIZE_READ_0_100 } },
	{ RAMA_JOB_LAYER_MPIIO,
	  { RAMA_TAB_MPIIO_SIZE_WRITE_AGG_0_100, RAMA_TAB_MPIIO_SIZE_READ_AGG_0_100 } },
	{ RAMA_JOB_LAYER_H5D,
	  { RAMA_TAB_H5D_SIZE_WRITE_AGG_0_100, RAMA_TAB_H5D_SIZE_READ_AGG_0_100 } },
	{ RAMA_JOB_LAYER_PNETCDF_VAR,
	  { RAMA_TAB_PNETCDF_VAR_SIZE_WRITE_AGG_0_100, RAMA_TAB_PNETCDF_VAR_SIZE_READ_AGG_0_100 } },
	{ RAMA_JOB_LAYER_DFS, { RAMA_TAB_DFS_SIZE_WRITE_0_100, RAMA_TAB_DFS_SIZE_READ_0_100 } },
	{ RAMA_JOB_LAYER_DAOS, { RAMA_TAB_DAOS_SIZE_WRITE_0_100, RAMA_TAB_DAOS_SIZE_READ_0_100 } },
};

unsigned rama_job_size_class(int64_t length)
{
	unsigned i = 0;

	while (i < RAMA_JOB_SIZE_BINS - 1 && (double)length > ends[i])
		i++;
	return i;
}

/* mean size of the accesses of a class: from the frequent sizes in it, else the middle */
static double mean_size(const struct rama_core_top *top, const union rama_core_word *w,
			unsigned class)
{
	double low = class > 0 ? ends[class - 1] : 0, n = 0, sum = 0;

	for (unsigned i = 0; top->width > 0 && i < 4; i++) {
		double size = (double)w[top->value[i]].i, count = (double)w[top->count[i]].i;

		if (count > 0 && size > low && size <= ends[class]) {
			n += count;
			sum += count * size;
		}
	}
	return n > 0 ? sum / n : (low + ends[class]) / 2;
}

/* Guesses are made to add up to what was moved, each kept within its class as far as that is
 * possible. */
static void fit(const double count[RAMA_JOB_SIZE_BINS], double bytes[RAMA_JOB_SIZE_BINS],
		double total)
{
	for (unsigned round = 0; round < 8; round++) {
		double sum = 0, room = 0, missing;

		for (unsigned i = 0; i < RAMA_JOB_SIZE_BINS; i++)
			sum += bytes[i];
		missing = total - sum;
		for (unsigned i = 0; i < RAMA_JOB_SIZE_BINS; i++)
			room += missing > 0 ? count[i] * ends[i] - bytes[i]
					    : bytes[i] - count[i] * (i > 0 ? ends[i - 1] : 0);
		if (room <= 0 || missing == 0)
			return;
		missing = missing > room ? room : missing < -room ? -room : missing;
		for (unsigned i = 0; i < RAMA_JOB_SIZE_BINS; i++) {
			double own = missing > 0 ? count[i] * ends[i] - bytes[i]
						 : bytes[i] - count[i] * (i > 0 ? ends[i - 1] : 0);

			bytes[i] += missing * own / room;
		}
	}
}

static void add_record(struct rama_job_view_layer *l, const struct rama_core_plan *p,
		       unsigned first, unsigned kind, const union rama_core_word *w)
{
	double count[RAMA_JOB_SIZE_BINS], bytes[RAMA_JOB_SIZE_BINS];
	int64_t total = w[kind == 1 ? p->bytes_read : p->bytes_written].i;
	double any = 0;

	for (unsigned i = 0; i < RAMA_JOB_SIZE_BINS; i++) {
		int64_t n = w[first + i].i;

		count[i] = n > 0 ? (double)n : 0;
		any += count[i];
		if (n > 0)
			l->size_count[kind][i] += (uint64_t)n;
		bytes[i] = n > 0 ? count[i] * mean_size(&p->access, w, i) : 0;
	}
	if (any == 0 || total <= 0)
		return;
	fit(count, bytes, (double)total);
	for (unsigned i = 0; i < RAMA_JOB_SIZE_BINS; i++)
		l->size_bytes[kind][i] += bytes[i];
}

void rama_job_view_sizes_finish(struct rama_job_view *v)
{
	for (unsigned i = 0; i < sizeof(where) / sizeof(where[0]); i++) {
		struct rama_job_view_layer *l = &v->layer[where[i].layer];
		const struct rama_core_plan *p = &v->work->plan[where[i].layer];

		l->sizes = l->used;
		for (size_t f = 0; l->used && f < v->n_files; f++) {
			const union rama_core_word *w = v->files[f].rec[where[i].layer];

			if (w == NULL || v->files[f].pseudo)
				continue;
			add_record(l, p, where[i].first[0], 0, w);
			add_record(l, p, where[i].first[1], 1, w);
		}
	}
}
