/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c: single calls: the trace, which stays, and live events, which an agent reads while we
 * run. Both are written by the thread itself into memory of its own lane; what finds no room is
 * counted. */
#include "capture/events.h"
#include "capture/record.h"
#include "capture/runtime.h"

/* ---- an agent that is gone ------------------------------------------------------------------- */

#define LEASE 5 /* seconds that an agent which chose us may be silent: it beats every second */

/* An agent that chose who makes events may have been killed: then what holds without it holds
 * again. Asked for where room is looked for, and so at no cost where nothing is made. One that was
 * only slow says it again. */
static void see_focus(void)
{
	struct rama_seg_control *c = rama_cap_run.control;
	uint32_t beat = __atomic_load_n(&c->beat, __ATOMIC_RELAXED);
	uint64_t now = rama_cap_ticks(),
		 since = __atomic_load_n(&rama_cap_run.focus_since, __ATOMIC_RELAXED);

	if (!__atomic_load_n(&c->focus, __ATOMIC_RELAXED))
		return;
	if (since == 0 || beat != __atomic_load_n(&rama_cap_run.focus_beat, __ATOMIC_RELAXED)) {
		__atomic_store_n(&rama_cap_run.focus_beat, beat, __ATOMIC_RELAXED);
		__atomic_store_n(&rama_cap_run.focus_since, now, __ATOMIC_RELAXED);
	} else if ((double)(now - since) > LEASE * rama_cap_run.hz) {
		__atomic_store_n(&c->trace, c->asked_trace, __ATOMIC_RELAXED);
		__atomic_store_n(&c->live, c->asked_live, __ATOMIC_RELAXED);
		__atomic_store_n(&c->focus, RAMA_SEG_FOCUS_NONE, __ATOMIC_RELAXED);
	}
}

/* ---- trace ----------------------------------------------------------------------------------- */

/* the next chunk of the area, mapped and with memory behind it; the caller holds the lock */
static struct rama_seg_chunk *next_chunk(struct rama_seg_state *s)
{
	uint64_t i = s->chunks_used;

	if (i >= s->chunks_limit)
		return NULL;
	unsigned char *at = rama_cap_memory_at(RAMA_CAP_EVENTS, i * RAMA_SEG_CHUNK, RAMA_SEG_CHUNK);
	if (!at || !rama_cap_memory_fill(at, RAMA_SEG_CHUNK)) {
		__atomic_store_n(&s->chunks_limit, 0, __ATOMIC_RELAXED);
		return NULL;
	}
	__atomic_store_n(&s->chunks_used, i + 1, __ATOMIC_RELEASE);
	return (struct rama_seg_chunk *)at;
}

static __attribute__((noinline)) struct rama_seg_chunk *new_chunk(struct rama_cap_thread *t)
{
	struct rama_seg_state *s = rama_cap_run.state;
	struct rama_seg_chunk *c = NULL;

	see_focus();
	if (__atomic_load_n(&s->chunks_used, __ATOMIC_RELAXED) >=
		    __atomic_load_n(&s->chunks_limit, __ATOMIC_RELAXED) ||
	    !rama_cap_lock(t, &rama_cap_run.events_lock))
		return NULL;
	c = next_chunk(s);
	if (c) {
		c->thread = t->lane->thread;
		c->tid = t->lane->tid;
		c->lane = t->lane_number;
		t->lane->chunk = (uint32_t)s->chunks_used;
		t->chunk = c;
	}
	rama_cap_unlock(t, &rama_cap_run.events_lock);
	return c;
}

/* n events that belong together */
static inline __attribute__((always_inline)) void trace(struct rama_cap_thread *t, const void *e,
							uint32_t n)
{
	struct rama_seg_chunk *c = t->chunk;

	if (RAMA_CAP_UNLIKELY(!c || c->used + n > RAMA_SEG_CHUNK_EVENTS)) {
		c = new_chunk(t);
		if (!c) {
			t->lane->lost++;
			return;
		}
	}
	/* whoever reads `used`, also after a kill, finds the events below it whole */
	uint32_t at = c->used;
	memcpy(&c->event[at], e, n * sizeof(c->event[0]));
	__atomic_store_n(&c->used, at + n, __ATOMIC_RELEASE);
}

/* ---- rings ----------------------------------------------------------------------------------- */

static uint64_t ring_events(uint32_t level)
{
	return (uint64_t)RAMA_SEG_RING_FIRST << level;
}

#define UNREAD_MOST (8ull << 20) /* bytes, as long as nobody reads: events may be for nobody */

/* Bytes of the rings area, without a gap and with memory behind them: what is left of a piece
 * and too small is skipped. The caller holds the lock. */
static bool next_bytes(uint64_t n, uint64_t limit, uint64_t *at)
{
	struct rama_seg_state *s = rama_cap_run.state;
	uint64_t used = s->rings_used, end = rama_cap_memory_end(RAMA_CAP_RINGS);

	if (used < end && n > end - used)
		used = end;
	if (used > limit || n > limit - used)
		return false;
	unsigned char *p = rama_cap_memory_at(RAMA_CAP_RINGS, used, n);
	if (!p || !rama_cap_memory_fill(p, n)) {
		/* it would not be there next time */
		__atomic_store_n(&s->rings_limit, 0, __ATOMIC_RELAXED);
		return false;
	}
	__atomic_store_n(&s->rings_used, used + n, __ATOMIC_RELAXED);
	*at = used;
	return true;
}

static bool take_bytes(struct rama_cap_thread *t, uint64_t n, uint64_t *at)
{
	struct rama_seg_state *s = rama_cap_run.state;
	bool read = __atomic_load_n(&rama_cap_run.control->reader, __ATOMIC_RELAXED) != 0;
	uint64_t limit = __atomic_load_n(&s->rings_limit, __ATOMIC_RELAXED);

	if (!read && limit > UNREAD_MOST)
		limit = UNREAD_MOST;
	if (n > limit || __atomic_load_n(&s->rings_used, __ATOMIC_RELAXED) > limit - n ||
	    !rama_cap_lock(t, &rama_cap_run.events_lock))
		return false;
	bool ok = next_bytes(n, limit, at);
	rama_cap_unlock(t, &rama_cap_run.events_lock);
	return ok;
}

/* a ring of twice the size, which events from number n on go into */
static bool grow(struct rama_cap_thread *t, uint64_t n)
{
	struct rama_seg_lane *l = t->lane;
	uint64_t at;

	if (l->level >= RAMA_SEG_RING_LEVELS ||
	    !take_bytes(t, ring_events(l->level) * sizeof(struct rama_seg_event), &at))
		return false;
	/* The ring is told before the first event in it: a reader loads `made`, then `level`, and
	 * so knows the rings of all events below `made`. */
	l->ring[l->level].from = n;
	l->ring[l->level].at = at;
	__atomic_store_n(&l->level, l->level + 1, __ATOMIC_RELEASE);
	return true;
}

/* The next event has number n. What was read and given back is free again: up to where may be
 * written now? */
static void find_room(struct rama_cap_thread *t, uint64_t n)
{
	struct rama_seg_lane *l = t->lane;
	/* acquire: the agent has read its copy before the place is written again */
	uint64_t taken =
		__atomic_load_n(&rama_cap_run.control->taken[t->lane_number], __ATOMIC_ACQUIRE);
	uint64_t size = ring_events(l->level - 1), from = l->ring[l->level - 1].from;

	/* it is mapped since it was taken */
	t->ring = (struct rama_seg_event *)rama_cap_memory_at(
		RAMA_CAP_RINGS, l->ring[l->level - 1].at, size * sizeof(struct rama_seg_event));
	t->ring_mask = (uint32_t)size - 1;
	t->ring_end = (taken > n ? n : taken > from ? taken : from) + size;
}

static __attribute__((noinline)) bool make_room(struct rama_cap_thread *t, uint64_t n)
{
	struct rama_seg_lane *l = t->lane;

	see_focus();
	if (l->level > 0) {
		find_room(t, n);
		if (n < t->ring_end)
			return true;
	}
	if (!grow(t, n)) {
		__atomic_store_n(&l->dropped, l->dropped + 1, __ATOMIC_RELAXED);
		return false;
	}
	find_room(t, n);
	return true;
}

static inline void live(struct rama_cap_thread *t, const struct rama_seg_event *e)
{
	uint64_t n = t->lane->made;

	if (RAMA_CAP_UNLIKELY(n >= t->ring_end) && !make_room(t, n))
		return;
	t->ring[n & t->ring_mask] = *e;
	__atomic_store_n(&t->lane->made, n + 1, __ATOMIC_RELEASE);
}

/* ---- events ---------------------------------------------------------------------------------- */

static inline struct rama_seg_event event_of(struct rama_cap_thread *t, enum rama_seg_layer layer,
					     uint32_t name, const struct rama_core_op *op)
{
	return (struct rama_seg_event){
		.start = op->t0,
		.length = op->t1 - op->t0,
		.off = op->off,
		.bytes = op->bytes,
		.name = name,
		.layer = (uint8_t)layer,
		.kind = op->kind,
		.fn = op->fn,
		.call = t->nest ? t->nest->id : (uint32_t)++t->lane->calls,
		.parent = t->nest ? t->nest->outer : rama_cap_parent(t, name, op->off, op->bytes),
	};
}

void rama_cap_access(struct rama_cap_thread *t, enum rama_seg_layer layer, uint32_t name,
		     const struct rama_core_op *op)
{
	struct rama_seg_event e = event_of(t, layer, name, op);

	if (rama_cap_run.control->trace >> layer & 1)
		trace(t, &e, 1);
	if (rama_cap_run.control->live >> layer & 1)
		live(t, &e);
}

void rama_cap_request_slow(struct rama_cap_thread *t, struct rama_cap_request *q, bool ok)
{
	const struct rama_seg_control *c = rama_cap_run.control;
	uint8_t layer = q->event.layer;

	if (c->trace >> layer & 1)
		trace(t, q, 2);
	if (c->live >> layer & 1) {
		struct rama_seg_event e = q->event;

		if (!ok)
			e.layer |= RAMA_SEG_EVENT_FAILED;
		live(t, &e);
	}
}

void rama_cap_request(struct rama_cap_thread *t, enum rama_seg_layer layer, uint32_t name,
		      const struct rama_core_op *op, struct rama_seg_link *link, uint32_t call)
{
	struct rama_cap_request q = { .event = { .start = op->t0,
						 .length = op->t1 - op->t0,
						 .off = op->off,
						 .bytes = op->bytes,
						 .name = name,
						 .layer = (uint8_t)layer,
						 .kind = op->kind,
						 .fn = op->fn,
						 .call = call },
				      .link = *link };

	rama_cap_request_put(t, &q, op->ok);
}

/* what is no call of its own, or does nothing to a file */
#define BIT(kind) (1ull << RAMA_TAB_OP_##kind)
#define NO_EVENTS \
	(BIT(NOTHING) | BIT(DUP) | BIT(FILENO) | BIT(RENAMEFROM) | BIT(RENAMETO) | BIT(HINT))
#define HAVE_OFFSET (BIT(READ) | BIT(WRITE) | BIT(SEEK) | BIT(MMAP))
_Static_assert(RAMA_TAB_OPS <= 64, "a bit for every kind");

void rama_cap_live_call(struct rama_cap_thread *t, enum rama_seg_layer layer, uint32_t name,
			const struct rama_core_op *op)
{
	if (NO_EVENTS >> op->kind & 1 ||
	    (rama_cap_run.server && RAMA_CAP_OF_SERVERS >> op->kind & 1))
		return;
	struct rama_seg_event e = event_of(t, layer, name, op);
	if (!(HAVE_OFFSET >> op->kind & 1))
		e.off = -1;
	if (!op->ok || !((BIT(READ) | BIT(WRITE) | BIT(MMAP)) >> op->kind & 1))
		e.bytes = -1;
	if (!op->ok && op->kind == RAMA_TAB_OP_SEEK)
		e.off = -1;
	if (!op->ok)
		e.layer |= RAMA_SEG_EVENT_FAILED;
	live(t, &e);
}

/* Names that do not exist may be very many, and files that do exist need room, too. */
void rama_cap_live_path(struct rama_cap_thread *t, enum rama_seg_layer layer, const char *path,
			size_t len, const struct rama_core_op *op)
{
	bool room = rama_cap_run.names_bytes < rama_cap_run.failed_most;
	struct rama_seg_name *n = rama_cap_name(t, path, len, room);

	if (!n)
		n = rama_cap_name(t, RAMA_CAP_NAME_FAILED, sizeof(RAMA_CAP_NAME_FAILED) - 1, true);
	rama_cap_live_call(t, layer, n ? rama_cap_name_number(n) : 0, op);
}
