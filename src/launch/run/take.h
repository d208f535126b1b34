/* SPDX-License-Identifier: BSD-3-Clause */
/* take.h: takes in the segments of processes that have ended while the command still runs:
 * packs them (gather/pack.h) and removes their files, so that many short processes need no more
 * memory than those that run at one time. A thread of its own does it, that sleeps until the kernel
 * tells of new segments. */
#ifndef RAMA_LAUNCH_RUN_TAKE_H
#define RAMA_LAUNCH_RUN_TAKE_H

#include <stdint.h>

#include "launch/place.h"

struct rama_launch_take;

struct rama_launch_taken {
	uint64_t segments;
	uint64_t made, dropped; /* live events of theirs */
};

/* live: an agent is to read them before. NULL: it cannot be done, which only costs memory. */
struct rama_launch_take *rama_launch_take_start(const struct rama_launch_place *place, bool live);
void rama_launch_take_stop(struct rama_launch_take *t,
			   struct rama_launch_taken *taken); /* t may be NULL */

#endif
