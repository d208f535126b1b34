/* SPDX-License-Identifier: BSD-3-Clause */
/* run_jobs.h: the jobs whose segments lie around, for `iorama recover` and `iorama doctor`. */
#ifndef RAMA_CLI_RUN_JOBS_H
#define RAMA_CLI_RUN_JOBS_H

#include "cli/run/segs.h"

struct rama_cli_job_left {
	char *dir;	  /* NULL: segments named one by one */
	const char *name; /* last part of dir */
	bool locked;	  /* its `iorama run` is at work */
	struct rama_gather_list segs;
	struct rama_cli_seg_infos infos;
};

struct rama_cli_jobs {
	struct rama_cli_job_left *job;
	size_t n, room;
};

/* a directory of jobs, or of one job */
int rama_cli_jobs_add_dir(struct rama_cli_jobs *jobs, const char *dir, struct rama_err *e);
/* Some segments as one job. The paths stay the caller's. */
int rama_cli_jobs_add_files(struct rama_cli_jobs *jobs, const char *const *paths, size_t n,
			    struct rama_err *e);
/* everywhere segments are kept without being told otherwise */
int rama_cli_jobs_add_default(struct rama_cli_jobs *jobs, struct rama_err *e);
void rama_cli_jobs_fini(struct rama_cli_jobs *jobs);

/* may something of it still be running? */
static inline bool rama_cli_job_left_runs(const struct rama_cli_job_left *j)
{
	return j->locked || j->infos.alive > 0 || j->infos.unknown > 0;
}

#endif
