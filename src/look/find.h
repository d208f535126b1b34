/* SPDX-License-Identifier: BSD-3-Clause */
/* find.h: directories of segments, ROOT/JOB/NAME.seg, as an agent sees them; and the file that
 * says that an agent is there. */
#ifndef RAMA_LOOK_FIND_H
#define RAMA_LOOK_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Which file it is, whatever its name: numbers of files begin anew on each file system, and
 * /dev/shm and /tmp are two. */
struct rama_look_find_id {
	uint64_t dev, ino;
};
/* a number for tables; who finds one compares the ids */
uint64_t rama_look_find_id_hash(const struct rama_look_find_id *id);
static inline bool rama_look_find_id_same(const struct rama_look_find_id *a,
					  const struct rama_look_find_id *b)
{
	return a->dev == b->dev && a->ino == b->ino;
}

/* Is it a directory, no link, of this user and closed to others? *id: which one. */
bool rama_look_find_is_dir(const char *path, uint32_t uid, struct rama_look_find_id *id);

/* dir/NAME for each that could be a job's directory (of a root) or a segment (of a job); names
 * that do not fit are left out */
typedef void (*rama_look_find_fn)(void *ctx, const char *path, const char *name);
void rama_look_find_jobs(const char *root, uint32_t uid, rama_look_find_fn fn, void *ctx);
void rama_look_find_segments(const char *dir, uint32_t uid, rama_look_find_fn fn, void *ctx);
/* BASE/iorama-UID of all users; uid of each is in its name */
void rama_look_find_users(const char *base, rama_look_find_fn fn, void *ctx);
bool rama_look_find_user_of(const char *name, uint32_t *uid); /* "iorama-1000", segment/place.h */
#define RAMA_LOOK_FIND_ROOTS \
	8 /* so many directories of one user are looked at: who makes more wants to be a nuisance */
bool rama_look_find_is_segment(const char *name); /* "*.seg" */

/* ---- who reads ------------------------------------------------------------------------------- */

/* An agent holds the lock of the file .agent in each directory it watches: a root, or that of
 * one job. A process that ends while there is one leaves its segment to it. Returns a descriptor
 * to keep; RAMA_EIO, and the line names who has it. */
int rama_look_agent_claim(const char *dir, const char *spool, struct rama_err *e);
void rama_look_agent_release(const char *dir, int fd);
/* Does an agent watch this very directory? Its process and its spool (each may be NULL). */
bool rama_look_agent_at(const char *dir, int64_t *pid, char *spool, size_t room);

#endif
