/* SPDX-License-Identifier: BSD-3-Clause */
/* program.h: all runs of a program, and where it became slower or faster; small
 * pictures of jobs. */
#ifndef RAMA_QUERY_PROGRAM_H
#define RAMA_QUERY_PROGRAM_H

#include "query/sums.h"

#define RAMA_QUERY_CHANGE_ALPHA 0.01 /* how often a program that stays as it is is said to change */
#define RAMA_QUERY_CHANGE_SHARE 0.05 /* smaller changes are not told */

/* Runs that have ended, the oldest first, RAMA_QUERY_RUNS of the newest at most. `like` 1: ended
 * well and with as many ranks as most of them, which are compared with each other; changes are
 * looked for in run time, rate and share of I/O of these: NULL, or how probable a change here is
 * by chance. program NULL: that of the job. */
extern const struct rama_query_columns rama_query_runs_columns;
int rama_query_runs_list(struct rama_store *s, const struct rama_query_seen *seen,
			 const char *program, int64_t job, rama_store_row_fn fn, void *ctx,
			 struct rama_err *e);

/* Bytes read and written over the time of a job, in about `points` steps: rows of job, second,
 * step, bytes_read, bytes_written. */
extern const struct rama_query_columns rama_query_spark_columns;
int rama_query_spark_list(struct rama_store *s, int64_t job, unsigned points, rama_store_row_fn fn,
			  void *ctx, struct rama_err *e);

#endif
