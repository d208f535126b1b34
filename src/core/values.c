/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/values.h"

/* A full table takes no new values, for ever: the log format has it so. */
void rama_core_values_add_new(struct rama_core_values *v, int64_t value)
{
	uint32_t i = 0;

	while (i < v->used && v->value[i] != value)
		i++;
	if (i == RAMA_CORE_VALUES)
		return;
	if (i == v->used) {
		v->value[i] = value;
		v->used++;
	}
	v->count[i]++;
	v->last = i;
}

static bool beats(int64_t count, int64_t value, union rama_core_word c, union rama_core_word v)
{
	return count > c.i || (count == c.i && value > v.i);
}

void rama_core_values_top4(const struct rama_core_values *v, union rama_core_word value[4],
			   union rama_core_word count[4])
{
	uint32_t used = v->used < RAMA_CORE_VALUES ? v->used : RAMA_CORE_VALUES;
	unsigned n = 0; /* slots filled */

	for (unsigned k = 0; k < 4; k++)
		value[k].i = count[k].i = 0;
	for (uint32_t i = 0; i < used; i++) {
		int64_t x = v->value[i], c = v->count[i];
		unsigned k;

		if (x == 0 || c == 0)
			continue;
		if (n < 4)
			n++;
		else if (!beats(c, x, count[3], value[3]))
			continue;
		for (k = n - 1; k > 0 && beats(c, x, count[k - 1], value[k - 1]); k--) {
			value[k] = value[k - 1];
			count[k] = count[k - 1];
		}
		value[k].i = x;
		count[k].i = c;
	}
}
