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

#define MOST_VALUES 150000 /* that are read for a picture */
#define MOST_ROWS 20000	   /* of a map */
#define LEAST_HOSTS 4

/* of which series, and how they are read */
struct plan {
	const struct rama_query_samples *q;
	int64_t job;	/* 0: of all nodes */
	int64_t hosts;	/* of a job, at most */
	int64_t step;	/* s */
	int64_t stride; /* 1: every sample; else one of so many seconds */
};

/* behind "… sample_series s … WHERE 1 = 1" */
static void add_which(struct rama_query_sql *sql, const struct plan *p)
{
	const char *metric = p->q->metric;
	struct rama_store_cell number = rama_query_cell_int(p->job),
			       text = rama_query_cell_text(metric != NULL ? metric : "");

	if (p->job == 0 || !p->q->every)
		rama_query_sql_add(sql, p->job == 0 || metric != NULL ? " AND s.metric = ?" : usual,
				   &text);
	if (p->job == 0)
		return;
	rama_query_sql_add(sql,
			   " AND s.host IN (SELECT host FROM processes WHERE job = ? GROUP BY host"
			   " ORDER BY host LIMIT ",
			   &number);
	rama_query_sql_number(sql, p->hosts);
	rama_query_sql_add(sql, ")", NULL);
}

static int take_count(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	*(int64_t *)ctx = row->cell[0].i;
	return 1;
}

/* A picture has few points, whatever there are nodes and hours: steps of a map become longer as
 * there are more nodes, and of long times samples are left out evenly, as many of each step. */
static int settle(struct plan *p, struct rama_store *s, struct rama_err *e)
{
	int64_t seconds = p->q->to - p->q->from, series = 0, steps, most;
	struct rama_query_sql sql;
	int rc;

	p->step = p->q->step > 0 ? p->q->step : 1;
	p->hosts = RAMA_QUERY_HOSTS;
	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, "SELECT count(*) FROM sample_series s WHERE 1 = 1", NULL);
	add_which(&sql, p);
	rc = rama_query_sql_run(&sql, s, take_count, &series, e);
	rama_query_sql_fini(&sql);
	most = seconds * series / MOST_ROWS + 1;
	if (p->job == 0 && p->step < most)
		p->step = most;
	p->stride = seconds * series / MOST_VALUES + 1;
	if (p->stride <= p->step)
		return rc;
	p->stride = p->step;
	steps = seconds / p->step + 1;
	p->hosts = p->hosts * MOST_VALUES / (series * steps);
	p->hosts = p->hosts < LEAST_HOSTS ? LEAST_HOSTS : p->hosts;
	return rc;
}

/* group (s.host, s.metric), second of the step, mean, most, nodes of it */
static void add_all(struct rama_query_sql *sql, const struct plan *p, const char *group)
{
	struct rama_store_cell times[2] = { rama_query_cell_int(p->q->from * 1000000000),
					    rama_query_cell_int(p->q->to * 1000000000) };

	rama_query_sql_add(sql, "SELECT ", NULL);
	rama_query_sql_add(sql, group, NULL);
	rama_query_sql_add(sql, ", " SECOND " - " SECOND " % ", NULL);
	rama_query_sql_number(sql, p->step);
	rama_query_sql_add(sql, ", avg(v.value), max(v.value)", NULL);
	rama_query_sql_add(sql, p->job != 0 ? ", count(DISTINCT s.host)" : "", NULL);
	rama_query_sql_add(sql,
			   " FROM sample_series s JOIN sample_values v ON v.series = s.number AND"
			   " v.t_ns >= ? AND v.t_ns < ? WHERE 1 = 1",
			   times);
	add_which(sql, p);
	rama_query_sql_add(sql, " GROUP BY 1, 2 ORDER BY 1, 2", NULL);
}

/* The same of the first sample in each `stride` seconds, which keys lead to. The limit is none, but
 * keeps the inner part one: what it finds is looked for once. */
static void add_some(struct rama_query_sql *sql, const struct plan *p, const char *group)
{
	struct rama_store_cell from = rama_query_cell_int(p->q->from),
			       to = rama_query_cell_int(p->q->to);

	rama_query_sql_add(sql,
			   "WITH RECURSIVE p(x) AS (SELECT CAST(? AS BIGINT) UNION ALL SELECT x + ",
			   &from);
	rama_query_sql_number(sql, p->stride);
	rama_query_sql_add(sql, " FROM p WHERE x + ", NULL);
	rama_query_sql_number(sql, p->stride);
	rama_query_sql_add(sql, " < CAST(? AS BIGINT)) SELECT g, second, avg(value), max(value)",
			   &to);
	rama_query_sql_add(sql,
			   p->job != 0 ? ", count(DISTINCT CASE WHEN value IS NOT NULL THEN host"
					 " END)"
				       : "",
			   NULL);
	rama_query_sql_add(sql, " FROM (SELECT s.host AS host, ", NULL);
	rama_query_sql_add(sql, group, NULL);
	rama_query_sql_add(sql, " AS g, p.x - p.x % ", NULL);
	rama_query_sql_number(sql, p->step);
	rama_query_sql_add(sql,
			   " AS second, (SELECT v.value FROM sample_values v WHERE v.series ="
			   " s.number AND v.t_ns >= p.x * 1000000000 AND v.t_ns < (p.x + ",
			   NULL);
	rama_query_sql_number(sql, p->stride);
	rama_query_sql_add(sql,
			   ") * 1000000000 ORDER BY v.t_ns LIMIT 1) AS value FROM sample_series s"
			   " CROSS JOIN p WHERE 1 = 1",
			   NULL);
	add_which(sql, p);
	rama_query_sql_add(sql,
			   " LIMIT 1000000000) o GROUP BY g, second HAVING count(value) > 0"
			   " ORDER BY 1, 2",
			   NULL);
}

static int list(struct plan *p, struct rama_store *s, const char *group, rama_store_row_fn fn,
		void *ctx, struct rama_err *e)
{
	struct rama_query_sql sql;
	int rc = settle(p, s, e);

	if (rc != 0)
		return rc;
	rama_query_sql_init(&sql);
	(p->stride > 1 ? add_some : add_all)(&sql, p, group);
	rc = rama_query_sql_run(&sql, s, fn, ctx, e);
	rama_query_sql_fini(&sql);
	return rc;
}

int rama_query_job_samples_list(struct rama_store *s, const struct rama_query_samples *q,
				int64_t job, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct plan p = { .q = q, .job = job };

	return list(&p, s, "s.metric", fn, ctx, e);
}

int rama_query_node_map_list(struct rama_store *s, const struct rama_query_samples *q,
			     rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct plan p = { .q = q };

	return list(&p, s, "s.host", fn, ctx, e);
}

int rama_query_metrics_list(struct rama_store *s, rama_store_row_fn fn, void *ctx,
			    struct rama_err *e)
{
	static const char sql[] = "SELECT metric, count(*) FROM sample_series GROUP BY metric "
				  "ORDER BY metric LIMIT 10000";
	int rc = rama_store_select(s, sql, NULL, 0, fn, ctx, e);

	return rc < 0 ? rc : 0;
}
