/* SPDX-License-Identifier: BSD-3-Clause */
/* times.c: times of a log have no bits that mean nothing. */
#include "unit.h"

#include "core/times.h"

static bool is_whole(double x)
{
	return x == (double)(int64_t)x;
}

static void times_are_whole_steps(void **state)
{
	struct rng r = { 33 };

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		uint64_t ticks = rng_below(&r, 1ull << (10 + i % 40)) + 8;
		double tick = 0.37e-9, exact = (double)ticks * tick;
		double sum = rama_core_times_sum((union rama_core_word){ .u = ticks }, tick);
		double moment = rama_core_times_moment((union rama_core_word){ .u = ticks }, tick);

		assert_true(is_whole(sum * RAMA_CORE_TIMES_STEPS));
		assert_true(sum == moment);
		assert_true(sum - exact <= 0.5 / RAMA_CORE_TIMES_STEPS);
		assert_true(exact - sum <= 0.5 / RAMA_CORE_TIMES_STEPS);
	}
}

static void steps_are_finer_than_a_clock(void **state)
{
	(void)state;
	assert_true(1 / RAMA_CORE_TIMES_STEPS < 1e-9);
}

static void what_was_stays_and_what_was_not_stays_nothing(void **state)
{
	(void)state;
	assert_true(rama_core_times_round(1e-12) == 1 / RAMA_CORE_TIMES_STEPS);
	assert_true(rama_core_times_round(0) == 0);
	assert_true(rama_core_times_round(1e18) == 1e18); /* more steps than a number has */
	assert_true(rama_core_times_round(-2.5) == -2.5);
}

UNIT_GROUP(times, test(times_are_whole_steps), test(steps_are_finer_than_a_clock),
	   test(what_was_stays_and_what_was_not_stays_nothing))
