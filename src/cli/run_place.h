/* SPDX-License-Identifier: BSD-3-Clause */
/* run_place.h: where segments are kept: ROOT/JOB/NAME.seg, and the lock that says that a job's
 * `iorama run` is still at work. Nothing here follows links. */
#ifndef RAMA_CLI_RUN_PLACE_H
#define RAMA_CLI_RUN_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "gather/gather.h"

#define RAMA_PLACE_LOCK "lock"

struct rama_job_place {
	char root[PATH_MAX / 2];
	char dir[PATH_MAX]; /* root/job */
	const char *job;    /* in dir */
	int lock;	    /* descriptor, -1: none */
};

/* Is the directory ours alone? 0, or an error that says what is wrong with it. */
int rama_place_check(const char *dir, struct rama_err *e);
/* The i-th place where segments may be, if nobody chose one; false: no more. */
bool rama_place_candidate(unsigned i, char *buf, size_t size);

/* Makes a new job's directory and holds its lock. */
int rama_place_make(struct rama_job_place *p, struct rama_err *e);

/* Takes the lock of a job's directory; a descriptor to close, -1: somebody holds it, -2: it
 * cannot be made. */
int rama_place_lock(const char *dir);
bool rama_place_locked(const char *dir); /* does somebody hold it? */

/* Removes our own segments for which keep[i] is false (keep may be NULL), and the directory if
 * nothing is left in it, unless `stay`: processes may come to put theirs into it. True: it is
 * gone. */
bool rama_place_remove(const char *dir, const struct rama_gather_list *s, const bool *keep,
		       bool stay);

#endif
