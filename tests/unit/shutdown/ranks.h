/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.h: jobs of some ranks with random records, their logs one by one, and the log that they
 * make together. Helpers fail the running test. */
#ifndef RAMA_TESTS_RANKS_H
#define RAMA_TESTS_RANKS_H

#include "check.h"
#include "threads.h"

#define RANKS_MOST 40

struct job;

struct rank {
	struct job *job;
	struct rama_shutdown_own own;
	unsigned char *bytes; /* the same log, to be merged */
	size_t n;
	bool empty; /* it could not make its records */
	struct rama_shutdown_disk disk;
	struct rama_shutdown_options opt;
	struct rama_shutdown_result result;
	struct rama_err err;
};

struct job {
	int64_t size;
	unsigned many;
	unsigned many_ours; /* the same in a section of the annex */
	struct world world;
	struct rank rank[RANKS_MOST];
	char path[64];
};

/* random records; the same seed gives the same, whatever the options */
void job_make(struct job *j, int64_t size, uint64_t seed);
/* ... and `many` files more that all have, and as many of each rank; they cannot be compressed */
void job_make_large(struct job *j, int64_t size, uint64_t seed, unsigned many, unsigned many_ours);
/* with these options for every rank; the log is at j->path if there is one */
void job_run(struct job *j, const struct rama_shutdown_options *opt);
void job_free(struct job *j);

/* what `iorama merge` makes of the logs of those ranks that are named, all if NULL */
struct check *job_merge(struct job *j, const bool *with);

/* every record of both, in any order; sums may differ in the last digits */
void logs_equal(struct check *a, struct check *b);
/* records of one module by id and rank: how many */
unsigned log_has(struct check *c, unsigned module, uint64_t id, int64_t rank);
/* no id has two names */
void names_once(struct check *c);

/* files that job_make() gives to all ranks, or to one */
uint64_t file_shared(unsigned number);
uint64_t file_of(int64_t rank);

#endif
