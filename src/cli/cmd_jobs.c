/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_jobs.c: iorama jobs */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/when.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "cli/paper.h"
#include "cli/terminal.h"
#include "config/text.h"
#include "study/jobs.h"

#define LIMIT_ELSE 50 /* jobs of a table for people, and of a page */

struct command {
	struct rama_cli_opts o;
	struct rama_study_jobs list;
};

/* ---- conditions ------------------------------------------------------------------------------ */

/* what is wrong with a word ends the program */
static void check(const struct command *c, int rc, const struct rama_err *e)
{
	if (rc != 0)
		rama_cli_opts_usage(&c->o, "%s", e->text);
}

static void time_condition(struct command *c, enum rama_tab_option_id option,
			   int (*add)(struct rama_query_jobs *q, int64_t ns, struct rama_err *e))
{
	const char *text = rama_cli_opts_value(&c->o, option);
	struct rama_err e = { 0 };
	int64_t ns;

	if (text == NULL)
		return;
	if (!rama_when(text, (int64_t)time(NULL) * 1000000000, 0, &ns))
		rama_cli_opts_usage(&c->o,
				    "--%s is a time such as 2026-11-16, '2026-11-16 09:20', -2h or "
				    "yesterday, not '%s'",
				    rama_tab_options[option].name, text);
	check(c, add(&c->list.query, ns, &e), &e);
}

static void size_condition(struct command *c)
{
	const char *text = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_jobs_minbytes);
	struct rama_err e = { 0 };
	uint64_t bytes;

	if (text == NULL)
		return;
	if (!rama_config_piece_size((struct rama_config_piece){ text, strlen(text) }, &bytes) ||
	    bytes > INT64_MAX)
		rama_cli_opts_usage(&c->o,
				    "--min-bytes is a size such as 4096, 64KiB or 1.5GiB, not '%s'",
				    text);
	check(c, rama_query_jobs_bytes(&c->list.query, (double)bytes, &e), &e);
}

/* an option that may be given several times */
static void each(struct command *c, enum rama_tab_option_id option,
		 int (*add)(struct rama_query_jobs *q, const char *text, struct rama_err *e))
{
	struct rama_err e = { 0 };
	const char *text;

	for (size_t at = 0; (text = rama_cli_opts_next(&c->o, option, &at)) != NULL;)
		check(c, add(&c->list.query, text, &e), &e);
}

static void conditions(struct command *c)
{
	struct rama_query_jobs *q = &c->list.query;
	const char *user = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_jobs_user);
	const char *name = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_jobs_name);
	struct rama_err e = { 0 };

	if (user != NULL)
		check(c, rama_query_jobs_user(q, user, &e), &e);
	if (name != NULL)
		check(c, rama_query_jobs_name(q, name, &e), &e);
	time_condition(c, RAMA_TAB_OPT_jobs_since, rama_query_jobs_since);
	time_condition(c, RAMA_TAB_OPT_jobs_until, rama_query_jobs_until);
	size_condition(c);
	each(c, RAMA_TAB_OPT_jobs_finding, rama_query_jobs_finding);
	if (rama_cli_opts_has(&c->o, RAMA_TAB_OPT_jobs_running))
		check(c, rama_query_jobs_running(q, &e), &e);
	each(c, RAMA_TAB_OPT_jobs_where, rama_query_jobs_where);
	for (size_t i = 0; i < c->o.n_args; i++)
		check(c, rama_query_jobs_word(q, c->o.args[i], &e), &e);
}

/* ---- columns and order ----------------------------------------------------------------------- */

static int list_metrics(void)
{
	struct rama_query_metric m;

	puts("Columns:");
	for (unsigned i = 0; rama_query_metric_column(i, &m); i++)
		printf("  %-16s %s\n", m.key, m.doc);
	puts("\nFigures of jobs with a log:");
	for (unsigned i = 0; i < rama_query_n_figures; i++)
		printf("  %-16s %s\n", rama_query_figures[i].name, rama_query_figures[i].doc);
	puts("\nFigures of the rules (`iorama explain figures`) and sums of counters (`iorama "
	     "explain counters`) can be used\n"
	     "like columns: small_writes, POSIX_OPENS.");
	return 0;
}

static void choose_columns(struct command *c)
{
	struct rama_query_jobs *q = &c->list.query;
	const char *text = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_jobs_columns);
	bool all = text == NULL && c->list.form != RAMA_ROWS_TEXT;
	struct rama_query_metric m;
	struct rama_err e = { 0 };

	for (unsigned i = 0; text == NULL && rama_query_metric_column(i, &m); i++)
		if (all || m.shown > 0)
			q->column[q->n_columns++] = m;
	for (size_t n; text != NULL && *text != '\0'; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		check(c, rama_query_jobs_column(q, text, n, &e), &e);
		q->column[q->n_columns - 1].shown = 1;
	}
}

static void choose_order(struct command *c)
{
	const char *key = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_jobs_sort),
		   *after = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_jobs_after);
	struct rama_err e = { 0 };

	if (key != NULL)
		check(c, rama_query_jobs_sort(&c->list.query, key, &e), &e);
	c->list.paged = after != NULL;
	if (after != NULL)
		check(c, rama_query_jobs_after(&c->list.query, after, &e), &e);
}

static uint64_t limit_of(const struct command *c)
{
	const char *text = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_jobs_limit);
	char *end;
	uint64_t n;

	if (text == NULL)
		return c->list.form == RAMA_ROWS_TEXT ||
				       rama_cli_opts_has(&c->o, RAMA_TAB_OPT_jobs_after)
			       ? LIMIT_ELSE
			       : 0;
	n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0')
		rama_cli_opts_usage(&c->o, "--limit is a number, 0 for none, not '%s'", text);
	return n;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Can the word be nothing but the name of one job: its number, the key that agents and logs
 * give, "last"? */
static bool names_job(const char *w)
{
	size_t digits = strspn(w, "0123456789");

	return strcmp(w, "last") == 0 || (digits > 0 && (w[digits] == '\0' || w[digits] == '/'));
}

/* 1: the only word is a job; 0: it is a word to look for; else an error */
static int one_job(const struct command *c, struct rama_store *s, int64_t *job, struct rama_err *e)
{
	int rc = c->o.n_args == 1 ? rama_store_find_job(s, c->o.args[0], job, e) : RAMA_EMISSING;

	if (rc == 0)
		return 1;
	if (rc != RAMA_EMISSING || (c->o.n_args == 1 && names_job(c->o.args[0])))
		return rc;
	*e = (struct rama_err){ 0 };
	return 0;
}

static int answer(struct command *c, struct rama_store *s, struct rama_out *out)
{
	struct rama_cli_terminal t = rama_cli_terminal_of(&c->o, RAMA_TAB_OPT_jobs_width,
							  RAMA_TAB_OPT_jobs_color, false);
	struct rama_grid_style style = { .width = t.width, .colour = t.colour, .utf8 = t.utf8 };
	const char *next;
	struct rama_err e = { 0 };
	int64_t job;
	int rc;

	rc = one_job(c, s, &job, &e);
	if (rc > 0) {
		if (c->list.form == RAMA_ROWS_CSV)
			rama_cli_opts_usage(&c->o, "one job is text or --json; --csv is for lists");
		rc = rama_study_job_tell(s, job, c->list.form, &style,
					 rama_cli_opts_has(&c->o, RAMA_TAB_OPT_jobs_limit), out,
					 &e);
	} else if (rc == 0) {
		rc = rama_study_jobs_list(s, &c->list, &style, out, &e);
		next = c->list.query.next;
		if (rc == 0 && c->list.paged && next != NULL && c->list.form != RAMA_ROWS_JSON) {
			rama_out_flush(out);
			rama_cli_complain("jobs", "there are more: --after %s", next);
		}
	}
	if (rc == 0 || rc == RAMA_ESTOPPED)
		return 0;
	rama_cli_complain("jobs", "%s", e.code != 0 ? e.text : rama_err_text(rc));
	return rama_err_status(rc);
}

static void read_options(struct command *c)
{
	const struct rama_cli_opts *o = &c->o;

	if (rama_cli_opts_has(o, RAMA_TAB_OPT_jobs_csv) &&
	    rama_cli_opts_has(o, RAMA_TAB_OPT_jobs_json))
		rama_cli_opts_usage(o, "--csv and --json exclude each other");
	c->list.form = rama_cli_opts_has(o, RAMA_TAB_OPT_jobs_csv)    ? RAMA_ROWS_CSV
		       : rama_cli_opts_has(o, RAMA_TAB_OPT_jobs_json) ? RAMA_ROWS_JSON
								      : RAMA_ROWS_TEXT;
	rama_query_jobs_init(&c->list.query);
	c->list.query.limit = limit_of(c);
	choose_columns(c);
	choose_order(c);
	conditions(c);
}

int rama_cli_cmd_jobs(int argc, char **argv)
{
	struct command *c = calloc(1, sizeof(*c));
	struct rama_store *s = NULL;
	struct rama_out out;
	const char *columns;
	int status, end;

	if (c == NULL) {
		rama_cli_complain("jobs", "%s", rama_err_text(RAMA_EMEMORY));
		return 4;
	}
	rama_cli_opts_parse(&c->o, RAMA_TAB_CMD_jobs, argc, argv);
	columns = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_jobs_columns);
	if (columns != NULL && strcmp(columns, "help") == 0) {
		status = list_metrics();
	} else {
		read_options(c);
		status = rama_cli_store_here(&s, &c->o, RAMA_TAB_OPT_jobs_store, RAMA_STORE_READ);
		if (status == 0) {
			rama_cli_stdout_begin(&out);
			status = answer(c, s, &out);
			end = rama_cli_stdout_end(&out);
			status = status != 0 ? status : end;
		}
	}
	rama_store_close(s);
	rama_query_jobs_fini(&c->list.query);
	rama_cli_opts_fini(&c->o);
	free(c);
	return status;
}
