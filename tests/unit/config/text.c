/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <inttypes.h>
#include <math.h>

#include "config/text.h"

static struct rama_config_piece word(const char *s)
{
	return (struct rama_config_piece){ s, strlen(s) };
}

static void numbers_are_put(void **state)
{
	static const int64_t values[] = { 0, 1, -1, 9, 10, 123456789, INT64_MAX, INT64_MIN };
	char to[64], truth[64];
	struct rama_config_text t;

	(void)state;
	for (size_t i = 0; i < LENGTH(values); i++) {
		rama_config_text_init(&t, to, sizeof(to));
		rama_config_text_i64(&t, values[i]);
		rama_config_text_str(&t, " ");
		rama_config_text_u64(&t, (uint64_t)values[i]);
		snprintf(truth, sizeof(truth), "%" PRId64 " %" PRIu64, values[i],
			 (uint64_t)values[i]);
		assert_string_equal(to, truth);
		assert_false(t.cut);
	}
	rama_config_text_init(&t, to, 4);
	rama_config_text_str(&t, "abc");
	assert_false(t.cut);
	rama_config_text_str(&t, "d");
	assert_true(t.cut);
	assert_string_equal(to, "abc");
}

static void numbers_are_read(void **state)
{
	static const char *const rows[] = { "0",       "1",	"-1",	   "+2.5",  "0.1",
					    ".5",      "5.",	"1e3",	   "1e-3",  "2.5E+2x",
					    "1e",      "12 34", "x",	   "",	    ".",
					    "-",       "-.e1",	"0.25abc", "1e400", "0e999",
					    "3.14159", "1e-400" };

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		char *end;
		double truth = strtod(rows[i], &end), v = 0;
		size_t n = rama_config_piece_number(word(rows[i]), &v);

		assert_int_equal(n, end - rows[i]);
		if (isfinite(truth) ? !(fabs(v - truth) <= 1e-15 * fabs(truth)) : v != truth)
			fail_msg("'%s' is read as %g", rows[i], v);
	}
}

static void whole_numbers_are_read(void **state)
{
	static const char *const rows[] = { "0",
					    "12x",
					    "-7",
					    " \t+3",
					    "9223372036854775807",
					    "9223372036854775808",
					    "-9223372036854775808",
					    "-9223372036854775809",
					    "99999999999999999999",
					    "x",
					    "",
					    "-",
					    "007" };

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		char *end;
		int64_t truth = strtoll(rows[i], &end, 10), v = 0;

		assert_int_equal(rama_config_piece_integer(word(rows[i]), &v), end - rows[i]);
		assert_true(v == truth);
	}
}

static void sizes_have_units(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = { { "4096", 4096 },	      { "0", 0 },
		     { "64K", 65536 },	      { "64k", 65536 },
		     { "64KiB", 65536 },      { "64KB", 64000 },
		     { "2M", 2097152 },	      { "1.5G", 1610612736 },
		     { "1T", 1099511627776 }, { "7B", 7 },
		     { "2MB", 2000000 } };
	static const char *const wrong[] = { "",      "x", "-1",  "1X",	  "1KX",
					     "1KiBx", "K", "1 K", "1e30", "8388608T" };
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		assert_true(rama_config_piece_size(word(rows[i].text), &v));
		if (v != rows[i].bytes)
			fail_msg("'%s' is %" PRIu64, rows[i].text, v);
	}
	for (size_t i = 0; i < LENGTH(wrong); i++)
		if (rama_config_piece_size(word(wrong[i]), &v))
			fail_msg("'%s' is taken", wrong[i]);
}

static void lists_are_cut(void **state)
{
	struct rama_config_piece list = word("a,,bc,"), item;

	(void)state;
	assert_true(rama_config_piece_next(&list, ',', &item) && rama_config_piece_is(item, "a"));
	assert_true(rama_config_piece_next(&list, ',', &item) && rama_config_piece_is(item, ""));
	assert_true(rama_config_piece_next(&list, ',', &item) && rama_config_piece_is(item, "bc"));
	assert_false(rama_config_piece_is(item, "b") || rama_config_piece_is(item, "bcd"));
	assert_false(rama_config_piece_next(&list, ',', &item));
}

UNIT_GROUP(text, test(numbers_are_put), test(numbers_are_read), test(whole_numbers_are_read),
	   test(sizes_have_units), test(lists_are_cut))
