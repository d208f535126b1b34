/* SPDX-License-Identifier: BSD-3-Clause */
/* order.c: whoever read in the log what another rank had written before must find it
 * written. Files are looked at in blocks: for each block, the last operation of each rank that
 * wrote there and had ended. Blocks make some waits that are not needed, never one that could
 * not end: all go back in time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "emulate/replay/replay.h"

/* ---- ranges --------------------------------------------------------------------------------- */
/* Which bytes of a file: ranges in order that do not touch each other. */

#define MOST 65536 /* ranges of a file: more are not worth their memory */

/* index of the first range that ends at `at` or later */
static uint32_t range_at(const struct rama_emu_replay_ranges *s, int64_t at)
{
	uint32_t low = 0, high = s->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (s->range[mid].to < at)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int rama_emu_replay_ranges_add(struct rama_emu_replay_ranges *s, int64_t from, int64_t to)
{
	uint32_t at = range_at(s, from), last = at;

	while (last < s->n && s->range[last].from <= to) { /* all that it touches become one */
		from = s->range[last].from < from ? s->range[last].from : from;
		to = s->range[last].to > to ? s->range[last].to : to;
		last++;
	}
	if (last == at) {
		if (s->n == MOST)
			return RAMA_ELIMIT;
		if (!RAMA_GROW(s->range, s->room, s->n + 1))
			return RAMA_EMEMORY;
		memmove(s->range + at + 1, s->range + at, (s->n - at) * sizeof(*s->range));
		s->n++;
	} else if (last > at + 1) {
		memmove(s->range + at + 1, s->range + last, (s->n - last) * sizeof(*s->range));
		s->n -= last - at - 1;
	}
	s->range[at] = (struct rama_emu_range){ from, to };
	return 0;
}

bool rama_emu_replay_ranges_hold(const struct rama_emu_replay_ranges *s, int64_t from, int64_t to)
{
	uint32_t at = range_at(s, from);

	/* a range that ends where this begins does not hold any of it */
	if (at < s->n && s->range[at].to == from)
		at++;
	return at < s->n && s->range[at].from <= from && s->range[at].to >= to;
}

void rama_emu_replay_ranges_fini(struct rama_emu_replay_ranges *s)
{
	free(s->range);
	*s = (struct rama_emu_replay_ranges){ 0 };
}

/* ---- hands ---------------------------------------------------------------------------------- */
/* Which operations of a rank went on at the same time. Logs seldom name threads;
 * but two operations of one process that overlap were two threads, or requests in flight. Each
 * goes to the first hand that was free when it began. */

#define HANDS_MOST 64 /* of a rank; more than these wait for each other */

/* Hands of engines that MPI drives would need it to know threads. */
static uint32_t most_hands(const struct rama_emu_replay *r)
{
	return r->m->opt.engine->needs_mpi ? 1 : HANDS_MOST;
}

/* the hand of this rank that is free at `start`, or the one that is free first */
static uint16_t take_hand(double *free_at, uint32_t most, double start)
{
	uint32_t best = 0;

	for (uint32_t i = 0; i < most; i++) {
		if (free_at[i] <= start)
			return (uint16_t)i;
		if (free_at[i] < free_at[best])
			best = i;
	}
	return (uint16_t)best;
}

int rama_emu_replay_number(struct rama_emu_replay *r, struct rama_err *e)
{
	uint32_t *count = calloc((size_t)r->m->team->size * r->hands, sizeof(*count));

	if (count == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (size_t i = 0; i < r->n; i++)
		r->ops[i].number = count[rama_emu_replay_hand(r, &r->ops[i])]++;
	free(count);
	return 0;
}

int rama_emu_replay_find_hands(struct rama_emu_replay *r, struct rama_err *e)
{
	uint32_t most = most_hands(r);
	double *free_at = calloc((size_t)r->nprocs * most, sizeof(*free_at));

	if (free_at == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	r->hands = 1;
	for (size_t i = 0; i < r->n; i++) {
		struct rama_emu_replay_op *op = &r->ops[i];
		double *mine = &free_at[(size_t)op->rank * most];

		/* calls of MPI are made by one thread */
		op->hand = op->guessed || op->upper ? 0 : take_hand(mine, most, op->start);
		mine[op->hand] = fmax(mine[op->hand], op->end);
		if (op->hand >= r->hands)
			r->hands = op->hand + 1u;
	}
	free(free_at);
	return 0;
}

uint32_t rama_emu_replay_hand(const struct rama_emu_replay *r, const struct rama_emu_replay_op *op)
{
	return rama_emu_replay_rank(r, op->rank) * r->hands + op->hand;
}

/* ---- the order ------------------------------------------------------------------------------ */

#define BLOCKS 4096 /* of a file, about */
#define BLOCK_LEAST 65536

struct writer {
	uint32_t next; /* + 1 */
	uint32_t hand, number;
};

struct finder {
	struct rama_emu_replay *r;
	struct rama_emu_replay_ranges *covered; /* by file: written by then */
	struct rama_emu_replay_order *o;
	struct rama_map blocks; /* file and block -> first writer + 1 */
	struct writer *writers;
	size_t n_writers, room_writers;
	uint32_t *seen; /* by hand: newest operation that the read being looked at needs, + 1 */
	uint32_t *list; /* hands that are in seen */
	struct rama_err *e;
};

uint32_t rama_emu_replay_rank(const struct rama_emu_replay *r, int32_t rank)
{
	return (uint32_t)rank % (uint32_t)r->m->team->size;
}

static int64_t block_of(const struct rama_emu_replay *r, uint32_t file)
{
	int64_t size = r->files[file].size / BLOCKS;

	return size > BLOCK_LEAST ? size : BLOCK_LEAST;
}

static uint64_t key_of(uint32_t file, int64_t block)
{
	return (uint64_t)file << 32 | (uint64_t)block;
}

static int no_memory(struct finder *f)
{
	return rama_err_set(f->e, RAMA_EMEMORY, "no memory for the order of operations");
}

/* ---- what was written ----------------------------------------------------------------------- */

static int note_block(struct finder *f, uint64_t key, uint32_t hand, uint32_t number)
{
	bool fresh;
	uint64_t *at = rama_map_put(&f->blocks, key, &fresh);

	if (at == NULL)
		return rama_err_set(f->e, RAMA_EMEMORY, "no memory");
	for (uint64_t i = *at; i != 0; i = f->writers[i - 1].next) {
		if (f->writers[i - 1].hand == hand) {
			if (f->writers[i - 1].number < number)
				f->writers[i - 1].number = number;
			return 0;
		}
	}
	if (!RAMA_GROW(f->writers, f->room_writers, f->n_writers + 1))
		return no_memory(f);
	f->writers[f->n_writers] = (struct writer){ (uint32_t)*at, hand, number };
	*at = ++f->n_writers;
	return 0;
}

static int note_write(struct finder *f, const struct rama_emu_replay_op *op)
{
	int64_t size = block_of(f->r, op->file);
	int rc = 0;

	if (rama_emu_replay_ranges_add(&f->covered[op->file], op->offset,
				       op->offset + op->length) == RAMA_EMEMORY)
		return no_memory(f);
	for (int64_t b = op->offset / size; rc == 0 && b <= (op->offset + op->length - 1) / size;
	     b++)
		rc = note_block(f, key_of(op->file, b), rama_emu_replay_hand(f->r, op), op->number);
	return rc;
}

/* ---- what is read --------------------------------------------------------------------------- */

static int add_wait(struct finder *f, const struct rama_emu_replay_op *op, uint32_t writer)
{
	uint32_t me = (uint32_t)f->r->m->team->rank, reader = rama_emu_replay_rank(f->r, op->rank);
	struct rama_emu_replay_order *o = f->o;

	if (reader == me) {
		if (!RAMA_GROW(o->waits, o->room_waits, o->n_waits + 1))
			return no_memory(f);
		o->waits[o->n_waits++] = (struct rama_emu_replay_wait){ op->hand, op->number,
									writer, f->seen[writer] };
	}
	if (writer / f->r->hands == me) { /* also when both are ours: one hand tells the other */
		if (!RAMA_GROW(o->tells, o->room_tells, o->n_tells + 1))
			return no_memory(f);
		o->tells[o->n_tells++] =
			(struct rama_emu_replay_tell){ writer % f->r->hands, f->seen[writer] - 1,
						       reader };
	}
	return 0;
}

/* What nobody had written before must be there before the run. */
static int note_needed(struct finder *f, const struct rama_emu_replay_op *op)
{
	struct rama_emu_replay_ranges *needed = &f->r->files[op->file].needed;
	int64_t from = op->offset, to = op->offset + op->length;
	int rc;

	if (rama_emu_replay_ranges_hold(&f->covered[op->file], from, to))
		return 0;
	rc = rama_emu_replay_ranges_add(needed, from, to);
	if (rc == RAMA_ELIMIT) { /* so many: all that lies between, too */
		to = needed->range[needed->n - 1].to > to ? needed->range[needed->n - 1].to : to;
		rc = rama_emu_replay_ranges_add(
			needed, needed->range[0].from < from ? needed->range[0].from : from, to);
	}
	return rc == 0 ? 0 : rama_err_set(f->e, rc, "no memory for the order of operations");
}

static int note_read(struct finder *f, const struct rama_emu_replay_op *op)
{
	int64_t size = block_of(f->r, op->file);
	uint32_t me = rama_emu_replay_hand(f->r, op), n = 0;
	int rc = 0;

	if (f->writers == NULL) /* nobody has written yet */
		return 0;

	for (int64_t b = op->offset / size; b <= (op->offset + op->length - 1) / size; b++) {
		uint64_t *at = rama_map_get(&f->blocks, key_of(op->file, b));

		for (uint64_t i = at != NULL ? *at : 0; i != 0; i = f->writers[i - 1].next) {
			const struct writer *w = &f->writers[i - 1];

			if (w->hand == me) /* its own are in order anyway */
				continue;
			if (f->seen[w->hand] == 0)
				f->list[n++] = w->hand;
			if (w->number + 1 > f->seen[w->hand])
				f->seen[w->hand] = w->number + 1;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		if (rc == 0)
			rc = add_wait(f, op, f->list[i]);
		f->seen[f->list[i]] = 0;
	}
	return rc;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int by_end(const void *a, const void *b, void *ctx)
{
	const struct rama_emu_replay_op *ops = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (ops[i].end != ops[k].end)
		return ops[i].end < ops[k].end ? -1 : 1;
	return i < k ? -1 : i > k;
}

static int by_op(const void *a, const void *b)
{
	const struct rama_emu_replay_tell *x = a, *y = b;

	if (x->hand != y->hand)
		return x->hand < y->hand ? -1 : 1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Through the log by start. A write counts for a read when it had ended; and, where clocks are
 * too coarse to tell, only if it comes before in our order, too: so every wait goes back in that
 * order, and none can go round in a circle. */
static int find(struct finder *f, const uint32_t *writes, size_t n_writes)
{
	const struct rama_emu_replay *r = f->r;
	size_t next = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < r->n; i++) {
		if (r->ops[i].write || r->ops[i].length == 0)
			continue;
		while (rc == 0 && next < n_writes && writes[next] < i &&
		       r->ops[writes[next]].end <= r->ops[i].start)
			rc = note_write(f, &r->ops[writes[next++]]);
		if (rc == 0)
			rc = note_needed(f, &r->ops[i]);
		if (rc == 0)
			rc = note_read(f, &r->ops[i]);
	}
	return rc;
}

int rama_emu_replay_find_order(struct rama_emu_replay_order *o, struct rama_emu_replay *r,
			       struct rama_err *e)
{
	size_t size = (size_t)r->m->team->size * r->hands, n_writes = 0;
	struct finder f = { .r = r, .o = o, .e = e };
	uint32_t *writes = calloc(r->n + 1, sizeof(*writes));
	int rc = RAMA_EMEMORY;

	*o = (struct rama_emu_replay_order){ 0 };
	f.seen = calloc(size, sizeof(*f.seen));
	f.list = calloc(size, sizeof(*f.list));
	f.covered = calloc((size_t)r->n_files + 1, sizeof(*f.covered));
	if (writes == NULL || f.seen == NULL || f.list == NULL || f.covered == NULL) {
		rama_err_set(e, rc, "no memory for the order of operations");
		goto out;
	}
	for (size_t i = 0; i < r->n; i++)
		if (r->ops[i].write && r->ops[i].length > 0)
			writes[n_writes++] = (uint32_t)i;
	if (n_writes > 0)
		qsort_r(writes, n_writes, sizeof(*writes), by_end, r->ops);
	rc = find(&f, writes, n_writes);
	if (rc == 0 && o->n_tells > 0)
		qsort(o->tells, o->n_tells, sizeof(*o->tells), by_op);
out:
	for (uint32_t i = 0; f.covered != NULL && i < r->n_files; i++)
		rama_emu_replay_ranges_fini(&f.covered[i]);
	rama_map_fini(&f.blocks);
	free(f.covered);
	free(f.writers);
	free(f.seen);
	free(f.list);
	free(writes);
	return rc;
}

void rama_emu_replay_order_fini(struct rama_emu_replay_order *o)
{
	free(o->waits);
	free(o->tells);
	*o = (struct rama_emu_replay_order){ 0 };
}
