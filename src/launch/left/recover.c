/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/left/recover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void worse(struct rama_launch_recover *r, int status)
{
	if (status > r->status)
		r->status = status;
}

static void tell(const struct rama_launch_recover *r, const struct rama_launch_recovered *done)
{
	if (r->done != NULL)
		r->done(r->told.ctx, done);
}

static void say_bad(struct rama_launch_recover *r, const struct rama_launch_job *j)
{
	for (size_t i = 0; i < j->infos.n; i++)
		if (j->infos.info[i].bad)
			rama_launch_problem(&r->told, j->infos.info[i].path, "%s",
					    j->infos.info[i].text);
	if (j->infos.bad > 0)
		worse(r, 3);
}

static void drop(struct rama_launch_recover *r, struct rama_launch_job *j, const bool *keep)
{
	if (j->dir != NULL) {
		rama_gather_place_remove(j->dir, &j->segs, keep, false);
		return;
	}
	for (size_t i = 0; i < j->segs.n; i++)
		if ((keep == NULL || !keep[i]) && unlink(j->segs.path[i]) != 0) {
			rama_launch_problem(&r->told, j->segs.path[i], "cannot be removed: %s",
					    strerror(errno));
			worse(r, 4);
		}
}

static void remove_job(struct rama_launch_recover *r, struct rama_launch_job *j)
{
	drop(r, j, NULL);
	r->made++;
	tell(r, &(struct rama_launch_recovered){ .job = j, .what = RAMA_LAUNCH_REMOVED });
}

/* what was read is in the log; what was not stays, and so does all of a job that runs */
static void drop_read(struct rama_launch_recover *r, struct rama_launch_job *j)
{
	bool *keep = calloc(j->segs.n + 1, sizeof(*keep));

	for (size_t i = 0; keep != NULL && i < j->infos.n; i++)
		keep[i] = j->infos.info[i].bad;
	if (keep != NULL && !rama_launch_job_runs(j))
		drop(r, j, keep);
	free(keep);
}

static void silent(void *ctx, const char *line)
{
	(void)ctx;
	(void)line;
}

/* The segments that have no log yet. Processes that ended while an agent read their live events
 * have one. */
static size_t without_log(const struct rama_launch_job *j, struct rama_gather_list *some)
{
	*some = (struct rama_gather_list){ .path = calloc(j->segs.n + 1, sizeof(*some->path)) };
	for (size_t i = 0; some->path != NULL && i < j->infos.n; i++)
		if (!j->infos.info[i].logged)
			some->path[some->n++] = j->segs.path[i];
	return some->n;
}

static void make_log(struct rama_launch_recover *r, struct rama_launch_job *j)
{
	const struct rama_launch_seg_info *first = rama_launch_job_first(j);
	struct rama_gather_options opt = { .reduce = true,
					   .incomplete = true,
					   .jobid = -1,
					   .progress = r->told.progress,
					   .ctx = r->told.ctx,
					   .problem = silent /* said already */ };
	char path[PATH_MAX], program[NAME_MAX + 1];
	struct rama_launch_recovered done = { .job = j, .what = RAMA_LAUNCH_MADE, .log = path };
	struct rama_launch_log_about about = { .program = program,
					       .jobid = first->jobid,
					       .pid = first->pid,
					       .start = j->infos.start };
	struct rama_gather_list some;
	struct rama_err e = { 0 };
	int rc = 0;

	if (without_log(j, &some) > 0) {
		rama_launch_log_program(program, sizeof(program), first->text);
		rc = rama_launch_log_make(&r->log, &some, &about, &opt, path, &done.result, &e);
	} else {
		done.what = RAMA_LAUNCH_LOGGED;
	}
	free(some.path);
	if (rc != 0) {
		rama_launch_problem(&r->told, rama_launch_job_name(j), "%s; its segments stay",
				    e.text);
		worse(r, rama_err_status(e.code));
		return;
	}
	r->made++;
	tell(r, &done);
	drop_read(r, j);
}

/* ---- which segments -------------------------------------------------------------------------- */

bool rama_launch_recover_is_batch(const char *text)
{
	size_t n = strspn(text, "0123456789");

	return n > 0 && n < 19 && (text[n] == '\0' || (text[n] == '.' && text[n + 1] != '\0'));
}

static bool is_wanted(const struct rama_launch_recover *r, const struct rama_launch_seg_info *info)
{
	char *end;
	int64_t id = strtoll(r->batch, &end, 10);

	return !info->bad && info->jobid == id &&
	       (*end == '\0' || strcmp(end + 1, info->step) == 0);
}

/* leaves those that are asked for */
static int choose(const struct rama_launch_recover *r, struct rama_launch_job *j,
		  struct rama_err *e)
{
	size_t n = 0;

	if (r->batch == NULL)
		return 0;
	for (size_t i = 0; i < j->infos.n; i++) {
		if (is_wanted(r, &j->infos.info[i]))
			j->segs.path[n++] = j->segs.path[i];
		else
			free(j->segs.path[i]);
	}
	j->segs.n = n;
	rama_launch_seg_infos_fini(&j->infos);
	return rama_launch_seg_infos_read(&j->infos, &j->segs) == 0 ? 0 : rama_err_no_memory(e);
}

/* Between looking and locking somebody else may have made the log: what is there now? */
static int look_again(const struct rama_launch_recover *r, struct rama_launch_job *j)
{
	struct rama_err e = { 0 };
	struct rama_gather_list now = { 0 };
	int rc = access(j->dir, F_OK) == 0 ? rama_gather_find(&now, j->dir, &e) : 0;

	rama_gather_list_fini(&j->segs);
	rama_launch_seg_infos_fini(&j->infos);
	j->segs = now;
	if (rc == 0)
		rc = rama_launch_seg_infos_read(&j->infos, &j->segs);
	return rc == 0 ? choose(r, j, &e) : rc;
}

void rama_launch_recover_job(struct rama_launch_recover *r, struct rama_launch_job *j)
{
	bool named = r->running && !r->remove, any = j->segs.n > 0, gone = false;
	int lock = -2;

	if (rama_launch_job_runs(j) && !named) {
		r->left++;
		rama_launch_note(&r->told, rama_launch_job_name(j), "%s",
				 strcmp(rama_launch_job_state(j), "elsewhere") == 0
					 ? "belongs to another machine; recover it there, or "
					   "with --running here"
					 : "still runs; --running makes a log of it as it is");
		return;
	}
	if (j->dir != NULL && !j->locked) {
		lock = rama_gather_place_lock(j->dir);
		gone = any && (look_again(r, j) != 0 || j->segs.n == 0);
	}
	if (lock == -1 || gone) {
		r->left++; /* somebody was faster */
	} else if (r->remove || j->segs.n == 0) {
		if (j->segs.n > 0)
			remove_job(r, j);
		else
			drop(r, j, NULL);
	} else {
		say_bad(r, j);
		if (j->infos.processes > 0)
			make_log(r, j);
	}
	if (lock >= 0)
		close(lock);
}

/* jobs that have none of them are as if they were not there */
static int only_wanted(struct rama_launch_recover *r, struct rama_err *e)
{
	int rc = 0;

	for (size_t i = r->batch != NULL ? r->jobs.n : 0; i-- > 0 && rc == 0;) {
		rc = choose(r, &r->jobs.job[i], e);
		if (rc == 0 && r->jobs.job[i].segs.n == 0)
			rama_launch_jobs_remove(&r->jobs, i);
	}
	return rc;
}

int rama_launch_recover_find(struct rama_launch_recover *r, const char *const *args, size_t n_args,
			     struct rama_err *e)
{
	const char **files = calloc(n_args + 1, sizeof(*files));
	size_t n = 0;
	int rc = 0;

	if (files == NULL)
		return rama_err_no_memory(e);
	if (n_args == 0)
		rc = rama_launch_jobs_add_default(&r->jobs, e);
	for (size_t i = 0; rc == 0 && i < n_args; i++) {
		struct stat st;

		if (stat(args[i], &st) != 0)
			rc = rama_err_set(e, RAMA_EMISSING, "%s: %s", args[i], strerror(errno));
		else if (S_ISDIR(st.st_mode))
			rc = rama_launch_jobs_add_dir(&r->jobs, args[i], e);
		else
			files[n++] = args[i];
	}
	if (rc == 0 && n > 0)
		rc = rama_launch_jobs_add_files(&r->jobs, files, n, e);
	free(files);
	return rc == 0 ? only_wanted(r, e) : rc;
}

size_t rama_launch_recover_ready(const struct rama_launch_recover *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->jobs.n; i++)
		n += r->jobs.job[i].infos.processes > 0 &&
		     (r->running || !rama_launch_job_runs(&r->jobs.job[i]));
	return n;
}
