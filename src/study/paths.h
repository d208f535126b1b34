/* SPDX-License-Identifier: BSD-3-Clause */
/* paths.h: the logs that directories, lists and names lead to, each once, sorted by path. */
#ifndef RAMA_STUDY_PATHS_H
#define RAMA_STUDY_PATHS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "study/told.h"

struct rama_study_paths {
	struct rama_arena arena;
	struct rama_map seen; /* device and number of files */
	char **path;
	size_t n, room;
	size_t unfinished; /* *.darshan_partial: logs that are being written */
	size_t unread;	   /* directories and files that could not be read; each is told */
	struct rama_study_told told; /* of problems */
};

/* DIR (every *.darshan below it; symbolic links are not followed), @LIST (one of these to a
 * line; @- is standard input) or a log. A list that cannot be read is told, too, and an error. */
int rama_study_paths_add(struct rama_study_paths *p, const char *arg, struct rama_err *e);
/* one more, whatever it is */
int rama_study_paths_put(struct rama_study_paths *p, const char *path, struct rama_err *e);
void rama_study_paths_sort(struct rama_study_paths *p);
void rama_study_paths_fini(struct rama_study_paths *p);

#endif
