/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/report/weekly.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/input.h"
#include "cli/open_store.h"
#include "cli/paper.h"
#include "cli/report/fleet.h"
#include "cli/terminal.h"
#include "report/form.h"
#include "study/weekly.h"

#define TOP_ELSE 10

struct command {
	const struct rama_cli_opts *o;
	const struct rama_report_form *form;
	struct rama_study_weekly weekly;
	struct rama_query_jobs jobs;
	struct rama_report_ask ask;
	char *about;
};

/* ---- options --------------------------------------------------------------------------------- */

static void choose_form(struct command *c)
{
	static const struct {
		enum rama_tab_option_id option;
		enum rama_report_form_id form;
	} forms[] = { { RAMA_TAB_OPT_report_html, RAMA_REPORT_FORM_html },
		      { RAMA_TAB_OPT_report_markdown, RAMA_REPORT_FORM_markdown },
		      { RAMA_TAB_OPT_report_csv, RAMA_REPORT_FORM_csv } };

	c->form = rama_report_forms[RAMA_REPORT_FORM_text];
	for (unsigned i = 0, n = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		if (!rama_cli_opts_has(c->o, forms[i].option))
			continue;
		c->form = rama_report_forms[forms[i].form];
		if (n++ > 0)
			rama_cli_opts_usage(c->o,
					    "--html, --csv and --markdown exclude each other");
	}
}

static void choose_table(struct command *c)
{
	static const char *const names[] = { "rules", "programs", "users", "folders", "totals" };
	const char *name = rama_cli_opts_value(c->o, RAMA_TAB_OPT_report_csv);

	c->ask.table = name != NULL ? name : names[0];
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(c->ask.table, names[i]) == 0)
			return;
	rama_cli_opts_usage(c->o,
			    "with --since no table is called '%s'; rules, programs, users, folders "
			    "and totals are",
			    name);
}

static void refuse_others(const struct rama_cli_opts *o)
{
	static const enum rama_tab_option_id others[] = {
		RAMA_TAB_OPT_report_json,   RAMA_TAB_OPT_report_svg,  RAMA_TAB_OPT_report_figure,
		RAMA_TAB_OPT_report_failon, RAMA_TAB_OPT_report_job,  RAMA_TAB_OPT_report_only,
		RAMA_TAB_OPT_report_window, RAMA_TAB_OPT_report_brief
	};

	if (!rama_cli_opts_has(o, RAMA_TAB_OPT_report_store) || o->n_args > 0)
		rama_cli_opts_usage(o, "--since is of the jobs of a store: --fleet --store=WHERE");
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (rama_cli_opts_has(o, others[i]))
			rama_cli_opts_usage(o, "--%s does not go with --since",
					    rama_tab_options[others[i]].name);
}

static void choose_span(struct command *c)
{
	struct rama_query_lost *q = &c->weekly.query;
	int64_t now = (int64_t)time(NULL) * 1000000000;

	rama_cli_opts_moment(c->o, RAMA_TAB_OPT_report_since, &q->from);
	q->to = now + 1000000000; /* the second that goes on is in it */
	if (q->from < 0 || q->from >= now)
		rama_cli_opts_usage(c->o, "--since is a time in the past, not '%s'",
				    rama_cli_opts_value(c->o, RAMA_TAB_OPT_report_since));
	q->before = q->from - (now - q->from);
}

/* which jobs, for the head of the report */
static void tell_about(struct command *c, const char *word)
{
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	if (c->about != NULL)
		rama_out_fmt(&o, "%s, ", c->about);
	rama_out_text(&o, word);
	rama_out_char(&o, '\0');
	free(c->about);
	c->about = o.error == 0 ? strdup(o.buf) : NULL;
	rama_out_fini(&o);
}

static void choose_jobs(struct command *c)
{
	const char *word = rama_cli_opts_value(c->o, RAMA_TAB_OPT_report_user);
	struct rama_err e = { 0 };
	int rc = 0;

	rama_query_jobs_init(&c->jobs);
	c->weekly.query.jobs = &c->jobs;
	if (word != NULL) {
		rc = rama_query_jobs_user(&c->jobs, word, &e);
		tell_about(c, word);
	}
	for (size_t at = 0; rc == 0 && (word = rama_cli_opts_next(c->o, RAMA_TAB_OPT_report_where,
								  &at)) != NULL;) {
		rc = rama_query_jobs_where(&c->jobs, word, &e);
		tell_about(c, word);
	}
	if (rc != 0)
		rama_cli_opts_usage(c->o, "%s", e.text);
	c->weekly.about = c->about;
}

static void read_options(struct command *c)
{
	struct rama_cli_terminal t;

	refuse_others(c->o);
	choose_form(c);
	choose_table(c);
	choose_span(c);
	choose_jobs(c);
	c->weekly.top = rama_cli_report_top(c->o, TOP_ELSE);
	t = rama_cli_terminal_of(c->o, RAMA_TAB_OPT_report_width, RAMA_TAB_OPT_report_color,
				 rama_cli_opts_has(c->o, RAMA_TAB_OPT_report_output));
	c->ask.look =
		(struct rama_report_look){ .width = t.width, .colour = t.colour, .utf8 = t.utf8 };
	c->ask.mail = true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int write_report(struct command *c, struct rama_store *s)
{
	const char *file = rama_cli_opts_value(c->o, RAMA_TAB_OPT_report_html);
	struct rama_report_paper p = { 0 };
	struct rama_err e = { 0 };
	struct rama_out out;
	int rc = rama_study_weekly_paper(s, &c->weekly, &p, &e), status;

	rama_out_init(&out, NULL, NULL);
	if (rc == 0) {
		c->form->paper(&out, &p, &c->ask);
		status = rama_cli_paper_write(
			&out, file != NULL ? file
					   : rama_cli_opts_value(c->o, RAMA_TAB_OPT_report_output));
	} else {
		rama_cli_complain("report", "%s", e.code != 0 ? e.text : rama_err_text(rc));
		status = rama_err_status(rc);
	}
	rama_out_fini(&out);
	rama_report_paper_fini(&p);
	return status;
}

int rama_cli_report_weekly(const struct rama_cli_opts *o)
{
	struct command *c = calloc(1, sizeof(*c));
	struct rama_store *s = NULL;
	int status;

	if (c == NULL) {
		rama_cli_complain("report", "%s", rama_err_text(RAMA_EMEMORY));
		return rama_err_status(RAMA_EMEMORY);
	}
	c->o = o;
	read_options(c);
	status = rama_cli_store_here(&s, o, RAMA_TAB_OPT_report_store, RAMA_STORE_READ);
	if (status == 0)
		status = write_report(c, s);
	rama_store_close(s);
	rama_query_jobs_fini(&c->jobs);
	free(c->about);
	free(c);
	return status;
}
