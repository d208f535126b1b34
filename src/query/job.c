/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "query/sql.h"

#define SUM(x) "CAST(sum(" x ") AS DOUBLE PRECISION)" /* may be too much for an integer */
#define SECONDS(x) "CAST(sum(" x ") / 1e9 AS DOUBLE PRECISION)"

/* clang-format off */
static const char *const tables[] = {
	[RAMA_QUERY_JOB_FINDINGS] =
		"SELECT level, rule, cost, title FROM findings WHERE job = $1 ORDER BY number",
	[RAMA_QUERY_JOB_ACTIVITY] =
		"SELECT layer, " SUM("reads") ", " SUM("writes") ", " SUM("metas") ", "
		SUM("bytes_read")
		", " SUM("bytes_written") ", " SECONDS("read_ns + write_ns + meta_ns")
		" FROM activity WHERE job = $1 GROUP BY layer ORDER BY layer",
	[RAMA_QUERY_JOB_EVENTS] =
		"SELECT layer, kind, " SUM("ops") ", " SUM("failed") ", " SUM("bytes") ", "
		SECONDS("ns")
		", CAST(max(longest) / 1e9 AS DOUBLE PRECISION)"
		" FROM rollups WHERE job = $1 GROUP BY layer, kind ORDER BY layer, kind",
	[RAMA_QUERY_JOB_PROCESSES] =
		"SELECT rank, host, pid, state, start_ns, end_ns, made + dropped, stored, "
		"dropped, missed, exe"
		" FROM processes WHERE job = $1 ORDER BY rank, start_ns, number",
	[RAMA_QUERY_JOB_LOSSES] =
		"SELECT agent, why, " SUM("events") ", " SUM("messages")
		" FROM losses WHERE job = $1 GROUP BY agent, why ORDER BY agent, why",
	[RAMA_QUERY_JOB_FIGURES] = "SELECT name, value FROM figures WHERE job = $1 ORDER BY name",
};
/* clang-format on */

struct one {
	rama_store_row_fn fn;
	void *ctx;
	bool found;
};

static int take_one(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct one *o = ctx;
	int rc = o->fn(o->ctx, row, e);

	o->found = true;
	return rc < 0 ? rc : 1;
}

int rama_query_job_row(struct rama_store *s, int64_t job, const struct rama_query_metric *column,
		       unsigned n, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_cell arg = rama_query_cell_int(job);
	struct one o = { fn, ctx, false };
	struct rama_query_sql sql;
	int rc;

	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, "SELECT ", NULL);
	for (unsigned i = 0; i < n; i++) {
		rama_query_sql_add(&sql, i > 0 ? ", " : "", NULL);
		rama_query_sql_add(&sql, column[i].sql, NULL);
	}
	rama_query_sql_add(&sql, " FROM jobs j WHERE j.number = ?", &arg);
	rc = rama_query_sql_run(&sql, s, take_one, &o, e);
	rama_query_sql_fini(&sql);
	if (rc == 0 && !o.found)
		return rama_err_set(e, RAMA_EMISSING, "job %" PRId64 " is no longer there", job);
	return rc;
}

int rama_query_job_rows(struct rama_store *s, int64_t job, enum rama_query_job_table table,
			rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_cell arg = rama_query_cell_int(job);
	int rc = rama_store_select(s, tables[table], &arg, 1, fn, ctx, e);

	return rc < 0 ? rc : 0;
}

static int take_start(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	*(int64_t *)ctx = row->cell[0].i;
	return 1;
}

int rama_query_job_start(struct rama_store *s, int64_t job, int64_t *ns, struct rama_err *e)
{
	struct rama_store_cell arg = rama_query_cell_int(job);
	int rc;

	*ns = 0;
	rc = rama_store_select(s, "SELECT start_ns FROM jobs WHERE number = $1", &arg, 1,
			       take_start, ns, e);
	return rc < 0 ? rc : 0;
}

/* ---- its log --------------------------------------------------------------------------------- */

static void take_text(char *to, size_t room, const struct rama_store_cell *c)
{
	if (c->type == RAMA_STORE_CELL_TEXT && c->len < room)
		snprintf(to, room, "%s", c->text);
}

static int take_log(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_query_job_log *k = ctx;
	const struct rama_store_cell *c = row->cell;

	(void)e;
	take_text(k->key, sizeof(k->key), &c[0]);
	take_text(k->state, sizeof(k->state), &c[1]);
	k->events = c[2].i;
	k->logged = c[3].type != RAMA_STORE_CELL_NULL;
	take_text(k->path, sizeof(k->path), &c[3]);
	k->size = c[4].i;
	k->mtime_ns = c[5].i;
	k->kept = c[6].i != 0;
	k->seconds = c[7].i;
	return 1;
}

int rama_query_job_log_get(struct rama_store *s, int64_t job, struct rama_query_job_log *to,
			   struct rama_err *e)
{
	static const char sql[] =
		"SELECT j.key, j.state, j.events, l.path, l.size, l.mtime_ns, l.kept,"
		" (SELECT count(DISTINCT a.t_ns) FROM activity a WHERE a.job = j.number)"
		" FROM jobs j LEFT JOIN logs l ON l.job = j.number WHERE j.number = $1";
	struct rama_store_cell arg = rama_query_cell_int(job);
	struct one o = { take_log, to, false };
	int rc;

	*to = (struct rama_query_job_log){ 0 };
	rc = rama_store_select(s, sql, &arg, 1, take_one, &o, e);
	if (rc >= 0 && !o.found)
		return rama_err_set(e, RAMA_EMISSING, "job %" PRId64 " is not in the store", job);
	return rc < 0 ? rc : 0;
}

int rama_query_logs_list(struct rama_store *s, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	int rc = rama_store_select(
		s,
		"SELECT l.job, l.path, j.key FROM logs l JOIN jobs j ON j.number = l.job"
		" ORDER BY l.path, l.job",
		NULL, 0, fn, ctx, e);

	return rc < 0 ? rc : 0;
}

/* ---- a live one ------------------------------------------------------------------------------ */

static int take_live(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_query_job_live *to = ctx;

	(void)e;
	if (row->n < 2)
		return 1;
	*to = (struct rama_query_job_live){ true, row->cell[0].i > 0 ? (uint64_t)row->cell[0].i : 0,
					    row->cell[1].i };
	return 1;
}

int rama_query_job_live_get(struct rama_store *s, const char *key, struct rama_query_job_live *to,
			    struct rama_err *e)
{
	static const char sql[] =
		"SELECT COALESCE(SUM(p.stored), 0), COUNT(*) - COUNT(p.end_ns) FROM processes p "
		"JOIN jobs j ON j.number = p.job WHERE j.key = $1";
	struct rama_store_cell arg = rama_query_cell_text(key);
	int rc;

	*to = (struct rama_query_job_live){ 0 };
	rc = rama_store_select(s, sql, &arg, 1, take_live, to, e);
	return rc < 0 ? rc : 0;
}
