/* SPDX-License-Identifier: BSD-3-Clause */
/* switch.h: the words in the segments of running processes that switch their live events and
 * traces. */
#ifndef RAMA_LAUNCH_SWITCH_H
#define RAMA_LAUNCH_SWITCH_H

#include "launch/left/jobs.h"
#include "segment/ring.h"

/* one process, as it was before and as it is now */
struct rama_launch_switch {
	const struct rama_launch_job *job; /* set by the caller */
	const struct rama_launch_seg_info *info;
	struct rama_seg_switch was, now;
	uint32_t reader;
	uint64_t made, dropped, waiting; /* events */
};

/* Is it asked for by this word: name of a job, number of a job or of a process? */
bool rama_launch_switch_named(const char *asked, const struct rama_launch_job *j,
			      const struct rama_launch_seg_info *info);
bool rama_launch_switch_runs(const struct rama_launch_seg_info *info);
/* 0 or an error; RAMA_EMISSING: it has just ended */
int rama_launch_switch_look(struct rama_launch_switch *p, struct rama_err *e);
/* switches layers on or off, of live events and also of the trace; looked at before */
int rama_launch_switch_set(struct rama_launch_switch *p, uint32_t layers, bool on, bool trace,
			   struct rama_err *e);

#define RAMA_LAUNCH_SWITCH_WORDS 64
/* "POSIX,STDIO", "all" or "off" */
const char *rama_launch_switch_words(char to[RAMA_LAUNCH_SWITCH_WORDS], uint32_t layers);

#endif
