/* SPDX-License-Identifier: BSD-3-Clause */
/* ring.c: the other side of capture/events.c. What is loaded with acquire was stored with
 * release after all that it speaks of: first `made`, then `level`, so that the rings of all
 * events below `made` are known. */
#include "segment/ring.h"

#include <string.h>

/* ---- a lane, as it is now -------------------------------------------------------------------- */

/* what one look at a lane says: numbers that were checked, and cannot change any more */
struct look {
	const struct rama_seg_lane *lane;
	uint64_t made;
	uint32_t levels;
	uint64_t from[RAMA_SEG_RING_LEVELS];
	const unsigned char *events[RAMA_SEG_RING_LEVELS];
};

static const struct rama_seg_lane *lane_at(const struct rama_seg_mapped *m, uint32_t i)
{
	const struct rama_seg_area_get *a = &m->seg.head.area[RAMA_SEG_AREA_LANES];

	/* as long as there are numbers for them in the control area */
	if (m->base == NULL || a->item == 0 || i >= RAMA_SEG_LANES || i >= a->len / a->item)
		return NULL;
	return (const void *)(m->base + a->off + (uint64_t)i * a->item);
}

static uint64_t ring_events(uint32_t level)
{
	return (uint64_t)RAMA_SEG_RING_FIRST << level;
}

static int look_at_ring(const struct rama_seg_mapped *m, struct look *k, uint32_t level)
{
	const struct rama_seg_area_get *a = &m->seg.head.area[RAMA_SEG_AREA_RINGS];
	uint64_t at = __atomic_load_n(&k->lane->ring[level].at, __ATOMIC_RELAXED);
	uint64_t need = ring_events(level) * sizeof(struct rama_seg_event);

	k->from[level] = __atomic_load_n(&k->lane->ring[level].from, __ATOMIC_RELAXED);
	if (at % 8 != 0 || need > a->len || at > a->len - need)
		return RAMA_ECORRUPT;
	if (level == 0 ? k->from[0] != 0 : k->from[level] < k->from[level - 1])
		return RAMA_ECORRUPT;
	k->events[level] = m->base + a->off + at;
	return 0;
}

static int look_at(const struct rama_seg_mapped *m, uint32_t lane, struct look *k)
{
	int rc = 0;

	k->lane = lane_at(m, lane);
	if (k->lane == NULL)
		return RAMA_EUSAGE;
	k->made = __atomic_load_n(&k->lane->made, __ATOMIC_ACQUIRE);
	k->levels = __atomic_load_n(&k->lane->level, __ATOMIC_ACQUIRE);
	if (k->levels > RAMA_SEG_RING_LEVELS || (k->levels == 0 && k->made > 0))
		return RAMA_ECORRUPT;
	for (uint32_t i = 0; i < k->levels && rc == 0; i++)
		rc = look_at_ring(m, k, i);
	return rc;
}

static const struct rama_seg_control *control_of(const struct rama_seg_mapped *m)
{
	return (const void *)(m->base + m->seg.head.area[RAMA_SEG_AREA_CONTROL].off);
}

int rama_seg_ring_state(struct rama_seg_mapped *m, uint32_t lane, struct rama_seg_ring_state *st)
{
	struct look k;
	int rc = look_at(m, lane, &k);

	*st = (struct rama_seg_ring_state){ 0 };
	if (rc == RAMA_EUSAGE)
		return rc;
	st->dropped = __atomic_load_n(&k.lane->dropped, __ATOMIC_RELAXED);
	st->tid = __atomic_load_n(&k.lane->tid, __ATOMIC_RELAXED);
	if (rc != 0)
		return rc;
	st->made = k.made;
	st->taken = __atomic_load_n(&control_of(m)->taken[lane], __ATOMIC_RELAXED);
	if (st->taken > st->made)
		st->taken = st->made;
	return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Who made event n, and up to where the events are that thread's. */
static uint32_t owner_of(const struct look *k, uint64_t n, uint64_t *until)
{
	uint32_t owners = __atomic_load_n(&k->lane->owners, __ATOMIC_ACQUIRE), tid = 0;
	uint64_t best = 0;

	if (owners == 0)
		return __atomic_load_n(&k->lane->tid, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < owners && i < RAMA_SEG_OWNERS; i++) {
		uint64_t from = __atomic_load_n(&k->lane->owner[i].from, __ATOMIC_RELAXED);

		if (from > n) {
			*until = from < *until ? from : *until;
		} else if (tid == 0 || from >= best) {
			best = from;
			tid = __atomic_load_n(&k->lane->owner[i].tid, __ATOMIC_RELAXED);
		}
	}
	return tid;
}

/* The piece of a ring that event n lies in, up to `until` or where the ring ends; returns the
 * number of events. */
static uint32_t piece_of(const struct look *k, uint64_t n, uint64_t until,
			 const unsigned char **bytes)
{
	uint32_t level = k->levels - 1;

	while (level > 0 && k->from[level] > n)
		level--;
	uint64_t size = ring_events(level), place = n % size;
	uint64_t end = level + 1 < k->levels && k->from[level + 1] < k->made ? k->from[level + 1]
									     : k->made;
	/* overwritten since: only where somebody gave back what was not read */
	if (end - n > size)
		return 0;
	if (end > until)
		end = until;
	*bytes = k->events[level] + place * sizeof(struct rama_seg_event);
	return (uint32_t)(end - n < size - place ? end - n : size - place);
}

uint32_t rama_seg_ring_read(struct rama_seg_mapped *m, uint32_t lane, uint64_t from,
			    struct rama_seg_event *to, uint32_t most, uint32_t *tid)
{
	struct look k;
	uint32_t n = 0, part = 1;

	*tid = 0;
	if (look_at(m, lane, &k) != 0 || from >= k.made)
		return 0;
	uint64_t until = k.made - from > most ? from + most : k.made;
	*tid = owner_of(&k, from, &until);
	while (from + n < until && part > 0) {
		const unsigned char *bytes = NULL;

		part = piece_of(&k, from + n, until, &bytes);
		if (part > 0)
			memcpy(to + n, bytes, part * sizeof(*to));
		n += part;
	}
	return n;
}

void rama_seg_ring_give_back(struct rama_seg_mapped *m, uint32_t lane, uint64_t until)
{
	if (m->control == NULL || lane >= RAMA_SEG_LANES)
		return;
	if (until > __atomic_load_n(&m->control->taken[lane], __ATOMIC_RELAXED))
		__atomic_store_n(&m->control->taken[lane], until, __ATOMIC_RELEASE);
}
