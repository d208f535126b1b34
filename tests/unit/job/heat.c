/* SPDX-License-Identifier: BSD-3-Clause */
/* heat.c: heat map records, of any width, become maps and phases. */
#include <math.h>

#include "made.h"

static void heat_row(struct made *m, uint64_t id, int64_t rank, double width, const int64_t *write,
		     const int64_t *read, size_t n)
{
	made_row(m, RAMA_TAB_MOD_HEATMAP, id, rank)[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f = width;
	made_array(m, 0, write, 1, n);
	made_array(m, 1, read, 1, n);
}

static void maps_are_as_recorded(void **st)
{
	struct made *m = made_new(3, 0, 10);
	uint64_t id = made_name(m, "heatmap:POSIX");
	const struct rama_job_view_heat *h;
	struct rama_job_view v;

	(void)st;
	heat_row(m, id, 0, 2, (int64_t[]){ 10, 0, 0, 0, 5 }, (int64_t[]){ 0, 0, 0, 0, 0 }, 5);
	heat_row(m, id, 2, 2, (int64_t[]){ 1, 2, 0, 0, 0 }, (int64_t[]){ 0, 0, 0, 0, 7 }, 5);
	made_view(m, &v);
	assert_int_equal(v.n_files, 0); /* a map is no file */
	assert_int_equal(v.n_heats, 1);
	h = &v.heats[0];
	assert_false(h->traced);
	assert_int_equal(h->layer, RAMA_JOB_LAYER_POSIX);
	assert_int_equal(h->rows, 3);
	assert_int_equal(h->bins, 5);
	assert_near(h->width, 2);
	assert_near(h->sum[0][0], 10);
	assert_near(h->sum[0][4], 5);
	assert_near(h->sum[0][2 * 5 + 1], 2);
	assert_near(h->sum[1][2 * 5 + 4], 7);
	assert_near(h->bin_bytes[0][0], 11);
	assert_near(h->rank_bytes[0][1], 0);
	assert_near(h->rank_bytes[1][2], 7);
	assert_false(v.phases_traced);
	assert_int_equal(v.n_phases, 2);
	assert_near(v.phases[0].start, 0);
	assert_near(v.phases[0].end, 4);
	assert_int_equal(v.phases[0].bytes[0], 13);
	assert_int_equal(v.phases[0].ranks, 2);
	assert_int_equal(v.phases[0].slow_rank, 2);
	assert_near(v.phases[0].slow_busy, 4);
	assert_near(v.phases[0].wait, 1); /* rank 0 was ready two seconds before */
	assert_near(v.phases[1].start, 8);
	assert_int_equal(v.phases[1].bytes[1], 7);
	rama_job_view_fini(&v);
	made_free(m);
}

static void widths_may_differ(void **st)
{
	struct made *m = made_new(2, 0, 8);
	uint64_t id = made_name(m, "heatmap:STDIO");
	const struct rama_job_view_heat *h;
	struct rama_job_view v;
	int64_t none[16] = { 0 }, fine[16] = { 0 };

	(void)st;
	fine[3] = 300;	/* 1.5 .. 2 s */
	fine[15] = 900; /* 7.5 .. 8 s */
	heat_row(m, id, 0, 1, (int64_t[]){ 0, 0, 0, 0, 0, 0, 0, 0 }, none, 8);
	heat_row(m, id, 1, 0.5, fine, none, 16);
	heat_row(m, id, 0, 4, (int64_t[]){ 0, 40 }, none, 2); /* 4 .. 8 s */
	made_view(m, &v);
	h = &v.heats[0];
	assert_int_equal(h->bins, 8);
	assert_near(h->sum[0][8 + 1], 300);
	assert_near(h->sum[0][8 + 7], 900);
	for (unsigned b = 4; b < 8; b++)
		assert_true(fabs(h->sum[0][b] - 10) < 1e-3);
	assert_near(h->rank_bytes[0][0], 40);
	rama_job_view_fini(&v);
	made_free(m);
}

static void fine_maps_are_made_to_fit(void **st)
{
	struct made *m = made_new(1, 0, 100);
	uint64_t id = made_name(m, "heatmap:POSIX");
	int64_t one[2000], none[2000] = { 0 };
	const struct rama_job_view_heat *h;
	struct rama_job_view v;
	double sum = 0;

	(void)st;
	for (unsigned i = 0; i < 2000; i++)
		one[i] = 1;
	heat_row(m, id, 0, 0.1, one, none, 2000); /* twice as long as the job */
	made_view(m, &v);
	h = &v.heats[0];
	assert_true(h->bins <= RAMA_JOB_VIEW_BINS);
	assert_true(h->bins * h->width >= 100);
	for (unsigned b = 0; b < h->bins; b++)
		sum += h->bin_bytes[0][b];
	assert_near(sum, 2000); /* nothing is lost */
	assert_near(h->bin_bytes[0][0], round(h->width / 0.1));
	rama_job_view_fini(&v);
	made_free(m);
}

static void heat_tells_who_was_active(void **st)
{
	struct made *m = made_new(4, 0, 10);
	uint64_t id = made_name(m, "heatmap:POSIX");
	union rama_core_word *w = made_posix(m, made_name(m, "/a"), -1, (int64_t[]){ 2, 0 },
					     (int64_t[]){ 30, 0 }, (double[]){ 1, 0, 0 });
	struct rama_job_view v;

	(void)st;
	w[RAMA_TAB_POSIX_F_VARIANCE_RANK_BYTES].f = 5;
	for (int64_t r = 0; r < 4; r++)
		heat_row(m, id, r, 5, (int64_t[]){ 0, r % 2 ? 15 : 0 }, (int64_t[]){ 0, 0 }, 2);
	made_view(m, &v);
	assert_int_equal(v.active_ranks, 2);
	assert_near(v.busy_time, 1); /* not longer than all of its I/O */
	rama_job_view_fini(&v);
	made_free(m);
}

static void maps_of_nothing_do_no_harm(void **st)
{
	struct made *m = made_new(2, 0, 10);
	uint64_t id = made_name(m, "heatmap:POSIX"), other = made_name(m, "heatmap:WHAT");
	struct rama_job_view v;

	(void)st;
	heat_row(m, id, 0, NAN, (int64_t[]){ 5 }, (int64_t[]){ 5 }, 1);
	heat_row(m, id, 1, 0, (int64_t[]){ 5 }, (int64_t[]){ 5 }, 1);
	heat_row(m, id, 9, 1, (int64_t[]){ 5 }, (int64_t[]){ 5 }, 1);
	heat_row(m, other, 0, 1, (int64_t[]){ 5 }, (int64_t[]){ 5 }, 1);
	heat_row(m, id, 0, 1, (int64_t[]){ INT64_MIN }, (int64_t[]){ INT64_MAX }, 1);
	made_view(m, &v);
	assert_int_equal(v.n_heats, 1);
	assert_near(v.heats[0].bin_bytes[0][0], 0);
	rama_job_view_fini(&v);
	made_free(m);
}

static void streams_alone_make_no_map(void **st)
{
	struct made *m = made_new(1, 0, 10);
	uint64_t id = made_name(m, "heatmap:STDIO");
	struct rama_job_view v;

	(void)st;
	made_row(m, RAMA_TAB_MOD_STDIO, made_name(m, "<STDERR>"), 0)[RAMA_TAB_STDIO_BYTES_WRITTEN]
		.i = 5;
	heat_row(m, id, 0, 5, (int64_t[]){ 5, 0 }, (int64_t[]){ 0, 0 }, 2);
	made_view(m, &v);
	assert_int_equal(v.n_heats, 0);
	rama_job_view_fini(&v);
	made_free(m);
}

UNIT_GROUP(heat, test(maps_are_as_recorded), test(widths_may_differ),
	   test(fine_maps_are_made_to_fit), test(heat_tells_who_was_active),
	   test(maps_of_nothing_do_no_harm), test(streams_alone_make_no_map))
