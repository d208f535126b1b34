/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.c: events become calls with their parents, thread by thread, of all layers. */
#include "check.h"
#include "logfile/calls.h"

static struct rama_seg_event event_of(uint32_t name, enum rama_seg_layer layer, uint32_t call,
				      uint32_t parent, uint64_t start, uint64_t length)
{
	return (struct rama_seg_event){ .name = name,
					.layer = (uint8_t)layer,
					.kind = RAMA_TAB_OP_WRITE,
					.fn = layer == RAMA_SEG_LAYER_H5D ? RAMA_TAB_FN_H5Dwrite
									  : RAMA_TAB_FN_pwrite,
					.call = call,
					.parent = parent,
					.start = start,
					.length = length,
					.off = 512 * call,
					.bytes = 100 + call };
}

static void check_call(struct rama_log_calls *k, struct check *c, const char *file, uint8_t layer,
		       uint32_t id, uint32_t parent, uint64_t start, uint64_t length)
{
	struct rama_log_call got;

	assert_int_equal(rama_log_calls_next(k, &got), 1);
	assert_string_equal(check_name(c, got.file), file);
	assert_int_equal(got.layer, layer);
	assert_int_equal(got.id, id);
	assert_int_equal(got.parent, parent);
	assert_int_equal(got.start, start);
	assert_int_equal(got.length, length);
	assert_int_equal(got.off, 512 * id);
	assert_int_equal(got.bytes, 100 + id);
	assert_true(got.write);
	assert_int_equal(got.op_len, layer == RAMA_SEG_LAYER_H5D ? 8 : 6);
	assert_memory_equal(got.op, layer == RAMA_SEG_LAYER_H5D ? "H5Dwrite" : "pwrite",
			    got.op_len);
}

static void calls_keep_their_parents(void **st)
{
	struct rama_seg_chunk *one, *two;
	struct rama_log_calls k;
	struct rama_log_call none;
	struct check_record *r;
	struct check *c;
	uint32_t a, b;
	struct seg s;

	(void)st;
	seg_make(&s, 4, 2, 3);
	a = seg_name(&s, "/a");
	b = seg_name(&s, "/a:/set");
	one = seg_chunk(&s, 111);
	two = seg_chunk(&s, 222);
	seg_event(one, event_of(a, RAMA_SEG_LAYER_POSIX, 2, 1, 2000, 30));
	seg_event(one, event_of(a, RAMA_SEG_LAYER_POSIX, 3, 1, 2040, 50));
	seg_event(one, event_of(b, RAMA_SEG_LAYER_H5D, 1, 0, 1900, 500));
	seg_event(two, event_of(a, RAMA_SEG_LAYER_POSIX, 1, 0, 1000, 1));
	c = check_one(&s, &check_alone);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_CALLS), 2);
	r = check_get(c, RAMA_TAB_MOD_CALLS, 0);
	assert_int_equal(r->w[RAMA_TAB_RANK].i, check_alone.rank);
	assert_int_equal(r->w[RAMA_TAB_CALLS_THREAD].u, 111);
	assert_int_equal(rama_log_calls_open(&k, &r->r), 0);
	check_call(&k, c, "/a", RAMA_SEG_LAYER_POSIX, 2, 1, 2000, 30);
	check_call(&k, c, "/a", RAMA_SEG_LAYER_POSIX, 3, 1, 2040, 50);
	check_call(&k, c, "/a:/set", RAMA_SEG_LAYER_H5D, 1, 0, 1900, 500);
	assert_int_equal(rama_log_calls_next(&k, &none), 0);
	r = check_get(c, RAMA_TAB_MOD_CALLS, 1);
	assert_int_equal(r->w[RAMA_TAB_CALLS_THREAD].u, 222);
	assert_int_equal(r->w[RAMA_TAB_CALLS_COUNT].u, 1);
	check_end(c);
	seg_free(&s);
}

/* the link of a request follows it */
static void add_link(struct rama_seg_chunk *chunk, const struct rama_seg_link *l)
{
	struct rama_seg_event e;

	memcpy(&e, l, sizeof(e));
	seg_event(chunk, e);
}

static void requests_keep_their_links(void **st)
{
	struct rama_seg_link l = { .tid = 4711,
				   .unique = 44,
				   .object = 0xabcdef,
				   .mark = 8,
				   .layer = RAMA_SEG_EVENT_LINK };
	struct rama_seg_event ev;
	struct rama_seg_chunk *one;
	struct rama_log_calls k;
	struct rama_log_call got;
	struct check_record *r;
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 4, 2, 3);
	s.id->flags |= RAMA_SEG_FUSE_DAEMON;
	one = seg_chunk(&s, 111);
	one->tid = 17;
	ev = event_of(seg_name(&s, "/dev/fuse"), RAMA_SEG_LAYER_FUSE, 7, 0, 100, 50);
	ev.fn = RAMA_TAB_FN_fuse_fsync;
	ev.kind = RAMA_TAB_OP_SYNC;
	seg_event(one, ev);
	l.call = 7;
	l.peer = seg_name(&s, "vol-client-0");
	add_link(one, &l);
	ev.call = 8; /* the one after it is not its own */
	seg_event(one, ev);
	add_link(one, &l);
	ev.call = 9; /* killed before it was written */
	seg_event(one, ev);
	c = check_one(&s, &check_alone);
	r = check_get(c, RAMA_TAB_MOD_CALLS, 0);
	assert_int_equal(r->w[RAMA_TAB_CALLS_COUNT].u, 3);
	assert_int_equal(r->w[RAMA_TAB_CALLS_TID].u, 17);
	assert_int_equal(r->w[RAMA_TAB_CALLS_ROLE].i, RAMA_LOG_ROLE_FUSE);
	assert_string_equal(check_name(c, r->w[RAMA_TAB_CALLS_HOST].u), s.id->host);
	assert_int_equal(rama_log_calls_open(&k, &r->r), 0);
	assert_int_equal(rama_log_calls_next(&k, &got), 1);
	assert_true(got.linked && got.tid == 4711 && got.unique == 44 && got.mark == 8);
	assert_true(got.object == 0xabcdef && got.kind == RAMA_TAB_OP_SYNC && !got.write);
	assert_string_equal(check_name(c, got.peer), "vol-client-0");
	assert_int_equal(got.op_len, 10);
	assert_memory_equal(got.op, "fuse fsync", 10);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(rama_log_calls_next(&k, &got), 1);
		assert_false(got.linked);
	}
	check_end(c);
	seg_free(&s);
}

UNIT_GROUP(calls, test(calls_keep_their_parents), test(requests_keep_their_links))
