/* SPDX-License-Identifier: BSD-3-Clause */
/* values.h: how often each of the first 32 distinct values occurred; the four most frequent ones
 * are what a log shows. Counting is cheap, ranking is left to who reads the record. */
#ifndef RAMA_CORE_VALUES_H
#define RAMA_CORE_VALUES_H

#include "core/record.h"

#define RAMA_CORE_VALUES 32

struct rama_core_values {
	uint32_t used;
	uint32_t last; /* place of the value seen last: most accesses repeat it */
	int64_t value[RAMA_CORE_VALUES];
	uint32_t count[RAMA_CORE_VALUES];
};

/* Values are sizes and gaps, never negative: -1 stands where no value was seen yet. */
static inline void rama_core_values_init(struct rama_core_values *v)
{
	*v = (struct rama_core_values){ .value[0] = -1 };
}

/* is it the value seen last? Then counting it is one step. */
static inline bool rama_core_values_repeats(const struct rama_core_values *v, int64_t value)
{
	return v->value[v->last] == value;
}

void rama_core_values_add_new(struct rama_core_values *v, int64_t value);

static inline void rama_core_values_add(struct rama_core_values *v, int64_t value)
{
	if (rama_core_values_repeats(v, value))
		v->count[v->last]++;
	else
		rama_core_values_add_new(v, value);
}

/* The four most frequent values other than 0, by count, then by value, both descending; the rest of
 * the slots is 0. Content of `v` may be anything. */
void rama_core_values_top4(const struct rama_core_values *v, union rama_core_word value[4],
			   union rama_core_word count[4]);

#endif
