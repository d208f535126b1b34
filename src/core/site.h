/* SPDX-License-Identifier: BSD-3-Clause */
/* site.h: which place in a program moved the bytes of a file; part of a segment. While the reads
 * (or the writes) of a record come from one place, the record's own counters are that place's.
 * When the place changes, what they have grown by since the last change is booked in a row. So
 * the sum over all places is what the record says, always: what has no row is nobody's. */
#ifndef RAMA_CORE_SITE_H
#define RAMA_CORE_SITE_H

#include "core/kind.h"

/* of a record, one direction: whose turn it is */
struct rama_core_turn {
	uint64_t key;	    /* what the place's calls have in common; 0: there was none yet */
	int64_t ops, bytes; /* as the record had them when the turn began */
	uint64_t ticks;
	uint32_t site; /* name of the place; 0: not known */
	uint32_t rows; /* the newest row of this record and direction + 1; 0: there is none */
};

enum { RAMA_CORE_TURN_WRITE, RAMA_CORE_TURN_READ, RAMA_CORE_TURNS };

struct rama_core_moved {
	int64_t ops, bytes;
	uint64_t ticks;
};

/* What one place did in turns that have ended. `head.name` is the file's. */
struct rama_core_site_row {
	struct rama_core_slot head;
	uint32_t site, next; /* next: row + 1 that the same record and direction got before; 0 */
	uint8_t layer;	     /* 0 POSIX, 1 STDIO */
	uint8_t turn;	     /* RAMA_CORE_TURN_... */
	struct rama_core_moved moved;
	union rama_core_word w[RAMA_TAB_SITES__WORDS];
};

/* where a record counts what it has moved */
struct rama_core_turn_words {
	uint8_t ops, bytes, ticks;
};
extern const struct rama_core_turn_words rama_core_turn_words[2][RAMA_CORE_TURNS]; /* by layer */

/* Ends a turn: what was moved in it; the next one begins now. */
struct rama_core_moved rama_core_turn_end(struct rama_core_turn *t, const union rama_core_word *w,
					  const struct rama_core_turn_words *at);
/* the same of a copy of a record that may hold anything, without changing it */
struct rama_core_moved rama_core_turn_so_far(const struct rama_core_turn *t,
					     const union rama_core_word *w,
					     const struct rama_core_turn_words *at);
void rama_core_site_add(struct rama_core_site_row *r, const struct rama_core_moved *m);
/* at most `left`, nothing below 0; takes it from there */
struct rama_core_moved rama_core_moved_take(struct rama_core_moved *left,
					    const struct rama_core_moved *m);

#endif
