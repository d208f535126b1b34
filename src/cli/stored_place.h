/* SPDX-License-Identifier: BSD-3-Clause */
/* stored_place.h: where the segments of a job are that a store knows. */
#ifndef RAMA_CLI_STORED_PLACE_H
#define RAMA_CLI_STORED_PLACE_H

#include <limits.h>
#include <stdbool.h>

/* Of a job of this user that runs on this machine, by its key UID/NAME[@HOST]: their directory, if it is there. */
bool rama_stored_segments(const char *key, char path[PATH_MAX]);

#endif
