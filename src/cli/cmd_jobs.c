/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_jobs.c: iorama jobs */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "cli/paper.h"
#include "cli/terminal.h"
#include "config/text.h"
#include "query/job.h"
#include "study/jobs.h"
#include "study/why.h"

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
	struct rama_err e = { 0 };
	int64_t ns;

	if (rama_cli_opts_moment(&c->o, option, &ns))
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

/* what the batch system calls it */
static void batch_condition(struct command *c, enum rama_tab_option_id option,
			    enum rama_query_batch what)
{
	const char *word = rama_cli_opts_value(&c->o, option);
	struct rama_err e = { 0 };

	if (word != NULL)
		check(c, rama_query_jobs_batch(&c->list.query, what, word, &e), &e);
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
	batch_condition(c, RAMA_TAB_OPT_jobs_account, RAMA_QUERY_ACCOUNT);
	batch_condition(c, RAMA_TAB_OPT_jobs_partition, RAMA_QUERY_PARTITION);
	batch_condition(c, RAMA_TAB_OPT_jobs_jobname, RAMA_QUERY_JOB_NAME);
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

/* what a list for people is sorted by stands in it */
static void show_order(struct rama_query_jobs *q, const char *key)
{
	struct rama_query_metric m;

	key += *key == '-';
	if (!rama_query_metric_find(key, strlen(key), &m))
		return; /* told when the order is chosen */
	for (unsigned i = 0; i < q->n_columns; i++)
		if (strcmp(q->column[i].key, m.key) == 0)
			return;
	if (q->n_columns == RAMA_QUERY_COLUMNS)
		return;
	m.shown = 1;
	q->column[q->n_columns++] = m;
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
	text = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_jobs_sort);
	if (text != NULL && c->list.form == RAMA_ROWS_TEXT &&
	    !rama_cli_opts_has(&c->o, RAMA_TAB_OPT_jobs_columns))
		show_order(q, text);
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
	if (!rama_cli_opts_has(&c->o, RAMA_TAB_OPT_jobs_limit))
		return c->list.form == RAMA_ROWS_TEXT ||
				       rama_cli_opts_has(&c->o, RAMA_TAB_OPT_jobs_after)
			       ? LIMIT_ELSE
			       : 0;
	return (uint64_t)rama_cli_opts_number(&c->o, RAMA_TAB_OPT_jobs_limit, 0, INT64_MAX, 0);
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Can the word be nothing but the name of one job: its number, the key that agents and logs
 * give, the id of a batch system or of a step, "last"? */
static bool names_job(const char *w)
{
	size_t digits = strspn(w, "0123456789");

	return strcmp(w, "last") == 0 || (strncmp(w, "id=", 3) == 0 && w[3] != '\0') ||
	       (digits > 0 && (w[digits] == '\0' || w[digits] == '/' || w[digits] == '.'));
}

/* Several steps of one job: a list of them, which says which step each is. */
static int only_steps(struct command *c, const int64_t *jobs, size_t n, struct rama_err *e)
{
	static const char *const more[] = { "restart", "step" };
	struct rama_query_jobs *q = &c->list.query;
	struct rama_query_metric m;

	for (unsigned i = 0; i < 2; i++) {
		if (c->list.form != RAMA_ROWS_TEXT || q->n_columns == RAMA_QUERY_COLUMNS ||
		    rama_cli_opts_has(&c->o, RAMA_TAB_OPT_jobs_columns) ||
		    !rama_query_metric_find(more[i], strlen(more[i]), &m))
			continue;
		m.shown = 3; /* left out where it says nothing */
		memmove(&q->column[2], &q->column[1], (q->n_columns - 1) * sizeof(m));
		q->column[1] = m;
		q->n_columns++;
	}
	q->n_words = 0; /* that was the name of the job */
	return rama_query_jobs_only(q, jobs, n, e);
}

/* 1: the only word is a job; 0: it is a word to look for, or the list is that of a job's steps;
 * else an error */
static int one_job(struct command *c, struct rama_store *s, int64_t *job, struct rama_err *e)
{
	int64_t *jobs = NULL;
	size_t n = 0;
	int rc = c->o.n_args == 1 ? rama_query_job_find(s, c->o.args[0], true, &jobs, &n, e)
				  : RAMA_EMISSING;

	if (rc == 0 && n == 1) {
		*job = jobs[0];
		rc = 1;
	} else if (rc == 0) {
		rc = only_steps(c, jobs, n, e);
	} else if (rc == RAMA_EMISSING && (c->o.n_args != 1 || !names_job(c->o.args[0]))) {
		*e = (struct rama_err){ 0 };
		rc = 0;
	}
	free(jobs);
	return rc;
}

static int tell_why(const struct command *c, struct rama_store *s, int64_t job,
		    struct rama_out *out, struct rama_err *e)
{
	struct rama_query_why w = { .seen = { .all = true } };
	int64_t since, until;
	int rc;

	if (rama_cli_opts_moment(&c->o, RAMA_TAB_OPT_jobs_since, &since)) {
		w.from = since / 1000000000;
		w.to = INT32_MAX; /* the end of the job */
	}
	if (rama_cli_opts_moment(&c->o, RAMA_TAB_OPT_jobs_until, &until)) {
		w.from = w.from != 0 ? w.from : 1;
		w.to = until / 1000000000;
	}
	rc = rama_study_why_tell(s, job, &w, c->list.form, out, e);
	rama_query_why_fini(&w);
	return rc;
}

static int answer(struct command *c, struct rama_store *s, struct rama_out *out)
{
	struct rama_cli_terminal t = rama_cli_terminal_of(&c->o, RAMA_TAB_OPT_jobs_width,
							  RAMA_TAB_OPT_jobs_color, false);
	struct rama_grid_style style = { .width = t.width, .colour = t.colour, .utf8 = t.utf8 };
	const char *next;
	struct rama_err e = { 0 };
	int64_t job = 0;
	int rc;

	rc = one_job(c, s, &job, &e);
	if (rc == 0 && rama_cli_opts_has(&c->o, RAMA_TAB_OPT_jobs_why))
		rama_cli_opts_usage(&c->o, "--why is of one JOB: its number, key or last");
	if (rc > 0 && rama_cli_opts_has(&c->o, RAMA_TAB_OPT_jobs_why)) {
		rc = tell_why(c, s, job, out, &e);
	} else if (rc > 0) {
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
