/* SPDX-License-Identifier: BSD-3-Clause */
/* repeat.h: a command several times, one after the other, each in a process of its own that runs it
 * as ever: nothing of a run is left in the next one. */
#ifndef RAMA_LAUNCH_RUN_REPEAT_H
#define RAMA_LAUNCH_RUN_REPEAT_H

#include "base/err.h"

#define RAMA_LAUNCH_REPEAT_MOST 1000

/* Returns in each child: which run it is, from 1 on, with signals as they were. In the caller 0
 * after all of them, or after the first that failed: *status is its exit status, as a shell says
 * it. A negative error: no process could be made. Signals that end a program go to the run. */
int rama_launch_repeat(unsigned times, int *status, struct rama_err *e);

#endif
