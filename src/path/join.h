/* SPDX-License-Identifier: BSD-3-Clause */
/* join.h: what path.c and join.c share. Internal to the room. */
#ifndef RAMA_PATH_JOIN_H
#define RAMA_PATH_JOIN_H

#include "path/group.h"
#include "table/fn.h"

#define RAMA_PATH_SLACK 20000 /* ns: clocks of processes on one host, read at different places */

#define RAMA_PATH_LOOK_MOST 256 /* calls under way at one time that are looked at */

/* An end that lies a little after that of the other is none: answers overtake clocks. */
void rama_path_link(struct rama_path *p, size_t call, size_t parent, enum rama_path_link link);
/* join_client.c: FUSE and CLIENT calls; RAMA_EMEMORY */
int rama_path_join_clients(struct rama_path *p);
/* join_server.c: CLIENT and SERVER calls; RAMA_EMEMORY */
int rama_path_join_servers(struct rama_path *p);
/* is it of these layers (RAMA_PATH_ONLY)? Its own memory is not touched. */
static inline bool rama_path_of(const struct rama_path *p, size_t call, uint32_t layers)
{
	return (layers >> p->layer[call] & 1) != 0;
}

/* Only durations cross a host: what the client waited beyond the server's time is the way there and
 * back, half of it each. All below the server goes with it. any: some are elsewhere now.
 * RAMA_EMEMORY. */
int rama_path_place(struct rama_path *p, bool *any);

/* collective.c: which calls of ranks of one host are one collective call; RAMA_EMEMORY */
int rama_path_find_together(struct rama_path *p);
/* the next of its collective call, in a circle; itself: it is in none */
size_t rama_path_together(const struct rama_path *p, size_t call);

/* Links calls of other processes with those that they were made for, places those of other hosts,
 * and makes numbers of what is not of the job. Calls are sorted, and linked within their threads.
 * RAMA_EMEMORY. */
int rama_path_join_below(struct rama_path *p);

/* By start; those with `drop` are left out. NULL: none are, and none has a parent yet.
 * RAMA_EMEMORY. */
int rama_path_sort(struct rama_path *p, const bool *drop);

static inline int64_t rama_path_plus(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static inline bool rama_path_reads(const struct rama_path_call *c)
{
	return c->kind == RAMA_TAB_OP_READ || (c->kind == RAMA_TAB_OP_NOTHING && !c->write);
}

static inline bool rama_path_moves(const struct rama_path_call *c)
{
	return c->bytes > 0 && (c->kind == RAMA_TAB_OP_READ || c->kind == RAMA_TAB_OP_WRITE ||
				c->kind == RAMA_TAB_OP_NOTHING);
}

static inline int64_t rama_path_range_end(const struct rama_path_call *c)
{
	return rama_path_plus(c->off, c->bytes > 0 ? c->bytes : 0);
}

static inline bool rama_path_overlap(const struct rama_path_call *a, const struct rama_path_call *b)
{
	return a->off < rama_path_range_end(b) && b->off < rama_path_range_end(a);
}

#endif
