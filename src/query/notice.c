/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/sql.h"

#define N(x) (sizeof(x) / sizeof(*(x)))
#define FEW 200000 /* jobs of two weeks that are looked at one by one */

/* ---- jobs of an alert ------------------------------------------------------------------------ */

/* one condition: "finding WORD", or a comparison */
static int add_condition(struct rama_query_jobs *q, char *text, struct rama_err *e)
{
	size_t n;

	text += strspn(text, " \t");
	for (n = strlen(text); n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'); n--)
		text[n - 1] = '\0';
	if (strncmp(text, "finding ", 8) == 0)
		return rama_query_jobs_finding(q, text + 8 + strspn(text + 8, " "), e);
	return rama_query_jobs_where(q, text, e);
}

static int add_where(struct rama_query_jobs *q, const char *where, struct rama_err *e)
{
	char *all = strdup(where), *rest = all, *at;
	int rc = all != NULL ? 0 : rama_err_no_memory(e);

	while (rc == 0 && rest != NULL) {
		at = rest;
		rest = strchr(at, ',');
		if (rest != NULL)
			*rest++ = '\0';
		rc = add_condition(q, at, e);
	}
	free(all);
	return rc;
}

static int add_columns(struct rama_query_jobs *q, const char *value, struct rama_err *e)
{
	static const char *const names[] = { "job",	 "user",     "name",	 "jobid",
					     "job_name", "end",	     "run_time", "ranks",
					     "nodes",	 "io_share", "node_cost" };
	int rc = 0;

	_Static_assert(N(names) == RAMA_QUERY_TOLD_VALUE, "the order of the columns");
	for (size_t i = 0; rc == 0 && i < N(names); i++)
		rc = rama_query_jobs_column(q, names[i], strlen(names[i]), e);
	return rc == 0 ? rama_query_jobs_column(q, value, strlen(value), e) : rc;
}

static struct rama_query_jobs *question(const struct rama_query_alert *a, bool conditions,
					struct rama_err *e)
{
	struct rama_query_jobs *q = calloc(1, sizeof(*q));
	int rc;

	if (q == NULL) {
		rama_err_no_memory(e);
		return NULL;
	}
	rama_query_jobs_init(q);
	q->few = FEW;
	q->limit = 0;
	rc = add_columns(q, a->value, e);
	if (rc == 0 && conditions)
		rc = add_where(q, a->where, e);
	if (rc == 0)
		rc = rama_query_jobs_sort(q, "user", e);
	if (rc == 0)
		return q;
	rama_query_jobs_fini(q);
	free(q);
	return NULL;
}

static int finish(struct rama_query_jobs *q, int rc)
{
	rama_query_jobs_fini(q);
	free(q);
	return rc < 0 ? rc : 0;
}

int rama_query_alert_check(const struct rama_query_alert *a, struct rama_err *e)
{
	struct rama_query_jobs *q = question(a, true, e);

	return q == NULL ? e->code : finish(q, 0);
}

int rama_query_alert_jobs(struct rama_store *s, const struct rama_query_alert *a, int64_t from,
			  int64_t to_ns, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_query_jobs *q = question(a, true, e);
	int rc;

	if (q == NULL)
		return e->code;
	rc = rama_query_jobs_ended(q, from, to_ns, e);
	if (rc == 0)
		rc = rama_query_jobs_untold(q, a->name, a->to, e);
	if (rc == 0)
		rc = rama_query_jobs_list(s, q, fn, ctx, e);
	return finish(q, rc);
}

int rama_query_notice_jobs(struct rama_store *s, const struct rama_query_alert *a, int64_t period,
			   rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_query_jobs *q = question(a, false, e);
	int rc;

	if (q == NULL)
		return e->code;
	rc = rama_query_jobs_told(q, a->name, a->to, period, e);
	if (rc == 0)
		rc = rama_query_jobs_list(s, q, fn, ctx, e);
	return finish(q, rc);
}

int rama_query_notice_findings(struct rama_store *s, int64_t job, const char *rule, unsigned most,
			       rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	static const char sql[] =
		"SELECT rule, level, title, evidence, advice, cost FROM findings WHERE job = $1 AND"
		" level IN ('HIGH', 'WARN') AND ($2 = '' OR rule = $2) ORDER BY number LIMIT $3";
	struct rama_store_cell args[] = { rama_query_cell_int(job), rama_query_cell_text(rule),
					  rama_query_cell_int(most) };
	int rc = rama_store_select(s, sql, args, 3, fn, ctx, e);

	return rc < 0 ? rc : 0;
}

/* ---- notices --------------------------------------------------------------------------------- */

static const char *const notice_names[] = { "user",  "alert",	"period", "channel", "state",
					    "owner", "changed", "tries",  "jobs" };
static const char *const notice_units[] = { "text", "text", "id",    "text", "text",
					    "text", "when", "count", "count" };
const struct rama_query_columns rama_query_notices_columns = { N(notice_names), notice_names,
							       notice_units };

int rama_query_notices_list(struct rama_store *s, const char *user, bool open, uint64_t limit,
			    rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_cell name = rama_query_cell_text(user != NULL ? user : "");
	struct rama_query_sql sql;
	int rc;

	rama_query_sql_init(&sql);
	rama_query_sql_add(
		&sql,
		"SELECT username, alert, period, channel, state, owner, changed_ns, tries,"
		" jobs FROM notices WHERE 1 = 1",
		NULL);
	if (open)
		rama_query_sql_add(&sql, " AND state IN ('claimed', 'sending', 'failed')", NULL);
	if (user != NULL)
		rama_query_sql_add(&sql, " AND username = ?", &name);
	rama_query_sql_add(&sql, " ORDER BY changed_ns DESC, username, alert LIMIT ", NULL);
	rama_query_sql_number(&sql, (int64_t)limit);
	rc = rama_query_sql_run(&sql, s, fn, ctx, e);
	rama_query_sql_fini(&sql);
	return rc;
}

static int found(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)row, (void)e;
	*(int *)ctx = 1;
	return 1;
}

int rama_query_notice_off(struct rama_store *s, const char *user, const char *alert,
			  struct rama_err *e)
{
	static const char sql[] =
		"SELECT 1 FROM notice_off WHERE username = $1 AND alert IN ($2, '*')";
	struct rama_store_cell args[] = { rama_query_cell_text(user), rama_query_cell_text(alert) };
	int is = 0, rc = rama_store_select(s, sql, args, 2, found, &is, e);

	return rc < 0 ? rc : is;
}

int rama_query_notice_none(struct rama_store *s, const char *user, const char *alert,
			   int64_t period, struct rama_err *e)
{
	static const char sql[] =
		"SELECT 1 FROM notices WHERE username = $1 AND alert = $2 AND period = $3";
	struct rama_store_cell args[] = { rama_query_cell_text(user), rama_query_cell_text(alert),
					  rama_query_cell_int(period) };
	int is = 0, rc = rama_store_select(s, sql, args, 3, found, &is, e);

	if (rc >= 0 && is == 0)
		return rama_query_notice_off(s, user, alert, e);
	return rc < 0 ? rc : is;
}

static int take_when(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	if (row->cell[0].type == RAMA_STORE_CELL_INT)
		*(int64_t *)ctx = row->cell[0].i;
	return 1;
}

int rama_query_notice_last(struct rama_store *s, const char *user, const char *alert, int64_t *when,
			   struct rama_err *e)
{
	static const char sql[] = "SELECT max(changed_ns) FROM notices WHERE username = $1 AND"
				  " alert = $2 AND state = 'sent'";
	struct rama_store_cell args[] = { rama_query_cell_text(user), rama_query_cell_text(alert) };
	int rc;

	*when = 0;
	rc = rama_store_select(s, sql, args, 2, take_when, when, e);
	return rc < 0 ? rc : *when != 0;
}
