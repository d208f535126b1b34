/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c: files of a process or of a job, added up over kinds of records and processes
 * when they are asked for. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "look/known.h"

/* a file while it is added up */
struct sum {
	uint64_t id;
	struct rama_look_io disk, mpi, disk_gain, mpi_gain;
	double longest;
	const struct rama_look_process *last; /* that had it */
	uint32_t name, processes;	      /* name: in the segment of `last` */
	double key;
};

struct sums {
	struct rama_map by_id;
	struct sum *sum;
	size_t n, room;
};

static struct sum *sum_of(struct sums *s, const struct rama_look_process *p,
			  const struct rama_look_slot *slot)
{
	bool fresh;
	uint64_t *at = rama_map_put(&s->by_id, slot->id, &fresh);
	struct sum *f;

	if (at == NULL)
		return NULL;
	if (fresh) {
		if (!RAMA_GROW(s->sum, s->room, s->n + 1))
			return NULL;
		*at = s->n++;
		s->sum[*at] = (struct sum){ .id = slot->id };
	}
	f = &s->sum[*at];
	if (f->last != p) {
		f->last = p;
		f->name = slot->name;
		f->processes++;
	}
	return f;
}

/* known: only of files that are in the list already */
static int add_totals(struct sums *s, const struct rama_look_process *p, bool known)
{
	const struct rama_look_seg *g = p->seg;

	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++) {
		bool mpi = k == RAMA_SEG_KIND_MPIIO;

		for (uint32_t i = 0; rama_look_is_file(k) && i < g->n_slots[k]; i++) {
			const struct rama_look_slot *slot = &g->slot[k][i];
			struct sum *f;

			if (slot->name == 0 || rama_look_ops(&slot->io) == 0 ||
			    (known && rama_map_get(&s->by_id, slot->id) == NULL))
				continue;
			f = sum_of(s, p, slot);
			if (f == NULL)
				return RAMA_EMEMORY;
			rama_look_io_add(mpi ? &f->mpi : &f->disk, &slot->io);
			f->longest = slot->longest > f->longest ? slot->longest : f->longest;
		}
	}
	return 0;
}

/* the same of what it did since the look before */
static int add_gains(struct sums *s, const struct rama_look_process *p)
{
	const struct rama_look_seg *g = p->seg;

	for (size_t i = 0; i < g->n_touched; i++) {
		const struct rama_look_touched *t = &g->touched[i];
		struct sum *f = sum_of(s, p, &g->slot[t->kind][t->slot]);

		if (f == NULL)
			return RAMA_EMEMORY;
		rama_look_io_add(t->kind == RAMA_SEG_KIND_MPIIO ? &f->mpi_gain : &f->disk_gain,
				 &t->gain);
	}
	return 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

static bool by_mpi(const struct sum *f)
{
	return rama_look_time(&f->mpi) > rama_look_time(&f->disk);
}

static const struct rama_look_io *top(const struct sum *f)
{
	return by_mpi(f) ? &f->mpi : &f->disk;
}

static const struct rama_look_io *top_gain(const struct sum *f)
{
	return by_mpi(f) ? &f->mpi_gain : &f->disk_gain;
}

static double bytes_of(const struct rama_look_io *io)
{
	return (double)io->bytes_read + (double)io->bytes_written;
}

/* by what it did since the last look; without that, by what it did at all */
static double key_of(const struct sum *f, enum rama_look_order order)
{
	const struct rama_look_io *g = top_gain(f), *t = top(f);

	switch (order) {
	case RAMA_LOOK_BY_RATE:
		return bytes_of(g);
	case RAMA_LOOK_BY_OPS:
		return (double)rama_look_ops(g);
	case RAMA_LOOK_BY_TIME:
		return rama_look_time(g);
	case RAMA_LOOK_BY_BYTES:
		return bytes_of(t);
	case RAMA_LOOK_BY_NAME:
		break;
	}
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;
	double tx, ty;

	if (x->key != y->key)
		return x->key > y->key ? -1 : 1;
	tx = rama_look_time(top(x));
	ty = rama_look_time(top(y));
	if (tx != ty)
		return tx > ty ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int by_name(const void *a, const void *b)
{
	const struct rama_look_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int tell(struct rama_look_files *to, const struct sums *s, size_t n)
{
	char name[4097];

	to->file = calloc(n + 1, sizeof(*to->file));
	for (size_t i = 0; to->file != NULL && i < n; i++) {
		const struct sum *f = &s->sum[i];

		rama_look_seg_name(f->last->seg, f->name, name, sizeof(name));
		to->file[i] = (struct rama_look_file){ .id = f->id,
						       .name = strdup(name),
						       .total = *top(f),
						       .gain = *top_gain(f),
						       .longest = f->longest,
						       .processes = f->processes };
		if (to->file[i].name == NULL)
			return RAMA_EMEMORY;
		to->n++;
	}
	return to->file != NULL ? 0 : RAMA_EMEMORY;
}

/* the first `most`; ends the sums */
static int finish(struct rama_look_files *f, struct sums *s, enum rama_look_order order,
		  size_t most, int rc, struct rama_err *e)
{
	for (size_t i = 0; i < s->n; i++)
		s->sum[i].key = key_of(&s->sum[i], order);
	if (s->n > 1)
		qsort(s->sum, s->n, sizeof(*s->sum), by_key);
	f->of = s->n;
	if (rc == 0)
		rc = tell(f, s, s->n < most ? s->n : most);
	if (order == RAMA_LOOK_BY_NAME && rc == 0 && f->n > 1)
		qsort(f->file, f->n, sizeof(*f->file), by_name);
	rama_map_fini(&s->by_id);
	free(s->sum);
	if (rc == 0)
		return 0;
	rama_look_files_fini(f);
	return rama_err_set(e, rc, "out of memory");
}

static int copy_told(struct rama_look_files *f, const struct rama_look_files *told, size_t most,
		     struct rama_err *e)
{
	f->file = calloc(told->n + 1, sizeof(*f->file));
	f->of = told->of;
	for (size_t i = 0; f->file != NULL && i < told->n && i < most; i++) {
		f->file[i] = told->file[i];
		f->file[i].name = strdup(told->file[i].name);
		if (f->file[i].name == NULL)
			break;
		f->n++;
	}
	if (f->file != NULL && f->n == (told->n < most ? told->n : most))
		return 0;
	rama_look_files_fini(f);
	return rama_err_no_memory(e);
}

int rama_look_files(struct rama_look_files *f, const struct rama_look_job *j,
		    const struct rama_look_process *p, enum rama_look_order order, size_t most,
		    struct rama_err *e)
{
	struct sums s = { 0 };
	int rc = 0;

	*f = (struct rama_look_files){ 0 };
	if (j->told != NULL)
		return copy_told(f, j->told, most, e);
	for (size_t i = 0; rc == 0 && i < (p != NULL ? 1 : j->n); i++) {
		const struct rama_look_process *of = p != NULL ? p : j->process[i];

		rc = add_totals(&s, of, false);
		if (rc == 0)
			rc = add_gains(&s, of);
	}
	return finish(f, &s, order, most, rc, e);
}

int rama_look_files_moving(struct rama_look_files *f, const struct rama_look_process *const *p,
			   size_t n, size_t most, struct rama_err *e)
{
	struct sums s = { 0 };
	int rc = 0;

	*f = (struct rama_look_files){ 0 };
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = add_gains(&s, p[i]);
	for (size_t i = 0; i < s.n; i++) /* they are counted with their totals */
		s.sum[i].processes = 0, s.sum[i].last = NULL;
	for (size_t i = 0; rc == 0 && s.n > 0 && i < n; i++)
		rc = add_totals(&s, p[i], true);
	return finish(f, &s, RAMA_LOOK_BY_RATE, most, rc, e);
}

void rama_look_files_fini(struct rama_look_files *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->file[i].name);
	free(f->file);
	*f = (struct rama_look_files){ 0 };
}
