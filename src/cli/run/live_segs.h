/* SPDX-License-Identifier: BSD-3-Clause */
/* run_live_segs.h: parts of run_live.c that need names of segment/, or of job/: the live events
 * of a job, counted in its segments, and its log, put into the store. */
#ifndef RAMA_CLI_RUN_LIVE_SEGS_H
#define RAMA_CLI_RUN_LIVE_SEGS_H

#include <stdint.h>

#include "base/err.h"

struct rama_cli_run_rings {
	uint64_t made, dropped;
	uint64_t left; /* made, but no agent has taken them yet */
};

/* of all segments in a directory, as they are now */
void rama_cli_run_rings_read(struct rama_cli_run_rings *r, const char *dir);

/* 0 or an error */
int rama_cli_run_live_put_log(const char *store, const char *key, const char *log,
			      struct rama_err *e);

#endif
