/* SPDX-License-Identifier: BSD-3-Clause */
/* stdio.c: what stream calls do to the counters of a file. */
#include "ops.h"

#include "core/stdio.h"

#define TICK 0.25 /* seconds */

static struct rama_core_stdio_file f;
static union rama_core_word w[RAMA_TAB_STDIO__WORDS];

static int fresh(void **state)
{
	(void)state;
	now = 1000;
	rama_core_stdio_init(&f, 42, false);
	return 0;
}

static void apply(struct rama_core_op op)
{
	rama_core_stdio_apply(&f, &op);
}

static int64_t count(unsigned word)
{
	rama_core_stdio_finish(&f, TICK, w);
	return w[word].i;
}

static double ticks(unsigned word)
{
	rama_core_stdio_finish(&f, TICK, w);
	return w[word].f / TICK;
}

static void bytes_follow_each_other(void **state)
{
	(void)state;
	apply(call(RAMA_TAB_OP_OPEN, 3));
	apply(next(RAMA_TAB_OP_WRITE, 10));
	apply(next(RAMA_TAB_OP_WRITE, 5));
	apply(next(RAMA_TAB_OP_READ, 100));
	assert_int_equal(count(RAMA_TAB_STDIO_OPENS), 1);
	assert_int_equal(count(RAMA_TAB_STDIO_WRITES), 2);
	assert_int_equal(count(RAMA_TAB_STDIO_BYTES_WRITTEN), 15);
	assert_int_equal(count(RAMA_TAB_STDIO_MAX_BYTE_WRITTEN), 14);
	assert_int_equal(count(RAMA_TAB_STDIO_READS), 1);
	assert_int_equal(count(RAMA_TAB_STDIO_BYTES_READ), 100);
	assert_int_equal(count(RAMA_TAB_STDIO_MAX_BYTE_READ), 114);
}

static void a_seek_moves_the_offset(void **state)
{
	struct rama_core_op seek = call(RAMA_TAB_OP_SEEK, 7);

	(void)state;
	seek.off = 4000;
	apply(seek);
	apply(next(RAMA_TAB_OP_WRITE, 6));
	assert_int_equal(count(RAMA_TAB_STDIO_SEEKS), 1);
	assert_int_equal(count(RAMA_TAB_STDIO_MAX_BYTE_WRITTEN), 4005);
	assert_true(ticks(RAMA_TAB_STDIO_F_META_TIME) == 7);
	seek = call(RAMA_TAB_OP_SEEK, 1); /* rewind */
	apply(seek);
	apply(next(RAMA_TAB_OP_READ, 1));
	assert_int_equal(count(RAMA_TAB_STDIO_MAX_BYTE_READ), 0);
	assert_int_equal(f.offset, 1);
}

static void fopen_begins_at_zero_and_fdopen_where_it_was(void **state)
{
	(void)state;
	apply(next(RAMA_TAB_OP_WRITE, 50));
	apply(call(RAMA_TAB_OP_FDOPEN, 2));
	apply(next(RAMA_TAB_OP_WRITE, 50));
	assert_int_equal(count(RAMA_TAB_STDIO_MAX_BYTE_WRITTEN), 99);
	assert_int_equal(count(RAMA_TAB_STDIO_OPENS), 1);
	assert_int_equal(count(RAMA_TAB_STDIO_FDOPENS), 1);
	apply(call(RAMA_TAB_OP_OPEN, 2));
	apply(next(RAMA_TAB_OP_READ, 20));
	assert_int_equal(count(RAMA_TAB_STDIO_MAX_BYTE_READ), 19);
	assert_int_equal(count(RAMA_TAB_STDIO_OPENS), 2);
	assert_int_equal(count(RAMA_TAB_STDIO_FDOPENS), 1);
	assert_true(ticks(RAMA_TAB_STDIO_F_META_TIME) == 4);
}

static void a_flush_is_time_of_writing_but_no_write(void **state)
{
	(void)state;
	apply(call_at(RAMA_TAB_OP_FLUSH, 500, 520));
	assert_int_equal(count(RAMA_TAB_STDIO_FLUSHES), 1);
	assert_int_equal(count(RAMA_TAB_STDIO_WRITES), 0);
	assert_true(ticks(RAMA_TAB_STDIO_F_WRITE_TIME) == 20);
	assert_true(ticks(RAMA_TAB_STDIO_F_WRITE_START_TIMESTAMP) == 500);
	assert_true(ticks(RAMA_TAB_STDIO_F_WRITE_END_TIMESTAMP) == 520);
	assert_true(ticks(RAMA_TAB_STDIO_F_META_TIME) == 0);
}

/* fgets of a line that begins with NUL, fputs of "": the call worked, and Darshan counts it */
static void calls_that_moved_nothing_count(void **state)
{
	(void)state;
	apply(next(RAMA_TAB_OP_READ, 0));
	apply(next(RAMA_TAB_OP_WRITE, 0));
	assert_int_equal(f.w[RAMA_TAB_STDIO_READS].i, 1);
	assert_int_equal(f.w[RAMA_TAB_STDIO_WRITES].i, 1);
	assert_int_equal(f.w[RAMA_TAB_STDIO_BYTES_READ].i + f.w[RAMA_TAB_STDIO_BYTES_WRITTEN].i, 0);
	assert_int_equal(f.w[RAMA_TAB_STDIO_MAX_BYTE_READ].i, 0);
}

static void failing_calls_count_nothing(void **state)
{
	struct rama_core_stdio_file before = f;

	(void)state;
	apply(failing(RAMA_TAB_OP_READ));
	apply(failing(RAMA_TAB_OP_WRITE));
	apply(failing(RAMA_TAB_OP_OPEN));
	apply(failing(RAMA_TAB_OP_FDOPEN));
	apply(failing(RAMA_TAB_OP_SEEK));
	apply(failing(RAMA_TAB_OP_FLUSH));
	apply(call(RAMA_TAB_OP_STAT, 4)); /* and those that are no business of streams */
	apply(call(RAMA_TAB_OP_FILENO, 4));
	apply(call(RAMA_TAB_OP_SYNC, 4));
	assert_memory_equal(&f, &before, sizeof(f));
}

static void the_three_timers_are_independent(void **state)
{
	struct rama_core_op op;

	(void)state;
	apply(call_at(RAMA_TAB_OP_OPEN, 100, 140));
	op = call_at(RAMA_TAB_OP_READ, 120, 150);
	op.bytes = 1;
	apply(op);
	op = call_at(RAMA_TAB_OP_WRITE, 130, 170);
	op.bytes = 1;
	apply(op);
	op = call_at(RAMA_TAB_OP_WRITE, 150, 180); /* overlaps the first by 20 */
	op.bytes = 1;
	apply(op);
	apply(call_at(RAMA_TAB_OP_CLOSE, 200, 203));
	assert_true(ticks(RAMA_TAB_STDIO_F_META_TIME) == 43);
	assert_true(ticks(RAMA_TAB_STDIO_F_READ_TIME) == 30);
	assert_true(ticks(RAMA_TAB_STDIO_F_WRITE_TIME) == 50);
	assert_true(ticks(RAMA_TAB_STDIO_F_OPEN_START_TIMESTAMP) == 100);
	assert_true(ticks(RAMA_TAB_STDIO_F_OPEN_END_TIMESTAMP) == 140);
	assert_true(ticks(RAMA_TAB_STDIO_F_READ_START_TIMESTAMP) == 120);
	assert_true(ticks(RAMA_TAB_STDIO_F_READ_END_TIMESTAMP) == 150);
	assert_true(ticks(RAMA_TAB_STDIO_F_WRITE_START_TIMESTAMP) == 130);
	assert_true(ticks(RAMA_TAB_STDIO_F_WRITE_END_TIMESTAMP) == 180);
	assert_true(ticks(RAMA_TAB_STDIO_F_CLOSE_START_TIMESTAMP) == 200);
	assert_true(ticks(RAMA_TAB_STDIO_F_CLOSE_END_TIMESTAMP) == 203);
}

static void a_close_counts_even_if_it_fails(void **state)
{
	struct rama_core_op op = failing(RAMA_TAB_OP_CLOSE);

	(void)state;
	apply(op);
	assert_true(ticks(RAMA_TAB_STDIO_F_CLOSE_END_TIMESTAMP) == (double)op.t1);
	assert_true(ticks(RAMA_TAB_STDIO_F_META_TIME) == 5);
}

static void standard_streams_are_open_from_the_start(void **state)
{
	(void)state;
	rama_core_stdio_init(&f, 42, true);
	assert_true(f.standard);
	assert_int_equal(count(RAMA_TAB_STDIO_OPENS), 1);
	assert_true(ticks(RAMA_TAB_STDIO_F_OPEN_START_TIMESTAMP) == 0);
	rama_core_stdio_init(&f, 42, false);
	assert_false(f.standard);
	assert_int_equal(count(RAMA_TAB_STDIO_OPENS), 0);
	assert_int_equal(count(RAMA_TAB_ID), 42);
}

static void any_content_can_be_finished(void **state)
{
	(void)state;
	memset(&f, 0xff, sizeof(f));
	assert_true(ticks(RAMA_TAB_STDIO_F_META_TIME) == -1);
	assert_true(ticks(RAMA_TAB_STDIO_F_OPEN_END_TIMESTAMP) == 0x1p64);
	for (unsigned k = RAMA_TAB_STDIO_F_FASTEST_RANK_TIME; k < RAMA_TAB_STDIO__WORDS; k++)
		assert_true(w[k].f == 0);
}

#define fresh_test(name) cmocka_unit_test_setup(name, fresh)
UNIT_GROUP(stdio, fresh_test(bytes_follow_each_other), fresh_test(a_seek_moves_the_offset),
	   fresh_test(fopen_begins_at_zero_and_fdopen_where_it_was),
	   fresh_test(a_flush_is_time_of_writing_but_no_write),
	   fresh_test(calls_that_moved_nothing_count), fresh_test(failing_calls_count_nothing),
	   fresh_test(the_three_timers_are_independent),
	   fresh_test(a_close_counts_even_if_it_fails),
	   fresh_test(standard_streams_are_open_from_the_start),
	   fresh_test(any_content_can_be_finished))
