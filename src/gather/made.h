/* SPDX-License-Identifier: BSD-3-Clause */
/* made.h: logs that the ranks of a job have made themselves, as parts of a larger one; internal
 * to gather. */
#ifndef RAMA_GATHER_MADE_H
#define RAMA_GATHER_MADE_H

#include "base/file.h"
#include "base/ranges.h"
#include "gather/gather.h"

#define RAMA_GATHER_RANKS (1 << 24) /* of any MPI job */

struct rama_gather_made_log {
	const char *path;
	struct rama_file file;
	struct rama_log log;
	bool open;
	int64_t first;		    /* rank in the job of its rank 0 */
	struct rama_ranges missing; /* ranks of its own that it lacks */
	struct rama_ranges found;   /* those of them that left something here */
};

struct rama_gather_made {
	struct rama_gather_made_log *log;
	size_t n;
	int64_t nprocs; /* of all of them */
};

/* m is to be closed, whatever comes of it */
int rama_gather_made_open(struct rama_gather_made *m, const char *const *paths, size_t n,
			  struct rama_err *e);
void rama_gather_made_close(struct rama_gather_made *m);
/* the place that a log has left free for this rank of so many; -1: none */
int64_t rama_gather_made_place(struct rama_gather_made *m, int64_t rank, int64_t world);
/* ranks that are still missing are added to `to` */
int rama_gather_made_missing(const struct rama_gather_made *m, struct rama_ranges *to);

#endif
