/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c: answers about one job, which has been found to be one that the viewer sees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/events.h"
#include "query/job.h"
#include "report/form.h"
#include "serve/call.h"
#include "study/jobs.h"
#include "study/stored.h"
#include "study/why.h"

#define MOST_ROWS 10000

/* ---- tables ---------------------------------------------------------------------------------- */

void rama_serve_do_job(struct rama_serve_call *c)
{
	struct rama_err e = { 0 };

	if (c->form == RAMA_ROWS_CSV)
		rama_serve_call_fail(c, 406, "one job is JSON; its tables have CSV");
	else if (rama_study_job_tell(c->store, c->job, RAMA_ROWS_JSON, NULL, true, &c->out, &e) !=
		 0)
		rama_serve_call_err(c, &e);
}

static void table(struct rama_serve_call *c, enum rama_query_job_table which,
		  const struct rama_query_columns *columns)
{
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc = rama_serve_rows_begin(&r, c, columns);

	if (rc == 0)
		rc = rama_query_job_rows(c->store, c->job, which, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

void rama_serve_do_findings(struct rama_serve_call *c)
{
	static const char *const name[] = { "level", "rule", "cost", "title" };
	static const char *const unit[] = { "text", "text", "s", "text" };

	table(c, RAMA_QUERY_JOB_FINDINGS, &(struct rama_query_columns){ 4, name, unit });
}

void rama_serve_do_processes(struct rama_serve_call *c)
{
	static const char *const name[] = { "rank", "host",   "pid",	 "state",  "start", "end",
					    "seen", "stored", "dropped", "missed", "exe" };
	static const char *const unit[] = { "id",    "text",  "id",    "text",	"when", "when",
					    "count", "count", "count", "count", "text" };

	table(c, RAMA_QUERY_JOB_PROCESSES, &(struct rama_query_columns){ 11, name, unit });
}

void rama_serve_do_files(struct rama_serve_call *c)
{
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int64_t limit = 1000;
	int rc;

	if (!rama_serve_call_number(c, "limit", 1, MOST_ROWS, &limit))
		return;
	rc = rama_serve_rows_begin(&r, c, &rama_query_files_columns);
	if (rc == 0)
		rc = rama_query_files_list(c->store, c->job, (uint64_t)limit, rama_serve_rows_add,
					   &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

/* ---- over time ------------------------------------------------------------------------------- */

static bool course_of(struct rama_serve_call *c, struct rama_query_course *q)
{
	int64_t points = 600;

	*q = (struct rama_query_course){ .job = c->job };
	if (!rama_serve_call_number(c, "from", 0, 9000000000, &q->from) ||
	    !rama_serve_call_number(c, "to", 0, 9000000000, &q->to) ||
	    !rama_serve_call_number(c, "points", 1, MOST_ROWS, &points))
		return false;
	q->points = (unsigned)points;
	return true;
}

void rama_serve_do_series(struct rama_serve_call *c)
{
	struct rama_query_course q;
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc;

	if (!course_of(c, &q))
		return;
	rc = rama_serve_rows_begin(&r, c, &rama_query_course_columns);
	if (rc == 0)
		rc = rama_query_course_list(c->store, &q, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

void rama_serve_do_ranks(struct rama_serve_call *c)
{
	int64_t ranks = 256, step = 1;
	struct rama_query_course q;
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc;

	if (!course_of(c, &q) || !rama_serve_call_number(c, "ranks", 1, 4096, &ranks))
		return;
	q.points = q.points > 600 ? 600 : q.points;
	rc = rama_serve_rows_begin(&r, c, &rama_query_ranks_columns);
	if (rc == 0)
		rc = rama_query_ranks_list(c->store, &q, (unsigned)ranks, &step,
					   rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

void rama_serve_do_events(struct rama_serve_call *c)
{
	static const struct rama_query_columns columns = { RAMA_QUERY_EVENT_COLUMNS,
							   rama_query_event_name,
							   rama_query_event_unit };
	struct rama_query_events q = { .filter = { .order = RAMA_STORE_ORDER_JOB_TIME_RANK,
						   .job = c->job,
						   .rank = RAMA_STORE_RANK_ALL } };
	int64_t rank = -1, limit = 1000;
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc;

	if (!rama_serve_call_number(c, "rank", 0, 1 << 30, &rank) ||
	    !rama_serve_call_number(c, "from", 0, INT64_MAX, &q.filter.from) ||
	    !rama_serve_call_number(c, "to", 0, INT64_MAX, &q.filter.to) ||
	    !rama_serve_call_number(c, "limit", 1, MOST_ROWS, &limit))
		return;
	if (rank >= 0) {
		q.filter.rank = rank;
		q.filter.order = RAMA_STORE_ORDER_JOB_RANK_TIME;
	}
	if (q.filter.from != 0 && q.filter.to == 0)
		q.filter.to = INT64_MAX;
	q.filter.layer = rama_serve_request_value(c->request, "layer");
	q.filter.op = rama_serve_request_value(c->request, "op");
	q.limit = (uint64_t)limit;
	rc = rama_serve_rows_begin(&r, c, &columns);
	if (rc == 0)
		rc = rama_query_events_list(c->store, c->names, &q, rama_serve_rows_add, &r, &e);
	rama_serve_rows_end(&r, rc, &e);
}

void rama_serve_do_why(struct rama_serve_call *c)
{
	struct rama_query_why w = { .seen = rama_serve_may_sums(c->viewer) };
	struct rama_err e = { 0 };
	struct rama_serve_rows r;
	int rc;

	if (!rama_serve_call_number(c, "from", 0, 9000000000, &w.from) ||
	    !rama_serve_call_number(c, "to", 0, 9000000000, &w.to))
		return;
	if (c->form == RAMA_ROWS_CSV) {
		rc = rama_serve_rows_begin(&r, c, &rama_query_why_columns);
		if (rc == 0)
			rc = rama_query_why_get(c->store, c->job, &w, &e);
		if (rc == 0)
			rc = rama_query_why_rows(&w, 1, rama_serve_rows_add, &r, &e);
		rama_serve_rows_end(&r, rc, &e);
	} else if (rama_study_why_tell(c->store, c->job, &w, c->form, &c->out, &e) != 0) {
		rama_serve_call_err(c, &e);
	}
	rama_query_why_fini(&w);
}

/* ---- its log --------------------------------------------------------------------------------- */

void rama_serve_do_log(struct rama_serve_call *c)
{
	unsigned char *bytes = NULL;
	struct rama_err e = { 0 };
	size_t n = 0;

	if (rama_store_log_bytes(c->store, c->job, &bytes, &n, &e) != 0) {
		rama_serve_call_err(c, &e);
		return;
	}
	rama_out_bytes(&c->out, (const char *)bytes, n);
	free(bytes);
	c->type = "application/octet-stream";
	snprintf(c->file, sizeof(c->file), "job-%lld.darshan", (long long)c->job);
}

/* A job read and diagnosed; false: the call has failed. Lines about damage are in the report. */
static bool study(struct rama_serve_call *c, int64_t job, const struct rama_diag_profile *profile,
		  bool detail, struct rama_study *to)
{
	struct rama_study_options opt = { .profile = profile, .detail = detail, .no_lines = true };
	struct rama_study_stored stored;
	struct rama_study_source from;
	struct rama_err e = { 0 };

	*to = (struct rama_study){ .viewed = false };
	if (rama_study_stored_get(c->store, job, "", &stored, &e) != 0) {
		rama_serve_call_fail(c, e.code == RAMA_EMISSING ? 404 : 503,
				     e.code == RAMA_EMISSING ? "there is no log of this job (yet)"
							     : "the store cannot be read now");
		return false;
	}
	from = rama_study_stored_source(&stored);
	rama_study_open(to, &from, 1, &opt);
	rama_study_stored_fini(&stored);
	if (!to->reported)
		rama_serve_call_fail(c, 500, "its log cannot be read");
	return to->reported;
}

void rama_serve_do_report(struct rama_serve_call *c)
{
	bool page = strcmp(c->request->suffix, "html") == 0;
	enum rama_report_form_id form = page			   ? RAMA_REPORT_FORM_html
					: c->form == RAMA_ROWS_CSV ? RAMA_REPORT_FORM_csv
								   : RAMA_REPORT_FORM_json;
	struct rama_report_ask ask = { .look = { .width = 100 }, .table = "findings" };
	struct rama_diag_profile profile;
	struct rama_study s;

	if (rama_diag_profile_init(&profile) != 0) {
		rama_serve_call_fail(c, 500, "out of memory");
		return;
	}
	if (study(c, c->job, &profile, true, &s)) {
		rama_report_forms[form]->report(&c->out, &s.report, &ask);
		if (page) {
			c->type = "text/html; charset=utf-8";
			c->policy = "frame-ancestors 'none'"; /* the page has its own */
		}
	}
	rama_study_close(&s);
	rama_diag_profile_fini(&profile);
}

static void compare(struct rama_serve_call *c, struct rama_study s[2], int64_t with)
{
	char name[2][32];
	struct rama_report_diff_side sides[2] = { { name[0], &s[0].view, &s[0].diagnosis },
						  { name[1], &s[1].view, &s[1].diagnosis } };
	struct rama_report_diff d;
	struct rama_err e = { 0 };

	snprintf(name[0], sizeof(name[0]), "job %lld", (long long)c->job);
	snprintf(name[1], sizeof(name[1]), "job %lld", (long long)with);
	if (rama_report_diff_make(&d, sides, 0.05, &e) != 0)
		rama_serve_call_err(c, &e);
	else
		rama_report_diff_json(&d, &c->out);
	rama_report_diff_fini(&d);
}

void rama_serve_do_diff(struct rama_serve_call *c)
{
	struct rama_study s[2] = { { .viewed = false }, { .viewed = false } };
	struct rama_diag_profile profile;
	struct rama_err e = { 0 };
	int64_t with = 0;
	int sees;

	if (!rama_serve_call_number(c, "with", 1, INT64_MAX, &with))
		return;
	sees = with > 0 ? rama_serve_may_job(c->viewer, c->store, with, &e) : 0;
	if (sees < 0)
		rama_serve_call_err(c, &e);
	else if (with == 0)
		rama_serve_call_fail(c, 400, "compared with which one? with=N");
	else if (sees == 0)
		rama_serve_call_fail(c, 404, "there is nothing here");
	if (sees <= 0)
		return;
	if (rama_diag_profile_init(&profile) != 0) {
		rama_serve_call_fail(c, 500, "out of memory");
		return;
	}
	if (study(c, c->job, &profile, false, &s[0]) && study(c, with, &profile, false, &s[1]))
		compare(c, s, with);
	rama_study_close(&s[0]);
	rama_study_close(&s[1]);
	rama_diag_profile_fini(&profile);
}
