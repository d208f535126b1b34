/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/arena.h"

static void pieces_are_aligned_and_apart(void **state)
{
	struct rama_arena a = { 0 };
	struct rng r = { 3 };
	struct {
		unsigned char *p;
		size_t n;
	} piece[2000];

	(void)state;
	for (size_t i = 0; i < LENGTH(piece); i++) {
		piece[i].n = i % 100 == 99 ? rng_below(&r, 300000) : rng_below(&r, 200);
		piece[i].p = rama_arena_alloc(&a, piece[i].n);
		assert_non_null(piece[i].p);
		if (piece[i].n > 0)
			assert_int_equal((uintptr_t)piece[i].p % 8, 0);
		memset(piece[i].p, (int)i & 0xff, piece[i].n);
	}
	for (size_t i = 0; i < LENGTH(piece); i++)
		for (size_t k = 0; k < piece[i].n; k++)
			assert_int_equal(piece[i].p[k], i & 0xff);
	assert_true(a.total > 0);
	rama_arena_fini(&a);
	assert_int_equal(a.total, 0);
	assert_non_null(rama_arena_alloc(&a, 1)); /* can be used again */
	rama_arena_fini(&a);
	rama_arena_fini(&a);
}

static void text_is_copied_with_a_nul(void **state)
{
	struct rama_arena a = { 0 };
	char *s = rama_arena_text(&a, "abcdef", 3), *empty = rama_arena_text(&a, "", 0);

	(void)state;
	assert_string_equal(s, "abc");
	assert_string_equal(empty, "");
	rama_arena_fini(&a);
}

static void absurd_sizes_are_refused(void **state)
{
	struct rama_arena a = { 0 };

	(void)state;
	assert_null(rama_arena_alloc(&a, SIZE_MAX));
	assert_null(rama_arena_alloc(&a, SIZE_MAX - 7));
	assert_null(rama_arena_alloc(&a, SIZE_MAX / 2 + 1));
	assert_int_equal(a.total, 0);
	rama_arena_fini(&a);
}

UNIT_GROUP(arena, test(pieces_are_aligned_and_apart), test(text_is_copied_with_a_nul),
	   test(absurd_sizes_are_refused))
