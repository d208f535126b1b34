/* SPDX-License-Identifier: BSD-3-Clause */
/* open.h: a store that questions are put to. */
#ifndef RAMA_QUERY_OPEN_H
#define RAMA_QUERY_OPEN_H

#include "store/store.h"

/* To be read; jobs of which nothing is heard any more are found lost before. */
int rama_query_open(struct rama_store **s, const char *where, unsigned flags, struct rama_err *e);

#endif
