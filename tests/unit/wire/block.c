/* SPDX-License-Identifier: BSD-3-Clause */
/* block.c: blocks of events come out as they went in; damaged ones do not come out at all. */
#include "unit.h"

#include <libdeflate.h>

#include "wire/block.h"
#include "wire/columns.h"

static struct rama_wire_block in, out;
static struct rama_wire_block_packer packer;
static unsigned char bytes[1 << 20];
static const char hex[] = "0123456789abcdef";

static void set_what(uint32_t i, const char *layer, const char *op, const char *fn)
{
	memset(&in.what[i], 0, sizeof(in.what[i]));
	snprintf(in.what[i].layer, sizeof(in.what[i].layer), "%s", layer);
	snprintf(in.what[i].op, sizeof(in.what[i].op), "%s", op);
	snprintf(in.what[i].fn, sizeof(in.what[i].fn), "%s", fn);
}

static void begin(uint32_t n, uint32_t calls)
{
	memset(&in, 0xee, sizeof(in));
	memset(in.job, 0, sizeof(in.job));
	memcpy(in.job, "1000/run-17", 12);
	for (unsigned i = 0; i < 16; i++)
		in.segment.b[i] = (uint8_t)(200 + i);
	in.rank = 3;
	in.lane = 5;
	in.tid = 4711;
	in.first = 123456789012345;
	in.lost = 99;
	in.n = n;
	in.n_whats = calls;
	for (uint32_t i = 0; i < calls; i++) {
		char fn[48];

		snprintf(fn, sizeof(fn), "function_%u", i);
		set_what(i, "POSIX", "read", fn);
	}
}

static bool same_event(const struct rama_wire_event *a, const struct rama_wire_event *b)
{
	return a->end == b->end && a->dur == b->dur && a->off == b->off && a->bytes == b->bytes &&
	       a->record == b->record && a->call == b->call && a->parent == b->parent &&
	       a->what == b->what && a->failed == b->failed;
}

static void assert_same_head(void)
{
	assert_string_equal(in.job, out.job);
	assert_memory_equal(in.segment.b, out.segment.b, 16);
	assert_int_equal(in.rank, out.rank);
	assert_int_equal(in.lane, out.lane);
	assert_int_equal(in.tid, out.tid);
	assert_true(in.first == out.first && in.lost == out.lost);
	assert_true(in.t0 == out.t0 && in.t1 == out.t1);
	assert_int_equal(in.n, out.n);
}

/* into bytes; returns how many */
static size_t pack(void)
{
	struct rama_err e = { 0 };
	int64_t n = rama_wire_block_pack(&packer, &in, bytes, rama_wire_block_room(&in), &e);

	assert_string_equal(e.text, "");
	assert_true(n > 0 && (size_t)n <= rama_wire_block_room(&in));
	return (size_t)n;
}

static size_t there_and_back(void)
{
	int64_t t0 = INT64_MAX, t1 = INT64_MIN;
	struct rama_err e = { 0 };
	size_t n = pack();

	for (uint32_t i = 0; i < in.n; i++) {
		t0 = in.event[i].end < t0 ? in.event[i].end : t0;
		t1 = in.event[i].end > t1 ? in.event[i].end : t1;
	}
	assert_true(in.t0 == t0 && in.t1 == t1);
	memset(&out, 0x55, sizeof(out));
	assert_int_equal(rama_wire_block_unpack(&packer, &out, bytes, n, &e), 0);
	assert_same_head();
	assert_int_equal(in.n_whats, out.n_whats);
	for (uint32_t i = 0; i < in.n_whats; i++) {
		assert_string_equal(in.what[i].layer, out.what[i].layer);
		assert_string_equal(in.what[i].op, out.what[i].op);
		assert_string_equal(in.what[i].fn, out.what[i].fn);
	}
	for (uint32_t i = 0; i < in.n; i++)
		if (!same_event(&in.event[i], &out.event[i]))
			fail_msg("event %u of %u differs", i, in.n);
	memset(&out, 0x55, sizeof(out));
	assert_int_equal(rama_wire_block_head(&out, bytes, n, &e), 0);
	assert_same_head();
	return n;
}

/* a run of small writes of one file: the common case, and small */
static void run_of_writes(uint32_t n, struct rng *r)
{
	int64_t now = 1700000000123456789;

	for (uint32_t i = 0; i < n; i++) {
		int64_t dur = 300 + (int64_t)rng_below(r, 512);

		now += dur + 50 + (int64_t)rng_below(r, 32);
		in.event[i] = (struct rama_wire_event){
			.end = now, .dur = dur, .off = i, .bytes = 1, .record = 77, .call = i + 1
		};
	}
}

static void small_writes_are_small(void **st)
{
	struct rng r = { 1 };
	size_t n;

	(void)st;
	begin(RAMA_WIRE_BLOCK_EVENTS, 3);
	run_of_writes(in.n, &r);
	n = there_and_back();
	/* 9 bits of a duration and 5 of a gap are noise that nothing makes smaller */
	assert_true(n * 8 > in.n * 13);
	assert_true(n < in.n * 3);
}

static void what_does_not_change_costs_nothing(void **st)
{
	(void)st;
	begin(RAMA_WIRE_BLOCK_EVENTS, 1);
	for (uint32_t i = 0; i < in.n; i++)
		in.event[i] = (struct rama_wire_event){ .end = 1000 + 7 * (int64_t)i,
							.dur = 5,
							.off = 4096 * (int64_t)i,
							.bytes = 4096,
							.record = 77,
							.call = i + 1,
							.parent = 4 };
	assert_true(there_and_back() < 300);
}

static void one_event(void **st)
{
	(void)st;
	begin(1, 1);
	in.event[0] = (struct rama_wire_event){ .end = 5, .dur = 7, .off = -1, .bytes = -1 };
	there_and_back();
	in.event[0] = (struct rama_wire_event){ .end = INT64_MAX,
						.dur = INT64_MIN,
						.off = INT64_MIN,
						.bytes = INT64_MIN,
						.record = UINT64_MAX,
						.call = UINT32_MAX,
						.parent = UINT32_MAX,
						.failed = true };
	there_and_back();
	in.rank = -1;
	in.lane = in.tid = UINT32_MAX;
	in.first = UINT64_MAX - 1;
	in.lost = UINT64_MAX;
	memset(in.job, 'x', sizeof(in.job) - 1);
	there_and_back();
}

static int64_t any_number(struct rng *r)
{
	static const int64_t edges[] = {
		INT64_MIN,  INT64_MIN + 1, -2,	     -1, 0, 1, 2, 255, 256, 65535, 65536, INT32_MAX,
		UINT32_MAX, INT64_MAX - 1, INT64_MAX
	};

	switch (rng_below(r, 4)) {
	case 0:
		return edges[rng_below(r, LENGTH(edges))];
	case 1:
		return (int64_t)rng_below(r, 4);
	case 2:
		return (int64_t)(rng_u64(r) >> rng_below(r, 64));
	default:
		return (int64_t)rng_u64(r);
	}
}

static void random_events(uint32_t n, uint32_t calls, struct rng *r)
{
	uint64_t records = 1 + rng_below(r, n), sparse = rng_below(r, 3);
	struct rama_wire_event *last = NULL;

	begin(n, calls);
	for (uint32_t i = 0; i < n; i++) {
		struct rama_wire_event *ev = &in.event[i];

		if (last != NULL && sparse != 0 && rng_below(r, 3) != 0) {
			*ev = *last; /* much as before */
			ev->off = rng_below(r, 2) != 0 ? ev->off : any_number(r);
			ev->call = last->call + 1;
			last = ev;
			continue;
		}
		*ev = (struct rama_wire_event){ .end = any_number(r),
						.dur = any_number(r),
						.off = any_number(r),
						.bytes = any_number(r),
						.record =
							rng_below(r, records) * 0x9e3779b97f4a7c15u,
						.call = (uint32_t)any_number(r),
						.parent = (uint32_t)any_number(r),
						.what = (uint16_t)rng_below(r, calls),
						.failed = rng_below(r, 2) != 0 };
		last = ev;
	}
}

static void random_blocks(void **st)
{
	struct rng r = { 7 };

	(void)st;
	for (unsigned k = 0; k < 400; k++) {
		uint32_t n =
			k % 50 == 0 ? RAMA_WIRE_BLOCK_EVENTS : 1 + (uint32_t)rng_below(&r, 300);

		random_events(n, 1 + (uint32_t)rng_below(&r, k % 2 == 0 ? 256 : 4), &r);
		there_and_back();
	}
}

/* every column as wide as it gets, every record another, every text as long as it may be: fits
 * the room */
static void the_worst_block_fits(void **st)
{
	struct rng r = { 9 };

	(void)st;
	begin(RAMA_WIRE_BLOCK_EVENTS, RAMA_WIRE_BLOCK_WHATS);
	memset(in.job, 'j', sizeof(in.job) - 1);
	for (uint32_t i = 0; i < in.n_whats; i++) {
		memset(in.what[i].layer, 'l', 15);
		memset(in.what[i].op, 'o', 15);
		memset(in.what[i].fn, '!' + (int)(i % 90), 47);
		in.what[i].layer[15] = in.what[i].op[15] = in.what[i].fn[47] = '\0';
	}
	for (uint32_t i = 0; i < in.n; i++)
		in.event[i] = (struct rama_wire_event){ .end = (int64_t)rng_u64(&r),
							.dur = (int64_t)rng_u64(&r),
							.off = (int64_t)rng_u64(&r),
							.bytes = (int64_t)rng_u64(&r),
							.record = rng_u64(&r),
							.call = (uint32_t)rng_u64(&r),
							.parent = (uint32_t)rng_u64(&r),
							.what = (uint16_t)rng_below(&r, 256),
							.failed = rng_below(&r, 2) };
	there_and_back();
}

/* ids that all fall on the same place of a hash table: slower, not wrong */
static void records_that_collide(void **st)
{
	(void)st;
	begin(RAMA_WIRE_BLOCK_EVENTS, 1);
	for (uint32_t i = 0; i < in.n; i++)
		in.event[i] = (struct rama_wire_event){
			.end = i, .record = (uint64_t)(i % 4096) << 52, .off = -1, .bytes = -1
		};
	there_and_back();
}

static void refuses_what_is_not_a_block(void **st)
{
	struct rama_err e = { 0 };

	(void)st;
#define REFUSED(change)                                                                        \
	do {                                                                                   \
		begin(2, 2);                                                                   \
		memset(in.event, 0, 2 * sizeof(in.event[0]));                                  \
		change;                                                                        \
		assert_int_equal(rama_wire_block_pack(&packer, &in, bytes, sizeof(bytes), &e), \
				 RAMA_EUSAGE);                                                 \
	} while (0)
	REFUSED(in.n = 0);
	REFUSED(in.n = RAMA_WIRE_BLOCK_EVENTS + 1);
	REFUSED(in.n_whats = 0);
	REFUSED(in.n_whats = RAMA_WIRE_BLOCK_WHATS + 1);
	REFUSED(in.event[1].what = 2);
	REFUSED(in.rank = -2);
	REFUSED(in.first = UINT64_MAX);
	REFUSED(in.job[0] = '\0');
	REFUSED(in.job[3] = ' ');
	REFUSED(memset(in.job, 'x', sizeof(in.job)));
	REFUSED(memset(in.what[0].fn, 'x', sizeof(in.what[0].fn)));
	REFUSED(in.what[1].op[0] = '\n');
#undef REFUSED
	begin(2, 2);
	memset(in.event, 0, 2 * sizeof(in.event[0]));
	assert_int_equal(rama_wire_block_pack(&packer, &in, bytes, 20, &e), RAMA_EUSAGE);
}

/* a copy of exactly n bytes, so that a reader beyond them is seen by sanitizers */
static int unpack_copy(const unsigned char *from, size_t n)
{
	unsigned char *copy = malloc(n + (n == 0));
	struct rama_err e = { 0 };
	int rc;

	assert_non_null(copy);
	if (n > 0)
		memcpy(copy, from, n);
	rc = rama_wire_block_unpack(&packer, &out, copy, n, &e);
	assert_true(rc == 0 || (e.text[0] != '\0' && e.code == rc));
	free(copy);
	return rc;
}

static void every_cut_is_seen(void **st)
{
	struct rng r = { 3 };
	struct rama_err e = { 0 };
	size_t n;

	(void)st;
	random_events(60, 5, &r);
	n = pack();
	for (size_t k = 0; k < n; k++) {
		assert_int_equal(unpack_copy(bytes, k), RAMA_ETRUNC);
		assert_true(rama_wire_block_head(&out, bytes, k, &e) < 0);
	}
	bytes[n] = 0;
	assert_int_equal(unpack_copy(bytes, n + 1), RAMA_ECORRUPT);
}

static void every_damaged_byte_is_seen(void **st)
{
	struct rng r = { 4 };
	size_t n;

	(void)st;
	for (unsigned way = 0; way < 2; way++) {
		begin(200, 2);
		if (way == 0)
			random_events(200, 2, &r); /* does not compress */
		else
			run_of_writes(200, &r);
		n = pack();
		for (size_t k = 0; k < n; k++)
			for (unsigned bit = 0; bit < 8; bit++) {
				bytes[k] ^= (unsigned char)(1 << bit);
				if (unpack_copy(bytes, n) == 0)
					fail_msg("bit %u of byte %zu does not matter", bit, k);
				bytes[k] ^= (unsigned char)(1 << bit);
			}
		assert_int_equal(unpack_copy(bytes, n), 0);
	}
}

/* Damage that somebody signed: the checksums are made to fit again. It must never be believed
 * half: what is accepted can be packed again and says the same. */
static void resign(size_t n)
{
	size_t head = RAMA_WIRE_BLOCK_FIXED + rama_wire_load_le(bytes + 10, 2);

	rama_wire_store_le(bytes + 12, libdeflate_crc32(0, bytes + head, n - head), 4);
	rama_wire_store_le(bytes + 4, libdeflate_crc32(0, bytes + 8, head - 8), 4);
}

static void signed_damage_is_harmless(void **st)
{
	static unsigned char good[1 << 16];
	struct rng r = { 5 };
	unsigned taken = 0;
	size_t n = 0;

	(void)st;
	for (unsigned k = 0; k < 20000; k++) {
		if (k % 500 == 0) {
			random_events(1 + (uint32_t)rng_below(&r, 100),
				      1 + (uint32_t)rng_below(&r, 3), &r);
			n = pack();
			assert_true(n < sizeof(good));
			memcpy(good, bytes, n);
		}
		memcpy(bytes, good, n);
		for (uint64_t m = 1 + rng_below(&r, 3); m > 0; m--)
			bytes[16 + rng_below(&r, n - 16)] = (unsigned char)rng_u64(&r);
		resign(n);
		if (unpack_copy(bytes, n) < 0)
			continue;
		in = out;
		there_and_back();
		taken++;
	}
	assert_true(taken > 100 && taken < 19000);
}

static void other_versions_are_told(void **st)
{
	struct rama_err e = { 0 };
	size_t n;

	(void)st;
	begin(1, 1);
	memset(in.event, 0, sizeof(in.event[0]));
	n = pack();
	bytes[8] = RAMA_WIRE_BLOCK_VERSION + 1;
	assert_int_equal(rama_wire_block_unpack(&packer, &out, bytes, n, &e), RAMA_EVERSION);
	assert_non_null(strstr(e.text, "version 2"));
}

/* made by fuzz/seeds_wire.py, which shares no code with us: three events that nothing in the
 * block expected */
static const char written_by_another[] = "49424c4b94343b2701000b003c2cef05be000000be000000030000000"
					 "20000006712000000000000e8030000000000000700"
					 "000000000000030000000000000003000000000000000900000000000"
					 "000000102030405060708090a0b0c0d0e0f31303030"
					 "2f72756e2d31370305504f53495805777269746508707772697465363"
					 "405535444494f047265616405667265616403483544"
					 "046f70656e084835446f70656e3203020101000000020000000000000"
					 "0000000000000000080010000010201000001000600"
					 "09030c000000000000000000000000000200060007000000000000000"
					 "0000000000000000100070001000200002000000000"
					 "00000000000000000008000800ff0100ff0010ff0000ff0000ff0000f"
					 "f0000ff0000ff000001000208050100020802";

static void the_format_is_the_documented_one(void **st)
{
	static const struct rama_wire_event want[] = {
		{ .end = 5,
		  .dur = 7,
		  .off = -1,
		  .bytes = -1,
		  .call = 1,
		  .what = 2,
		  .failed = true },
		{ .end = 3,
		  .dur = 1ll << 40,
		  .off = 1ll << 50,
		  .bytes = 1,
		  .record = 1ull << 63,
		  .call = 5,
		  .parent = 1,
		  .what = 1 },
		{ .end = 9, .off = 4096, .bytes = 4096, .call = 2, .parent = 1 },
	};
	struct rama_err e = { 0 };
	size_t n = strlen(written_by_another) / 2;

	(void)st;
	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)(strchr(hex, written_by_another[2 * i]) - hex) << 4 |
			   (unsigned char)(strchr(hex, written_by_another[2 * i + 1]) - hex);
	if (rama_wire_block_unpack(&packer, &out, bytes, n, &e) < 0)
		fail_msg("%s", e.text);
	assert_string_equal(out.job, "1000/run-17");
	assert_true(out.rank == 3 && out.lane == 2 && out.tid == 4711 && out.first == 1000 &&
		    out.lost == 7);
	assert_true(out.t0 == 3 && out.t1 == 9 && out.segment.b[15] == 15);
	assert_int_equal(out.n_whats, 3);
	assert_string_equal(out.what[2].fn, "H5Dopen2");
	assert_int_equal(out.n, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(same_event(&out.event[i], &want[i]));
}

static void looking_at_the_head_only(void **st)
{
	char job[RAMA_WIRE_JOB];
	uint32_t events = 0;
	size_t n;

	(void)st;
	begin(17, 1);
	memset(in.event, 0, 17 * sizeof(in.event[0]));
	n = pack();
	assert_int_equal(rama_wire_block_peek(bytes, n, job, &events, NULL, NULL), 0);
	assert_string_equal(job, "1000/run-17");
	assert_int_equal(events, 17);
	assert_int_equal(rama_wire_block_peek(bytes, n, NULL, NULL, NULL, NULL), 0);
	bytes[30] ^= 1;
	assert_int_equal(rama_wire_block_peek(bytes, n, job, &events, NULL, NULL), RAMA_ECORRUPT);
	rama_wire_block_packer_fini(&packer);
	assert_null(packer.buf);
}

/* By its beginning it is known which files a block has events of; a shorter one, or a damaged one,
 * may have any. */
static void files_are_known_by_the_beginning(void **state)
{
	static const uint32_t files[] = { 1, 2, 64, 700, 8192 };
	struct rama_err e = { 0 };

	(void)state;
	for (unsigned k = 0; k < 5; k++) {
		int64_t n;
		size_t begin_of;

		begin(RAMA_WIRE_BLOCK_EVENTS, 5);
		for (uint32_t i = 0; i < in.n; i++)
			in.event[i] = (struct rama_wire_event){ .end = 1000 + i * 7919 % 5000,
								.record = (i % files[k] + 1) *
									  0x9e3779b97f4a7c15u,
								.what = (uint16_t)(i % 5),
								.off = i,
								.bytes = i * 31 % 4096 };
		n = rama_wire_block_pack(&packer, &in, bytes, sizeof(bytes), &e);
		assert_true(n > 0);
		begin_of = (size_t)n < RAMA_WIRE_BLOCK_BEGIN ? (size_t)n : RAMA_WIRE_BLOCK_BEGIN;
		for (uint32_t i = 0; i < files[k]; i++)
			assert_true(rama_wire_block_has_file(bytes, begin_of, in.event[i].record) !=
				    0);
		assert_int_equal(rama_wire_block_has_file(bytes, begin_of, 4711),
				 files[k] > 700 ? -1 : 0);
		for (size_t cut = 0; cut < begin_of; cut += 97)
			assert_true(rama_wire_block_has_file(bytes, cut, in.event[0].record) != 0);
		for (unsigned i = 0; i < 2000; i++) { /* nonsense is read without harm */
			bytes[96 + rand() % 3000] = (unsigned char)rand();
			rama_wire_block_has_file(bytes, begin_of, 4711);
		}
	}
}

UNIT_GROUP(block, test(files_are_known_by_the_beginning), test(small_writes_are_small),
	   test(what_does_not_change_costs_nothing), test(one_event), test(random_blocks),
	   test(the_worst_block_fits), test(records_that_collide),
	   test(refuses_what_is_not_a_block), test(every_cut_is_seen),
	   test(every_damaged_byte_is_seen), test(signed_damage_is_harmless),
	   test(other_versions_are_told), test(the_format_is_the_documented_one),
	   test(looking_at_the_head_only))
