/* SPDX-License-Identifier: BSD-3-Clause */
/* site.c: answers for the pages: what moves now, what was lost, jobs ranked, programs over time,
 * nodes, and what was beside a job. */
#include <stdlib.h>
#include <string.h>

#include "query/program.h"
#include "query/site.h"
#include "serve/call.h"
#include "store/store.h"

#define MOST_SPARKS 100
#define NS 1000000000

/* who looks, since when (the last week), how many rows; false: the call has failed */
static bool site_of(struct rama_serve_call *c, int64_t limit, struct rama_query_site *q)
{
	int64_t now = rama_store_now(c->store), since = now / NS - 7 * 86400;

	if (!rama_serve_call_number(c, "since", 0, 9000000000, &since) ||
	    !rama_serve_call_number(c, "limit", 1, 500, &limit))
		return false;
	*q = (struct rama_query_site){ .seen = rama_serve_may_sums(c->viewer),
				       .now = now,
				       .since = since * NS,
				       .limit = (uint64_t)limit };
	return true;
}

static void list(struct rama_serve_call *c, const struct rama_query_columns *columns,
		 const struct rama_query_site *q,
		 int (*ask)(struct rama_store *s, const struct rama_query_site *q,
			    rama_store_row_fn fn, void *ctx, struct rama_err *e))
{
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc = rama_serve_rows_begin(&r, c, columns);

	if (rc == 0)
		rc = ask(c->store, q, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

void rama_serve_do_week(struct rama_serve_call *c)
{
	struct rama_query_site q;

	if (site_of(c, 1, &q))
		list(c, &rama_query_week_columns, &q, rama_query_week_list);
}

void rama_serve_do_moving(struct rama_serve_call *c)
{
	struct rama_query_site q;

	if (site_of(c, 50, &q))
		list(c, &rama_query_moving_columns, &q, rama_query_moving_list);
}

void rama_serve_do_rules(struct rama_serve_call *c)
{
	struct rama_query_site q;

	if (site_of(c, 100, &q))
		list(c, &rama_query_rules_columns, &q, rama_query_rules_list);
}

void rama_serve_do_ranking(struct rama_serve_call *c)
{
	const char *metric = rama_serve_request_value(c->request, "metric");
	struct rama_query_site q;
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc;

	if (!site_of(c, 50, &q))
		return;
	rc = rama_serve_rows_begin(&r, c, &rama_query_ranking_columns);
	if (rc == 0)
		rc = rama_query_ranking_list(c->store, &q, metric != NULL ? metric : "",
					     rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

void rama_serve_do_runs(struct rama_serve_call *c)
{
	const char *program = rama_serve_request_value(c->request, "program");
	struct rama_query_seen seen = rama_serve_may_sums(c->viewer);
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc = rama_serve_rows_begin(&r, c, &rama_query_runs_columns);

	if (rc == 0)
		rc = rama_query_runs_list(c->store, &seen,
					  program != NULL ? program
					  : c->job > 0	  ? NULL
							  : "",
					  c->job, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

/* "17,18,…": those that one sees, each with its small picture */
void rama_serve_do_sparks(struct rama_serve_call *c)
{
	const char *at = rama_serve_request_value(c->request, "jobs");
	int64_t points = 32;
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	unsigned n = 0;
	int rc;

	if (!rama_serve_call_number(c, "points", 1, 200, &points))
		return;
	if (at == NULL || strspn(at, "0123456789,") != strlen(at)) {
		rama_serve_call_fail(c, 400, "jobs are numbers, with commas between them");
		return;
	}
	rc = rama_serve_rows_begin(&r, c, &rama_query_spark_columns);
	while (rc >= 0 && *at != '\0' && n++ < MOST_SPARKS) {
		char *end;
		int64_t job = strtoll(at, &end, 10);

		rc = rama_serve_may_job(c->viewer, c->store, job, &e);
		if (rc > 0)
			rc = rama_query_spark_list(c->store, job, (unsigned)points,
						   rama_serve_rows_add, &r, &e);
		at = end + (*end == ',');
	}
	rama_serve_rows_end(&r, rc < 0 ? rc : 0, &e);
}

/* ---- beside a job, and nodes ----------------------------------------------------------------- */

void rama_serve_do_beside(struct rama_serve_call *c)
{
	const char *under = rama_serve_request_value(c->request, "under");
	struct rama_query_site q;
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc;

	if (!site_of(c, 20, &q))
		return;
	rc = rama_serve_rows_begin(&r, c, &rama_query_beside_columns);
	if (rc == 0)
		rc = rama_query_beside_list(c->store, &q, c->job, under, rama_serve_rows_add, &r,
					    &e);
	rama_serve_rows_end(&r, rc, &e);
}

/* from, to, points of the query; the last ten minutes */
static bool samples_of(struct rama_serve_call *c, struct rama_query_samples *q)
{
	int64_t now = rama_store_now(c->store) / NS, points = 300;

	*q = (struct rama_query_samples){ .from = now - 600, .to = now + 1 };
	q->metric = rama_serve_request_value(c->request, "metric");
	if (!rama_serve_call_number(c, "from", 0, 9000000000, &q->from) ||
	    !rama_serve_call_number(c, "to", 0, 9000000000, &q->to) ||
	    !rama_serve_call_number(c, "points", 1, 1000, &points))
		return false;
	if (q->to < q->from) {
		rama_serve_call_fail(c, 400, "a time that cannot be");
		return false;
	}
	q->step = (q->to - q->from + points - 1) / points;
	return true;
}

void rama_serve_do_samples(struct rama_serve_call *c)
{
	struct rama_query_samples q;
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc;

	if (!samples_of(c, &q))
		return;
	rc = rama_serve_rows_begin(&r, c, &rama_query_job_samples_columns);
	if (rc == 0)
		rc = rama_query_job_samples_list(c->store, &q, c->job, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

void rama_serve_do_map(struct rama_serve_call *c)
{
	struct rama_query_samples q;
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc;

	if (!samples_of(c, &q))
		return;
	if (q.metric == NULL) {
		rama_serve_call_fail(c, 400, "of which metric?");
		return;
	}
	rc = rama_serve_rows_begin(&r, c, &rama_query_node_map_columns);
	if (rc == 0)
		rc = rama_query_node_map_list(c->store, &q, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

void rama_serve_do_sampled(struct rama_serve_call *c)
{
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc = rama_serve_rows_begin(&r, c, &rama_query_metrics_columns);

	if (rc == 0)
		rc = rama_query_metrics_list(c->store, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}
