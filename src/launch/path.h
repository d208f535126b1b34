/* SPDX-License-Identifier: BSD-3-Clause */
/* path.h: `iorama run --path`: while a job runs the FUSE daemons of this host's mounts and the file
 * servers on it are observed, too. They are attached to before the job begins and detached when it
 * has ended, by a process in the background if we are killed; what they did for it becomes part of
 * its log. What could not be seen is told, in one line each. */
#ifndef RAMA_LAUNCH_PATH_H
#define RAMA_LAUNCH_PATH_H

#include <sys/types.h>

#include "gather/gather.h"
#include "launch/told.h"

#define RAMA_LAUNCH_PATH_MOST 64 /* daemons and servers */

struct rama_launch_path_process {
	pid_t pid;
	bool server;
	char name[64]; /* what it is called */
	char *log;     /* after its end, or NULL */
};

struct rama_launch_path {
	struct rama_launch_path_process process[RAMA_LAUNCH_PATH_MOST]; /* that are observed */
	size_t n;
	char dir[64]; /* of their logs */
	char library[4096 + 64];
	int keeper; /* what ends when we do; 0: nobody waits for it */
	struct rama_gather_served served[RAMA_LAUNCH_PATH_MOST];
	size_t n_served;
};

/* library: that which is preloaded into the job */
void rama_launch_path_begin(struct rama_launch_path *p, const char *library,
			    const struct rama_launch_told *told);
void rama_launch_path_end(struct rama_launch_path *p, const struct rama_launch_told *told);
/* after the log of the job was made: what is not in it */
void rama_launch_path_tell(const struct rama_launch_path *p, const struct rama_launch_told *told);
void rama_launch_path_fini(struct rama_launch_path *p);

#endif
