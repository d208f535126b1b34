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
	RAMA_QUERY_JOB_FIGURES, /* name, value */
	/* change, rule, cost, gain, before, after, verdict, low, high, rounds, ranks, host, when */
	RAMA_QUERY_JOB_TRIALS
};

/* The jobs that a word names: its number in the store, a key, "last"; or the id of a job of a
 * batch system (id=4242 where the number is one of the store, too), which is all its steps in the
 * order in which they began, of its newest start, or with `all` of every one; or one step,
 * 4242.0. *jobs: to be freed. */
int rama_query_job_find(struct rama_store *s, const char *word, bool all, int64_t **jobs, size_t *n,
			struct rama_err *e);

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
/* Keys under which a job is known, its own first: rows of key, processes that run. */
int rama_query_job_keys_list(struct rama_store *s, int64_t job, rama_store_row_fn fn, void *ctx,
			     struct rama_err *e);
/* Every job with a log, in the order of their paths: job, path (may be ""), key. */
int rama_query_logs_list(struct rama_store *s, rama_store_row_fn fn, void *ctx, struct rama_err *e);

/* Jobs with a log that daemons and servers of file systems may have made while this job ran: those
 * of attached processes, which agents sent, within an hour of it (clocks of hosts differ): job,
 * key. */
int rama_query_logs_beside(struct rama_store *s, int64_t job, rama_store_row_fn fn, void *ctx,
			   struct rama_err *e);

/* What daemons and servers that its user may not see did for him about that time: job, a log
 * (bytes). */
int rama_query_served(struct rama_store *s, int64_t job, rama_store_row_fn fn, void *ctx,
		      struct rama_err *e);

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
