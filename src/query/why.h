/* SPDX-License-Identifier: BSD-3-Clause */
/* why.h: what was unusual while a job was slow: on its nodes, and of other jobs. What is told
 * happened at the same time; nothing is said of causes. */
#ifndef RAMA_QUERY_WHY_H
#define RAMA_QUERY_WHY_H

#include "query/site.h"
#include "query/unusual.h"

struct rama_query_why_row {
	char *what; /* metric of its nodes, or "bytes of other jobs" */
	struct rama_query_unusual u;
};

struct rama_query_why {
	/* asked for: s since 1970; 0 0: the slowest phase is looked for */
	int64_t from, to;
	struct rama_query_seen seen; /* whose jobs the others are */

	/* the answer */
	bool known; /* there is a course of it */
	bool found; /* a slow phase, or the time that was asked for, lies in it */
	int64_t step;
	double rate, usual;		/* bytes per second in I/O then, and usually */
	size_t looked;			/* figures of which something is known */
	struct rama_query_why_row *row; /* the most unusual first */
	size_t n, room;
};

int rama_query_why_get(struct rama_store *s, int64_t job, struct rama_query_why *w,
		       struct rama_err *e);
/* its rows: how probable it is that a figure of no concern differs as much, at most this */
extern const struct rama_query_columns rama_query_why_columns;
int rama_query_why_rows(const struct rama_query_why *w, double p, rama_store_row_fn fn, void *ctx,
			struct rama_err *e);
void rama_query_why_fini(struct rama_query_why *w);

#endif
