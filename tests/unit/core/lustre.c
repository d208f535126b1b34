/* SPDX-License-Identifier: BSD-3-Clause */
/* lustre.c: layouts built byte by byte, and what the record says of them. */
#include "unit.h"

#include "core/foreign/lustre.h"

#define MAX_WORDS 2000

static unsigned char raw[65536];
static size_t len;
static union rama_core_word w[MAX_WORDS];

static int fresh(void **state)
{
	(void)state;
	len = 0;
	memset(w, 0x55, sizeof(w));
	return 0;
}

static void put(uint64_t value, unsigned bytes)
{
	for (; bytes > 0; bytes--, value >>= 8)
		raw[len++] = (unsigned char)value;
}

static void put_at(size_t where, uint64_t value, unsigned bytes)
{
	size_t end = len;

	len = where;
	put(value, bytes);
	len = end;
}

/* OSTs first, first + 1, ... */
static void put_osts(unsigned first, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		put(0x1122334455667788 + i, 8); /* object */
		put(0, 8);
		put(7, 4); /* generation */
		put(first + i, 4);
	}
}

static void put_v1(uint32_t pattern, uint32_t size, unsigned stripes)
{
	put(0x0bd10bd0, 4);
	put(pattern, 4);
	put(0x1234, 8); /* file */
	put(0x200000401, 8);
	put(size, 4);
	put(stripes, 2);
	put(0, 2);
}

static void put_v3(uint32_t pattern, uint32_t size, unsigned stripes, const char pool[16])
{
	size_t start = len;

	put_v1(pattern, size, stripes);
	put_at(start, 0x0bd30bd0, 4);
	memcpy(raw + len, pool, 16);
	len += 16;
}

/* head of a composite layout, with room for the entries */
static void put_composite(unsigned entries)
{
	put(0x0bd60bd0, 4);
	put(0, 4); /* size: for the writer alone */
	put(3, 4);
	put(0, 2);
	put(entries, 2);
	put(0, 8);
	put(0, 8);
	memset(raw + len, 0, entries * 48);
	len += entries * 48;
}

/* entry i is about the layout between `from` and the end so far */
static void set_entry(unsigned i, uint32_t id, uint32_t flags, uint64_t start, uint64_t end,
		      size_t from)
{
	size_t entry = 32 + i * 48;

	put_at(entry, id, 4);
	put_at(entry + 4, flags, 4);
	put_at(entry + 8, start, 8);
	put_at(entry + 16, end, 8);
	put_at(entry + 24, from, 4);
	put_at(entry + 28, len - from, 4);
}

static size_t decode(void)
{
	return rama_core_lustre_decode(raw, len, 99, w, MAX_WORDS);
}

static int64_t comp(unsigned i, unsigned word)
{
	return w[RAMA_TAB_LUSTRE__WORDS + i * RAMA_TAB_LUSTRE_COMP__WORDS + word].i;
}

static const char *pool_of(unsigned i)
{
	return w[RAMA_TAB_LUSTRE__WORDS + i * RAMA_TAB_LUSTRE_COMP__WORDS +
		 RAMA_TAB_LUSTRE_COMP_POOL_NAME]
		.b;
}

static int64_t ost(unsigned k)
{
	return w[RAMA_TAB_LUSTRE__WORDS +
		 w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].u * RAMA_TAB_LUSTRE_COMP__WORDS + k]
		.i;
}

/* ---- plain layouts --------------------------------------------------------------------------- */

static void a_plain_layout_is_one_component_of_the_whole_file(void **state)
{
	(void)state;
	put_v1(1, 1048576, 4);
	put_osts(10, 4);
	assert_int_equal(decode(), 4 + 9 + 4);
	assert_int_equal(w[RAMA_TAB_ID].i, 99);
	assert_int_equal(w[RAMA_TAB_RANK].i, 0);
	assert_int_equal(w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].i, 1);
	assert_int_equal(w[RAMA_TAB_LUSTRE_NUM_STRIPES].i, 4);
	assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE), 1048576);
	assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT), 4);
	assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_STRIPE_PATTERN), 0);
	assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_FLAGS), 0);
	assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_EXT_START), 0);
	assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_EXT_END), -1);
	assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_MIRROR_ID), 0);
	assert_string_equal(pool_of(0), "");
	for (unsigned k = 0; k < 4; k++)
		assert_int_equal(ost(k), 10 + k);
	assert_true(w[4 + 9 + 4].u == 0x5555555555555555); /* and nothing else is touched */
}

static void version_3_names_a_pool(void **state)
{
	(void)state;
	put_v3(1, 65536, 2, "flash\0rubbish!!");
	put_osts(3, 2);
	assert_int_equal(decode(), 4 + 9 + 2);
	assert_string_equal(pool_of(0), "flash");
	assert_memory_equal(pool_of(0), "flash\0\0\0\0\0\0\0\0\0\0", 16);
	assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE), 65536);
	assert_int_equal(ost(0), 3);
	assert_int_equal(ost(1), 4);
}

static void a_pool_name_always_ends(void **state)
{
	(void)state;
	put_v3(1, 65536, 0, "0123456789abcdef");
	assert_int_equal(decode(), 4 + 9);
	assert_string_equal(pool_of(0), "0123456789abcde");
}

static void patterns_are_named_as_the_log_does(void **state)
{
	static const struct {
		uint32_t pattern;
		int64_t name, stripes;
	} truth[] = {
		{ 0x1, 0, 2 },	 { 0x201, 4, 2 },      { 0x100, 2, 0 },
		{ 0x801, 0, 2 }, { 0x40000001, 0, 2 }, { 0x80000001, 0, 0 },
		{ 0x2, -1, 2 },	 { 0x4, -1, 2 },       { 0, -1, 2 },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(truth); i++) {
		fresh(NULL);
		put_v1(truth[i].pattern, 65536, 2);
		if (truth[i].stripes) /* else the data is elsewhere and there are no objects */
			put_osts(0, 2);
		assert_int_equal(decode(), 4 + 9 + truth[i].stripes);
		assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_STRIPE_PATTERN), truth[i].name);
		assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT), truth[i].stripes);
	}
}

static void a_foreign_layout_is_a_component_without_stripes(void **state)
{
	(void)state;
	put(0x0bd70bd0, 4);
	put(8, 4);
	put(1, 4);
	put(0, 4);
	put(0x4141414141414141, 8);
	assert_int_equal(decode(), 4 + 9);
	assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_STRIPE_PATTERN), 8);
	assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT), 0);
}

static void no_stripe_size_looks_like_an_unused_slot(void **state)
{
	(void)state;
	put_v1(1, 0xffffffff, 1);
	put_osts(0xffffffff, 1);
	assert_int_equal(decode(), 4 + 9 + 1);
	assert_int_equal(comp(0, RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE), 4294967295);
	assert_int_equal(ost(0), 4294967295);
}

/* ---- composite layouts ----------------------------------------------------------------------- */

/* First MiB on the metadata server, then 2 stripes up to 1 GiB, a part that nobody wrote to yet,
 * and from there 3 stripes of a second mirror in a pool. */
static void put_progressive(void)
{
	size_t from;

	put_composite(4);
	from = len;
	put_v1(0x100, 1048576, 0);
	set_entry(0, 0x10001, 0x10, 0, 1048576, from);
	from = len;
	put_v1(1, 4194304, 2);
	put_osts(20, 2);
	set_entry(1, 0x10002, 0x12, 1048576, 1073741824, from);
	from = len;
	put_v1(1, 8388608, 0xffff); /* wants all OSTs, has none */
	set_entry(2, 0x10003, 0, 1073741824, UINT64_MAX, from);
	from = len;
	put_v3(0x201, 16777216, 3, "disk\0\0\0\0\0\0\0\0\0\0\0");
	put_osts(5, 3);
	set_entry(3, 0xffff0004, 0x31, 0, UINT64_MAX, from);
}

static void only_components_that_hold_data_are_kept(void **state)
{
	static const int64_t truth[3][RAMA_TAB_LUSTRE_COMP_POOL_NAME] = {
		{ 1048576, 0, 2, 0x10, 0, 1048576, 1 },
		{ 4194304, 2, 0, 0x12, 1048576, 1073741824, 1 },
		{ 16777216, 3, 4, 0x31, 0, -1, 0x7fff },
	};
	static const int64_t osts[] = { 20, 21, 5, 6, 7 };

	(void)state;
	put_progressive();
	assert_int_equal(decode(), 4 + 3 * 9 + 5);
	assert_int_equal(w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].i, 3);
	assert_int_equal(w[RAMA_TAB_LUSTRE_NUM_STRIPES].i, 5);
	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < RAMA_TAB_LUSTRE_COMP_POOL_NAME; k++)
			assert_int_equal(comp(i, k), truth[i][k]);
	assert_string_equal(pool_of(1), "");
	assert_string_equal(pool_of(2), "disk");
	for (unsigned k = 0; k < LENGTH(osts); k++)
		assert_int_equal(ost(k), osts[k]);
}

static void a_layout_without_data_has_no_components(void **state)
{
	size_t from;

	(void)state;
	put_composite(1);
	from = len;
	put_v1(1, 4194304, 1);
	set_entry(0, 1, 0, 0, UINT64_MAX, from);
	assert_int_equal(decode(), 4);
	assert_int_equal(w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].i, 0);
	assert_int_equal(w[RAMA_TAB_LUSTRE_NUM_STRIPES].i, 0);
}

static void nothing_is_written_beyond_the_room_there_is(void **state)
{
	(void)state;
	put_progressive();
	assert_int_equal(rama_core_lustre_decode(raw, len, 99, w, 35), 36);
	assert_true(w[0].u == 0x5555555555555555);
	assert_int_equal(rama_core_lustre_decode(raw, len, 99, w, 36), 36);
	assert_true(w[36].u == 0x5555555555555555);
	assert_int_equal(rama_core_lustre_decode(raw, len, 99, NULL, 0), 36);
}

/* ---- bad bytes ------------------------------------------------------------------------------- */

/* in memory of exactly that size, so that a sanitizer sees every byte too many */
static size_t decode_exactly(const unsigned char *bytes, size_t n)
{
	unsigned char *copy = malloc(n ? n : 1);
	size_t words;

	assert_non_null(copy);
	memcpy(copy, bytes, n);
	words = rama_core_lustre_decode(copy, n, 99, w, MAX_WORDS);
	free(copy);
	return words;
}

static void what_is_cut_short_is_no_layout(void **state)
{
	(void)state;
	put_v3(1, 65536, 5, "pool\0\0\0\0\0\0\0\0\0\0\0");
	put_osts(0, 5);
	for (size_t n = 0; n < len; n++)
		assert_int_equal(decode_exactly(raw, n), 0);
	assert_int_equal(decode_exactly(raw, len), 4 + 9 + 5);
	fresh(NULL);
	put_progressive();
	for (size_t n = 0; n < len; n++)
		assert_int_equal(decode_exactly(raw, n), 0);
	assert_int_equal(decode_exactly(raw, len), 36);
	assert_int_equal(rama_core_lustre_decode(NULL, 0, 99, w, MAX_WORDS), 0);
}

static void places_outside_are_no_layout(void **state)
{
	static const uint32_t bad[][2] = {
		{ UINT32_MAX, 32 },
		{ 0, UINT32_MAX },
		{ UINT32_MAX, UINT32_MAX },
		{ 1u << 31, 1u << 31 },
	};

	(void)state;
	put_progressive();
	for (size_t i = 0; i < LENGTH(bad); i++) {
		put_at(32 + 24, bad[i][0], 4);
		put_at(32 + 28, bad[i][1], 4);
		assert_int_equal(decode_exactly(raw, len), 0);
	}
	put_at(32 + 24, 32 + 4 * 48, 4); /* a good place, and a size that wraps around */
	put_at(32 + 28, UINT32_MAX - 100, 4);
	assert_int_equal(decode_exactly(raw, len), 0);
	put_at(32 + 24, 0, 4); /* the layout as a part of itself */
	put_at(32 + 28, len, 4);
	assert_int_equal(decode_exactly(raw, len), 0);
	put_at(14, 0xffff, 2); /* more entries than bytes */
	assert_int_equal(decode_exactly(raw, len), 0);
	put_at(14, 0, 2);
	assert_int_equal(decode_exactly(raw, len), 0);
	put_at(0, 0x0bd50bd0, 4); /* of no kind that files have */
	assert_int_equal(decode_exactly(raw, len), 0);
}

/* whatever comes out fits together */
static void assert_whole(size_t words)
{
	uint64_t comps = w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].u, stripes = 0;

	if (words == 0 || words > MAX_WORDS)
		return;
	assert_true(comps <= words / RAMA_TAB_LUSTRE_COMP__WORDS);
	for (unsigned i = 0; i < comps; i++)
		stripes += (uint64_t)comp(i, RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT);
	assert_int_equal(stripes, w[RAMA_TAB_LUSTRE_NUM_STRIPES].u);
	assert_int_equal(words, 4 + 9 * comps + stripes);
}

static void damaged_layouts_do_no_harm(void **state)
{
	struct rng r = { 21 };
	unsigned good = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t words;

		if (round % 100 == 0) {
			fresh(NULL);
			put_progressive();
		}
		raw[rng_below(&r, len)] = (unsigned char)rng_u64(&r);
		words = decode_exactly(raw, rng_below(&r, 4) ? len : rng_below(&r, len));
		assert_whole(words);
		good += words > 0;
	}
	assert_true(good > 100); /* not all were refused at the door */
}

/* ---- in the segment -------------------------------------------------------------------------- */

static void every_close_refreshes_the_record(void **state)
{
	struct rama_core_lustre_file f;
	union rama_core_word out[RAMA_CORE_LUSTRE_ROOM];

	(void)state;
	rama_core_lustre_init(&f, 99);
	assert_int_equal(rama_core_lustre_finish(&f, out), 4);
	put_progressive();
	assert_true(rama_core_lustre_apply(&f, raw, len));
	assert_int_equal(rama_core_lustre_finish(&f, out), 36);
	decode();
	assert_memory_equal(out, w, 36 * sizeof(out[0]));
	fresh(NULL);
	put_v1(1, 65536, 1);
	put_osts(8, 1);
	assert_true(rama_core_lustre_apply(&f, raw, len));
	assert_int_equal(rama_core_lustre_finish(&f, out), 14);
	assert_int_equal(out[13].i, 8);
	assert_int_equal(f.w[14].i, 0);
	assert_false(rama_core_lustre_apply(&f, raw, len - 1)); /* bad news changes nothing */
	assert_int_equal(rama_core_lustre_finish(&f, out), 14);
	assert_int_equal(out[RAMA_TAB_ID].i, 99);
}

static void layouts_that_are_too_long_are_left_out(void **state)
{
	struct rama_core_lustre_file f;
	union rama_core_word out[RAMA_CORE_LUSTRE_ROOM];

	(void)state;
	rama_core_lustre_init(&f, 99);
	put_v1(1, 65536, RAMA_CORE_LUSTRE_ROOM - 13);
	put_osts(0, RAMA_CORE_LUSTRE_ROOM - 13);
	assert_true(rama_core_lustre_apply(&f, raw, len));
	assert_int_equal(rama_core_lustre_finish(&f, out), RAMA_CORE_LUSTRE_ROOM);
	fresh(NULL);
	put_v1(1, 65536, RAMA_CORE_LUSTRE_ROOM - 12);
	put_osts(0, RAMA_CORE_LUSTRE_ROOM - 12);
	assert_false(rama_core_lustre_apply(&f, raw, len));
}

static void any_content_can_be_finished(void **state)
{
	struct rng r = { 31 };
	struct rama_core_lustre_file f;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		size_t words;

		memset(&f, round % 2 ? 0 : 0xff, sizeof(f));
		f.w[RAMA_TAB_LUSTRE_NUM_COMPONENTS].u = rng_below(&r, 60);
		f.w[RAMA_TAB_LUSTRE_NUM_STRIPES].u = rng_below(&r, round % 3 ? 4 : 600);
		for (unsigned i = 0; i < 50; i++) {
			f.w[4 + 9 * i].i = (int64_t)rng_below(&r, 100) - (round % 5 == 0);
			f.w[4 + 9 * i + 1].u =
				rng_below(&r, 4) ? 0 : rng_u64(&r) >> rng_below(&r, 64);
		}
		words = rama_core_lustre_finish(&f, w);
		assert_true(words >= 4 && words <= RAMA_CORE_LUSTRE_ROOM);
		assert_whole(words);
	}
}

#define fresh_test(name) cmocka_unit_test_setup(name, fresh)
UNIT_GROUP(lustre, fresh_test(a_plain_layout_is_one_component_of_the_whole_file),
	   fresh_test(version_3_names_a_pool), fresh_test(a_pool_name_always_ends),
	   fresh_test(patterns_are_named_as_the_log_does),
	   fresh_test(a_foreign_layout_is_a_component_without_stripes),
	   fresh_test(no_stripe_size_looks_like_an_unused_slot),
	   fresh_test(only_components_that_hold_data_are_kept),
	   fresh_test(a_layout_without_data_has_no_components),
	   fresh_test(nothing_is_written_beyond_the_room_there_is),
	   fresh_test(what_is_cut_short_is_no_layout), fresh_test(places_outside_are_no_layout),
	   fresh_test(damaged_layouts_do_no_harm), fresh_test(every_close_refreshes_the_record),
	   fresh_test(layouts_that_are_too_long_are_left_out),
	   fresh_test(any_content_can_be_finished))
