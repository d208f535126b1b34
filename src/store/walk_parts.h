/* SPDX-License-Identifier: BSD-3-Clause */
/* walk_parts.h: a walk, for walk.c and walk_load.c. */
#ifndef RAMA_STORE_WALK_PARTS_H
#define RAMA_STORE_WALK_PARTS_H

#include "base/map.h"
#include "core/record.h"
#include "store/parts.h"
#include "store/walk.h"

#define RAMA_STORE_WALK_PAGE 256 /* heads read at a time */

struct rama_store_walk_head {
	int64_t number, job, process, rank, first, t0;
	uint32_t lane, tid;
};

struct rama_store_walk_item {
	struct rama_wire_event event;
	uint64_t seq;
	const struct rama_wire_what *what;
};

/* an open block */
struct rama_store_walk_cursor {
	struct rama_store_walk_head h;
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
	struct rama_store_walk_head page[RAMA_STORE_WALK_PAGE];
	unsigned n_page, at_page;
	bool no_more;	/* after this page, of this rank */
	int64_t *ranks; /* to go through, one after the other (job_rank_time) */
	size_t n_ranks, at_rank, room_ranks;
	int64_t span;
	struct rama_store_walk_head last; /* the page ended here */
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

/* events of a block from c->before on; c->n 0: none of them is asked for */
int rama_store_event_walk_load(struct rama_store_event_walk *w, struct rama_store_walk_cursor *c,
			       struct rama_err *e);
/* the key of a process's segment */
int rama_store_event_walk_segment(struct rama_store_event_walk *w, int64_t process,
				  struct rama_wire_segment_key *k, struct rama_err *e);

#endif
