/* SPDX-License-Identifier: BSD-3-Clause */
/* before.h: programs that this process was before it became this one by exec; only where each
 * process makes its own log. */
#ifndef RAMA_CAPTURE_BEFORE_H
#define RAMA_CAPTURE_BEFORE_H

#include "capture/runtime.h"
#include "gather/gather.h"

#pragma GCC visibility push(hidden)

/* of one process; a program that comes later has no predecessors, and writes a log at once when
 * it ends */
#define RAMA_CAP_BEFORE_MOST 64

/* where the log of all of them goes, and how */
struct rama_cap_before_how {
	const struct rama_log_sink *sink;
	uint8_t compression;
	int level;
	const struct rama_gather_process *process;
	bool inner; /* for ranks that make one log of it: all is in regions, nothing in an annex */
};

void rama_cap_before_note(void);      /* our segment was made */
unsigned rama_cap_before_count(void); /* segments with names of programs before us */
/* One log of them and of us; 0 or an error, with nothing of use written. */
int rama_cap_before_write(const struct rama_cap_before_how *how);
void rama_cap_before_remove(void); /* their segments, if that was done */

#pragma GCC visibility pop

#endif
