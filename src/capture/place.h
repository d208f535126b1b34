/* SPDX-License-Identifier: BSD-3-Clause */
/* place.h: where the segment of this process goes, and what is counted when it can go nowhere.
 * Called while the library wakes up or goes, by one thread at a time. */
#ifndef RAMA_CAPTURE_PLACE_H
#define RAMA_CAPTURE_PLACE_H

#include <stdbool.h>

#include "config/text.h"

#pragma GCC visibility push(hidden)

/* The directory of the job in the i-th place: a descriptor to close, and its path; -1: this one is
 * of no use. false: there are no more places. */
bool rama_cap_place_open(unsigned i, const char *job, struct rama_config_text *path, int *fd);

/* A directory of this path that is ours alone, made if need be: a descriptor, or a negative errno.
 */
int rama_cap_place_make(const char *path);

/* Under `iorama run`: what became of the segment is counted in the tally of the job, which is found
 * in its directory. */
enum rama_cap_placed { RAMA_CAP_PLACED_FIRST, RAMA_CAP_PLACED_SPARE, RAMA_CAP_PLACED_NOWHERE };
void rama_cap_tally_find(int job);
void rama_cap_tally_begin(enum rama_cap_placed how);
void rama_cap_tally_end(bool replaced); /* by another program */
void rama_cap_tally_again(void);	/* it was not replaced after all */

/* bare preload: the log could not be written to `where` */
void rama_cap_unwritten(long error, const char *where);

#pragma GCC visibility pop
#endif
