/* SPDX-License-Identifier: BSD-3-Clause */
/* trials.h: what a store knows of trials of a job (`iorama emulate try --store`), for its
 * report. */
#ifndef RAMA_STUDY_TRIALS_H
#define RAMA_STUDY_TRIALS_H

#include "base/arena.h"
#include "report/report.h"
#include "store/store.h"

struct rama_study_trials {
	struct rama_arena arena;
	struct rama_report_trial *it;
	size_t n, room;
};

/* those of this job are added; 0 at first: {0} */
int rama_study_trials_get(struct rama_store *s, int64_t job, struct rama_study_trials *t,
			  struct rama_err *e);
void rama_study_trials_fini(struct rama_study_trials *t);

#endif
