/* SPDX-License-Identifier: BSD-3-Clause */
/* samples.c: nodes over time, in as many steps as a picture has points. */
#include "query/site.h"
#include "query/sql.h"

#define N(x) (sizeof(x) / sizeof(*(x)))
#define SECOND "v.t_ns / 1000000000"

static const char *const job_names[] = { "metric", "second", "mean", "most", "nodes" };
static const char *const job_units[] = { "text", "id", NULL, NULL, "count" };
const struct rama_query_columns rama_query_job_samples_columns = { N(job_names), job_names,
								   job_units };
static const char *const map_names[] = { "host", "second", "mean", "most" };
static const char *const map_units[] = { "text", "id", NULL, NULL };
const struct rama_query_columns rama_query_node_map_columns = { N(map_names), map_names,
								map_units };
static const char *const metric_names[] = { "metric", "nodes" };
static const char *const metric_units[] = { "text", "count" };
const struct rama_query_columns rama_query_metrics_columns = { N(metric_names), metric_names,
							       metric_units };

/* what a node does that a program's I/O may wait for */
static const char usual[] = " AND s.metric IN ('cpu.iowait', 'cpu.user', 'pressure.io.some', "
			    "'pressure.memory.some', 'memory.dirty', 'page.in', 'page.out')";

/* "group, second of the step, mean, most", and where they are */
static void begin(struct rama_query_sql *sql, const char *group, const struct rama_query_samples *q)
{
	struct rama_store_cell times[2] = { rama_query_cell_int(q->from * 1000000000),
					    rama_query_cell_int(q->to * 1000000000) };
	bool hosts = group[2] == 'm'; /* s.metric: of several nodes */

	rama_query_sql_init(sql);
	rama_query_sql_add(sql, "SELECT ", NULL);
	rama_query_sql_add(sql, group, NULL);
	rama_query_sql_add(sql, ", " SECOND " - " SECOND " % ", NULL);
	rama_query_sql_number(sql, q->step > 0 ? q->step : 1);
	rama_query_sql_add(sql, ", avg(v.value), max(v.value)", NULL);
	rama_query_sql_add(sql, hosts ? ", count(DISTINCT s.host)" : "", NULL);
	rama_query_sql_add(sql,
			   " FROM sample_series s JOIN sample_values v ON v.series = s.number AND"
			   " v.t_ns >= ? AND v.t_ns < ? WHERE 1 = 1",
			   times);
}

int rama_query_job_samples_list(struct rama_store *s, const struct rama_query_samples *q,
				int64_t job, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_cell number = rama_query_cell_int(job),
			       metric = rama_query_cell_text(q->metric != NULL ? q->metric : "");
	struct rama_query_sql sql;
	int rc;

	begin(&sql, "s.metric", q);
	if (!q->every)
		rama_query_sql_add(&sql, q->metric != NULL ? " AND s.metric = ?" : usual, &metric);
	rama_query_sql_add(&sql,
			   " AND s.host IN (SELECT host FROM processes WHERE job = ? GROUP BY host"
			   " ORDER BY host LIMIT ",
			   &number);
	rama_query_sql_number(&sql, RAMA_QUERY_HOSTS);
	rama_query_sql_add(&sql, ") GROUP BY 1, 2 ORDER BY 1, 2", NULL);
	rc = rama_query_sql_run(&sql, s, fn, ctx, e);
	rama_query_sql_fini(&sql);
	return rc;
}

int rama_query_node_map_list(struct rama_store *s, const struct rama_query_samples *q,
			     rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_cell metric = rama_query_cell_text(q->metric != NULL ? q->metric : "");
	struct rama_query_sql sql;
	int rc;

	begin(&sql, "s.host", q);
	rama_query_sql_add(&sql, " AND s.metric = ? GROUP BY 1, 2 ORDER BY 1, 2", &metric);
	rc = rama_query_sql_run(&sql, s, fn, ctx, e);
	rama_query_sql_fini(&sql);
	return rc;
}

int rama_query_metrics_list(struct rama_store *s, rama_store_row_fn fn, void *ctx,
			    struct rama_err *e)
{
	static const char sql[] = "SELECT metric, count(*) FROM sample_series GROUP BY metric "
				  "ORDER BY metric LIMIT 10000";
	int rc = rama_store_select(s, sql, NULL, 0, fn, ctx, e);

	return rc < 0 ? rc : 0;
}
