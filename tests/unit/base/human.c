/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <float.h>
#include <math.h>

#include "base/human.h"

struct pair {
	double value;
	const char *text;
};

static void check(char *(*put)(char *, double), const struct pair *p, size_t n)
{
	char to[RAMA_HUMAN];

	for (size_t i = 0; i < n; i++)
		assert_string_equal(put(to, p[i].value), p[i].text);
}
#define CHECK(put, ...)                                          \
	do {                                                     \
		static const struct pair p_[] = { __VA_ARGS__ }; \
		check(put, p_, LENGTH(p_));                      \
	} while (0)

static void counts(void **st)
{
	char to[RAMA_HUMAN];

	(void)st;
	assert_string_equal(rama_human_count(to, 0), "0");
	assert_string_equal(rama_human_count(to, 999), "999");
	assert_string_equal(rama_human_count(to, 1000), "1,000");
	assert_string_equal(rama_human_count(to, -999), "-999");
	assert_string_equal(rama_human_count(to, -1234567), "-1,234,567");
	assert_string_equal(rama_human_count(to, INT64_MAX), "9,223,372,036,854,775,807");
	assert_string_equal(rama_human_count(to, INT64_MIN), "-9,223,372,036,854,775,808");
}

static void bytes(void **st)
{
	(void)st;
	CHECK(rama_human_bytes, { 0, "0 B" }, { 1, "1 B" }, { 1023, "1023 B" }, { 1024, "1.0 KiB" },
	      { 1536, "1.5 KiB" }, { 1048575, "1.0 MiB" }, { 1048576, "1.0 MiB" },
	      { 25690112, "24.5 MiB" }, { 304620453068.0, "283.7 GiB" }, { 0x1p60, "1.0 EiB" },
	      { -2048, "-2.0 KiB" }, { NAN, "0 B" });
	CHECK(rama_human_rate, { 498073600, "475.0 MiB/s" }, { 0, "0 B/s" });
}

static void times(void **st)
{
	(void)st;
	CHECK(rama_human_seconds, { 0, "0 s" }, { 1e-9, "0 s" }, { 13e-6, "13 µs" },
	      { 0.00231, "2.31 ms" }, { 0.0423, "42.3 ms" }, { 0.0998, "99.8 ms" },
	      { 0.42, "0.42 s" }, { 9.81, "9.81 s" }, { 9.999, "10.0 s" }, { 45.25, "45.2 s" },
	      { 99.96, "100 s" }, { 612.4, "612 s" }, { 9999.4, "9999 s" }, { 12345, "12,345 s" },
	      { -3, "-3.00 s" }, { INFINITY, "0 s" });
	CHECK(rama_human_duration, { 0.5, "0.50 s" }, { 59.94, "59.9 s" }, { 59.96, "1 min 0 s" },
	      { 727.2, "12 min 7 s" }, { 3599.6, "1 h 0 min" }, { 12000, "3 h 20 min" },
	      { 190800, "2 d 5 h" });
}

static void shares(void **st)
{
	(void)st;
	CHECK(rama_human_share, { 0, "0 %" }, { 0.0001, "< 0.1 %" }, { 0.002, "0.2 %" },
	      { 0.0421, "4.2 %" }, { 0.02, "2 %" }, { 0.0203, "2 %" }, { 0.0999, "10 %" },
	      { 0.84, "84 %" }, { 0.99, "99 %" }, { 0.996, "99.6 %" }, { 0.99996, "> 99.9 %" },
	      { 1, "100 %" }, { 1.5, "150 %" });
	CHECK(rama_human_ratio, { 3.93, "3.9×" }, { 64, "64×" }, { 1200, "1,200×" },
	      { NAN, "0.0×" });
}

static void by_unit(void **st)
{
	char to[RAMA_HUMAN];

	(void)st;
	assert_string_equal(rama_human_value(to, "bytes", 2048), "2.0 KiB");
	assert_string_equal(rama_human_value(to, "s", 2), "2.00 s");
	assert_string_equal(rama_human_value(to, "share", 0.5), "50 %");
	assert_string_equal(rama_human_value(to, "ratio", 2), "2.0×");
	assert_string_equal(rama_human_value(to, "count", 2000), "2,000");
	assert_string_equal(rama_human_value(to, "count", 2.25), "2.25");
	assert_string_equal(rama_human_value(to, NULL, 7), "7");
}

/* whatever comes, it fits */
static void extremes_fit(void **st)
{
	static char *(*const all[])(char *, double) = { rama_human_bytes,   rama_human_rate,
							rama_human_seconds, rama_human_duration,
							rama_human_share,   rama_human_ratio };
	static const double v[] = { DBL_MAX, -DBL_MAX, DBL_MIN,	  0x1p63,   -0x1p63,   0x1p64,
				    1e15,    1e12,     999999.95, INFINITY, -INFINITY, NAN };
	char to[RAMA_HUMAN + 8];

	(void)st;
	for (size_t i = 0; i < LENGTH(all); i++) {
		for (size_t k = 0; k < LENGTH(v); k++) {
			memset(to, 'x', sizeof(to));
			all[i](to, v[k]);
			assert_true(strlen(to) < RAMA_HUMAN);
			assert_int_equal(to[RAMA_HUMAN], 'x');
		}
	}
}

UNIT_GROUP(human, test(counts), test(bytes), test(times), test(shares), test(by_unit),
	   test(extremes_fit))
