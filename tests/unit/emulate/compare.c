/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <math.h>

#include "emulate/replay/replay.h"
#include "emulate/try.h"

#define ROUNDS 5

static struct rama_emu_comparison compare(const double *a, const double *b, unsigned n)
{
	double x[64], y[64];
	struct rama_emu_comparison c;

	memcpy(x, a, n * sizeof(*x));
	memcpy(y, b, n * sizeof(*y));
	assert_int_equal(rama_emu_compare(&c, x, y, n, NULL), 0);
	return c;
}

static void a_clear_difference_is_found(void **state)
{
	static const double a[] = { 1.02, 0.98, 1.00, 1.01, 0.99 },
			    b[] = { 2.04, 1.96, 2.00, 2.02, 1.98 };
	struct rama_emu_comparison c = compare(a, b, ROUNDS);

	(void)state;
	assert_int_equal(c.verdict, RAMA_EMU_WORSE);
	assert_float_equal(c.ratio, 2, 1e-12);
	assert_true(c.low > 1.9 && c.low < 2 && c.high > 2 && c.high < 2.1);
	c = compare(b, a, ROUNDS);
	assert_int_equal(c.verdict, RAMA_EMU_BETTER);
	assert_float_equal(c.ratio, 0.5, 1e-12);
}

/* By hand, for five and five: P(U < 3) = (1 + 1 + 2) / 252, P(U < 4) = 7 / 252 is too much. So
 * the third of 25 ratios from each end. */
static void five_rounds_leave_out_two_of_25_at_each_end(void **state)
{
	static const double a[] = { 1, 1, 1, 1, 1 }, b[] = { 1, 2, 3, 4, 5 };
	struct rama_emu_comparison c = compare(a, b, ROUNDS);

	(void)state;
	assert_float_equal(c.confidence, 1 - 8.0 / 252, 1e-12);
	assert_float_equal(c.low, 1, 1e-12); /* each ratio is there five times */
	assert_float_equal(c.high, 5, 1e-12);
	assert_int_equal(c.verdict, RAMA_EMU_CANNOT_TELL);
}

static void a_difference_of_one_per_cent_is_none(void **state)
{
	static const double a[] = { 1, 1, 1, 1, 1 }, b[] = { 1.01, 1.01, 1.01, 1.01, 1.01 };

	(void)state;
	assert_int_equal(compare(a, b, ROUNDS).verdict, RAMA_EMU_CANNOT_TELL);
}

/* The interval holds the true ratio as often as it says, however the times are spread, and with
 * as many rounds as one likes. */
static void the_interval_keeps_its_promise(void **state)
{
	static const unsigned rounds[] = { 5, 8, 20, 40 };
	struct rng rng = { 12345 };

	(void)state;
	for (size_t k = 0; k < 4; k++) {
		unsigned held = 0, tries = 2000;

		for (unsigned t = 0; t < tries; t++) {
			double a[64], b[64];
			struct rama_emu_comparison c;

			for (unsigned i = 0; i < rounds[k]; i++) { /* long tails, as times have */
				a[i] = 1 - log(1 - rng_unit(&rng));
				b[i] = 1.5 * (1 - log(1 - rng_unit(&rng)));
			}
			c = compare(a, b, rounds[k]);
			held += c.low <= 1.5 && 1.5 <= c.high;
		}
		assert_true(held >= 0.935 * tries); /* 0.95 and three standard deviations */
	}
}

/* ---- ranges of bytes ------------------------------------------------------------------------ */

static void ranges_are_what_was_added(void **state)
{
	struct rng rng = { 7 };

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct rama_emu_replay_ranges s = { 0 };
		bool bytes[64] = { false };

		for (int i = 0; i < 12; i++) {
			int64_t from = (int64_t)(rng_below(&rng, 60)),
				to = from + 1 + (int64_t)(rng_below(&rng, 4));

			assert_int_equal(rama_emu_replay_ranges_add(&s, from, to), 0);
			for (int64_t k = from; k < to; k++)
				bytes[k] = true;
		}
		for (int64_t from = 0; from < 64; from++) {
			bool all = true;

			for (int64_t to = from + 1; to <= 64; to++) {
				all &= bytes[to - 1];
				assert_int_equal(rama_emu_replay_ranges_hold(&s, from, to), all);
			}
		}
		for (uint32_t i = 1; i < s.n; i++) /* none touches the next */
			assert_true(s.range[i - 1].to < s.range[i].from);
		rama_emu_replay_ranges_fini(&s);
	}
}

UNIT_GROUP(compare, test(a_clear_difference_is_found),
	   test(five_rounds_leave_out_two_of_25_at_each_end),
	   test(a_difference_of_one_per_cent_is_none), test(the_interval_keeps_its_promise),
	   test(ranges_are_what_was_added))
