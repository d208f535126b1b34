/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "unit.h"

#include "query/unusual.h"

#define N 300

static void slow_times_are_found(void **st)
{
	double bytes[N], time[N];
	struct rama_query_slow s;

	(void)st;
	for (unsigned i = 0; i < N; i++) {
		bytes[i] = i % 5 == 0 ? 0 : 100;
		time[i] = i % 5 == 0 ? 0 : 1;
	}
	assert_false(rama_query_slow_find(bytes, time, N, &s));
	assert_float_equal(s.usual, 100, 0);
	/* a tenth of the rate for twenty steps, and a single slow step elsewhere */
	for (unsigned i = 120; i < 140; i++)
		bytes[i] /= 10;
	bytes[7] = 1;
	assert_true(rama_query_slow_find(bytes, time, N, &s));
	assert_int_equal(s.from, 121); /* 120 has no I/O */
	assert_int_equal(s.to, 140);
	assert_float_equal(s.rate, 10, 1e-9);
	/* half of the usual is not slow; less is */
	for (unsigned i = 0; i < N; i++)
		bytes[i] = i >= 50 && i < 60 ? 50 : 100, time[i] = 1;
	assert_false(rama_query_slow_find(bytes, time, N, &s));
	bytes[55] = 49;
	assert_true(rama_query_slow_find(bytes, time, N, &s));
	assert_int_equal(s.from, 55);
	assert_int_equal(s.to, 56);
	/* nothing at all */
	assert_false(rama_query_slow_find(bytes, time, 0, &s));
	for (unsigned i = 0; i < N; i++)
		bytes[i] = time[i] = 0;
	assert_false(rama_query_slow_find(bytes, time, N, &s));
}

static void what_is_unusual_has_a_number(void **st)
{
	struct rama_query_unusual u;
	double v[N];

	(void)st;
	for (unsigned i = 0; i < N; i++)
		v[i] = i % 7;
	for (unsigned i = 100; i < 110; i++)
		v[i] = 50;
	assert_true(rama_query_unusual_is(v, N, 100, 110, &u));
	assert_true(u.more && u.inside == 50);
	/* windows of ten that begin at 0 to 90 and at 110 to 290 */
	assert_int_equal(u.others, 91 + 181);
	assert_int_equal(u.as_much, 0);
	assert_float_equal(u.p, 2.0 / 273, 1e-12);
	/* the same figure elsewhere is usual */
	assert_true(rama_query_unusual_is(v, N, 200, 210, &u));
	assert_true(u.p > 0.2);
	/* what had exactly as much counts */
	for (unsigned i = 0; i < N; i++)
		v[i] = (i >= 100 && i < 110) || (i >= 200 && i < 210) ? 9 : 1;
	assert_true(rama_query_unusual_is(v, N, 100, 110, &u));
	assert_int_equal(u.as_much, 1);
	/* less than ever is unusual, too */
	for (unsigned i = 0; i < N; i++)
		v[i] = 10 + i % 7;
	for (unsigned i = 40; i < 50; i++)
		v[i] = 1;
	assert_true(rama_query_unusual_is(v, N, 40, 50, &u));
	assert_false(u.more);
	assert_true(u.p < 0.01);
	/* a trend is told for what it is: half of the run has as much */
	for (unsigned i = 0; i < N; i++)
		v[i] = i;
	assert_true(rama_query_unusual_is(v, N, 150, 160, &u));
	assert_true(u.p > 0.8);
}

static void what_is_not_known_is_not_told(void **st)
{
	struct rama_query_unusual u;
	double v[N];

	(void)st;
	for (unsigned i = 0; i < N; i++)
		v[i] = i < 290 ? NAN : 1;
	assert_false(rama_query_unusual_is(v, N, 100, 110, &u)); /* nothing inside */
	for (unsigned i = 0; i < N; i++)
		v[i] = i == 100 ? 9 : 1;
	assert_true(rama_query_unusual_is(v, N, 95, 105, &u));
	assert_false(rama_query_unusual_is(v, 30, 5, 20, &u)); /* no ten other times */
	assert_false(rama_query_unusual_is(v, N, 10, 10, &u));
	assert_false(rama_query_unusual_is(v, N, 290, 301, &u));
	for (unsigned i = 0; i < N; i++)
		v[i] = 3; /* always the same */
	assert_false(rama_query_unusual_is(v, N, 95, 105, &u));
	/* every other value missing is enough */
	for (unsigned i = 0; i < N; i++)
		v[i] = i % 2 == 0 ? NAN : i >= 100 && i < 110 ? 8 : 1;
	assert_true(rama_query_unusual_is(v, N, 100, 110, &u));
	assert_float_equal(u.inside, 8, 0);
	assert_float_equal(u.rest, 1, 0);
}

UNIT_GROUP(unusual, test(slow_times_are_found), test(what_is_unusual_has_a_number),
	   test(what_is_not_known_is_not_told))
