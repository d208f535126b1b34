/* SPDX-License-Identifier: BSD-3-Clause */
/* h5d.c: what H5D* calls do to the counters of a dataset, one sentence at a time. */
#include "ops.h"

#include "core/h5d.h"

#define TICK 0.5 /* seconds */

static struct rama_core_h5d_file f;
static union rama_core_word w[RAMA_TAB_H5D__WORDS];

static int fresh(void **state)
{
	(void)state;
	now = 1000;
	rama_core_h5d_init(&f, 42, 4711, 0);
	return 0;
}

static int64_t count(unsigned word)
{
	rama_core_h5d_finish(&f, TICK, w);
	return w[word].i;
}

static double ticks(unsigned word)
{
	rama_core_h5d_finish(&f, TICK, w);
	return w[word].f / TICK;
}

static void apply(struct rama_core_op op)
{
	rama_core_h5d_apply(&f, &op, NULL);
}

static void access_by(unsigned kind, int64_t bytes, struct rama_core_h5d_access a)
{
	struct rama_core_op op = next(kind, bytes);

	rama_core_h5d_apply(&f, &op, &a);
}

static void assert_words(unsigned first, const int64_t want[5])
{
	for (unsigned k = 0; k < 5; k++)
		assert_int_equal(count(first + k), want[k]);
}
#define ASSERT_WORDS(first, ...) assert_words(first, (const int64_t[5]){ __VA_ARGS__ })

static void a_new_record_knows_its_file(void **state)
{
	(void)state;
	assert_int_equal(count(RAMA_TAB_ID), 42);
	assert_int_equal(count(RAMA_TAB_H5D_FILE_REC_ID), 4711);
	for (unsigned k = RAMA_TAB_H5D_OPENS; k < RAMA_TAB_H5D__WORDS; k++)
		assert_int_equal(count(k), 0);
}

static void what_the_library_cannot_tell_is_minus_1(void **state)
{
	struct rama_core_h5d_access a = { .select = RAMA_CORE_H5D_REGULAR,
					  .length = { 5 },
					  .stride = { 6 } };

	(void)state;
	rama_core_h5d_init(&f, 42, 1, RAMA_CORE_H5D_NO_FLUSH | RAMA_CORE_H5D_NO_SELECT);
	apply(call(RAMA_TAB_OP_FLUSH, 5));
	access_by(RAMA_TAB_OP_READ, 100, a);
	a.select = RAMA_CORE_H5D_IRREGULAR;
	access_by(RAMA_TAB_OP_READ, 100, a);
	a.select = RAMA_CORE_H5D_POINTS;
	access_by(RAMA_TAB_OP_READ, 100, a);
	assert_int_equal(count(RAMA_TAB_H5D_FLUSHES), -1);
	assert_int_equal(count(RAMA_TAB_H5D_REGULAR_HYPERSLAB_SELECTS), -1);
	assert_int_equal(count(RAMA_TAB_H5D_IRREGULAR_HYPERSLAB_SELECTS), -1);
	assert_int_equal(count(RAMA_TAB_H5D_POINT_SELECTS), 1);
	ASSERT_WORDS(RAMA_TAB_H5D_ACCESS1_LENGTH_D1, -1, -1, -1, -1, -1);
	ASSERT_WORDS(RAMA_TAB_H5D_ACCESS1_STRIDE_D1, -1, -1, -1, -1, -1);
	assert_int_equal(count(RAMA_TAB_H5D_ACCESS1_COUNT), 3);
}

static void an_open_tells_what_the_dataset_is_like(void **state)
{
	struct rama_core_op op = call(RAMA_TAB_OP_OPEN, 7);
	struct rama_core_h5d_shape s = {
		.ndims = 3, .npoints = 6000, .type_size = 8, .deprecated = true
	};

	(void)state;
	rama_core_h5d_chunk(&s, 3, (const uint64_t[]){ 2, 30, 100 });
	rama_core_h5d_open(&f, &op, &s);
	assert_int_equal(count(RAMA_TAB_H5D_OPENS), 1);
	assert_int_equal(count(RAMA_TAB_H5D_DATASPACE_NDIMS), 3);
	assert_int_equal(count(RAMA_TAB_H5D_DATASPACE_NPOINTS), 6000);
	assert_int_equal(count(RAMA_TAB_H5D_DATATYPE_SIZE), 8);
	assert_int_equal(count(RAMA_TAB_H5D_USE_DEPRECATED), 1);
	ASSERT_WORDS(RAMA_TAB_H5D_CHUNK_SIZE_D1, 100, 30, 2, 0, 0); /* the last dimension first */
	assert_true(ticks(RAMA_TAB_H5D_F_META_TIME) == 7);
	assert_true(ticks(RAMA_TAB_H5D_F_OPEN_START_TIMESTAMP) == (double)op.t0);
	assert_true(ticks(RAMA_TAB_H5D_F_OPEN_END_TIMESTAMP) == (double)op.t1);
	s = (struct rama_core_h5d_shape){ .ndims = 1, .npoints = 5, .type_size = 4 };
	op = call(RAMA_TAB_OP_OPEN, 7);
	rama_core_h5d_open(&f, &op, &s); /* the last open counts */
	assert_int_equal(count(RAMA_TAB_H5D_OPENS), 2);
	assert_int_equal(count(RAMA_TAB_H5D_DATASPACE_NPOINTS), 5);
	assert_int_equal(count(RAMA_TAB_H5D_USE_DEPRECATED), 0);
	ASSERT_WORDS(RAMA_TAB_H5D_CHUNK_SIZE_D1, 0, 0, 0, 0, 0);
	op.ok = false;
	rama_core_h5d_open(&f, &op, &s);
	assert_int_equal(count(RAMA_TAB_H5D_OPENS), 2);
}

static void of_many_dimensions_the_last_five_are_kept(void **state)
{
	static const uint64_t dims[] = { 2, 3, 4, 5, 6, 7, 8 }, ones[] = { 1, 1, 1, 1, 1, 1, 1 };
	struct rama_core_h5d_shape s = { 0 };
	struct rama_core_h5d_access a = { .select = RAMA_CORE_H5D_REGULAR };

	(void)state;
	rama_core_h5d_chunk(&s, 7, dims);
	for (int k = 0; k < 5; k++)
		assert_int_equal(s.chunk[k], 8 - k);
	rama_core_h5d_hyperslab(&a, 7, dims, ones, dims);
	for (int k = 0; k < 5; k++) {
		assert_int_equal(a.length[k], 8 - k);
		assert_int_equal(a.stride[k], 8 - k);
	}
}

/* The stock tools' logs have it so: a row of 32768 values of 8 bytes, in slot D5. */
static void a_regular_selection_has_its_lengths_from_D5_down(void **state)
{
	static const uint64_t stride[] = { 32768, 7 }, count_[] = { 1, 3 }, block[] = { 32768, 5 };
	struct rama_core_h5d_access a = { .select = RAMA_CORE_H5D_REGULAR };

	(void)state;
	rama_core_h5d_hyperslab(&a, 1, stride, count_, block);
	access_by(RAMA_TAB_OP_WRITE, 262144, a);
	assert_int_equal(count(RAMA_TAB_H5D_ACCESS1_ACCESS), 262144);
	ASSERT_WORDS(RAMA_TAB_H5D_ACCESS1_LENGTH_D1, 0, 0, 0, 0, 32768);
	ASSERT_WORDS(RAMA_TAB_H5D_ACCESS1_STRIDE_D1, 0, 0, 0, 0, 32768);
	assert_int_equal(count(RAMA_TAB_H5D_ACCESS1_COUNT), 1);
	rama_core_h5d_hyperslab(&a, 2, stride, count_, block);
	access_by(RAMA_TAB_OP_WRITE, 500000, a);
	ASSERT_WORDS(RAMA_TAB_H5D_ACCESS1_LENGTH_D1, 0, 0, 0, 15, 32768);
	ASSERT_WORDS(RAMA_TAB_H5D_ACCESS1_STRIDE_D1, 0, 0, 0, 7, 32768);
	assert_int_equal(count(RAMA_TAB_H5D_ACCESS2_ACCESS), 262144);
	assert_int_equal(count(RAMA_TAB_H5D_REGULAR_HYPERSLAB_SELECTS), 2);
}

static void other_selections_have_no_lengths(void **state)
{
	struct rama_core_h5d_access a = { .select = RAMA_CORE_H5D_IRREGULAR,
					  .length = { 9 },
					  .stride = { 9 } };

	(void)state;
	access_by(RAMA_TAB_OP_READ, 80, a);
	a.select = RAMA_CORE_H5D_POINTS;
	access_by(RAMA_TAB_OP_READ, 80, a);
	a.select = RAMA_CORE_H5D_ALL;
	access_by(RAMA_TAB_OP_READ, 80, a);
	apply(next(RAMA_TAB_OP_READ, 80)); /* as is one that nothing is said about */
	assert_int_equal(count(RAMA_TAB_H5D_ACCESS1_COUNT), 4);
	ASSERT_WORDS(RAMA_TAB_H5D_ACCESS1_LENGTH_D1, 0, 0, 0, 0, 0);
	ASSERT_WORDS(RAMA_TAB_H5D_ACCESS1_STRIDE_D1, 0, 0, 0, 0, 0);
	assert_int_equal(count(RAMA_TAB_H5D_IRREGULAR_HYPERSLAB_SELECTS), 1);
	assert_int_equal(count(RAMA_TAB_H5D_POINT_SELECTS), 1);
	assert_int_equal(count(RAMA_TAB_H5D_REGULAR_HYPERSLAB_SELECTS), 0);
}

static void one_collective_access_is_enough(void **state)
{
	(void)state;
	access_by(RAMA_TAB_OP_READ, 8, (struct rama_core_h5d_access){ .collective = false });
	assert_int_equal(count(RAMA_TAB_H5D_USE_MPIIO_COLLECTIVE), 0);
	access_by(RAMA_TAB_OP_READ, 8, (struct rama_core_h5d_access){ .collective = true });
	access_by(RAMA_TAB_OP_READ, 8, (struct rama_core_h5d_access){ .collective = false });
	assert_int_equal(count(RAMA_TAB_H5D_USE_MPIIO_COLLECTIVE), 1);
}

static void reads_and_writes_are_counted(void **state)
{
	(void)state;
	apply(next(RAMA_TAB_OP_READ, 2000));
	apply(next(RAMA_TAB_OP_WRITE, 100));
	apply(next(RAMA_TAB_OP_WRITE, 101));
	apply(next(RAMA_TAB_OP_READ, 0));
	assert_int_equal(count(RAMA_TAB_H5D_READS), 2);
	assert_int_equal(count(RAMA_TAB_H5D_WRITES), 2);
	assert_int_equal(count(RAMA_TAB_H5D_BYTES_READ), 2000);
	assert_int_equal(count(RAMA_TAB_H5D_BYTES_WRITTEN), 201);
	assert_int_equal(count(RAMA_TAB_H5D_RW_SWITCHES), 2);
	assert_int_equal(count(RAMA_TAB_H5D_SIZE_READ_AGG_0_100), 1);
	assert_int_equal(count(RAMA_TAB_H5D_SIZE_READ_AGG_1K_10K), 1);
	assert_int_equal(count(RAMA_TAB_H5D_SIZE_WRITE_AGG_0_100), 1);
	assert_int_equal(count(RAMA_TAB_H5D_SIZE_WRITE_AGG_100_1K), 1);
	assert_true(ticks(RAMA_TAB_H5D_F_READ_TIME) == 10);
	assert_true(ticks(RAMA_TAB_H5D_F_WRITE_TIME) == 10);
	assert_true(ticks(RAMA_TAB_H5D_F_META_TIME) == 0);
}

static void flushes_and_closes_are_metadata(void **state)
{
	(void)state;
	apply(call_at(RAMA_TAB_OP_FLUSH, 100, 103));
	apply(call_at(RAMA_TAB_OP_CLOSE, 200, 205));
	assert_int_equal(count(RAMA_TAB_H5D_FLUSHES), 1);
	assert_true(ticks(RAMA_TAB_H5D_F_META_TIME) == 8);
	assert_true(ticks(RAMA_TAB_H5D_F_WRITE_TIME) == 0);
	assert_true(ticks(RAMA_TAB_H5D_F_CLOSE_START_TIMESTAMP) == 200);
	assert_true(ticks(RAMA_TAB_H5D_F_CLOSE_END_TIMESTAMP) == 205);
}

/* attributes, groups, links: their time is metadata, and no counter tells of them */
static const unsigned more[] = { RAMA_TAB_OP_XATTR, RAMA_TAB_OP_ACCESS, RAMA_TAB_OP_LINK,
				 RAMA_TAB_OP_TRUNCATE, RAMA_TAB_OP_STATOTHER };

static bool is_more(unsigned kind)
{
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (more[i] == kind)
			return true;
	return false;
}

static void what_has_no_counter_has_its_time(void **state)
{
	struct rama_core_h5d_file before = f;

	(void)state;
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		apply(call(more[i], 5));
	assert_true(ticks(RAMA_TAB_H5D_F_META_TIME) ==
		    (int64_t)(5 * sizeof(more) / sizeof(more[0])));
	f.w[RAMA_TAB_H5D_F_META_TIME] = before.w[RAMA_TAB_H5D_F_META_TIME];
	assert_memory_equal(&f.w, &before.w, sizeof(f.w));
}

static void only_a_close_counts_if_it_fails(void **state)
{
	struct rama_core_h5d_file before = f;

	(void)state;
	for (unsigned kind = 0; kind < 256; kind++) {
		if (kind != RAMA_TAB_OP_CLOSE)
			apply(failing(kind));
		if (!is_more(kind) && kind != RAMA_TAB_OP_CLOSE && kind != RAMA_TAB_OP_FLUSH &&
		    kind != RAMA_TAB_OP_READ && kind != RAMA_TAB_OP_WRITE)
			apply(call(kind, 5)); /* no business of ours */
	}
	assert_memory_equal(&f, &before, sizeof(f));
	apply(failing(RAMA_TAB_OP_CLOSE));
	assert_true(ticks(RAMA_TAB_H5D_F_META_TIME) == 5);
}

static void any_content_can_be_finished(void **state)
{
	struct rng r = { 4 };

	(void)state;
	for (int round = 0; round < 100; round++) {
		for (size_t i = 0; i < sizeof(f); i++)
			((unsigned char *)&f)[i] = round ? (unsigned char)rng_u64(&r) : 0xff;
		assert_true(ticks(RAMA_TAB_H5D_F_OPEN_START_TIMESTAMP) >= 0);
		for (unsigned k = RAMA_TAB_H5D_F_FASTEST_RANK_TIME; k < RAMA_TAB_H5D__WORDS; k++)
			assert_true(w[k].f == 0);
	}
}

#define fresh_test(name) cmocka_unit_test_setup(name, fresh)
UNIT_GROUP(h5d, fresh_test(a_new_record_knows_its_file),
	   fresh_test(what_the_library_cannot_tell_is_minus_1),
	   fresh_test(an_open_tells_what_the_dataset_is_like),
	   fresh_test(of_many_dimensions_the_last_five_are_kept),
	   fresh_test(a_regular_selection_has_its_lengths_from_D5_down),
	   fresh_test(other_selections_have_no_lengths),
	   fresh_test(one_collective_access_is_enough), fresh_test(reads_and_writes_are_counted),
	   fresh_test(flushes_and_closes_are_metadata),
	   fresh_test(what_has_no_counter_has_its_time),
	   fresh_test(only_a_close_counts_if_it_fails), fresh_test(any_content_can_be_finished))
