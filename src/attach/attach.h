/* SPDX-License-Identifier: BSD-3-Clause */
/* attach.h: a running process becomes an observed one. A thread of it that waits in a harmless
 * system call is borrowed for some milliseconds: it loads libiorama-attach.so, calls
 * iorama_attach() in it (src/capture/attach.c), and then goes on waiting as if nothing had been.
 * Nothing is printed; what is refused is refused before anything is touched. */
#ifndef RAMA_ATTACH_ATTACH_H
#define RAMA_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define RAMA_ATTACH_PATH 4096

struct rama_attach_options {
	/* libiorama-attach.so beside libiorama.so; no symbolic link is followed but the last */
	const char *library;
	const char *settings; /* NAME=value texts, an empty one at the end */
	unsigned patience;    /* ms that a thread may be waited for */
	/* or NULL: its thread is away for seconds, and must be waited for */
	void (*slow)(void *arg, pid_t pid);
	void *arg;
};

struct rama_attach_done {
	unsigned slots;	 /* places that call our functions now */
	double borrowed; /* seconds that its thread was away */
	pid_t thread;	 /* which one */
	/* of a detach: the log that was written, or of a process that leaves it to others to make
	 * one its segment and, in a second line, where the log goes; "": none */
	char log[2 * RAMA_ATTACH_PATH];
};

/* Both: RAMA_EUSAGE it is refused (not there, not allowed, not of a kind that can be observed,
 * there already or not there), RAMA_EBUSY no thread waited in time, RAMA_EIO it went wrong. */
int rama_attach(pid_t pid, const struct rama_attach_options *o, struct rama_attach_done *done,
		struct rama_err *e);
int rama_attach_end(pid_t pid, const struct rama_attach_options *o, struct rama_attach_done *done,
		    struct rama_err *e);

/* One function of our library in a process that is attached, with a copy of these bytes (NULL:
 * none) as its argument. */
int rama_attach_call(pid_t pid, unsigned patience, const char *function, const void *bytes,
		     size_t n, uint64_t *result, struct rama_err *e);

/* Where data lies that our library exports, in a process that is attached; no thread is touched. */
int rama_attach_data(pid_t pid, const char *name, uint64_t *at, struct rama_err *e);

#endif
