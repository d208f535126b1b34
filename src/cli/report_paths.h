/* SPDX-License-Identifier: BSD-3-Clause */
/* report_paths.h: the logs that directories, lists and names lead to, each once, sorted by path. */
#ifndef RAMA_CLI_REPORT_PATHS_H
#define RAMA_CLI_REPORT_PATHS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/map.h"

struct rama_paths {
	struct rama_arena arena;
	struct rama_map seen; /* device and number of files */
	char **path;
	size_t n, room;
	size_t unfinished; /* *.darshan_partial: logs that are being written */
	size_t unread;	   /* directories and lists that could not be read; each is told */
};

/* DIR (every *.darshan below it; symbolic links are not followed), @LIST (one of these to a line; @- is standard
 * input) or a log. 0, or the exit status after the reason was printed. */
int rama_paths_add(struct rama_paths *p, const char *arg);
void rama_paths_sort(struct rama_paths *p);
void rama_paths_fini(struct rama_paths *p);

#endif
