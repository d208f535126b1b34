/* SPDX-License-Identifier: BSD-3-Clause */
/* log.h: where the log of a job goes, and making it from the job's segments. */
#ifndef RAMA_LAUNCH_LOG_H
#define RAMA_LAUNCH_LOG_H

#include <limits.h>
#include <stdbool.h>

#include "launch/told.h"
#include "gather/gather.h"

struct rama_launch_log_place {
	const char *file; /* -o, or NULL */
	const char *dir;  /* --log-dir */
	bool force;	  /* replace `file` */
};

/* Can the log go there? Asked before any work is done. p->dir NULL or "": where it goes without
 * being told. 0, or RAMA_EIO after the reason was told. */
int rama_launch_log_check(struct rama_launch_log_place *p, const struct rama_launch_told *told);

/* what the name of a log says of its job */
struct rama_launch_log_about {
	const char *program; /* its path or name */
	int64_t jobid, pid;
	uint64_t start; /* ns since 1970 */
};

/* Gathers the segments into a log whose path is left in `path`; an existing file is left alone, the
 * log gets another name then. 0 or an error. */
int rama_launch_log_make(const struct rama_launch_log_place *p, const struct rama_gather_list *segs,
			 const struct rama_launch_log_about *about,
			 const struct rama_gather_options *opt, char path[PATH_MAX],
			 struct rama_gather_result *result, struct rama_err *e);

/* first word of a command line, without its directory */
void rama_launch_log_program(char *to, size_t size, const char *command);

#endif
