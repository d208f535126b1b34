/* SPDX-License-Identifier: BSD-3-Clause */
/* tuples.h: like values.h, for accesses to arrays: size and shape of an access are counted
 * together. */
#ifndef RAMA_CORE_TUPLES_H
#define RAMA_CORE_TUPLES_H

#include "core/record.h"

#define RAMA_CORE_TUPLES 32
#define RAMA_CORE_DIMS 5 /* of an array that a record has room for */

/* one access, in the order of the record's words */
struct rama_core_tuple {
	int64_t size;
	int64_t length[RAMA_CORE_DIMS], stride[RAMA_CORE_DIMS];
};
#define RAMA_CORE_TUPLE_WORDS (1 + 2 * RAMA_CORE_DIMS)
_Static_assert(sizeof(struct rama_core_tuple) ==
		       RAMA_CORE_TUPLE_WORDS * sizeof(union rama_core_word),
	       "a tuple is words of a record");

/* the first tuples that came, and how often each did; part of the segment */
struct rama_core_tuples {
	uint32_t used;
	uint32_t last;			 /* place of the tuple seen last: most accesses repeat it */
	uint64_t turn;			 /* of the last access that was counted */
	uint64_t seen[RAMA_CORE_TUPLES]; /* turn in which each was seen last */
	uint32_t count[RAMA_CORE_TUPLES];
	struct rama_core_tuple value[RAMA_CORE_TUPLES];
};

void rama_core_tuples_init(struct rama_core_tuples *t);
void rama_core_tuples_add(struct rama_core_tuples *t, const struct rama_core_tuple *x);
/* The four most frequent tuples of a size other than 0, by count, then by size, both descending,
 * then the one seen later first; the rest of the slots is 0. Content of `t` may be anything. */
void rama_core_tuples_top4(const struct rama_core_tuples *t,
			   union rama_core_word value[4 * RAMA_CORE_TUPLE_WORDS],
			   union rama_core_word count[4]);

#endif
