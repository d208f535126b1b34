/* SPDX-License-Identifier: BSD-3-Clause */
/* job.h: one job of a store: its row, and what belongs to it. */
#ifndef RAMA_QUERY_JOB_H
#define RAMA_QUERY_JOB_H

#include <limits.h>

#include "query/metric.h"

/* tables of a job; columns as job.c lists them */
enum rama_query_job_table {
	RAMA_QUERY_JOB_FINDINGS, /* level, rule, cost, title */
	/* layer, reads, writes, metas, bytes_read, bytes_written, seconds */
	RAMA_QUERY_JOB_ACTIVITY,
	RAMA_QUERY_JOB_EVENTS, /* layer, kind, ops, failed, bytes, seconds, longest */
	/* rank, host, pid, state, start, end, seen, stored, dropped, missed, exe */
	RAMA_QUERY_JOB_PROCESSES,
	RAMA_QUERY_JOB_LOSSES, /* agent, why, events, messages */
	RAMA_QUERY_JOB_FIGURES /* name, value */
};

/* One row of the columns; RAMA_EMISSING: there is no such job (any more). */
int rama_query_job_row(struct rama_store *s, int64_t job, const struct rama_query_metric *column,
		       unsigned n, rama_store_row_fn fn, void *ctx, struct rama_err *e);
int rama_query_job_rows(struct rama_store *s, int64_t job, enum rama_query_job_table table,
			rama_store_row_fn fn, void *ctx, struct rama_err *e);

/* when it began, ns since 1970; 0: not known */
int rama_query_job_start(struct rama_store *s, int64_t job, int64_t *ns, struct rama_err *e);

/* what the store says of a job and its log */
struct rama_query_job_log {
	bool logged, kept;
	char key[RAMA_WIRE_JOB], path[PATH_MAX], state[16];
	int64_t size, mtime_ns, events, seconds; /* seconds: of activity */
};
int rama_query_job_log_get(struct rama_store *s, int64_t job, struct rama_query_job_log *to,
			   struct rama_err *e);
/* Every job with a log, in the order of their paths: job, path (may be ""), key. */
int rama_query_logs_list(struct rama_store *s, rama_store_row_fn fn, void *ctx, struct rama_err *e);

/* What there is of a live job so far, by its key: events, and processes that have not ended.
 * *known: there is a row. */
struct rama_query_job_live {
	bool known;
	uint64_t events;
	int64_t running;
};
int rama_query_job_live_get(struct rama_store *s, const char *key, struct rama_query_job_live *to,
			    struct rama_err *e);

#endif
