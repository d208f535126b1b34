/* SPDX-License-Identifier: BSD-3-Clause */
/* replay_ranges.c: which bytes of a file: ranges in order that do not touch each other. */
#include <stdlib.h>
#include <string.h>

#include "emulate/replay/replay.h"

#define MOST 65536 /* ranges of a file: more are not worth their memory */

/* index of the first range that ends at `at` or later */
static uint32_t find(const struct rama_emu_replay_ranges *s, int64_t at)
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
	uint32_t at = find(s, from), last = at;

	while (last < s->n && s->range[last].from <= to) { /* all that it touches become one */
		from = s->range[last].from < from ? s->range[last].from : from;
		to = s->range[last].to > to ? s->range[last].to : to;
		last++;
	}
	if (last == at) {
		if (s->n == MOST)
			return RAMA_ELIMIT;
		if (s->n == s->room) {
			uint32_t room = s->room == 0 ? 4 : 2 * s->room;
			struct rama_emu_range *p = reallocarray(s->range, room, sizeof(*p));

			if (p == NULL)
				return RAMA_EMEMORY;
			s->range = p;
			s->room = room;
		}
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
	uint32_t at = find(s, from);

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
