/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/site.h"

#include <string.h>

#include "query/sql.h"

#define REAL(x) "CAST(" x " AS DOUBLE PRECISION)"
#define NODES "(CASE WHEN j.nodes > 0 THEN j.nodes ELSE 1 END)"
/* findings may overlap: no job loses more than it spends in I/O */
#define LOST "(CASE WHEN j.cost > j.io_time THEN j.io_time ELSE coalesce(j.cost, 0) END)"
/* layers by which bytes leave a program: those above them move the same bytes once more */
#define LOWEST "('POSIX', 'STDIO', 'EXTRA')"
#define WEEK_NS (7 * 86400 * INT64_C(1000000000))
#define N(x) (sizeof(x) / sizeof(*(x)))

static int end(struct rama_query_sql *sql, struct rama_store *s, uint64_t limit,
	       rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	int rc;

	if (limit > 0) {
		rama_query_sql_add(sql, " LIMIT ", NULL);
		rama_query_sql_number(sql, (int64_t)limit);
	}
	rc = rama_query_sql_run(sql, s, fn, ctx, e);
	rama_query_sql_fini(sql);
	return rc;
}

/* ---- at a glance ----------------------------------------------------------------------------- */

static const char *const week_names[] = { "running",   "ended", "losing", "node_time_lost",
					  "node_time", "seen",	"lost" };
static const char *const week_units[] = { "count", "count", "count", "s", "s", "count", "count" };
const struct rama_query_columns rama_query_week_columns = { N(week_names), week_names, week_units };

/* clang-format off */
static const char week_sums[] =
	"), count(*),"
	" CAST(coalesce(sum(CASE WHEN " LOST " > 0.1 * j.run_time THEN 1 ELSE 0 END), 0)"
	" AS BIGINT),"
	" coalesce(sum(" REAL(LOST) " * " NODES "), 0),"
	" coalesce(sum(" REAL("j.run_time") " * " NODES "), 0),"
	" coalesce(sum(" REAL("j.events") " + " REAL("j.lost") "), 0),"
	" coalesce(sum(" REAL("j.lost") "), 0)"
	" FROM jobs j WHERE j.end_ns >= ?";
/* clang-format on */

int rama_query_week_list(struct rama_store *s, const struct rama_query_site *q,
			 rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_cell since = rama_query_cell_int(q->since);
	struct rama_query_sql sql;

	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, "SELECT (SELECT count(*) FROM jobs j WHERE j.state = 'running'",
			   NULL);
	rama_query_seen_add(&sql, "j.username", &q->seen);
	rama_query_sql_add(&sql, week_sums, &since);
	rama_query_seen_add(&sql, "j.username", &q->seen);
	return end(&sql, s, 0, fn, ctx, e);
}

/* ---- now ------------------------------------------------------------------------------------- */

static const char *const moving_names[] = { "job",	  "user",      "name",	"jobid",
					    "ranks",	  "nodes",     "start", "read_rate",
					    "write_rate", "meta_rate", "busy" };
static const char *const moving_units[] = { "id",   "text",    "text",	  "id",	   "count", "count",
					    "when", "bytes/s", "bytes/s", "count", "count" };
const struct rama_query_columns rama_query_moving_columns = { N(moving_names), moving_names,
							      moving_units };

/* clang-format off */
#define RATE(of, kind) \
	"coalesce(sum(CASE WHEN s.kind = '" kind "' THEN " REAL("s." of) " ELSE 0 END), 0) / 10"
_Static_assert(RAMA_QUERY_NOW == 10, "the statement says so");
static const char moving[] =
	"SELECT j.number, j.username, j.name, j.jobid, j.nprocs, j.nodes, j.start_ns, "
	RATE("bytes", "read") ", " RATE("bytes", "write") ", " RATE("ops", "meta")
	", coalesce(sum(" REAL("s.ns") "), 0) / 1e10"
	" FROM jobs j LEFT JOIN series s ON s.job = j.number AND s.second >= ? AND s.second < ?"
	" AND s.layer IN " LOWEST " WHERE j.state = 'running'";
static const char moving_order[] =
	" GROUP BY j.number, j.username, j.name, j.jobid, j.nprocs, j.nodes, j.start_ns"
	" ORDER BY coalesce(sum(" REAL("s.bytes") "), 0) DESC, j.number DESC";
#undef RATE
/* clang-format on */

int rama_query_moving_list(struct rama_store *s, const struct rama_query_site *q,
			   rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	/* a second is complete when agents have told of it */
	int64_t until = q->now / 1000000000 - 1;
	struct rama_store_cell times[2] = { rama_query_cell_int(until - RAMA_QUERY_NOW),
					    rama_query_cell_int(until) };
	struct rama_query_sql sql;

	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, moving, times);
	rama_query_seen_add(&sql, "j.username", &q->seen);
	rama_query_sql_add(&sql, moving_order, NULL);
	return end(&sql, s, q->limit, fn, ctx, e);
}

/* ---- what costs ------------------------------------------------------------------------------ */

static int take_first(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	if (row->cell[0].type == RAMA_STORE_CELL_INT)
		*(int64_t *)ctx = row->cell[0].i;
	return 1;
}

int rama_query_first_job(struct rama_store *s, int64_t since, struct rama_store_cell *first,
			 struct rama_err *e)
{
	struct rama_store_cell arg = rama_query_cell_int(since);
	int64_t number = INT64_MAX;
	/* + 0: PostgreSQL is not to go through all numbers from the first on */
	int rc = rama_store_select(s, "SELECT min(number + 0) FROM jobs WHERE start_ns >= $1", &arg,
				   1, take_first, &number, e);

	*first = rama_query_cell_int(number);
	return rc < 0 ? rc : 0;
}

static const struct {
	const char *name, *figure, *rule;
} rankings[] = {
#define RANKING(name, figure, unit, rule, doc) { #name, #figure, #rule },
#include "query/rankings.def"
#undef RANKING
};

static const char *const ranking_names[] = { "job",   "user",  "name",	"start", "run_time",
					     "ranks", "nodes", "value", "level", "jobid" };
static const char *const ranking_units[] = { "id",    "text",  "text", "when", "s",
					     "count", "count", NULL,   "text", "id" };
const struct rama_query_columns rama_query_ranking_columns = { N(ranking_names), ranking_names,
							       ranking_units };

int rama_query_ranking_list(struct rama_store *s, const struct rama_query_site *q,
			    const char *metric, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_cell args[5], first;
	struct rama_query_sql sql;
	size_t i = 0;
	int rc;

	while (i < N(rankings) && strcmp(rankings[i].name, metric) != 0)
		i++;
	if (i == N(rankings))
		return rama_err_set(e, RAMA_EUSAGE, "no such metric");
	rc = rama_query_first_job(s, q->since, &first, e);
	if (rc != 0)
		return rc;
	args[0] = rama_query_cell_text(rankings[i].figure);
	args[1] = rama_query_cell_text(rankings[i].rule);
	args[2] = args[4] = first;
	args[3] = rama_query_cell_int(q->since);
	rama_query_sql_init(&sql);
	rama_query_sql_add(
		&sql,
		"SELECT j.number, j.username, j.name, j.start_ns, j.run_time, j.nprocs, j.nodes, "
		"v.value, t.level, j.jobid FROM jobs j JOIN figure_values v ON v.job = j.number "
		"AND v.figure = (SELECT number FROM figure_names WHERE name = ?) LEFT JOIN (SELECT "
		"job, max(level) AS level FROM findings WHERE rule = ? AND level IN ('HIGH', "
		"'WARN') AND job >= ? GROUP BY job) t ON t.job = j.number WHERE v.value > 0 AND "
		"j.start_ns >= ? AND v.job >= ?",
		args);
	rama_query_seen_add(&sql, "j.username", &q->seen);
	rama_query_sql_add(&sql,
			   " ORDER BY CASE WHEN t.level IS NULL THEN 1 ELSE 0 END, v.value DESC, "
			   "j.number DESC",
			   NULL);
	return end(&sql, s, q->limit, fn, ctx, e);
}

/* ---- who else was there ---------------------------------------------------------------------- */

static const char *const beside_names[] = { "job",   "user",	   "name",	    "jobid",
					    "state", "start",	   "end",	    "ranks",
					    "nodes", "bytes_read", "bytes_written", "io_time",
					    "node",  "under" };
static const char *const beside_units[] = { "id",    "text", "text",  "id",    "text",
					    "when",  "when", "count", "count", "bytes",
					    "bytes", "s",    "id",    "id" };
const struct rama_query_columns rama_query_beside_columns = { N(beside_names), beside_names,
							      beside_units };

struct times {
	int64_t start, end;
	bool found;
};

static int take_times(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct times *t = ctx;

	(void)e;
	t->found = row->cell[0].type == RAMA_STORE_CELL_INT;
	t->start = row->cell[0].i;
	if (row->cell[1].type == RAMA_STORE_CELL_INT)
		t->end = row->cell[1].i;
	return 1;
}

/* what LIKE takes for anything becomes itself */
static void pattern_of(struct rama_out *o, const char *folder)
{
	size_t n = strlen(folder);

	while (n > 0 && folder[n - 1] == '/')
		n--;
	for (size_t i = 0; i < n; i++) {
		if (strchr("%_!", folder[i]) != NULL)
			rama_out_char(o, '!');
		rama_out_char(o, folder[i]);
	}
	rama_out_text(o, "/%");
	rama_out_char(o, '\0');
}

/* clang-format off */
#define MOST_BYTES(t) \
	" ORDER BY " REAL(t ".bytes_read") " + " REAL(t ".bytes_written") " DESC, " t ".number DESC"
static const char beside[] =
	"SELECT x.*, CASE WHEN EXISTS (SELECT 1 FROM processes p WHERE p.job = x.number AND"
	" p.host IN (SELECT host FROM processes WHERE job = ?)) THEN 1 ELSE 0 END, ";
static const char beside_under[] =
	"CASE WHEN EXISTS (SELECT 1 FROM files f WHERE f.job = x.number AND f.path LIKE ?"
	" ESCAPE '!') THEN 1 ELSE 0 END";
static const char beside_jobs[] =
	" FROM (SELECT j.number, j.username, j.name, j.jobid, j.state, j.start_ns, j.end_ns,"
	" j.nprocs, j.nodes, j.bytes_read, j.bytes_written, j.io_time FROM jobs j WHERE"
	" j.start_ns >= ? AND j.start_ns < ? AND (j.end_ns > ? OR j.state = 'running') AND"
	" j.number <> ?";
/* clang-format on */

int rama_query_beside_list(struct rama_store *s, const struct rama_query_site *q, int64_t job,
			   const char *under, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_cell number = rama_query_cell_int(job), args[4], pattern;
	struct times t = { 0, q->now, false };
	struct rama_query_sql sql;
	struct rama_out like;
	int rc = rama_store_select(s, "SELECT start_ns, end_ns FROM jobs WHERE number = $1",
				   &number, 1, take_times, &t, e);

	if (rc < 0 || !t.found)
		return rc < 0 ? rc : 0;
	rama_out_init(&like, NULL, NULL);
	pattern_of(&like, under != NULL ? under : "");
	if (like.error != 0) {
		rama_out_fini(&like);
		return rama_err_no_memory(e);
	}
	pattern = rama_query_cell_text(like.buf);
	args[0] = rama_query_cell_int(t.start - WEEK_NS);
	args[1] = rama_query_cell_int(t.end);
	args[2] = rama_query_cell_int(t.start);
	args[3] = number;
	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, beside, &number);
	rama_query_sql_add(&sql, under == NULL ? "NULL" : beside_under, &pattern);
	rama_query_sql_add(&sql, beside_jobs, args);
	rama_query_seen_add(&sql, "j.username", &q->seen);
	rama_query_sql_add(&sql, MOST_BYTES("j") " LIMIT ", NULL);
	rama_query_sql_number(&sql, (int64_t)q->limit);
	rama_query_sql_add(&sql, ") x" MOST_BYTES("x"), NULL);
	rc = end(&sql, s, 0, fn, ctx, e);
	rama_out_fini(&like);
	return rc;
}
