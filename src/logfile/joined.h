/* SPDX-License-Identifier: BSD-3-Clause */
/* joined.h: records of one process that came in several logs, because it ran several programs: each
 * file's become one again. */
#ifndef RAMA_LOGFILE_JOINED_H
#define RAMA_LOGFILE_JOINED_H

#include "base/arena.h"
#include "base/map.h"
#include "core/plan.h"
#include "core/record.h"

struct rama_log_joined {
	struct rama_core_record *rec; /* in the order in which their ids came */
	size_t n, room;
	struct rama_map by_id; /* id -> index in rec */
	struct rama_arena arena;
};

/* Takes in a record, which is changed; its ranks and times are those of the whole job. Those of
 * later programs come later. 0 or RAMA_EMEMORY. */
int rama_log_joined_add(struct rama_log_joined *j, const struct rama_core_plan *p,
			struct rama_core_record *r);
/* empty again */
void rama_log_joined_fini(struct rama_log_joined *j);

#endif
