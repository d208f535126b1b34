/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.c: records become files, ranks and layers. */
#include <math.h>

#include "made.h"

static void rows_of_ranks(void **st)
{
	struct made *m = made_new(3, 0, 10);
	uint64_t a = made_name(m, "/scratch/a"), b = made_name(m, "/scratch/b");
	const struct rama_job_view_file *f;
	struct rama_job_view v;

	(void)st;
	for (int64_t r = 0; r < 3; r++)
		made_posix(m, a, r, (int64_t[]){ 10, 0 }, (int64_t[]){ 1000 * (r + 1), 0 },
			   (double[]){ 1 + (double)r, 0, 0.5 });
	made_posix(m, b, 1, (int64_t[]){ 0, 5 }, (int64_t[]){ 0, 500 },
		   (double[]){ 0, 0.25, 0.125 });
	made_view(m, &v);

	assert_int_equal(v.n_files, 2);
	assert_int_equal(v.n_real, 2);
	assert_string_equal(v.name, "solver");
	f = made_file(&v, "/scratch/a");
	assert_int_equal(f->rows[RAMA_JOB_LAYER_POSIX], 3);
	assert_int_equal(f->ranks, 3);
	assert_true(f->shared);
	assert_int_equal(f->rank, -1);
	assert_int_equal(f->rec[RAMA_JOB_LAYER_POSIX][RAMA_TAB_POSIX_WRITES].i, 30);
	assert_int_equal(f->rec[RAMA_JOB_LAYER_POSIX][RAMA_TAB_POSIX_BYTES_WRITTEN].i, 6000);
	assert_int_equal(f->rec[RAMA_JOB_LAYER_POSIX][RAMA_TAB_POSIX_SLOWEST_RANK].i, 2);
	assert_near(f->rec[RAMA_JOB_LAYER_POSIX][RAMA_TAB_POSIX_F_SLOWEST_RANK_TIME].f, 3.5);
	/* bytes 1000 2000 3000: variance 2/3 * 10^6 */
	assert_near(f->rec[RAMA_JOB_LAYER_POSIX][RAMA_TAB_POSIX_F_VARIANCE_RANK_BYTES].f, 2e6 / 3);
	assert_int_equal(f->most_written, 3000);
	assert_int_equal(f->least_written, 1000);
	assert_int_equal(f->most_read, 0);
	assert_int_equal(f->slow_rank, 2);
	assert_near(f->most_time, 3.5);
	assert_near(f->least_time, 1.5);
	f = made_file(&v, "/scratch/b");
	assert_int_equal(f->ranks, 1);
	assert_int_equal(f->rank, 1);
	assert_false(f->shared);
	assert_int_equal(f->top, RAMA_JOB_LAYER_POSIX);
	assert_near(v.ranks[1].io.write_time, 2);
	assert_near(v.ranks[1].io.read_time, 0.25);
	assert_int_equal(v.ranks[1].files, 2);
	assert_int_equal(v.ranks[2].files, 1);
	assert_false(v.ranks[2].estimated);
	assert_near(v.io_time, 3.5);
	assert_int_equal(v.io_rank, 2);
	assert_near(v.mean_io_time, (1.5 + 2.5 + 3.5 + 0.375) / 3);
	assert_int_equal(v.active_ranks, 3);
	assert_near(v.rate, 6500 / 3.5);
	assert_int_equal(v.layer[RAMA_JOB_LAYER_POSIX].ranks, 3);
	assert_int_equal(v.layer[RAMA_JOB_LAYER_POSIX].slowest_rank, 2);
	assert_near(rama_job_io_time(&v.layer[RAMA_JOB_LAYER_POSIX].median), 2.875);
	assert_true(v.complete);
	rama_job_view_fini(&v);
	made_free(m);
}

static void shared_row_is_laid_upon_ranks(void **st)
{
	struct made *m = made_new(5, 0, 100);
	uint64_t a = made_name(m, "/scratch/a");
	union rama_core_word *w = made_posix(m, a, -1, (int64_t[]){ 103, 7 },
					     (int64_t[]){ 1000, 0 }, (double[]){ 6, 2, 2 });
	struct rama_job_view v;

	(void)st;
	w[RAMA_TAB_POSIX_SLOWEST_RANK].i = 3;
	w[RAMA_TAB_POSIX_SLOWEST_RANK_BYTES].i = 600;
	w[RAMA_TAB_POSIX_F_SLOWEST_RANK_TIME].f = 5;
	w[RAMA_TAB_POSIX_FASTEST_RANK].i = 1;
	w[RAMA_TAB_POSIX_FASTEST_RANK_BYTES].i = 100;
	w[RAMA_TAB_POSIX_F_FASTEST_RANK_TIME].f = 0.5;
	w[RAMA_TAB_POSIX_F_VARIANCE_RANK_BYTES].f = 77;
	made_view(m, &v);

	assert_near(rama_job_io_time(&v.ranks[3].io), 5);
	assert_near(v.ranks[3].io.write_time, 3); /* as reads and writes of all are */
	assert_int_equal(v.ranks[3].io.bytes_written, 600);
	assert_near(rama_job_io_time(&v.ranks[1].io), 0.5);
	assert_int_equal(v.ranks[1].io.bytes_written, 100);
	for (int64_t r = 0; r < 5; r++) {
		if (r == 1 || r == 3)
			continue;
		assert_near(rama_job_io_time(&v.ranks[r].io), 1.5);
		assert_int_equal(v.ranks[r].io.bytes_written, 100);
		assert_true(v.ranks[r].estimated);
	}
	assert_int_equal(v.io_rank, 3);
	assert_int_equal(v.files[0].slow_rank, 3);
	assert_int_equal(v.files[0].most_written, -1); /* nobody knows */
	assert_near(v.files[0].most_time, 5);
	assert_true(v.files[0].shared);
	assert_int_equal(v.files[0].cover[RAMA_JOB_LAYER_POSIX], 5);
	assert_int_equal(v.active_ranks, -1);
	rama_job_view_fini(&v);
	made_free(m);
}

static void alike_means_all_are_active(void **st)
{
	struct made *m = made_new(4, 0, 10);
	union rama_core_word *w = made_posix(m, made_name(m, "/x"), -1, (int64_t[]){ 4, 0 },
					     (int64_t[]){ 400, 0 }, (double[]){ 4, 0, 0 });
	struct rama_job_view v;

	(void)st;
	w[RAMA_TAB_POSIX_SLOWEST_RANK].i = 2;
	w[RAMA_TAB_POSIX_SLOWEST_RANK_BYTES].i = w[RAMA_TAB_POSIX_FASTEST_RANK_BYTES].i = 100;
	made_view(m, &v);
	assert_int_equal(v.active_ranks, 4);
	rama_job_view_fini(&v);
	made_free(m);
}

static void one_process_calls_its_files_shared(void **st)
{
	struct made *m = made_new(1, 0, 10);
	struct rama_job_view v;

	(void)st;
	made_posix(m, made_name(m, "/x"), -1, (int64_t[]){ 4, 0 }, (int64_t[]){ 400, 0 },
		   (double[]){ 4, 0, 0 });
	made_view(m, &v);
	assert_false(v.files[0].shared);
	assert_int_equal(v.files[0].rank, 0);
	assert_int_equal(v.files[0].most_written, 400);
	assert_int_equal(v.ranks[0].files, 1);
	assert_false(v.ranks[0].estimated);
	assert_int_equal(v.active_ranks, 1);
	rama_job_view_fini(&v);
	made_free(m);
}

static void not_monitored_is_no_number(void **st)
{
	static const int64_t maps[3] = { -1, 3, -1 };
	struct made *m = made_new(3, 0, 10);
	uint64_t a = made_name(m, "/a");
	const union rama_core_word *rec;
	struct rama_job_view v;

	(void)st;
	for (int64_t r = 0; r < 3; r++) {
		union rama_core_word *w = made_posix(m, a, r, (int64_t[]){ 1, 1 },
						     (int64_t[]){ 8, 8 }, (double[]){ 0, 0, 0 });

		w[RAMA_TAB_POSIX_MMAPS].i = maps[r];
		w[RAMA_TAB_POSIX_FDSYNCS].i = -1;
	}
	made_view(m, &v);
	rec = v.files[0].rec[RAMA_JOB_LAYER_POSIX];
	assert_int_equal(rec[RAMA_TAB_POSIX_MMAPS].i, 3);
	assert_int_equal(rec[RAMA_TAB_POSIX_FDSYNCS].i, -1);
	assert_int_equal(rec[RAMA_TAB_POSIX_WRITES].i, 3);
	assert_int_equal(v.layer[RAMA_JOB_LAYER_POSIX].total[RAMA_TAB_POSIX_MMAPS].i, 3);
	assert_int_equal(v.layer[RAMA_JOB_LAYER_POSIX].total[RAMA_TAB_POSIX_FDSYNCS].i, -1);
	assert_int_equal(v.total.metas, 3 + 3); /* opens, mmaps */
	rama_job_view_fini(&v);
	made_free(m);
}

static void times_that_are_none_count_nothing(void **st)
{
	static const double bad[] = { NAN, INFINITY, -INFINITY, -3, 1e300 };
	struct made *m = made_new(LENGTH(bad), 0, 10);
	uint64_t a = made_name(m, "/a");
	struct rama_job_view v;

	(void)st;
	for (size_t r = 0; r < LENGTH(bad); r++) {
		union rama_core_word *w =
			made_posix(m, a, (int64_t)r, (int64_t[]){ 1, 1 }, (int64_t[]){ 8, 8 },
				   (double[]){ bad[r], 0.5, bad[r] });

		w[RAMA_TAB_POSIX_F_OPEN_START_TIMESTAMP].f = bad[r];
		w[RAMA_TAB_POSIX_F_WRITE_END_TIMESTAMP].f = bad[r];
		w[RAMA_TAB_POSIX_F_READ_END_TIMESTAMP].f = 7;
	}
	made_view(m, &v);
	assert_near(v.total.write_time, 0);
	assert_near(v.total.meta_time, 0);
	assert_near(v.total.read_time, 2.5);
	assert_near(v.files[0].start, 0);
	assert_near(v.files[0].end, 7);
	rama_job_view_fini(&v);
	made_free(m);
}

static void streams_are_no_files(void **st)
{
	struct made *m = made_new(2, 0, 10);
	union rama_core_word *w = made_row(m, RAMA_TAB_MOD_STDIO, made_name(m, "<STDOUT>"), 0);
	struct rama_job_view v;

	(void)st;
	w[RAMA_TAB_STDIO_WRITES].i = 9;
	w[RAMA_TAB_STDIO_BYTES_WRITTEN].i = 900;
	w[RAMA_TAB_STDIO_F_WRITE_TIME].f = 1;
	w = made_row(m, RAMA_TAB_MOD_STDIO, made_name(m, "/log"), 0);
	w[RAMA_TAB_STDIO_WRITES].i = 2;
	w[RAMA_TAB_STDIO_BYTES_WRITTEN].i = 20;
	made_view(m, &v);
	assert_int_equal(v.n_files, 2);
	assert_int_equal(v.n_real, 1);
	assert_int_equal(v.n_groups, 1);
	assert_true(made_file(&v, "<STDOUT>")->pseudo);
	assert_int_equal(v.std.bytes_written, 900);
	assert_int_equal(v.total.bytes_written, 20);
	assert_int_equal(v.layer[RAMA_JOB_LAYER_STDIO].files, 1);
	assert_int_equal(v.layer[RAMA_JOB_LAYER_STDIO].io.writes, 2);
	assert_int_equal(v.layer[RAMA_JOB_LAYER_STDIO].total[RAMA_TAB_STDIO_WRITES].i, 11);
	assert_int_equal(v.ranks[0].io.writes, 2);
	rama_job_view_fini(&v);
	made_free(m);
}

static union rama_core_word *mpiio(struct made *m, uint64_t id, int64_t rank, int64_t bytes,
				   double seconds)
{
	union rama_core_word *w = made_row(m, RAMA_TAB_MOD_MPIIO, id, rank);

	w[RAMA_TAB_MPIIO_COLL_OPENS].i = 1;
	w[RAMA_TAB_MPIIO_COLL_WRITES].i = bytes > 0;
	w[RAMA_TAB_MPIIO_BYTES_WRITTEN].i = bytes;
	w[RAMA_TAB_MPIIO_F_WRITE_TIME].f = bytes > 0 ? seconds : 0;
	w[RAMA_TAB_MPIIO_F_META_TIME].f = bytes > 0 ? 0 : seconds;
	return w;
}

static void mpiio_is_above_posix(void **st)
{
	struct made *m = made_new(2, 0, 10);
	uint64_t a = made_name(m, "/a"), b = made_name(m, "/b");
	struct rama_job_view v;

	(void)st;
	mpiio(m, a, 0, 100, 4);
	mpiio(m, a, 1, 100, 4);
	mpiio(m, b, 1, 0, 0.5); /* opened only; the data went another way */
	made_posix(m, a, 0, (int64_t[]){ 7, 6 }, (int64_t[]){ 300, 250 }, (double[]){ 2, 1, 0.5 });
	made_posix(m, b, 1, (int64_t[]){ 3, 0 }, (int64_t[]){ 30, 0 }, (double[]){ 1, 0, 0.25 });
	made_view(m, &v);
	assert_int_equal(made_file(&v, "/a")->top, RAMA_JOB_LAYER_MPIIO);
	assert_int_equal(made_file(&v, "/b")->top, RAMA_JOB_LAYER_POSIX);
	assert_int_equal(made_file(&v, "/a")->rows[RAMA_JOB_LAYER_POSIX], 1);
	assert_int_equal(made_file(&v, "/a")->ranks, 2);
	assert_int_equal(v.total.bytes_written, 230);
	assert_int_equal(v.total.bytes_read, 0);
	assert_near(v.total.write_time, 9);
	assert_near(v.total.meta_time, 0.5); /* the open beneath is in it */
	assert_int_equal(v.disk.bytes_written, 330);
	assert_int_equal(v.disk.bytes_read, 250);
	assert_near(v.ranks[0].io.write_time, 4);
	assert_near(v.ranks[0].disk.write_time, 2);
	assert_int_equal(v.ranks[0].files, 1);
	assert_int_equal(v.ranks[1].files, 2);
	assert_int_equal(v.layer[RAMA_JOB_LAYER_MPIIO].files, 2);
	rama_job_view_fini(&v);
	made_free(m);
}

static void stdio_and_posix_add_up(void **st)
{
	struct made *m = made_new(1, 0, 10);
	uint64_t a = made_name(m, "/a");
	union rama_core_word *w = made_row(m, RAMA_TAB_MOD_STDIO, a, 0);
	struct rama_job_view v;

	(void)st;
	w[RAMA_TAB_STDIO_READS].i = 2;
	w[RAMA_TAB_STDIO_BYTES_READ].i = 5000;
	w[RAMA_TAB_STDIO_F_READ_TIME].f = 1;
	made_posix(m, a, 0, (int64_t[]){ 0, 1 }, (int64_t[]){ 0, 100 }, (double[]){ 0, 0.5, 0 });
	made_view(m, &v);
	assert_int_equal(v.files[0].io.bytes_read, 5100);
	assert_near(v.files[0].io.read_time, 1.5);
	assert_int_equal(v.files[0].top, RAMA_JOB_LAYER_STDIO);
	assert_int_equal(v.ranks[0].files, 1);
	rama_job_view_fini(&v);
	made_free(m);
}

static void other_calls_count_as_metadata(void **st)
{
	struct made *m = made_new(1, 0, 10);
	uint64_t a = made_name(m, "/a"), gone = made_name(m, "/not/there");
	union rama_core_word *w;
	struct rama_job_view v;

	(void)st;
	made_posix(m, a, 0, (int64_t[]){ 0, 1 }, (int64_t[]){ 0, 100 }, (double[]){ 0, 0.5, 0 });
	w = made_row(m, RAMA_TAB_MOD_EXTRA, a, 0);
	w[RAMA_TAB_EXTRA_UNLINKS].i = 1;
	w[RAMA_TAB_EXTRA_F_META_TIME].f = 0.25;
	w[RAMA_TAB_EXTRA_F_META_END_TIMESTAMP].f = 9;
	w = made_row(m, RAMA_TAB_MOD_EXTRA, gone, 0);
	w[RAMA_TAB_EXTRA_OPENS_FAILED].i = 4;
	w[RAMA_TAB_EXTRA_F_META_TIME].f = 0.5;
	made_view(m, &v);
	assert_near(v.total.meta_time, 0.75);
	assert_int_equal(v.total.metas, 1 + 1 + 4);
	assert_int_equal(v.n_files, 2);
	assert_int_equal(v.n_real, 1);
	assert_true(made_file(&v, "/not/there")->unopened);
	assert_near(made_file(&v, "/a")->end, 9);
	rama_job_view_fini(&v);
	made_free(m);
}

static void objects_are_beneath_dfs(void **st)
{
	struct made *m = made_new(1, 0, 10);
	union rama_core_word *w = made_row(m, RAMA_TAB_MOD_DFS, made_name(m, "/f"), 0);
	struct rama_job_view v;

	(void)st;
	w[RAMA_TAB_DFS_WRITES].i = 1;
	w[RAMA_TAB_DFS_BYTES_WRITTEN].i = 64;
	w = made_row(m, RAMA_TAB_MOD_DAOS, made_name(m, "1.2"), 0);
	w[RAMA_TAB_DAOS_ARRAY_WRITES].i = 3;
	w[RAMA_TAB_DAOS_BYTES_WRITTEN].i = 70;
	made_view(m, &v);
	assert_int_equal(v.total.bytes_written, 64);
	assert_int_equal(v.disk.bytes_written, 64);
	assert_int_equal(v.layer[RAMA_JOB_LAYER_DAOS].io.bytes_written, 70);
	rama_job_view_fini(&v);
	made_free(m);
}

static void parts_belong_to_files(void **st)
{
	struct made *m = made_new(2, 0, 10);
	uint64_t file = made_name(m, "/d/f.h5"), one = made_name(m, "/d/f.h5:/grp/one"),
		 two = made_name(m, "/d/f.h5:/two"), alone = made_name(m, "nowhere");
	uint64_t id[] = { one, two, two, alone };
	struct rama_job_view v;

	(void)st;
	made_posix(m, file, -1, (int64_t[]){ 1, 0 }, (int64_t[]){ 9, 0 }, (double[]){ 1, 0, 0 });
	for (unsigned i = 0; i < 4; i++) {
		union rama_core_word *w = made_row(m, RAMA_TAB_MOD_H5D, id[i], i == 2 ? 1 : 0);

		w[RAMA_TAB_H5D_WRITES].i = 1 + (int64_t)i;
		w[RAMA_TAB_H5D_BYTES_WRITTEN].i = 100;
		w[RAMA_TAB_H5D_CHUNK_SIZE_D1].i = 10 * (int64_t)i;
		/* the others are found by name */
		w[RAMA_TAB_H5D_FILE_REC_ID].u = i == 0 ? file : 0;
	}
	made_view(m, &v);
	assert_int_equal(v.n_parts, 3);
	assert_int_equal(v.n_files, 2);
	assert_int_equal(made_file(&v, "/d/f.h5")->parts, 2);
	assert_int_equal(made_file(&v, "/d/f.h5")->rows[RAMA_JOB_LAYER_H5D], 3);
	assert_int_equal(made_file(&v, "/d/f.h5")->rec[RAMA_JOB_LAYER_H5D][RAMA_TAB_H5D_WRITES].i,
			 1 + 2 + 3);
	assert_int_equal(made_file(&v, "/d/f.h5")->rec[RAMA_JOB_LAYER_H5D][RAMA_TAB_ID].u, file);
	assert_int_equal(made_file(&v, "nowhere")->parts, 1);
	assert_string_equal(v.parts[1].name, "/d/f.h5:/two");
	assert_int_equal(v.parts[1].rows, 2);
	assert_int_equal(v.parts[1].rec[RAMA_TAB_H5D_WRITES].i, 5);
	assert_int_equal(v.layer[RAMA_JOB_LAYER_H5D].files, 2);
	assert_int_equal(v.total.bytes_written, 9); /* datasets are above what is counted */
	rama_job_view_fini(&v);
	made_free(m);
}

static void damaged_ranks_and_ids(void **st)
{
	struct made *m = made_new(2, 0, 10);
	struct rama_job_view v;

	(void)st;
	made_posix(m, 5, 7, (int64_t[]){ 1, 0 }, (int64_t[]){ 9, 0 }, (double[]){ 1, 0, 0 });
	made_posix(m, 5, -9, (int64_t[]){ 1, 0 }, (int64_t[]){ INT64_MAX, INT64_MAX },
		   (double[]){ 1, 0, 0 })[RAMA_TAB_POSIX_SLOWEST_RANK]
		.i = INT64_MIN;
	made_damaged(m, &v);
	assert_string_equal(v.files[0].name, "#5");
	assert_false(v.files[0].named);
	assert_int_equal(v.total.bytes_written, INT64_MAX); /* not less than nothing */
	assert_int_equal(v.files[0].rec[RAMA_JOB_LAYER_POSIX][RAMA_TAB_POSIX_BYTES_WRITTEN].i,
			 INT64_MAX);
	rama_job_view_fini(&v);
	made_free(m);
}

UNIT_GROUP(rows, test(rows_of_ranks), test(shared_row_is_laid_upon_ranks),
	   test(alike_means_all_are_active), test(one_process_calls_its_files_shared),
	   test(not_monitored_is_no_number), test(times_that_are_none_count_nothing),
	   test(streams_are_no_files), test(mpiio_is_above_posix), test(stdio_and_posix_add_up),
	   test(other_calls_count_as_metadata), test(objects_are_beneath_dfs),
	   test(parts_belong_to_files), test(damaged_ranks_and_ids))
