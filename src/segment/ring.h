/* SPDX-License-Identifier: BSD-3-Clause */
/* ring.h: reads the live events of a lane while its thread writes them. Nothing in the segment
 * is trusted: whatever is nonsense gives fewer events, never a read outside. The reader
 * remembers nothing here: how far it is lies in control->taken of the segment, which
 * rama_seg_ring_give_back() moves on. */
#ifndef RAMA_SEGMENT_RING_H
#define RAMA_SEGMENT_RING_H

#include "segment/segment.h"

/* ---- mapped.c -------------------------------------------------------------------------------- */

/* A segment mapped for an agent: read-only, but for its control area. Must stay where it is
 * while it is open. */
struct rama_seg_mapped {
	const unsigned char *base; /* the whole file, read only */
	uint64_t size;
	struct rama_seg_control *control; /* writable, NULL: opened for looking only */
	unsigned char *control_map;
	size_t control_size;
	int fd;		   /* kept: its lock says who reads; -1: opened for looking only */
	int place[2];	   /* what the guard knows of the two mappings */
	uint64_t dev, ino; /* the file, whatever its name is by now */
	struct rama_source src;
	struct rama_seg seg; /* open on src */
};
/* Opens with O_NOFOLLOW; must be a regular file that belongs to `uid` (UINT32_MAX: whoever).
 * to_read: the rings are going to be read: takes the file's lock, RAMA_EIO if another reader has
 * it, and maps control writable. A file that shrinks while it is mapped must not kill the
 * reader: the reader installs rama_seg_mapped_guard() once (SIGBUS handler), and a segment that
 * faulted is marked `gone`: what is read of it from then on is zeros. Any thread; one at a time
 * for each segment. */
int rama_seg_mapped_open(struct rama_seg_mapped *m, const char *path, uint32_t uid, bool to_read,
			 struct rama_err *e);
void rama_seg_mapped_close(struct rama_seg_mapped *m);
int rama_seg_mapped_guard(void); /* 0, or RAMA_EIO */
bool rama_seg_mapped_gone(const struct rama_seg_mapped *m);

/* Words of the control area that anybody may change, whoever reads the rings: bits per enum
 * rama_seg_layer. */
struct rama_seg_switch {
	bool set_live, set_trace; /* the others stay as they are */
	uint32_t live, trace;
	uint32_t live_until; /* with `live`: live_until of the control area; 0: it is not lent */
	bool chosen;	     /* only told: an agent chooses who makes events */
};
/* `was`, if not NULL, becomes what they were before. With nothing set it only tells that. */
int rama_seg_mapped_switch(const char *path, uint32_t uid, const struct rama_seg_switch *to,
			   struct rama_seg_switch *was, struct rama_err *e);

/* ---- ring.c ---------------------------------------------------------------------------------- */

struct rama_seg_ring_state {
	uint64_t made, dropped, taken; /* consistent: taken <= made */
	uint32_t tid;
};
/* 0, RAMA_EUSAGE: there is no such lane, RAMA_ECORRUPT: what it says of itself cannot be */
int rama_seg_ring_state(struct rama_seg_mapped *m, uint32_t lane, struct rama_seg_ring_state *st);
/* Copies events from number `from` on, at most `most` and none beyond what was made; *tid: of
 * the thread that made them (a change of the thread ends the copy; 0: not known any more).
 * Returns how many. Fields of events may hold anything. */
uint32_t rama_seg_ring_read(struct rama_seg_mapped *m, uint32_t lane, uint64_t from,
			    struct rama_seg_event *to, uint32_t most, uint32_t *tid);
/* Events below `until` are safe elsewhere. */
void rama_seg_ring_give_back(struct rama_seg_mapped *m, uint32_t lane, uint64_t until);

#endif
