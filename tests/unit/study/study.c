/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <unistd.h>

#include "base/file.h"
#include "logs.h"
#include "study/fleet.h"
#include "study/study.h"

static char folder[64];

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command) != 0)
		fprintf(stderr, "%s stays\n", folder);
}

static const char *path_of(const char *name)
{
	static char path[4][128];
	static unsigned n;

	if (folder[0] == '\0') {
		snprintf(folder, sizeof(folder), "/tmp/iorama-study-XXXXXX");
		assert_non_null(mkdtemp(folder));
		atexit(remove_folder);
	}
	n = (n + 1) % 4;
	snprintf(path[n], sizeof(path[n]), "%s/%s", folder, name);
	return path[n];
}

/* a log with one record; its last `cut` bytes are missing */
static void make_log(struct memfile *f, size_t cut)
{
	struct rng r = { 1 };
	struct rama_log_writer w;
	struct sample *x = calloc(1, sizeof(*x));

	*f = (struct memfile){ 0 };
	assert_non_null(x);
	sample_make(x, RAMA_TAB_MOD_POSIX, &r, 0);
	writer_start(&w, f, 1);
	assert_int_equal(rama_log_writer_name(&w, x->w[RAMA_TAB_ID].u, "/scratch/out", 12), 0);
	assert_int_equal(rama_log_writer_module(&w, RAMA_TAB_MOD_POSIX, 4), 0);
	sample_write(&w, x);
	writer_end(&w, 0);
	f->n -= cut;
	free(x);
}

static const char *saved(const struct memfile *f, const char *name)
{
	const char *path = path_of(name);
	FILE *to = fopen(path, "we");

	assert_non_null(to);
	assert_int_equal(fwrite(f->bytes, 1, f->n, to), f->n);
	fclose(to);
	return path;
}

/* what is told */
struct heard {
	unsigned problems, notes, steps;
	char path[128], line[300];
	double share;
};

static void hear_problem(void *ctx, const char *path, const char *line)
{
	struct heard *h = ctx;

	h->problems++;
	snprintf(h->path, sizeof(h->path), "%s", path);
	snprintf(h->line, sizeof(h->line), "%s", line);
}

static void hear_note(void *ctx, const char *path, const char *line)
{
	(void)path, (void)line;
	((struct heard *)ctx)->notes++;
}

static void hear_progress(void *ctx, const char *path, double share)
{
	struct heard *h = ctx;

	(void)path;
	h->steps++;
	h->share = share;
}

static int read_job(struct rama_study *s, const struct rama_study_source *from, size_t n,
		    const char *only, struct heard *h)
{
	struct rama_diag_profile profile;
	struct rama_study_options opt = { .profile = &profile,
					  .only = only,
					  .told = { hear_problem, hear_note, hear_progress, h } };
	int rc;

	*h = (struct heard){ 0 };
	assert_int_equal(rama_diag_profile_init(&profile), 0);
	rc = rama_study_open(s, from, n, &opt);
	rama_diag_profile_fini(&profile);
	return rc;
}

/* The same log from a file and from memory: the same job, and nothing to complain about. */
static void of_a_file_and_of_memory(void **state)
{
	struct rama_study a, b;
	struct heard h;
	struct memfile f;

	(void)state;
	make_log(&f, 0);
	assert_int_equal(read_job(&a, &(struct rama_study_source){ .path = saved(&f, "a.darshan") },
				  1, NULL, &h),
			 0);
	assert_true(a.viewed && a.diagnosed && a.reported);
	assert_int_equal(h.problems, 0);
	assert_int_equal(
		read_job(&b,
			 &(struct rama_study_source){ .path = "b", .bytes = f.bytes, .len = f.n },
			 1, NULL, &h),
		0);
	assert_true(b.reported);
	assert_int_equal(a.view.n_files, b.view.n_files);
	assert_int_equal(a.view.nprocs, plain_job.nprocs);
	assert_int_equal(a.diagnosis.n_findings, b.diagnosis.n_findings);
	assert_string_equal(b.view.logs[0], "b");
	rama_study_close(&a);
	rama_study_close(&b);
	memfile_free(&f);
}

/* What is not there and what is no log: told by name, an error, no report, and nothing to leak. */
static void of_what_is_no_log(void **state)
{
	struct rama_study_source missing = { .path = "/nowhere/x.darshan" };
	struct memfile noise = { 0 };
	struct rama_study s;
	struct heard h;

	(void)state;
	assert_int_equal(rama_err_status(read_job(&s, &missing, 1, NULL, &h)), 3);
	assert_false(s.reported);
	assert_int_equal(h.problems, 1);
	assert_string_equal(h.path, missing.path);
	rama_study_close(&s);
	memfile_append(&noise, "this is no log at all, but it is long enough", 44);
	assert_int_equal(read_job(&s,
				  &(struct rama_study_source){
					  .path = "noise", .bytes = noise.bytes, .len = noise.n },
				  1, NULL, &h),
			 RAMA_EFORMAT);
	assert_false(s.reported);
	assert_string_equal(h.path, "noise");
	rama_study_close(&s);
	memfile_free(&noise);
}

/* Whatever is cut off: if something was wrong it is an error, also where a report is made of the
 * rest. */
static void of_a_damaged_one(void **state)
{
	struct rama_study s;
	struct heard h;
	struct memfile f;
	unsigned partly = 0;

	(void)state;
	make_log(&f, 0);
	for (size_t n = f.n; n > 0; n -= n > 7 ? 7 : n) {
		struct rama_study_source from = { .path = "cut", .bytes = f.bytes, .len = n };
		int rc = read_job(&s, &from, 1, NULL, &h);

		assert_int_equal(rc != 0, h.problems > 0);
		partly += s.reported && h.problems > 0;
		rama_study_close(&s);
	}
	assert_true(partly > 0);
	memfile_free(&f);
}

/* One of two cannot be read: there is a report of the other, and it is said. */
static void of_several(void **state)
{
	struct rama_study s;
	struct heard h;
	struct memfile f;

	(void)state;
	make_log(&f, 0);
	{
		struct rama_study_source from[] = { { .path = "/nowhere/x.darshan" },
						    { .path = saved(&f, "one.darshan") } };

		assert_int_equal(rama_err_status(read_job(&s, from, 2, NULL, &h)), 3);
	}
	assert_true(s.reported);
	assert_int_equal(s.view.n_logs, 1);
	assert_int_equal(h.problems, 1);
	rama_study_close(&s);
	memfile_free(&f);
}

static void only_some_findings(void **state)
{
	struct rama_study all, few;
	struct heard h;
	struct memfile f;
	struct rama_study_source from;

	(void)state;
	make_log(&f, 0);
	from = (struct rama_study_source){ .path = "x", .bytes = f.bytes, .len = f.n };
	assert_int_equal(read_job(&all, &from, 1, NULL, &h), 0);
	assert_true(all.diagnosis.n_findings > 1);
	{
		const char *rule = all.diagnosis.findings[1].rule->id;

		assert_true(rama_study_knows(rule, strlen(rule)));
		assert_int_equal(read_job(&few, &from, 1, rule, &h), 0);
		assert_true(few.diagnosis.n_findings >= 1 &&
			    few.diagnosis.n_findings < all.diagnosis.n_findings);
		for (size_t i = 0; i < few.diagnosis.n_findings; i++)
			assert_string_equal(few.diagnosis.findings[i].rule->id, rule);
	}
	assert_false(rama_study_knows("Z99", 3));
	rama_study_close(&all);
	rama_study_close(&few);
	memfile_free(&f);
}

/* ---- many ------------------------------------------------------------------------------------ */

struct steps {
	size_t done, damaged;
};

static void count_steps(void *ctx, size_t done, size_t damaged)
{
	struct steps *s = ctx;

	assert_true(done == s->done + 1 && damaged >= s->damaged);
	*s = (struct steps){ done, damaged };
}

static void of_a_fleet(void **state)
{
	struct steps steps = { 0 };
	struct rama_diag_profile profile;
	struct rama_report_fleet fleet;
	struct rama_err e = { 0 };
	struct memfile f;
	const char *path[3];
	struct rama_study_fleet q = {
		.path = path, .n = 3, .profile = &profile, .progress = count_steps, .ctx = &steps
	};

	(void)state;
	make_log(&f, 0);
	path[0] = saved(&f, "f.darshan");
	path[1] = "/nowhere/y.darshan";
	path[2] = path[0];
	assert_int_equal(rama_diag_profile_init(&profile), 0);
	assert_int_equal(rama_study_fleet_read(&q, &fleet), 0);
	assert_int_equal(rama_report_fleet_finish(&fleet, 5, &e), 0);
	assert_true(steps.done == 3 && steps.damaged == 1);
	assert_int_equal(fleet.n_logs, 3);
	assert_int_equal(fleet.n_unread, 1);
	assert_non_null(fleet.logs[1].problem);
	assert_true(fleet.logs[0].read && fleet.logs[2].read && fleet.logs[0].problem == NULL);
	rama_report_fleet_fini(&fleet);
	rama_diag_profile_fini(&profile);
	memfile_free(&f);
}

UNIT_GROUP(study, test(of_a_file_and_of_memory), test(of_what_is_no_log), test(of_a_damaged_one),
	   test(of_several), test(only_some_findings), test(of_a_fleet))
