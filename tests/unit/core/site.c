/* SPDX-License-Identifier: BSD-3-Clause */
/* site.c: which place in a program moved the bytes of a file: turns, and what is booked of them. */
#include "ops.h"

#include "core/posix.h"
#include "core/stdio.h"

static struct rama_core_posix_file f;
static struct rama_core_turn *const turn = &f.turn[RAMA_CORE_TURN_WRITE];
static const struct rama_core_turn_words *const words =
	&rama_core_turn_words[0][RAMA_CORE_TURN_WRITE];

static int fresh(void **state)
{
	(void)state;
	rama_core_posix_init(&f, 42, 1, 1);
	return 0;
}

static void writes(unsigned n, int64_t bytes)
{
	static uint64_t clock = 1000;

	for (unsigned i = 0; i < n; i++, clock += 100) {
		struct rama_core_op op = call_at(RAMA_TAB_OP_WRITE, clock, clock + 10);

		op.bytes = bytes;
		rama_core_posix_apply(&f, &op);
	}
}

static void moved_is(struct rama_core_moved m, int64_t ops, int64_t bytes, uint64_t ticks)
{
	assert_int_equal(m.ops, ops);
	assert_int_equal(m.bytes, bytes);
	assert_int_equal(m.ticks, ticks);
}

static void a_turn_is_what_was_moved_in_it(void **state)
{
	struct rama_core_site_row row = { .site = 7 };
	struct rama_core_moved m;

	(void)state;
	writes(3, 100);
	moved_is(rama_core_turn_so_far(turn, f.w, words), 3, 300, 30);
	m = rama_core_turn_end(turn, f.w, words);
	moved_is(m, 3, 300, 30);
	rama_core_site_add(&row, &m);
	moved_is(rama_core_turn_so_far(turn, f.w, words), 0, 0, 0);
	writes(2, 7);
	m = rama_core_turn_end(turn, f.w, words);
	moved_is(m, 2, 14, 20);
	rama_core_site_add(&row, &m);
	moved_is(row.moved, 5, 314, 50);
	moved_is(rama_core_turn_end(turn, f.w, words), 0, 0, 0);
}

static void words_are_those_of_the_records(void **state)
{
	struct rama_core_stdio_file s;
	struct rama_core_op op = call_at(RAMA_TAB_OP_READ, 100, 105);

	(void)state;
	rama_core_stdio_init(&s, 1, false);
	op.bytes = 33;
	rama_core_stdio_apply(&s, &op);
	rama_core_posix_apply(&f, &op);
	for (unsigned layer = 0; layer < 2; layer++)
		for (unsigned k = 0; k < RAMA_CORE_TURNS; k++)
			moved_is(rama_core_turn_so_far(layer ? &s.turn[k] : &f.turn[k],
						       layer ? s.w : f.w,
						       &rama_core_turn_words[layer][k]),
				 k == RAMA_CORE_TURN_READ, k == RAMA_CORE_TURN_READ ? 33 : 0,
				 k == RAMA_CORE_TURN_READ ? 5 : 0);
}

static void nobody_takes_more_than_there_is(void **state)
{
	struct rama_core_moved left = { 10, 1000, 50 }, much = { 4, 5000, 20 },
			       odd = { -3, INT64_MIN, 100 };

	(void)state;
	moved_is(rama_core_moved_take(&left, &much), 4, 1000, 20);
	moved_is(left, 6, 0, 30);
	moved_is(rama_core_moved_take(&left, &odd), 0, 0, 30);
	moved_is(left, 6, 0, 0);
}

static void damage_does_not_overflow(void **state)
{
	(void)state;
	turn->bytes = INT64_MIN;
	f.w[RAMA_TAB_POSIX_BYTES_WRITTEN].i = INT64_MAX;
	rama_core_turn_so_far(turn, f.w, words);
	rama_core_turn_end(turn, f.w, words);
	assert_int_equal(turn->bytes, INT64_MAX);
}

#define t(name) cmocka_unit_test_setup(name, fresh)

UNIT_GROUP(site, t(a_turn_is_what_was_moved_in_it), t(words_are_those_of_the_records),
	   t(nobody_takes_more_than_there_is), t(damage_does_not_overflow))
