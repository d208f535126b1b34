/* SPDX-License-Identifier: BSD-3-Clause */
/* h5f.c: what H5F* calls do to the counters of a file. */
#include "ops.h"

#include "core/h5f.h"

#define TICK 0.25 /* seconds */

static struct rama_core_h5f_file f;
static union rama_core_word w[RAMA_TAB_H5F__WORDS];

static int fresh(void **state)
{
	(void)state;
	now = 1000;
	rama_core_h5f_init(&f, 42);
	return 0;
}

static void apply(struct rama_core_op op)
{
	rama_core_h5f_apply(&f, &op);
}

static int64_t count(unsigned word)
{
	rama_core_h5f_finish(&f, TICK, w);
	return w[word].i;
}

static double ticks(unsigned word)
{
	rama_core_h5f_finish(&f, TICK, w);
	return w[word].f / TICK;
}

static void opens_flushes_and_closes_are_metadata(void **state)
{
	(void)state;
	apply(call_at(RAMA_TAB_OP_OPEN, 100, 120));
	apply(call_at(RAMA_TAB_OP_OPEN, 90, 130)); /* 10 more */
	apply(call_at(RAMA_TAB_OP_FLUSH, 200, 204));
	apply(call_at(RAMA_TAB_OP_CLOSE, 300, 303));
	apply(call_at(RAMA_TAB_OP_CLOSE, 400, 401));
	assert_int_equal(count(RAMA_TAB_ID), 42);
	assert_int_equal(count(RAMA_TAB_H5F_OPENS), 2);
	assert_int_equal(count(RAMA_TAB_H5F_FLUSHES), 1);
	assert_true(ticks(RAMA_TAB_H5F_F_META_TIME) == 30 + 4 + 3 + 1);
	assert_true(ticks(RAMA_TAB_H5F_F_OPEN_START_TIMESTAMP) == 90);
	assert_true(ticks(RAMA_TAB_H5F_F_OPEN_END_TIMESTAMP) == 130);
	assert_true(ticks(RAMA_TAB_H5F_F_CLOSE_START_TIMESTAMP) == 300);
	assert_true(ticks(RAMA_TAB_H5F_F_CLOSE_END_TIMESTAMP) == 401);
}

static void the_last_open_says_whether_mpi_is_used(void **state)
{
	struct rama_core_op op = call(RAMA_TAB_OP_OPEN, 5);

	(void)state;
	assert_int_equal(count(RAMA_TAB_H5F_USE_MPIIO), 0);
	op.how = RAMA_CORE_H5F_MPIIO;
	apply(op);
	assert_int_equal(count(RAMA_TAB_H5F_USE_MPIIO), 1);
	op.how = RAMA_CORE_H5F_OTHER;
	apply(op);
	assert_int_equal(count(RAMA_TAB_H5F_USE_MPIIO), 0);
}

/* attributes, groups, links: their time is metadata, and no counter tells of them */
static const unsigned more[] = { RAMA_TAB_OP_XATTR,  RAMA_TAB_OP_MKDIR,	    RAMA_TAB_OP_READDIR,
				 RAMA_TAB_OP_LINK,   RAMA_TAB_OP_UNLINK,    RAMA_TAB_OP_RENAME,
				 RAMA_TAB_OP_ACCESS, RAMA_TAB_OP_STATOTHER, RAMA_TAB_OP_TRUNCATE };

static bool is_more(unsigned kind)
{
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (more[i] == kind)
			return true;
	return false;
}

static void what_has_no_counter_has_its_time(void **state)
{
	struct rama_core_h5f_file before = f;

	(void)state;
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		apply(call(more[i], 5));
	assert_true(ticks(RAMA_TAB_H5F_F_META_TIME) ==
		    (int64_t)(5 * sizeof(more) / sizeof(more[0])));
	f.w[RAMA_TAB_H5F_F_META_TIME] = before.w[RAMA_TAB_H5F_F_META_TIME];
	assert_memory_equal(&f.w, &before.w, sizeof(f.w));
}

static void only_a_close_counts_if_it_fails(void **state)
{
	struct rama_core_h5f_file before = f;

	(void)state;
	for (unsigned kind = 0; kind < 256; kind++) {
		if (kind != RAMA_TAB_OP_CLOSE)
			apply(failing(kind));
		if (!is_more(kind) && kind != RAMA_TAB_OP_CLOSE && kind != RAMA_TAB_OP_OPEN &&
		    kind != RAMA_TAB_OP_FLUSH)
			apply(call(kind, 5)); /* no business of ours */
	}
	assert_memory_equal(&f, &before, sizeof(f));
	apply(failing(RAMA_TAB_OP_CLOSE));
	assert_true(ticks(RAMA_TAB_H5F_F_META_TIME) == 5);
}

static void any_content_can_be_finished(void **state)
{
	(void)state;
	memset(&f, 0xff, sizeof(f));
	assert_true(ticks(RAMA_TAB_H5F_F_META_TIME) == -1);
	assert_true(ticks(RAMA_TAB_H5F_F_CLOSE_END_TIMESTAMP) == 0x1p64);
}

#define fresh_test(name) cmocka_unit_test_setup(name, fresh)
UNIT_GROUP(h5f, fresh_test(opens_flushes_and_closes_are_metadata),
	   fresh_test(the_last_open_says_whether_mpi_is_used),
	   fresh_test(what_has_no_counter_has_its_time),
	   fresh_test(only_a_close_counts_if_it_fails), fresh_test(any_content_can_be_finished))
