/* SPDX-License-Identifier: BSD-3-Clause */
/* together.c: collective operations of several ranks are one event: the k-th write (or read) that
 * each member of a file's group does. An event is done by all members or nobody goes on, so all
 * of them must come to their events in one order. That of the log is kept where it is such an
 * order; else events are put in the order of the time at which the last of their members came. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "emulate/replay/replay.h"
#include "table/table.h"

#define APART 1e-9 /* seconds: no two events at the same time */

struct event {
	double at, took; /* when the last of its members came, what the fastest needed */
	uint32_t place;	 /* in the order of all */
};

/* of one file, reads or writes */
struct side {
	uint32_t *count;	/* by rank of the run */
	uint32_t events, first; /* first: of `events` of the match */
	uint32_t members;
	bool broken; /* its members do not fit together */
};

struct match {
	struct rama_emu_replay *r;
	uint32_t size;	   /* ranks of the run */
	struct side *side; /* by 2 * file + write */
	struct event *event;
	uint32_t *order; /* events by time */
	uint32_t n;
	uint32_t *at;	  /* by side and rank: how many of its events have been seen */
	bool pads, moves; /* members may lack some; times are those of the events */
	struct rama_err *e;
};

static int no_memory(struct match *x)
{
	return rama_err_set(x->e, RAMA_EMEMORY, "no memory for collective operations");
}

static size_t side_of(const struct rama_emu_replay_op *op)
{
	return 2 * (size_t)op->file + op->write;
}

static uint32_t rank_of(const struct match *x, const struct rama_emu_replay_op *op)
{
	return rama_emu_replay_rank(x->r, op->rank);
}

/* ---- who ------------------------------------------------------------------------------------- */

static int count(struct match *x)
{
	for (size_t i = 0; i < x->r->n; i++) {
		const struct rama_emu_replay_op *op = &x->r->ops[i];
		struct side *s = &x->side[side_of(op)];

		if (!op->together)
			continue;
		if (s->count == NULL)
			s->count = calloc(x->size, sizeof(*s->count));
		if (s->count == NULL)
			return no_memory(x);
		s->members += s->count[rank_of(x, op)]++ == 0;
		if (s->count[rank_of(x, op)] > s->events)
			s->events = s->count[rank_of(x, op)];
	}
	for (size_t i = 0; i < 2 * (size_t)x->r->n_files; i++) {
		struct side *s = &x->side[i];

		for (uint32_t k = 0; s->count != NULL && k < x->size; k++)
			s->broken |= !x->pads && s->count[k] > 0 && s->count[k] < s->events;
		s->first = x->n;
		x->n += s->broken ? 0 : s->events;
	}
	return 0;
}

/* What does not fit together is done by each rank alone, and told. */
static void drop_broken(struct match *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->r->n; i++) {
		struct rama_emu_replay_op *op = &x->r->ops[i];

		if (op->together && x->side[side_of(op)].broken) {
			op->together = false;
			rama_emu_replay_leave(x->r, RAMA_TAB_MOD_MPIIO,
					      op->write ? RAMA_TAB_MPIIO_COLL_WRITES
							: RAMA_TAB_MPIIO_COLL_READS,
					      1);
		}
		if (op->together || op->length > 0)
			x->r->ops[n++] = *op;
	}
	x->r->n = n;
}

static int make_group(struct match *x, uint32_t file, bool write)
{
	const struct side *s = &x->side[2 * (size_t)file + write];
	struct rama_emu_replay_group *g;
	struct rama_emu_replay_file *f = &x->r->files[file];

	if (s->broken || s->members == 0)
		return 0;
	g = rama_arena_alloc(&x->r->m->arena, sizeof(*g));
	if (g != NULL)
		*g = (struct rama_emu_replay_group){
			.rank = rama_arena_alloc(&x->r->m->arena, s->members * sizeof(*g->rank))
		};
	if (g == NULL || g->rank == NULL)
		return no_memory(x);
	for (uint32_t k = 0; k < x->size; k++)
		if (s->count[k] > 0)
			g->rank[g->n++] = k;
	f->group[write] = g;
	/* the same ranks have one file open for both */
	if (write && f->group[0] != NULL && f->group[0]->n == g->n &&
	    memcmp(f->group[0]->rank, g->rank, g->n * sizeof(*g->rank)) == 0)
		f->group[1] = f->group[0];
	return 0;
}

/* ---- when ------------------------------------------------------------------------------------ */

static struct event *event_of(struct match *x, const struct rama_emu_replay_op *op)
{
	uint32_t *at = &x->at[side_of(op) * x->size + rank_of(x, op)];

	return &x->event[x->side[side_of(op)].first + (*at)++];
}

static void start_over(struct match *x)
{
	memset(x->at, 0, 2 * ((size_t)x->r->n_files + 1) * x->size * sizeof(*x->at));
}

static int by_time(const void *a, const void *b, void *ctx)
{
	const struct event *all = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (all[i].at != all[k].at)
		return all[i].at < all[k].at ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void find_times(struct match *x)
{
	double last = -1;

	start_over(x);
	for (uint32_t i = 0; i < x->n; i++)
		x->event[i] = (struct event){ .at = -1, .took = INFINITY };
	for (size_t i = 0; i < x->r->n; i++) {
		const struct rama_emu_replay_op *op = &x->r->ops[i];
		struct event *v;

		if (!op->together)
			continue;
		v = event_of(x, op);
		v->at = fmax(v->at, op->start);
		v->took = fmin(v->took, op->end - op->start);
	}
	for (uint32_t i = 0; i < x->n; i++)
		x->order[i] = i;
	qsort_r(x->order, x->n, sizeof(*x->order), by_time, x->event);
	for (uint32_t i = 0; i < x->n; i++) {
		struct event *v = &x->event[x->order[i]];

		v->place = i;
		v->at = fmax(v->at, last + APART);
		last = v->at;
	}
}

/* Does each rank come to its events in the order of all? */
static int check_order(struct match *x)
{
	uint32_t *next = calloc(x->size, sizeof(*next));

	if (next == NULL)
		return no_memory(x);
	start_over(x);
	for (size_t i = 0; i < x->r->n; i++) {
		const struct rama_emu_replay_op *op = &x->r->ops[i];
		const struct event *v;

		if (!op->together)
			continue;
		v = event_of(x, op);
		x->moves |= v->place < next[rank_of(x, op)];
		next[rank_of(x, op)] = v->place + 1;
	}
	free(next);
	return 0;
}

static void move_times(struct match *x)
{
	start_over(x);
	for (size_t i = 0; i < x->r->n; i++) {
		struct rama_emu_replay_op *op = &x->r->ops[i];
		const struct event *v;

		if (!op->together)
			continue;
		v = event_of(x, op);
		op->start = v->at;
		op->end = v->at + v->took;
		op->hand = 0;
	}
}

/* Who has no more to move comes all the same. */
static int pad(struct match *x)
{
	int rc = 0;

	for (size_t i = 0; x->pads && i < 2 * (size_t)x->r->n_files; i++) {
		const struct side *s = &x->side[i];

		for (uint32_t k = 0; s->count != NULL && k < x->size; k++) {
			for (uint32_t n = s->count[k]; rc == 0 && s->count[k] > 0 && n < s->events;
			     n++) {
				const struct event *v = &x->event[s->first + n];
				struct rama_emu_replay_op op = { .file = (uint32_t)(i / 2),
								 .rank = (int32_t)k,
								 .write = i % 2 == 1,
								 .start = v->at,
								 .end = v->at + v->took,
								 .upper = true,
								 .together = true };

				rc = rama_emu_replay_add(x->r, &op, x->e);
			}
		}
	}
	return rc;
}

/* ---- opens and syncs of a group -------------------------------------------------------------- */

/* how far a rank is with a file that its group has open */
struct way {
	uint32_t seen, all;
	size_t last; /* operation + 1 */
};

/* n things spread over `all` operations: how many follow operation `at` (from 0) */
static uint64_t share(uint64_t n, uint64_t at, uint64_t all)
{
	return n * (at + 1) / all - n * at / all;
}

static void mark(struct match *x, struct rama_emu_replay_op *op, struct way *w, size_t number)
{
	const struct rama_emu_replay_file *f = &x->r->files[op->file];
	uint64_t opens = f->group_opens / f->group[op->write]->n;
	uint64_t syncs = share(f->group_syncs / f->group[op->write]->n, w->seen, w->all);

	opens = opens > w->all ? w->all : opens > 0 ? opens : 1;
	op->syncs = (uint8_t)(syncs > 255 ? 255 : syncs);
	op->joins = w->seen == 0 || share(opens, w->seen - 1, w->all) > 0;
	if (op->joins && w->last > 0)
		x->r->ops[w->last - 1].leaves = true;
	w->last = number + 1;
	if (++w->seen == w->all)
		op->leaves = true;
}

static struct way *way_of(struct match *x, struct way *ways, const struct rama_emu_replay_op *op)
{
	const struct rama_emu_replay_file *f = &x->r->files[op->file];
	size_t side = f->group[0] == f->group[1] ? 2 * (size_t)op->file : side_of(op);

	return &ways[side * x->size + rank_of(x, op)];
}

/* What does not come out even is not done. */
static void leave_rest(struct match *x)
{
	for (uint32_t i = 0; i < x->r->n_files; i++) {
		struct rama_emu_replay_file *f = &x->r->files[i];
		const struct rama_emu_replay_group *g =
			f->group[1] != NULL ? f->group[1] : f->group[0];
		uint64_t n = g != NULL ? g->n : 1;

		if (g != NULL && f->group_syncs % n == 0)
			continue;
		rama_emu_replay_leave(x->r, RAMA_TAB_MOD_MPIIO, RAMA_TAB_MPIIO_SYNCS,
				      f->group_syncs);
		if (g == NULL)
			rama_emu_replay_leave(x->r, RAMA_TAB_MOD_MPIIO, RAMA_TAB_MPIIO_COLL_OPENS,
					      f->group_opens);
		f->group_syncs = 0;
	}
}

static int mark_all(struct match *x)
{
	struct way *ways = calloc(2 * ((size_t)x->r->n_files + 1) * x->size, sizeof(*ways));

	if (ways == NULL)
		return no_memory(x);
	leave_rest(x);
	for (size_t i = 0; i < x->r->n; i++)
		if (x->r->ops[i].together)
			way_of(x, ways, &x->r->ops[i])->all++;
	for (size_t i = 0; i < x->r->n; i++)
		if (x->r->ops[i].together)
			mark(x, &x->r->ops[i], way_of(x, ways, &x->r->ops[i]), i);
	free(ways);
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int settle(struct match *x)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < x->r->n_files; i++) {
		rc = make_group(x, i, false);
		if (rc == 0)
			rc = make_group(x, i, true);
	}
	find_times(x);
	x->moves |= x->pads || x->size != x->r->nprocs;
	if (rc == 0 && !x->moves)
		rc = check_order(x);
	if (rc == 0 && x->moves)
		move_times(x);
	if (rc == 0)
		rc = pad(x);
	if (rc == 0 && x->moves)
		rama_emu_replay_sort(x->r);
	return rc == 0 ? mark_all(x) : rc;
}

int rama_emu_replay_match(struct rama_emu_replay *r, struct rama_err *e)
{
	struct match x = { .r = r, .e = e, .size = (uint32_t)r->m->team->size };
	size_t sides = 2 * ((size_t)r->n_files + 1);
	int rc;

	x.pads = rama_emu_config_given(r->m->cfg, RAMA_EMU_P_mpiio_type) ||
		 rama_emu_config_size(r->m->cfg, RAMA_EMU_P_transfer_size) > 0;
	x.side = calloc(sides, sizeof(*x.side));
	rc = x.side != NULL ? count(&x) : no_memory(&x);
	if (rc == 0) {
		drop_broken(&x);
		x.event = calloc((size_t)x.n + 1, sizeof(*x.event));
		x.order = calloc((size_t)x.n + 1, sizeof(*x.order));
		x.at = calloc(sides * x.size, sizeof(*x.at));
		rc = x.event != NULL && x.order != NULL && x.at != NULL ? settle(&x)
									: no_memory(&x);
	}
	for (size_t i = 0; x.side != NULL && i < sides; i++)
		free(x.side[i].count);
	free(x.side);
	free(x.event);
	free(x.order);
	free(x.at);
	return rc;
}

void rama_emu_replay_groups_make(struct rama_emu_replay *r)
{
	struct rama_emu_team *t = r->m->team;

	for (uint32_t i = 0; t->group != NULL && i < r->n_files; i++)
		for (int k = 0; k < 2; k++) {
			struct rama_emu_replay_group *g = r->files[i].group[k];

			for (uint32_t m = 0; g != NULL && m < g->n; m++)
				if (g->rank[m] == (uint32_t)t->rank)
					g->comm = t->group(t, g->rank, g->n);
		}
}
