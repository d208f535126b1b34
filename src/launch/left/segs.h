/* SPDX-License-Identifier: BSD-3-Clause */
/* segs.h: what the segments of a job tell of its processes, before they become a log. */
#ifndef RAMA_LAUNCH_LEFT_SEGS_H
#define RAMA_LAUNCH_LEFT_SEGS_H

#include <stdbool.h>
#include <stdint.h>

#include "launch/place.h"

struct rama_launch_seg_info {
	const char *path;
	bool bad;	/* cannot be read; `text` says why */
	int alive;	/* 1 its process runs, 0 it does not, -1 cannot be told from here */
	uint32_t phase; /* enum rama_seg_phase */
	bool logged;	/* its log was written; it stays only for its live events */
	int64_t pid, jobid;
	uint64_t pid_start; /* tells it from a later process of the same id */
	uint64_t start;	    /* ns since 1970 */
	uint64_t size;	    /* bytes it takes */
	char step[24];	    /* of the batch job, "": not known */
	char host[64];
	char text[256]; /* command line, or why it is bad */
};

struct rama_launch_seg_infos {
	struct rama_launch_seg_info *info;
	size_t n;
	size_t processes; /* images of one process counted once */
	size_t bad, alive, unknown;
	uint64_t size, start; /* start: of the first */
};

/* one per path, in their order; 0 or RAMA_EMEMORY */
int rama_launch_seg_infos_read(struct rama_launch_seg_infos *s,
			       const struct rama_gather_list *segs);
void rama_launch_seg_infos_fini(struct rama_launch_seg_infos *s);

/* Did a process of this id leave a segment? */
bool rama_launch_seg_infos_has(const struct rama_launch_seg_infos *s, int64_t pid);

#endif
