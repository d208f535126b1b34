/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.c: names and slots in chunks that were handed out in any order; what a directory of
 * chunks claims is checked. */
#include <stdio.h>

#include "seg.h"
#include "segment/segment.h"
#include "unit.h"

enum { FILES = 60, CHUNK = RAMA_SEG_POOL_LEAST };

struct opened {
	struct seg seg;
	struct rama_source src;
	struct rama_seg s;
	struct rama_err err;
	struct rama_seg_name_get name;
	uint32_t number[FILES];
};

/* Chunks of all kinds by turns: each holds four slots of POSIX, or one of a dataset, or 80 short
 * names. */
static struct opened *begin(void)
{
	struct opened *o = calloc(1, sizeof(*o));
	char name[300];

	assert_non_null(o);
	seg_make_sized(&o->seg, &(struct seg_sizes){ FILES + 1, 0, 0, 0, CHUNK });
	for (unsigned i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "/%0*u", 1 + (int)(i * 7 % 250), i);
		o->number[i] = seg_name(&o->seg, name);
		seg_posix(&o->seg, o->number[i])->w[RAMA_TAB_POSIX_OPENS].u = i;
		if (i % 3 == 0)
			seg_stdio(&o->seg, o->number[i], false)->w[RAMA_TAB_STDIO_OPENS].u = i;
	}
	return o;
}

static int open_it(struct opened *o)
{
	rama_source_memory(&o->src, o->seg.bytes, o->seg.size);
	o->err = (struct rama_err){ 0 };
	return rama_seg_open(&o->s, &o->src, &o->err);
}

static void end(struct opened *o)
{
	seg_free(&o->seg);
	free(o);
}

/* POSIX slots that are what they were made as, from 1 on */
static unsigned good_slots(struct opened *o)
{
	struct rama_core_posix_file f;
	unsigned n = 0;

	for (uint32_t i = 1; i < rama_seg_slots(&o->s, RAMA_SEG_KIND_POSIX); i++) {
		int rc = rama_seg_slot(&o->s, RAMA_SEG_KIND_POSIX, i, &f, &o->err);

		assert_true(rc >= 0);
		n += rc == 1 && i <= FILES && f.w[RAMA_TAB_POSIX_OPENS].u == i - 1 &&
		     f.name == o->number[i - 1];
	}
	return n;
}

/* names that are what they were made as, in order; then the walk ends, however it ends */
static unsigned good_names(struct opened *o)
{
	uint64_t at = 0, before = 0;
	unsigned n = 0;

	while (rama_seg_name_next(&o->s, &at, &o->name, &o->err) == 1) {
		assert_true(at > before && at <= o->s.state.names_used);
		before = at;
		n += n < FILES && o->name.number == o->number[n] &&
		     o->name.id == seg_id(&o->seg, o->number[n]);
	}
	return n;
}

static void chunks_of_all_kinds(void **st)
{
	struct opened *o = begin();
	unsigned names = 0;

	(void)st;
	for (unsigned i = 0; i < o->seg.state->pool_used; i++)
		names += o->seg.head->pool[i] == RAMA_SEG_POOL_NAMES;
	assert_true(names > 1); /* so that one did not fit, and left a gap */
	assert_int_equal(open_it(o), 0);
	assert_int_equal(rama_seg_slots(&o->s, RAMA_SEG_KIND_POSIX), FILES + 1);
	assert_int_equal(rama_seg_slots(&o->s, RAMA_SEG_KIND_STDIO), FILES / 3 + 1);
	assert_int_equal(good_slots(o), FILES);
	assert_int_equal(good_names(o), FILES);
	for (unsigned i = 0; i < FILES; i++) {
		uint64_t at = rama_seg_name_place(&o->s, o->number[i]);

		assert_int_equal(rama_seg_name_next(&o->s, &at, &o->name, &o->err), 1);
		assert_int_equal(o->name.number, o->number[i]);
	}
	end(o);
}

static void numbers_that_are_no_names(void **st)
{
	struct opened *o = begin();
	uint64_t used = o->seg.state->names_used;

	(void)st;
	assert_int_equal(open_it(o), 0);
	assert_true(rama_seg_name_place(&o->s, 0) == UINT64_MAX);
	assert_true(rama_seg_name_place(&o->s, UINT32_MAX) == UINT64_MAX);
	assert_true(rama_seg_name_place(&o->s, (uint32_t)(used / 8 + 1)) == UINT64_MAX);
	assert_true(rama_seg_name_place(&o->s, CHUNK / 8 + 1) == UINT64_MAX); /* of slots */
	assert_true(rama_seg_name_place(&o->s, 1) == 0);
	end(o);
}

/* a process that goes on: chunks that come later are found, and what was there stays where it
 * was */
static void chunks_come_later(void **st)
{
	struct opened *o = begin();
	uint32_t slots = o->seg.state->slots_used[RAMA_SEG_KIND_POSIX],
		 pool = o->seg.state->pool_used;
	uint64_t names = o->seg.state->names_used;

	(void)st;
	o->seg.state->slots_used[RAMA_SEG_KIND_POSIX] = 4; /* of the first chunk */
	o->seg.state->pool_used = 1 + RAMA_SEG_KINDS;
	o->seg.state->names_used = 160;
	assert_int_equal(open_it(o), 0);
	assert_int_equal(rama_seg_slots(&o->s, RAMA_SEG_KIND_POSIX), 4);
	assert_int_equal(good_slots(o), 3);
	o->seg.state->slots_used[RAMA_SEG_KIND_POSIX] = slots;
	o->seg.state->pool_used = pool;
	o->seg.state->names_used = names;
	assert_int_equal(rama_seg_count(&o->s, &o->err), 0);
	assert_int_equal(good_slots(o), FILES);
	assert_int_equal(good_names(o), FILES);
	/* handed out, but not used yet: as a process that was killed in between leaves it */
	seg_take(&o->seg, RAMA_SEG_POOL_SLOTS + RAMA_SEG_KIND_POSIX);
	seg_take(&o->seg, RAMA_SEG_POOL_NAMES);
	assert_int_equal(rama_seg_count(&o->s, &o->err), 0);
	assert_int_equal(good_slots(o), FILES);
	assert_int_equal(good_names(o), FILES);
	end(o);
}

static void counts_beyond_the_chunks(void **st)
{
	struct opened *o = begin();
	uint32_t all = (uint32_t)(o->seg.head->area[RAMA_SEG_AREA_RECORDS].len / CHUNK);

	(void)st;
	memset(o->seg.state->slots_used, 0xff, sizeof(o->seg.state->slots_used));
	o->seg.state->pool_used = UINT32_MAX;
	o->seg.state->names_used = UINT64_MAX;
	assert_int_equal(open_it(o), 0);
	assert_int_equal(o->s.pool_known, all);
	assert_int_equal(o->s.state.names_used, all * CHUNK);
	assert_int_equal(rama_seg_slots(&o->s, RAMA_SEG_KIND_POSIX), (FILES + 1 + 3) / 4 * 4);
	assert_int_equal(good_slots(o), FILES);
	assert_int_equal(good_names(o), FILES);
	memset(o->seg.head->pool, RAMA_SEG_POOL_SLOTS, sizeof(o->seg.head->pool));
	assert_int_equal(open_it(o), 0);
	assert_int_equal(rama_seg_slots(&o->s, RAMA_SEG_KIND_POSIX), all * 4);
	assert_int_equal(rama_seg_slots(&o->s, RAMA_SEG_KIND_STDIO), 0);
	assert_int_equal(good_names(o), 0);
	end(o);
}

/* Every kind for every chunk: each gives slots and names that are inside, never a loop. */
static void wrong_kinds(void **st)
{
	struct opened *o = begin();

	(void)st;
	for (uint32_t c = 0; c < o->seg.state->pool_used; c++) {
		uint8_t was = o->seg.head->pool[c];

		for (unsigned what = 0; what < 256; what += what < 16 ? 1 : 37) {
			o->seg.head->pool[c] = (uint8_t)what;
			assert_int_equal(open_it(o), 0);
			good_slots(o);
			good_names(o);
		}
		o->seg.head->pool[c] = was;
	}
	end(o);
}

/* every length of the file: what is there of a chunk is read */
static void cut_chunks(void **st)
{
	struct opened *o = begin();
	unsigned most = 0;

	(void)st;
	for (size_t n = o->seg.head->area[RAMA_SEG_AREA_RECORDS].off; n < o->seg.size; n += 997) {
		unsigned char *copy = malloc(n);
		unsigned good;

		memcpy(copy, o->seg.bytes, n);
		rama_source_memory(&o->src, copy, n);
		assert_int_equal(rama_seg_open(&o->s, &o->src, &o->err), 0);
		good = good_slots(o);
		assert_true(good >= most && good + 1 >= rama_seg_slots(&o->s, RAMA_SEG_KIND_POSIX));
		most = good;
		good_names(o);
		free(copy);
	}
	assert_int_equal(most, FILES);
	end(o);
}

UNIT_GROUP(pool, test(chunks_of_all_kinds), test(numbers_that_are_no_names),
	   test(chunks_come_later), test(counts_beyond_the_chunks), test(wrong_kinds),
	   test(cut_chunks))
