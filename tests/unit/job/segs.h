/* SPDX-License-Identifier: BSD-3-Clause */
/* segs.h: segments of a job, written to files of a directory. Apart from the tests, because
 * names of segment/ and of job/ do not go together. */
#ifndef RAMA_TESTS_SEGS_H
#define RAMA_TESTS_SEGS_H

#include <stddef.h>

/* Makes the directory and the segments of two processes: each wrote `bytes` to /data/shared in
 * one write, the second was killed. */
void segs_make(char *dir, size_t room, long bytes);
/* one more file there, which is no segment */
void segs_spoil(const char *dir);
void segs_remove(const char *dir);

#endif
