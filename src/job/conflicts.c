/* SPDX-License-Identifier: BSD-3-Clause */
/* conflicts.c: ranks that write the same bytes of a file, or read what another has written, with no
 * sync and no close between. Accesses of a rank that follow each other become one run; runs are
 * sorted by place, and each is compared with those that reach furthest before it. What cannot be
 * told for sure is not told. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "job/times.h"

#define RUNS_MOST 131072 /* of a job; what comes after is not compared */

/* neighbouring accesses of one rank */
struct rama_job_run {
	uint32_t file;
	int32_t rank;
	int64_t from, to; /* to: behind its last byte */
	double start, end;
	uint8_t kind; /* 0 write, 1 read */
};

/* Files that several ranks use, and some write */
bool rama_job_runs_wanted(const struct rama_job_view *v, uint32_t file)
{
	const struct rama_job_view_file *f = &v->files[file];
	const union rama_core_word *w = f->rec[RAMA_JOB_LAYER_POSIX];

	return w != NULL && !f->pseudo && !f->folded && f->cover[RAMA_JOB_LAYER_POSIX] > 1 &&
	       w[RAMA_TAB_POSIX_BYTES_WRITTEN].i > 0;
}

int rama_job_runs_add(struct rama_job_trace *t, const struct rama_job_access *a)
{
	struct rama_job_run *last = t->n_runs > 0 ? &t->runs[t->n_runs - 1] : NULL;

	if (a->length <= 0 || a->offset < 0 || a->offset > INT64_MAX - a->length || a->rank < 0)
		return 0;
	if (last != NULL && last->file == a->file && last->rank == a->rank &&
	    last->kind == a->kind && last->to == a->offset) {
		last->to += a->length;
		last->start = a->start < last->start ? a->start : last->start;
		last->end = a->end > last->end ? a->end : last->end;
		return 0;
	}
	if (t->n_runs == RUNS_MOST)
		return 0;
	if (!RAMA_GROW(t->runs, t->runs_room, t->n_runs + 1))
		return RAMA_EMEMORY;
	t->runs[t->n_runs++] = (struct rama_job_run){ .file = a->file,
						      .rank = (int32_t)a->rank,
						      .from = a->offset,
						      .to = a->offset + a->length,
						      .start = a->start,
						      .end = a->end,
						      .kind = a->kind };
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct rama_job_run *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

static int64_t count_of(const union rama_core_word *w, unsigned word)
{
	return w != NULL && w[word].i > 0 ? w[word].i : 0;
}

/* Nobody synced, locked, or opened it again; below MPI-IO nobody but the ranks themselves decided
 * who writes what. */
static bool plain(const struct rama_job_view_file *f)
{
	const union rama_core_word *w = f->rec[RAMA_JOB_LAYER_POSIX],
				   *own = f->rec[RAMA_JOB_LAYER_EXTRA],
				   *mpi = f->rec[RAMA_JOB_LAYER_MPIIO];
	int64_t opens = count_of(w, RAMA_TAB_POSIX_OPENS) - count_of(w, RAMA_TAB_POSIX_DUPS) -
			count_of(w, RAMA_TAB_POSIX_FILENOS);

	if (count_of(w, RAMA_TAB_POSIX_FSYNCS) + count_of(w, RAMA_TAB_POSIX_FDSYNCS) +
			    count_of(own, RAMA_TAB_EXTRA_RANGE_SYNCS) +
			    count_of(own, RAMA_TAB_EXTRA_MSYNCS) +
			    count_of(own, RAMA_TAB_EXTRA_LOCKS) >
		    0 ||
	    opens != (int64_t)f->cover[RAMA_JOB_LAYER_POSIX])
		return false;
	return mpi == NULL || (count_of(mpi, RAMA_TAB_MPIIO_COLL_WRITES) +
					       count_of(mpi, RAMA_TAB_MPIIO_COLL_READS) +
					       count_of(mpi, RAMA_TAB_MPIIO_SPLIT_WRITES) +
					       count_of(mpi, RAMA_TAB_MPIIO_SPLIT_READS) +
					       count_of(mpi, RAMA_TAB_MPIIO_SYNCS) ==
				       0 &&
			       count_of(w, RAMA_TAB_POSIX_BYTES_READ) <=
				       count_of(mpi, RAMA_TAB_MPIIO_BYTES_READ) &&
			       count_of(w, RAMA_TAB_POSIX_BYTES_WRITTEN) <=
				       count_of(mpi, RAMA_TAB_MPIIO_BYTES_WRITTEN));
}

/* Of those that reach furthest: the first, and the first of another rank */
struct reach {
	const struct rama_job_run *most, *other;
};

static void reach_add(struct reach *r, const struct rama_job_run *x)
{
	if (r->most == NULL || x->to > r->most->to) {
		if (r->most != NULL && r->most->rank != x->rank)
			r->other = r->most;
		r->most = x;
	} else if (x->rank != r->most->rank && (r->other == NULL || x->to > r->other->to)) {
		r->other = x;
	}
}

/* one of another rank that has bytes of x, NULL: there is none */
static const struct rama_job_run *reach_find(const struct reach *r, const struct rama_job_run *x)
{
	const struct rama_job_run *found =
		r->most != NULL && r->most->rank != x->rank ? r->most : r->other;

	return found != NULL && found->rank != x->rank && found->to > x->from ? found : NULL;
}

static void tell(struct rama_job_view_conflict *c, const struct rama_job_run *a,
		 const struct rama_job_run *b, double closed)
{
	const struct rama_job_run *first = a->start <= b->start ? a : b, *then = first == a ? b : a;
	int64_t to = a->to < b->to ? a->to : b->to;

	/* Offsets of streams that only append are not known: as if each rank began at 0. A read
	 * before the write is no fault. Who closes first may have closed between. */
	if ((a->from == 0 && b->from == 0) ||
	    (closed > 0 && closed < (a->end > b->end ? a->end : b->end)) ||
	    (first->kind == 1 && first->end <= then->start))
		return;
	c->count++;
	c->bytes = rama_core_add(c->bytes, to - b->from);
	if (c->count > 1)
		return;
	c->from = b->from;
	c->to = to;
	c->rank[0] = first->rank;
	c->rank[1] = then->rank;
	c->kind[0] = first->kind;
	c->kind[1] = then->kind;
	c->start[0] = first->start;
	c->end[0] = first->end;
	c->start[1] = then->start;
	c->end[1] = then->end;
}

/* the runs of one file, in the order of their places */
static int judge(struct rama_job_view *v, const struct rama_job_run *run, size_t n)
{
	struct rama_job_view_file *f = &v->files[run->file];
	double closed = f->rec[RAMA_JOB_LAYER_POSIX][RAMA_TAB_POSIX_F_CLOSE_START_TIMESTAMP].f;
	struct rama_job_view_conflict c = { 0 }, *kept;
	struct reach reach[2] = { { NULL, NULL }, { NULL, NULL } };

	if (!plain(f))
		return 0;
	for (size_t i = 0; i < n; i++) {
		const struct rama_job_run *x = &run[i], *a = reach_find(&reach[0], x);

		if (a == NULL && x->kind == 0)
			a = reach_find(&reach[1], x);
		if (a != NULL)
			tell(&c, a, x, closed);
		reach_add(&reach[x->kind], x);
	}
	if (c.count == 0)
		return 0;
	kept = rama_arena_alloc(&v->arena, sizeof(*kept));
	if (kept == NULL)
		return RAMA_EMEMORY;
	*kept = c;
	f->conflict = kept;
	return 0;
}

/* Times of several logs do not agree well enough for this. */
int rama_job_conflicts_finish(struct rama_job_view *v)
{
	struct rama_job_trace *t = v->work->trace;
	int rc = 0;

	if (t == NULL || t->n_runs < 2 || v->n_logs > 1)
		return 0;
	qsort(t->runs, t->n_runs, sizeof(*t->runs), by_place);
	for (size_t i = 0, n; i < t->n_runs && rc == 0; i += n) {
		for (n = 1; i + n < t->n_runs && t->runs[i + n].file == t->runs[i].file; n++)
			;
		rc = judge(v, &t->runs[i], n);
	}
	return rc;
}
