/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.c: events of threads become traces of files, and their bytes heat maps. */
#include "check.h"

#define STEP 0.5e-9 /* of times in a log, half of it */

#define BIT(module) (1ull << RAMA_TAB_MOD_##module)

static struct rama_seg_event access_of(uint32_t name, enum rama_seg_layer layer,
				       enum rama_tab_opkind kind, uint64_t start, int64_t off)
{
	return (struct rama_seg_event){ .name = name,
					.layer = (uint8_t)layer,
					.kind = (uint8_t)kind,
					.start = start,
					.length = 10,
					.off = off,
					.bytes = 100 + off };
}

static void segments_are_in_order_of_start(void **st)
{
	struct rama_seg_chunk *one, *two;
	struct check_record *r;
	struct check *c;
	uint32_t a, b;
	struct seg s;

	(void)st;
	seg_make(&s, 4, 2, 3);
	a = seg_name(&s, "/a");
	b = seg_name(&s, "/b");
	one = seg_chunk(&s, 111);
	two = seg_chunk(&s, 222);
	/* /b is touched first, although /a has the lower number; threads overlap */
	seg_event(one, access_of(a, RAMA_SEG_LAYER_POSIX, RAMA_TAB_OP_WRITE, 2000, 1));
	seg_event(one, access_of(a, RAMA_SEG_LAYER_POSIX, RAMA_TAB_OP_READ, 4000, 3));
	seg_event(one, access_of(a, RAMA_SEG_LAYER_POSIX, RAMA_TAB_OP_WRITE, 6000, 5));
	seg_event(two, access_of(b, RAMA_SEG_LAYER_POSIX, RAMA_TAB_OP_WRITE, 1000, 0));
	seg_event(two, access_of(a, RAMA_SEG_LAYER_POSIX, RAMA_TAB_OP_WRITE, 3000, 2));
	seg_event(two, access_of(a, RAMA_SEG_LAYER_POSIX, RAMA_TAB_OP_WRITE, 7000, 6));
	seg_event(two, access_of(a, RAMA_SEG_LAYER_STDIO, RAMA_TAB_OP_READ, 8000, 7));
	/* no access */
	seg_event(two, access_of(a, RAMA_SEG_LAYER_POSIX, RAMA_TAB_OP_CLOSE, 9000, 0));
	c = check_one(&s, &check_alone);
	assert_int_equal(c->partial, 0);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_DXT_POSIX), 2);
	r = check_get(c, RAMA_TAB_MOD_DXT_POSIX, 0);
	assert_string_equal(check_name(c, r->w[RAMA_TAB_ID].u), "/b");
	assert_string_equal((char *)&r->w[RAMA_TAB_DXT_HOSTNAME], "node1");
	assert_int_equal(r->r.count[0], 1);
	assert_int_equal(r->seg[0][0][RAMA_TAB_SEG_THREAD].u, 222);
	r = check_get(c, RAMA_TAB_MOD_DXT_POSIX, 1);
	assert_string_equal(check_name(c, r->w[RAMA_TAB_ID].u), "/a");
	assert_int_equal(r->r.count[0], 4);
	assert_int_equal(r->r.count[1], 1);
	for (unsigned i = 0; i < 4; i++) {
		static const struct {
			uint64_t start, thread;
		} want[] = { { 2000, 111 }, { 3000, 222 }, { 6000, 111 }, { 7000, 222 } };
		const union rama_core_word *seg = r->seg[0][i];

		assert_float_equal(seg[RAMA_TAB_SEG_START].f, (double)want[i].start * 1e-9, STEP);
		assert_float_equal(seg[RAMA_TAB_SEG_END].f, (double)(want[i].start + 10) * 1e-9,
				   STEP);
		assert_int_equal(seg[RAMA_TAB_SEG_THREAD].u, want[i].thread);
		assert_int_equal(seg[RAMA_TAB_SEG_OFFSET].i, want[i].start / 1000 - 1);
		assert_int_equal(seg[RAMA_TAB_SEG_LENGTH].i, 100 + want[i].start / 1000 - 1);
	}
	assert_int_equal(r->seg[1][0][RAMA_TAB_SEG_OFFSET].i, 3);
	r = check_get(c, RAMA_TAB_MOD_DXT_STDIO, 0);
	assert_int_equal(r->r.count[0], 0);
	assert_int_equal(r->r.count[1], 1);
	assert_int_equal(r->seg[1][0][RAMA_TAB_SEG_OFFSET].i, 7);
	check_end(c);
	seg_free(&s);
}

/* more events than are put into place at once, of many files and threads */
static void large_traces(void **st)
{
	enum { CHUNKS = 1000, FILES = 7, SUM = CHUNKS * (int)RAMA_SEG_CHUNK_EVENTS };
	struct rama_log_cursor cur;
	struct rama_core_record *r;
	uint64_t seen = 0, records = 0;
	uint32_t name[FILES];
	struct rng rng = { 1 };
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 4, 2, CHUNKS);
	for (unsigned i = 0; i < FILES; i++)
		name[i] = seg_name(&s, (char[]){ '/', (char)('a' + i), 0 });
	for (unsigned k = 0; k < CHUNKS; k++) {
		struct rama_seg_chunk *chunk = seg_chunk(&s, 1 + k % 4);

		for (unsigned i = 0; i < RAMA_SEG_CHUNK_EVENTS; i++) {
			uint64_t start = 1 + ((uint64_t)k / 4 * 1000 + i) * 10 + k % 4;

			seg_event(chunk,
				  access_of(name[rng_below(&rng, FILES)], RAMA_SEG_LAYER_POSIX,
					    RAMA_TAB_OP_WRITE, start, (int64_t)start));
		}
	}
	assert_true(SUM > 256 << 10);
	c = check_one(&s, &check_alone);
	assert_int_equal(rama_log_cursor_open(&cur, &c->log, RAMA_TAB_MOD_DXT_POSIX), 1);
	while (rama_log_cursor_next(&cur, &r) > 0) {
		union rama_core_word seg[100][RAMA_TAB_SEG_WORDS];
		double last = 0;
		unsigned kind;
		int n;

		records++;
		while ((n = rama_log_cursor_segments(&cur, seg, 100, &kind)) > 0) {
			for (int i = 0; i < n; i++, seen++) {
				uint64_t start = seg[i][RAMA_TAB_SEG_OFFSET].u; /* it says itself */

				assert_true(seg[i][RAMA_TAB_SEG_START].f >= last);
				last = seg[i][RAMA_TAB_SEG_START].f;
				assert_float_equal(last, (double)start * 1e-9, STEP);
				assert_int_equal(seg[i][RAMA_TAB_SEG_THREAD].u,
						 1 + (start - 1) % 10);
			}
		}
	}
	rama_log_cursor_close(&cur);
	assert_int_equal(records, FILES);
	assert_int_equal(seen, SUM);
	check_end(c);
	seg_free(&s);
}

static void losses_are_told(void **st)
{
	struct check_record *r;
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 4, 2, 1);
	seg_event(seg_chunk(&s, 1),
		  access_of(seg_name(&s, "/a"), RAMA_SEG_LAYER_POSIX, RAMA_TAB_OP_READ, 1, 1));
	seg_lane(&s, 1)->lost = 5;
	seg_lane(&s, 2)->lost = 6;
	((struct rama_seg_lane *)seg_area(&s, RAMA_SEG_AREA_LANES))->missed = 3;
	s.state->missed = 4;
	c = check_one(&s, &check_alone);
	assert_int_equal(c->partial, BIT(DXT_POSIX) | BIT(CALLS));
	r = check_get(c, RAMA_TAB_MOD_PROCESS, 0);
	assert_int_equal(r->w[RAMA_TAB_PROCESS_EVENTS_LOST].i, 11);
	assert_int_equal(r->w[RAMA_TAB_PROCESS_CALLS_MISSED].i, 7);
	check_end(c);
	seg_free(&s);
}

/* two files: one of small accesses, one of large ones that are not aligned */
static unsigned traced(double small, double unaligned, char kept[2])
{
	struct rama_seg_chunk *chunk;
	struct rama_core_posix_file *f;
	struct check *c;
	uint32_t a, b;
	struct seg s;
	unsigned n;

	seg_make(&s, 4, 1, 1);
	a = seg_name(&s, "/a");
	b = seg_name(&s, "/b");
	f = seg_posix(&s, a);
	f->w[RAMA_TAB_POSIX_READS].i = 10;
	f->w[RAMA_TAB_POSIX_SIZE_READ_0_100].i = 4;
	f->w[RAMA_TAB_POSIX_SIZE_READ_1K_10K].i = 4;
	f = seg_posix(&s, b);
	f->w[RAMA_TAB_POSIX_WRITES].i = 10;
	f->w[RAMA_TAB_POSIX_SIZE_WRITE_10K_100K].i = 10;
	f->w[RAMA_TAB_POSIX_FILE_NOT_ALIGNED].i = 9;
	chunk = seg_chunk(&s, 1);
	seg_event(chunk, access_of(a, RAMA_SEG_LAYER_POSIX, RAMA_TAB_OP_READ, 1, 0));
	seg_event(chunk, access_of(b, RAMA_SEG_LAYER_POSIX, RAMA_TAB_OP_WRITE, 2, 0));
	s.id->small_trigger = small;
	s.id->unaligned_trigger = unaligned;
	c = check_one(&s, &check_alone);
	n = check_count(c, RAMA_TAB_MOD_DXT_POSIX);
	for (unsigned i = 0; i < n; i++)
		kept[i] =
			check_name(c, check_get(c, RAMA_TAB_MOD_DXT_POSIX, i)->w[RAMA_TAB_ID].u)[1];
	check_end(c);
	seg_free(&s);
	return n;
}

static void triggers_choose_files(void **st)
{
	char kept[2];

	(void)st;
	assert_int_equal(traced(-1, -1, kept), 2);
	assert_int_equal(traced(0.8, -1, kept), 1);
	assert_int_equal(kept[0], 'a');
	assert_int_equal(traced(0.9, -1, kept), 0);
	assert_int_equal(traced(-1, 0.9, kept), 1);
	assert_int_equal(kept[0], 'b');
	assert_int_equal(traced(0.8, 0.9, kept), 0);
	assert_int_equal(traced(0, 0, kept), 2);
}

/* ---- heat maps ------------------------------------------------------------------------------- */

static void lanes_add_up(void **st)
{
	struct rama_seg_lane *l;
	struct check_record *r;
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 4, 3, 0);
	l = seg_lane(&s, 1);
	rama_core_heat_add(&l->heat[0], 0, 100, SEG_SECOND, SEG_SECOND + 1);
	l = seg_lane(&s, 2);
	rama_core_heat_add(&l->heat[0], 0, 20, SEG_SECOND, SEG_SECOND + 1);
	rama_core_heat_add(&l->heat[0], 1, 3, 9 * SEG_SECOND, 9 * SEG_SECOND + 1);
	l = seg_lane(&s, 3);
	l->owned = 0; /* its thread has gone, its bytes have not */
	rama_core_heat_add(&l->heat[1], 0, 7, 5 * SEG_SECOND, 5 * SEG_SECOND + 1);
	c = check_one(&s, &check_alone);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_HEATMAP), 2);
	r = check_get(c, RAMA_TAB_MOD_HEATMAP, 0);
	assert_string_equal(check_name(c, r->w[RAMA_TAB_ID].u), "heatmap:POSIX");
	assert_true(r->w[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f == 0.1);
	assert_int_equal(r->r.count[0], 100); /* ten seconds */
	assert_int_equal(r->array[0][10].i, 120);
	assert_int_equal(r->array[1][90].i, 3);
	r = check_get(c, RAMA_TAB_MOD_HEATMAP, 1);
	assert_string_equal(check_name(c, r->w[RAMA_TAB_ID].u), "heatmap:STDIO");
	assert_int_equal(r->array[0][50].i, 7);
	check_end(c);
	seg_free(&s);
}

static void bins_widen_to_the_end(void **st)
{
	struct rama_seg_lane *l;
	struct check_record *r;
	struct check *c;
	struct seg s;

	(void)st;
	seg_make(&s, 4, 2, 0);
	s.id->clock.tick1 = s.id->clock.tick0 + 45 * SEG_SECOND; /* beyond 200 bins of 0.2 s */
	s.id->clock.mono1 = s.id->clock.mono0 + 45 * SEG_SECOND;
	l = seg_lane(&s, 1); /* one lane had to widen itself, the other not */
	rama_core_heat_add(&l->heat[0], 0, 5, 30 * SEG_SECOND, 30 * SEG_SECOND + 1);
	l = seg_lane(&s, 2);
	rama_core_heat_add(&l->heat[0], 0, 6, 10 * SEG_SECOND, 10 * SEG_SECOND + 1);
	c = check_one(&s, &check_alone);
	assert_int_equal(check_count(c, RAMA_TAB_MOD_HEATMAP), 1);
	r = check_get(c, RAMA_TAB_MOD_HEATMAP, 0);
	assert_true(r->w[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f == 0.4);
	assert_int_equal(r->r.count[0], 113); /* 45 / 0.4, rounded up */
	assert_int_equal(r->array[0][25].i, 6);
	assert_int_equal(r->array[0][75].i, 5);
	check_end(c);
	seg_free(&s);
}

UNIT_GROUP(trace, test(segments_are_in_order_of_start), test(large_traces), test(losses_are_told),
	   test(triggers_choose_files), test(lanes_add_up), test(bins_widen_to_the_end))
