/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_jobs.c: iorama jobs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/when.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/jobs_list.h"
#include "cli/open_store.h"
#include "config/text.h"
#include "diagnose/diagnose.h"
#include "live/index.h"

#define LIMIT_ELSE 50 /* jobs of a table for people */
#define WHERE_ROOM 16384

struct command {
	struct rama_opts o;
	struct rama_jobs_list list;
	char where[WHERE_ROOM];
	char order[1200];
};

/* ---- conditions ------------------------------------------------------------------------------------ */

static struct rama_cell text_cell(const char *s)
{
	return (struct rama_cell){ .type = RAMA_CELL_TEXT, .text = s, .len = strlen(s) };
}

/* one more condition; every %u of it is the number of this argument */
static void condition(struct command *c, const char *sql, struct rama_cell arg)
{
	size_t have = strlen(c->where);
	unsigned n = c->list.n_args + 1;

	if (n > RAMA_COMPARE_MOST)
		rama_opts_usage(&c->o, "more than %d conditions", RAMA_COMPARE_MOST);
	c->list.arg[c->list.n_args++] = arg;
	snprintf(c->where + have, sizeof(c->where) - have, " AND %s $%u", sql, n);
}

static void time_condition(struct command *c, enum rama_option_id option, const char *sql)
{
	const char *text = rama_opts_value(&c->o, option);
	struct rama_cell arg = { .type = RAMA_CELL_INT };

	if (text == NULL)
		return;
	if (!rama_when(text, (int64_t)time(NULL) * 1000000000, 0, &arg.i))
		rama_opts_usage(&c->o,
				"--%s is a time such as 2026-11-16, '2026-11-16 09:20', -2h or "
				"yesterday, not '%s'",
				rama_options[option].name, text);
	condition(c, sql, arg);
}

static void size_condition(struct command *c)
{
	const char *text = rama_opts_value(&c->o, RAMA_OPT_jobs_minbytes);
	uint64_t bytes;

	if (text == NULL)
		return;
	if (!rama_piece_size((struct rama_piece){ text, strlen(text) }, &bytes) ||
	    bytes > INT64_MAX)
		rama_opts_usage(&c->o,
				"--min-bytes is a size such as 4096, 64KiB or 1.5GiB, not '%s'",
				text);
	condition(c,
		  "CAST(j.bytes_read AS DOUBLE PRECISION) + CAST(j.bytes_written AS DOUBLE "
		  "PRECISION) >=",
		  (struct rama_cell){ .type = RAMA_CELL_REAL, .f = (double)bytes });
}

/* a rule, or a level that one of the findings has at least */
static void finding_conditions(struct command *c)
{
	const char *text;

	for (size_t at = 0; (text = rama_opts_next(&c->o, RAMA_OPT_jobs_finding, &at)) != NULL;) {
		const struct rama_rule *rule = rama_rule_find(text);
		size_t have = strlen(c->where);

		if (strcasecmp(text, "high") == 0 || strcasecmp(text, "warn") == 0) {
			snprintf(c->where + have, sizeof(c->where) - have,
				 " AND EXISTS (SELECT 1 FROM findings f WHERE f.job = j.number AND "
				 "f.level IN ('HIGH'%s))",
				 strcasecmp(text, "warn") == 0 ? ", 'WARN'" : "");
			continue;
		}
		if (rule == NULL)
			rama_opts_usage(&c->o,
					"there is no rule '%s'; `iorama explain rules` lists them, "
					"high and warn are levels",
					text);
		condition(c, "j.number IN (SELECT f.job FROM findings f WHERE f.rule =",
			  text_cell(rule->id));
		have = strlen(c->where);
		snprintf(c->where + have, sizeof(c->where) - have, ")");
	}
}

static void conditions(struct command *c)
{
	const char *user = rama_opts_value(&c->o, RAMA_OPT_jobs_user), *text;
	size_t have;

	if (user != NULL)
		condition(c, "j.username =", text_cell(user));
	time_condition(c, RAMA_OPT_jobs_since, "coalesce(j.end_ns, 9223372036854775807) >=");
	time_condition(c, RAMA_OPT_jobs_until, "j.start_ns <");
	size_condition(c);
	finding_conditions(c);
	if (rama_opts_has(&c->o, RAMA_OPT_jobs_running)) {
		have = strlen(c->where);
		snprintf(c->where + have, sizeof(c->where) - have, " AND j.state = 'running'");
	}
	for (size_t at = 0; (text = rama_opts_next(&c->o, RAMA_OPT_jobs_where, &at)) != NULL;) {
		if (c->list.n_args == RAMA_COMPARE_MOST)
			rama_opts_usage(&c->o, "more than %d conditions", RAMA_COMPARE_MOST);
		rama_metric_compare(&c->o, text, c->where, sizeof(c->where), c->list.n_args + 1,
				    &c->list.arg[c->list.n_args]);
		c->list.n_args++;
	}
	c->list.where = c->where;
}

/* ---- columns and order ------------------------------------------------------------------------------ */

static int list_metrics(void)
{
	struct rama_metric m;

	puts("Columns:");
	for (unsigned i = 0; rama_metric_column(i, &m); i++)
		printf("  %-16s %s\n", m.key, m.doc);
	puts("\nFigures of jobs with a log:");
	for (unsigned i = 0; i < rama_n_index_figures; i++)
		printf("  %-16s %s\n", rama_index_figures[i].name, rama_index_figures[i].doc);
	puts("\nFigures of the rules (`iorama explain figures`) and sums of counters (`iorama "
	     "explain counters`) can be used\n"
	     "like columns: small_writes, POSIX_OPENS.");
	return 0;
}

static void add_column(struct command *c, const char *name, size_t len)
{
	if (c->list.n_columns == RAMA_JOBS_COLUMNS)
		rama_opts_usage(&c->o, "more than %d columns", RAMA_JOBS_COLUMNS);
	if (!rama_metric_find(name, len, &c->list.column[c->list.n_columns]))
		rama_opts_usage(&c->o,
				"there is no column or figure '%.*s'; `iorama jobs --columns help` "
				"lists them",
				(int)len, name);
	c->list.column[c->list.n_columns++].shown = 1;
}

static void choose_columns(struct command *c)
{
	const char *text = rama_opts_value(&c->o, RAMA_OPT_jobs_columns);
	bool all = text == NULL && c->list.form != RAMA_ROWS_TEXT;
	struct rama_metric m;

	for (unsigned i = 0; text == NULL && rama_metric_column(i, &m); i++)
		if (all || m.shown > 0)
			c->list.column[c->list.n_columns++] = m;
	for (size_t n; text != NULL && *text != '\0'; text += n + (text[n] == ',')) {
		n = strcspn(text, ",");
		add_column(c, text, n);
	}
}

/* numbers and times: the largest first; texts in order; -KEY the other way round */
static void choose_order(struct command *c)
{
	const char *key = rama_opts_value(&c->o, RAMA_OPT_jobs_sort);
	bool turned = key != NULL && *key == '-', up;
	struct rama_metric m;

	c->list.order = c->order;
	if (key == NULL) {
		snprintf(c->order, sizeof(c->order),
			 "j.start_ns IS NULL, j.start_ns DESC, j.number DESC");
		return;
	}
	key += turned;
	if (!rama_metric_find(key, strlen(key), &m))
		rama_opts_usage(&c->o,
				"there is no column or figure '%s'; `iorama jobs --columns help` "
				"lists them",
				key);
	up = (strcmp(m.unit, "text") == 0) != turned;
	snprintf(c->order, sizeof(c->order), "%s IS NULL, %s %s, j.number DESC", m.sql, m.sql,
		 up ? "ASC" : "DESC");
}

static uint64_t limit_of(const struct command *c)
{
	const char *text = rama_opts_value(&c->o, RAMA_OPT_jobs_limit);
	char *end;
	uint64_t n;

	if (text == NULL)
		return c->list.form == RAMA_ROWS_TEXT ? LIMIT_ELSE : 0;
	n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0')
		rama_opts_usage(&c->o, "--limit is a number, 0 for none, not '%s'", text);
	return n;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

/* Can the word be nothing but the name of one job: its number, the key that agents and logs give, "last"? */
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
	struct rama_terminal t =
		rama_terminal_of(&c->o, RAMA_OPT_jobs_width, RAMA_OPT_jobs_color, false);
	struct rama_err e = { 0 };
	int64_t job;
	int rc;

	rc = one_job(c, s, &job, &e);
	if (rc > 0) {
		if (c->list.form == RAMA_ROWS_CSV)
			rama_opts_usage(&c->o, "one job is text or --json; --csv is for lists");
		rc = rama_jobs_detail(s, job, c->list.form, &t,
				      rama_opts_has(&c->o, RAMA_OPT_jobs_limit), out, &e);
	} else if (rc == 0) {
		rc = rama_jobs_list(s, &c->list, &t, out, &e);
	}
	if (rc == 0 || rc == RAMA_ESTOPPED)
		return 0;
	rama_complain("jobs", "%s", e.code != 0 ? e.text : rama_err_text(rc));
	return rama_err_status(rc);
}

static void read_options(struct command *c)
{
	const struct rama_opts *o = &c->o;

	if (rama_opts_has(o, RAMA_OPT_jobs_csv) && rama_opts_has(o, RAMA_OPT_jobs_json))
		rama_opts_usage(o, "--csv and --json exclude each other");
	c->list.form = rama_opts_has(o, RAMA_OPT_jobs_csv)    ? RAMA_ROWS_CSV
		       : rama_opts_has(o, RAMA_OPT_jobs_json) ? RAMA_ROWS_JSON
							      : RAMA_ROWS_TEXT;
	c->list.limit = limit_of(c);
	c->list.name = rama_opts_value(o, RAMA_OPT_jobs_name);
	c->list.words = o->args;
	c->list.n_words = o->n_args;
	choose_columns(c);
	choose_order(c);
	conditions(c);
}

int rama_cmd_jobs(int argc, char **argv)
{
	struct command *c = calloc(1, sizeof(*c));
	struct rama_store *s = NULL;
	struct rama_out out;
	const char *columns;
	int status, end;

	if (c == NULL) {
		rama_complain("jobs", "%s", rama_err_text(RAMA_EMEMORY));
		return 4;
	}
	rama_opts_parse(&c->o, RAMA_CMD_jobs, argc, argv);
	columns = rama_opts_value(&c->o, RAMA_OPT_jobs_columns);
	if (columns != NULL && strcmp(columns, "help") == 0) {
		status = list_metrics();
	} else {
		read_options(c);
		status = rama_store_here(&s, &c->o, RAMA_OPT_jobs_store, RAMA_STORE_READ);
		if (status == 0) {
			rama_stdout_begin(&out);
			status = answer(c, s, &out);
			end = rama_stdout_end(&out);
			status = status != 0 ? status : end;
		}
	}
	rama_store_close(s);
	rama_opts_fini(&c->o);
	free(c);
	return status;
}
