/* SPDX-License-Identifier: BSD-3-Clause */
/* metric.h: what is known of jobs, by name: columns of lists, facts of the rules, counters. A
 * name becomes SQL only if it is one of those that the program knows; nothing a user wrote is
 * ever part of a statement. */
#ifndef RAMA_QUERY_METRIC_H
#define RAMA_QUERY_METRIC_H

#include <stdbool.h>
#include <stddef.h>

#include "store/store.h"

enum rama_query_metric_kind {
	RAMA_QUERY_METRIC_COLUMN,
	RAMA_QUERY_METRIC_FIGURE,
	RAMA_QUERY_METRIC_COUNTER
};

struct rama_query_metric {
	enum rama_query_metric_kind kind;
	const char *key;    /* of CSV and JSON */
	const char *header; /* for people */
	const char *unit;   /* text, id, when, or as base/human.h names them */
	unsigned shown;	    /* see columns.def */
	const char *doc;
	const char *rank; /* the expression that has an index, see columns.def; NULL: none */
	char sql[480];	  /* an expression over the row j of jobs */
};

/* The column, fact or counter of that name, letter case ignored for counters; false: there is
 * none. */
bool rama_query_metric_find(const char *name, size_t len, struct rama_query_metric *m);
/* RAMA_EUSAGE, with the name that may have been meant */
int rama_query_metric_unknown(const char *name, size_t len, struct rama_err *e);
/* the columns in order; false: no more */
bool rama_query_metric_column(unsigned i, struct rama_query_metric *m);

/* figures of a job beside the facts of the rules: rows of figures.def */
struct rama_query_figure {
	const char *name, *unit, *doc;
};
extern const struct rama_query_figure rama_query_figures[];
extern const unsigned rama_query_n_figures;

/* "small_writes > 1000", "bytes >= 10GiB", "io_share > 20%", "io_time > 5min", "state = done" */
struct rama_query_comparison {
	struct rama_query_metric m;
	const char *op;	  /* as SQL has it */
	double value;	  /* of all units but text */
	const char *text; /* of texts: the end of what was parsed */
};
/* RAMA_EUSAGE with a line that says what is wrong with it */
int rama_query_comparison_parse(struct rama_query_comparison *c, const char *text,
				struct rama_err *e);

#endif
