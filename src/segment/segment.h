/* SPDX-License-Identifier: BSD-3-Clause */
/* segment.h: reads a segment (layout.h) while its process may be writing it, or after that process
 * died in the middle of a change. No length or offset in it is trusted. */
#ifndef RAMA_SEGMENT_SEGMENT_H
#define RAMA_SEGMENT_SEGMENT_H

#include <stdbool.h>

#include "base/source.h"
#include "segment/layout.h"

struct rama_seg {
	struct rama_source *src;
	struct rama_seg_header head; /* checked; areas end within the file */
	struct rama_seg_identity id; /* every text ends with a NUL */
	struct rama_seg_state state; /* counts cut to what the areas can hold */
	struct rama_seg_control control;
	bool cut;	   /* the file is shorter than it was made */
	double tick;	   /* seconds of one tick */
	uint64_t end_tick; /* end of its history, since tick0; 0: see rama_seg_find_end() */
	/* chunks of slots by kind, in the order in which they were handed out: those of kind k
	 * begin at first[k] */
	uint16_t chunk[RAMA_SEG_POOL_CHUNKS];
	uint16_t first[RAMA_SEG_KINDS + 1];
	uint32_t pool_known; /* chunks of the records area that it knows */
};

/* The source must outlive it. It needs no close. */
int rama_seg_open(struct rama_seg *s, struct rama_source *src, struct rama_err *e);
/* reads identity and state again, for a process that goes on */
int rama_seg_refresh(struct rama_seg *s, struct rama_err *e);
/* the same of what it counts only: names, slots, lanes, chunks */
int rama_seg_count(struct rama_seg *s, struct rama_err *e);
/* For a process that has no end yet: its tick counter as it stands now beside CLOCK_MONOTONIC
 * (ns), both read on the machine and since the boot that the segment names. Says how long a tick
 * is. */
void rama_seg_now(struct rama_seg *s, uint64_t tick, uint64_t mono);
/* Sets end_tick if it is not known: the latest end of anything in slots and events. */
int rama_seg_find_end(struct rama_seg *s, struct rama_err *e);

struct rama_seg_name_get {
	uint32_t number;
	uint64_t id;
	uint32_t len;
	char text[4097]; /* longer names are cut; NUL at the end */
};
/* Walk: *at = 0 at the start, and never becomes less. 1: a name, 0: the end, negative: they are
 * damaged from here on. */
int rama_seg_name_next(struct rama_seg *s, uint64_t *at, struct rama_seg_name_get *name,
		       struct rama_err *e);

/* where the walk meets the name of this number; UINT64_MAX: it cannot be one */
uint64_t rama_seg_name_place(const struct rama_seg *s, uint32_t number);

/* Consistent copy of slot i of a kind into `slot`, which has the size of its struct. 1: copied;
 * 0: copied, but it was being changed and stayed so (its process died); negative: error. */
int rama_seg_slot(struct rama_seg *s, enum rama_seg_kind kind, uint32_t i, void *slot,
		  struct rama_err *e);
uint32_t rama_seg_slots(const struct rama_seg *s, enum rama_seg_kind kind);
size_t rama_seg_slot_size(enum rama_seg_kind kind);
/* Where slot i lies in the file, all of it, for who has that mapped; 0: there is no such slot. */
uint64_t rama_seg_slot_place(const struct rama_seg *s, enum rama_seg_kind kind, uint32_t i);

uint32_t rama_seg_lanes(const struct rama_seg *s); /* that were ever used */
int rama_seg_lane_get(struct rama_seg *s, uint32_t i, struct rama_seg_lane *lane,
		      struct rama_err *e);
uint64_t rama_seg_chunks(const struct rama_seg *s);
/* chunk->used is cut to what a chunk can hold; events from there on are not set */
int rama_seg_chunk_get(struct rama_seg *s, uint64_t i, struct rama_seg_chunk *chunk,
		       struct rama_err *e);

#endif
