/* SPDX-License-Identifier: BSD-3-Clause */
/* walk.h: events of many blocks, one after the other in the order of a key. Blocks are found by
 * the indices of the three joint orders and unpacked when their time has come; memory is
 * bounded, however many lanes have events at the same time. */
#ifndef RAMA_STORE_WALK_WALK_H
#define RAMA_STORE_WALK_WALK_H

#include "store/blocks/blocks.h"

struct rama_store_event_walk;

/* The database must outlive it. far: where blocks lie besides, or NULL. `layer` and `op` of the
 * filter are copied. */
int rama_store_event_walk_open(struct rama_store_event_walk **w,
			       const struct rama_store_db_ops *ops, void *db,
			       const struct rama_store_place *far,
			       const struct rama_store_event_filter *f, struct rama_err *e);
/* 1: *ev is the next one, valid until the next call; 0: no more; negative: error */
int rama_store_event_walk_next(struct rama_store_event_walk *w, struct rama_store_stored_event *ev,
			       struct rama_err *e);
void rama_store_event_walk_close(struct rama_store_event_walk *w);

/* the statements that find blocks: one rank, one job, all jobs */
enum {
	RAMA_STORE_EVENT_WALK_RANK,
	RAMA_STORE_EVENT_WALK_JOB,
	RAMA_STORE_EVENT_WALK_ALL,
	RAMA_STORE_EVENT_WALK_WAYS
};
extern const char *const rama_store_event_walk_sql[RAMA_STORE_EVENT_WALK_WAYS];

#endif
