/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_recover.c: iorama recover */
#include <stdio.h>
#include <time.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/run/told.h"
#include "launch/left/recover.h"

struct recover {
	struct rama_cli_opts o;
	struct rama_launch_recover it;
	bool quiet, as_json;
	struct rama_out out;
	struct rama_json json;
	uint64_t now; /* ns since 1970 */
};

/* ---- --list --------------------------------------------------------------------------------- */

static double age_of(const struct recover *r, const struct rama_launch_job *j)
{
	return j->infos.start > 0 && r->now > j->infos.start
		       ? (double)(r->now - j->infos.start) / 1e9
		       : 0;
}

static void list_json(struct recover *r, const struct rama_launch_job *j)
{
	const struct rama_launch_seg_info *first = rama_launch_job_first(j);

	rama_json_open(&r->json, '{');
	rama_json_key_string(&r->json, "job", rama_launch_job_name(j));
	rama_json_key_string(&r->json, "state", rama_launch_job_state(j));
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

static void list_text(struct recover *r, const struct rama_launch_job *j)
{
	const struct rama_launch_seg_info *first = rama_launch_job_first(j);
	char age[32];

	age_text(age, sizeof(age), age_of(r, j));
	printf("%-9s %9zu %9s %7.1f MiB  %s  %.80s\n", rama_launch_job_state(j), j->infos.processes,
	       age, (double)j->infos.size / 1048576, rama_launch_job_name(j),
	       first != NULL ? first->text : "");
}

static void list(struct recover *r)
{
	if (!r->as_json && r->it.jobs.n > 0)
		printf("%-9s %9s %9s %11s  %s\n", "state", "processes", "age", "size",
		       "job, command");
	for (size_t i = 0; i < r->it.jobs.n; i++) {
		if (r->as_json)
			list_json(r, &r->it.jobs.job[i]);
		else
			list_text(r, &r->it.jobs.job[i]);
		if (r->it.jobs.job[i].infos.bad > 0)
			r->it.status = 3;
	}
}

/* ---- making logs and removing --------------------------------------------------------------- */

static void made_json(struct recover *r, const struct rama_launch_recovered *d)
{
	rama_json_open(&r->json, '{');
	rama_json_key_string(&r->json, "job", rama_launch_job_name(d->job));
	rama_json_key_string(&r->json, "state", rama_launch_job_state(d->job));
	rama_json_key_string(&r->json, "log", d->log);
	rama_json_key_i64(&r->json, "processes", d->result.nprocs);
	rama_json_key_i64(&r->json, "unfinished", (int64_t)d->result.unfinished);
	rama_json_key_i64(&r->json, "unreadable", (int64_t)d->result.unreadable);
	rama_json_close(&r->json, '}');
}

static void print_done(void *ctx, const struct rama_launch_recovered *d)
{
	struct recover *r = ctx;
	const char *name = rama_launch_job_name(d->job);

	if (r->as_json && d->what == RAMA_LAUNCH_MADE)
		made_json(r, d);
	if (r->as_json || r->quiet)
		return;
	if (d->what == RAMA_LAUNCH_REMOVED)
		printf("%s: removed\n", name);
	else if (d->what == RAMA_LAUNCH_LOGGED)
		printf("%s: removed; its logs were written, its live events were not read "
		       "to the end\n",
		       name);
	else
		printf("%s: %lld process%s, %s\n", name, (long long)d->result.nprocs,
		       d->result.nprocs == 1 ? "" : "es", d->log);
}

/* Where logs go is asked only if there will be some. */
static int place_logs(struct recover *r)
{
	static const struct rama_cli_log_options options = { RAMA_TAB_OPT_recover_output,
							     RAMA_TAB_OPT_recover_dir,
							     RAMA_TAB_OPT_recover_force };
	size_t ready = rama_launch_recover_ready(&r->it);

	if (r->it.remove || ready == 0)
		return 0;
	if (rama_cli_opts_has(&r->o, RAMA_TAB_OPT_recover_output) && ready > 1)
		rama_cli_opts_usage(&r->o,
				    "-o is for one job, and there are %zu; name one, or "
				    "use --log-dir",
				    ready);
	r->it.log = rama_cli_log_place(&r->o, &options);
	return rama_err_status(rama_launch_log_check(&r->it.log, &r->it.told));
}

static int work(struct recover *r)
{
	bool only_list = rama_cli_opts_has(&r->o, RAMA_TAB_OPT_recover_list);
	struct rama_err e = { 0 };
	int rc = rama_launch_recover_find(&r->it, r->o.args, r->o.n_args, &e), status;

	if (rc != 0) {
		rama_cli_complain("recover", "%s", e.text);
		return rama_err_status(rc);
	}
	status = only_list ? 0 : place_logs(r);
	if (status != 0)
		return status;
	if (r->as_json)
		rama_json_open(&r->json, '[');
	if (only_list)
		list(r);
	for (size_t i = 0; !only_list && i < r->it.jobs.n; i++)
		rama_launch_recover_job(&r->it, &r->it.jobs.job[i]);
	if (r->as_json) {
		rama_json_close(&r->json, ']');
		rama_out_char(&r->out, '\n');
		rama_out_flush(&r->out);
	} else if (!r->quiet && r->it.status == 0 &&
		   (only_list ? r->it.jobs.n == 0 : r->it.made + r->it.left == 0)) {
		puts("nothing was left behind");
	}
	return r->it.status;
}

int rama_cli_cmd_recover(int argc, char **argv)
{
	struct recover r = { 0 };
	struct timespec now;
	int status;

	rama_cli_opts_parse(&r.o, RAMA_TAB_CMD_recover, argc, argv);
	r.quiet = rama_cli_opts_has(&r.o, RAMA_TAB_OPT_recover_quiet);
	r.as_json = rama_cli_opts_has(&r.o, RAMA_TAB_OPT_recover_json);
	r.it.running = rama_cli_opts_has(&r.o, RAMA_TAB_OPT_recover_running);
	r.it.remove = rama_cli_opts_has(&r.o, RAMA_TAB_OPT_recover_remove);
	r.it.batch = rama_cli_opts_value(&r.o, RAMA_TAB_OPT_recover_jobid);
	if (r.it.batch != NULL && !rama_launch_recover_is_batch(r.it.batch))
		rama_cli_opts_usage(&r.o, "--job-id is a number, or 4242.0 for a step, not '%s'",
				    r.it.batch);
	r.it.told = rama_cli_launch_told(r.quiet, &r);
	r.it.done = print_done;
	clock_gettime(CLOCK_REALTIME, &now);
	r.now = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	rama_out_init(&r.out, rama_cli_to_file, stdout);
	rama_json_init(&r.json, &r.out);
	status = work(&r);
	rama_out_fini(&r.out);
	rama_launch_jobs_fini(&r.it.jobs);
	rama_cli_opts_fini(&r.o);
	return status;
}
