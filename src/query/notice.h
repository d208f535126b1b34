/* SPDX-License-Identifier: BSD-3-Clause */
/* notice.h: which jobs somebody is to be told of, and who was told. */
#ifndef RAMA_QUERY_NOTICE_H
#define RAMA_QUERY_NOTICE_H

#include "query/jobs.h"
#include "query/series.h"

/* jobs of an alert */
struct rama_query_alert {
	const char *name;
	const char *where; /* conditions with commas between them: "finding high, node_cost > 1h" */
	const char *value; /* the figure that is told of each, by name */
	const char *to;	   /* who is told; NULL: the user of each job */
};
/* Are the words of `where` and `value` right? RAMA_EUSAGE with a line. */
int rama_query_alert_check(const struct rama_query_alert *a, struct rama_err *e);

enum rama_query_told_column {
	RAMA_QUERY_TOLD_JOB,
	RAMA_QUERY_TOLD_USER,
	RAMA_QUERY_TOLD_NAME,
	RAMA_QUERY_TOLD_JOBID,
	RAMA_QUERY_TOLD_JOB_NAME,
	RAMA_QUERY_TOLD_END,
	RAMA_QUERY_TOLD_RUN_TIME,
	RAMA_QUERY_TOLD_RANKS,
	RAMA_QUERY_TOLD_NODES,
	RAMA_QUERY_TOLD_IO_SHARE,
	RAMA_QUERY_TOLD_NODE_COST,
	RAMA_QUERY_TOLD_VALUE,
	RAMA_QUERY_TOLD_COLUMNS
};
/* Those that ended from <= end < to_ns and of which nobody was told, by user; rows of the columns
 * above. */
int rama_query_alert_jobs(struct rama_store *s, const struct rama_query_alert *a, int64_t from,
			  int64_t to_ns, rama_store_row_fn fn, void *ctx, struct rama_err *e);
/* those of a notice that was claimed; a->to is who */
int rama_query_notice_jobs(struct rama_store *s, const struct rama_query_alert *a, int64_t period,
			   rama_store_row_fn fn, void *ctx, struct rama_err *e);
/* what the report says of a job: rule, level, title, evidence, advice, cost of its findings HIGH
 * and WARN, the most expensive first; rule "": of all */
int rama_query_notice_findings(struct rama_store *s, int64_t job, const char *rule, unsigned most,
			       rama_store_row_fn fn, void *ctx, struct rama_err *e);

/* Notices; user NULL: of all. open: those that were not sent yet. The newest first. */
extern const struct rama_query_columns rama_query_notices_columns;
int rama_query_notices_list(struct rama_store *s, const char *user, bool open, uint64_t limit,
			    rama_store_row_fn fn, void *ctx, struct rama_err *e);
/* 1: there is one of this period already, or this user wants none */
int rama_query_notice_none(struct rama_store *s, const char *user, const char *alert,
			   int64_t period, struct rama_err *e);
/* 1: when this user was told by this alert last, ns; 0: never */
int rama_query_notice_last(struct rama_store *s, const char *user, const char *alert, int64_t *when,
			   struct rama_err *e);
/* 1: this user does not want this one */
int rama_query_notice_off(struct rama_store *s, const char *user, const char *alert,
			  struct rama_err *e);

#endif
