/* SPDX-License-Identifier: BSD-3-Clause */
/* place.h: directories of jobs, ROOT/JOB/NAME.seg, and the lock that says that somebody looks
 * after a job: its `iorama run`, or whoever makes its log. Nothing here follows links. */
#ifndef RAMA_GATHER_PLACE_H
#define RAMA_GATHER_PLACE_H

#include <limits.h>

#include "gather/gather.h"
#include "segment/tally.h"

#define RAMA_GATHER_PLACE_LOCK "lock"
#define RAMA_GATHER_PLACE_AGENT ".agent" /* of an agent that reads live events; see look/find.h */

/* Is the directory ours alone? 0, or an error that says what is wrong with it. */
int rama_gather_place_check(const char *dir, struct rama_err *e);

/* Takes the lock of a job's directory; a descriptor to close, -1: somebody holds it, -2: it
 * cannot be made. */
int rama_gather_place_lock(const char *dir);
bool rama_gather_place_locked(const char *dir); /* does somebody hold it? */

/* ---- other directories of a job -------------------------------------------------------------- */

/* `iorama run` makes some in other places, for processes that find no room in the directory of
 * the job, and for packs. The tally in that directory names them, and each of them has a file
 * that names it. */
#define RAMA_GATHER_PLACE_MAIN "main"
struct rama_gather_spares {
	char dir[RAMA_SEG_SPARES][2048];
	size_t n;
};
/* those of the same owner as the directory itself */
void rama_gather_spares_read(struct rama_gather_spares *s, const char *dir);
/* A spare directory becomes the one that it is of; others stay. */
void rama_gather_spare_main(char dir[PATH_MAX]);
/* Is this directory a spare one of another that is still there? */
bool rama_gather_spare_is(const char *dir);
/* What the processes counted; all zero: nothing. */
void rama_gather_tally_read(struct rama_seg_tally *t, const char *dir);

/* What the processes of a user counted whose logs could not be written, in one of his places;
 * all zero: nothing. */
void rama_gather_unwritten_read(struct rama_seg_unwritten *u, const char *root);

/* ---- places of users ------------------------------------------------------------------------- */

/* The directory of this user in a base, as processes make and find it (segment/place.h). *why:
 * if it is not the usual one, what is wrong with that, else "". RAMA_EIO: there can be none; e
 * says why. */
int rama_gather_root_make(const char *base, char path[PATH_MAX / 2], char why[256],
			  struct rama_err *e);

/* All that there are of a user, in all bases. */
struct rama_gather_roots {
	char (*path)[PATH_MAX / 2];
	size_t n;
};
void rama_gather_roots_find(struct rama_gather_roots *r, uint32_t uid);
void rama_gather_roots_fini(struct rama_gather_roots *r);

/* Removes our own segments for which keep[i] is false (keep may be NULL), and the directory if
 * nothing is left in it, unless `stay`: processes may come to put theirs into it. True: it is
 * gone. */
bool rama_gather_place_remove(const char *dir, const struct rama_gather_list *s, const bool *keep,
			      bool stay);
/* Removes what is beside the segments of this user's job, and the directories if nothing is left
 * in them. */
bool rama_gather_place_clear(const char *dir, uint32_t uid);

#endif
