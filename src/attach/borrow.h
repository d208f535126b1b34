/* SPDX-License-Identifier: BSD-3-Clause */
/* borrow.h: one thread of another process calls functions for us, and then goes on where it was. */
#ifndef RAMA_ATTACH_BORROW_H
#define RAMA_ATTACH_BORROW_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct rama_attach_borrow {
	pid_t pid, tid;
	int64_t began;	       /* ns */
	int memory;	       /* /proc/PID/mem */
	uint64_t stack;	       /* what lies below is free */
	uint64_t back;	       /* where its stack ends when it comes back from a call */
	void *saved;	       /* its registers */
	uint64_t mask, called; /* signals it had blocked; calls made */
	sigset_t ours;	       /* those that we had: nobody ends us while we have it */
	/* given, or NULL: a call takes longer than any should; told once for each */
	void (*slow)(void *arg, pid_t pid);
	void *arg;
};

/* Can it be done on this kind of processor? */
bool rama_attach_borrow_can(void);
/* A thread that waits where no lock can be held. RAMA_EBUSY: there was none in time; RAMA_EUSAGE:
 * it is not allowed, and the words say how it would be. */
int rama_attach_borrow_begin(struct rama_attach_borrow *b, pid_t pid, unsigned patience,
			     struct rama_err *e);
/* Bytes that the functions get to see, on the thread's own stack; 0: no room. */
uint64_t rama_attach_borrow_put(struct rama_attach_borrow *b, const void *bytes, size_t n);
/* It is waited for as long as it takes. RAMA_EIO: it faults, or the process has ended. */
int rama_attach_borrow_call(struct rama_attach_borrow *b, uint64_t function, uint64_t one,
			    uint64_t two, uint64_t *result, struct rama_err *e);
/* a text at an address of it, cut off at `room` */
void rama_attach_borrow_text(struct rama_attach_borrow *b, uint64_t at, char *to, size_t room);
/* The next stop of a thread that is traced; false: it is gone, or there is none in time. */
bool rama_attach_borrow_stopped(pid_t tid, int *status, unsigned ms);
/* It goes on as before. Seconds that it was away. */
double rama_attach_borrow_end(struct rama_attach_borrow *b);

#endif
