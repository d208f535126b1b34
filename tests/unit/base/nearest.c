/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/nearest.h"

static void distances(void **st)
{
	static const struct {
		const char *a, *b;
		unsigned d;
	} rows[] = {
		{ "", "", 0 },
		{ "report", "report", 0 },
		{ "", "abc", 3 },
		{ "abc", "", 3 },
		{ "reprot", "report", 1 },
		{ "repor", "report", 1 },
		{ "rreport", "report", 1 },
		{ "show", "watch", 5 },
		{ "a-b", "a_b", 0 },
		{ "kitten", "sitting", 3 },
		{ "ab", "ba", 1 },
		{ "ca", "abc", 3 },
	};
	char longest[63 + 1];

	(void)st;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(rama_nearest_distance(rows[i].a, rows[i].b), rows[i].d);
		assert_int_equal(rama_nearest_distance(rows[i].b, rows[i].a), rows[i].d);
	}
	memset(longest, 'x', 63);
	longest[63] = '\0';
	assert_int_equal(rama_nearest_distance(longest, "x"), 99);
	assert_int_equal(rama_nearest_distance(longest + 1, "x"), 61);
	assert_int_equal(rama_nearest_distance(longest + 1, longest + 1), 0);
}

static const char *guess(const char *word)
{
	static const char *const names[] = { "run", "report", "recover", "store", "exclude", "ls" };
	struct rama_nearest n = { .word = word };

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		rama_nearest_offer(&n, names[i]);
	return n.name;
}

static void guesses(void **st)
{
	(void)st;
	assert_string_equal(guess("reprot"), "report");
	assert_string_equal(guess("rnu"), "run");
	assert_string_equal(guess("stroe"), "store");
	assert_string_equal(guess("exlcued"), "exclude");
	assert_null(guess("frobnicate"));
	assert_null(guess("stxyz")); /* too far from anything */
	assert_null(guess("rpx")); /* two of three are too many */
	assert_string_equal(guess("rum"), "run");
	assert_null(guess("x"));
	assert_null(guess("xy")); /* no letter of it would stay */
	assert_null(guess(""));
}

UNIT_GROUP(nearest, test(distances), test(guesses))
