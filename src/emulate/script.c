/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/script.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define DRAWS 16 /* for one request that must fit */

/* ---- lots ----------------------------------------------------------------------------------- */

/* from 0 to 1; the same numbers, the same lot */
static double lot(uint64_t seed, uint64_t a, uint64_t b)
{
	uint64_t x = seed + 0x9e3779b97f4a7c15u * (a + 1) + 0xd1b54a32d192ed03u * (b + 1);

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (double)((x ^ x >> 31) >> 11) / 9007199254740992.0;
}

/* ---- walks ---------------------------------------------------------------------------------- */

/* all * part / parts, without a product that overflows */
static uint64_t share(uint64_t all, uint64_t part, uint64_t parts)
{
	return all / parts * part + all % parts * part / parts;
}

void rama_emu_walk_start(struct rama_emu_walk *w)
{
	uint64_t all =
		w->request > 0 && w->size > 0
			? ((uint64_t)w->size + (uint64_t)w->request - 1) / (uint64_t)w->request
			: 0;
	uint64_t parts = w->parts > 0 ? w->parts : 1;

	if (w->order == RAMA_EMU_STRIDED) {
		w->first = w->part;
		w->step = parts;
		w->count = all > w->part ? (all - w->part + parts - 1) / parts : 0;
	} else {
		w->first = share(all, w->part, parts);
		w->step = 1;
		w->count = share(all, (uint64_t)w->part + 1, parts) - w->first;
	}
	if (w->limit > 0 && w->limit < w->count && w->order != RAMA_EMU_RANDOM)
		w->count = w->limit;
	w->calls = w->even ? (all + parts - 1) / parts : w->count; /* no part has more */
	w->calls = w->limit > 0 && w->limit < w->calls ? w->limit : w->calls;
	for (w->mask = 1; w->mask < w->count;)
		w->mask *= 2;
	w->at = w->drawn = w->cells = 0;
}

/* A number below count for each number below count, no two alike: a mixing that can be undone,
 * on the next power of two, tried again while it lands outside. No memory, any size. */
static uint64_t shuffled(const struct rama_emu_walk *w, uint64_t i)
{
	uint64_t m = w->mask - 1;
	unsigned bits = 0;

	while (((uint64_t)1 << bits) < w->mask)
		bits++;
	do {
		for (unsigned round = 0; round < 3; round++) {
			i = (i * ((2 * (w->seed + round) + 0x9e3779b97f4a7c15u) | 1)) & m;
			i ^= i >> (bits / 2 + 1);
			i = (i + (w->seed >> (8 * round))) & m;
		}
	} while (i >= w->count);
	return i;
}

/* What does not fit into the rest of a cell is drawn again; where nothing does, the rest is one. */
static int64_t drawn_size(const struct rama_emu_walk *w, const struct rama_emu_cell *c)
{
	const struct rama_emu_split *p = w->split;
	int64_t left = w->request - c->done;

	for (uint32_t again = 0; again < DRAWS; again++) {
		double x = lot(w->seed, c->at, (uint64_t)c->drawn * DRAWS + again);
		unsigned i = 0;

		while (i + 1 < p->n && x >= p->below[i])
			i++;
		if (p->size[i] <= left)
			return p->size[i];
	}
	for (unsigned i = 0; i < p->n; i++)
		if (p->size[i] <= left)
			return p->size[i];
	return left;
}

/* One request of a cell. What is drawn depends on numbers alone that are the same for all parts,
 * so that all have as many calls; those behind the end of a part are empty. */
static bool split_next(struct rama_emu_walk *w, int64_t *offset, int64_t *length)
{
	uint32_t most = w->order == RAMA_EMU_RANDOM ? RAMA_EMU_CELLS : 1;
	struct rama_emu_cell *c;
	int64_t n, at;
	uint64_t i;

	do {
		for (; w->cells < most && w->at < w->calls; w->at++)
			w->cell[w->cells++] = (struct rama_emu_cell){ .at = w->at };
		if (w->cells == 0)
			return false;
		c = &w->cell[(uint32_t)(lot(w->seed, ~w->drawn++, 0) * w->cells)];
		n = drawn_size(w, c);
		i = w->order == RAMA_EMU_RANDOM && c->at < w->count ? shuffled(w, c->at) : c->at;
		at = (int64_t)((w->first + i * w->step) * (uint64_t)w->request) + c->done;
		if (c->at >= w->count || at >= w->size)
			at = *length = 0;
		else
			*length = w->size - at < n ? w->size - at : n;
		*offset = w->from + at;
		c->done += n;
		c->drawn++;
		if (c->done >= w->request)
			*c = w->cell[--w->cells];
	} while (*length == 0 && !w->even);
	return true;
}

bool rama_emu_walk_next(struct rama_emu_walk *w, int64_t *offset, int64_t *length)
{
	uint64_t i;
	int64_t at;

	if (w->split != NULL)
		return split_next(w, offset, length);
	if (w->at >= w->calls)
		return false;
	if (w->at >= w->count) {
		w->at++;
		*offset = w->from;
		*length = 0;
		return true;
	}
	i = w->order == RAMA_EMU_RANDOM ? shuffled(w, w->at) : w->at;
	w->at++;
	at = (int64_t)((w->first + i * w->step) * (uint64_t)w->request);
	*offset = w->from + at;
	*length = w->size - at < w->request ? w->size - at : w->request;
	return true;
}

int64_t rama_emu_walk_bytes(const struct rama_emu_walk *w)
{
	struct rama_emu_walk copy = *w;
	uint64_t last, all;

	rama_emu_walk_start(&copy);
	if (copy.count == 0)
		return 0;
	if (copy.limit > 0 &&
	    copy.limit < copy.count) /* random: which ones is known by walking only */
		return (int64_t)copy.limit * copy.request;
	all = ((uint64_t)w->size + (uint64_t)w->request - 1) / (uint64_t)w->request;
	last = copy.first + (copy.count - 1) * copy.step;
	return (int64_t)copy.count * w->request -
	       (last == all - 1 ? (int64_t)(all * (uint64_t)w->request) - w->size : 0);
}

/* ---- scripts -------------------------------------------------------------------------------- */

void rama_emu_script_init(struct rama_emu_script *s)
{
	*s = (struct rama_emu_script){ 0 };
}

void rama_emu_script_fini(struct rama_emu_script *s)
{
	free(s->lines);
	rama_emu_script_init(s);
}

void rama_emu_script_clear(struct rama_emu_script *s)
{
	s->n = s->at = 0;
	s->between = false;
}

static struct rama_emu_line *add(struct rama_emu_script *s)
{
	if (!RAMA_GROW(s->lines, s->room, s->n + 1)) {
		s->error = RAMA_EMEMORY;
		return NULL;
	}
	s->lines[s->n] = (struct rama_emu_line){ 0 };
	return &s->lines[s->n++];
}

struct rama_emu_step *rama_emu_script_step(struct rama_emu_script *s, enum rama_emu_do what,
					   struct rama_emu_unit *unit)
{
	static struct rama_emu_step nowhere; /* written to by callers when there is no memory */
	struct rama_emu_line *l = add(s);
	struct rama_emu_step *step = l != NULL ? &l->step : &nowhere;

	*step = (struct rama_emu_step){ .what = what, .unit = unit };
	return step;
}

void rama_emu_script_open(struct rama_emu_script *s, struct rama_emu_unit *unit, int flags)
{
	rama_emu_script_step(s, RAMA_EMU_DO_OPEN, unit)->flags = flags;
}

void rama_emu_script_move(struct rama_emu_script *s, enum rama_emu_do what,
			  struct rama_emu_unit *unit, const struct rama_emu_walk *walk, bool sync)
{
	struct rama_emu_line *l = add(s);

	if (l == NULL)
		return;
	l->step = (struct rama_emu_step){ .what = what, .unit = unit };
	l->walks = true;
	l->walk = *walk;
	l->walk.even |= unit->opt.group != NULL;
	l->sync = sync;
	rama_emu_walk_start(&l->walk);
}

void rama_emu_script_mix(struct rama_emu_script *s, double reads, struct rama_emu_limit *limit)
{
	if (s->error != 0)
		return;
	s->lines[s->n - 1].reads = reads;
	s->lines[s->n - 1].limit = limit;
}

void rama_emu_script_compute(struct rama_emu_script *s, double seconds, double cores)
{
	struct rama_emu_step *step;

	if (seconds <= 0)
		return;
	step = rama_emu_script_step(s, RAMA_EMU_DO_COMPUTE, NULL);
	step->seconds = seconds;
	step->length = cores > 1 ? (int64_t)fmin(cores, 1e6) : 1;
}

void rama_emu_script_begin(struct rama_emu_script *s, uint32_t task, uint32_t iteration)
{
	struct rama_emu_step *step = rama_emu_script_step(s, RAMA_EMU_DO_BEGIN, NULL);

	step->task = task;
	step->offset = iteration;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* the next request of a walk, or what comes between two; 0: that was the last one */
static int next_request(struct rama_emu_script *s, struct rama_emu_line *l,
			struct rama_emu_step *step)
{
	struct rama_emu_limit *limit = l->limit;

	if (s->between) {
		s->between = false;
		step->what = RAMA_EMU_DO_SYNC;
		return 1;
	}
	if (limit != NULL && !limit->over && rama_emu_limit_over(limit) && limit->wear_out) {
		*step = (struct rama_emu_step){ .what = RAMA_EMU_DO_CALL,
						.call = rama_emu_limit_agree,
						.ctx = limit };
		return 1;
	}
	if (limit != NULL && limit->over && !rama_emu_limit_goes_on(limit))
		return 0;
	if (!rama_emu_walk_next(&l->walk, &step->offset, &step->length))
		return 0;
	if (l->reads > 0 && lot(l->walk.seed ^ 0x5851f42d4c957f2du, l->mixed++, 1) < l->reads)
		step->what = RAMA_EMU_DO_READ;
	if (limit != NULL)
		limit->done++;
	s->between = l->sync && step->what == RAMA_EMU_DO_WRITE;
	return 1;
}

static int next(struct rama_emu_stream *me, struct rama_emu_step *step, struct rama_err *e)
{
	struct rama_emu_script *s = me->ctx;

	for (;;) {
		struct rama_emu_line *l;

		if (s->error != 0)
			return rama_err_set(e, s->error, "no memory for what is to be done");
		if (s->at == s->n) {
			int rc = s->more != NULL ? s->more(s, s->ctx, e) : 0;

			if (rc <= 0)
				return rc;
			continue;
		}
		l = &s->lines[s->at];
		*step = l->step;
		if (!l->walks) {
			s->at++;
			return 1;
		}
		if (next_request(s, l, step) > 0)
			return 1;
		s->at++;
	}
}

struct rama_emu_stream rama_emu_script_stream(struct rama_emu_script *s)
{
	return (struct rama_emu_stream){ .next = next, .ctx = s };
}
