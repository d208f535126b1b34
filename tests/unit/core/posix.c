/* SPDX-License-Identifier: BSD-3-Clause */
/* posix.c: what descriptor calls do to the counters of a file, one sentence at a time. */
#include "ops.h"

#include "core/posix.h"

#define TICK 0.5 /* seconds */

static struct rama_core_posix_file f;
static union rama_core_word w[RAMA_TAB_POSIX__WORDS], more[RAMA_CORE_POSIX_MORE];

static int fresh(void **state)
{
	(void)state;
	now = 1000;
	rama_core_posix_init(&f, 42, 8, 4096);
	return 0;
}

static void apply(struct rama_core_op op)
{
	rama_core_posix_apply(&f, &op);
}

static int64_t count(unsigned word)
{
	rama_core_posix_finish(&f, TICK, w, more);
	return w[word].i;
}

/* of the EXTRA record */
static int64_t extra(unsigned word)
{
	rama_core_posix_finish(&f, TICK, w, more);
	return more[word - RAMA_TAB_EXTRA_SEQ_READS].i;
}

static double ticks(unsigned word)
{
	rama_core_posix_finish(&f, TICK, w, more);
	return w[word].f / TICK;
}

static double extra_ticks(unsigned word)
{
	rama_core_posix_finish(&f, TICK, w, more);
	return more[word - RAMA_TAB_EXTRA_SEQ_READS].f / TICK;
}

static void transfer_at(unsigned kind, uint64_t t0, uint64_t t1, int64_t bytes)
{
	struct rama_core_op op = call_at(kind, t0, t1);

	op.bytes = bytes;
	apply(op);
}

/* ---- where in the file ----------------------------------------------------------------------- */

static void a_new_record_knows_its_alignments(void **state)
{
	(void)state;
	assert_int_equal(count(RAMA_TAB_ID), 42);
	assert_int_equal(count(RAMA_TAB_POSIX_MEM_ALIGNMENT), 8);
	assert_int_equal(count(RAMA_TAB_POSIX_FILE_ALIGNMENT), 4096);
	assert_int_equal(count(RAMA_TAB_POSIX_MMAPS), -1);
	for (unsigned k = RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP; k < RAMA_TAB_POSIX__WORDS; k++)
		assert_true(ticks(k) == 0);
}

/* the log format takes byte 0 as the last one before */
static void the_first_access_at_0_is_not_sequential(void **state)
{
	(void)state;
	apply(next(RAMA_TAB_OP_READ, 100));
	assert_int_equal(count(RAMA_TAB_POSIX_SEQ_READS), 0);
	assert_int_equal(count(RAMA_TAB_POSIX_CONSEC_READS), 0);
	assert_int_equal(extra(RAMA_TAB_EXTRA_SEQ_READS), 0);
	apply(next(RAMA_TAB_OP_READ, 100));
	assert_int_equal(count(RAMA_TAB_POSIX_SEQ_READS), 1);
	assert_int_equal(count(RAMA_TAB_POSIX_CONSEC_READS), 1);
	assert_int_equal(extra(RAMA_TAB_EXTRA_SEQ_READS), 1);
	assert_int_equal(extra(RAMA_TAB_EXTRA_CONSEC_READS), 1);
}

static void the_first_access_elsewhere_is_sequential_to_the_log_format_alone(void **state)
{
	(void)state;
	apply(at(RAMA_TAB_OP_WRITE, 1, 10)); /* even consecutive: 1 follows 0 */
	assert_int_equal(count(RAMA_TAB_POSIX_SEQ_WRITES), 1);
	assert_int_equal(count(RAMA_TAB_POSIX_CONSEC_WRITES), 1);
	assert_int_equal(extra(RAMA_TAB_EXTRA_SEQ_WRITES), 0);
	assert_int_equal(extra(RAMA_TAB_EXTRA_CONSEC_WRITES), 0);
	apply(at(RAMA_TAB_OP_READ, 500, 10));
	assert_int_equal(count(RAMA_TAB_POSIX_SEQ_READS), 1);
	assert_int_equal(count(RAMA_TAB_POSIX_CONSEC_READS), 0);
	assert_int_equal(count(RAMA_TAB_POSIX_STRIDE1_STRIDE), 0); /* a stride needs two */
}

static void reads_and_writes_keep_their_places_apart(void **state)
{
	(void)state;
	apply(at(RAMA_TAB_OP_WRITE, 1000, 100));
	apply(at(RAMA_TAB_OP_READ, 2000, 100));
	apply(at(RAMA_TAB_OP_WRITE, 1100, 100));
	apply(at(RAMA_TAB_OP_READ, 2100, 100));
	assert_int_equal(count(RAMA_TAB_POSIX_CONSEC_WRITES), 1);
	assert_int_equal(count(RAMA_TAB_POSIX_CONSEC_READS), 1);
	assert_int_equal(extra(RAMA_TAB_EXTRA_CONSEC_WRITES), 1);
	assert_int_equal(extra(RAMA_TAB_EXTRA_CONSEC_READS), 1);
}

static void backwards_is_not_sequential(void **state)
{
	(void)state;
	for (int64_t off = 5000; off >= 1000; off -= 1000)
		apply(at(RAMA_TAB_OP_READ, off, 100));
	assert_int_equal(count(RAMA_TAB_POSIX_SEQ_READS), 1); /* the first one */
	assert_int_equal(count(RAMA_TAB_POSIX_CONSEC_READS), 0);
	assert_int_equal(extra(RAMA_TAB_EXTRA_SEQ_READS), 0);
	assert_int_equal(count(RAMA_TAB_POSIX_STRIDE1_COUNT), 0);
}

static void positional_calls_move_the_tracked_offset(void **state)
{
	(void)state;
	apply(at(RAMA_TAB_OP_READ, 1000, 100));
	apply(next(RAMA_TAB_OP_READ, 50));
	assert_int_equal(count(RAMA_TAB_POSIX_MAX_BYTE_READ), 1149);
	assert_int_equal(count(RAMA_TAB_POSIX_CONSEC_READS), 1);
}

static void strides_are_the_gaps(void **state)
{
	(void)state;
	for (int64_t i = 0; i < 10; i++) /* records of 100 bytes, 1000 apart */
		apply(at(RAMA_TAB_OP_WRITE, 500 + i * 1000, 100));
	assert_int_equal(count(RAMA_TAB_POSIX_STRIDE1_STRIDE), 900);
	assert_int_equal(count(RAMA_TAB_POSIX_STRIDE1_COUNT), 9);
	assert_int_equal(count(RAMA_TAB_POSIX_STRIDE2_STRIDE), 0);
	assert_int_equal(count(RAMA_TAB_POSIX_SEQ_WRITES), 10);
	assert_int_equal(count(RAMA_TAB_POSIX_CONSEC_WRITES), 0);
	assert_int_equal(extra(RAMA_TAB_EXTRA_SEQ_WRITES), 9);
}

static void opening_and_closing_forget_the_place(void **state)
{
	(void)state;
	apply(call(RAMA_TAB_OP_OPEN, 5));
	apply(next(RAMA_TAB_OP_WRITE, 100));
	apply(call(RAMA_TAB_OP_CLOSE, 5));
	apply(at(RAMA_TAB_OP_WRITE, 100,
		 10)); /* a gap of 99 after byte 0: no stride, not consecutive */
	assert_int_equal(count(RAMA_TAB_POSIX_CONSEC_WRITES), 0);
	assert_int_equal(extra(RAMA_TAB_EXTRA_CONSEC_WRITES), 1); /* we do remember */
	apply(call(RAMA_TAB_OP_OPEN, 5));
	apply(next(RAMA_TAB_OP_WRITE, 7));
	assert_int_equal(count(RAMA_TAB_POSIX_MAX_BYTE_WRITTEN), 109);
	assert_int_equal(f.offset, 7);
	assert_int_equal(count(RAMA_TAB_POSIX_STRIDE1_COUNT), 0);
}

static void dup_and_fileno_keep_the_place(void **state)
{
	(void)state;
	apply(call(RAMA_TAB_OP_OPEN, 5));
	apply(next(RAMA_TAB_OP_READ, 100));
	apply(call(RAMA_TAB_OP_DUP, 5));
	apply(call(RAMA_TAB_OP_FILENO, 5));
	apply(next(RAMA_TAB_OP_READ, 100));
	assert_int_equal(count(RAMA_TAB_POSIX_CONSEC_READS), 1);
	assert_int_equal(count(RAMA_TAB_POSIX_OPENS), 3);
	assert_int_equal(count(RAMA_TAB_POSIX_DUPS), 1);
	assert_int_equal(count(RAMA_TAB_POSIX_FILENOS), 1);
	assert_true(ticks(RAMA_TAB_POSIX_F_META_TIME) == 15);
}

static void a_seek_moves_the_offset(void **state)
{
	struct rama_core_op seek = call(RAMA_TAB_OP_SEEK, 3);

	(void)state;
	seek.off = 8192;
	apply(seek);
	apply(next(RAMA_TAB_OP_READ, 10));
	assert_int_equal(count(RAMA_TAB_POSIX_SEEKS), 1);
	assert_int_equal(count(RAMA_TAB_POSIX_MAX_BYTE_READ), 8201);
	assert_true(ticks(RAMA_TAB_POSIX_F_META_TIME) == 3);
}

static void accesses_of_no_bytes_count(void **state)
{
	(void)state;
	apply(next(RAMA_TAB_OP_READ, 0));
	assert_int_equal(count(RAMA_TAB_POSIX_READS), 1);
	assert_int_equal(count(RAMA_TAB_POSIX_SIZE_READ_0_100), 1);
	assert_int_equal(count(RAMA_TAB_POSIX_MAX_BYTE_READ), 0);
	assert_int_equal(count(RAMA_TAB_POSIX_ACCESS1_COUNT), 0);
	assert_int_equal(f.read.next, 0);
	apply(next(RAMA_TAB_OP_READ, 0)); /* 0 comes right after -1 */
	assert_int_equal(count(RAMA_TAB_POSIX_CONSEC_READS), 1);
	assert_int_equal(extra(RAMA_TAB_EXTRA_CONSEC_READS), 1);
	apply(at(RAMA_TAB_OP_READ, 5, 0)); /* and 5 after a gap of 5 */
	assert_int_equal(count(RAMA_TAB_POSIX_STRIDE1_STRIDE), 5);
}

/* ---- how much -------------------------------------------------------------------------------- */

static unsigned range_of(int64_t n)
{
	static const int64_t limits[] = { 100,	   1024,     10240,	102400,	   1048576,
					  4194304, 10485760, 104857600, 1073741824 };
	unsigned i = 0;

	while (i < LENGTH(limits) && n > limits[i])
		i++;
	return i;
}

static void assert_range(int64_t n)
{
	fresh(NULL);
	apply(at(RAMA_TAB_OP_READ, 0, n));
	apply(at(RAMA_TAB_OP_WRITE, 0, n));
	for (unsigned k = 0; k < 10; k++) {
		assert_int_equal(count(RAMA_TAB_POSIX_SIZE_READ_0_100 + k), k == range_of(n));
		assert_int_equal(count(RAMA_TAB_POSIX_SIZE_WRITE_0_100 + k), k == range_of(n));
	}
}

static void sizes_fall_into_ranges_that_include_their_upper_end(void **state)
{
	static const int64_t edges[] = { 0,	  1,	   100,	     1024,	10240,	   102400,
					 1048576, 4194304, 10485760, 104857600, 1073741824 };

	(void)state;
	apply(next(RAMA_TAB_OP_READ, 100));
	apply(next(RAMA_TAB_OP_READ, 101));
	apply(next(RAMA_TAB_OP_READ, 1024));
	apply(next(RAMA_TAB_OP_READ, 1025));
	assert_int_equal(count(RAMA_TAB_POSIX_SIZE_READ_0_100), 1);
	assert_int_equal(count(RAMA_TAB_POSIX_SIZE_READ_100_1K), 2);
	assert_int_equal(count(RAMA_TAB_POSIX_SIZE_READ_1K_10K), 1);
	for (size_t i = 0; i < LENGTH(edges); i++) {
		assert_range(edges[i]);
		assert_range(edges[i] + 1);
	}
	for (unsigned bit = 0; bit < 63; bit++) {
		assert_range((int64_t)1 << bit);
		assert_range(((int64_t)1 << bit) - 1);
		assert_range(((int64_t)1 << bit) + 1);
	}
	assert_range(INT64_MAX);
}

static void sizes_of_reads_and_writes_are_ranked_together(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		apply(next(RAMA_TAB_OP_READ, 512));
	for (int i = 0; i < 2; i++) {
		apply(next(RAMA_TAB_OP_WRITE, 4096));
		apply(next(RAMA_TAB_OP_WRITE, 512));
	}
	apply(next(RAMA_TAB_OP_WRITE, 0));
	assert_int_equal(count(RAMA_TAB_POSIX_ACCESS1_ACCESS), 512);
	assert_int_equal(count(RAMA_TAB_POSIX_ACCESS1_COUNT), 5);
	assert_int_equal(count(RAMA_TAB_POSIX_ACCESS2_ACCESS), 4096);
	assert_int_equal(count(RAMA_TAB_POSIX_ACCESS2_COUNT), 2);
	assert_int_equal(count(RAMA_TAB_POSIX_ACCESS3_ACCESS), 0);
	assert_int_equal(count(RAMA_TAB_POSIX_BYTES_READ), 1536);
	assert_int_equal(count(RAMA_TAB_POSIX_BYTES_WRITTEN), 9216);
}

static void changes_between_reading_and_writing_are_counted(void **state)
{
	static const uint8_t kinds[] = { RAMA_TAB_OP_READ, RAMA_TAB_OP_READ,  RAMA_TAB_OP_WRITE,
					 RAMA_TAB_OP_SEEK, RAMA_TAB_OP_WRITE, RAMA_TAB_OP_CLOSE,
					 RAMA_TAB_OP_READ, RAMA_TAB_OP_OPEN,  RAMA_TAB_OP_WRITE };

	(void)state;
	for (size_t i = 0; i < LENGTH(kinds); i++)
		apply(next(kinds[i], 1));
	assert_int_equal(count(RAMA_TAB_POSIX_RW_SWITCHES), 3);
}

static void offsets_off_the_block_are_counted(void **state)
{
	static const struct {
		int64_t align, off;
		bool off_block;
	} truth[] = {
		{ 4096, 0, false },   { 4096, 4096, false },   { 4096, 1, true },
		{ 4096, 6144, true }, { 1, 12345, false },     { 3000, 6000, false },
		{ 3000, 4096, true }, { 0, 1, false },	       { -1, 1, false },
		{ -3000, 1, false },  { INT64_MIN, 5, false }, { INT64_MAX, 5, true },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(truth); i++) {
		rama_core_posix_init(&f, 1, 8, truth[i].align);
		apply(at(RAMA_TAB_OP_WRITE, truth[i].off, 10));
		assert_int_equal(count(RAMA_TAB_POSIX_FILE_NOT_ALIGNED), truth[i].off_block);
	}
}

static void memory_off_its_alignment_is_counted(void **state)
{
	struct rama_core_op op = next(RAMA_TAB_OP_READ, 1);

	(void)state;
	apply(op);
	op.unaligned = true;
	apply(op);
	op.kind = RAMA_TAB_OP_WRITE;
	apply(op);
	assert_int_equal(count(RAMA_TAB_POSIX_MEM_NOT_ALIGNED), 2);
}

static void asynchronous_and_copying_calls_are_counted_twice(void **state)
{
	static const struct {
		uint8_t kind, how;
		int times;
	} calls[] = {
		{ RAMA_TAB_OP_READ, RAMA_CORE_HOW_ASYNC, 1 },
		{ RAMA_TAB_OP_READ, RAMA_CORE_HOW_COPY, 2 },
		{ RAMA_TAB_OP_WRITE, RAMA_CORE_HOW_ASYNC, 3 },
		{ RAMA_TAB_OP_WRITE, RAMA_CORE_HOW_COPY, 4 },
		{ RAMA_TAB_OP_READ, RAMA_CORE_HOW_PLAIN, 5 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(calls); i++) {
		for (int k = 0; k < calls[i].times; k++) {
			struct rama_core_op op = next(calls[i].kind, 10);

			op.how = calls[i].how;
			apply(op);
		}
	}
	assert_int_equal(extra(RAMA_TAB_EXTRA_AIO_READS), 1);
	assert_int_equal(extra(RAMA_TAB_EXTRA_COPY_READS), 2);
	assert_int_equal(extra(RAMA_TAB_EXTRA_AIO_WRITES), 3);
	assert_int_equal(extra(RAMA_TAB_EXTRA_COPY_WRITES), 4);
	assert_int_equal(count(RAMA_TAB_POSIX_READS), 8);
	assert_int_equal(count(RAMA_TAB_POSIX_WRITES), 7);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void calls_of_threads_that_overlap_count_once(void **state)
{
	(void)state;
	transfer_at(RAMA_TAB_OP_READ, 100, 200, 1);
	transfer_at(RAMA_TAB_OP_READ, 150, 250, 1); /* 50 more */
	assert_true(ticks(RAMA_TAB_POSIX_F_READ_TIME) == 150);
	assert_true(extra_ticks(RAMA_TAB_EXTRA_F_READ_SUM) == 200);
	transfer_at(RAMA_TAB_OP_READ, 250, 260, 1); /* begins where the last one ended */
	assert_true(ticks(RAMA_TAB_POSIX_F_READ_TIME) == 160);
}

/* Darshan would take 200 away */
static void a_call_that_ended_earlier_adds_nothing(void **state)
{
	(void)state;
	transfer_at(RAMA_TAB_OP_WRITE, 300, 310, 1);
	transfer_at(RAMA_TAB_OP_WRITE, 100, 110, 1);
	assert_true(ticks(RAMA_TAB_POSIX_F_WRITE_TIME) == 10);
	assert_true(extra_ticks(RAMA_TAB_EXTRA_F_WRITE_SUM) == 20);
	assert_true(ticks(RAMA_TAB_POSIX_F_WRITE_START_TIMESTAMP) == 100);
	assert_true(ticks(RAMA_TAB_POSIX_F_WRITE_END_TIMESTAMP) == 110); /* recorded last */
	transfer_at(RAMA_TAB_OP_WRITE, 305, 320, 1); /* 310 is still the latest end */
	assert_true(ticks(RAMA_TAB_POSIX_F_WRITE_TIME) == 20);
}

static void the_slowest_call_is_the_first_of_its_length(void **state)
{
	(void)state;
	transfer_at(RAMA_TAB_OP_READ, 100, 150, 11);
	transfer_at(RAMA_TAB_OP_READ, 200, 250, 22);
	assert_true(ticks(RAMA_TAB_POSIX_F_MAX_READ_TIME) == 50);
	assert_int_equal(count(RAMA_TAB_POSIX_MAX_READ_TIME_SIZE), 11);
	transfer_at(RAMA_TAB_OP_READ, 300, 351, 33);
	assert_true(ticks(RAMA_TAB_POSIX_F_MAX_READ_TIME) == 51);
	assert_int_equal(count(RAMA_TAB_POSIX_MAX_READ_TIME_SIZE), 33);
	assert_int_equal(count(RAMA_TAB_POSIX_MAX_WRITE_TIME_SIZE), 0);
}

static void syncs_are_time_of_writing_without_being_writes(void **state)
{
	(void)state;
	apply(call_at(RAMA_TAB_OP_SYNC, 100, 140));
	apply(call_at(RAMA_TAB_OP_DATASYNC, 130, 150));
	assert_int_equal(count(RAMA_TAB_POSIX_FSYNCS), 1);
	assert_int_equal(count(RAMA_TAB_POSIX_FDSYNCS), 1);
	assert_int_equal(count(RAMA_TAB_POSIX_WRITES), 0);
	assert_true(ticks(RAMA_TAB_POSIX_F_WRITE_TIME) == 50);
	assert_true(extra_ticks(RAMA_TAB_EXTRA_F_WRITE_SUM) == 60);
	assert_true(rama_core_posix_sync_time(&f, TICK) == 60 * TICK);
	assert_true(ticks(RAMA_TAB_POSIX_F_WRITE_START_TIMESTAMP) == 0);
	assert_true(ticks(RAMA_TAB_POSIX_F_WRITE_END_TIMESTAMP) == 0);
	assert_true(ticks(RAMA_TAB_POSIX_F_MAX_WRITE_TIME) == 0);
	assert_true(ticks(RAMA_TAB_POSIX_F_META_TIME) == 0);
}

static void first_starts_and_last_ends_are_kept(void **state)
{
	(void)state;
	apply(call_at(RAMA_TAB_OP_OPEN, 100, 101));
	apply(call_at(RAMA_TAB_OP_DUP, 90, 95)); /* recorded later, begun earlier */
	apply(call_at(RAMA_TAB_OP_CLOSE, 700, 702));
	apply(call_at(RAMA_TAB_OP_CLOSE, 800, 802));
	assert_true(ticks(RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP) == 90);
	assert_true(ticks(RAMA_TAB_POSIX_F_OPEN_END_TIMESTAMP) == 95);
	assert_true(ticks(RAMA_TAB_POSIX_F_CLOSE_START_TIMESTAMP) == 700);
	assert_true(ticks(RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP) == 802);
}

/* ---- other calls ----------------------------------------------------------------------------- */

static void the_last_creation_mode_is_kept(void **state)
{
	struct rama_core_op op = call(RAMA_TAB_OP_OPEN, 1);

	(void)state;
	op.mode = 0644;
	apply(op);
	apply(call(RAMA_TAB_OP_OPEN, 1)); /* without one */
	assert_int_equal(count(RAMA_TAB_POSIX_MODE), 420);
	op.mode = 0600;
	apply(op);
	assert_int_equal(count(RAMA_TAB_POSIX_MODE), 384);
}

static void a_rename_tells_where_a_file_came_from(void **state)
{
	struct rama_core_op to = call(RAMA_TAB_OP_RENAMETO, 9);

	(void)state;
	to.off = (int64_t)0xfedcba9876543210u;
	apply(to);
	to.off = 5; /* the first one stays */
	apply(to);
	assert_int_equal(count(RAMA_TAB_POSIX_RENAME_TARGETS), 2);
	assert_true((uint64_t)count(RAMA_TAB_POSIX_RENAMED_FROM) == 0xfedcba9876543210u);
	assert_true(ticks(RAMA_TAB_POSIX_F_META_TIME) == 0);
	apply(call(RAMA_TAB_OP_RENAMEFROM, 4));
	assert_int_equal(count(RAMA_TAB_POSIX_RENAME_SOURCES), 1);
	assert_true(ticks(RAMA_TAB_POSIX_F_META_TIME) == 4);
}

static void mappings_are_counted_where_the_log_format_allows(void **state)
{
	struct rama_core_op op = call(RAMA_TAB_OP_MMAP, 9);

	(void)state;
	op.bytes = 65536;
	apply(op);
	apply(op);
	assert_int_equal(count(RAMA_TAB_POSIX_MMAPS), -1);
	assert_int_equal(extra(RAMA_TAB_EXTRA_MMAPS), 2);
	assert_int_equal(extra(RAMA_TAB_EXTRA_BYTES_MAPPED), 131072);
	f.w[RAMA_TAB_POSIX_MMAPS].i = 0; /* as in static builds */
	apply(op);
	assert_int_equal(count(RAMA_TAB_POSIX_MMAPS), 1);
	assert_true(ticks(RAMA_TAB_POSIX_F_META_TIME) == 0);
}

static void failures_count_as_such_alone(void **state)
{
	static const uint8_t kinds[] = {
		RAMA_TAB_OP_OPEN,   RAMA_TAB_OP_SEEK, RAMA_TAB_OP_STAT,	      RAMA_TAB_OP_SYNC,
		RAMA_TAB_OP_MMAP,   RAMA_TAB_OP_DUP,  RAMA_TAB_OP_READ,	      RAMA_TAB_OP_WRITE,
		RAMA_TAB_OP_FILENO, RAMA_TAB_OP_READ, RAMA_TAB_OP_RENAMEFROM, RAMA_TAB_OP_RENAMETO
	};
	struct rama_core_posix_file expected = f;

	(void)state;
	for (size_t i = 0; i < LENGTH(kinds); i++)
		apply(failing(kinds[i]));
	expected.more[RAMA_TAB_EXTRA_READS_FAILED - RAMA_TAB_EXTRA_SEQ_READS].i = 2;
	expected.more[RAMA_TAB_EXTRA_WRITES_FAILED - RAMA_TAB_EXTRA_SEQ_READS].i = 1;
	assert_memory_equal(&f, &expected, sizeof(f));
}

static void a_close_counts_even_if_it_fails(void **state)
{
	struct rama_core_op op = failing(RAMA_TAB_OP_CLOSE);

	(void)state;
	apply(op);
	assert_true(ticks(RAMA_TAB_POSIX_F_CLOSE_START_TIMESTAMP) == (double)op.t0);
	assert_true(ticks(RAMA_TAB_POSIX_F_META_TIME) == 5);
}

static void what_means_nothing_here_changes_nothing(void **state)
{
	struct rama_core_posix_file before;

	(void)state;
	apply(next(RAMA_TAB_OP_READ, 10));
	before = f;
	apply(call(RAMA_TAB_OP_NOTHING, 5));
	apply(call(RAMA_TAB_OP_FDOPEN, 5));
	apply(call(RAMA_TAB_OP_FLUSH, 5));
	for (unsigned kind = RAMA_TAB_OP_STATOTHER; kind < 256; kind++)
		apply(call(kind, 5));
	assert_memory_equal(&f, &before, sizeof(f));
}

static void any_content_can_be_finished(void **state)
{
	struct rng r = { 3 };

	(void)state;
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < sizeof(f); i++)
			((unsigned char *)&f)[i] = round ? (unsigned char)rng_u64(&r) : 0xff;
		assert_true(ticks(RAMA_TAB_POSIX_F_VARIANCE_RANK_TIME) == 0);
		assert_true(ticks(RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP) >= 0);
	}
}

#define fresh_test(name) cmocka_unit_test_setup(name, fresh)
UNIT_GROUP(posix, fresh_test(a_new_record_knows_its_alignments),
	   fresh_test(the_first_access_at_0_is_not_sequential),
	   fresh_test(the_first_access_elsewhere_is_sequential_to_the_log_format_alone),
	   fresh_test(reads_and_writes_keep_their_places_apart),
	   fresh_test(backwards_is_not_sequential),
	   fresh_test(positional_calls_move_the_tracked_offset), fresh_test(strides_are_the_gaps),
	   fresh_test(opening_and_closing_forget_the_place),
	   fresh_test(dup_and_fileno_keep_the_place), fresh_test(a_seek_moves_the_offset),
	   fresh_test(accesses_of_no_bytes_count),
	   fresh_test(sizes_fall_into_ranges_that_include_their_upper_end),
	   fresh_test(sizes_of_reads_and_writes_are_ranked_together),
	   fresh_test(changes_between_reading_and_writing_are_counted),
	   fresh_test(offsets_off_the_block_are_counted),
	   fresh_test(memory_off_its_alignment_is_counted),
	   fresh_test(asynchronous_and_copying_calls_are_counted_twice),
	   fresh_test(calls_of_threads_that_overlap_count_once),
	   fresh_test(a_call_that_ended_earlier_adds_nothing),
	   fresh_test(the_slowest_call_is_the_first_of_its_length),
	   fresh_test(syncs_are_time_of_writing_without_being_writes),
	   fresh_test(first_starts_and_last_ends_are_kept),
	   fresh_test(the_last_creation_mode_is_kept),
	   fresh_test(a_rename_tells_where_a_file_came_from),
	   fresh_test(mappings_are_counted_where_the_log_format_allows),
	   fresh_test(failures_count_as_such_alone), fresh_test(a_close_counts_even_if_it_fails),
	   fresh_test(what_means_nothing_here_changes_nothing),
	   fresh_test(any_content_can_be_finished))
