/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs_metric.h: figures of jobs by name: columns of `iorama jobs`, facts of the rules, counters. A name becomes SQL
 * only if it is one of those that the program knows; nothing a user wrote is ever part of a statement. */
#ifndef RAMA_CLI_JOBS_METRIC_H
#define RAMA_CLI_JOBS_METRIC_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/opts.h"
#include "store/store.h"

struct rama_metric {
	const char *key;    /* of CSV and JSON */
	const char *header; /* for people */
	const char *unit;   /* text, id, when, or as base/human.h names them */
	unsigned shown;	    /* see jobs_columns.def */
	const char *doc;
	char sql[480]; /* an expression over the row j of jobs */
};

/* The column, fact or counter of that name, letter case ignored for counters; false: there is none. */
bool rama_metric_find(const char *name, size_t len, struct rama_metric *m);
/* the columns in order; false: no more */
bool rama_metric_column(unsigned i, struct rama_metric *m);

enum { RAMA_COMPARE_MOST = 32 };
/* "small_writes > 1000", "bytes >= 10GiB", "io_share > 20%", "io_time > 5min", "state = done". Appends a condition to
 * `sql` whose value is *arg, to be argument number n of the statement. What is wrong with it ends the program (status
 * 2). */
void rama_metric_compare(const struct rama_opts *o, const char *text, char *sql, size_t room,
			 unsigned n, struct rama_cell *arg);

#endif
