/* SPDX-License-Identifier: BSD-3-Clause */
/* segments.h: where the segments of a job are that a store knows. */
#ifndef RAMA_STUDY_SEGMENTS_H
#define RAMA_STUDY_SEGMENTS_H

#include <limits.h>
#include <stdbool.h>

/* Of a job of this user that runs on this machine, by its key UID/NAME[@HOST]: their directory,
 * if it is there. dir: where it is, "" for the usual places. */
bool rama_study_segments_find(const char *key, const char *dir, char path[PATH_MAX]);

#endif
