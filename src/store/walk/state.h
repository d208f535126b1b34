/* SPDX-License-Identifier: BSD-3-Clause */
/* state.h: a walk over events from the inside. */
#ifndef RAMA_STORE_WALK_STATE_H
#define RAMA_STORE_WALK_STATE_H

#include "base/map.h"
#include "store/blocks/fetch.h"
#include "store/handle.h"
#include "store/walk/walk.h"

/* heads of one place */
struct rama_store_walk_heads {
	const struct rama_store_block_ops *ops;
	void *h;
	struct rama_store_kept *page;
	unsigned n, at, room;
	unsigned told; /* in this page, with those that are nobody's */
	bool no_more;  /* after this page, of this rank */
	bool begun;
	struct rama_store_kept last; /* the page ended here */
};
enum { RAMA_STORE_WALK_NEAR, RAMA_STORE_WALK_FAR, RAMA_STORE_WALK_PLACES };

struct rama_store_walk_key {
	int64_t job, rank, time, process, lane;
	uint64_t seq;
};

struct rama_store_walk_item {
	struct rama_wire_event event;
	uint64_t seq;
	const struct rama_wire_what *what;
};

/* an open block */
struct rama_store_walk_cursor {
	struct rama_store_kept h;
	bool far;
	struct rama_store_walk_item *item; /* those that pass the filter, in order of time */
	uint32_t n, at;
	uint32_t before; /* of this block, that were given before item[0] */
	bool last;	 /* there are no more after item[n - 1] */
	struct rama_wire_segment_key segment;
};

struct rama_store_event_walk {
	const struct rama_store_db_ops *ops;
	void *db;
	struct rama_store_event_filter f;
	char layer[16], op[16];
	int way;
	uint64_t given;
	struct rama_wire_block_packer packer;
	struct rama_wire_block *block;
	uint16_t *pick; /* places of events of a block that pass the filter */
	/* heads still to come */
	struct rama_store_near near;
	struct rama_store_walk_heads heads[RAMA_STORE_WALK_PLACES];
	unsigned n_places;
	struct rama_store_kept owner; /* of the block that was told of last */
	struct rama_store_place far;
	struct rama_store_fetch fetch;
	char key[RAMA_WIRE_JOB];			/* of the job */
	struct rama_store_lie lie[RAMA_STORE_LIES + 1]; /* of the job, or of the rank */
	unsigned n_lies;
	bool pruned;	/* its blocks elsewhere are not to be seen any more */
	bool nothing;	/* there is no such job */
	int64_t *ranks; /* to go through, one after the other (job_rank_time) */
	size_t n_ranks, at_rank, room_ranks;
	int64_t span;
	struct rama_store_walk_key
		last; /* of the event that was given last; what comes twice is given once */
	/* open blocks, a heap: the least next event on top */
	struct rama_store_walk_cursor **open;
	size_t n_open, room_open;
	struct rama_store_walk_cursor *given_from; /* whose event was given last */
	/* calls, each kept once; pointers stay */
	struct rama_arena arena;
	struct rama_map calls;
	/* segments of processes */
	struct rama_map segments; /* number of the process -> address */
};

/* block.c: events of a block from c->before on; c->n 0: none of them is asked for */
int rama_store_walk_load(struct rama_store_event_walk *w, struct rama_store_walk_cursor *c,
			 struct rama_err *e);

#endif
