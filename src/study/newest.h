/* SPDX-License-Identifier: BSD-3-Clause */
/* newest.h: the log that was written last. */
#ifndef RAMA_STUDY_NEWEST_H
#define RAMA_STUDY_NEWEST_H

#include <stddef.h>

#include "base/err.h"

/* The path of the newest log (*.darshan, a file, by the time of its last change; of two of the
 * same moment the one whose name is later) in a directory, not below it. RAMA_EMISSING: there is
 * none. */
int rama_study_newest(const char *dir, char *path, size_t room, struct rama_err *e);

#endif
