/* SPDX-License-Identifier: BSD-3-Clause */
/* values.c: the most frequent values, of the first 32 that came. */
#include "unit.h"

#include "core/values.h"

static void add_times(struct rama_core_values *v, int64_t value, int times)
{
	while (times-- > 0)
		rama_core_values_add(v, value);
}

/* the four slots are these values with these counts */
static void assert_top(const struct rama_core_values *v, const int64_t value[4],
		       const int64_t count[4])
{
	union rama_core_word x[4], n[4];

	rama_core_values_top4(v, x, n);
	for (int k = 0; k < 4; k++) {
		assert_int_equal(x[k].i, value[k]);
		assert_int_equal(n[k].i, count[k]);
	}
}
#define ASSERT_TOP(v, a, b, c, d, na, nb, nc, nd) \
	assert_top(v, (const int64_t[]){ a, b, c, d }, (const int64_t[]){ na, nb, nc, nd })

static void nothing_seen_shows_nothing(void **state)
{
	struct rama_core_values v;

	(void)state;
	rama_core_values_init(&v);
	ASSERT_TOP(&v, 0, 0, 0, 0, 0, 0, 0, 0);
}

static void the_most_frequent_comes_first(void **state)
{
	struct rama_core_values v;

	(void)state;
	rama_core_values_init(&v);
	add_times(&v, 10, 1);
	add_times(&v, 20, 3);
	add_times(&v, 30, 2);
	ASSERT_TOP(&v, 20, 30, 10, 0, 3, 2, 1, 0);
	add_times(&v, 10, 3);
	ASSERT_TOP(&v, 10, 20, 30, 0, 4, 3, 2, 0);
}

static void of_equally_frequent_ones_the_larger_comes_first(void **state)
{
	struct rama_core_values v;

	(void)state;
	rama_core_values_init(&v);
	for (int64_t x = 1; x <= 6; x++)
		add_times(&v, x, 2);
	ASSERT_TOP(&v, 6, 5, 4, 3, 2, 2, 2, 2);
	add_times(&v, 1, 1); /* the smallest value, the largest count */
	ASSERT_TOP(&v, 1, 6, 5, 4, 3, 2, 2, 2);
}

static void the_order_of_coming_does_not_matter(void **state)
{
	static const int64_t order[][5] = { { 1, 2, 3, 4, 5 },
					    { 5, 4, 3, 2, 1 },
					    { 3, 5, 1, 4, 2 } };

	(void)state;
	for (size_t i = 0; i < LENGTH(order); i++) {
		struct rama_core_values v;

		rama_core_values_init(&v);
		for (int round = 0; round < 7; round++) /* value x comes x times */
			for (int k = 0; k < 5; k++)
				if (round < order[i][k])
					rama_core_values_add(&v, order[i][k]);
		ASSERT_TOP(&v, 5, 4, 3, 2, 5, 4, 3, 2);
	}
}

static void zero_is_never_shown(void **state)
{
	struct rama_core_values v;

	(void)state;
	rama_core_values_init(&v);
	add_times(&v, 0, 100);
	ASSERT_TOP(&v, 0, 0, 0, 0, 0, 0, 0, 0);
	add_times(&v, 7, 1);
	ASSERT_TOP(&v, 7, 0, 0, 0, 1, 0, 0, 0);
}

static void zero_takes_a_place(void **state)
{
	struct rama_core_values v;

	(void)state;
	rama_core_values_init(&v);
	add_times(&v, 0, 1);
	for (int64_t x = 1; x <= 32; x++) /* the last one finds no place */
		rama_core_values_add(&v, x);
	add_times(&v, 32, 50);
	ASSERT_TOP(&v, 31, 30, 29, 28, 1, 1, 1, 1);
	add_times(&v, 0, 50);
	ASSERT_TOP(&v, 31, 30, 29, 28, 1, 1, 1, 1);
}

static void the_33rd_value_is_ignored_for_ever(void **state)
{
	struct rama_core_values v;

	(void)state;
	rama_core_values_init(&v);
	for (int64_t x = 100; x < 132; x++)
		rama_core_values_add(&v, x);
	add_times(&v, 1000, 1000);
	ASSERT_TOP(&v, 131, 130, 129, 128, 1, 1, 1, 1);
	add_times(&v, 100, 1); /* those known keep counting, also right after one that is ignored */
	ASSERT_TOP(&v, 100, 131, 130, 129, 2, 1, 1, 1);
	add_times(&v, 131, 2);
	ASSERT_TOP(&v, 131, 100, 130, 129, 3, 2, 1, 1);
}

static void any_content_can_be_ranked(void **state)
{
	struct rng r = { 11 };

	(void)state;
	for (int round = 0; round < 2000; round++) {
		union rama_core_word x[4], n[4];
		struct rama_core_values v;

		for (size_t i = 0; i < sizeof(v); i++)
			((unsigned char *)&v)[i] = (unsigned char)rng_u64(&r);
		if (round % 2)
			v.used = (uint32_t)rng_below(&r, 40);
		rama_core_values_top4(&v, x, n);
		for (int k = 0; k < 3; k++)
			assert_true(n[k].i > n[k + 1].i ||
				    (n[k].i == n[k + 1].i && x[k].i >= x[k + 1].i));
	}
}

UNIT_GROUP(values, test(nothing_seen_shows_nothing), test(the_most_frequent_comes_first),
	   test(of_equally_frequent_ones_the_larger_comes_first),
	   test(the_order_of_coming_does_not_matter), test(zero_is_never_shown),
	   test(zero_takes_a_place), test(the_33rd_value_is_ignored_for_ever),
	   test(any_content_can_be_ranked))
