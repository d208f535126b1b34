/* SPDX-License-Identifier: BSD-3-Clause */
/* lend.h: live events for a while. */
#ifndef RAMA_LOOK_LEND_H
#define RAMA_LOOK_LEND_H

#include "look/look.h"

/* segments whose live events were off and have been switched on */
struct rama_look_lent {
	char **path;
	size_t n, room;
	uint32_t uid;
};

/* Those of a job that are off, beside what `l` has already, until a moment of rama_now_ms(); all
 * that `l` has is lent until then. If nobody gives them back, their agent does, some seconds
 * later. */
int rama_look_lend(struct rama_look_lent *l, const struct rama_look_job *j, int64_t until,
		   struct rama_err *e);
/* They are off again, as far as they are there. */
void rama_look_give_back(struct rama_look_lent *l);

#endif
