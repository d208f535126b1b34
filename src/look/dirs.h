/* SPDX-License-Identifier: BSD-3-Clause */
/* dirs.h: which directories hold the segments of what runs on this machine. */
#ifndef RAMA_LOOK_DIRS_H
#define RAMA_LOOK_DIRS_H

#include <stddef.h>

#define RAMA_LOOK_DIRS 256

struct rama_look_dirs {
	char *path[RAMA_LOOK_DIRS];
	size_t n;
};

/* chosen: this one only; NULL or "": the usual ones of the user, which may be there in a moment,
 * and others of his that are there; of root: those of all users. */
void rama_look_dirs_find(struct rama_look_dirs *d, const char *chosen);
void rama_look_dirs_fini(struct rama_look_dirs *d);

#endif
