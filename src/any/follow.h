/* SPDX-License-Identifier: BSD-3-Clause */
/* follow.h: threads are stopped at their calls, and let go on. */
#ifndef RAMA_ANY_FOLLOW_H
#define RAMA_ANY_FOLLOW_H

#include "any/asked.h"
#include "any/proc.h"

/* Until nobody is followed any more and nobody can ask. */
void rama_any_follow(struct rama_any_world *w, struct rama_any_asked *a);

#endif
