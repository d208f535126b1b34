/* SPDX-License-Identifier: BSD-3-Clause */
/* served.h: what index.c and served.c share. Internal to the room. */
#ifndef RAMA_INDEX_SERVED_H
#define RAMA_INDEX_SERVED_H

#include "index/index.h"

/* as this machine knows the number, else the number itself; *rc: RAMA_EMEMORY */
const char *rama_index_user_name(struct rama_index_indexed *x, struct rama_index_users *users,
				 int64_t uid, int *rc);
/* Of the log of a daemon or server: what it did for each user but its owner, into the row. */
int rama_index_served(struct rama_index_indexed *x, struct rama_index_users *users);

#endif
