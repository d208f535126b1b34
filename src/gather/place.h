/* SPDX-License-Identifier: BSD-3-Clause */
/* place.h: directories of jobs, ROOT/JOB/NAME.seg, and the lock that says that somebody looks after a job: its `iorama run`, or
 * whoever makes its log. Nothing here follows links. */
#ifndef RAMA_GATHER_PLACE_H
#define RAMA_GATHER_PLACE_H

#include "gather/gather.h"

#define RAMA_PLACE_LOCK "lock"
#define RAMA_PLACE_AGENT ".agent" /* of an agent that reads live events; see live/find.h */

/* The i-th root where directories of this user's jobs may be, if nobody chose one; false: no more. */
bool rama_place_candidate(unsigned i, char *buf, size_t size);
/* Is the directory ours alone? 0, or an error that says what is wrong with it. */
int rama_place_check(const char *dir, struct rama_err *e);

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
