/* SPDX-License-Identifier: BSD-3-Clause */
/* site.h: what a page of a site tells beside lists: what moves now, what was lost this week and
 * to which rules, jobs ranked, who else was there; nodes over time. Answers hold only what belongs
 * to those whose jobs are looked at; samples of nodes belong to nobody. */
#ifndef RAMA_QUERY_SITE_H
#define RAMA_QUERY_SITE_H

#include "query/sums.h"

struct rama_query_site {
	struct rama_query_seen seen;
	int64_t now;   /* ns since 1970 */
	int64_t since; /* likewise: jobs that began (or ended, of sums) from then on */
	uint64_t limit;
};

/* one row: how many run, how many ended since then, how many of these lose more than a tenth of
 * their run time, node seconds lost and used, events seen and lost */
extern const struct rama_query_columns rama_query_week_columns;
int rama_query_week_list(struct rama_store *s, const struct rama_query_site *q,
			 rama_store_row_fn fn, void *ctx, struct rama_err *e);

/* jobs that run, with their rates over the last RAMA_QUERY_NOW seconds, most bytes first */
#define RAMA_QUERY_NOW 10
extern const struct rama_query_columns rama_query_moving_columns;
int rama_query_moving_list(struct rama_store *s, const struct rama_query_site *q,
			   rama_store_row_fn fn, void *ctx, struct rama_err *e);

/* The least number of jobs since then (ns), so that what others have of theirs is a part of a key.
 * Numbers go with time, but for logs that come late. */
int rama_query_first_job(struct rama_store *s, int64_t since, struct rama_store_cell *first,
			 struct rama_err *e);

/* rules whose findings (HIGH, WARN) cost most, in node seconds */
extern const struct rama_query_columns rama_query_rules_columns;
int rama_query_rules_list(struct rama_store *s, const struct rama_query_site *q,
			  rama_store_row_fn fn, void *ctx, struct rama_err *e);

/* Jobs by a metric of rankings.def; those of which its rule has said so come first.
 * RAMA_EUSAGE: there is no such metric. */
extern const struct rama_query_columns rama_query_ranking_columns;
int rama_query_ranking_list(struct rama_store *s, const struct rama_query_site *q,
			    const char *metric, rama_store_row_fn fn, void *ctx,
			    struct rama_err *e);

/* Other jobs that ran while this one did, most bytes first: `node` 1: on one of its nodes, too;
 * `under` 1: with files below that folder (NULL: not asked for). Of jobs that began more than a
 * week before it nothing is told. */
extern const struct rama_query_columns rama_query_beside_columns;
int rama_query_beside_list(struct rama_store *s, const struct rama_query_site *q, int64_t job,
			   const char *under, rama_store_row_fn fn, void *ctx, struct rama_err *e);

/* ---- nodes ----------------------------------------------------------------------------------- */

struct rama_query_samples {
	int64_t from, to, step; /* s since 1970; s, at least 1 */
	const char *metric;	/* NULL: those that tell most of a job's nodes; of jobs only */
	bool every;		/* of jobs: all metrics */
};
/* Means and most of the nodes of a job (RAMA_QUERY_HOSTS of them at most), rows of metric, step. */
#define RAMA_QUERY_HOSTS 64
extern const struct rama_query_columns rama_query_job_samples_columns;
int rama_query_job_samples_list(struct rama_store *s, const struct rama_query_samples *q,
				int64_t job, rama_store_row_fn fn, void *ctx, struct rama_err *e);
/* one metric of all nodes, rows of host, step */
extern const struct rama_query_columns rama_query_node_map_columns;
int rama_query_node_map_list(struct rama_store *s, const struct rama_query_samples *q,
			     rama_store_row_fn fn, void *ctx, struct rama_err *e);
/* which metrics there are, and of how many nodes */
extern const struct rama_query_columns rama_query_metrics_columns;
int rama_query_metrics_list(struct rama_store *s, rama_store_row_fn fn, void *ctx,
			    struct rama_err *e);

#endif
