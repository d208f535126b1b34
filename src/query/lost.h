/* SPDX-License-Identifier: BSD-3-Clause */
/* lost.h: what jobs that ended in a span of time lost by their findings, and in the span before
 * it: all of them, and by rule, program, user and folder. */
#ifndef RAMA_QUERY_LOST_H
#define RAMA_QUERY_LOST_H

#include "query/jobs.h"

enum rama_query_lost_by {
	RAMA_QUERY_LOST_ALL,
	RAMA_QUERY_LOST_RULES, /* their findings HIGH and WARN, which may overlap */
	RAMA_QUERY_LOST_PROGRAMS,
	RAMA_QUERY_LOST_USERS,
	/* The first folder of their files: what a job lost, shared out by the time that it spent
	 * with them. Of the RAMA_QUERY_LOST_FOLDER_JOBS jobs that lost most. */
	RAMA_QUERY_LOST_FOLDERS,
	RAMA_QUERY_LOST_BYS
};
#define RAMA_QUERY_LOST_FOLDER_JOBS 1000

struct rama_query_lost {
	struct rama_query_jobs *jobs; /* which jobs: its conditions */
	/* ns since 1970: jobs that ended in from <= t < to, and in before <= t < from */
	int64_t before, from, to;
};

struct rama_query_lost_sums {
	double jobs;
	double lost;	  /* s: at most the I/O time of each job */
	double node_lost; /* the same times its nodes */
	double node_time; /* s of run time times nodes; not by rule and folder */
};
struct rama_query_lost_row {
	const char *key;   /* "" of all; only while it is told */
	const char *title; /* of rules: what it finds; NULL: not known here */
	double others;	   /* users, of a user: programs; now */
	double losing;	   /* jobs with a finding; now */
	struct rama_query_lost_sums now, then;
};

/* Those that lost most first, also those that lost nothing. 0 or an error. */
int rama_query_lost_list(struct rama_store *s, const struct rama_query_lost *q,
			 enum rama_query_lost_by by,
			 void (*fn)(void *ctx, const struct rama_query_lost_row *row), void *ctx,
			 struct rama_err *e);

#endif
