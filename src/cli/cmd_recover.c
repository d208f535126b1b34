/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_recover.c: iorama recover */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/run/jobs.h"
#include "cli/run/log.h"

struct recover {
	struct rama_cli_opts o;
	struct rama_cli_jobs jobs;
	struct rama_cli_log_place log;
	bool running, quiet, as_json;
	struct rama_out out;
	struct rama_json json;
	uint64_t now; /* ns since 1970 */
	size_t made, left;
	int status;
};

static int to_stdout(void *ctx, const char *bytes, size_t n)
{
	(void)ctx;
	return fwrite(bytes, 1, n, stdout) == n ? 0 : RAMA_EIO;
}

static void worse(struct recover *r, int status)
{
	if (status > r->status)
		r->status = status;
}

static const char *state_of(const struct rama_cli_job_left *j)
{
	if (j->locked || j->infos.alive > 0)
		return "running";
	if (j->segs.n == 0)
		return "empty";
	if (j->infos.unknown > 0)
		return "elsewhere"; /* on another machine, which alone knows */
	return j->infos.processes == 0 && j->infos.bad > 0 ? "bad" : "dead";
}

static const char *name_of(const struct rama_cli_job_left *j)
{
	return j->dir != NULL ? j->dir : j->segs.path[0];
}

/* the command of the first process that can be read */
static const struct rama_cli_seg_info *first_of(const struct rama_cli_job_left *j)
{
	const struct rama_cli_seg_info *first = NULL;

	for (size_t i = 0; i < j->infos.n; i++) {
		const struct rama_cli_seg_info *info = &j->infos.info[i];

		if (!info->bad && (first == NULL || info->start < first->start))
			first = info;
	}
	return first;
}

/* ---- --list --------------------------------------------------------------------------------- */

static double age_of(const struct recover *r, const struct rama_cli_job_left *j)
{
	return j->infos.start > 0 && r->now > j->infos.start
		       ? (double)(r->now - j->infos.start) / 1e9
		       : 0;
}

static void list_json(struct recover *r, const struct rama_cli_job_left *j)
{
	const struct rama_cli_seg_info *first = first_of(j);

	rama_json_open(&r->json, '{');
	rama_json_key_string(&r->json, "job", name_of(j));
	rama_json_key_string(&r->json, "state", state_of(j));
	rama_json_key_i64(&r->json, "processes", (int64_t)j->infos.processes);
	rama_json_key_i64(&r->json, "alive", (int64_t)j->infos.alive);
	rama_json_key_i64(&r->json, "bad", (int64_t)j->infos.bad);
	rama_json_key_f64(&r->json, "age", age_of(r, j));
	rama_json_key_i64(&r->json, "bytes", (int64_t)j->infos.size);
	rama_json_key_string(&r->json, "command", first != NULL ? first->text : NULL);
	rama_json_close(&r->json, '}');
}

static void age_text(char *to, size_t size, double s)
{
	if (s < 120)
		snprintf(to, size, "%.0f s", s);
	else if (s < 7200)
		snprintf(to, size, "%.0f min", s / 60);
	else if (s < 172800)
		snprintf(to, size, "%.0f h", s / 3600);
	else
		snprintf(to, size, "%.0f days", s / 86400);
}

static void list_text(struct recover *r, const struct rama_cli_job_left *j)
{
	const struct rama_cli_seg_info *first = first_of(j);
	char age[32];

	age_text(age, sizeof(age), age_of(r, j));
	printf("%-9s %9zu %9s %7.1f MiB  %s  %.80s\n", state_of(j), j->infos.processes, age,
	       (double)j->infos.size / 1048576, name_of(j), first != NULL ? first->text : "");
}

static void list(struct recover *r)
{
	if (!r->as_json && r->jobs.n > 0)
		printf("%-9s %9s %9s %11s  %s\n", "state", "processes", "age", "size",
		       "job, command");
	for (size_t i = 0; i < r->jobs.n; i++) {
		if (r->as_json)
			list_json(r, &r->jobs.job[i]);
		else
			list_text(r, &r->jobs.job[i]);
		if (r->jobs.job[i].infos.bad > 0)
			worse(r, 3);
	}
}

/* ---- making logs and removing --------------------------------------------------------------- */

static void say_bad(struct recover *r, const struct rama_cli_job_left *j)
{
	for (size_t i = 0; i < j->infos.n; i++)
		if (j->infos.info[i].bad)
			rama_cli_complain(j->infos.info[i].path, "%s", j->infos.info[i].text);
	if (j->infos.bad > 0)
		worse(r, 3);
}

static void drop(struct recover *r, struct rama_cli_job_left *j, const bool *keep)
{
	if (j->dir != NULL) {
		rama_gather_place_remove(j->dir, &j->segs, keep, false);
		return;
	}
	for (size_t i = 0; i < j->segs.n; i++)
		if ((keep == NULL || !keep[i]) && unlink(j->segs.path[i]) != 0) {
			rama_cli_complain(j->segs.path[i], "cannot be removed: %s",
					  strerror(errno));
			worse(r, 4);
		}
}

static void remove_job(struct recover *r, struct rama_cli_job_left *j)
{
	drop(r, j, NULL);
	r->made++;
	if (!r->quiet && !r->as_json)
		printf("%s: removed\n", name_of(j));
}

/* what was read is in the log; what was not stays, and so does all of a job that runs */
static void drop_read(struct recover *r, struct rama_cli_job_left *j)
{
	bool *keep = calloc(j->segs.n + 1, sizeof(*keep));

	for (size_t i = 0; keep != NULL && i < j->infos.n; i++)
		keep[i] = j->infos.info[i].bad;
	if (keep != NULL && !rama_cli_job_left_runs(j))
		drop(r, j, keep);
	free(keep);
}

static void made_json(struct recover *r, const struct rama_cli_job_left *j, const char *path,
		      const struct rama_gather_result *result)
{
	rama_json_open(&r->json, '{');
	rama_json_key_string(&r->json, "job", name_of(j));
	rama_json_key_string(&r->json, "state", state_of(j));
	rama_json_key_string(&r->json, "log", path);
	rama_json_key_i64(&r->json, "processes", result->nprocs);
	rama_json_key_i64(&r->json, "unfinished", (int64_t)result->unfinished);
	rama_json_key_i64(&r->json, "unreadable", (int64_t)result->unreadable);
	rama_json_close(&r->json, '}');
}

static void silent(void *ctx, const char *line)
{
	(void)ctx;
	(void)line;
}

/* The segments that have no log yet. Processes that ended while an agent read their live events
 * have one. */
static size_t without_log(const struct rama_cli_job_left *j, struct rama_gather_list *some)
{
	*some = (struct rama_gather_list){ .path = calloc(j->segs.n + 1, sizeof(*some->path)) };
	for (size_t i = 0; some->path != NULL && i < j->infos.n; i++)
		if (!j->infos.info[i].logged)
			some->path[some->n++] = j->segs.path[i];
	return some->n;
}

static void make_log(struct recover *r, struct rama_cli_job_left *j)
{
	const struct rama_cli_seg_info *first = first_of(j);
	struct rama_gather_options opt = { .reduce = true,
					   .incomplete = true,
					   .jobid = -1,
					   .progress = r->quiet ? NULL : rama_cli_log_progress,
					   .problem = silent /* said already */ };
	struct rama_gather_result result = { 0 };
	char path[PATH_MAX], program[NAME_MAX + 1];
	struct rama_cli_log_about about = { .program = program,
					    .jobid = first->jobid,
					    .pid = first->pid,
					    .start = j->infos.start };
	struct rama_gather_list some;
	struct rama_err e = { 0 };
	int rc = 0;

	if (without_log(j, &some) == 0) {
		free(some.path);
		if (!r->quiet && !r->as_json)
			printf("%s: removed; its logs were written, its live events were not read "
			       "to the end\n",
			       name_of(j));
		r->made++;
		drop_read(r, j);
		return;
	}
	rama_cli_log_program(program, sizeof(program), first->text);
	rc = rama_cli_log_make(&r->log, &some, &about, &opt, path, &result, &e);
	free(some.path);
	if (rc != 0) {
		rama_cli_complain(name_of(j), "%s; its segments stay", e.text);
		worse(r, rama_err_status(e.code));
		return;
	}
	r->made++;
	if (r->as_json)
		made_json(r, j, path, &result);
	else if (!r->quiet)
		printf("%s: %lld process%s, %s\n", name_of(j), (long long)result.nprocs,
		       result.nprocs == 1 ? "" : "es", path);
	drop_read(r, j);
}

static void one_job(struct recover *r, struct rama_cli_job_left *j)
{
	bool removing = rama_cli_opts_has(&r->o, RAMA_TAB_OPT_recover_remove);
	bool named = r->running && !removing;
	int lock = -2;

	if (rama_cli_job_left_runs(j) && !named) {
		r->left++;
		if (!r->quiet)
			rama_cli_complain(
				name_of(j),
				strcmp(state_of(j), "elsewhere") == 0
					? "belongs to another machine; recover it there, or "
					  "with --running here"
					: "still runs; --running makes a log of it as it is");
		return;
	}
	if (j->dir != NULL && !j->locked)
		lock = rama_gather_place_lock(j->dir);
	if (lock == -1) {
		r->left++; /* somebody was faster */
	} else if (removing || j->segs.n == 0) {
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

/* ---- what is asked for ---------------------------------------------------------------------- */

static int collect(struct recover *r)
{
	const char **files = calloc(r->o.n_args + 1, sizeof(*files));
	struct rama_err e = { 0 };
	size_t n = 0;
	int rc = files == NULL ? RAMA_EMEMORY : 0;

	if (rc == 0 && r->o.n_args == 0)
		rc = rama_cli_jobs_add_default(&r->jobs, &e);
	for (size_t i = 0; rc == 0 && i < r->o.n_args; i++) {
		struct stat st;

		if (stat(r->o.args[i], &st) != 0)
			rc = rama_err_set(&e, RAMA_EMISSING, "%s: %s", r->o.args[i],
					  strerror(errno));
		else if (S_ISDIR(st.st_mode))
			rc = rama_cli_jobs_add_dir(&r->jobs, r->o.args[i], &e);
		else
			files[n++] = r->o.args[i];
	}
	if (rc == 0 && n > 0)
		rc = rama_cli_jobs_add_files(&r->jobs, files, n, &e);
	free(files);
	if (rc == 0)
		return 0;
	rama_cli_complain("recover", "%s", e.code != 0 ? e.text : "out of memory");
	return rama_err_status(rc);
}

static size_t ready_jobs(const struct recover *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->jobs.n; i++)
		n += r->jobs.job[i].infos.processes > 0 &&
		     (r->running || !rama_cli_job_left_runs(&r->jobs.job[i]));
	return n;
}

static int work(struct recover *r)
{
	static const struct rama_cli_log_options_of options = { RAMA_TAB_OPT_recover_output,
								RAMA_TAB_OPT_recover_dir,
								RAMA_TAB_OPT_recover_force };
	bool only_list = rama_cli_opts_has(&r->o, RAMA_TAB_OPT_recover_list);
	int status = collect(r);

	if (status != 0)
		return status;
	if (!only_list && !rama_cli_opts_has(&r->o, RAMA_TAB_OPT_recover_remove) &&
	    ready_jobs(r) > 0) {
		if (rama_cli_opts_has(&r->o, RAMA_TAB_OPT_recover_output) && ready_jobs(r) > 1)
			rama_cli_opts_usage(&r->o,
					    "-o is for one job, and there are %zu; name one, or "
					    "use --log-dir",
					    ready_jobs(r));
		status = rama_cli_log_place_init(&r->log, &r->o, &options);
		if (status != 0)
			return status;
	}
	if (r->as_json)
		rama_json_open(&r->json, '[');
	if (only_list)
		list(r);
	for (size_t i = 0; !only_list && i < r->jobs.n; i++)
		one_job(r, &r->jobs.job[i]);
	if (r->as_json) {
		rama_json_close(&r->json, ']');
		rama_out_char(&r->out, '\n');
		rama_out_flush(&r->out);
	} else if (!r->quiet && r->status == 0 &&
		   (only_list ? r->jobs.n == 0 : r->made + r->left == 0)) {
		puts("nothing was left behind");
	}
	return r->status;
}

int rama_cli_cmd_recover(int argc, char **argv)
{
	struct recover r = { 0 };
	struct timespec now;
	int status;

	rama_cli_opts_parse(&r.o, RAMA_TAB_CMD_recover, argc, argv);
	r.running = rama_cli_opts_has(&r.o, RAMA_TAB_OPT_recover_running);
	r.quiet = rama_cli_opts_has(&r.o, RAMA_TAB_OPT_recover_quiet);
	r.as_json = rama_cli_opts_has(&r.o, RAMA_TAB_OPT_recover_json);
	clock_gettime(CLOCK_REALTIME, &now);
	r.now = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	rama_out_init(&r.out, to_stdout, NULL);
	rama_json_init(&r.json, &r.out);
	status = work(&r);
	rama_out_fini(&r.out);
	rama_cli_jobs_fini(&r.jobs);
	rama_cli_opts_fini(&r.o);
	return status;
}
