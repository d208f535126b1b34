/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/report/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/human.h"
#include "base/now.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "cli/paper.h"
#include "cli/profile.h"
#include "cli/report/weekly.h"
#include "cli/study.h"
#include "cli/terminal.h"
#include "report/form.h"
#include "study/fleet.h"
#include "study/stored.h"

#define TOP_ELSE 5
#define TOP_MOST 1000
#define SHOW_EVERY 0.1 /* seconds between two states of the progress line */

struct fleet_run {
	struct rama_study_paths paths;
	struct rama_diag_profile profile;
	bool trace;
	struct rama_store *store; /* the logs are in there; NULL: at their paths */
	int64_t *jobs;		  /* of a store: whose log each path is */
	struct rama_report_fleet fleet;
	/* the progress line */
	bool shows, shown;
	double start, delay, told;
};

static void show_progress(void *ctx, size_t done, size_t damaged)
{
	struct fleet_run *r = ctx;
	static const char full[] = "####################", empty[] = "....................";
	char n[3][RAMA_HUMAN];
	double t = rama_now();
	int wide = (int)(done * 20 / r->paths.n);

	if (!r->shows || t - r->start < r->delay || t - r->told < SHOW_EVERY)
		return;
	fprintf(stderr, "\r%.*s%.*s %s of %s logs, %s damaged\033[K", wide, full, 20 - wide, empty,
		rama_human_count(n[0], (int64_t)done), rama_human_count(n[1], (int64_t)r->paths.n),
		rama_human_count(n[2], (int64_t)damaged));
	r->told = t;
	r->shown = true;
}

/* ---- the report ------------------------------------------------------------------------------ */

size_t rama_cli_report_top(const struct rama_cli_opts *o, size_t otherwise)
{
	return (size_t)rama_cli_opts_number(o, RAMA_TAB_OPT_report_top, 1, TOP_MOST,
					    (int64_t)otherwise);
}

static const char *table_of(const struct rama_cli_opts *o)
{
	static const char *const names[] = { "findings", "jobs", "logs", "programs" };
	const char *name = rama_cli_opts_value(o, RAMA_TAB_OPT_report_csv);

	if (name == NULL)
		return "findings";
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return name;
	rama_cli_opts_usage(
		o, "with --fleet no table is called '%s'; findings, jobs, logs and programs are",
		name);
}

/* the form that was asked for, which has to be one that many jobs have */
static enum rama_report_form_id form_of(const struct rama_cli_opts *o)
{
	static const enum rama_tab_option_id option_of[] = {
#define FORM(name, ...) RAMA_TAB_OPT_report_##name,
#define PAPER(...)
#include "table/forms.def"
#undef FORM
#undef PAPER
	};
	enum rama_report_form_id form = RAMA_REPORT_FORM_text;

	for (unsigned i = 0; i < RAMA_REPORT_FORM_text; i++) {
		const struct rama_report_form *f = rama_report_forms[i];

		if (!rama_cli_opts_has(o, option_of[i]))
			continue;
		if (f->paper == NULL && f->fleet == NULL)
			rama_cli_opts_usage(o, "--%s is for one job, not for --fleet",
					    rama_tab_options[option_of[i]].name);
		if (form != RAMA_REPORT_FORM_text)
			rama_cli_opts_usage(
				o, "--html, --json, --csv and --markdown exclude each other");
		form = (enum rama_report_form_id)i;
	}
	return form;
}

static void check_options(const struct rama_cli_opts *o)
{
	static const enum rama_tab_option_id others[] = { RAMA_TAB_OPT_report_job,
							  RAMA_TAB_OPT_report_only };
	const char *level = rama_cli_opts_value(o, RAMA_TAB_OPT_report_failon);

	form_of(o);
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (rama_cli_opts_has(o, others[i]))
			rama_cli_opts_usage(o, "--%s is for one job, not for --fleet",
					    rama_tab_options[others[i]].name);
	if (level != NULL && strcmp(level, "high") != 0 && strcmp(level, "warn") != 0)
		rama_cli_opts_usage(o, "--fail-on is high or warn, not '%s'", level);
	rama_cli_report_top(o, TOP_ELSE);
	table_of(o);
	rama_cli_terminal_of(o, RAMA_TAB_OPT_report_width, RAMA_TAB_OPT_report_color, true);
}

static int render(const struct rama_report_fleet *f, const struct rama_cli_opts *o,
		  struct rama_out *out)
{
	enum rama_report_form_id form = form_of(o);
	struct rama_cli_terminal t =
		rama_cli_terminal_of(o, RAMA_TAB_OPT_report_width, RAMA_TAB_OPT_report_color,
				     rama_cli_opts_has(o, RAMA_TAB_OPT_report_output));
	struct rama_report_ask ask = {
		.look = { .width = t.width, .colour = t.colour, .utf8 = t.utf8 },
		.table = table_of(o),
		.all = form == RAMA_REPORT_FORM_csv || form == RAMA_REPORT_FORM_html ||
		       rama_cli_opts_has(o, RAMA_TAB_OPT_report_verbose)
	};

	return rama_report_form_fleet(rama_report_forms[form], out, f, &ask);
}

/* every damaged log is named, whatever the form: there may be more than a table shows */
static void tell_problems(const struct rama_report_fleet *f)
{
	for (size_t i = 0; i < f->n_logs; i++)
		if (f->logs[i].problem != NULL)
			rama_cli_complain(f->logs[i].path, "%s", f->logs[i].problem);
}

static int status_of(const struct rama_report_fleet *f, const struct rama_study_paths *p,
		     const struct rama_cli_opts *o)
{
	const char *level = rama_cli_opts_value(o, RAMA_TAB_OPT_report_failon);

	if (f->n_unread + f->n_damaged + p->unread > 0)
		return 3;
	if (level == NULL)
		return 0;
	return f->n_high > 0 || (strcmp(level, "warn") == 0 && f->n_warn > 0);
}

static int read_all(struct fleet_run *r)
{
	struct rama_study_fleet f = { .path = (const char *const *)r->paths.path,
				      .n = r->paths.n,
				      .store = r->store,
				      .jobs = r->jobs,
				      .profile = &r->profile,
				      .trace = r->trace,
				      .progress = r->shows ? show_progress : NULL,
				      .ctx = r };
	int rc;

	r->start = rama_now();
	rc = rama_study_fleet_read(&f, &r->fleet);
	if (r->shown)
		fputs("\r\033[K", stderr);
	return rc;
}

static int report(struct fleet_run *r, const struct rama_cli_opts *o)
{
	const char *html = rama_cli_opts_value(o, RAMA_TAB_OPT_report_html);
	struct rama_out out;
	struct rama_err e = { 0 };
	int rc = read_all(r), status;

	rama_out_init(&out, NULL, NULL);
	if (rc == 0)
		rc = rama_report_fleet_finish(&r->fleet, rama_cli_report_top(o, TOP_ELSE), &e);
	if (rc == 0)
		rc = render(&r->fleet, o, &out);
	if (rc != 0) {
		rama_cli_complain("report", "%s", rama_err_text(rc));
		status = rama_err_status(rc);
	} else {
		tell_problems(&r->fleet);
		status = rama_cli_paper_write(
			&out,
			html != NULL ? html : rama_cli_opts_value(o, RAMA_TAB_OPT_report_output));
	}
	if (status == 0)
		status = status_of(&r->fleet, &r->paths, o);
	rama_out_fini(&out);
	rama_report_fleet_fini(&r->fleet);
	return status;
}

static int find_logs(struct rama_study_paths *p, const struct rama_cli_opts *o)
{
	int status = 0;

	for (size_t i = 0; i < o->n_args && status == 0; i++)
		status = rama_cli_paths_add(p, "report", o->args[i]);
	if (status != 0)
		return status;
	rama_study_paths_sort(p);
	if (p->n == 0) {
		rama_cli_complain("report", "no logs there: nothing ends in .darshan");
		return 3;
	}
	if (p->unfinished > 0 && !rama_cli_opts_has(o, RAMA_TAB_OPT_report_quiet))
		rama_cli_complain(
			"report",
			"%zu logs are still being written (.darshan_partial) and are left out",
			p->unfinished);
	return 0;
}

/* every job of the store with a log; 0 or the exit status */
static int find_stored(struct fleet_run *r, const struct rama_cli_opts *o)
{
	struct rama_err e = { 0 };
	int status = rama_cli_store_here(&r->store, o, RAMA_TAB_OPT_report_store, RAMA_STORE_READ),
	    rc;

	if (status != 0)
		return status;
	rc = rama_study_stored_logs(r->store, &r->paths, &r->jobs, &e);
	if (rc < 0) {
		rama_cli_complain("report", "%s", e.text);
		return rama_err_status(rc);
	}
	if (r->paths.n == 0) {
		rama_cli_complain("report", "the store has no logs; `iorama index` takes them in");
		return 3;
	}
	return 0;
}

int rama_cli_report_fleet(const struct rama_cli_opts *o)
{
	struct fleet_run r = { .trace = !rama_cli_opts_has(o, RAMA_TAB_OPT_report_notrace),
			       .shows = !rama_cli_opts_has(o, RAMA_TAB_OPT_report_quiet) &&
					isatty(STDERR_FILENO) };
	bool from_store = rama_cli_opts_has(o, RAMA_TAB_OPT_report_store);
	int status;

	if (rama_cli_opts_has(o, RAMA_TAB_OPT_report_since))
		return rama_cli_report_weekly(o);
	if (rama_cli_opts_has(o, RAMA_TAB_OPT_report_user) ||
	    rama_cli_opts_has(o, RAMA_TAB_OPT_report_where))
		rama_cli_opts_usage(o, "--user and --where go with --since");
	if (o->n_args == 0 && !from_store)
		rama_cli_opts_usage(o, "no directory given");
	if (o->n_args > 0 && from_store)
		rama_cli_opts_usage(
			o,
			"--fleet --store is about all jobs of the store; '%s' is one word too many",
			o->args[0]);
	check_options(o);
	r.delay = strtod(rama_cli_opts_setting(RAMA_TAB_SET_PROGRESS), NULL);
	status = rama_cli_profile_load(&r.profile, o, RAMA_TAB_OPT_report_profile);
	if (status != 0)
		return status;
	status = from_store ? find_stored(&r, o) : find_logs(&r.paths, o);
	if (status == 0)
		status = report(&r, o);
	rama_store_close(r.store);
	free(r.jobs);
	rama_study_paths_fini(&r.paths);
	rama_diag_profile_fini(&r.profile);
	return status;
}
