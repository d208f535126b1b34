/* SPDX-License-Identifier: BSD-3-Clause */
/* runs.h: the logs below a directory as a group of runs that are much the same
 * (report/spread.h). */
#ifndef RAMA_STUDY_RUNS_H
#define RAMA_STUDY_RUNS_H

#include <stdbool.h>

#include "report/spread.h"
#include "study/study.h"

/* Is it a directory that has logs, and so a group? */
bool rama_study_runs_are(const char *path);

/* Reads all logs below a directory, or one log. What could not be read is told, line by line; 0 or
 * the worst of it: part of it may have been read, group->n says how many. Fini it in any case. */
int rama_study_runs_read(struct rama_report_group *g, const char *path,
			 const struct rama_study_options *opt);

/* The directory where logs of a group will be: made if it is not there. RAMA_EIO. */
int rama_study_runs_place(const char *dir, struct rama_err *e);
/* "5 runs: run time 10.3 s ± 0.1 s, in I/O 2.2 s ± 0.1 s", of the logs that are there */
void rama_study_runs_tell(const char *dir, char *to, size_t room);

/* Both groups compared. RAMA_EUSAGE: each is one run, or none. */
int rama_study_runs_compare(struct rama_report_spread *s, const struct rama_report_group g[2],
			    double tolerance, struct rama_err *e);

#endif
