/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>

#include "unit.h"

#include "query/change.h"

/* a fixed row of pseudo-random numbers */
static double uniform(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return ((double)(*s >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *s)
{
	double u = uniform(s), v = uniform(s);

	return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

/* figures as run times have them: some have a long tail, some take few values */
static double figure(uint64_t *s, unsigned sort, double level)
{
	double z = normal(s);

	return sort == 0   ? level * (1 + 0.1 * z)
	       : sort == 1 ? level * exp(0.5 * z)
	       : sort == 2 ? level / sqrt(uniform(s)) /* no variance */
			   : level * (1 + floor(3 * uniform(s)) / 10);
}

static unsigned found_in(uint64_t *s, unsigned sort, size_t n, size_t change, double factor,
			 size_t *at)
{
	struct rama_query_change c[RAMA_QUERY_RUNS];
	double v[RAMA_QUERY_RUNS];
	int found;

	for (size_t i = 0; i < n; i++)
		v[i] = figure(s, sort, i < change ? 100 : 100 * factor);
	found = rama_query_changes(v, n, 0.01, 0, c, LENGTH(c));
	assert_true(found >= 0);
	*at = found > 0 ? c[0].at : 0;
	return (unsigned)found;
}

static void what_does_not_change_is_left_alone(void **st)
{
	static const size_t lengths[] = { 6, 9, 16, 40, 130 };
	uint64_t seed = 20261118;
	size_t at;

	(void)st;
	for (size_t l = 0; l < LENGTH(lengths); l++)
		for (unsigned sort = 0; sort < 4; sort++) {
			unsigned wrong = 0, tries = lengths[l] > 100 ? 300 : 2000;

			for (unsigned i = 0; i < tries; i++)
				wrong += found_in(&seed, sort, lengths[l], 0, 1, &at) > 0;
			/* alpha is 0.01, and more than three standard errors beside it */
			if (wrong > 0.01 * tries + 3 * sqrt(0.01 * tries))
				fail_msg("%zu figures of sort %u: %u of %u", lengths[l], sort,
					 wrong, tries);
		}
}

static void what_changes_is_found_and_where(void **st)
{
	static const struct {
		size_t n, at;
		double factor;
		unsigned least; /* of a hundred, at least */
		size_t slack;
	} rows[] = { { 40, 20, 1.5, 99, 3 }, { 40, 35, 1.5, 95, 3 },	{ 40, 37, 2, 70, 3 },
		     { 14, 7, 2, 95, 2 },    { 200, 100, 1.1, 95, 20 }, { 40, 20, 0.6, 99, 3 } };
	uint64_t seed = 7;

	(void)st;
	for (size_t r = 0; r < LENGTH(rows); r++) {
		unsigned found = 0, right = 0;
		size_t at;

		for (unsigned i = 0; i < 100; i++)
			if (found_in(&seed, 0, rows[r].n, rows[r].at, rows[r].factor, &at) > 0) {
				found++;
				right += at + rows[r].slack >= rows[r].at &&
					 at <= rows[r].at + rows[r].slack;
			}
		if (found < rows[r].least || right + found / 10 + 1 < found)
			fail_msg("row %zu: %u found, %u of them where they are", r, found, right);
	}
}

static void what_it_tells_is_exact(void **st)
{
	static const double v[] = { 1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 14, 15, 16, 17 };
	struct rama_query_change c[4];
	double shifted[40];

	(void)st;
	/* seven and seven: judged by the normal distribution, 49 of 49 pairs */
	assert_int_equal(rama_query_changes(v, LENGTH(v), 0.1, 0, c, 4), 1);
	assert_int_equal(c[0].at, 7);
	assert_float_equal(c[0].before, 4, 0);
	assert_float_equal(c[0].after, 14, 0);
	/* three of forty: one way of C(40,3) on either side, at 35 places */
	for (unsigned i = 0; i < 40; i++)
		shifted[i] = (i % 2 != 0 ? 50.0 + i : 50.0 - i) + (i >= 37 ? 1000 : 0);
	assert_int_equal(rama_query_changes(shifted, 40, 0.01, 0, c, 4), 1);
	assert_int_equal(c[0].at, 37);
	assert_float_equal(c[0].p, 2 / 9880.0 * 35, 1e-12);
	/* too little to be told */
	assert_int_equal(rama_query_changes(shifted, 40, 0.007, 0, c, 4), 0);
	for (unsigned i = 0; i < 40; i++)
		shifted[i] = 100 + (i >= 20) * 3 + i % 2 * 0.1;
	assert_int_equal(rama_query_changes(shifted, 40, 0.01, 0.02, c, 4), 1);
	assert_int_equal(rama_query_changes(shifted, 40, 0.01, 0.05, c, 4), 0);
}

static void several_changes_and_odd_rows(void **st)
{
	double v[RAMA_QUERY_RUNS + 10];
	struct rama_query_change c[8];

	(void)st;
	for (unsigned i = 0; i < 60; i++)
		v[i] = (i < 20 ? 100 : i < 40 ? 200 : 120) + i % 3;
	assert_int_equal(rama_query_changes(v, 60, 0.01, 0.05, c, 8), 2);
	assert_int_equal(c[0].at, 20);
	assert_int_equal(c[1].at, 40);
	assert_float_equal(c[0].after, 201, 1e-9);
	assert_int_equal(rama_query_changes(v, 60, 0.01, 0.05, c, 1), 1);
	assert_int_equal(rama_query_changes(v, 0, 0.01, 0.05, c, 8), 0);
	assert_int_equal(rama_query_changes(v, 5, 1, 0, c, 8), 0);
	for (unsigned i = 0; i < RAMA_QUERY_RUNS + 10; i++)
		v[i] = 5; /* all alike */
	assert_int_equal(rama_query_changes(v, RAMA_QUERY_RUNS + 10, 0.01, 0, c, 8), 0);
	for (unsigned i = 0; i < RAMA_QUERY_RUNS; i++)
		v[i] = i >= RAMA_QUERY_RUNS - 5 ? 9 : i % 4;
	assert_int_equal(rama_query_changes(v, RAMA_QUERY_RUNS, 0.01, 0, c, 8), 1);
	assert_int_equal(c[0].at, RAMA_QUERY_RUNS - 5);
}

UNIT_GROUP(change, test(what_does_not_change_is_left_alone), test(what_changes_is_found_and_where),
	   test(what_it_tells_is_exact), test(several_changes_and_odd_rows))
