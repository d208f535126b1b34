/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.h: the jobs whose segments lie around, for `iorama recover` and `iorama doctor`. */
#ifndef RAMA_LAUNCH_LEFT_JOBS_H
#define RAMA_LAUNCH_LEFT_JOBS_H

#include "launch/left/segs.h"

struct rama_launch_job {
	char *dir;	  /* NULL: segments named one by one */
	const char *name; /* last part of dir */
	bool locked;	  /* its `iorama run` is at work */
	struct rama_gather_list segs;
	struct rama_launch_seg_infos infos;
};

struct rama_launch_jobs {
	struct rama_launch_job *job;
	size_t n, room;
};

/* a directory of jobs, or of one job */
int rama_launch_jobs_add_dir(struct rama_launch_jobs *jobs, const char *dir, struct rama_err *e);
/* Some segments as one job. The paths stay the caller's. */
int rama_launch_jobs_add_files(struct rama_launch_jobs *jobs, const char *const *paths, size_t n,
			       struct rama_err *e);
/* everywhere segments are kept without being told otherwise */
int rama_launch_jobs_add_default(struct rama_launch_jobs *jobs, struct rama_err *e);
void rama_launch_jobs_remove(struct rama_launch_jobs *jobs, size_t i); /* from the list */
void rama_launch_jobs_fini(struct rama_launch_jobs *jobs);

/* running, empty, elsewhere, bad or dead */
const char *rama_launch_job_state(const struct rama_launch_job *j);
/* its directory, or its first segment */
const char *rama_launch_job_name(const struct rama_launch_job *j);
/* the first process that can be read; NULL: there is none */
const struct rama_launch_seg_info *rama_launch_job_first(const struct rama_launch_job *j);
/* may something of it still be running? */
static inline bool rama_launch_job_runs(const struct rama_launch_job *j)
{
	return j->locked || j->infos.alive > 0 || j->infos.unknown > 0;
}

#endif
