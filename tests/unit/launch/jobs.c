/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "dir.h"
#include "launch/find.h"
#include "launch/place.h"
#include "launch/left/recover.h"
#include "launch/run/run.h"

static void states_are_told_apart(void **state)
{
	struct rama_launch_seg_info info[2] = { { .start = 9 }, { .start = 3 } };
	char *paths[] = { "/s/1", "/s/2" };
	struct rama_launch_job j = { 0 };

	(void)state;
	assert_string_equal(rama_launch_job_state(&j), "empty");
	j.segs = (struct rama_gather_list){ .path = paths, .n = 2 };
	j.infos = (struct rama_launch_seg_infos){ .info = info, .n = 2, .processes = 2 };
	assert_string_equal(rama_launch_job_state(&j), "dead");
	assert_false(rama_launch_job_runs(&j));
	assert_string_equal(rama_launch_job_name(&j), "/s/1");
	assert_ptr_equal(rama_launch_job_first(&j), &info[1]);
	info[1].bad = true;
	assert_ptr_equal(rama_launch_job_first(&j), &info[0]);
	j.infos.unknown = 1;
	assert_string_equal(rama_launch_job_state(&j), "elsewhere");
	j.infos.alive = 1;
	assert_string_equal(rama_launch_job_state(&j), "running");
	assert_true(rama_launch_job_runs(&j));
	j.infos = (struct rama_launch_seg_infos){ .bad = 2 };
	assert_string_equal(rama_launch_job_state(&j), "bad");
}

/* a place of its own, locked; its job is found, left alone while it runs, and removed then */
static void a_job_is_found_and_removed(void **state)
{
	char dir[PATH_MAX];
	struct heard h = { 0 };
	struct rama_launch_recover r = { .remove = true, .told = { hear, hear, .ctx = &h } };
	const char *args[] = { dir };
	struct rama_launch_place p;
	struct rama_err e = { 0 };

	(void)state;
	dir_make(dir);
	setenv("IORAMA_DIR", dir, 1);
	assert_int_equal(rama_launch_place_make(&p, &e), 0);
	assert_int_equal(strncmp(p.dir, p.root, strlen(p.root)), 0);
	file_make(p.dir, "host.1.0.seg", "no segment at all");
	assert_int_equal(rama_launch_recover_find(&r, args, 1, &e), 0);
	assert_int_equal(r.jobs.n, 1);
	assert_true(r.jobs.job[0].locked);
	assert_int_equal(rama_launch_recover_ready(&r), 0);
	rama_launch_recover_job(&r, &r.jobs.job[0]);
	assert_int_equal(r.left, 1);
	assert_string_equal(h.line, "still runs; --running makes a log of it as it is");
	rama_launch_jobs_fini(&r.jobs);

	rama_launch_place_unlock(&p);
	assert_int_equal(rama_launch_recover_find(&r, args, 1, &e), 0);
	assert_false(r.jobs.job[0].locked);
	assert_string_equal(rama_launch_job_state(&r.jobs.job[0]), "bad");
	rama_launch_recover_job(&r, &r.jobs.job[0]);
	assert_int_equal(r.made, 1);
	assert_int_equal(access(p.dir, F_OK), -1);
	rama_launch_jobs_fini(&r.jobs);
	unsetenv("IORAMA_DIR");
	dir_remove(dir);
}

/* what cannot be read is told and stays */
static void bad_segments_stay(void **state)
{
	char dir[PATH_MAX], path[PATH_MAX + 32];
	struct heard h = { 0 };
	struct rama_launch_recover r = { .told = { hear, hear, .ctx = &h } };
	const char *args[] = { path };
	struct rama_err e = { 0 };

	(void)state;
	dir_make(dir);
	file_make(dir, "host.1.0.seg", "no segment at all");
	snprintf(path, sizeof(path), "%s/host.1.0.seg", dir);
	assert_int_equal(rama_launch_recover_find(&r, args, 1, &e), 0);
	rama_launch_recover_job(&r, &r.jobs.job[0]);
	assert_int_equal(r.status, 3);
	assert_int_equal(h.n, 1);
	assert_string_equal(h.about, path);
	assert_int_equal(access(path, F_OK), 0);
	rama_launch_jobs_fini(&r.jobs);
	snprintf(path, sizeof(path), "%s/nothing", dir);
	assert_int_equal(rama_launch_recover_find(&r, args, 1, &e), RAMA_EMISSING);
	rama_launch_jobs_fini(&r.jobs);
	dir_remove(dir);
}

/* a command that is prepared but not started leaves nothing behind */
static void a_plan_leaves_nothing(void **state)
{
	char dir[PATH_MAX];
	struct heard h = { 0 };
	const char *words[] = { "/bin/true", NULL }, *refused[] = { "sudo", "x", NULL },
		   *globs[] = { "/tmp/*" };
	struct rama_launch_run *r = calloc(1, sizeof(*r));
	struct rama_err e = { 0 };
	char dirs[PATH_MAX];

	(void)state;
	dir_make(dir);
	setenv("IORAMA_DIR", dir, 1);
	r->told = (struct rama_launch_told){ hear, hear, .ctx = &h };
	r->asked = (struct rama_launch_asked){ .args = words,
					       .library = "/bin/sh",
					       .jobid = 77,
					       .exclude = { globs, 1 },
					       .log = { .dir = dir } };
	assert_int_equal(rama_launch_run_prepare(r, &e), 0);
	assert_int_equal(r->jobid, 77);
	assert_string_equal(r->var[0].name, "LD_PRELOAD");
	assert_string_equal(r->var[r->n_vars - 1].name, "IORAMA_EXCLUDE");
	assert_string_equal(r->plan.argv[0], "/bin/true");
	snprintf(dirs, sizeof(dirs), "%s", r->place.dir);
	assert_int_equal(access(dirs, F_OK), 0);
	rama_launch_run_fini(r);
	assert_int_equal(access(dirs, F_OK), -1);

	memset(r, 0, sizeof(*r));
	r->told = (struct rama_launch_told){ hear, hear, .ctx = &h };
	r->asked = (struct rama_launch_asked){ .args = refused, .jobid = -1 };
	assert_int_equal(rama_launch_run_prepare(r, &e), RAMA_EUSAGE);
	assert_string_equal(h.about, "sudo");
	assert_int_equal(e.code, 0);
	rama_launch_run_fini(r);
	free(r);
	unsetenv("IORAMA_DIR");
	dir_remove(dir);
}

static void programs_are_found(void **state)
{
	char dir[PATH_MAX], path[PATH_MAX], file[PATH_MAX + 32];
	struct rama_program kind = { 0 };

	(void)state;
	dir_make(dir);
	file_make(dir, "script", "#!/usr/bin/env sh\n");
	file_make(dir, "mpirun.openmpi", "x");
	snprintf(file, sizeof(file), "%s/script", dir);
	assert_true(rama_launch_find_program(file, path));
	rama_launch_find_kind(path, &kind);
	assert_string_equal(strrchr(path, '/'), "/sh");
	assert_false(rama_launch_find_program("no-such-command-anywhere", path));
	snprintf(file, sizeof(file), "%s/mpirun.openmpi", dir);
	assert_int_equal(rama_launch_find_family(NULL, file), RAMA_LAUNCH_OPENMPI);
	file_make(dir, "mpirun", "... HYDRA ...");
	snprintf(file, sizeof(file), "%s/mpirun", dir);
	assert_int_equal(rama_launch_find_family(NULL, file), RAMA_LAUNCH_HYDRA);
	dir_remove(dir);
}

UNIT_GROUP(jobs, test(states_are_told_apart), test(a_job_is_found_and_removed),
	   test(bad_segments_stay), test(a_plan_leaves_nothing), test(programs_are_found))
