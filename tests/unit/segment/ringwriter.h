/* SPDX-License-Identifier: BSD-3-Clause */
/* ringwriter.h: puts live events into a lane as segment/layout.h says it is to be done: what an
 * observed thread does, told once more. Event number n is one that can be told from all others. */
#ifndef RAMA_TESTS_RINGWRITER_H
#define RAMA_TESTS_RINGWRITER_H

#include "seg.h"
#include "segment/ring.h"

static inline struct rama_seg_event ring_event(uint64_t n)
{
	return (struct rama_seg_event){ .start = 1000 + n * 7,
					.length = n % 13,
					.off = (int64_t)n,
					.bytes = (int64_t)(n * n),
					.name = (uint32_t)n,
					.layer = n % 6,
					.kind = n % 30,
					.fn = (uint16_t)n,
					.call = (uint32_t)n + 1,
					.parent = (uint32_t)(n / 2) };
}

static inline bool ring_grow(struct seg *s, struct rama_seg_lane *l)
{
	uint64_t bytes =
		(uint64_t)(RAMA_SEG_RING_FIRST << l->level) * sizeof(struct rama_seg_event);

	if (l->level == RAMA_SEG_RING_LEVELS ||
	    s->state->rings_limit - s->state->rings_used < bytes)
		return false;
	__atomic_store_n(&l->ring[l->level].from, l->made, __ATOMIC_RELAXED);
	__atomic_store_n(&l->ring[l->level].at, s->state->rings_used, __ATOMIC_RELAXED);
	s->state->rings_used += bytes;
	__atomic_store_n(&l->level, l->level + 1, __ATOMIC_RELEASE);
	return true;
}

/* false: it was dropped */
static inline bool ring_put(struct seg *s, uint32_t lane)
{
	struct rama_seg_lane *l = (struct rama_seg_lane *)seg_area(s, RAMA_SEG_AREA_LANES) + lane;
	struct rama_seg_event *ring;
	uint64_t taken, from, size, n = l->made;

	for (unsigned i = 0; i < 2; i++) {
		taken = __atomic_load_n(&s->control->taken[lane], __ATOMIC_ACQUIRE);
		size = l->level ? (uint64_t)RAMA_SEG_RING_FIRST << (l->level - 1) : 0;
		from = l->level ? l->ring[l->level - 1].from : 0;
		if (l->level && n < (taken > from ? taken : from) + size)
			break;
		if (i == 1 || !ring_grow(s, l)) {
			__atomic_store_n(&l->dropped, l->dropped + 1, __ATOMIC_RELAXED);
			return false;
		}
	}
	ring = (void *)((unsigned char *)seg_area(s, RAMA_SEG_AREA_RINGS) +
			l->ring[l->level - 1].at);
	ring[n % size] = ring_event(n);
	__atomic_store_n(&l->made, n + 1, __ATOMIC_RELEASE);
	return true;
}

/* from now on another thread writes */
static inline void ring_owner(struct seg *s, uint32_t lane, uint32_t tid)
{
	struct rama_seg_lane *l = (struct rama_seg_lane *)seg_area(s, RAMA_SEG_AREA_LANES) + lane;

	__atomic_store_n(&l->owner[l->owners % RAMA_SEG_OWNERS].tid, tid, __ATOMIC_RELAXED);
	__atomic_store_n(&l->owner[l->owners % RAMA_SEG_OWNERS].from, l->made, __ATOMIC_RELAXED);
	__atomic_store_n(&l->owners, l->owners + 1, __ATOMIC_RELEASE);
}

/* the segment as a reader has it, in the same memory */
static inline int ring_open(struct rama_seg_mapped *m, struct seg *s, struct rama_err *e)
{
	memset(m, 0, sizeof(*m));
	m->base = s->bytes;
	m->size = s->size;
	m->control = s->control;
	m->fd = m->place[0] = m->place[1] = -1;
	rama_source_memory(&m->src, s->bytes, s->size);
	return rama_seg_open(&m->seg, &m->src, e);
}

#endif
