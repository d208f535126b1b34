/* SPDX-License-Identifier: BSD-3-Clause */
/* recover.h: logs from the segments that killed jobs left behind. */
#ifndef RAMA_LAUNCH_LEFT_RECOVER_H
#define RAMA_LAUNCH_LEFT_RECOVER_H

#include "launch/left/jobs.h"
#include "launch/log.h"

enum rama_launch_recovery {
	RAMA_LAUNCH_REMOVED, /* its segments, unread, as asked for */
	RAMA_LAUNCH_LOGGED,  /* its logs were there already: only removed */
	RAMA_LAUNCH_MADE     /* a log */
};

struct rama_launch_recovered {
	const struct rama_launch_job *job;
	enum rama_launch_recovery what;
	const char *log; /* of MADE, and */
	struct rama_gather_result result;
};

struct rama_launch_recover {
	struct rama_launch_log_place log; /* where logs go */
	bool running;			  /* jobs that run, too, as they are */
	bool remove;			  /* make no logs */
	const char *batch; /* only of this job of a batch system, 4242 or 4242.0; NULL: of all */
	struct rama_launch_told told;
	void (*done)(void *ctx, const struct rama_launch_recovered *done); /* or NULL */

	struct rama_launch_jobs jobs;
	size_t made, left; /* done with; left alone */
	int status;	   /* exit status for the worst that was found; 0: nothing */
};

/* Is it the id of a job of a batch system, or of a step of one? */
bool rama_launch_recover_is_batch(const char *text);
/* the jobs of directories and segments; without any, wherever they are kept */
int rama_launch_recover_find(struct rama_launch_recover *r, const char *const *args, size_t n_args,
			     struct rama_err *e);
/* of how many jobs a log would be made */
size_t rama_launch_recover_ready(const struct rama_launch_recover *r);
void rama_launch_recover_job(struct rama_launch_recover *r, struct rama_launch_job *j);

#endif
