/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.c: traced accesses: ranks, phases, sizes, heat maps, what is kept of single ones. */
#include <math.h>

#include "made.h"

static union rama_core_word *dxt(struct made *m, unsigned module, uint64_t id, int64_t rank,
				 const char *host)
{
	union rama_core_word *w = made_row(m, module, id, rank);

	memcpy(w[RAMA_TAB_DXT_HOSTNAME].b, host, strlen(host));
	return w;
}

/* Two ranks write a file together: rank 0 once for 1 s, rank 1 twice for 2 s each; a later phase
 * is rank 1's. */
static struct made *two_phases(void)
{
	struct made *m = made_new(2, 0, 100);
	uint64_t a = made_name(m, "/scratch/a");
	union rama_core_word *w = made_posix(m, a, -1, (int64_t[]){ 4, 0 },
					     (int64_t[]){ 7 << 20, 0 }, (double[]){ 8, 0, 0.5 });

	w[RAMA_TAB_POSIX_SLOWEST_RANK].i = 1;
	w[RAMA_TAB_POSIX_F_SLOWEST_RANK_TIME].f = 7.25;
	w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f = 9;
	w[RAMA_TAB_POSIX_F_CLOSE_END_TIMESTAMP].f = 90;
	w[RAMA_TAB_POSIX_MAX_BYTE_WRITTEN].i = (8 << 20) - 1;
	dxt(m, RAMA_TAB_MOD_DXT_POSIX, a, 0, "node1");
	made_access(m, 0, 0, 1 << 20, 10, 11);
	dxt(m, RAMA_TAB_MOD_DXT_POSIX, a, 1, "node2");
	made_access(m, 0, 1 << 20, 2 << 20, 10, 12);
	made_access(m, 0, 3 << 20, 2 << 20, 12, 14);
	made_access(m, 0, (6 << 20) - 10, 2 << 20, 80, 83);
	return m;
}

static void ranks_are_exact(void **st)
{
	struct made *m = two_phases();
	const struct rama_job_view_file *f;
	struct rama_job_view v;

	(void)st;
	made_view(m, &v);
	f = made_file(&v, "/scratch/a");
	assert_true(v.traced);
	assert_int_equal(v.segments, 4);
	assert_false(v.segments_cut);
	assert_near(v.ranks[0].io.write_time, 1);
	assert_near(v.ranks[1].io.write_time, 7);
	assert_near(v.ranks[1].io.meta_time, 0.25); /* slowest rank: what is left of its time */
	assert_near(v.ranks[0].io.meta_time, 0.25);
	assert_int_equal(v.ranks[0].io.bytes_written, 1 << 20);
	assert_int_equal(v.ranks[1].io.bytes_written, 6 << 20);
	assert_int_equal(v.ranks[1].io.writes, 3);
	assert_false(v.ranks[0].estimated);
	assert_int_equal(v.active_ranks, 2);
	assert_int_equal(v.nodes, 2);
	assert_string_equal(v.hosts[v.ranks[1].host], "node2");
	assert_int_equal(f->most_written, 6 << 20);
	assert_int_equal(f->least_written, 1 << 20);
	assert_int_equal(f->traced[RAMA_JOB_LAYER_POSIX]->count[0], 4);
	assert_int_equal(f->traced[RAMA_JOB_LAYER_POSIX]->small[0], 0);
	assert_int_equal(f->traced[RAMA_JOB_LAYER_POSIX]->crossing[0],
			 3); /* 2 MiB accesses, borders of 1 MiB */
	assert_int_equal(f->traced[RAMA_JOB_LAYER_POSIX]->unaligned[0], 1);
	assert_int_equal(f->traced[RAMA_JOB_LAYER_POSIX]->backward[0], 0);
	assert_int_equal(f->traced[RAMA_JOB_LAYER_POSIX]->ranks[0], 2);
	assert_near(f->traced[RAMA_JOB_LAYER_POSIX]->first, 10);
	assert_near(f->traced[RAMA_JOB_LAYER_POSIX]->last, 83);
	rama_job_view_fini(&v);
	made_free(m);
}

static void phases_and_stragglers(void **st)
{
	struct made *m = two_phases();
	struct rama_job_view v;

	(void)st;
	made_view(m, &v);
	assert_true(v.phases_traced);
	assert_int_equal(v.n_phases, 2);
	assert_near(v.phases[0].start, 10);
	assert_near(v.phases[0].end, 14);
	assert_int_equal(v.phases[0].bytes[0], 5 << 20);
	assert_int_equal(v.phases[0].count[0], 3);
	assert_int_equal(v.phases[0].ranks, 2);
	assert_int_equal(v.phases[0].slow_rank, 1);
	assert_near(v.phases[0].slow_busy, 4);
	assert_near(v.phases[0].median_busy, 2.5);
	assert_near(v.phases[0].wait, 1.5); /* rank 0 was ready 3 s before the end */
	assert_string_equal(v.phases[0].file->name, "/scratch/a");
	assert_near(v.phases[0].op_end - v.phases[0].op_start, 2);
	assert_near(v.phases[1].start, 80);
	assert_near(v.phases[1].end, 83);
	assert_int_equal(v.phases[1].ranks, 1);
	assert_int_equal(v.phases[1].offset, (6 << 20) - 10);
	assert_int_equal(v.phases[1].length, 2 << 20);
	assert_int_equal(v.phases[1].op_kind, 0);
	assert_true(fabs(v.busy_time - 7) < 0.01);
	rama_job_view_fini(&v);
	made_free(m);
}

static void sizes_and_heat(void **st)
{
	struct made *m = two_phases();
	const struct rama_job_view_heat *h;
	struct rama_job_view v;
	double sum = 0;

	(void)st;
	made_view(m, &v);
	assert_true(v.layer[RAMA_JOB_LAYER_POSIX].sizes_exact);
	assert_int_equal(v.layer[RAMA_JOB_LAYER_POSIX].size_count[0][4],
			 1); /* 1 MiB is in the class that ends there */
	assert_int_equal(v.layer[RAMA_JOB_LAYER_POSIX].size_count[0][5], 3);
	assert_near(v.layer[RAMA_JOB_LAYER_POSIX].size_time[0][5], 7);
	assert_near(v.layer[RAMA_JOB_LAYER_POSIX].size_bytes[0][5], 6 << 20);
	assert_int_equal(v.n_heats, 1);
	h = &v.heats[0];
	assert_true(h->traced);
	assert_int_equal(h->layer, RAMA_JOB_LAYER_POSIX);
	assert_int_equal(h->rows, 2);
	assert_int_equal(h->bins, RAMA_JOB_VIEW_BINS);
	assert_near(h->width * h->bins, 100);
	assert_near(h->rank_bytes[0][0], 1 << 20);
	assert_near(h->rank_bytes[0][1], 6 << 20);
	for (unsigned b = 0; b < h->bins; b++) {
		double from = b * h->width, to = from + h->width;

		sum += h->bin_bytes[0][b];
		assert_near(h->sum[0][b] + h->sum[0][h->bins + b], h->bin_bytes[0][b]);
		assert_near(h->max[0][b], h->sum[0][b]);
		if (to < 10 || from > 83)
			assert_near(h->bin_bytes[0][b], 0);
		if (from >= 10 && to <= 11) /* 1 MiB in a second */
			assert_near(h->sum[0][b], h->width * (1 << 20));
	}
	assert_near(sum, 7 << 20);
	rama_job_view_fini(&v);
	made_free(m);
}

static void operations_and_offsets(void **st)
{
	struct made *m = two_phases();
	const struct rama_job_view_offsets *o;
	struct rama_job_view v;
	double sum = 0, low = 0;

	(void)st;
	made_view(m, &v);
	assert_true(v.ops_all);
	assert_int_equal(v.n_ops, 4);
	assert_int_equal(v.ops[3].offset, (6 << 20) - 10);
	assert_int_equal(v.ops[3].rank, 1);
	assert_int_equal(v.ops[3].layer, RAMA_JOB_LAYER_POSIX);
	assert_int_equal(v.n_offsets, 1);
	o = &v.offsets[0];
	assert_int_equal(o->size, 8 << 20);
	assert_near(o->t0, 9);
	assert_near(o->t1, 90);
	for (unsigned r = 0; r < o->rows; r++)
		for (unsigned b = 0; b < o->bins; b++) {
			sum += o->bytes[0][r * o->bins + b];
			low += r < o->rows / 8 ? o->bytes[0][r * o->bins + b] : 0;
		}
	assert_true(fabs(sum - (7 << 20)) < 100);
	assert_true(fabs(low - (1 << 20)) < 100); /* the first MiB was written once */
	rama_job_view_fini(&v);
	made_free(m);
}

static void a_cut_trace_is_not_believed(void **st)
{
	struct made *m = made_new(2, 0, 100);
	uint64_t a = made_name(m, "/a");
	union rama_core_word *w = made_posix(m, a, -1, (int64_t[]){ 4, 0 }, (int64_t[]){ 4000, 0 },
					     (double[]){ 8, 0, 0 });
	struct rama_job_view v;

	(void)st;
	w[RAMA_TAB_POSIX_SLOWEST_RANK].i = 1;
	w[RAMA_TAB_POSIX_SLOWEST_RANK_BYTES].i = 2000;
	w[RAMA_TAB_POSIX_F_SLOWEST_RANK_TIME].f = 6;
	dxt(m, RAMA_TAB_MOD_DXT_POSIX, a, 0, "n");
	made_access(m, 0, 0, 1000, 10, 11);
	made_view(m, &v);
	assert_true(v.segments_cut);
	assert_near(rama_job_io_time(&v.ranks[1].io), 6);
	assert_true(v.ranks[0].estimated);
	assert_false(v.layer[RAMA_JOB_LAYER_POSIX].sizes_exact);
	assert_int_equal(v.nodes, 0); /* rank 1 is not known */
	rama_job_view_fini(&v);
	made_free(m);
}

static void a_trace_alone_is_enough(void **st)
{
	struct made *m = made_new(2, 0, 100);
	uint64_t a = made_name(m, "/a");
	struct rama_job_view v;

	(void)st;
	dxt(m, RAMA_TAB_MOD_DXT_MPIIO, a, 1, "n");
	made_access(m, 0, 0, 500, 10, 13);
	dxt(m, RAMA_TAB_MOD_DXT_POSIX, a, 1, "n");
	made_access(m, 0, 0, 600, 10, 12);
	made_view(m, &v);
	assert_int_equal(v.n_real, 1);
	assert_int_equal(v.files[0].top, RAMA_JOB_LAYER_MPIIO);
	assert_near(v.io_time, 3);
	assert_int_equal(v.total.bytes_written, 500);
	assert_int_equal(v.disk.bytes_written, 600);
	assert_int_equal(v.active_ranks, 1);
	assert_int_equal(v.files[0].ranks, 1);
	rama_job_view_fini(&v);
	made_free(m);
}

static void borders_are_stripes(void **st)
{
	static const int64_t comp[RAMA_TAB_LUSTRE_COMP__WORDS] = {
		[RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE] = 1000,
		[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT] = 2,
		[RAMA_TAB_LUSTRE_COMP_EXT_END] = -1
	};
	struct made *m = made_new(1, 0, 100);
	uint64_t a = made_name(m, "/scratch/a");
	const struct rama_job_view_traced *t;
	struct rama_job_view v;

	(void)st;
	made_posix(m, a, 0, (int64_t[]){ 0, 4 }, (int64_t[]){ 0, 1700 }, (double[]){ 0, 4, 0 });
	made_row(m, RAMA_TAB_MOD_LUSTRE, a, 0);
	made_array(m, 0, comp, RAMA_TAB_LUSTRE_COMP__WORDS, 1);
	made_array(m, 1, (int64_t[]){ 4, 6 }, 1, 2);
	dxt(m, RAMA_TAB_MOD_DXT_POSIX, a, 0, "n");
	made_access(m, 1, 0, 1000, 1, 2);
	made_access(m, 1, 1000, 500, 2, 3);
	made_access(m, 1, 999, 2, 3, 4);  /* backward, crossing, not at a border */
	made_access(m, 1, -1, 198, 4, 5); /* offset not known */
	made_view(m, &v);
	t = v.files[0].traced[RAMA_JOB_LAYER_POSIX];
	assert_int_equal(t->crossing[1], 1);
	assert_int_equal(t->unaligned[1], 1);
	assert_int_equal(t->backward[1], 1);
	assert_int_equal(t->count[1], 4);
	rama_job_view_fini(&v);
	made_free(m);
}

static void the_longest_operations_are_kept(void **st)
{
	struct made *m = made_new(1, 0, 1000);
	uint64_t a = made_name(m, "/a");
	struct rng r = { 11 };
	unsigned files = RAMA_JOB_OPS_KEPT / MADE_SEGMENTS + 2, long_ones = 0;
	struct rama_job_view v;

	(void)st;
	for (unsigned f = 0; f < files; f++) {
		dxt(m, RAMA_TAB_MOD_DXT_POSIX, a + f, 0, "n");
		for (unsigned i = 0; i < MADE_SEGMENTS; i++) {
			double t = 999 * rng_unit(&r),
			       d = rng_below(&r, 10) == 0 ? 0.5 : 1e-3 * rng_unit(&r);

			long_ones += d == 0.5;
			made_access(m, 0, i, 1, t, t + d);
		}
	}
	made_view(m, &v);
	assert_int_equal(v.segments, files * MADE_SEGMENTS);
	assert_int_equal(v.n_ops, RAMA_JOB_OPS_KEPT);
	assert_false(v.ops_all);
	for (size_t i = 0; i < v.n_ops; i++)
		long_ones -= v.ops[i].end - v.ops[i].start > 0.4;
	assert_int_equal(long_ones, 0);
	rama_job_view_fini(&v);
	made_free(m);
}

static void many_ranks_share_rows(void **st)
{
	struct made *m = made_new(1000, 0, 10);
	uint64_t a = made_name(m, "/a");
	const struct rama_job_view_heat *h;
	struct rama_job_view v;
	double max = 0, sum = 0;

	(void)st;
	for (int64_t r = 0; r < 1000; r++) {
		dxt(m, RAMA_TAB_MOD_DXT_POSIX, a, r, "n");
		made_access(m, 1, 0, r == 777 ? 5000 : 10, 1, 1.001);
	}
	made_view(m, &v);
	h = &v.heats[0];
	assert_true(h->rows < 1000 && h->rows * h->bins <= RAMA_JOB_HEAT_CELLS);
	assert_int_equal(h->first[0], 0);
	assert_int_equal(h->first[h->rows], 1000);
	for (unsigned i = 0; i < h->rows * h->bins; i++) {
		sum += h->sum[1][i];
		if (h->max[1][i] > max) {
			max = h->max[1][i];
			assert_true(max < 100 || (h->first[i / h->bins] <= 777 &&
						  h->first[i / h->bins + 1] > 777));
		}
	}
	assert_near(max, 5000); /* one rank among its neighbours is not lost */
	assert_near(sum, 5000 + 999 * 10);
	rama_job_view_fini(&v);
	made_free(m);
}

static void damaged_times_do_no_harm(void **st)
{
	static const double bad[] = { NAN, INFINITY, -1, 1e300, 0 };
	struct made *m = made_new(1, 0, 10);
	uint64_t a = made_name(m, "/a");
	struct rama_job_view v;

	(void)st;
	dxt(m, RAMA_TAB_MOD_DXT_POSIX, a, 0, "n");
	for (size_t i = 0; i < LENGTH(bad); i++)
		for (size_t j = 0; j < LENGTH(bad); j++)
			made_access(m, 0, INT64_MAX - 1, INT64_MAX, bad[i], bad[j]);
	made_access(m, 1, INT64_MIN, INT64_MIN, 3, 1);
	dxt(m, RAMA_TAB_MOD_DXT_POSIX, a, 99, "n");
	made_access(m, 0, 0, 1, 1e6, 2e6); /* long after the end, of a rank that is not there */
	made_damaged(m, &v);
	assert_int_equal(v.segments, LENGTH(bad) * LENGTH(bad) + 2);
	rama_job_view_fini(&v);
	made_free(m);
}

static void a_job_that_writes_every_minute(void **st)
{
	struct made *m = made_new(1, 0, 600);
	uint64_t a = made_name(m, "/a");
	struct rama_job_view v;

	(void)st;
	dxt(m, RAMA_TAB_MOD_DXT_POSIX, a, 0, "n");
	for (unsigned i = 0; i < 10; i++)
		for (unsigned j = 0; j < 20; j++) /* each time in 20 steps with short gaps */
			made_access(m, 0, j, 100, 60 * i + 0.2 * j, 60 * i + 0.2 * j + 0.1);
	made_view(m, &v);
	assert_int_equal(v.n_phases, 10);
	assert_near(v.phases[7].start, 420);
	assert_near(v.phases[7].end, 423.9);
	assert_true(fabs(v.busy_time - 20) < 0.01);
	rama_job_view_fini(&v);
	made_free(m);
}

UNIT_GROUP(trace, test(ranks_are_exact), test(phases_and_stragglers), test(sizes_and_heat),
	   test(operations_and_offsets), test(a_cut_trace_is_not_believed),
	   test(a_trace_alone_is_enough), test(borders_are_stripes),
	   test(the_longest_operations_are_kept), test(many_ranks_share_rows),
	   test(damaged_times_do_no_harm), test(a_job_that_writes_every_minute))
