/* SPDX-License-Identifier: BSD-3-Clause */
/* series.h: what went on second by second: activity of processes, samples of nodes; and
 * statements of the user's own. */
#ifndef RAMA_QUERY_SERIES_H
#define RAMA_QUERY_SERIES_H

#include "store/store.h"

/* columns that are known before the first row; units as the cells of rows have them */
struct rama_query_columns {
	unsigned n;
	const char *const *name, *const *unit;
};
extern const struct rama_query_columns rama_query_activity_columns, rama_query_samples_columns;

struct rama_query_series {
	int64_t job;	  /* -1: all; of activity only */
	int64_t rank;	  /* -1: all; of activity only */
	const char *host; /* of samples */
	const char *what; /* layer or metric, NULL: all */
	int64_t from, to; /* ns since 1970, from <= t < to; INT64_MIN, INT64_MAX: all */
	uint64_t limit;	  /* 0: none */
};

int rama_query_activity_list(struct rama_store *s, const struct rama_query_series *q,
			     rama_store_row_fn fn, void *ctx, struct rama_err *e);
int rama_query_samples_list(struct rama_store *s, const struct rama_query_series *q,
			    rama_store_row_fn fn, void *ctx, struct rama_err *e);
/* What a job did over time, all ranks together, in at most about `points` steps: rows of step,
 * layer, kind, in this order. from, to: seconds since 1970; 0 0: all of it. step and what was
 * taken are set. */
struct rama_query_course {
	int64_t job, from, to;
	unsigned points;
	int64_t step; /* s */
};
extern const struct rama_query_columns rama_query_course_columns;
int rama_query_course_list(struct rama_store *s, struct rama_query_course *q, rama_store_row_fn fn,
			   void *ctx, struct rama_err *e);
/* The same of the layers by which bytes leave a program, all kinds together: rows of step, bytes,
 * seconds. */
int rama_query_pace_list(struct rama_store *s, struct rama_query_course *q, rama_store_row_fn fn,
			 void *ctx, struct rama_err *e);
/* What a job did by rank: `ranks` rows of ranks at most, sums of each and the most of one. Rows of
 * step, first rank. ranks_step is set. Of very many ranks the end of that time only: as many
 * seconds of all of them. */
#define RAMA_QUERY_RANK_SECONDS 600000
extern const struct rama_query_columns rama_query_ranks_columns;
int rama_query_ranks_list(struct rama_store *s, struct rama_query_course *q, unsigned ranks,
			  int64_t *ranks_step, rama_store_row_fn fn, void *ctx, struct rama_err *e);
/* files of a job, with what its log counted of them, most bytes first */
extern const struct rama_query_columns rama_query_files_columns;
int rama_query_files_list(struct rama_store *s, int64_t job, uint64_t limit, rama_store_row_fn fn,
			  void *ctx, struct rama_err *e);
/* one statement as it was given, which may only read */
int rama_query_statement_run(struct rama_store *s, const char *sql, rama_store_row_fn fn, void *ctx,
			     struct rama_err *e);

#endif
