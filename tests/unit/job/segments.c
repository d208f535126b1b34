/* SPDX-License-Identifier: BSD-3-Clause */
/* segments.c: a job seen through the segments that its processes left or still write. */
#include <math.h>
#include <sys/stat.h>

#include "made.h"
#include "segs.h"

static void segments_are_a_job(void **st)
{
	struct rama_err e = { 0 };
	struct rama_job_view v;
	char dir[64];

	(void)st;
	segs_make(dir, sizeof(dir), 4096);
	rama_job_view_init(&v, NULL);
	assert_int_equal(rama_job_view_add_segments(&v, dir, &e), 0);
	assert_int_equal(rama_job_view_finish(&v, &e), 0);
	made_check(&v);
	assert_int_equal(v.nprocs, 2);
	assert_string_equal(v.logs[0], dir);
	assert_int_equal(v.n_real, 1);
	assert_string_equal(v.files[0].name, "/data/shared");
	assert_int_equal(v.total.bytes_written, 8192);
	assert_int_equal(v.unfinished, 1);
	assert_false(v.complete);
	assert_int_equal(v.problems, 0);
	assert_int_equal(v.nodes, 1);
	assert_int_equal(v.ranks[1].pid, 101);
	rama_job_view_fini(&v);
	segs_remove(dir);
}

static void what_cannot_be_read_is_counted(void **st)
{
	struct rama_err e = { 0 };
	struct rama_job_view v;
	char dir[64];

	(void)st;
	segs_make(dir, sizeof(dir), 1);
	segs_spoil(dir);
	rama_job_view_init(&v, NULL);
	assert_int_equal(rama_job_view_add_segments(&v, dir, &e), 0);
	assert_int_equal(rama_job_view_finish(&v, &e), 0);
	assert_int_equal(v.problems, 1);
	assert_int_equal(v.total.bytes_written, 2);
	rama_job_view_fini(&v);
	segs_remove(dir);
}

static void a_directory_without_segments(void **st)
{
	struct rama_err e = { 0 };
	struct rama_job_view v;
	char dir[] = "/tmp/iorama-test-XXXXXX";

	(void)st;
	assert_non_null(mkdtemp(dir));
	rama_job_view_init(&v, NULL);
	assert_int_equal(rama_job_view_add_segments(&v, dir, &e), RAMA_EMISSING);
	assert_non_null(strstr(e.text, "without segments"));
	rama_job_view_fini(&v);
	segs_remove(dir);
}

UNIT_GROUP(segments, test(segments_are_a_job), test(what_cannot_be_read_is_counted),
	   test(a_directory_without_segments))
