/* SPDX-License-Identifier: BSD-3-Clause */
/* run_place.h: where segments are kept: ROOT/JOB/NAME.seg, and the lock that says that a job's
 * `iorama run` is still at work. Nothing here follows links. */
#ifndef RAMA_CLI_RUN_PLACE_H
#define RAMA_CLI_RUN_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "gather/place.h"

struct rama_job_place {
	char root[PATH_MAX / 2];
	char dir[PATH_MAX]; /* root/job */
	const char *job;    /* in dir */
	int lock;	    /* descriptor, -1: none */
};

/* Makes a new job's directory and holds its lock. */
int rama_place_make(struct rama_job_place *p, struct rama_err *e);

#endif
