/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/sums.h"

#include <stdio.h>
#include <string.h>

#include "query/sql.h"

/* ---- whose ----------------------------------------------------------------------------------- */

struct owner {
	char *to;
	size_t room;
	int found;
};

static int take_owner(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct owner *o = ctx;

	(void)e;
	o->found = 1;
	snprintf(o->to, o->room, "%s",
		 row->cell[0].type == RAMA_STORE_CELL_TEXT ? row->cell[0].text : "");
	return 1;
}

int rama_query_job_owner(struct rama_store *s, int64_t job, char *owner, size_t room,
			 struct rama_err *e)
{
	struct rama_store_cell arg = rama_query_cell_int(job);
	struct owner o = { owner, room, 0 };
	int rc = rama_store_select(s, "SELECT username FROM jobs WHERE number = $1", &arg, 1,
				   take_owner, &o, e);

	return rc < 0 ? rc : o.found;
}

void rama_query_seen_add(struct rama_query_sql *sql, const char *column,
			 const struct rama_query_seen *seen)
{
	if (seen->all)
		return;
	rama_query_sql_add(sql, " AND ", NULL);
	rama_query_sql_add(sql, column, NULL);
	rama_query_sql_add(sql, " IN (NULL", NULL); /* which is nobody */
	for (size_t i = 0; i < seen->n; i++) {
		struct rama_store_cell name = rama_query_cell_text(seen->user[i]);

		rama_query_sql_add(sql, ", ?", &name);
	}
	rama_query_sql_add(sql, ")", NULL);
}

/* ---- days ------------------------------------------------------------------------------------ */

static const char *const day_names[][11] = {
#define SUMS                                                                                 \
	"jobs", "broken", "bytes_read", "bytes_written", "io_time", "run_time", "node_time", \
		"cost", "high", "warn"
	{ "day", SUMS }, { "user", SUMS }, { "name", SUMS }
#undef SUMS
};
static const char *const day_units[][11] = {
#define SUMS "count", "count", "bytes", "bytes", "s", "s", "s", "s", "count", "count"
	{ "id", SUMS }, { "text", SUMS }, { "text", SUMS }
#undef SUMS
};
const struct rama_query_columns rama_query_days_columns[RAMA_QUERY_BYS] = {
	{ 11, day_names[0], day_units[0] },
	{ 11, day_names[1], day_units[1] },
	{ 11, day_names[2], day_units[2] },
};

int rama_query_days_list(struct rama_store *s, const struct rama_query_days *q,
			 rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	static const char *const group[RAMA_QUERY_BYS] = { "day", "username", "name" };
	static const char *const order[RAMA_QUERY_BYS] = { " ORDER BY day DESC",
							   " ORDER BY 8 DESC, 1",
							   " ORDER BY 8 DESC, 1" };
	struct rama_store_cell days[2] = { rama_query_cell_int(q->from),
					   rama_query_cell_int(q->to) };
	struct rama_query_sql sql;
	int rc;

	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, "SELECT ", NULL);
	rama_query_sql_add(&sql, group[q->by], NULL);
	rama_query_sql_add(&sql,
			   ", CAST(sum(jobs) AS BIGINT), CAST(sum(broken) AS BIGINT),"
			   " sum(bytes_read), sum(bytes_written), sum(io_ms) / 1000,"
			   " sum(run_ms) / 1000, sum(node_ms) / 1000, sum(cost_ms) / 1000,"
			   " CAST(sum(high) AS BIGINT), CAST(sum(warn) AS BIGINT) FROM days"
			   " WHERE day >= ? AND day < ?",
			   days);
	rama_query_seen_add(&sql, "username", &q->seen);
	for (unsigned i = 0; i < 2; i++) {
		const char *word = i == 0 ? q->user : q->name;
		struct rama_store_cell text = rama_query_cell_text(word != NULL ? word : "");

		if (word != NULL)
			rama_query_sql_add(&sql, i == 0 ? " AND username = ?" : " AND name = ?",
					   &text);
	}
	rama_query_sql_add(&sql, " GROUP BY ", NULL);
	rama_query_sql_add(&sql, group[q->by], NULL);
	rama_query_sql_add(&sql, order[q->by], NULL);
	rama_query_sql_add(&sql, " LIMIT ", NULL);
	rama_query_sql_number(&sql, (int64_t)q->limit);
	rc = rama_query_sql_run(&sql, s, fn, ctx, e);
	rama_query_sql_fini(&sql);
	return rc;
}

/* ---- findings -------------------------------------------------------------------------------- */

static const char *const worst_names[] = { "job",  "user",  "name",  "start",
					   "rule", "level", "title", "cost" };
static const char *const worst_units[] = {
	"id", "text", "text", "when", "text", "text", "text", "s"
};
const struct rama_query_columns rama_query_worst_columns = { 8, worst_names, worst_units };

int rama_query_worst_list(struct rama_store *s, const struct rama_query_seen *seen,
			  const char *level, uint64_t limit, rama_store_row_fn fn, void *ctx,
			  struct rama_err *e)
{
	struct rama_store_cell word = rama_query_cell_text(level);
	struct rama_query_sql sql;
	int rc;

	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql,
			   "SELECT j.number, j.username, j.name, j.start_ns, f.rule, f.level,"
			   " f.title, f.cost FROM findings f JOIN jobs j ON j.number = f.job"
			   " WHERE f.level = ? AND f.cost IS NOT NULL",
			   &word);
	rama_query_seen_add(&sql, "j.username", seen);
	rama_query_sql_add(&sql, " ORDER BY f.cost DESC, f.job DESC LIMIT ", NULL);
	rama_query_sql_number(&sql, (int64_t)limit);
	rc = rama_query_sql_run(&sql, s, fn, ctx, e);
	rama_query_sql_fini(&sql);
	return rc;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static const char *const node_names[] = { "host", "metrics", "seen" };
static const char *const node_units[] = { "text", "count", "when" };
const struct rama_query_columns rama_query_nodes_columns = { 3, node_names, node_units };

int rama_query_nodes_list(struct rama_store *s, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	static const char sql[] =
		"SELECT n.host, n.metrics, (SELECT max(v.t_ns) FROM sample_values v WHERE v.series "
		"="
		" n.first) FROM (SELECT host, count(*) AS metrics, min(number) AS first FROM"
		" sample_series GROUP BY host) n ORDER BY n.host LIMIT 10000";
	int rc = rama_store_select(s, sql, NULL, 0, fn, ctx, e);

	return rc < 0 ? rc : 0;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static double value_of(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_INT	 ? (double)c->i
	       : c->type == RAMA_STORE_CELL_REAL ? c->f
						 : 0;
}

static int take_running(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_query_totals *t = ctx;

	(void)e;
	t->running = row->cell[0].i;
	t->last_seen = row->cell[1].type == RAMA_STORE_CELL_INT ? row->cell[1].i : 0;
	return 1;
}

static int take_sums(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_query_totals *t = ctx;
	double *const to[] = { &t->ended,      &t->broken,	  &t->high, &t->warn,
			       &t->bytes_read, &t->bytes_written, &t->io,   &t->node_time };

	(void)e;
	for (unsigned i = 0; i < sizeof(to) / sizeof(to[0]); i++)
		*to[i] = value_of(&row->cell[i]);
	return 1;
}

int rama_query_counters_list(struct rama_store *s, rama_store_row_fn fn, void *ctx,
			     struct rama_err *e)
{
	static const char sql[] =
		"SELECT name, a, b, CAST(sum(value) AS DOUBLE PRECISION) FROM totals"
		" GROUP BY name, a, b ORDER BY name, a, b";
	int rc = rama_store_select(s, sql, NULL, 0, fn, ctx, e);

	return rc < 0 ? rc : 0;
}

int rama_query_totals_get(struct rama_store *s, struct rama_query_totals *to, struct rama_err *e)
{
	static const char running[] =
		"SELECT count(*), max(seen_ns) FROM jobs WHERE state = 'running'";
	static const char sums[] =
		"SELECT sum(jobs), sum(broken), sum(high), sum(warn), sum(bytes_read),"
		" sum(bytes_written), sum(io_ms) / 1000, sum(node_ms) / 1000 FROM days";
	int rc;

	*to = (struct rama_query_totals){ 0 };
	rc = rama_store_select(s, running, NULL, 0, take_running, to, e);
	if (rc >= 0)
		rc = rama_store_select(s, sums, NULL, 0, take_sums, to, e);
	return rc < 0 ? rc : 0;
}
