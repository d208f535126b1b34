/* SPDX-License-Identifier: BSD-3-Clause */
/* stop.h: all threads of a process stand still, for less than a millisecond mostly, while its code
 * is changed. With ptrace alone: a signal would be the program's, and may be blocked. */
#ifndef RAMA_ATTACH_STOP_H
#define RAMA_ATTACH_STOP_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/move.h"
#include "base/err.h"

struct rama_attach_stopped {
	pid_t pid;
	struct {
		pid_t tid;
		int signal; /* that was about to be delivered; 0: none */
	} * thread;
	size_t n, room;
	int64_t began; /* ns */
	sigset_t ours; /* nobody ends us meanwhile */
};

/* RAMA_EBUSY: not all of them stopped in time, and all go on; RAMA_EUSAGE: it is not allowed. */
int rama_attach_stop(struct rama_attach_stopped *s, pid_t pid, struct rama_err *e);
/* Those that are inside of these bytes go on where the bytes are now. */
void rama_attach_stop_move(struct rama_attach_stopped *s, uint64_t at, uint64_t to,
			   const struct rama_attach_moved *m);
/* They go on. Seconds that they stood. */
double rama_attach_stop_end(struct rama_attach_stopped *s);

#endif
