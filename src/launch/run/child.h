/* SPDX-License-Identifier: BSD-3-Clause */
/* child.h: the command of `iorama run` as a child: signals pass through, the terminal is its
 * own, and how it ended is known. */
#ifndef RAMA_LAUNCH_RUN_CHILD_H
#define RAMA_LAUNCH_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct rama_launch_child {
	bool parallel; /* set by the caller: the command starts ranks, and may end before them */
	/* Set by the caller or NULL: called once a second while the command runs, and before we
	 * stop with it. */
	void (*second)(void *ctx);
	void (*pause)(void *ctx);
	void *ctx;
	/* Set by the caller or NULL: where the command asks to be followed (base/code/follow.h). */
	const char *follow;
	pid_t pid;
	int error;		    /* errno of the start; 0: it ran */
	int status;		    /* as a shell says it: exit status, or 128 + signal */
	int signal;		    /* that ended it; 0: none */
	sigset_t mask;		    /* of this process before; the child gets it */
	struct sigaction before[2]; /* of signals that only this process ignores */
};

/* Starts the command and waits for its end. Processes it leaves behind become children of this
 * one and go on. 0, or -1 with errno if no process could be made. */
int rama_launch_child_run(struct rama_launch_child *c, char *const *argv, char *const *envp);

/* how many processes that it left behind, and their children, still run */
size_t rama_launch_child_left(void);

#endif
