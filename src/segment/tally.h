/* SPDX-License-Identifier: BSD-3-Clause */
/* tally.h: two small files of fixed size in which processes count what they could not leave as a
 * segment or as a log. Whoever makes them writes all of their bytes, so that counting never needs
 * room. Counters are changed by atomic operations only. */
#ifndef RAMA_SEGMENT_TALLY_H
#define RAMA_SEGMENT_TALLY_H

#include <stddef.h>
#include <stdint.h>

#define RAMA_SEG_TALLY_MAGIC 0x0a1a796c6c617469ull
#define RAMA_SEG_SPARES 2

/* JOB/tally, made by `iorama run` before the command starts */
#define RAMA_SEG_TALLY "tally"
struct rama_seg_tally {
	uint64_t magic;
	uint32_t version, pad;
	uint64_t pids; /* inode of the pid namespace of `iorama run`; 0: not known */
	/* processes that had no room in the directory of the job, and are recorded in a spare one
	 */
	uint64_t moved;
	/* programs that had room nowhere, less those that were replaced by another through exec;
	 * how many of them said how many calls they made; and the calls */
	int64_t unplaced;
	int64_t told;
	int64_t calls;
	uint64_t reserved[7];
	/* other directories of the job, used in this order; "": no more */
	char spare[RAMA_SEG_SPARES][2048];
};

/* iorama-UID/unwritten, made by the first process that could not write its log */
#define RAMA_SEG_UNWRITTEN "unwritten"
struct rama_seg_unwritten {
	uint64_t magic;
	uint32_t version;
	int32_t error;	/* errno of the last */
	uint64_t count; /* processes */
	uint64_t when;	/* ns since 1970: the last */
	char where[2048];
};

/* both fill pages */
#define RAMA_SEG_TALLY_SIZE 8192
_Static_assert(sizeof(struct rama_seg_tally) <= RAMA_SEG_TALLY_SIZE, "it fits");
_Static_assert(sizeof(struct rama_seg_unwritten) <= RAMA_SEG_TALLY_SIZE, "it fits");

#endif
