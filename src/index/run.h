/* SPDX-License-Identifier: BSD-3-Clause */
/* run.h: many logs into the store. Threads read and diagnose; the caller's thread puts, in
 * batches and in the order of the list, so that the store is the same whatever the number of
 * threads. Memory is bounded by the number of threads, not of logs. */
#ifndef RAMA_INDEX_RUN_H
#define RAMA_INDEX_RUN_H

#include "index/index.h"

#define RAMA_INDEX_THREADS 64 /* at most */

struct rama_index_counts {
	size_t all;	/* paths that were given */
	size_t same;	/* in the store already, as they are */
	size_t stored;	/* taken in, damaged ones too */
	size_t damaged; /* of these: something of them could not be read */
	size_t failed;	/* nothing of them could, or the store did not take it */
	size_t gone;	/* were no longer there */
};

struct rama_index_run {
	struct rama_store *store;
	struct rama_index_options opt;
	unsigned threads;
	bool again; /* those too that are in the store as they are */
	/* one line for each log with damage, at once, in the order of the list */
	void (*problem)(void *ctx, const char *path, const char *line);
	/* each log that was taken in, after its commit; may be NULL */
	void (*taken)(void *ctx, const struct rama_store_log *row);
	/* now and then */
	void (*progress)(void *ctx, const struct rama_index_counts *c);
	/* asked now and then: end after what is at hand? */
	bool (*stop)(void *ctx);
	void *ctx;
	struct rama_index_counts counts; /* added to */
	int worst; /* exit status for what went wrong with single logs, 0: nothing */
};

/* Paths are absolute. Logs that are in the store with the same path, size and time are left
 * alone. 0, or why the store cannot go on; what was committed until then stays. */
int rama_index_run(struct rama_index_run *r, const char *const *paths, size_t n,
		   struct rama_err *e);

#endif
