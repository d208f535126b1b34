/* SPDX-License-Identifier: BSD-3-Clause */
/* fleet.h: many logs, read by all cores, summed up (report/fleet/fleet.h). */
#ifndef RAMA_STUDY_FLEET_H
#define RAMA_STUDY_FLEET_H

#include "report/fleet/fleet.h"

struct rama_store;

struct rama_study_fleet {
	const char *const *path;
	size_t n;		  /* at least 1 */
	struct rama_store *store; /* the logs are in there; NULL: at their paths */
	const int64_t *jobs;	  /* of a store: whose log each path is */
	const struct rama_diag_profile *profile;
	bool trace;
	/* one at a time, from any thread: logs that are done, and how many of them are damaged;
	 * may be NULL */
	void (*progress)(void *ctx, size_t done, size_t damaged);
	void *ctx;
};

/* Fills `to`, which is fini'ed in any case. What is wrong with a log is part of it, and no
 * error. */
int rama_study_fleet_read(const struct rama_study_fleet *f, struct rama_report_fleet *to);

#endif
