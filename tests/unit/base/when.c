/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <time.h>

#include "base/when.h"

#define S 1000000000ll
#define NOW (1763284807ll * S + 250) /* 2025-11-16 09:20:07 UTC */

static int in_zone(void **st)
{
	(void)st;
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	return 0;
}

static int in_utc(void **st)
{
	(void)st;
	setenv("TZ", "UTC", 1);
	tzset();
	return 0;
}

static void spans(void **st)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{ "5", 5 * S },
		{ "0", 0 },
		{ "5s", 5 * S },
		{ "10m", 600 * S },
		{ "10min", 600 * S },
		{ "1.5h", 5400 * S },
		{ "30d", 30 * 86400 * S },
		{ "2w", 14 * 86400 * S },
		{ "250ms", S / 4 },
		{ "7us", 7000 },
		{ "9ns", 9 },
		{ "1h30m", 5400 * S },
		{ "1.5", 3 * S / 2 },
	};
	static const char *const bad[] = { "",	  "s",	 "-5s",	 "5 s",	  "5x",		  "0x10",
					   "inf", "nan", "5s6x", "1e30w", "99999999999d", "h5" };
	int64_t ns;

	(void)st;
	for (size_t i = 0; i < LENGTH(good); i++) {
		assert_true(rama_when_span(good[i].text, &ns));
		assert_true(ns == good[i].ns);
	}
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_false(rama_when_span(bad[i], &ns));
}

static void moments(void **st)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{ "now", NOW },
		{ "-10m", NOW - 600 * S },
		{ "+5s", 7 * S + 5 * S }, /* after the origin, 7 s */
		{ "@12", 12 * S },
		{ "@1700000000.123456789", 1700000000ll * S + 123456789 },
		{ "1700000000", 1700000000ll * S },
		{ "1700000000.5", 1700000000ll * S + S / 2 },
		{ "2023-11-14T22:13:20Z", 1700000000ll * S },
		{ "2023-11-14T22:13:20.000000001Z", 1700000000ll * S + 1 },
		{ "2023-11-15 03:43:20+05:30", 1700000000ll * S },
		{ "2023-11-14T18:13:20-0400", 1700000000ll * S },
		{ "2023-11-14T18:13:20-04", 1700000000ll * S },
		/* local: an hour ahead of UTC in winter, two in summer */
		{ "2023-11-14 23:13:20", 1700000000ll * S },
		{ "2023-11-14 23:13", 1700000000ll * S - 20 * S },
		{ "2023-07-01", 1688162400ll * S },
		{ "today", 1763247600ll * S },
		{ "yesterday", 1763161200ll * S },
		{ "1969-12-31T23:59:59.5Z", -S / 2 },
	};
	static const char *const bad[] = {
		"",
		"noon",
		"5",
		"-",
		"+",
		"-x",
		"2023-13-01",
		"2023-00-01",
		"2023-02-31",
		"2023-1-1",
		"2023-01-01T",
		"2023-01-01T25:00",
		"2023-01-01T10:61",
		"2023-01-01T10:00:00x",
		"2023-01-01T10:00:00.Z",
		"@",
		"@x",
		"@99999999999999999999",
		"2023-01-01T10:00Zx",
		"2023-01-01T10:00+99:00",
		"1700000000.",
		"1.2.3",
	};
	int64_t ns;

	(void)st;
	for (size_t i = 0; i < LENGTH(good); i++) {
		assert_true(rama_when(good[i].text, NOW, 7 * S, &ns));
		assert_true(ns == good[i].ns);
	}
	for (size_t i = 0; i < LENGTH(bad); i++)
		assert_false(rama_when(bad[i], NOW, 0, &ns));
}

static void texts(void **st)
{
	char to[RAMA_WHEN];

	(void)st;
	assert_string_equal(rama_when_text(to, 1700000000ll * S + 987654321, 0),
			    "2023-11-14 23:13:20");
	assert_string_equal(rama_when_text(to, 1700000000ll * S + 987654321, 3),
			    "2023-11-14 23:13:20.987");
	assert_string_equal(rama_when_text(to, 1700000000ll * S + 7, 9),
			    "2023-11-14 23:13:20.000000007");
	assert_string_equal(rama_when_iso(to, 1700000000ll * S + 5),
			    "2023-11-14T22:13:20.000000005Z");
	assert_string_equal(rama_when_iso(to, -1), "1969-12-31T23:59:59.999999999Z");
	assert_string_equal(rama_when_iso(to, INT64_MAX), "2262-04-11T23:47:16.854775807Z");
	assert_string_equal(rama_when_iso(to, INT64_MIN), "1677-09-21T00:12:43.145224192Z");
}

UNIT_GROUP(when, test(spans), cmocka_unit_test_setup_teardown(moments, in_zone, in_utc),
	   cmocka_unit_test_setup_teardown(texts, in_zone, in_utc))
