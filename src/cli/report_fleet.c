/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/report_fleet.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/human.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "cli/paper.h"
#include "cli/profile.h"
#include "cli/report_paths.h"
#include "cli/terminal.h"
#include "report/fleet.h"

#define TOP_ELSE 5
#define TOP_MOST 1000
#define WORKERS_MOST 64
#define SHOW_EVERY 0.1 /* seconds between two states of the progress line */

/* what all workers share; all but `profile` and `trace` under the lock */
struct fleet_run {
	pthread_mutex_t lock;
	const struct rama_paths *paths;
	const struct rama_profile *profile;
	bool trace;
	struct rama_store *store; /* the logs are in there; NULL: at their paths. Under the lock */
	const int64_t *jobs;	  /* of a store: whose log each path is */
	struct rama_fleet fleet;
	size_t next, done, bad;
	int error; /* RAMA_EMEMORY: stop */
	/* the progress line */
	bool shows, shown;
	double start, delay, told;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void show_progress(struct fleet_run *r)
{
	static const char full[] = "####################", empty[] = "....................";
	char n[3][RAMA_HUMAN];
	double t = now();
	int wide = (int)(r->done * 20 / r->paths->n);

	if (!r->shows || t - r->start < r->delay || t - r->told < SHOW_EVERY)
		return;
	fprintf(stderr, "\r%.*s%.*s %s of %s logs, %s damaged\033[K", wide, full, 20 - wide, empty,
		rama_human_count(n[0], (int64_t)r->done),
		rama_human_count(n[1], (int64_t)r->paths->n),
		rama_human_count(n[2], (int64_t)r->bad));
	r->told = t;
	r->shown = true;
}

/* ---- one log --------------------------------------------------------------------------------- */

/* the first thing that is wrong with a log */
struct trouble {
	char line[sizeof(((struct rama_err *)0)->text)];
};

static void keep_first(void *ctx, const char *line)
{
	struct trouble *t = ctx;

	if (t->line[0] == '\0')
		snprintf(t->line, sizeof(t->line), "%s", line);
}

static int keep(struct fleet_run *r, size_t i, const struct rama_view *v,
		const struct rama_diagnosis *d, const struct trouble *t)
{
	int rc = 0;

	pthread_mutex_lock(&r->lock);
	if (v != NULL)
		rc = rama_fleet_add(&r->fleet, i, r->paths->path[i], v, d);
	if (rc == 0 && t->line[0] != '\0') {
		rc = rama_fleet_problem(&r->fleet, i, r->paths->path[i], t->line);
		r->bad++;
	}
	pthread_mutex_unlock(&r->lock);
	return rc;
}

static int view_log(struct fleet_run *r, size_t i, struct rama_log *log, struct trouble *t)
{
	struct rama_view_options opt = { .trace = r->trace };
	struct rama_view v;
	struct rama_diagnosis d;
	struct rama_err e = { 0 };
	int rc;

	rama_view_init(&v, &opt);
	rc = rama_view_add_log(&v, log, r->paths->path[i], &e);
	if (rc == 0)
		rc = rama_view_finish(&v, &e);
	if (rc == 0)
		rc = rama_diagnose(&d, &v, r->profile, &e);
	if (rc == 0) {
		rc = keep(r, i, &v, &d, t);
		rama_diagnosis_fini(&d);
	} else if (rc != RAMA_EMEMORY) {
		keep_first(t, e.text);
		rc = keep(r, i, NULL, NULL, t);
	}
	rama_view_fini(&v);
	return rc;
}

/* from its file, or (*bytes != NULL then) from the store */
static int open_log(struct fleet_run *r, size_t i, struct rama_file *file, unsigned char **bytes,
		    struct rama_err *e)
{
	size_t n = 0;
	int rc;

	*bytes = NULL;
	if (r->store != NULL) {
		pthread_mutex_lock(&r->lock);
		rc = rama_store_log_bytes(r->store, r->jobs[i], bytes, &n, e);
		pthread_mutex_unlock(&r->lock);
		*file = (struct rama_file){ .fd = -1 };
		if (rc == 0)
			rama_source_memory(&file->src, *bytes, n);
		if (rc != RAMA_EMISSING) /* else it was not kept */
			return rc;
		*e = (struct rama_err){ 0 };
	}
	return rama_file_open(file, r->paths->path[i], e);
}

/* RAMA_EMEMORY, or 0: all else is the log's own trouble */
static int read_log(struct fleet_run *r, size_t i)
{
	struct trouble t = { "" };
	struct rama_log_options opt = { .problem = keep_first, .ctx = &t };
	struct rama_file file;
	struct rama_log log;
	struct rama_err e = { 0 };
	unsigned char *bytes;
	int rc = open_log(r, i, &file, &bytes, &e);

	if (rc != 0) {
		keep_first(&t, e.text);
		return keep(r, i, NULL, NULL, &t);
	}
	rc = rama_log_open(&log, &file.src, &opt, &e);
	if (rc == 0) {
		rc = view_log(r, i, &log, &t);
		rama_log_close(&log);
	} else if (rc != RAMA_EMEMORY) {
		keep_first(&t, e.text);
		rc = keep(r, i, NULL, NULL, &t);
	}
	rama_file_close(&file);
	free(bytes);
	return rc;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void *work(void *ctx)
{
	struct fleet_run *r = ctx;

	for (;;) {
		size_t i;
		int rc;

		pthread_mutex_lock(&r->lock);
		i = r->error == 0 ? r->next++ : r->paths->n;
		pthread_mutex_unlock(&r->lock);
		if (i >= r->paths->n)
			return NULL;
		rc = read_log(r, i);
		pthread_mutex_lock(&r->lock);
		r->done++;
		if (rc != 0)
			r->error = rc;
		show_progress(r);
		pthread_mutex_unlock(&r->lock);
	}
}

static unsigned workers(size_t logs)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set)
							     : (int)sysconf(_SC_NPROCESSORS_ONLN);

	n = n < 1 ? 1 : n > WORKERS_MOST ? WORKERS_MOST : n;
	return (size_t)n > logs ? (unsigned)logs : (unsigned)n;
}

/* This thread works too, so that all is read even where no other can be started. */
static int read_all(struct fleet_run *r)
{
	pthread_t thread[WORKERS_MOST];
	unsigned want = workers(r->paths->n), n = 0;

	r->start = now();
	while (n + 1 < want && pthread_create(&thread[n], NULL, work, r) == 0)
		n++;
	work(r);
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	if (r->shown)
		fputs("\r\033[K", stderr);
	return r->error;
}

/* ---- the report ------------------------------------------------------------------------------ */

static size_t top_of(const struct rama_opts *o)
{
	const char *text = rama_opts_value(o, RAMA_OPT_report_top);
	char *end;
	unsigned long n;

	if (text == NULL)
		return TOP_ELSE;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || n < 1 || n > TOP_MOST)
		rama_opts_usage(o, "--top is a number from 1 to %d, not '%s'", TOP_MOST, text);
	return n;
}

static const char *table_of(const struct rama_opts *o)
{
	static const char *const names[] = { "findings", "jobs", "logs", "programs" };
	const char *name = rama_opts_value(o, RAMA_OPT_report_csv);

	if (name == NULL)
		return "findings";
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return name;
	rama_opts_usage(
		o, "with --fleet no table is called '%s'; findings, jobs, logs and programs are",
		name);
}

static void check_options(const struct rama_opts *o)
{
	static const enum rama_option_id forms[] = { RAMA_OPT_report_html, RAMA_OPT_report_json,
						     RAMA_OPT_report_csv,
						     RAMA_OPT_report_markdown };
	static const enum rama_option_id others[] = { RAMA_OPT_report_svg, RAMA_OPT_report_job,
						      RAMA_OPT_report_only };
	const char *level = rama_opts_value(o, RAMA_OPT_report_failon);
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (rama_opts_has(o, others[i]))
			rama_opts_usage(o, "--%s is for one job, not for --fleet",
					rama_options[others[i]].name);
	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		n += rama_opts_has(o, forms[i]);
	if (n > 1)
		rama_opts_usage(o, "--html, --json, --csv and --markdown exclude each other");
	if (level != NULL && strcmp(level, "high") != 0 && strcmp(level, "warn") != 0)
		rama_opts_usage(o, "--fail-on is high or warn, not '%s'", level);
	top_of(o);
	table_of(o);
	rama_terminal_of(o, RAMA_OPT_report_width, RAMA_OPT_report_color, true);
}

static int render(const struct rama_fleet *f, const struct rama_opts *o, struct rama_out *out)
{
	struct rama_paper paper;
	bool csv = rama_opts_has(o, RAMA_OPT_report_csv);
	int rc;

	if (rama_opts_has(o, RAMA_OPT_report_json)) {
		rama_fleet_json(f, out);
		return 0;
	}
	rc = rama_fleet_paper(f, &paper,
			      csv || rama_opts_has(o, RAMA_OPT_report_html) ||
				      rama_opts_has(o, RAMA_OPT_report_verbose));
	if (rc == 0 && csv) {
		rama_sheet_csv(rama_paper_find(&paper, table_of(o)), out);
	} else if (rc == 0 && rama_opts_has(o, RAMA_OPT_report_html)) {
		rama_paper_html(&paper, out);
	} else if (rc == 0 && rama_opts_has(o, RAMA_OPT_report_markdown)) {
		rama_paper_markdown(&paper, out);
	} else if (rc == 0) {
		struct rama_terminal t =
			rama_terminal_of(o, RAMA_OPT_report_width, RAMA_OPT_report_color,
					 rama_opts_has(o, RAMA_OPT_report_output));
		struct rama_paper_style style = { t.width, t.colour, t.utf8 };

		rama_paper_print(&paper, out, &style);
	}
	rama_paper_fini(&paper);
	return rc;
}

/* every damaged log is named, whatever the form: there may be more than a table shows */
static void tell_problems(const struct rama_fleet *f)
{
	for (size_t i = 0; i < f->n_logs; i++)
		if (f->logs[i].problem != NULL)
			rama_complain(f->logs[i].path, "%s", f->logs[i].problem);
}

static int status_of(const struct rama_fleet *f, const struct rama_paths *p,
		     const struct rama_opts *o)
{
	const char *level = rama_opts_value(o, RAMA_OPT_report_failon);

	if (f->n_unread + f->n_damaged + p->unread > 0)
		return 3;
	if (level == NULL)
		return 0;
	return f->n_high > 0 || (strcmp(level, "warn") == 0 && f->n_warn > 0);
}

static int report(struct fleet_run *r, const struct rama_opts *o)
{
	const char *html = rama_opts_value(o, RAMA_OPT_report_html);
	struct rama_out out;
	struct rama_err e = { 0 };
	int rc = rama_fleet_init(&r->fleet, r->paths->n), status;

	rama_out_init(&out, NULL, NULL);
	if (rc == 0)
		rc = read_all(r);
	if (rc == 0)
		rc = rama_fleet_finish(&r->fleet, top_of(o), &e);
	if (rc == 0)
		rc = render(&r->fleet, o, &out);
	if (rc != 0) {
		rama_complain("report", "%s", rama_err_text(rc));
		status = rama_err_status(rc);
	} else {
		tell_problems(&r->fleet);
		status = rama_paper_write(
			&out, html != NULL ? html : rama_opts_value(o, RAMA_OPT_report_output));
	}
	if (status == 0)
		status = status_of(&r->fleet, r->paths, o);
	rama_out_fini(&out);
	rama_fleet_fini(&r->fleet);
	return status;
}

static int find_logs(struct rama_paths *p, const struct rama_opts *o)
{
	int status = 0;

	for (size_t i = 0; i < o->n_args && status == 0; i++)
		status = rama_paths_add(p, o->args[i]);
	if (status != 0)
		return status;
	rama_paths_sort(p);
	if (p->n == 0) {
		rama_complain("report", "no logs there: nothing ends in .darshan");
		return 3;
	}
	if (p->unfinished > 0 && !rama_opts_has(o, RAMA_OPT_report_quiet))
		rama_complain(
			"report",
			"%zu logs are still being written (.darshan_partial) and are left out",
			p->unfinished);
	return 0;
}

/* ---- jobs of a store ------------------------------------------------------------------------- */

struct stored_logs {
	struct rama_paths *paths;
	int64_t *jobs;
	size_t room;
};

static int add_stored(void *ctx, const struct rama_row *row, struct rama_err *e)
{
	struct stored_logs *k = ctx;
	struct rama_paths *p = k->paths;
	const char *name = row->cell[1].type == RAMA_CELL_TEXT && row->cell[1].len > 0
				   ? row->cell[1].text
				   : row->cell[2].text;

	if (p->n == k->room) {
		size_t room = k->room == 0 ? 1024 : 2 * k->room;
		char **path = realloc(p->path, room * sizeof(*path));
		int64_t *jobs = path != NULL ? realloc(k->jobs, room * sizeof(*jobs)) : NULL;

		p->path = path != NULL ? path : p->path;
		k->jobs = jobs != NULL ? jobs : k->jobs;
		if (jobs == NULL)
			return rama_err_set(e, RAMA_EMEMORY, "out of memory");
		k->room = p->room = room;
	}
	k->jobs[p->n] = row->cell[0].i;
	p->path[p->n] = rama_arena_text(&p->arena, name, strlen(name));
	return p->path[p->n++] != NULL ? 0 : rama_err_set(e, RAMA_EMEMORY, "out of memory");
}

/* every job with a log, in the order of their paths; 0 or the exit status */
static int find_stored(struct stored_logs *k, struct rama_store **store, const struct rama_opts *o)
{
	struct rama_err e = { 0 };
	int status = rama_store_here(store, o, RAMA_OPT_report_store, RAMA_STORE_READ), rc;

	if (status != 0)
		return status;
	rc = rama_store_select(*store,
			       "SELECT l.job, l.path, j.key FROM logs l JOIN jobs j ON j.number = "
			       "l.job ORDER BY l.path, l.job",
			       NULL, 0, add_stored, k, &e);
	if (rc < 0) {
		rama_complain("report", "%s", e.text);
		return rama_err_status(rc);
	}
	if (k->paths->n == 0) {
		rama_complain("report", "the store has no logs; `iorama index` takes them in");
		return 3;
	}
	return 0;
}

int rama_report_fleet(const struct rama_opts *o)
{
	struct rama_paths paths = { 0 };
	struct rama_profile profile;
	struct fleet_run r = { .lock = PTHREAD_MUTEX_INITIALIZER,
			       .paths = &paths,
			       .profile = &profile,
			       .trace = !rama_opts_has(o, RAMA_OPT_report_notrace),
			       .shows = !rama_opts_has(o, RAMA_OPT_report_quiet) &&
					isatty(STDERR_FILENO) };
	struct stored_logs stored = { .paths = &paths };
	bool from_store = rama_opts_has(o, RAMA_OPT_report_store);
	int status;

	if (o->n_args == 0 && !from_store)
		rama_opts_usage(o, "no directory given");
	if (o->n_args > 0 && from_store)
		rama_opts_usage(
			o,
			"--fleet --store is about all jobs of the store; '%s' is one word too many",
			o->args[0]);
	check_options(o);
	r.delay = strtod(rama_opts_setting(RAMA_SET_PROGRESS), NULL);
	status = rama_profile_load(&profile, o, RAMA_OPT_report_profile);
	if (status != 0)
		return status;
	status = from_store ? find_stored(&stored, &r.store, o) : find_logs(&paths, o);
	r.jobs = stored.jobs;
	if (status == 0)
		status = report(&r, o);
	rama_store_close(r.store);
	free(stored.jobs);
	rama_paths_fini(&paths);
	rama_profile_fini(&profile);
	return status;
}
