/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "dir.h"
#include "launch/log.h"
#include "launch/run/made.h"

static void places_are_checked(void **state)
{
	char dir[PATH_MAX], file[PATH_MAX + 16];
	struct heard h = { 0 };
	struct rama_launch_told told = { .problem = hear, .ctx = &h };
	struct rama_launch_log_place p = { .dir = dir };

	(void)state;
	dir_make(dir);
	assert_int_equal(rama_launch_log_check(&p, &told), 0);
	snprintf(file, sizeof(file), "%s/x.darshan", dir);
	p = (struct rama_launch_log_place){ .file = file };
	assert_int_equal(rama_launch_log_check(&p, &told), 0);
	assert_int_equal(h.n, 0);
	file_make(dir, "x.darshan", "");
	assert_int_equal(rama_launch_log_check(&p, &told), RAMA_EIO);
	assert_string_equal(h.about, file);
	assert_string_equal(h.line, "exists already; -f replaces it");
	p.force = true;
	assert_int_equal(rama_launch_log_check(&p, &told), 0);
	p.file = dir;
	assert_int_equal(rama_launch_log_check(&p, &told), RAMA_EIO);
	assert_string_equal(h.line, "is a directory; --log-dir takes one");
	p = (struct rama_launch_log_place){ .dir = file };
	assert_int_equal(rama_launch_log_check(&p, &told), RAMA_EIO);
	assert_string_equal(h.line, "the log cannot go there: it is no directory");
	assert_int_equal(h.n, 3);
	dir_remove(dir);
}

/* what ranks made on their own only moves; a file that is there stays */
static void a_log_gets_a_name_of_its_own(void **state)
{
	char dir[PATH_MAX], wanted[PATH_MAX + 16], made[PATH_MAX + 16], path[PATH_MAX],
		second[PATH_MAX + 32];
	struct rama_launch_log_place p = { .file = wanted };
	struct rama_launch_log_about about = { .program = "p" };
	const char *logs[] = { made };
	struct rama_gather_options opt = { .logs = logs, .n_logs = 1 };
	struct rama_gather_result result;
	struct rama_gather_list none = { 0 };
	struct rama_err e = { 0 };

	(void)state;
	dir_make(dir);
	snprintf(wanted, sizeof(wanted), "%s/x.darshan", dir);
	snprintf(made, sizeof(made), "%s/.made", dir);
	file_make(dir, "x.darshan", "old");
	file_make(dir, ".made", "new");
	assert_int_equal(rama_launch_log_make(&p, &none, &about, &opt, path, &result, &e), 0);
	snprintf(second, sizeof(second), "%s/x-2.darshan", dir);
	assert_string_equal(path, second);
	assert_int_equal(access(path, R_OK), 0);
	assert_int_equal(access(made, F_OK), -1);
	file_make(dir, ".made", "new");
	p.force = true;
	assert_int_equal(rama_launch_log_make(&p, &none, &about, &opt, path, &result, &e), 0);
	assert_string_equal(path, wanted);
	dir_remove(dir);
}

static void programs_have_short_names(void **state)
{
	char to[64];

	(void)state;
	rama_launch_log_program(to, sizeof(to), "/usr/bin/prog -x /y");
	assert_string_equal(to, "prog");
	rama_launch_log_program(to, sizeof(to), "prog");
	assert_string_equal(to, "prog");
}

/* logs of ranks are found by the name of the job; what they left half done goes */
static void logs_of_ranks_are_found(void **state)
{
	char dir[PATH_MAX], path[PATH_MAX + 32];
	struct rama_launch_log_place p = { .dir = dir };
	struct rama_launch_made m = { 0 };
	struct rama_err e = { 0 };

	(void)state;
	dir_make(dir);
	assert_int_equal(rama_launch_made_init(&m, &p, "run-1", &e), 0);
	file_make(dir, ".run-1.a.darshan", "");
	file_make(dir, ".run-1.b.darshan", "");
	file_make(dir, ".run-1.c.tmp", "");
	file_make(dir, ".run-12.a.darshan", "");
	assert_int_equal(rama_launch_made_find(&m, &e), 0);
	assert_int_equal(m.it.n, 2);
	snprintf(path, sizeof(path), "%s/.run-1.c.tmp", dir);
	assert_int_equal(access(path, F_OK), -1);
	rama_launch_made_remove(&m);
	snprintf(path, sizeof(path), "%s/.run-1.a.darshan", dir);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/.run-12.a.darshan", dir);
	assert_int_equal(access(path, F_OK), 0);
	rama_launch_made_fini(&m);
	dir_remove(dir);
}

UNIT_GROUP(log, test(places_are_checked), test(a_log_gets_a_name_of_its_own),
	   test(programs_have_short_names), test(logs_of_ranks_are_found))
