/* SPDX-License-Identifier: BSD-3-Clause */
/* place.h: where segments may lie, BASE/iorama-UID/JOB/NAME.seg: the one list of these places, for
 * the processes that make segments and for all who look for them. Names only; nothing here asks the
 * system. */
#ifndef RAMA_SEGMENT_PLACE_H
#define RAMA_SEGMENT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The i-th base, the best one first: /dev/shm, $TMPDIR, /tmp. NULL: there are no more. tmpdir: that
 * variable, or NULL. */
const char *rama_seg_place_base(unsigned i, const char *tmpdir);
#define RAMA_SEG_PLACE_BASES 3 /* no more than these */

/* The directory of a user in a base is iorama-UID. Anybody can take that name where everybody may
 * write; then it is iorama-UID-WHEN-CHANCE, 16 hexadecimal digits each, which nobody can guess.
 * Everybody finds it by reading the base: of several that belong to the user the first by name
 * counts, which is the oldest. */
#define RAMA_SEG_PLACE_NAME 64
struct rama_seg_place_other {
	uint64_t when; /* ns since 1970 */
	uint64_t chance;
};
/* other: NULL for the usual name */
void rama_seg_place_name(char to[RAMA_SEG_PLACE_NAME], uint32_t uid,
			 const struct rama_seg_place_other *other);
/* Is it such a name? Whose, and is it the usual one? */
bool rama_seg_place_read(const char *name, uint32_t *uid, bool *usual);

/* May directories in a base of this mode be relied on? Where others may write and nothing keeps
 * them from renaming what is not theirs, they may not. */
bool rama_seg_place_steady(uint32_t mode);
/* May this directory be used: of this user, and not to be written by others? */
bool rama_seg_place_own(uint32_t mode, uint32_t owner, uint32_t uid);
/* Does a page of a mapped file that has memory keep it? There are file systems that want room for a
 * page whenever it is written again; where they have none the process that writes is killed. type:
 * f_type of statfs */
bool rama_seg_place_firm(uint64_t type);

#endif
