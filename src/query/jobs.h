/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.h: which jobs of a store, in which order, which columns of them; a page at a time.
 * Conditions, order and limit are the store's work, so that a page costs what it holds, however
 * many jobs there are.
 *
 * init, columns and conditions, list, fini. What is wrong with a word of a user is RAMA_EUSAGE
 * with a line. */
#ifndef RAMA_QUERY_JOBS_H
#define RAMA_QUERY_JOBS_H

#include "base/arena.h"
#include "query/metric.h"

#define RAMA_QUERY_COLUMNS 48	 /* at most */
#define RAMA_QUERY_CONDITIONS 32 /* at most, words not counted */

/* one condition on the row j of jobs; each '?' takes the next argument */
struct rama_query_condition {
	const char *sql;
	struct rama_store_cell arg[2];
	/* The same so that no index is of use for it: databases would take that one rather than
	 * the one of the order. NULL: it is so already. helps: the other order, beside that by
	 * start, in which the index is the right one; NULL: none. */
	const char *walk, *helps;
	bool newest; /* the index gives these jobs with the newest first */
	/* A statement that gives the numbers of all jobs that meet it (others, too, if that is
	 * simpler) by an index; NULL: there is none. */
	const char *jobs;
	struct rama_store_cell jobs_arg[2];
};

/* where a page ended: the key by which jobs are sorted, and the job */
struct rama_query_place {
	bool set;
	struct rama_store_cell key;
	int64_t job;
};

struct rama_query_jobs {
	struct rama_query_metric column[RAMA_QUERY_COLUMNS];
	unsigned n_columns;
	uint64_t limit; /* jobs of a page; 0: all */
	/* How a page is found; init knows what is best. A condition that no more than `few` jobs
	 * meet is read and sorted; a glob is compared with the names of programs if these are no
	 * more than `names`, else with each job's. */
	size_t few, names;
	/* set by list */
	const char *next;    /* the cursor of the next page; NULL: this was the last one */
	uint64_t more;	     /* jobs after this page, as far as they were counted, ... */
	bool more_uncounted; /* ... and there are more than that */

	/* what follows is set by the functions below */
	struct rama_query_condition condition[RAMA_QUERY_CONDITIONS];
	unsigned n_conditions;
	const char *const *users; /* with of_users: these only */
	size_t n_users;
	bool of_users;
	const char *name;   /* glob, NULL: all */
	const char **words; /* in small letters */
	size_t n_words, words_room;
	struct rama_query_metric order;
	bool up;
	const char *after; /* cursor */
	struct rama_arena arena;
};

/* the newest first */
void rama_query_jobs_init(struct rama_query_jobs *q);
void rama_query_jobs_fini(struct rama_query_jobs *q);

int rama_query_jobs_column(struct rama_query_jobs *q, const char *name, size_t len,
			   struct rama_err *e);
/* Numbers and times: the largest first; texts in order; -KEY the other way round. What has no
 * value comes last, the newest number first among equals. */
int rama_query_jobs_sort(struct rama_query_jobs *q, const char *key, struct rama_err *e);
/* Begins after the page that gave this cursor, in the same order, which has to be set before;
 * "first": at the beginning. */
int rama_query_jobs_after(struct rama_query_jobs *q, const char *cursor, struct rama_err *e);

int rama_query_jobs_user(struct rama_query_jobs *q, const char *user, struct rama_err *e);
/* of any of these, and of nobody if there are none; they must outlive the question */
int rama_query_jobs_users(struct rama_query_jobs *q, const char *const *users, size_t n,
			  struct rama_err *e);
/* by what the batch system calls it, exactly */
enum rama_query_batch { RAMA_QUERY_ACCOUNT, RAMA_QUERY_PARTITION, RAMA_QUERY_JOB_NAME };
int rama_query_jobs_batch(struct rama_query_jobs *q, enum rama_query_batch what, const char *word,
			  struct rama_err *e);
/* these and no others */
int rama_query_jobs_only(struct rama_query_jobs *q, const int64_t *jobs, size_t n,
			 struct rama_err *e);
int rama_query_jobs_since(struct rama_query_jobs *q, int64_t ns, struct rama_err *e);
int rama_query_jobs_until(struct rama_query_jobs *q, int64_t ns, struct rama_err *e);
/* that ended from then on, before then */
int rama_query_jobs_ended(struct rama_query_jobs *q, int64_t from, int64_t to, struct rama_err *e);
/* of which this address (NULL: their user) was told nothing by this alert; or of which it was, in
 * that period */
int rama_query_jobs_untold(struct rama_query_jobs *q, const char *alert, const char *to,
			   struct rama_err *e);
int rama_query_jobs_told(struct rama_query_jobs *q, const char *alert, const char *to,
			 int64_t period, struct rama_err *e);
int rama_query_jobs_bytes(struct rama_query_jobs *q, double least, struct rama_err *e);
int rama_query_jobs_running(struct rama_query_jobs *q, struct rama_err *e);
/* a rule, or a level that one of the findings has at least: high, warn */
int rama_query_jobs_finding(struct rama_query_jobs *q, const char *word, struct rama_err *e);
/* see rama_query_comparison */
int rama_query_jobs_where(struct rama_query_jobs *q, const char *text, struct rama_err *e);
/* glob for the name of the program, as fnmatch(3) has it */
int rama_query_jobs_name(struct rama_query_jobs *q, const char *glob, struct rama_err *e);
/* part of name, user, command or key, or the job id */
int rama_query_jobs_word(struct rama_query_jobs *q, const char *word, struct rama_err *e);

/* Rows have the columns of q. */
int rama_query_jobs_list(struct rama_store *s, struct rama_query_jobs *q, rama_store_row_fn fn,
			 void *ctx, struct rama_err *e);

#endif
