/* SPDX-License-Identifier: BSD-3-Clause */
/* attached.h: ranks of an MPI job that were attached make one log. Their segments are in one
 * directory, as those of `iorama run`; whoever detaches the last of them makes the log, or a
 * process in the background when the last has ended. */
#ifndef RAMA_LAUNCH_ATTACHED_H
#define RAMA_LAUNCH_ATTACHED_H

#include <sys/types.h>

#include "launch/log.h"
#include "launch/place.h"

struct rama_launch_attached {
	struct rama_launch_place place;
	int64_t jobid;
};

/* The directory, and the id that a batch system gave to this process, else its launcher's. */
int rama_launch_attached_make(struct rama_launch_attached *a, pid_t pid, pid_t launcher,
			      struct rama_err *e);
/* All are in it that will be. It goes if there is nothing in it. */
void rama_launch_attached_ready(struct rama_launch_attached *a);

enum rama_launch_attached_state {
	RAMA_LAUNCH_ATTACHED_MADE, /* the log */
	RAMA_LAUNCH_ATTACHED_RUNS, /* some are still attached: there is no log yet */
	RAMA_LAUNCH_ATTACHED_GONE, /* somebody else has made it, or there was nothing */
	RAMA_LAUNCH_ATTACHED_FAILED
};
/* One log in log_dir of the segments in dir, if none of them is being filled. */
enum rama_launch_attached_state rama_launch_attached_log(const char *dir, const char *log_dir,
							 char path[PATH_MAX], struct rama_err *e);
/* A process of its own that waits for the end of these, and makes the log if nobody else has. */
void rama_launch_attached_watch(const char *dir, const char *log_dir, const pid_t *pid, size_t n);

#endif
