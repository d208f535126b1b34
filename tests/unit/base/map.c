/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <time.h>

#include "base/map.h"

/* key number i of a kind; all keys of a kind differ */
typedef uint64_t (*keys)(uint64_t i);

static uint64_t counting(uint64_t i)
{
	return i;
}

static uint64_t counting_down(uint64_t i)
{
	return UINT64_MAX - i;
}

static uint64_t high_bits_only(uint64_t i)
{
	return i << 44;
}

static uint64_t scattered(uint64_t i)
{
	return i * 0x9e3779b97f4a7c15u;
}

static void fill_and_check(keys key, uint64_t n)
{
	struct rama_map m = { 0 };
	struct rama_map_slot slot;
	uint64_t seen = 0, sum = 0;
	bool fresh;

	assert_null(rama_map_get(&m, key(0)));
	for (uint64_t i = 0; i < n; i++) {
		uint64_t *v = rama_map_put(&m, key(i), &fresh);

		assert_true(fresh);
		assert_int_equal(*v, 0);
		*v = i + 1;
	}
	for (uint64_t i = 0; i < n; i++) {
		assert_int_equal(*rama_map_get(&m, key(i)), i + 1);
		assert_int_equal(*rama_map_put(&m, key(i), &fresh), i + 1);
		assert_false(fresh);
		assert_null(rama_map_get(&m, key(n + i)));
	}
	assert_int_equal(m.used, n);
	for (size_t at = 0; rama_map_next(&m, &at, &slot); seen++) {
		assert_int_equal(slot.key, key(slot.value - 1));
		sum += slot.value;
	}
	assert_int_equal(seen, n);
	assert_int_equal(sum, n * (n + 1) / 2); /* each once */
	rama_map_fini(&m);
	rama_map_fini(&m); /* harmless */
}

static void any_keys_are_kept_apart(void **state)
{
	(void)state;
	fill_and_check(counting, 1);
	fill_and_check(counting, 48); /* just before it grows */
	fill_and_check(counting, 49);
	fill_and_check(counting, 50000);
	fill_and_check(counting_down, 50000);
	fill_and_check(high_bits_only, 50000);
	fill_and_check(scattered, 50000);
}

static void an_empty_map_has_nothing(void **state)
{
	struct rama_map m = { 0 };
	struct rama_map_slot slot;
	size_t at = 0;

	(void)state;
	assert_null(rama_map_get(&m, 0));
	assert_false(rama_map_next(&m, &at, &slot));
	assert_non_null(rama_map_put(&m, 0, NULL)); /* fresh may be NULL, 0 is a key like any */
	assert_non_null(rama_map_get(&m, 0));
	assert_null(rama_map_get(&m, UINT64_MAX));
	rama_map_fini(&m);
}

/* x of x ^ x >> bits */
static uint64_t unshift(uint64_t y, unsigned bits)
{
	uint64_t x = y;

	for (unsigned i = 0; i < 64 / bits + 1; i++)
		x = y ^ x >> bits;
	return x;
}

static uint64_t inverse(uint64_t a)
{
	uint64_t x = a;

	for (unsigned i = 0; i < 6; i++)
		x *= 2 - a * x;
	return x;
}

/* keys that splitmix's well-known mixing sends to numbers with 32 low bits of 0 */
static uint64_t colliding(uint64_t i)
{
	uint64_t x = unshift(i << 32, 31);

	x = unshift(x * inverse(0x94d049bb133111ebu), 27);
	return unshift(x * inverse(0xbf58476d1ce4e5b9u), 30);
}

static double seconds_for(keys key, uint64_t n)
{
	struct rama_map m = { 0 };
	struct timespec a, b;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	for (uint64_t i = 0; i < n; i++)
		assert_non_null(rama_map_put(&m, key(i), NULL));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	rama_map_fini(&m);
	return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

/* Ids come from files that anybody may have made: nobody must be able to choose them so that a
 * small log takes hours. */
static void keys_made_to_collide_cost_no_more_than_others(void **state)
{
	double usual = seconds_for(scattered, 40000), worst = seconds_for(colliding, 40000);

	(void)state;
	if (worst > 40 * usual + 0.1)
		fail_msg("40000 chosen keys take %.0f times as long as others", worst / usual);
}

UNIT_GROUP(map, test(any_keys_are_kept_apart), test(an_empty_map_has_nothing),
	   test(keys_made_to_collide_cost_no_more_than_others))
