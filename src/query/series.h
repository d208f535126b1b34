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
/* one statement as it was given, which may only read */
int rama_query_statement_run(struct rama_store *s, const char *sql, rama_store_row_fn fn, void *ctx,
			     struct rama_err *e);

#endif
