/* SPDX-License-Identifier: BSD-3-Clause */
/* made.h: logs that ranks on several hosts make for `iorama run`, since it cannot find all
 * their segments. They lie beside the log to come, under names that begin with a dot and the
 * name of the job. */
#ifndef RAMA_LAUNCH_RUN_MADE_H
#define RAMA_LAUNCH_RUN_MADE_H

#include "launch/log.h"

struct rama_launch_made {
	char host[65];	     /* of this machine */
	char stem[PATH_MAX]; /* what their paths begin with */
	char told
		/* the same for the ranks: with what tells its directory from others of that name */
		[PATH_MAX + 64];
	struct rama_gather_list it; /* the logs */
	/* of the first of them */
	char program[256];
	uint64_t start; /* ns since 1970 */
	int64_t jobid;
};

/* where they go; 0, or an error if the directory cannot be known */
int rama_launch_made_init(struct rama_launch_made *m, const struct rama_launch_log_place *log,
			  const char *job, struct rama_err *e);
/* Finds them. What ranks that were killed have left half done is removed. */
int rama_launch_made_find(struct rama_launch_made *m, struct rama_err *e);
void rama_launch_made_remove(const struct rama_launch_made *m);
void rama_launch_made_fini(struct rama_launch_made *m);

#endif
