/* SPDX-License-Identifier: BSD-3-Clause */
/* extra.c: calls that no other record counts. */
#include "ops.h"

#include "core/extra.h"

#define TICK 0.5 /* seconds */

static union rama_core_word w[RAMA_TAB_EXTRA__WORDS];

static void apply(struct rama_core_extra_file *f, struct rama_core_op op)
{
	rama_core_extra_apply(f, &op);
}

static void finish(const struct rama_core_extra_file *f)
{
	memset(w, 0xff, sizeof(w));
	rama_core_extra_finish(f, TICK, w);
}

static void each_kind_adds_to_its_counter_alone(void **state)
{
	static const struct {
		unsigned kind, word;
	} truth[] = {
		{ RAMA_TAB_OP_STATOTHER, RAMA_TAB_EXTRA_STATS },
		{ RAMA_TAB_OP_ACCESS, RAMA_TAB_EXTRA_ACCESSES },
		{ RAMA_TAB_OP_MSYNC, RAMA_TAB_EXTRA_MSYNCS },
		{ RAMA_TAB_OP_RANGESYNC, RAMA_TAB_EXTRA_RANGE_SYNCS },
		{ RAMA_TAB_OP_TRUNCATE, RAMA_TAB_EXTRA_TRUNCATES },
		{ RAMA_TAB_OP_ALLOCATE, RAMA_TAB_EXTRA_ALLOCATES },
		{ RAMA_TAB_OP_ADVISE, RAMA_TAB_EXTRA_ADVISES },
		{ RAMA_TAB_OP_LOCK, RAMA_TAB_EXTRA_LOCKS },
		{ RAMA_TAB_OP_MKDIR, RAMA_TAB_EXTRA_MKDIRS },
		{ RAMA_TAB_OP_UNLINK, RAMA_TAB_EXTRA_UNLINKS },
		{ RAMA_TAB_OP_LINK, RAMA_TAB_EXTRA_LINKS },
		{ RAMA_TAB_OP_RENAME, RAMA_TAB_EXTRA_RENAMES },
		{ RAMA_TAB_OP_CHMOD, RAMA_TAB_EXTRA_CHMODS },
		{ RAMA_TAB_OP_UTIME, RAMA_TAB_EXTRA_UTIMES },
		{ RAMA_TAB_OP_XATTR, RAMA_TAB_EXTRA_XATTRS },
		{ RAMA_TAB_OP_READDIR, RAMA_TAB_EXTRA_READDIRS },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(truth); i++) {
		struct rama_core_extra_file f;

		rama_core_extra_init(&f, 77);
		apply(&f, call(truth[i].kind, 4));
		apply(&f, call(truth[i].kind, 4));
		finish(&f);
		for (unsigned k = RAMA_TAB_EXTRA_SEQ_READS; k < RAMA_TAB_EXTRA_F_META_TIME; k++)
			assert_int_equal(w[k].i, k == truth[i].word ? 2 : 0);
		assert_true(w[RAMA_TAB_EXTRA_F_META_TIME].f == 8 * TICK);
	}
}

/* names that the file had are kept as they are */
static void origins_stay(void **state)
{
	struct rama_core_extra_file f;

	(void)state;
	rama_core_extra_init(&f, 77);
	f.w[RAMA_TAB_EXTRA_RENAMED_FROM].u = 5;
	f.w[RAMA_TAB_EXTRA_STREAM].u = 6;
	apply(&f, call(RAMA_TAB_OP_UNLINK, 4));
	finish(&f);
	assert_int_equal(w[RAMA_TAB_EXTRA_RENAMED_FROM].u, 5);
	assert_int_equal(w[RAMA_TAB_EXTRA_STREAM].u, 6);
}

static void what_other_records_count_is_left_to_them(void **state)
{
	static const uint8_t kinds[] = {
		RAMA_TAB_OP_NOTHING,  RAMA_TAB_OP_OPEN,	    RAMA_TAB_OP_CLOSE,
		RAMA_TAB_OP_READ,     RAMA_TAB_OP_WRITE,    RAMA_TAB_OP_SEEK,
		RAMA_TAB_OP_SYNC,     RAMA_TAB_OP_DATASYNC, RAMA_TAB_OP_DUP,
		RAMA_TAB_OP_STAT,     RAMA_TAB_OP_FILENO,   RAMA_TAB_OP_FDOPEN,
		RAMA_TAB_OP_FLUSH,    RAMA_TAB_OP_MMAP,	    RAMA_TAB_OP_RENAMEFROM,
		RAMA_TAB_OP_RENAMETO, RAMA_TAB_OPS,	    0xff,
	};
	struct rama_core_extra_file f, fresh;

	(void)state;
	rama_core_extra_init(&f, 77);
	fresh = f;
	for (size_t i = 0; i < LENGTH(kinds); i++)
		apply(&f, call(kinds[i], 4));
	assert_memory_equal(&f, &fresh, sizeof(f));
}

static void failures_are_counted_apart(void **state)
{
	struct rama_core_extra_file f;

	(void)state;
	rama_core_extra_init(&f, 77);
	apply(&f, failing(RAMA_TAB_OP_OPEN));
	apply(&f, failing(RAMA_TAB_OP_OPEN));
	apply(&f, failing(RAMA_TAB_OP_UNLINK));
	apply(&f, failing(RAMA_TAB_OP_STAT));
	apply(&f, failing(RAMA_TAB_OP_SEEK));
	finish(&f);
	assert_int_equal(w[RAMA_TAB_EXTRA_OPENS_FAILED].i, 2);
	assert_int_equal(w[RAMA_TAB_EXTRA_CALLS_FAILED].i, 3);
	assert_int_equal(w[RAMA_TAB_EXTRA_UNLINKS].i, 0);
	assert_true(w[RAMA_TAB_EXTRA_F_META_TIME].f == 25 * TICK);
}

static void overlapping_calls_count_their_time_once(void **state)
{
	struct rama_core_extra_file f;

	(void)state;
	rama_core_extra_init(&f, 77);
	apply(&f, call_at(RAMA_TAB_OP_LOCK, 100, 200));
	apply(&f, call_at(RAMA_TAB_OP_TRUNCATE, 150, 260));
	apply(&f, call_at(RAMA_TAB_OP_CHMOD, 300, 301));
	finish(&f);
	assert_true(w[RAMA_TAB_EXTRA_F_META_TIME].f == 161 * TICK);
	assert_true(w[RAMA_TAB_EXTRA_F_META_START_TIMESTAMP].f == 100 * TICK);
	assert_true(w[RAMA_TAB_EXTRA_F_META_END_TIMESTAMP].f == 301 * TICK);
}

static void words_kept_beside_posix_are_zero(void **state)
{
	struct rama_core_extra_file f;

	(void)state;
	memset(&f, 0x5a, sizeof(f));
	finish(&f);
	assert_true(w[RAMA_TAB_ID].u == 0x5a5a5a5a5a5a5a5au);
	assert_int_equal(w[RAMA_TAB_RANK].i, 0);
	for (unsigned k = RAMA_TAB_EXTRA_SEQ_READS; k <= RAMA_TAB_EXTRA_F_WRITE_SUM; k++)
		assert_int_equal(w[k].u, 0);
	assert_true(w[RAMA_TAB_EXTRA_OPENS_FAILED].u == 0x5a5a5a5a5a5a5a5au);
}

UNIT_GROUP(extra, test(each_kind_adds_to_its_counter_alone), test(origins_stay),
	   test(what_other_records_count_is_left_to_them), test(failures_are_counted_apart),
	   test(overlapping_calls_count_their_time_once), test(words_kept_beside_posix_are_zero))
