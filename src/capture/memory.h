/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.h: the memory that is ours. The file of the segment has its full size from the start,
 * which costs nothing; of it there is mapped only what is used, piece by piece, and a piece
 * never moves. Pieces come by mremap() from a page next to them, so they need no descriptor, no
 * name and no rights, and are locked in memory only if that page is.
 *
 * Guests' manners: address space may be limited (ulimit -v), so little is taken before it is
 * needed, and of a limit only a share. */
#ifndef RAMA_CAPTURE_MEMORY_H
#define RAMA_CAPTURE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/source.h"
#include "segment/layout.h"

#pragma GCC visibility push(hidden)

#define RAMA_CAP_POOL 65536u	    /* least bytes of a chunk of records */
#define RAMA_CAP_LANE_BLOCK 16u	    /* lanes that are mapped together */
#define RAMA_CAP_LANE 10240u	    /* bytes of a lane: whole pages of them make a block */
#define RAMA_CAP_FIRST (256u << 10) /* bytes of records that are mapped from the start */

_Static_assert(sizeof(struct rama_seg_lane) <= RAMA_CAP_LANE, "a lane fits");
_Static_assert(((sizeof(struct rama_seg_lane) + 63) & ~63ul) == RAMA_CAP_LANE,
	       "readers know of no other padding");

enum rama_cap_part { RAMA_CAP_RECORDS, RAMA_CAP_EVENTS, RAMA_CAP_RINGS, RAMA_CAP_PARTS };

/* Maps the beginning of a new segment; `generation` counts those of this process and the ones it
 * was forked from. What was mapped of the fourth before it goes. NULL: it cannot be had. */
unsigned char *rama_cap_memory_open(int fd, const struct rama_seg_header *h, unsigned generation);
void rama_cap_memory_close(unsigned generation);
/* The bytes [from, from + n) of an area, without a gap; more is mapped if need be, without a gap
 * from `from` on. Callers see to it that no two do that at once for one area. NULL: there is no
 * room. */
unsigned char *rama_cap_memory_at(enum rama_cap_part part, uint64_t from, uint64_t n);
/* how much of an area is mapped */
uint64_t rama_cap_memory_end(enum rama_cap_part part);
/* a lane, mapped if `make`; any thread at any time. NULL: it is not, or cannot be */
struct rama_seg_lane *rama_cap_memory_lane(uint32_t i, bool make);
/* a place in the records of a segment that we were forked from, as far as n bytes are there;
 * NULL: they are not */
const unsigned char *rama_cap_memory_old(unsigned generation, uint64_t from, uint64_t n);
/* the whole of the present segment, for who reads it */
void rama_cap_memory_source(struct rama_source *src);

/* Memory behind this part of the segment, so that touching it cannot fail: a full file system
 * would kill the application. false: there is none. What lies before p in the same page has
 * memory already. */
bool rama_cap_memory_fill(void *p, size_t n);

/* memory of our own, zero; a forked child has a copy. Is never given back. NULL: there is none */
void *rama_cap_memory_own(size_t n);
/* the same for who has this lane, whoever that is at a time */
void *rama_cap_memory_scratch(uint32_t lane, size_t n);
/* the same for who gives it back by munmap() */
void *rama_cap_memory_borrow(size_t n);

/* how many bytes of records we take where the address space is limited, of so many that were
 * asked for */
uint64_t rama_cap_memory_share(uint64_t want);

/* Ranges that are ours, in any order and with gaps between: the first that ends behind `after`.
 * false: there is none */
bool rama_cap_memory_next(uintptr_t after, uintptr_t *from, uintptr_t *to);
/* The application locks what it maps from now on: ours must not be. */
void rama_cap_memory_locks(bool future);

#pragma GCC visibility pop
#endif
