/* SPDX-License-Identifier: BSD-3-Clause */
/* awaited.h: segments that an agent has told of and not read to their end. They are his: also if
 * he was killed, the next agent finds the last events there, and how the process ended. */
#ifndef RAMA_LAUNCH_LEFT_AWAITED_H
#define RAMA_LAUNCH_LEFT_AWAITED_H

#include <stdbool.h>

#include "gather/gather.h"
#include "segment/segment.h"

static inline bool rama_launch_awaited_is(const struct rama_seg *seg)
{
	return seg->control.beat != 0 && seg->control.read == 0;
}

/* Waits a moment for the agent at `root` or at the directory `dir`; of those that it has not read
 * by then keep[i] is set, and they say that they have a log. keep has a place for each. */
void rama_launch_awaited_leave(const char *root, const char *dir, const struct rama_gather_list *s,
			       bool *keep);

#endif
