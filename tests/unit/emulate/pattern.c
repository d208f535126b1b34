/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "emulate/pattern.h"

#define SIZE 4096

static const struct rama_emu_pattern mine = { .seed = 7, .unit = 11, .version = 3 };

static struct rama_emu_check_result check(const struct rama_emu_pattern *p, const char *b, size_t n,
					  int64_t offset)
{
	struct rama_emu_check_result r = { .first = -1 };
	int bad = rama_emu_pattern_check(p, b, n, offset, &r);

	assert_int_equal(bad, r.first >= 0);
	return r;
}

/* Whatever the pieces are that it is written in, the file is the same. */
static void pieces_make_the_same_file(void **state)
{
	char whole[SIZE], pieces[SIZE];
	struct rng rng = { 1 };

	(void)state;
	rama_emu_pattern_fill(&mine, whole, SIZE, 0);
	for (int round = 0; round < 200; round++) {
		memset(pieces, 0, SIZE);
		for (size_t at = 0; at < SIZE;) {
			size_t n = 1 + rng_below(&rng, 100);

			n = n < SIZE - at ? n : SIZE - at;
			rama_emu_pattern_fill(&mine, pieces + at, n, (int64_t)at);
			at += n;
		}
		assert_memory_equal(whole, pieces, SIZE);
	}
	assert_int_equal(check(&mine, whole + 5, 1000, 5).first, -1);
}

static void each_flaw_has_its_name(void **state)
{
	struct rama_emu_pattern older = mine, other = mine;
	struct rama_emu_check_result r;
	char b[SIZE];

	(void)state;
	older.version = 2;
	rama_emu_pattern_fill(&older, b, SIZE, 0);
	r = check(&mine, b, SIZE, 0);
	assert_int_equal(r.bad[RAMA_EMU_FLAW_STALE], SIZE);
	assert_int_equal(r.found_version, 2);

	rama_emu_pattern_fill(&mine, b, SIZE, 1 << 20);
	r = check(&mine, b, SIZE, 0);
	assert_int_equal(r.bad[RAMA_EMU_FLAW_MISPLACED], SIZE);
	assert_int_equal(r.found_offset, 1 << 20);

	other.unit = 12;
	rama_emu_pattern_fill(&other, b, SIZE, 0);
	assert_int_equal(check(&mine, b, SIZE, 0).bad[RAMA_EMU_FLAW_FOREIGN], SIZE);

	rama_emu_pattern_fill(&mine, b, SIZE, 0);
	memset(b + 1024, 0, 512);
	r = check(&mine, b, SIZE, 0);
	assert_int_equal(r.bad[RAMA_EMU_FLAW_LOST], 512);
	assert_int_equal(r.first, 1024);
	assert_int_equal(r.first_kind, RAMA_EMU_FLAW_LOST);

	rama_emu_pattern_fill(&mine, b, SIZE, 0);
	rama_emu_pattern_fill(&older, b, 1024 + 16, 0); /* ends in the middle of a cell */
	r = check(&mine, b, SIZE, 0);
	assert_int_equal(r.bad[RAMA_EMU_FLAW_STALE], 1024);
	assert_int_equal(r.bad[RAMA_EMU_FLAW_TORN], RAMA_EMU_CELL);

	memset(b, 0x5a, SIZE);
	assert_int_equal(check(&mine, b, SIZE, 0).bad[RAMA_EMU_FLAW_GARBAGE], SIZE);
}

static void large_offsets_differ(void **state)
{
	char a[64], b[64];

	(void)state;
	rama_emu_pattern_fill(&mine, a, 64, 0);
	rama_emu_pattern_fill(&mine, b, 64, INT64_C(1) << 37); /* 128 GiB */
	assert_memory_not_equal(a, b, 64);
	assert_int_equal(check(&mine, b, 64, INT64_C(1) << 37).first, -1);
}

UNIT_GROUP(pattern, test(pieces_make_the_same_file), test(each_flaw_has_its_name),
	   test(large_offsets_differ))
