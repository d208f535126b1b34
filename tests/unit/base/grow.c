/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/grow.h"

static void what_was_added_stays(void **state)
{
	uint32_t *list = NULL;
	size_t room = 0;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++) {
		assert_true(RAMA_GROW(list, room, i + 1));
		assert_true(room > i);
		list[i] = i * 7;
	}
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(list[i], i * 7);
	free(list);
}

static void adding_one_by_one_moves_it_seldom(void **state)
{
	char *list = NULL;
	size_t room = 0, before = 0;
	unsigned moves = 0;

	(void)state;
	for (size_t i = 0; i < 1 << 20; i++) {
		assert_true(RAMA_GROW(list, room, i + 1));
		moves += room != before;
		before = room;
	}
	assert_true(moves <= 20);
	free(list);
}

static void too_much_changes_nothing(void **state)
{
	uint64_t *list = NULL, *same;
	size_t room = 0;

	(void)state;
	assert_true(RAMA_GROW(list, room, 3));
	list[2] = 5;
	same = list;
	size_t had = room;
	assert_false(RAMA_GROW(list, room, SIZE_MAX / 4));
	/* so many bytes that their number comes round to a small one */
	assert_false(RAMA_GROW(list, room, SIZE_MAX / sizeof(*list) + 3));
	assert_false(RAMA_GROW(list, room, SIZE_MAX));
	assert_ptr_equal(list, same);
	assert_int_equal(room, had);
	assert_int_equal(list[2], 5);
	free(list);
}

UNIT_GROUP(grow, test(what_was_added_stays), test(adding_one_by_one_moves_it_seldom),
	   test(too_much_changes_nothing))
