/* SPDX-License-Identifier: BSD-3-Clause */
/* sums.h: questions over many jobs that are not a list of them: who did how much on which day,
 * what costs most, which nodes there are; and whose a job is. Answers hold only what belongs to
 * those whose jobs are looked at. */
#ifndef RAMA_QUERY_SUMS_H
#define RAMA_QUERY_SUMS_H

#include "query/series.h"

/* whose jobs are looked at */
struct rama_query_seen {
	bool all;
	const char *const *user; /* else these, and nobody's if there are none */
	size_t n;
};

/* adds " AND column IN (…)"; inside query only */
struct rama_query_sql;
void rama_query_seen_add(struct rama_query_sql *sql, const char *column,
			 const struct rama_query_seen *seen);

/* 1: there is such a job, and *owner (room bytes) is whose it is; 0: there is none */
int rama_query_job_owner(struct rama_store *s, int64_t job, char *owner, size_t room,
			 struct rama_err *e);

enum rama_query_by { RAMA_QUERY_BY_DAY, RAMA_QUERY_BY_USER, RAMA_QUERY_BY_PROGRAM, RAMA_QUERY_BYS };
struct rama_query_days {
	struct rama_query_seen seen;
	enum rama_query_by by;
	int64_t from, to;	 /* days since 1970, from <= day < to */
	const char *user, *name; /* NULL: all */
	uint64_t limit;
};
/* Days in order, the newest first; users and programs by node time, most first. */
extern const struct rama_query_columns rama_query_days_columns[RAMA_QUERY_BYS];
int rama_query_days_list(struct rama_store *s, const struct rama_query_days *q,
			 rama_store_row_fn fn, void *ctx, struct rama_err *e);

/* findings of one level, the most expensive first */
extern const struct rama_query_columns rama_query_worst_columns;
int rama_query_worst_list(struct rama_store *s, const struct rama_query_seen *seen,
			  const char *level, uint64_t limit, rama_store_row_fn fn, void *ctx,
			  struct rama_err *e);

/* nodes of which there are samples, and when the last one was taken */
extern const struct rama_query_columns rama_query_nodes_columns;
int rama_query_nodes_list(struct rama_store *s, rama_store_row_fn fn, void *ctx,
			  struct rama_err *e);

/* what there is, at a glance, without reading all */
struct rama_query_totals {
	int64_t running, last_seen; /* jobs; ns since 1970, 0: never */
	double ended, broken, high, warn, bytes_read, bytes_written, io, node_time; /* s */
};
/* Counters of all that ever came (docs/format/store.md: totals): rows of name, two labels, value */
int rama_query_counters_list(struct rama_store *s, rama_store_row_fn fn, void *ctx,
			     struct rama_err *e);
int rama_query_totals_get(struct rama_store *s, struct rama_query_totals *to, struct rama_err *e);

#endif
