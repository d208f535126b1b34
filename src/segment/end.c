/* SPDX-License-Identifier: BSD-3-Clause */
/* end.c: when the history of a process ended that could not say so itself. */
#include <stdlib.h>

#include "segment/segment.h"

#define TICKS_MAX (1ull << 60) /* decades; later times are nonsense */

static void later(struct rama_segment *s, uint64_t tick)
{
	if (tick > s->end_tick && tick < TICKS_MAX)
		s->end_tick = tick;
}

union any_slot {
	struct rama_posix_file posix;
	struct rama_stdio_file stdio;
	struct rama_extra_file extra;
};

static void see_slot(struct rama_segment *s, enum rama_area area, const union any_slot *slot)
{
	if (area == RAMA_AREA_POSIX) {
		const struct rama_posix_file *f = &slot->posix;

		later(s, f->meta_end);
		later(s, f->read_end);
		later(s, f->write_end);
		later(s, f->w[RAMA_POSIX_F_CLOSE_END_TIMESTAMP].u);
	} else if (area == RAMA_AREA_STDIO) {
		const struct rama_stdio_file *f = &slot->stdio;

		later(s, f->meta_end);
		later(s, f->read_end);
		later(s, f->write_end);
		later(s, f->w[RAMA_STDIO_F_CLOSE_END_TIMESTAMP].u);
	} else {
		later(s, slot->extra.meta_end);
	}
}

static int see_events(struct rama_segment *s, struct rama_seg_chunk *chunk, struct rama_err *e)
{
	int rc = 0;

	for (uint64_t i = 0; i < rama_segment_chunks(s) && rc == 0; i++) {
		rc = rama_segment_chunk(s, i, chunk, e);
		for (uint32_t k = 0; rc == 0 && k < chunk->used; k++)
			if (chunk->event[k].start < TICKS_MAX && chunk->event[k].length < TICKS_MAX)
				later(s, chunk->event[k].start + chunk->event[k].length);
	}
	return rc;
}

int rama_segment_find_end(struct rama_segment *s, struct rama_err *e)
{
	struct {
		union any_slot slot;
		struct rama_seg_chunk chunk;
	} * m;
	int rc = 0;

	if (s->end_tick > 0)
		return 0;
	m = malloc(sizeof(*m));
	if (m == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	for (int a = RAMA_AREA_POSIX; a <= RAMA_AREA_EXTRA && rc >= 0; a++) {
		uint32_t n = rama_segment_slots(s, (enum rama_area)a);

		for (uint32_t i = 0; i < n && rc >= 0; i++) {
			rc = rama_segment_slot(s, (enum rama_area)a, i, &m->slot, e);
			if (rc >= 0)
				see_slot(s, (enum rama_area)a, &m->slot);
		}
	}
	if (rc >= 0)
		rc = see_events(s, &m->chunk, e);
	free(m);
	return rc < 0 ? rc : 0;
}
