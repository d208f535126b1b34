/* SPDX-License-Identifier: BSD-3-Clause */
/* ranges.c: sets of numbers as ranges. */
#include "base/ranges.h"

#include <stdlib.h>

#include "unit.h"

static void neighbours_join(void **state)
{
	struct rama_ranges s = { 0 };
	char text[128];

	(void)state;
	assert_int_equal(rama_ranges_add(&s, 7, 9), 0);
	assert_int_equal(rama_ranges_add(&s, 3, 3), 0);
	rama_ranges_text(&s, text, sizeof(text));
	assert_string_equal(text, "3,7-9");
	assert_int_equal(rama_ranges_count(&s), 4);
	assert_true(rama_ranges_has(&s, 3) && rama_ranges_has(&s, 9));
	assert_false(rama_ranges_has(&s, 4) || rama_ranges_has(&s, 6) || rama_ranges_has(&s, 10));
	assert_int_equal(rama_ranges_add(&s, 4, 6), 0);
	rama_ranges_text(&s, text, sizeof(text));
	assert_string_equal(text, "3-9");
	assert_int_equal(s.n, 1);
	free(s.r);
}

/* every set of numbers below 12, added in some order, is what a bit mask of it says */
static void same_as_bits(void **state)
{
	(void)state;
	for (unsigned mask = 0; mask < 1u << 12; mask++) {
		struct rama_ranges s = { 0 };

		for (unsigned k = 0; k < 12; k++)
			if (mask >> (k * 5 % 12) & 1)
				assert_int_equal(rama_ranges_add(&s, k * 5 % 12, k * 5 % 12), 0);
		for (unsigned i = 0; i < 12; i++)
			assert_int_equal(rama_ranges_has(&s, i), mask >> i & 1);
		assert_int_equal(rama_ranges_count(&s), __builtin_popcount(mask));
		for (size_t i = 1; i < s.n; i++)
			assert_true(s.r[i][0] > s.r[i - 1][1] + 1);
		free(s.r);
	}
}

static void long_text_is_cut(void **state)
{
	struct rama_ranges s = { 0 };
	char text[80];

	(void)state;
	for (int64_t i = 0; i < 100; i++)
		assert_int_equal(rama_ranges_add(&s, 2 * i, 2 * i), 0);
	rama_ranges_text(&s, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
	assert_string_equal(text + strlen(text) - 3, "...");
	assert_memory_equal(text, "0,2,4,", 6);
	free(s.r);
}

UNIT_GROUP(ranges, test(neighbours_join), test(same_as_bits), test(long_text_is_cut))
