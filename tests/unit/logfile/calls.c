/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.c: packed calls come out as they went in, and what is wrong with them is seen. */
#include "logfile/calls.h"

#include "base/err.h"
#include "table/fn.h"
#include "table/table.h"
#include "unit.h"

static void draw_link(struct rng *r, struct rama_log_call *c)
{
	c->linked = true;
	c->tid = rng_below(r, 5000);
	c->unique = rng_u64(r) >> rng_below(r, 64);
	c->object = rng_below(r, 3) != 0 ? rng_below(r, 3) : rng_u64(r);
	c->mark = rng_u64(r) >> rng_below(r, 64);
	c->peer = rng_below(r, 3);
	c->user = rng_below(r, 3) != 0 ? rng_below(r, 2000) : rng_u64(r);
}

static struct rama_log_call draw(struct rng *r)
{
	static const char *const ops[] = { "pwrite", "MPI_File_write_at_all", "H5Dwrite", "" };
	const char *op = ops[rng_below(r, LENGTH(ops))];
	uint32_t id = (uint32_t)rng_u64(r) >> rng_below(r, 32);

	return (struct rama_log_call){ .id = id,
				       .parent = rng_below(r, 2) != 0 ? id / 2 : 0,
				       .layer = (uint8_t)rng_below(r, 9),
				       .kind = (uint8_t)rng_below(r, RAMA_TAB_OPS),
				       .file = rng_below(r, 3) != 0 ? 7 : rng_u64(r),
				       .off = (int64_t)(rng_u64(r) >> rng_below(r, 64)),
				       .bytes = (int64_t)(rng_u64(r) >> rng_below(r, 64)),
				       .start = rng_u64(r) >> (3 + rng_below(r, 60)),
				       .length = rng_u64(r) >> (3 + rng_below(r, 60)),
				       .op = op,
				       .op_len = strlen(op) };
}

static void calls_come_back(void **state)
{
	static struct rama_log_call in[RAMA_LOG_CALLS_MOST];
	static struct rama_log_calls_pen pen;
	union rama_core_word w[RAMA_TAB_CALLS__WORDS] = { { .u = 0 } };
	struct rama_core_record rec = { .w = w };
	struct rng r = { 5 };

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		struct rama_log_calls calls;
		struct rama_log_call c;
		size_t n = 0, most = 1 + (size_t)rng_below(&r, RAMA_LOG_CALLS_MOST);

		rama_log_calls_pen_clear(&pen);
		for (; n < most; n++) {
			in[n] = draw(&r);
			if (rng_below(&r, 2) != 0)
				draw_link(&r, &in[n]);
			if (!rama_log_calls_pen_add(&pen, &in[n]))
				break;
		}
		rama_log_calls_pen_give(&pen, &rec);
		assert_int_equal(w[RAMA_TAB_CALLS_COUNT].u, n);
		assert_int_equal(rama_log_calls_open(&calls, &rec), 0);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(rama_log_calls_next(&calls, &c), 1);
			assert_int_equal(c.op_len, in[i].op_len);
			assert_memory_equal(c.op, in[i].op, c.op_len);
			c.op = in[i].op;
			assert_true(c.id == in[i].id && c.file == in[i].file);
			assert_true(c.parent == in[i].parent || in[i].parent == in[i].id);
			assert_true(c.layer == in[i].layer && c.kind == in[i].kind);
			assert_true(c.write == (c.kind == RAMA_TAB_OP_WRITE));
			assert_true(c.linked == in[i].linked && c.tid == in[i].tid);
			assert_true(c.unique == in[i].unique && c.object == in[i].object);
			assert_true(c.mark == in[i].mark && c.peer == in[i].peer);
			assert_true(c.user == in[i].user);
			assert_true(c.off == in[i].off && c.bytes == in[i].bytes);
			assert_true(c.start == in[i].start && c.length == in[i].length);
		}
		assert_int_equal(rama_log_calls_next(&calls, &c), 0);
	}
}

/* what version 1 had instead of a kind; it had no links */
static void old_ones_are_read(void **state)
{
	static const unsigned char packed[16] = {
		2, 0, 1, 1, 'w', 2, 0, 1, 'r', 0, 0, 2, 0, 0, 6, 0
	};
	union rama_core_word w[RAMA_TAB_CALLS__WORDS] = { { .u = 0 } }, file = { .u = 5 }, calls[3];
	struct rama_core_record rec = { .w = w, .array = { &file, calls }, .count = { 1, 3 } };
	struct rama_log_calls k;
	struct rama_log_call c;

	(void)state;
	memset(calls, 0, sizeof(calls));
	memcpy(calls, packed, sizeof(packed));
	memcpy((char *)calls + sizeof(packed), (const char[]){ 8, 1, 0, 0, 0, 0, 4, 0 }, 8);
	w[RAMA_TAB_CALLS_COUNT].u = 1;
	w[RAMA_TAB_CALLS_ROLE].i = -1;
	assert_int_equal(rama_log_calls_open(&k, &rec), 0);
	assert_int_equal(rama_log_calls_next(&k, &c), 1);
	assert_true(c.write && c.kind == RAMA_TAB_OP_WRITE && !c.linked && c.peer == 0);
	assert_int_equal(c.bytes, 3);
	assert_int_equal(c.length, 8);
	((unsigned char *)calls)[2] = 2; /* neither reads nor writes */
	assert_int_equal(rama_log_calls_open(&k, &rec), RAMA_ECORRUPT);
}

/* a link to a file that is not there */
static void odd_links_are_seen(void **state)
{
	static struct rama_log_calls_pen pen;
	union rama_core_word w[RAMA_TAB_CALLS__WORDS] = { { .u = 0 } };
	struct rama_core_record rec = { .w = w };
	struct rama_log_call c = { .op = "fuse write", .op_len = 10, .linked = true, .peer = 9 };
	struct rama_log_calls calls;

	(void)state;
	rama_log_calls_pen_clear(&pen);
	assert_true(rama_log_calls_pen_add(&pen, &c));
	rama_log_calls_pen_give(&pen, &rec);
	assert_int_equal(rec.count[0], 2);
	rec.count[0] = 1;
	assert_int_equal(rama_log_calls_open(&calls, &rec), 0);
	assert_int_equal(rama_log_calls_next(&calls, &c), RAMA_ECORRUPT);
}

/* a full pen takes nothing, and what it has is whole */
static void pens_are_full_at_some_time(void **state)
{
	static struct rama_log_calls_pen pen;
	struct rama_log_call c = { .id = 1, .op = "read", .op_len = 4 };
	size_t n = 0;

	(void)state;
	rama_log_calls_pen_clear(&pen);
	for (; rama_log_calls_pen_add(&pen, &c); n++)
		c.file++;
	assert_int_equal(n, RAMA_LOG_CALLS_FILES);
	rama_log_calls_pen_clear(&pen);
	for (n = 0; rama_log_calls_pen_add(&pen, &c); n++)
		c.id++;
	assert_int_equal(n, RAMA_LOG_CALLS_MOST);
}

static void damage_is_seen(void **state)
{
	static struct rama_log_calls_pen pen;
	union rama_core_word w[RAMA_TAB_CALLS__WORDS] = { { .u = 0 } };
	struct rama_core_record rec = { .w = w };
	struct rama_log_call c = { .id = 9, .parent = 3, .op = "pwrite", .op_len = 6, .bytes = 5 };
	struct rama_log_calls calls;

	(void)state;
	rama_log_calls_pen_clear(&pen);
	for (unsigned i = 0; i < 100; i++)
		assert_true(rama_log_calls_pen_add(&pen, &c));
	rama_log_calls_pen_give(&pen, &rec);
	rec.count[1] /= 2; /* cut */
	assert_int_equal(rama_log_calls_open(&calls, &rec), 0);
	while (rama_log_calls_next(&calls, &c) > 0)
		;
	assert_true(calls.left > 0);
	assert_int_equal(rama_log_calls_next(&calls, &c), RAMA_ECORRUPT);
	rec.count[0] = 0; /* files that are not there */
	assert_int_equal(rama_log_calls_open(&calls, &rec), 0);
	assert_int_equal(rama_log_calls_next(&calls, &c), RAMA_ECORRUPT);
	w[RAMA_TAB_CALLS_COUNT].u = RAMA_LOG_CALLS_MOST + 1;
	assert_int_equal(rama_log_calls_open(&calls, &rec), RAMA_ECORRUPT);
	rec.count[1] = 0;
	assert_int_equal(rama_log_calls_open(&calls, &rec), RAMA_ECORRUPT);
}

UNIT_GROUP(calls, test(calls_come_back), test(old_ones_are_read), test(odd_links_are_seen),
	   test(pens_are_full_at_some_time), test(damage_is_seen))
