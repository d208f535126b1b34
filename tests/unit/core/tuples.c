/* SPDX-License-Identifier: BSD-3-Clause */
/* tuples.c: the most frequent accesses to arrays, of the first 32 kinds that came. */
#include "unit.h"

#include "core/tuples.h"

/* an access of this size to a row of this length */
static struct rama_core_tuple row(int64_t size, int64_t length)
{
	return (struct rama_core_tuple){ .size = size, .length[4] = length, .stride[4] = 1 };
}

static void add_times(struct rama_core_tuples *t, struct rama_core_tuple x, int times)
{
	while (times-- > 0)
		rama_core_tuples_add(t, &x);
}

struct top {
	int64_t size, length, count;
};

static void assert_top(const struct rama_core_tuples *t, const struct top want[4])
{
	union rama_core_word value[44], count[4];

	memset(value, 0x77, sizeof(value));
	rama_core_tuples_top4(t, value, count);
	for (int k = 0; k < 4; k++) {
		assert_int_equal(value[11 * k].i, want[k].size);
		assert_int_equal(value[11 * k + 5].i, want[k].length);
		assert_int_equal(value[11 * k + 10].i, want[k].count > 0);
		assert_int_equal(count[k].i, want[k].count);
	}
}
#define ASSERT_TOP(t, ...) assert_top(t, (const struct top[4]){ __VA_ARGS__ })

static void nothing_seen_shows_nothing(void **state)
{
	struct rama_core_tuples t;

	(void)state;
	rama_core_tuples_init(&t);
	ASSERT_TOP(&t, { 0 });
	add_times(&t, (struct rama_core_tuple){ 0 }, 1); /* all zero, as the table is: no mistake */
	assert_int_equal(t.used, 1);
	ASSERT_TOP(&t, { 0 });
}

static void the_most_frequent_comes_first(void **state)
{
	struct rama_core_tuples t;

	(void)state;
	rama_core_tuples_init(&t);
	add_times(&t, row(10, 1), 1);
	add_times(&t, row(20, 1), 3);
	add_times(&t, row(30, 1), 2);
	ASSERT_TOP(&t, { 20, 1, 3 }, { 30, 1, 2 }, { 10, 1, 1 });
	add_times(&t, row(10, 1), 3);
	ASSERT_TOP(&t, { 10, 1, 4 }, { 20, 1, 3 }, { 30, 1, 2 });
	for (int64_t x = 1; x <= 5; x++)
		add_times(&t, row(x, 1), 10);
	ASSERT_TOP(&t, { 5, 1, 10 }, { 4, 1, 10 }, { 3, 1, 10 }, { 2, 1, 10 });
}

static void one_number_of_eleven_makes_another_access(void **state)
{
	struct rama_core_tuples t;
	struct rama_core_tuple x = row(8, 8);

	(void)state;
	rama_core_tuples_init(&t);
	add_times(&t, x, 5);
	for (size_t i = 0; i < sizeof(x) / sizeof(int64_t); i++) {
		struct rama_core_tuple y = x;
		int64_t n = 99;

		memcpy((char *)&y + i * sizeof(n), &n, sizeof(n));
		add_times(&t, y, 1);
		assert_int_equal(t.used, i + 2);
	}
	assert_int_equal(t.count[0], 5);
}

static void of_equals_the_one_seen_later_comes_first(void **state)
{
	struct rama_core_tuples t;

	(void)state;
	rama_core_tuples_init(&t);
	for (int i = 0; i < 2; i++) {
		add_times(&t, row(64, 1), 1);
		add_times(&t, row(64, 2), 1);
		add_times(&t, row(64, 3), 1);
	}
	ASSERT_TOP(&t, { 64, 3, 2 }, { 64, 2, 2 }, { 64, 1, 2 });
	add_times(&t, row(64, 4), 2);
	add_times(&t, row(64, 5), 2);
	ASSERT_TOP(&t, { 64, 5, 2 }, { 64, 4, 2 }, { 64, 3, 2 }, { 64, 2, 2 });
	add_times(&t, row(65, 1), 2); /* size counts before the order of coming */
	add_times(&t, row(63, 1), 2);
	ASSERT_TOP(&t, { 65, 1, 2 }, { 64, 5, 2 }, { 64, 4, 2 }, { 64, 3, 2 });
}

static void accesses_of_no_bytes_take_a_place_but_are_not_shown(void **state)
{
	struct rama_core_tuples t;

	(void)state;
	rama_core_tuples_init(&t);
	add_times(&t, row(0, 5), 100);
	add_times(&t, row(0, 6), 100);
	for (int64_t x = 1; x <= 31; x++) /* the last one finds no place */
		add_times(&t, row(x, 1), 1);
	add_times(&t, row(31, 1), 50);
	ASSERT_TOP(&t, { 30, 1, 1 }, { 29, 1, 1 }, { 28, 1, 1 }, { 27, 1, 1 });
}

static void the_33rd_is_ignored_for_ever(void **state)
{
	struct rama_core_tuples t;

	(void)state;
	rama_core_tuples_init(&t);
	for (int64_t x = 100; x < 132; x++)
		add_times(&t, row(x, 1), 1);
	add_times(&t, row(1000, 1), 1000);
	ASSERT_TOP(&t, { 131, 1, 1 }, { 130, 1, 1 }, { 129, 1, 1 }, { 128, 1, 1 });
	add_times(&t, row(100, 1), 1); /* those known keep counting */
	ASSERT_TOP(&t, { 100, 1, 2 }, { 131, 1, 1 }, { 130, 1, 1 }, { 129, 1, 1 });
}

static void any_content_can_be_ranked(void **state)
{
	struct rng r = { 11 };

	(void)state;
	for (int round = 0; round < 300; round++) {
		union rama_core_word value[44], n[4];
		struct rama_core_tuples t;

		for (size_t i = 0; i < sizeof(t); i++)
			((unsigned char *)&t)[i] = (unsigned char)rng_u64(&r);
		if (round % 2)
			t.used = (uint32_t)rng_below(&r, 40);
		rama_core_tuples_top4(&t, value, n);
		for (int k = 0; k < 3; k++)
			assert_true(
				n[k].i > n[k + 1].i ||
				(n[k].i == n[k + 1].i && value[11 * k].i >= value[11 * k + 11].i));
	}
}

UNIT_GROUP(tuples, test(nothing_seen_shows_nothing), test(the_most_frequent_comes_first),
	   test(one_number_of_eleven_makes_another_access),
	   test(of_equals_the_one_seen_later_comes_first),
	   test(accesses_of_no_bytes_take_a_place_but_are_not_shown),
	   test(the_33rd_is_ignored_for_ever), test(any_content_can_be_ranked))
