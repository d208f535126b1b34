/* SPDX-License-Identifier: BSD-3-Clause */
/* facts_ost.c: storage targets compared. A file that lies on one target alone tells how fast
 * that target is; only files of about the same size are compared, as if all had that size, so
 * that more data does not look like a slow disk. */
#include <math.h>
#include <stdlib.h>

#include "diagnose/facts.h"

struct target {
	int64_t ost;
	double files, time, bytes, slowest;
	double mean, cost; /* seconds of a file, and as if all files had the same size */
};

static int by_ost(const void *a, const void *b)
{
	int64_t x = ((const struct target *)a)->ost, y = ((const struct target *)b)->ost;

	return (x > y) - (x < y);
}

static int by_cost(const void *a, const void *b)
{
	double x = ((const struct target *)a)->cost, y = ((const struct target *)b)->cost;

	return (x > y) - (x < y);
}

/* files on one target alone, one row of each; returns how many rows */
static size_t lonely_files(const struct rama_diag_facts *f, struct target *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < f->view->n_files; i++) {
		const struct rama_job_view_file *file = &f->view->files[i];
		struct rama_diag_sums x;

		if (file->pseudo || file->stripes == NULL || file->stripes->n_osts != 1)
			continue;
		rama_diag_facts_file(f, file, &x);
		if (x.disk_bytes <= 0)
			continue;
		/* of a file that several ranks use, time is added over them */
		x.disk_time /= fmax(1, file->ranks);
		rows[n++] = (struct target){
			file->stripes->osts[0], 1, x.disk_time, x.disk_bytes, x.disk_time, 0, 0
		};
	}
	return n;
}

/* keeps files between a quarter and four times the size that most bytes lie in */
static size_t alike(struct target *rows, size_t n)
{
	double bytes = 0, square = 0, size;
	size_t out = 0;

	for (size_t i = 0; i < n; i++) {
		bytes += rows[i].bytes;
		square += rows[i].bytes * rows[i].bytes;
	}
	size = bytes > 0 ? square / bytes : 0;
	for (size_t i = 0; i < n; i++)
		if (rows[i].bytes >= size / 4 && rows[i].bytes <= size * 4)
			rows[out++] = rows[i];
	return out;
}

/* rows of the same target become one */
static size_t join(struct target *rows, size_t n)
{
	size_t out = 0;

	qsort(rows, n, sizeof(*rows), by_ost);
	for (size_t i = 0; i < n; i++) {
		if (out > 0 && rows[out - 1].ost == rows[i].ost) {
			rows[out - 1].files++;
			rows[out - 1].time += rows[i].time;
			rows[out - 1].bytes += rows[i].bytes;
			rows[out - 1].slowest = fmax(rows[out - 1].slowest, rows[i].slowest);
		} else {
			rows[out++] = rows[i];
		}
	}
	return out;
}

static void compare(struct rama_diag_facts *f, struct target *rows, size_t n)
{
	double files = 0, bytes = 0, median;
	const struct target *worst = &rows[n - 1];

	for (size_t i = 0; i < n; i++) {
		files += rows[i].files;
		bytes += rows[i].bytes;
	}
	for (size_t i = 0; i < n; i++) {
		rows[i].mean = rows[i].time / rows[i].files;
		rows[i].cost = rows[i].time / rows[i].bytes * (bytes / files);
	}
	qsort(rows, n, sizeof(*rows), by_cost);
	median = rows[n / 2].cost;
	f->known_targets = (double)n;
	f->slow_target = (double)worst->ost;
	f->slow_target_time = worst->slowest;
	f->slow_target_mean = worst->mean;
	f->slow_target_files = worst->files;
	f->other_target_time = rows[n / 2].mean;
	f->target_ratio = median > 0 ? worst->cost / median : 0;
	for (size_t i = 0; i < n; i++) {
		if (rows[i].cost >= f->limits.slow_target * median && median > 0)
			f->slow_targets++;
		else
			f->other_target_slowest = fmax(f->other_target_slowest, rows[i].slowest);
	}
}

static void skew(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	double all = 0, most = 0;

	for (size_t i = 0; i < v->n_osts; i++) {
		all += v->osts[i].bytes;
		if (v->osts[i].bytes > most) {
			most = v->osts[i].bytes;
			f->full_target = (double)v->osts[i].ost;
		}
	}
	f->targets = (double)v->n_osts;
	if (all > 0)
		f->target_skew = most / (all / (double)v->n_osts);
}

int rama_diag_facts_targets(struct rama_diag_facts *f)
{
	struct target *rows;
	size_t n;

	skew(f);
	if (f->view->n_osts == 0)
		return 0;
	rows = malloc(f->view->n_files * sizeof(*rows));
	if (rows == NULL)
		return RAMA_EMEMORY;
	n = join(rows, alike(rows, lonely_files(f, rows)));
	if (n > 1)
		compare(f, rows, n);
	free(rows);
	return 0;
}
