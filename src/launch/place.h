/* SPDX-License-Identifier: BSD-3-Clause */
/* place.h: where segments are kept: ROOT/JOB/NAME.seg, and the lock that says that a job's
 * `iorama run` is still at work. Nothing here follows links. */
#ifndef RAMA_LAUNCH_PLACE_H
#define RAMA_LAUNCH_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "gather/place.h"
#include "launch/told.h"

struct rama_launch_place {
	char root[PATH_MAX / 2];
	char dir[PATH_MAX]; /* root/job */
	const char *job;    /* in dir */
	int lock;	    /* descriptor, -1: none */
	int spare_lock[RAMA_SEG_SPARES];
	struct rama_gather_spares spare; /* for what finds no room in dir */
	char note[PATH_MAX / 2 + 300];	 /* why it is not where one would look for it; "": it is */
};

/* Makes a new job's directory, the spare ones and the tally, and holds the locks. */
int rama_launch_place_make(struct rama_launch_place *p, struct rama_err *e);
void rama_launch_place_unlock(struct rama_launch_place *p);

/* All places that processes of this user may use. What is not there is made, so that nobody else
 * can take its name; what cannot be is told of the agent, who reads them. */
void rama_launch_place_roots(struct rama_gather_roots *roots, const struct rama_launch_told *told);

#endif
