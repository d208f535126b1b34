/* SPDX-License-Identifier: BSD-3-Clause */
/* unit.h: what every file of tests/unit includes. A file x.c holds one group of tests and ends in
 * UNIT_GROUP(x, test(a), test(b), ...); main.c runs the groups. Tests that need random numbers take
 * them from struct rng, so that every run sees the same. */
#ifndef RAMA_TESTS_UNIT_H
#define RAMA_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define test(name) cmocka_unit_test(name)

#define UNIT_GROUP(name, ...)                                                 \
	int test_##name(void);                                                \
	int test_##name(void)                                                 \
	{                                                                     \
		static const struct CMUnitTest tests[] = { __VA_ARGS__ };     \
                                                                              \
		return cmocka_run_group_tests_name(#name, tests, NULL, NULL); \
	}

/* numbers that look random, the same in every run (splitmix64) */
struct rng {
	uint64_t state;
};

static inline uint64_t rng_u64(struct rng *r)
{
	uint64_t x = r->state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return rng_u64(r) % n;
}

/* in [0, 1) */
static inline double rng_unit(struct rng *r)
{
	return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

#endif
