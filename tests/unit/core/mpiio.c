/* SPDX-License-Identifier: BSD-3-Clause */
/* mpiio.c: what MPI_File_* calls do to the counters of a file, one sentence at a time. */
#include "ops.h"

#include "core/mpiio.h"

#define TICK 0.5 /* seconds */

static struct rama_core_mpiio_file f;
static union rama_core_word w[RAMA_TAB_MPIIO__WORDS];

static int fresh(void **state)
{
	(void)state;
	now = 1000;
	rama_core_mpiio_init(&f, 42);
	return 0;
}

static void apply(struct rama_core_op op)
{
	rama_core_mpiio_apply(&f, &op);
}

static int64_t count(unsigned word)
{
	rama_core_mpiio_finish(&f, TICK, w);
	return w[word].i;
}

static double ticks(unsigned word)
{
	rama_core_mpiio_finish(&f, TICK, w);
	return w[word].f / TICK;
}

static struct rama_core_op with(struct rama_core_op op, unsigned how)
{
	op.how = (uint8_t)how;
	return op;
}

static void transfer_at(unsigned kind, uint64_t t0, uint64_t t1, int64_t bytes)
{
	struct rama_core_op op = call_at(kind, t0, t1);

	op.bytes = bytes;
	apply(op);
}

/* ---- what kind of call ----------------------------------------------------------------------- */

static void a_new_record_is_empty(void **state)
{
	(void)state;
	assert_int_equal(count(RAMA_TAB_ID), 42);
	for (unsigned k = RAMA_TAB_RANK; k < RAMA_TAB_MPIIO__WORDS; k++)
		assert_int_equal(count(k), 0);
}

static void opens_are_alone_or_collective(void **state)
{
	struct rama_core_op op = with(call(RAMA_TAB_OP_OPEN, 5), RAMA_CORE_MPI_COLL);

	(void)state;
	op.mode = 37; /* RDWR, CREATE and others, as the library numbers them */
	apply(op);
	apply(op);
	op.how = RAMA_CORE_MPI_INDEP;
	op.mode = 2;
	apply(op);
	assert_int_equal(count(RAMA_TAB_MPIIO_COLL_OPENS), 2);
	assert_int_equal(count(RAMA_TAB_MPIIO_INDEP_OPENS), 1);
	assert_int_equal(count(RAMA_TAB_MPIIO_MODE), 2); /* of the last one */
}

static void each_way_to_access_has_its_counter(void **state)
{
	static const struct {
		unsigned kind, how, word;
	} truth[] = {
		{ RAMA_TAB_OP_READ, RAMA_CORE_MPI_INDEP, RAMA_TAB_MPIIO_INDEP_READS },
		{ RAMA_TAB_OP_READ, RAMA_CORE_MPI_COLL, RAMA_TAB_MPIIO_COLL_READS },
		{ RAMA_TAB_OP_READ, RAMA_CORE_MPI_SPLIT, RAMA_TAB_MPIIO_SPLIT_READS },
		{ RAMA_TAB_OP_READ, RAMA_CORE_MPI_NB, RAMA_TAB_MPIIO_NB_READS },
		{ RAMA_TAB_OP_WRITE, RAMA_CORE_MPI_INDEP, RAMA_TAB_MPIIO_INDEP_WRITES },
		{ RAMA_TAB_OP_WRITE, RAMA_CORE_MPI_COLL, RAMA_TAB_MPIIO_COLL_WRITES },
		{ RAMA_TAB_OP_WRITE, RAMA_CORE_MPI_SPLIT, RAMA_TAB_MPIIO_SPLIT_WRITES },
		{ RAMA_TAB_OP_WRITE, RAMA_CORE_MPI_NB, RAMA_TAB_MPIIO_NB_WRITES },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(truth); i++) {
		fresh(NULL);
		apply(with(next(truth[i].kind, 10), truth[i].how));
		apply(with(next(truth[i].kind, 10), truth[i].how));
		for (unsigned k = RAMA_TAB_MPIIO_INDEP_OPENS; k <= RAMA_TAB_MPIIO_MODE; k++)
			assert_int_equal(count(k), k == truth[i].word ? 2 : 0);
		assert_int_equal(count(RAMA_TAB_MPIIO_BYTES_READ),
				 truth[i].kind == RAMA_TAB_OP_READ ? 20 : 0);
		assert_int_equal(count(RAMA_TAB_MPIIO_BYTES_WRITTEN),
				 truth[i].kind == RAMA_TAB_OP_READ ? 0 : 20);
	}
}

static void a_sync_is_time_of_writing_without_being_a_write(void **state)
{
	(void)state;
	transfer_at(RAMA_TAB_OP_WRITE, 100, 140, 1);
	apply(call_at(RAMA_TAB_OP_SYNC, 130, 150)); /* of another thread: 10 more */
	assert_int_equal(count(RAMA_TAB_MPIIO_SYNCS), 1);
	assert_int_equal(count(RAMA_TAB_MPIIO_INDEP_WRITES), 1);
	assert_true(ticks(RAMA_TAB_MPIIO_F_WRITE_TIME) == 50);
	assert_true(ticks(RAMA_TAB_MPIIO_F_WRITE_END_TIMESTAMP) == 140);
	assert_true(ticks(RAMA_TAB_MPIIO_F_MAX_WRITE_TIME) == 40);
	assert_true(ticks(RAMA_TAB_MPIIO_F_META_TIME) == 0);
}

static void a_view_takes_time_if_it_comes_with_hints(void **state)
{
	(void)state;
	apply(call_at(RAMA_TAB_OP_VIEW, 100, 150));
	assert_int_equal(count(RAMA_TAB_MPIIO_VIEWS), 1);
	assert_int_equal(count(RAMA_TAB_MPIIO_HINTS), 0);
	assert_true(ticks(RAMA_TAB_MPIIO_F_META_TIME) == 0);
	apply(call_at(RAMA_TAB_OP_VIEW, 200, 230));
	apply(call_at(RAMA_TAB_OP_HINT, 200, 230));
	assert_int_equal(count(RAMA_TAB_MPIIO_VIEWS), 2);
	assert_int_equal(count(RAMA_TAB_MPIIO_HINTS), 1);
	assert_true(ticks(RAMA_TAB_MPIIO_F_META_TIME) == 30);
}

static void hints_of_an_open_add_no_time_to_it(void **state)
{
	(void)state;
	apply(call_at(RAMA_TAB_OP_OPEN, 100, 150));
	apply(call_at(RAMA_TAB_OP_HINT, 100, 150));
	assert_int_equal(count(RAMA_TAB_MPIIO_INDEP_OPENS), 1);
	assert_int_equal(count(RAMA_TAB_MPIIO_HINTS), 1);
	assert_true(ticks(RAMA_TAB_MPIIO_F_META_TIME) == 50);
}

/* ---- how much -------------------------------------------------------------------------------- */

static void the_size_of_an_access_is_what_was_asked_for(void **state)
{
	(void)state;
	assert_int_equal(rama_core_mpiio_size(8, 100), 800);
	assert_int_equal(rama_core_mpiio_size(1, 3000000000), 3000000000);
	assert_int_equal(rama_core_mpiio_size(INT32_MAX, INT32_MAX), 4611686014132420609);
	assert_int_equal(rama_core_mpiio_size(8, 0), 0);
	assert_int_equal(rama_core_mpiio_size(8, -1), 0);
	assert_int_equal(rama_core_mpiio_size(0, 5), 0);  /* a type of nothing */
	assert_int_equal(rama_core_mpiio_size(-1, 5), 0); /* no type */
	assert_int_equal(rama_core_mpiio_size(INT64_MAX, 2), INT64_MAX);
}

static void sizes_fall_into_ranges_that_include_their_upper_end(void **state)
{
	static const int64_t upper[] = { 100,	  1024,	    10240,     102400,	  1048576,
					 4194304, 10485760, 104857600, 1073741824 };

	(void)state;
	for (unsigned i = 0; i < LENGTH(upper); i++) {
		fresh(NULL);
		apply(next(RAMA_TAB_OP_READ, upper[i]));
		apply(next(RAMA_TAB_OP_WRITE, upper[i] + 1));
		for (unsigned k = 0; k < 10; k++) {
			assert_int_equal(count(RAMA_TAB_MPIIO_SIZE_READ_AGG_0_100 + k), k == i);
			assert_int_equal(count(RAMA_TAB_MPIIO_SIZE_WRITE_AGG_0_100 + k),
					 k == i + 1);
		}
	}
}

static void sizes_of_reads_and_writes_are_ranked_together(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		apply(with(next(RAMA_TAB_OP_READ, 512), RAMA_CORE_MPI_COLL));
		apply(next(RAMA_TAB_OP_WRITE, 4096));
		apply(with(next(RAMA_TAB_OP_WRITE, 512), RAMA_CORE_MPI_NB));
	}
	apply(next(RAMA_TAB_OP_WRITE, 0));
	assert_int_equal(count(RAMA_TAB_MPIIO_ACCESS1_ACCESS), 512);
	assert_int_equal(count(RAMA_TAB_MPIIO_ACCESS1_COUNT), 6);
	assert_int_equal(count(RAMA_TAB_MPIIO_ACCESS2_ACCESS), 4096);
	assert_int_equal(count(RAMA_TAB_MPIIO_ACCESS2_COUNT), 3);
	assert_int_equal(count(RAMA_TAB_MPIIO_ACCESS3_ACCESS), 0);
	assert_int_equal(count(RAMA_TAB_MPIIO_SIZE_WRITE_AGG_0_100), 1); /* nothing is a size too */
}

static void changes_between_reading_and_writing_are_counted(void **state)
{
	static const uint8_t kinds[] = { RAMA_TAB_OP_READ, RAMA_TAB_OP_READ,  RAMA_TAB_OP_WRITE,
					 RAMA_TAB_OP_VIEW, RAMA_TAB_OP_WRITE, RAMA_TAB_OP_CLOSE,
					 RAMA_TAB_OP_READ, RAMA_TAB_OP_OPEN,  RAMA_TAB_OP_WRITE };

	(void)state;
	for (size_t i = 0; i < LENGTH(kinds); i++)
		apply(with(next(kinds[i], 1), (unsigned)i % 2));
	assert_int_equal(count(RAMA_TAB_MPIIO_RW_SWITCHES), 3);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void calls_of_threads_that_overlap_count_once(void **state)
{
	(void)state;
	transfer_at(RAMA_TAB_OP_READ, 100, 200, 1);
	transfer_at(RAMA_TAB_OP_READ, 150, 250, 1);  /* 50 more */
	transfer_at(RAMA_TAB_OP_READ, 160, 170, 1);  /* nothing */
	transfer_at(RAMA_TAB_OP_WRITE, 150, 250, 1); /* another timer */
	assert_true(ticks(RAMA_TAB_MPIIO_F_READ_TIME) == 150);
	assert_true(ticks(RAMA_TAB_MPIIO_F_WRITE_TIME) == 100);
}

static void the_slowest_call_is_the_first_of_its_length(void **state)
{
	(void)state;
	transfer_at(RAMA_TAB_OP_WRITE, 100, 150, 11);
	transfer_at(RAMA_TAB_OP_WRITE, 200, 250, 22);
	assert_true(ticks(RAMA_TAB_MPIIO_F_MAX_WRITE_TIME) == 50);
	assert_int_equal(count(RAMA_TAB_MPIIO_MAX_WRITE_TIME_SIZE), 11);
	transfer_at(RAMA_TAB_OP_WRITE, 300, 351, 33);
	assert_true(ticks(RAMA_TAB_MPIIO_F_MAX_WRITE_TIME) == 51);
	assert_int_equal(count(RAMA_TAB_MPIIO_MAX_WRITE_TIME_SIZE), 33);
	assert_int_equal(count(RAMA_TAB_MPIIO_MAX_READ_TIME_SIZE), 0);
}

static void first_starts_and_last_ends_are_kept(void **state)
{
	static const uint8_t kinds[] = { RAMA_TAB_OP_OPEN, RAMA_TAB_OP_READ, RAMA_TAB_OP_WRITE,
					 RAMA_TAB_OP_CLOSE };

	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		apply(call_at(kinds[i], 1000 + i, 1100 + i));
		apply(call_at(kinds[i], 900 + i, 905 + i)); /* recorded later, begun earlier */
		apply(call_at(kinds[i], 2000 + i, 2010 + i));
	}
	for (unsigned i = 0; i < 4; i++) { /* the words stand in this order */
		assert_true(ticks(RAMA_TAB_MPIIO_F_OPEN_START_TIMESTAMP + i) == 900 + i);
		assert_true(ticks(RAMA_TAB_MPIIO_F_OPEN_END_TIMESTAMP + i) == 2010 + i);
	}
	assert_true(ticks(RAMA_TAB_MPIIO_F_READ_TIME) == 110);
	assert_true(ticks(RAMA_TAB_MPIIO_F_WRITE_TIME) == 110);
	/* the closes overlap the opens */
	assert_true(ticks(RAMA_TAB_MPIIO_F_META_TIME) == 100 + 10 + 3);
}

/* ---- what does not count --------------------------------------------------------------------- */

static void failures_count_nothing(void **state)
{
	struct rama_core_mpiio_file before = f;

	(void)state;
	for (unsigned kind = 0; kind < 256; kind++)
		if (kind != RAMA_TAB_OP_CLOSE)
			apply(failing(kind));
	assert_memory_equal(&f, &before, sizeof(f));
}

static void a_close_counts_even_if_it_fails(void **state)
{
	struct rama_core_op op = failing(RAMA_TAB_OP_CLOSE);

	(void)state;
	apply(op);
	assert_true(ticks(RAMA_TAB_MPIIO_F_CLOSE_START_TIMESTAMP) == (double)op.t0);
	assert_true(ticks(RAMA_TAB_MPIIO_F_META_TIME) == 5);
}

static void what_means_nothing_here_changes_nothing(void **state)
{
	struct rama_core_mpiio_file before;

	(void)state;
	apply(next(RAMA_TAB_OP_READ, 10));
	before = f;
	for (unsigned kind = 0; kind < 256; kind++)
		if (kind != RAMA_TAB_OP_OPEN && kind != RAMA_TAB_OP_CLOSE &&
		    kind != RAMA_TAB_OP_READ && kind != RAMA_TAB_OP_WRITE &&
		    kind != RAMA_TAB_OP_SYNC && kind != RAMA_TAB_OP_VIEW &&
		    kind != RAMA_TAB_OP_HINT)
			apply(call(kind, 5));
	assert_memory_equal(&f, &before, sizeof(f));
}

static void any_way_to_access_stays_in_the_record(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 256; how++) {
		apply(with(next(RAMA_TAB_OP_READ, 1), how));
		apply(with(next(RAMA_TAB_OP_OPEN, 1), how));
	}
	assert_int_equal(count(RAMA_TAB_MPIIO_INDEP_READS) + count(RAMA_TAB_MPIIO_COLL_READS) +
				 count(RAMA_TAB_MPIIO_SPLIT_READS) + count(RAMA_TAB_MPIIO_NB_READS),
			 256);
	assert_int_equal(count(RAMA_TAB_MPIIO_SYNCS), 0);
}

static void any_content_can_be_finished(void **state)
{
	struct rng r = { 3 };

	(void)state;
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(f); i++)
			((unsigned char *)&f)[i] = round ? (unsigned char)rng_u64(&r) : 0xff;
		assert_true(ticks(RAMA_TAB_MPIIO_F_OPEN_START_TIMESTAMP) >= 0);
		for (unsigned k = RAMA_TAB_MPIIO_F_FASTEST_RANK_TIME; k < RAMA_TAB_MPIIO__WORDS;
		     k++)
			assert_true(w[k].f == 0);
		for (unsigned k = 0; k < 3; k++)
			assert_true(w[RAMA_TAB_MPIIO_ACCESS1_COUNT + k].i >=
				    w[RAMA_TAB_MPIIO_ACCESS1_COUNT + k + 1].i);
	}
}

#define fresh_test(name) cmocka_unit_test_setup(name, fresh)
UNIT_GROUP(mpiio, fresh_test(a_new_record_is_empty), fresh_test(opens_are_alone_or_collective),
	   fresh_test(each_way_to_access_has_its_counter),
	   fresh_test(a_sync_is_time_of_writing_without_being_a_write),
	   fresh_test(a_view_takes_time_if_it_comes_with_hints),
	   fresh_test(hints_of_an_open_add_no_time_to_it),
	   fresh_test(the_size_of_an_access_is_what_was_asked_for),
	   fresh_test(sizes_fall_into_ranges_that_include_their_upper_end),
	   fresh_test(sizes_of_reads_and_writes_are_ranked_together),
	   fresh_test(changes_between_reading_and_writing_are_counted),
	   fresh_test(calls_of_threads_that_overlap_count_once),
	   fresh_test(the_slowest_call_is_the_first_of_its_length),
	   fresh_test(first_starts_and_last_ends_are_kept), fresh_test(failures_count_nothing),
	   fresh_test(a_close_counts_even_if_it_fails),
	   fresh_test(what_means_nothing_here_changes_nothing),
	   fresh_test(any_way_to_access_stays_in_the_record),
	   fresh_test(any_content_can_be_finished))
