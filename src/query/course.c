/* SPDX-License-Identifier: BSD-3-Clause */
/* course.c: one job over time, for pictures: as many rows as a picture has points, whatever the
 * job has ranks and hours. */
#include "query/series.h"
#include "query/sql.h"

#define MOST_POINTS 10000

/* ---- how long it was ------------------------------------------------------------------------- */

static int take_span(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	int64_t *v = ctx;

	(void)e;
	for (unsigned i = 0; i < row->n; i++)
		if (row->cell[i].type == RAMA_STORE_CELL_INT)
			v[i] = row->cell[i].i;
	return 1;
}

static int64_t ceil_to(int64_t v, int64_t step)
{
	return (v + step - 1) / step * step;
}

/* from, to and step of what is asked for; the table whose rows fit them, and how long those are */
static int settle(struct rama_store *s, struct rama_query_course *q, const char **table,
		  int64_t *width, struct rama_err *e)
{
	struct rama_store_cell job = rama_query_cell_int(q->job);
	/* each by itself is the end of a key; both at once would read all between them */
	static const char ends[] =
		"SELECT (SELECT min(second) FROM series_minute WHERE job = $1), (SELECT max(second)"
		" FROM series_minute WHERE job = $1) + 60, (SELECT min(second) FROM series WHERE"
		" job = $1), (SELECT max(second) FROM series WHERE job = $1) + 1, (SELECT pruned"
		" FROM jobs WHERE number = $1)";
	/* by minutes, by seconds; what is gone of the job: from 2 on, its seconds */
	int64_t v[5] = { 0 };
	bool coarse;
	int rc;

	if (q->points < 1 || q->points > MOST_POINTS)
		return rama_err_set(e, RAMA_EUSAGE, "1 to %d points", MOST_POINTS);
	rc = rama_store_select(s, ends, &job, 1, take_span, v, e);
	if (rc < 0)
		return rc;
	coarse = v[4] >= 2;
	if (q->from == 0 && q->to == 0) {
		q->from = v[coarse ? 0 : 2];
		q->to = v[coarse ? 1 : 3];
	}
	if (q->from < 0 || q->to < q->from || q->to > 9000000000)
		return rama_err_set(e, RAMA_EUSAGE, "a time that cannot be");
	q->step = ceil_to(q->to - q->from, q->points) / q->points;
	q->step = q->step < 1 ? 1 : q->step;
	*table = " FROM series WHERE job = ?";
	*width = 1;
	if (q->step >= 4) {
		q->step = ceil_to(q->step, 10);
		*table = " FROM series_ten WHERE job = ?";
		*width = 10;
	}
	if (q->step >= 15 || coarse) {
		q->step = ceil_to(q->step, 60);
		*table = " FROM series_minute WHERE job = ?";
		*width = 60;
	}
	if (q->step >= 900) {
		q->step = ceil_to(q->step, 3600);
		*table = " FROM series_hour WHERE job = ?";
		*width = 3600;
	}
	q->from -= q->from % q->step; /* so that steps are the same, whatever was asked for */
	return 0;
}

/* ---- all ranks together ---------------------------------------------------------------------- */

static const char *const names[] = { "second", "layer",	  "kind",  "ops",     "bytes",
				     "time",   "longest", "ranks", "slowest", "slowest_time" };
static const char *const units[] = { "id", "text",    "text",  "count", "bytes",
				     "s",  "seconds", "count", "id",	"seconds" };
const struct rama_query_columns rama_query_course_columns = { 10, names, units };

/* a step is a row; or there are more in it: then it is not known whose rank the slowest was */
static const char plain[] =
	"SELECT second, layer, kind, ops, bytes, CAST(ns AS DOUBLE PRECISION) / 1e9,"
	" CAST(longest AS DOUBLE PRECISION) / 1e9, ranks, slowest,"
	" CAST(slowest_ns AS DOUBLE PRECISION) / 1e9";
static const char sums[] =
	", layer, kind, CAST(sum(ops) AS DOUBLE PRECISION), CAST(sum(bytes) AS DOUBLE PRECISION),"
	" CAST(sum(ns) AS DOUBLE PRECISION) / 1e9, CAST(max(longest) AS DOUBLE PRECISION) / 1e9,"
	" max(ranks), NULL, CAST(max(slowest_ns) AS DOUBLE PRECISION) / 1e9";

/* what begins with `sql`, of the rows between from and to, and `rest` behind it */
static int run(struct rama_store *s, const struct rama_query_course *q, struct rama_query_sql *sql,
	       const char *table, const char *rest, rama_store_row_fn fn, void *ctx,
	       struct rama_err *e)
{
	struct rama_store_cell job = rama_query_cell_int(q->job),
			       times[2] = { rama_query_cell_int(q->from),
					    rama_query_cell_int(q->to) };
	int rc;

	rama_query_sql_add(sql, table, &job);
	rama_query_sql_add(sql, " AND second >= ? AND second < ?", times);
	rama_query_sql_add(sql, rest, NULL);
	rc = rama_query_sql_run(sql, s, fn, ctx, e);
	rama_query_sql_fini(sql);
	return rc;
}

int rama_query_course_list(struct rama_store *s, struct rama_query_course *q, rama_store_row_fn fn,
			   void *ctx, struct rama_err *e)
{
	struct rama_query_sql sql;
	const char *table;
	int64_t width;
	int rc = settle(s, q, &table, &width, e);

	if (rc != 0)
		return rc;
	rama_query_sql_init(&sql);
	if (q->step == width) {
		rama_query_sql_add(&sql, plain, NULL);
		return run(s, q, &sql, table, " ORDER BY 1, 2, 3", fn, ctx, e);
	}
	rama_query_sql_add(&sql, "SELECT second - second % ", NULL);
	rama_query_sql_number(&sql, q->step);
	rama_query_sql_add(&sql, sums, NULL);
	return run(s, q, &sql, table, " GROUP BY 1, 2, 3 ORDER BY 1, 2, 3", fn, ctx, e);
}

/* where a step is a row's, keys have the rows of a step together: nothing is sorted */
int rama_query_pace_list(struct rama_store *s, struct rama_query_course *q, rama_store_row_fn fn,
			 void *ctx, struct rama_err *e)
{
	struct rama_query_sql sql;
	const char *table;
	int64_t width;
	int rc = settle(s, q, &table, &width, e);

	if (rc != 0)
		return rc;
	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, "SELECT second", NULL);
	if (q->step != width) {
		rama_query_sql_add(&sql, " - second % ", NULL);
		rama_query_sql_number(&sql, q->step);
	}
	rama_query_sql_add(&sql,
			   ", sum(CAST(bytes AS DOUBLE PRECISION)),"
			   " sum(CAST(ns AS DOUBLE PRECISION)) / 1e9",
			   NULL);
	return run(s, q, &sql, table,
		   " AND layer IN ('POSIX', 'STDIO', 'EXTRA') GROUP BY 1 ORDER BY 1", fn, ctx, e);
}

/* ---- rank by rank ---------------------------------------------------------------------------- */

static const char *const rank_names[] = { "second",	   "rank", "bytes_read",
					  "bytes_written", "time", "most" };
static const char *const rank_units[] = { "id", "id", "bytes", "bytes", "seconds", "seconds" };
const struct rama_query_columns rama_query_ranks_columns = { 6, rank_names, rank_units };

int rama_query_ranks_list(struct rama_store *s, struct rama_query_course *q, unsigned ranks,
			  int64_t *ranks_step, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	static const char widest[] = "SELECT 0, max(rank) + 1 FROM processes WHERE job = $1";
	struct rama_store_cell job = rama_query_cell_int(q->job), times[2];
	int64_t n[2] = { 0, 1 }, width;
	struct rama_query_sql sql;
	const char *table;
	int rc = settle(s, q, &table, &width, e);

	if (rc == 0 && (ranks < 1 || ranks > 4096))
		return rama_err_set(e, RAMA_EUSAGE, "1 to 4096 ranks");
	if (rc == 0)
		rc = rama_store_select(s, widest, &job, 1, take_span, n, e);
	if (rc < 0)
		return rc;
	n[1] = n[1] > 0 ? n[1] : 1;
	*ranks_step = ceil_to(n[1], ranks) / ranks;
	if ((q->to - q->from) * n[1] > RAMA_QUERY_RANK_SECONDS)
		q->from = ceil_to(q->to - (RAMA_QUERY_RANK_SECONDS + n[1] - 1) / n[1], q->step);
	times[0] = rama_query_cell_int(q->from * 1000000000 + 500000000);
	times[1] = rama_query_cell_int(q->to * 1000000000 + 500000000);
	rama_query_sql_init(&sql);
	rama_query_sql_add(
		&sql, "SELECT (t_ns - 500000000) / 1000000000 - (t_ns - 500000000) / 1000000000 % ",
		NULL);
	rama_query_sql_number(&sql, q->step);
	rama_query_sql_add(&sql, ", rank - rank % ", NULL);
	rama_query_sql_number(&sql, *ranks_step);
	rama_query_sql_add(&sql,
			   ", CAST(sum(bytes_read) AS DOUBLE PRECISION),"
			   " CAST(sum(bytes_written) AS DOUBLE PRECISION),"
			   " CAST(sum(read_ns + write_ns + meta_ns) AS DOUBLE PRECISION) / 1e9,"
			   " CAST(max(read_ns + write_ns + meta_ns) AS DOUBLE PRECISION) / 1e9"
			   " FROM activity WHERE job = ?",
			   &job);
	rama_query_sql_add(&sql,
			   " AND t_ns >= ? AND t_ns < ? AND layer IN ('POSIX', 'STDIO', 'EXTRA')"
			   " AND rank >= 0 GROUP BY 1, 2 ORDER BY 1, 2",
			   times);
	rc = rama_query_sql_run(&sql, s, fn, ctx, e);
	rama_query_sql_fini(&sql);
	return rc;
}

/* ---- files ----------------------------------------------------------------------------------- */

static const char *const file_names[] = { "record", "path",   "bytes_read", "bytes_written",
					  "reads",  "writes", "opens",	    "time" };
static const char *const file_units[] = { "record", "text",  "bytes", "bytes",
					  "count",  "count", "count", "s" };
const struct rama_query_columns rama_query_files_columns = { 8, file_names, file_units };

#define SUM(x) "sum(CAST(" x " AS DOUBLE PRECISION))"
/* clang-format off */
#define OF(m) \
	"SELECT record, " SUM(m "_bytes_read") " AS br, " SUM(m "_bytes_written") " AS bw, " \
	SUM(m "_reads") " AS r, " SUM(m "_writes") " AS w, " SUM(m "_opens") " AS o, " \
	SUM(m "_f_read_time") " + " SUM(m "_f_write_time") " + " SUM(m "_f_meta_time") \
	" AS t FROM counters_" m " WHERE job = $1 GROUP BY record"
/* clang-format on */

/* places in a program, and records of modules of no file, have names, too: they are none */
int rama_query_files_list(struct rama_store *s, int64_t job, uint64_t limit, rama_store_row_fn fn,
			  void *ctx, struct rama_err *e)
{
	static const char sql[] =
		"SELECT f.record, f.path, sum(c.br), sum(c.bw), sum(c.r), sum(c.w), sum(c.o),"
		" sum(c.t) FROM files f LEFT JOIN (" OF("posix") " UNION ALL " OF(
			"stdio") ") c ON"
				 " c.record = f.record WHERE f.job = $1 AND (c.record IS NOT NULL "
				 "OR f.path"
				 " LIKE '/%' OR f.path LIKE '<%') GROUP BY f.record, f.path"
				 " ORDER BY coalesce(sum(c.br) + sum(c.bw), -1) DESC, f.path LIMIT "
				 "$2";
	struct rama_store_cell args[2] = { rama_query_cell_int(job),
					   rama_query_cell_int((int64_t)limit) };
	int rc = rama_store_select(s, sql, args, 2, fn, ctx, e);

	return rc < 0 ? rc : 0;
}
