/* SPDX-License-Identifier: BSD-3-Clause */
/* leftover.h: the segments in a directory as one log, in a file that only its reader has. Names
 * of segment/ and job/ meet nowhere, so that this is a door between the two. */
#ifndef RAMA_JOB_LEFTOVER_H
#define RAMA_JOB_LEFTOVER_H

#include "base/file.h"

/* *unreadable: segments that gave nothing. Close the file. */
int rama_job_leftover_open(struct rama_file *f, const char *dir, size_t *unreadable,
			   struct rama_err *e);

#endif
