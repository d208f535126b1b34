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
#include "cli/query_events.h"

#define LIMIT_ELSE 1000 /* rows of a table for people */

struct command {
	struct rama_opts o;
	struct rama_store *store, *names;
	struct rama_query_events events;
	enum rama_rows_form form;
	uint64_t limit;
	int64_t origin; /* start of the job, ns */
	int64_t from, to;
	struct rama_rows rows;
	bool begun, more;
};

/* ---- options -------------------------------------------------------------------------------------- */

static bool number_of(const struct rama_opts *o, enum rama_option_id option, uint64_t *n)
{
	const char *text = rama_opts_value(o, option);
	char *end;

	if (text == NULL)
		return false;
	*n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0')
		rama_opts_usage(o, "--%s is a number, not '%s'", rama_options[option].name, text);
	return true;
}

static int64_t time_of(const struct command *c, enum rama_option_id option, int64_t otherwise)
{
	const char *text = rama_opts_value(&c->o, option);
	struct timespec t;
	int64_t ns;

	if (text == NULL)
		return otherwise;
	clock_gettime(CLOCK_REALTIME, &t);
	if (*text == '+' && c->origin == 0)
		rama_opts_usage(&c->o, "--%s %s is after the start of a job: --job says of which",
				rama_options[option].name, text);
	if (!rama_when(text, (int64_t)t.tv_sec * 1000000000 + t.tv_nsec, c->origin, &ns))
		rama_opts_usage(&c->o,
				"--%s is a time such as '2026-11-16 09:20', -10m or +5s, not '%s'",
				rama_options[option].name, text);
	return ns;
}

static enum rama_store_order order_of(const struct rama_opts *o, bool job)
{
	static const char *const orders[] = { [RAMA_ORDER_JOB_RANK_TIME] = "job_rank_time",
					      [RAMA_ORDER_JOB_TIME_RANK] = "job_time_rank",
					      [RAMA_ORDER_TIME_JOB_RANK] = "time_job_rank" };
	const char *text = rama_opts_value(o, RAMA_OPT_query_order);

	if (text == NULL)
		return job ? RAMA_ORDER_JOB_RANK_TIME : RAMA_ORDER_TIME_JOB_RANK;
	for (unsigned i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		if (strcmp(text, orders[i]) != 0)
			continue;
		if (!job && i != RAMA_ORDER_TIME_JOB_RANK)
			rama_opts_usage(o, "the order %s is one of a job: --job says of which",
					text);
		return (enum rama_store_order)i;
	}
	rama_opts_usage(o, "--order is job_rank_time, job_time_rank or time_job_rank, not '%s'",
			text);
}

static int take_start(void *ctx, const struct rama_row *row, struct rama_err *e)
{
	struct command *c = ctx;

	(void)e;
	c->origin = row->cell[0].i;
	return 1;
}

static int find_job(struct command *c, struct rama_err *e)
{
	const char *word = rama_opts_value(&c->o, RAMA_OPT_query_job);
	struct rama_cell arg = { .type = RAMA_CELL_INT };
	int rc;

	c->events.filter.job = -1;
	if (word == NULL)
		return 0;
	rc = rama_store_find_job(c->store, word, &c->events.filter.job, e);
	arg.i = c->events.filter.job;
	if (rc == 0)
		rc = rama_store_select(c->store, "SELECT start_ns FROM jobs WHERE number = $1",
				       &arg, 1, take_start, c, e);
	return rc < 0 ? rc : 0;
}

/* columns that are known before the first row */
struct columns {
	unsigned n;
	const char *const *name, *const *unit;
};

/* ---- rows of statements ------------------------------------------------------------------------------ */

static int add_row(void *ctx, const struct rama_row *row, struct rama_err *e)
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
		rc = rama_rows_add(&c->rows, row->cell);
	return rc == 0 || rc == RAMA_ESTOPPED ? rc : rama_err_set(e, rc, "%s", rama_err_text(rc));
}

static int begin_rows(struct command *c, const struct columns *k, struct rama_out *out,
		      struct rama_err *e)
{
	int rc;

	c->rows = (struct rama_rows){ .out = out, .form = c->form };
	c->begun = true;
	rc = rama_rows_begin(&c->rows, k->n, k->name, k->unit);
	return rc == 0 ? 0 : rama_err_set(e, rc, "%s", rama_err_text(rc));
}

static int select_rows(struct command *c, const char *sql, const struct rama_cell *args, unsigned n,
		       struct rama_out *out, struct rama_err *e)
{
	int rc;

	c->rows.out = out;
	c->rows.form = c->form;
	rc = rama_store_select(c->store, sql, args, n, add_row, c, e);
	if (rc >= 0 || c->begun)
		rama_rows_end(&c->rows);
	return rc > 0 ? 0 : rc;
}

/* a statement whose conditions are only those that were asked for, so that keys can be used */
struct statement {
	char sql[700];
	struct rama_cell args[8];
	unsigned n;
};

static void add_condition(struct statement *s, const char *sql, struct rama_cell arg)
{
	size_t have = strlen(s->sql);

	s->args[s->n++] = arg;
	snprintf(s->sql + have, sizeof(s->sql) - have, "%s %s $%u", s->n == 1 ? " WHERE" : " AND",
		 sql, s->n);
}

static struct rama_cell integer(int64_t v)
{
	return (struct rama_cell){ .type = RAMA_CELL_INT, .i = v };
}

static struct rama_cell text(const char *v)
{
	return (struct rama_cell){ .type = RAMA_CELL_TEXT, .text = v, .len = strlen(v) };
}

static void add_times(const struct command *c, struct statement *s)
{
	if (c->from != INT64_MIN)
		add_condition(s, "t_ns >=", integer(c->from));
	if (c->to != INT64_MAX)
		add_condition(s, "t_ns <", integer(c->to));
}

static int run_statement(struct command *c, struct statement *s, const char *order,
			 struct rama_out *out, struct rama_err *e)
{
	size_t have = strlen(s->sql);

	snprintf(s->sql + have, sizeof(s->sql) - have, " ORDER BY %s", order);
	return select_rows(c, s->sql, s->args, s->n, out, e);
}

static int activity(struct command *c, struct rama_out *out, struct rama_err *e)
{
	static const char *const names[] = { "time",	      "job",	 "rank",     "layer",
					     "reads",	      "writes",	 "metas",    "bytes_read",
					     "bytes_written", "read_ns", "write_ns", "meta_ns",
					     "width_ns" };
	static const char *const units[] = { "when",  "id",    "id",	"text",	 "count",
					     "count", "count", "bytes", "bytes", "span",
					     "span",  "span",  "span" };
	static const struct columns columns = { 13, names, units };
	struct statement s = { .sql = "SELECT t_ns, job, rank, layer, reads, writes, metas, "
				      "bytes_read, bytes_written, read_ns, write_ns,"
				      " meta_ns, width_ns FROM activity" };
	const char *layer = rama_opts_value(&c->o, RAMA_OPT_query_layer);
	int rc = begin_rows(c, &columns, out, e);

	if (c->events.filter.job >= 0)
		add_condition(&s, "job =", integer(c->events.filter.job));
	add_times(c, &s);
	if (c->events.filter.rank >= 0)
		add_condition(&s, "rank =", integer(c->events.filter.rank));
	if (layer != NULL)
		add_condition(&s, "layer =", text(layer));
	return rc != 0 ? rc : run_statement(c, &s, "t_ns, job, process, layer", out, e);
}

static int samples(struct command *c, const char *host, struct rama_out *out, struct rama_err *e)
{
	static const char *const names[] = { "time", "host", "metric", "value" };
	static const char *const units[] = { "when", "text", "text", NULL };
	static const struct columns columns = { 4, names, units };
	struct statement s = { .sql = "SELECT t_ns, host, metric, value FROM samples" };
	const char *metric = rama_opts_value(&c->o, RAMA_OPT_query_op);
	int rc = begin_rows(c, &columns, out, e);

	add_condition(&s, "host =", text(host));
	add_times(c, &s);
	if (metric != NULL)
		add_condition(&s, "metric =", text(metric));
	return rc != 0 ? rc : run_statement(c, &s, "t_ns, metric", out, e);
}

/* ---- events --------------------------------------------------------------------------------------- */

static int events(struct command *c, struct rama_out *out, struct rama_err *e)
{
	struct rama_event_filter *f = &c->events.filter;
	int rc;

	f->order = order_of(&c->o, f->job >= 0);
	f->from = c->from == INT64_MIN && c->to == INT64_MAX ? 0 : c->from;
	f->to = c->from == INT64_MIN && c->to == INT64_MAX ? 0 : c->to;
	f->layer = rama_opts_value(&c->o, RAMA_OPT_query_layer);
	f->op = rama_opts_value(&c->o, RAMA_OPT_query_op);
	number_of(&c->o, RAMA_OPT_query_record, &f->record);
	c->events.file = rama_opts_value(&c->o, RAMA_OPT_query_file);
	c->events.form = c->form;
	c->events.limit = c->limit;
	if (c->events.file != NULL && f->record != 0)
		rama_opts_usage(&c->o, "--file and --record exclude each other");
	rc = rama_store_here(&c->names, &c->o, RAMA_OPT_query_store, RAMA_STORE_READ);
	if (rc != 0)
		return rama_err_set(e, RAMA_EIO, "the store cannot be opened again");
	rc = rama_query_events(c->store, c->names, &c->events, out, e);
	c->more = c->events.more;
	return rc;
}

static int answer(struct command *c, struct rama_out *out)
{
	const char *sql = rama_opts_value(&c->o, RAMA_OPT_query_sql),
		   *host = rama_opts_value(&c->o, RAMA_OPT_query_samples);
	struct rama_err e = { 0 };
	uint64_t rank;
	int rc = find_job(c, &e);

	if (rc == 0) {
		c->events.filter.rank =
			number_of(&c->o, RAMA_OPT_query_rank, &rank) ? (int64_t)rank : -1;
		c->from = time_of(c, RAMA_OPT_query_from, INT64_MIN);
		c->to = time_of(c, RAMA_OPT_query_to, INT64_MAX);
		if (sql != NULL)
			rc = select_rows(c, sql, NULL, 0, out, &e);
		else if (host != NULL)
			rc = samples(c, host, out, &e);
		else if (rama_opts_has(&c->o, RAMA_OPT_query_activity))
			rc = activity(c, out, &e);
		else
			rc = events(c, out, &e);
	}
	if (rc == 0 || rc == RAMA_ESTOPPED)
		return 0;
	rama_complain("query", "%s", e.code != 0 ? e.text : rama_err_text(rc));
	return rama_err_status(rc);
}

static void read_options(struct command *c)
{
	const struct rama_opts *o = &c->o;
	unsigned kinds = rama_opts_has(o, RAMA_OPT_query_sql) +
			 rama_opts_has(o, RAMA_OPT_query_activity) +
			 rama_opts_has(o, RAMA_OPT_query_samples);

	if (o->n_args > 0)
		rama_opts_usage(o, "'%s' is one word too many; jobs are named by --job",
				o->args[0]);
	if (kinds > 1)
		rama_opts_usage(o, "--sql, --activity and --samples exclude each other");
	if (rama_opts_has(o, RAMA_OPT_query_csv) && rama_opts_has(o, RAMA_OPT_query_json))
		rama_opts_usage(o, "--csv and --json exclude each other");
	c->form = rama_opts_has(o, RAMA_OPT_query_csv)	  ? RAMA_ROWS_CSV
		  : rama_opts_has(o, RAMA_OPT_query_json) ? RAMA_ROWS_JSON
							  : RAMA_ROWS_TEXT;
	c->limit = c->form == RAMA_ROWS_TEXT ? LIMIT_ELSE : 0;
	number_of(o, RAMA_OPT_query_limit, &c->limit);
}

int rama_cmd_query(int argc, char **argv)
{
	struct command c = { 0 };
	struct rama_out out;
	char n[RAMA_HUMAN];
	int status, end;

	rama_opts_parse(&c.o, RAMA_CMD_query, argc, argv);
	read_options(&c);
	status = rama_store_here(&c.store, &c.o, RAMA_OPT_query_store, RAMA_STORE_READ);
	if (status == 0) {
		rama_stdout_begin(&out);
		status = answer(&c, &out);
		end = rama_stdout_end(&out);
		status = status != 0 ? status : end;
		if (status == 0 && c.more && !rama_opts_has(&c.o, RAMA_OPT_query_limit))
			rama_complain("query",
				      "there is more than these %s rows: --limit 0 prints all",
				      rama_human_count(n, (int64_t)c.limit));
	}
	rama_store_close(c.names);
	rama_store_close(c.store);
	rama_opts_fini(&c.o);
	return status;
}
