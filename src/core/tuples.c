/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/tuples.h"

#include <string.h>

void rama_core_tuples_init(struct rama_core_tuples *t)
{
	memset(t, 0, sizeof(*t));
}

static bool same(const struct rama_core_tuple *a, const struct rama_core_tuple *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* A full table takes no new tuples, for ever: the log format has it so. */
void rama_core_tuples_add(struct rama_core_tuples *t, const struct rama_core_tuple *x)
{
	uint32_t i = t->last;

	if (i >= t->used || !same(&t->value[i], x)) {
		for (i = 0; i < t->used && !same(&t->value[i], x);)
			i++;
		if (i == RAMA_CORE_TUPLES)
			return;
		if (i == t->used) {
			t->value[i] = *x;
			t->used++;
		}
		t->last = i;
	}
	t->count[i]++;
	t->seen[i] = ++t->turn;
}

static bool beats(const struct rama_core_tuples *t, uint32_t a, uint32_t b)
{
	if (t->count[a] != t->count[b])
		return t->count[a] > t->count[b];
	if (t->value[a].size != t->value[b].size)
		return t->value[a].size > t->value[b].size;
	return t->seen[a] > t->seen[b];
}

void rama_core_tuples_top4(const struct rama_core_tuples *t,
			   union rama_core_word value[4 * RAMA_CORE_TUPLE_WORDS],
			   union rama_core_word count[4])
{
	uint32_t used = t->used < RAMA_CORE_TUPLES ? t->used : RAMA_CORE_TUPLES;
	uint32_t best[4]; /* places */
	unsigned n = 0;

	for (uint32_t i = 0; i < used; i++) {
		unsigned k;

		if (t->value[i].size == 0 || t->count[i] == 0)
			continue;
		if (n < 4)
			n++;
		else if (!beats(t, i, best[3]))
			continue;
		for (k = n - 1; k > 0 && beats(t, i, best[k - 1]); k--)
			best[k] = best[k - 1];
		best[k] = i;
	}
	memset(value, 0, 4 * sizeof(struct rama_core_tuple));
	for (unsigned k = 0; k < 4; k++) {
		count[k].i = k < n ? t->count[best[k]] : 0;
		if (k < n)
			memcpy(&value[k * RAMA_CORE_TUPLE_WORDS], &t->value[best[k]],
			       sizeof(struct rama_core_tuple));
	}
}
