/* SPDX-License-Identifier: BSD-3-Clause */
/* cmd_query.c: iorama query */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/human.h"
#include "base/when.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/open_store.h"
#include "cli/paper.h"
#include "query/cell.h"
#include "query/events.h"
#include "query/job.h"
#include "query/series.h"

#define LIMIT_ELSE 1000 /* rows of a table for people */

struct command {
	struct rama_cli_opts o;
	struct rama_store *store, *names;
	struct rama_query_events events;
	enum rama_rows_form form;
	uint64_t limit;
	int64_t origin; /* start of the job, ns */
	int64_t from, to;
	struct rama_rows rows;
	bool begun, more, no_events;
};

/* ---- options --------------------------------------------------------------------------------- */

static bool number_of(const struct rama_cli_opts *o, enum rama_tab_option_id option, uint64_t *n)
{
	const char *text = rama_cli_opts_value(o, option);
	char *end;

	if (text == NULL)
		return false;
	*n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0')
		rama_cli_opts_usage(o, "--%s is a number, not '%s'", rama_tab_options[option].name,
				    text);
	return true;
}

static int64_t time_of(const struct command *c, enum rama_tab_option_id option, int64_t otherwise)
{
	const char *text = rama_cli_opts_value(&c->o, option);
	struct timespec t;
	int64_t ns;

	if (text == NULL)
		return otherwise;
	clock_gettime(CLOCK_REALTIME, &t);
	if (*text == '+' && c->origin == 0)
		rama_cli_opts_usage(&c->o,
				    "--%s %s is after the start of a job: --job says of which",
				    rama_tab_options[option].name, text);
	if (!rama_when(text, (int64_t)t.tv_sec * 1000000000 + t.tv_nsec, c->origin, &ns))
		rama_cli_opts_usage(
			&c->o, "--%s is a time such as '2026-11-16 09:20', -10m or +5s, not '%s'",
			rama_tab_options[option].name, text);
	return ns;
}

static enum rama_store_order order_of(const struct rama_cli_opts *o, bool job)
{
	static const char *const orders[] = { [RAMA_STORE_ORDER_JOB_RANK_TIME] = "job_rank_time",
					      [RAMA_STORE_ORDER_JOB_TIME_RANK] = "job_time_rank",
					      [RAMA_STORE_ORDER_TIME_JOB_RANK] = "time_job_rank" };
	const char *text = rama_cli_opts_value(o, RAMA_TAB_OPT_query_order);

	if (text == NULL)
		return job ? RAMA_STORE_ORDER_JOB_RANK_TIME : RAMA_STORE_ORDER_TIME_JOB_RANK;
	for (unsigned i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		if (strcmp(text, orders[i]) != 0)
			continue;
		if (!job && i != RAMA_STORE_ORDER_TIME_JOB_RANK)
			rama_cli_opts_usage(o, "the order %s is one of a job: --job says of which",
					    text);
		return (enum rama_store_order)i;
	}
	rama_cli_opts_usage(o, "--order is job_rank_time, job_time_rank or time_job_rank, not '%s'",
			    text);
}

static int find_job(struct command *c, struct rama_err *e)
{
	const char *word = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_query_job);
	int rc;

	c->events.filter.job = -1;
	if (word == NULL)
		return 0;
	rc = rama_store_find_job(c->store, word, &c->events.filter.job, e);
	if (rc == 0)
		rc = rama_query_job_start(c->store, c->events.filter.job, &c->origin, e);
	return rc;
}

/* ---- rows of statements ---------------------------------------------------------------------- */

static int add_row(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct command *c = ctx;
	int rc = 0;

	if (!c->begun)
		rc = rama_rows_begin(&c->rows, row->n, row->name, NULL);
	c->begun = true;
	if (rc == 0 && c->limit > 0 && c->rows.rows == c->limit) {
		c->more = true;
		return 1;
	}
	if (rc == 0)
		rc = rama_query_rows_add(&c->rows, row->cell);
	return rc == 0 || rc == RAMA_ESTOPPED ? rc : rama_err_set(e, rc, "%s", rama_err_text(rc));
}

static int begin_rows(struct command *c, const struct rama_query_columns *k, struct rama_out *out,
		      struct rama_err *e)
{
	int rc;

	c->rows = (struct rama_rows){ .out = out, .form = c->form };
	c->begun = true;
	rc = rama_rows_begin(&c->rows, k->n, k->name, k->unit);
	return rc == 0 ? 0 : rama_err_set(e, rc, "%s", rama_err_text(rc));
}

static int end_rows(struct command *c, int rc)
{
	if (rc >= 0 || c->begun)
		rama_rows_end(&c->rows);
	return rc;
}

static int statement(struct command *c, const char *sql, struct rama_out *out, struct rama_err *e)
{
	c->rows.out = out;
	c->rows.form = c->form;
	return end_rows(c, rama_query_statement_run(c->store, sql, add_row, c, e));
}

/* host: samples of this node, else the activity of jobs */
static int series(struct command *c, const char *host, struct rama_out *out, struct rama_err *e)
{
	struct rama_query_series q = {
		.job = c->events.filter.job,
		.rank = c->events.filter.rank,
		.host = host,
		.what = rama_cli_opts_value(&c->o, host != NULL ? RAMA_TAB_OPT_query_op
								: RAMA_TAB_OPT_query_layer),
		.from = c->from,
		.to = c->to,
		.limit = c->limit > 0 ? c->limit + 1 : 0 /* one more: it is told */
	};
	int rc = begin_rows(
		c, host != NULL ? &rama_query_samples_columns : &rama_query_activity_columns, out,
		e);

	if (rc == 0)
		rc = host != NULL ? rama_query_samples_list(c->store, &q, add_row, c, e)
				  : rama_query_activity_list(c->store, &q, add_row, c, e);
	return end_rows(c, rc);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* for people: fewer, and the ones that tell most first */
#define E(id) RAMA_QUERY_EVENT_##id
static const enum rama_query_event_column short_columns[] = { E(START),	 E(DUR),   E(JOB),
							      E(RANK),	 E(TID),   E(CALL),
							      E(PARENT), E(LAYER), E(FN),
							      E(OFF),	 E(LEN),   E(FILE) };
static const char *const short_names[] = {
	"time",	  "took",  "job",      "rank",	 "tid",	  "call",
	"parent", "layer", "function", "offset", "bytes", "file"
};
static const char *const short_units[] = { "when", "span", "id",   "id", "id", "id",
					   "id",   "text", "text", "id", "id", "text" };
#define N_SHORT (sizeof(short_columns) / sizeof(*short_columns))
/* for programs: all but the number of the process, which is of the store's own */
static const struct rama_query_columns few = { N_SHORT, short_names, short_units },
				       all = { E(PROCESS), rama_query_event_name,
					       rama_query_event_unit };
#undef E

static int begin_events(struct command *c, struct rama_err *e)
{
	return begin_rows(c, c->form == RAMA_ROWS_TEXT ? &few : &all, c->rows.out, e);
}

static int add_event(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct command *c = ctx;
	struct rama_store_cell cell[N_SHORT];
	int rc = c->begun ? 0 : begin_events(c, e);

	if (rc != 0)
		return rc;
	if (c->form != RAMA_ROWS_TEXT)
		return rama_query_rows_add(&c->rows, row->cell);
	for (unsigned i = 0; i < N_SHORT; i++)
		cell[i] = row->cell[short_columns[i]];
	return rama_query_rows_add(&c->rows, cell);
}

/* Rows begin with the first one, so that a file that is not there leaves nothing behind. */
static int list_events(struct command *c, struct rama_out *out, struct rama_err *e)
{
	int rc;

	c->rows.out = out;
	rc = rama_query_events_list(c->store, c->names, &c->events, add_event, c, e);
	if (rc == 0 && !c->begun)
		rc = begin_events(c, e);
	return end_rows(c, rc);
}

static int events(struct command *c, struct rama_out *out, struct rama_err *e)
{
	struct rama_store_event_filter *f = &c->events.filter;
	int rc;

	f->order = order_of(&c->o, f->job >= 0);
	f->from = c->from == INT64_MIN && c->to == INT64_MAX ? 0 : c->from;
	f->to = c->from == INT64_MIN && c->to == INT64_MAX ? 0 : c->to;
	f->layer = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_query_layer);
	f->op = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_query_op);
	number_of(&c->o, RAMA_TAB_OPT_query_record, &f->record);
	c->events.file = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_query_file);
	c->events.no_hosts = c->form == RAMA_ROWS_TEXT;
	c->events.limit = c->limit;
	if (c->events.file != NULL && f->record != 0)
		rama_cli_opts_usage(&c->o, "--file and --record exclude each other");
	rc = rama_cli_store_here(&c->names, &c->o, RAMA_TAB_OPT_query_store, RAMA_STORE_READ);
	if (rc != 0)
		return rama_err_set(e, RAMA_EIO, "the store cannot be opened again");
	rc = list_events(c, out, e);
	c->more = c->events.more;
	c->no_events = c->form == RAMA_ROWS_TEXT && c->rows.rows == 0;
	return rc;
}

static int answer(struct command *c, struct rama_out *out)
{
	const char *sql = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_query_sql),
		   *host = rama_cli_opts_value(&c->o, RAMA_TAB_OPT_query_samples);
	struct rama_err e = { 0 };
	uint64_t rank;
	int rc = find_job(c, &e);

	if (rc == 0) {
		c->events.filter.rank =
			number_of(&c->o, RAMA_TAB_OPT_query_rank, &rank) ? (int64_t)rank : -1;
		c->from = time_of(c, RAMA_TAB_OPT_query_from, INT64_MIN);
		c->to = time_of(c, RAMA_TAB_OPT_query_to, INT64_MAX);
		if (sql != NULL)
			rc = statement(c, sql, out, &e);
		else if (host != NULL)
			rc = series(c, host, out, &e);
		else if (rama_cli_opts_has(&c->o, RAMA_TAB_OPT_query_activity))
			rc = series(c, NULL, out, &e);
		else
			rc = events(c, out, &e);
	}
	if (rc == 0 || rc == RAMA_ESTOPPED)
		return 0;
	rama_cli_complain("query", "%s", e.code != 0 ? e.text : rama_err_text(rc));
	return rama_err_status(rc);
}

static void read_options(struct command *c)
{
	const struct rama_cli_opts *o = &c->o;
	unsigned kinds = rama_cli_opts_has(o, RAMA_TAB_OPT_query_sql) +
			 rama_cli_opts_has(o, RAMA_TAB_OPT_query_activity) +
			 rama_cli_opts_has(o, RAMA_TAB_OPT_query_samples);

	if (o->n_args > 0)
		rama_cli_opts_usage(o, "'%s' is one word too many; jobs are named by --job",
				    o->args[0]);
	if (kinds > 1)
		rama_cli_opts_usage(o, "--sql, --activity and --samples exclude each other");
	if (rama_cli_opts_has(o, RAMA_TAB_OPT_query_csv) &&
	    rama_cli_opts_has(o, RAMA_TAB_OPT_query_json))
		rama_cli_opts_usage(o, "--csv and --json exclude each other");
	c->form = rama_cli_opts_has(o, RAMA_TAB_OPT_query_csv)	  ? RAMA_ROWS_CSV
		  : rama_cli_opts_has(o, RAMA_TAB_OPT_query_json) ? RAMA_ROWS_JSON
								  : RAMA_ROWS_TEXT;
	c->limit = c->form == RAMA_ROWS_TEXT ? LIMIT_ELSE : 0;
	number_of(o, RAMA_TAB_OPT_query_limit, &c->limit);
}

int rama_cli_cmd_query(int argc, char **argv)
{
	struct command c = { 0 };
	struct rama_out out;
	char n[RAMA_HUMAN];
	int status, end;

	rama_cli_opts_parse(&c.o, RAMA_TAB_CMD_query, argc, argv);
	read_options(&c);
	status = rama_cli_store_here(&c.store, &c.o, RAMA_TAB_OPT_query_store, RAMA_STORE_READ);
	if (status == 0) {
		rama_cli_stdout_begin(&out);
		status = answer(&c, &out);
		end = rama_cli_stdout_end(&out);
		status = status != 0 ? status : end;
		if (status == 0 && c.no_events)
			rama_cli_complain("query", "no events; `iorama run --live` and `iorama "
						   "agent` bring them into a store");
		if (status == 0 && c.more && !rama_cli_opts_has(&c.o, RAMA_TAB_OPT_query_limit))
			rama_cli_complain("query",
					  "there is more than these %s rows: --limit 0 prints all",
					  rama_human_count(n, (int64_t)c.limit));
	}
	rama_store_close(c.names);
	rama_store_close(c.store);
	rama_cli_opts_fini(&c.o);
	return status;
}
