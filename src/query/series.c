/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/series.h"

#include "query/sql.h"

/*   SERIES(name, column, unit) */
#define ACTIVITY(SERIES)                              \
	SERIES(time, t_ns, "when")                    \
	SERIES(job, job, "id")                        \
	SERIES(rank, rank, "id")                      \
	SERIES(layer, layer, "text")                  \
	SERIES(reads, reads, "count")                 \
	SERIES(writes, writes, "count")               \
	SERIES(metas, metas, "count")                 \
	SERIES(bytes_read, bytes_read, "bytes")       \
	SERIES(bytes_written, bytes_written, "bytes") \
	SERIES(read_ns, read_ns, "span")              \
	SERIES(write_ns, write_ns, "span")            \
	SERIES(meta_ns, meta_ns, "span")              \
	SERIES(width_ns, width_ns, "span")
#define SAMPLES(SERIES)                \
	SERIES(time, t_ns, "when")     \
	SERIES(host, host, "text")     \
	SERIES(metric, metric, "text") \
	SERIES(value, value, NULL)
#define NAME(name, column, unit) #name,
#define UNIT(name, column, unit) unit,
#define PLACE(name, column, unit) ", " #column

static const char *const activity_names[] = { ACTIVITY(NAME) };
static const char *const activity_units[] = { ACTIVITY(UNIT) };
static const char *const sample_names[] = { SAMPLES(NAME) };
static const char *const sample_units[] = { SAMPLES(UNIT) };
#define N(x) (sizeof(x) / sizeof(*(x)))

const struct rama_query_columns rama_query_activity_columns = { N(activity_names), activity_names,
								activity_units };
const struct rama_query_columns rama_query_samples_columns = { N(sample_names), sample_names,
							       sample_units };

/* Only conditions that were asked for are in the statement, so that keys can be used. */
static void add(struct rama_query_sql *sql, const char *condition, struct rama_store_cell *arg)
{
	rama_query_sql_add(sql, sql->n == 0 ? " WHERE " : " AND ", NULL);
	rama_query_sql_add(sql, condition, arg);
}

static void add_integer(struct rama_query_sql *sql, const char *condition, int64_t v)
{
	struct rama_store_cell arg = rama_query_cell_int(v);

	add(sql, condition, &arg);
}

static void add_text(struct rama_query_sql *sql, const char *condition, const char *text)
{
	struct rama_store_cell arg = rama_query_cell_text(text);

	add(sql, condition, &arg);
}

static void add_times(struct rama_query_sql *sql, const struct rama_query_series *q)
{
	if (q->from != INT64_MIN)
		add_integer(sql, "t_ns >= ?", q->from);
	if (q->to != INT64_MAX)
		add_integer(sql, "t_ns < ?", q->to);
}

static int run(struct rama_query_sql *sql, struct rama_store *s, const struct rama_query_series *q,
	       rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	int rc;

	if (q->limit > 0 && q->limit <= INT64_MAX) {
		rama_query_sql_add(sql, " LIMIT ", NULL);
		rama_query_sql_number(sql, (int64_t)q->limit);
	}
	rc = rama_query_sql_run(sql, s, fn, ctx, e);
	rama_query_sql_fini(sql);
	return rc;
}

static void begin(struct rama_query_sql *sql, const char *columns, const char *from)
{
	rama_query_sql_init(sql);
	rama_query_sql_add(sql, "SELECT ", NULL);
	rama_query_sql_add(sql, columns + 2, NULL); /* without the comma before the first */
	rama_query_sql_add(sql, from, NULL);
}

int rama_query_activity_list(struct rama_store *s, const struct rama_query_series *q,
			     rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	static const char columns[] = ACTIVITY(PLACE);
	struct rama_query_sql sql;

	begin(&sql, columns, " FROM activity");
	if (q->job >= 0)
		add_integer(&sql, "job = ?", q->job);
	add_times(&sql, q);
	if (q->rank >= 0)
		add_integer(&sql, "rank = ?", q->rank);
	if (q->what != NULL)
		add_text(&sql, "layer = ?", q->what);
	rama_query_sql_add(&sql, " ORDER BY t_ns, job, process, layer", NULL);
	return run(&sql, s, q, fn, ctx, e);
}

int rama_query_samples_list(struct rama_store *s, const struct rama_query_series *q,
			    rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	static const char columns[] = SAMPLES(PLACE);
	struct rama_query_sql sql;

	begin(&sql, columns, " FROM samples");
	add_text(&sql, "host = ?", q->host);
	add_times(&sql, q);
	if (q->what != NULL)
		add_text(&sql, "metric = ?", q->what);
	rama_query_sql_add(&sql, " ORDER BY t_ns, metric", NULL);
	return run(&sql, s, q, fn, ctx, e);
}

int rama_query_statement_run(struct rama_store *s, const char *sql, rama_store_row_fn fn, void *ctx,
			     struct rama_err *e)
{
	int rc = rama_store_select(s, sql, NULL, 0, fn, ctx, e);

	return rc > 0 ? 0 : rc;
}
