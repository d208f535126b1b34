/* SPDX-License-Identifier: BSD-3-Clause */
/* lists.c: answers about many jobs: lists of them, sums by day, user and program, findings, and
 * the nodes they ran on. */
#include <stdio.h>
#include <string.h>

#include "base/when.h"
#include "serve/call.h"
#include "store/store.h"

#define MOST_ROWS 10000

/* ---- jobs ------------------------------------------------------------------------------------ */

static int columns_of(struct rama_query_jobs *q, const char *names, struct rama_err *e)
{
	static const char usual[] =
		"job,user,name,jobid,state,start,end,run_time,ranks,nodes,bytes_read,bytes_written,"
		"files,io_time,io_share,finding,findings,cost,events,lost,source,logged,key,"
		"command,"
		"verdict";
	int rc = 0;

	if (names == NULL)
		names = usual;
	while (rc == 0 && *names != '\0') {
		size_t n = strcspn(names, ",");

		rc = rama_query_jobs_column(q, names, n, e);
		names += n + (names[n] == ',');
	}
	return rc;
}

static int time_of(struct rama_serve_call *c, const char *key, int64_t *ns, struct rama_err *e)
{
	const char *text = rama_serve_request_value(c->request, key);

	if (text == NULL)
		return 0;
	return rama_when(text, rama_store_now(c->store), 0, ns)
		       ? 1
		       : rama_err_set(e, RAMA_EUSAGE, "'%s' is no time", key);
}

static int state_of(struct rama_query_jobs *q, const char *state, struct rama_err *e)
{
	char text[64];

	if (strcmp(state, "running") == 0)
		return rama_query_jobs_running(q, e);
	if (strspn(state, "abcdefghijklmnopqrstuvwxyz") != strlen(state) || strlen(state) > 20)
		return rama_err_set(e, RAMA_EUSAGE, "no state");
	snprintf(text, sizeof(text), "state = %s", state);
	return rama_query_jobs_where(q, text, e);
}

static int conditions(struct rama_serve_call *c, struct rama_query_jobs *q, struct rama_err *e)
{
	static const struct {
		const char *key;
		int (*set)(struct rama_query_jobs *q, const char *text, struct rama_err *e);
	} rows[] = {
		{ "user", rama_query_jobs_user },   { "state", state_of },
		{ "name", rama_query_jobs_name },   { "finding", rama_query_jobs_finding },
		{ "where", rama_query_jobs_where }, { "word", rama_query_jobs_word },
		{ "sort", rama_query_jobs_sort },   { "after", rama_query_jobs_after },
	};
	int64_t ns = 0;
	int rc = rama_serve_may_list(c->viewer, q, e);

	for (size_t i = 0; rc == 0 && i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = rama_serve_request_value(c->request, rows[i].key);

		if (text != NULL)
			rc = rows[i].set(q, text, e);
	}
	if (rc == 0 && (rc = time_of(c, "since", &ns, e)) > 0)
		rc = rama_query_jobs_since(q, ns, e);
	if (rc == 0 && (rc = time_of(c, "until", &ns, e)) > 0)
		rc = rama_query_jobs_until(q, ns, e);
	return rc;
}

static void end_of_list(struct rama_serve_call *c, const struct rama_query_jobs *q)
{
	struct rama_json j;

	rama_out_text(&c->out, ",\"next\":");
	rama_json_init(&j, &c->out);
	if (q->next != NULL)
		rama_json_string(&j, q->next);
	else
		rama_json_null(&j);
	rama_out_text(&c->out, "}\n");
}

void rama_serve_do_jobs(struct rama_serve_call *c)
{
	const char *name[RAMA_QUERY_COLUMNS], *unit[RAMA_QUERY_COLUMNS];
	struct rama_query_columns columns = { 0, name, unit };
	struct rama_query_jobs q;
	struct rama_serve_rows r;
	struct rama_err e = { 0 };
	int64_t limit = 50;
	int rc;

	if (!rama_serve_call_number(c, "limit", 1, 500, &limit))
		return;
	rama_query_jobs_init(&q);
	q.limit = (uint64_t)limit;
	rc = columns_of(&q, rama_serve_request_value(c->request, "columns"), &e);
	if (rc == 0)
		rc = conditions(c, &q, &e);
	if (rc < 0) {
		rama_serve_call_err(c, &e);
		rama_query_jobs_fini(&q);
		return;
	}
	for (; columns.n < q.n_columns; columns.n++) {
		name[columns.n] = q.column[columns.n].key;
		unit[columns.n] = q.column[columns.n].unit;
	}
	if (c->form == RAMA_ROWS_JSON)
		rama_out_text(&c->out, "{\"schema\":\"iorama.jobs/1\",\"jobs\":");
	rc = rama_serve_rows_begin(&r, c, &columns);
	if (rc == 0)
		rc = rama_query_jobs_list(c->store, &q, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
	if (rc == 0 && c->form == RAMA_ROWS_JSON)
		end_of_list(c, &q);
	rama_query_jobs_fini(&q);
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void sums(struct rama_serve_call *c, enum rama_query_by by, const char *user,
		 const char *program)
{
	struct rama_query_days q = { .by = by,
				     .seen = rama_serve_may_sums(c->viewer),
				     .to = 1000000,
				     .user = user,
				     .name = program };
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int64_t limit = 1000;
	int rc;

	/* who sees sums only sees those of all: nobody is named in them */
	if (by == RAMA_QUERY_BY_DAY && user == NULL && program == NULL &&
	    c->viewer->role == RAMA_SERVE_ROLE_public)
		q.seen.all = true;
	if (!rama_serve_call_number(c, "from", 0, 1000000, &q.from) ||
	    !rama_serve_call_number(c, "to", 0, 1000000, &q.to) ||
	    !rama_serve_call_number(c, "limit", 1, MOST_ROWS, &limit))
		return;
	q.limit = by == RAMA_QUERY_BY_DAY ? MOST_ROWS : (uint64_t)limit;
	rc = rama_serve_rows_begin(&r, c, &rama_query_days_columns[by]);
	if (rc == 0)
		rc = rama_query_days_list(c->store, &q, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

void rama_serve_do_days(struct rama_serve_call *c)
{
	sums(c, RAMA_QUERY_BY_DAY, NULL, NULL);
}

void rama_serve_do_users(struct rama_serve_call *c)
{
	sums(c, RAMA_QUERY_BY_USER, NULL, NULL);
}

void rama_serve_do_user(struct rama_serve_call *c)
{
	if (rama_serve_may_see(c->viewer, c->word))
		sums(c, RAMA_QUERY_BY_DAY, c->word, NULL);
	else
		rama_serve_call_fail(c, 404, "there is nothing here");
}

void rama_serve_do_programs(struct rama_serve_call *c)
{
	sums(c, RAMA_QUERY_BY_PROGRAM, NULL, NULL);
}

void rama_serve_do_program(struct rama_serve_call *c)
{
	sums(c, RAMA_QUERY_BY_DAY, NULL, c->word);
}

/* ---- findings -------------------------------------------------------------------------------- */

void rama_serve_do_worst(struct rama_serve_call *c)
{
	struct rama_query_seen seen = rama_serve_may_sums(c->viewer);
	const char *level = rama_serve_request_value(c->request, "level");
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int64_t limit = 50;
	int rc;

	if (!rama_serve_call_number(c, "limit", 1, 500, &limit))
		return;
	if (level != NULL && strcmp(level, "HIGH") != 0 && strcmp(level, "WARN") != 0) {
		rama_serve_call_fail(c, 400, "a level is HIGH or WARN");
		return;
	}
	rc = rama_serve_rows_begin(&r, c, &rama_query_worst_columns);
	if (rc == 0)
		rc = rama_query_worst_list(c->store, &seen, level != NULL ? level : "HIGH",
					   (uint64_t)limit, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

void rama_serve_do_nodes(struct rama_serve_call *c)
{
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc = rama_serve_rows_begin(&r, c, &rama_query_nodes_columns);

	if (rc == 0)
		rc = rama_query_nodes_list(c->store, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

void rama_serve_do_node(struct rama_serve_call *c)
{
	struct rama_query_series q = { .job = -1, .rank = -1, .host = c->word };
	int64_t now = rama_store_now(c->store) / 1000000000, from = now - 600, to = now + 1,
		limit = MOST_ROWS;
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc;

	if (!rama_serve_call_number(c, "from", 0, 9000000000, &from) ||
	    !rama_serve_call_number(c, "to", 0, 9000000000, &to) ||
	    !rama_serve_call_number(c, "limit", 1, MOST_ROWS, &limit))
		return;
	q.what = rama_serve_request_value(c->request, "metric");
	q.from = from * 1000000000;
	q.to = to * 1000000000;
	q.limit = (uint64_t)limit;
	rc = rama_serve_rows_begin(&r, c, &rama_query_samples_columns);
	if (rc == 0)
		rc = rama_query_samples_list(c->store, &q, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}
