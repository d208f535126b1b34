/* SPDX-License-Identifier: BSD-3-Clause */
/* reader.c: what a segment holds is read back; what is wrong in it is refused or cut. */
#include <math.h>

#include "seg.h"
#include "segment/segment.h"
#include "unit.h"

struct opened {
	struct seg seg;
	struct rama_source src;
	struct rama_seg s;
	struct rama_err err;
};

static struct opened *begin(void)
{
	struct opened *o = calloc(1, sizeof(*o));

	assert_non_null(o);
	seg_make(&o->seg, 4, 2, 2);
	return o;
}

static int open_cut(struct opened *o, size_t size)
{
	rama_source_memory(&o->src, o->seg.bytes, size);
	o->err = (struct rama_err){ 0 };
	return rama_seg_open(&o->s, &o->src, &o->err);
}

static int open_it(struct opened *o)
{
	return open_cut(o, o->seg.size);
}

static void end(struct opened *o)
{
	seg_free(&o->seg);
	free(o);
}

static void plain_is_read(void **st)
{
	struct opened *o = begin();

	(void)st;
	assert_int_equal(open_it(o), 0);
	assert_int_equal(o->s.id.pid, 100);
	assert_string_equal(o->s.id.host, "node1");
	assert_string_equal(o->s.id.command, "work --hard");
	assert_int_equal(o->s.state.phase, RAMA_SEG_DONE);
	assert_true(o->s.tick == 1e-9);
	assert_int_equal(o->s.end_tick, SEG_END);
	assert_false(o->s.cut);
	end(o);
}

/* ---- headers that are refused ---------------------------------------------------------------- */

static void refuse(struct opened *o, int code, const char *word)
{
	assert_int_equal(open_it(o), code);
	assert_int_equal(o->err.code, code);
	if (strstr(o->err.text, word) == NULL)
		fail_msg("'%s' lacks '%s'", o->err.text, word);
	end(o);
}

static void strangers_are_refused(void **st)
{
	struct opened *o = begin();

	(void)st;
	o->seg.head->magic ^= 1;
	refuse(o, RAMA_EFORMAT, "not a segment");
	o = begin();
	o->seg.head->version = RAMA_SEG_VERSION + 1;
	refuse(o, RAMA_EVERSION, "version 8");
	o = begin();
	o->seg.head->areas = RAMA_SEG_AREAS - 1;
	refuse(o, RAMA_ECORRUPT, "areas");
	o = begin();
	o->seg.head->areas = 33;
	refuse(o, RAMA_ECORRUPT, "areas");
}

static void areas_must_lie_inside(void **st)
{
	static const struct {
		uint64_t off, len;
	} wrong[] = {
		{ 0, 8 },    /* over the header */
		{ 4095, 8 }, /* not at a page */
		{ 4097, 8 },
		{ 1ull << 40, 8 }, /* beyond the end */
		{ 4096, 1ull << 40 },
		{ 4096, UINT64_MAX }, /* wraps around */
		{ UINT64_MAX - 4095, 8192 },
	};

	(void)st;
	for (int a = 0; a < RAMA_SEG_AREAS; a++) {
		for (size_t i = 0; i < LENGTH(wrong); i++) {
			struct opened *o = begin();

			o->seg.head->area[a].off = wrong[i].off;
			o->seg.head->area[a].len = wrong[i].len;
			refuse(o, RAMA_ECORRUPT, "area");
		}
	}
}

static void items_must_have_their_size(void **st)
{
	(void)st;
	for (int a = RAMA_SEG_AREA_LANES; a <= RAMA_SEG_AREA_EVENTS; a++) {
		struct opened *o = begin();

		o->seg.head->area[a].item -= 8;
		refuse(o, RAMA_ECORRUPT, "items");
		o = begin();
		o->seg.head->area[a].item = 0;
		refuse(o, RAMA_ECORRUPT, "items");
	}
	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++) {
		struct opened *o = begin();

		o->seg.head->slot[k] -= 8;
		refuse(o, RAMA_ECORRUPT, "slots of");
	}
	static const uint32_t wrong[] = { 0, 8, 4096, 16384 - 8, 16384 + 4096, UINT32_MAX };
	for (size_t i = 0; i < LENGTH(wrong); i++) {
		struct opened *o = begin();

		o->seg.head->area[RAMA_SEG_AREA_RECORDS].item = wrong[i];
		refuse(o, RAMA_ECORRUPT, "chunks of");
	}
}

static void small_areas_are_refused(void **st)
{
	(void)st;
	for (int a = RAMA_SEG_AREA_IDENTITY; a <= RAMA_SEG_AREA_CONTROL; a++) {
		struct opened *o = begin();

		o->seg.head->area[a].len = 8;
		refuse(o, RAMA_ECORRUPT, "ends before");
	}
}

/* ---- numbers that are cut -------------------------------------------------------------------- */

static void counts_are_cut(void **st)
{
	struct opened *o = begin();
	struct rama_seg_chunk *chunk = malloc(sizeof(*chunk));
	struct rama_seg_lane lane;
	struct rama_core_posix_file slot;

	(void)st;
	memset(o->seg.state->slots_used, 0xff, sizeof(o->seg.state->slots_used));
	o->seg.state->lanes_used = UINT32_MAX;
	o->seg.state->chunks_used = UINT64_MAX;
	o->seg.state->names_used = UINT64_MAX;
	((struct rama_seg_chunk *)seg_area(&o->seg, RAMA_SEG_AREA_EVENTS))->used = UINT32_MAX;
	assert_int_equal(open_it(o), 0);
	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++) /* what one chunk holds */
		assert_int_equal(rama_seg_slots(&o->s, (enum rama_seg_kind)k),
				 o->seg.head->area[RAMA_SEG_AREA_RECORDS].item /
					 rama_core_kinds[k]->size);
	assert_int_equal(rama_seg_lanes(&o->s), 2);
	assert_int_equal(rama_seg_chunks(&o->s), 2);
	assert_int_equal(o->s.state.names_used, o->seg.head->area[RAMA_SEG_AREA_RECORDS].len);
	assert_int_equal(rama_seg_chunk_get(&o->s, 0, chunk, &o->err), 0);
	assert_int_equal(chunk->used, RAMA_SEG_CHUNK_EVENTS);
	assert_true(rama_seg_chunk_get(&o->s, 2, chunk, &o->err) < 0);
	assert_true(rama_seg_lane_get(&o->s, 2, &lane, &o->err) < 0);
	assert_true(rama_seg_slot(&o->s, RAMA_SEG_KIND_POSIX, 1u << 20, &slot, &o->err) < 0);
	free(chunk);
	end(o);
}

static void texts_end(void **st)
{
	struct opened *o = begin();
	struct rama_seg_identity *id = o->seg.id;

	(void)st;
	memset(id->boot, 'x', sizeof(id->boot));
	memset(id->host, 'x', sizeof(id->host));
	memset(id->job, 'x', sizeof(id->job));
	memset(id->tag, 'x', sizeof(id->tag));
	memset(id->exe, 'x', sizeof(id->exe));
	memset(id->command, 'x', sizeof(id->command));
	memset(id->mounts, 'x', sizeof(id->mounts));
	memset(id->batch, 'x', sizeof(id->batch));
	memset(o->seg.state->why, 'x', sizeof(o->seg.state->why));
	assert_int_equal(open_it(o), 0);
	assert_int_equal(strlen(o->s.id.boot), sizeof(id->boot) - 1);
	assert_int_equal(strlen(o->s.id.host), sizeof(id->host) - 1);
	assert_int_equal(strlen(o->s.id.job), sizeof(id->job) - 1);
	assert_int_equal(strlen(o->s.id.tag), sizeof(id->tag) - 1);
	assert_int_equal(strlen(o->s.id.exe), sizeof(id->exe) - 1);
	assert_int_equal(strlen(o->s.id.command), sizeof(id->command) - 1);
	assert_int_equal(strlen(o->s.id.mounts), sizeof(id->mounts) - 1);
	assert_int_equal(strlen(o->s.id.batch), sizeof(id->batch) - 1);
	assert_int_equal(strlen(o->s.state.why), sizeof(o->seg.state->why) - 1);
	end(o);
}

/* every length a file can be cut to: what is not there is not read (the memory behind is not
 * ours) */
static void cut_files(void **st)
{
	struct opened *o = begin();
	unsigned good = 0;

	(void)st;
	seg_posix(&o->seg, seg_name(&o->seg, "/a"));
	for (size_t n = 0; n < o->seg.size; n += n < 8192 ? 7 : 509) {
		unsigned char *copy = malloc(n > 0 ? n : 1), *whole = o->seg.bytes;
		struct rama_core_posix_file slot;
		int rc;

		memcpy(copy, whole, n);
		o->seg.bytes = copy;
		rc = open_cut(o, n);
		o->seg.bytes = whole;
		if (rc == 0) {
			good++;
			assert_true(o->s.cut);
			for (uint32_t i = 0; i < rama_seg_slots(&o->s, RAMA_SEG_KIND_POSIX); i++)
				assert_int_equal(rama_seg_slot(&o->s, RAMA_SEG_KIND_POSIX, i, &slot,
							       &o->err),
						 1);
		} else {
			assert_int_equal(rc, RAMA_ETRUNC);
		}
		free(copy);
	}
	assert_true(good > 10);
	end(o);
}

/* ---- names --------------------------------------------------------------------------------- */

static void names_are_walked(void **st)
{
	struct opened *o = begin();
	struct rama_seg_name_get *n = malloc(sizeof(*n));
	char text[5001];
	uint32_t number[3];
	uint64_t at = 0;

	(void)st;
	memset(text, 'n', sizeof(text));
	text[300] = '\0';
	number[0] = seg_name(&o->seg, "/short");
	number[1] = seg_name(&o->seg, text);
	text[300] = 'n';
	text[5000] = '\0';
	number[2] = seg_name(&o->seg, text);
	assert_int_equal(open_it(o), 0);
	assert_int_equal(rama_seg_name_next(&o->s, &at, n, &o->err), 1);
	assert_string_equal(n->text, "/short");
	assert_int_equal(n->number, number[0]);
	assert_int_equal(n->id, rama_core_record_id("/short", 6));
	assert_int_equal(rama_seg_name_next(&o->s, &at, n, &o->err), 1);
	assert_int_equal(n->number, number[1]);
	assert_int_equal(n->len, 300);
	assert_int_equal(strlen(n->text), 300);
	assert_int_equal(rama_seg_name_next(&o->s, &at, n, &o->err), 1);
	assert_int_equal(n->number, number[2]);
	assert_int_equal(n->len, 4096);
	assert_int_equal(strlen(n->text), 4096);
	assert_int_equal(rama_seg_name_next(&o->s, &at, n, &o->err), 0);
	free(n);
	end(o);
}

static void damaged_names_end_the_walk(void **st)
{
	static const uint32_t lens[] = { UINT32_MAX, SEG_NAMES, 0x7fffffff, 40 };

	(void)st;
	for (size_t i = 0; i < LENGTH(lens); i++) {
		struct opened *o = begin();
		struct rama_seg_name_get *n = malloc(sizeof(*n));
		struct rama_seg_name *second;
		uint64_t at = 0;

		seg_name(&o->seg, "/first");
		second = (void *)((char *)seg_area(&o->seg, RAMA_SEG_AREA_RECORDS) +
				  o->seg.state->names_used);
		seg_name(&o->seg, "/second");
		second->len = lens[i];
		assert_int_equal(open_it(o), 0);
		assert_int_equal(rama_seg_name_next(&o->s, &at, n, &o->err), 1);
		assert_int_equal(rama_seg_name_next(&o->s, &at, n, &o->err), RAMA_ECORRUPT);
		free(n);
		end(o);
	}
}

/* ---- times --------------------------------------------------------------------------------- */

static void ticks_come_from_both_ends(void **st)
{
	struct opened *o = begin();
	struct rama_seg_ticks *c = &o->seg.id->clock;

	(void)st;
	c->source = RAMA_SEG_CLOCK_TSC;
	c->hz = 2e9; /* a first guess; it really was 2.5e9 */
	c->tick1 = c->tick0 + 25 * SEG_SECOND;
	assert_int_equal(open_it(o), 0);
	assert_float_equal(o->s.tick * 2.5e9, 1, 1e-12);
	assert_int_equal(o->s.end_tick, 25 * SEG_SECOND);
	c->tick1 = c->tick0 + 250 * SEG_SECOND; /* cannot be: ten times as fast */
	assert_int_equal(open_it(o), 0);
	assert_float_equal(o->s.tick * 2e9, 1, 1e-12);
	c->tick1 = c->mono1 = 0;
	c->hz = NAN;
	assert_int_equal(open_it(o), 0);
	assert_true(o->s.tick == 1e-9);
	end(o);
}

static void a_present_pair_helps(void **st)
{
	struct opened *o = begin();
	struct rama_seg_ticks *c = &o->seg.id->clock;

	(void)st;
	c->source = RAMA_SEG_CLOCK_TSC;
	c->hz = 2e9;
	c->tick1 = c->mono1 = 0;
	assert_int_equal(open_it(o), 0);
	assert_int_equal(o->s.end_tick, 0);
	rama_seg_now(&o->s, c->tick0 + 30 * SEG_SECOND, c->mono0 + 10 * SEG_SECOND);
	assert_float_equal(o->s.tick * 3e9, 1, 1e-12);
	rama_seg_now(&o->s, c->tick0 - 1, c->mono0 + 10 * SEG_SECOND); /* before the start */
	rama_seg_now(&o->s, c->tick0 + 5, c->mono0);
	assert_float_equal(o->s.tick * 3e9, 1, 1e-12);
	end(o);
}

static void the_end_is_the_last_thing_seen(void **st)
{
	struct opened *o = begin();
	struct rama_core_posix_file *f = seg_posix(&o->seg, seg_name(&o->seg, "/a"));
	struct rama_seg_chunk *c = seg_chunk(&o->seg, 1);

	(void)st;
	o->seg.id->clock.tick1 = o->seg.id->clock.mono1 = 0;
	o->seg.state->phase = RAMA_SEG_RUNNING;
	f->w[RAMA_TAB_POSIX_F_READ_END_TIMESTAMP].u = 1234;
	f->w[RAMA_TAB_POSIX_F_WRITE_END_TIMESTAMP].u = UINT64_MAX; /* nonsense */
	assert_int_equal(open_it(o), 0);
	assert_int_equal(rama_seg_find_end(&o->s, &o->err), 0);
	assert_int_equal(o->s.end_tick, 1234);
	seg_event(c, (struct rama_seg_event){ .start = 5000, .length = 77 });
	seg_event(c, (struct rama_seg_event){ .start = UINT64_MAX - 5, .length = 100000 });
	assert_int_equal(open_it(o), 0);
	assert_int_equal(rama_seg_find_end(&o->s, &o->err), 0);
	assert_int_equal(o->s.end_tick, 5077);
	end(o);
}

UNIT_GROUP(reader, test(plain_is_read), test(strangers_are_refused), test(areas_must_lie_inside),
	   test(items_must_have_their_size), test(small_areas_are_refused), test(counts_are_cut),
	   test(texts_end), test(cut_files), test(names_are_walked),
	   test(damaged_names_end_the_walk), test(ticks_come_from_both_ends),
	   test(a_present_pair_helps), test(the_end_is_the_last_thing_seen))
