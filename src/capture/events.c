/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c: single calls: the trace, which stays, and live events, which an agent reads while we run. Both are written
 * by the thread itself into memory of its own lane; what finds no room is counted. */
#include "capture/runtime.h"

/* ---- trace ----------------------------------------------------------------------------------------------- */

static struct rama_seg_chunk *new_chunk(struct rama_thread *t)
{
	struct rama_seg_state *s = rama_run.state;
	uint64_t i = __atomic_load_n(&s->chunks_used, __ATOMIC_RELAXED);

	do {
		if (i >= s->chunks_limit)
			return NULL;
	} while (!__atomic_compare_exchange_n(&s->chunks_used, &i, i + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	struct rama_seg_chunk *c = (struct rama_seg_chunk *)(rama_run.chunks + i * RAMA_SEG_CHUNK);
	if (!rama_populate(c, RAMA_SEG_CHUNK)) {
		s->chunks_limit = 0;
		return NULL;
	}
	c->thread = t->lane->thread;
	c->lane = (uint32_t)(t->lane - rama_run.lanes);
	t->lane->chunk = (uint32_t)i + 1;
	t->chunk = c;
	return c;
}

static inline void trace(struct rama_thread *t, const struct rama_event *e)
{
	struct rama_seg_chunk *c = t->chunk;

	if (RAMA_UNLIKELY(!c || c->used >= RAMA_SEG_CHUNK_EVENTS)) {
		c = new_chunk(t);
		if (!c) {
			t->lane->lost++;
			return;
		}
	}
	uint32_t at = c->used;
	c->event[at] = *e;
	__atomic_store_n(&c->used, at + 1, __ATOMIC_RELEASE);
}

/* ---- rings ----------------------------------------------------------------------------------------------- */

static uint64_t ring_events(uint32_t level)
{
	return (uint64_t)RAMA_RING_FIRST << level;
}

#define UNREAD_MOST (8ull << 20) /* bytes, as long as nobody reads: events may be for nobody */

/* bytes of the rings area, with memory behind them; false: there are none left */
static bool take_bytes(uint64_t n, uint64_t *at)
{
	struct rama_seg_state *s = rama_run.state;
	bool read = __atomic_load_n(&rama_run.control->reader, __ATOMIC_RELAXED) != 0;
	uint64_t used = __atomic_load_n(&s->rings_used, __ATOMIC_RELAXED);

	do {
		uint64_t limit = __atomic_load_n(&s->rings_limit, __ATOMIC_RELAXED);
		if (!read && limit > UNREAD_MOST)
			limit = UNREAD_MOST;
		if (used > limit || n > limit - used)
			return false;
	} while (!__atomic_compare_exchange_n(&s->rings_used, &used, used + n, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	*at = used;
	if (rama_populate(rama_run.rings + used, n))
		return true;
	__atomic_store_n(&s->rings_limit, 0,
			 __ATOMIC_RELAXED); /* it would not be there next time */
	return false;
}

/* a ring of twice the size, which events from number n on go into */
static bool grow(struct rama_seg_lane *l, uint64_t n)
{
	uint64_t at;

	if (l->level >= RAMA_RING_LEVELS ||
	    !take_bytes(ring_events(l->level) * sizeof(struct rama_event), &at))
		return false;
	l->ring[l->level].from = n;
	l->ring[l->level].at = at;
	__atomic_store_n(&l->level, l->level + 1, __ATOMIC_RELEASE);
	return true;
}

/* The next event has number n. What was read and given back is free again: up to where may be written now? */
static void find_room(struct rama_thread *t, uint64_t n)
{
	struct rama_seg_lane *l = t->lane;
	uint64_t taken =
		__atomic_load_n(&rama_run.control->taken[l - rama_run.lanes], __ATOMIC_ACQUIRE);
	uint64_t size = ring_events(l->level - 1), from = l->ring[l->level - 1].from;

	t->ring = (struct rama_event *)(rama_run.rings + l->ring[l->level - 1].at);
	t->ring_mask = (uint32_t)size - 1;
	t->ring_end = (taken > n ? n : taken > from ? taken : from) + size;
}

static __attribute__((noinline)) bool make_room(struct rama_thread *t, uint64_t n)
{
	struct rama_seg_lane *l = t->lane;

	if (l->level > 0) {
		find_room(t, n);
		if (n < t->ring_end)
			return true;
	}
	if (!grow(l, n)) {
		__atomic_store_n(&l->dropped, l->dropped + 1, __ATOMIC_RELAXED);
		return false;
	}
	find_room(t, n);
	return true;
}

static inline void live(struct rama_thread *t, const struct rama_event *e)
{
	uint64_t n = t->lane->made;

	if (RAMA_UNLIKELY(n >= t->ring_end) && !make_room(t, n))
		return;
	t->ring[n & t->ring_mask] = *e;
	__atomic_store_n(&t->lane->made, n + 1, __ATOMIC_RELEASE);
}

/* ---- events ---------------------------------------------------------------------------------------------- */

static inline struct rama_event event_of(struct rama_thread *t, enum rama_layer layer,
					 uint32_t name, const struct rama_op *op)
{
	return (struct rama_event){
		.start = op->t0,
		.length = op->t1 - op->t0,
		.off = op->off,
		.bytes = op->bytes,
		.name = name,
		.layer = (uint8_t)layer,
		.kind = op->kind,
		.fn = op->fn,
		.call = t->nest ? t->nest->id : (uint32_t)++t->lane->calls,
		.parent = t->nest ? t->nest->outer : t->parent,
	};
}

void rama_access(struct rama_thread *t, enum rama_layer layer, uint32_t name,
		 const struct rama_op *op)
{
	struct rama_event e = event_of(t, layer, name, op);

	if (rama_run.control->trace >> layer & 1)
		trace(t, &e);
	if (rama_run.control->live >> layer & 1)
		live(t, &e);
}

/* what is no call of its own, or does nothing to a file */
#define BIT(kind) (1ull << RAMA_OP_##kind)
#define NO_EVENTS \
	(BIT(NOTHING) | BIT(DUP) | BIT(FILENO) | BIT(RENAMEFROM) | BIT(RENAMETO) | BIT(HINT))
#define HAVE_OFFSET (BIT(READ) | BIT(WRITE) | BIT(SEEK) | BIT(MMAP))
_Static_assert(RAMA_OPS <= 64, "a bit for every kind");

void rama_live_call(struct rama_thread *t, enum rama_layer layer, uint32_t name,
		    const struct rama_op *op)
{
	if (NO_EVENTS >> op->kind & 1)
		return;
	struct rama_event e = event_of(t, layer, name, op);
	if (!(HAVE_OFFSET >> op->kind & 1))
		e.off = -1;
	if (!op->ok || !((BIT(READ) | BIT(WRITE) | BIT(MMAP)) >> op->kind & 1))
		e.bytes = -1;
	if (!op->ok && op->kind == RAMA_OP_SEEK)
		e.off = -1;
	if (!op->ok)
		e.layer |= RAMA_EVENT_FAILED;
	live(t, &e);
}

/* Names that do not exist may be very many, and files that do exist need room, too. */
void rama_live_path(struct rama_thread *t, enum rama_layer layer, const char *path, size_t len,
		    const struct rama_op *op)
{
	bool room = rama_run.state->names_used < rama_run.names_size / 2;
	struct rama_seg_name *n = rama_name(t, path, len, room);

	if (!n)
		n = rama_name(t, RAMA_NAME_FAILED, sizeof(RAMA_NAME_FAILED) - 1, true);
	rama_live_call(t, layer, n ? rama_name_number(n) : 0, op);
}
