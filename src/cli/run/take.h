/* SPDX-License-Identifier: BSD-3-Clause */
/* run_take.h: takes in the segments of processes that have ended while the command still runs:
 * packs them (gather/pack.h) and removes their files, so that many short processes need no more
 * memory than those that run at one time. A thread of its own does it, that sleeps until the kernel
 * tells of new segments. */
#ifndef RAMA_CLI_RUN_TAKE_H
#define RAMA_CLI_RUN_TAKE_H

#include <stdint.h>

#include "cli/run/place.h"

struct rama_cli_take;

struct rama_cli_taken {
	uint64_t segments;
	uint64_t made, dropped; /* live events of theirs */
};

/* live: an agent is to read them before. NULL: it cannot be done, which only costs memory. */
struct rama_cli_take *rama_cli_take_start(const struct rama_cli_job_place *place, bool live);
void rama_cli_take_stop(struct rama_cli_take *t, struct rama_cli_taken *taken); /* t may be NULL */

#endif
