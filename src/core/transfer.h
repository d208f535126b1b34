/* SPDX-License-Identifier: BSD-3-Clause */
/* transfer.h: what a read or write means for the counters that the records of MPI-IO, HDF5 datasets
 * and PnetCDF variables have in common. They are the same rows (table/fields.h: HIST, TIMES), at
 * other places of the record. */
#ifndef RAMA_CORE_TRANSFER_H
#define RAMA_CORE_TRANSFER_H

#include "core/posix_transfer.h"
#include "core/times.h"

enum { RAMA_CORE_META, RAMA_CORE_READ, RAMA_CORE_WRITE, RAMA_CORE_TIMERS };

/* what is remembered from call to call; part of the segment */
struct rama_core_progress {
	uint64_t end[RAMA_CORE_TIMERS]; /* ticks: latest end of the calls of each timer */
	/* RAMA_CORE_READ, RAMA_CORE_WRITE: the last access; 0: none yet */
	uint8_t last;
	uint8_t pad[7];
};

/* where the counters of one direction stand */
struct rama_core_transfer_words {
	uint8_t timer; /* RAMA_CORE_READ or RAMA_CORE_WRITE */
	uint8_t bytes, sizes, longest_size, start, end, time, longest;
};

/* RAMA_CORE_TRANSFER_WORDS(MPIIO, READ, READ), RAMA_CORE_TRANSFER_WORDS(MPIIO, WRITE, WRITTEN) */
#define RAMA_CORE_TRANSFER_WORDS(m, dir, done)                                  \
	{                                                                       \
		.timer = RAMA_CORE_##dir, .bytes = RAMA_TAB_##m##_BYTES_##done, \
		.sizes = RAMA_TAB_##m##_SIZE_##dir##_AGG_0_100,                 \
		.longest_size = RAMA_TAB_##m##_MAX_##dir##_TIME_SIZE,           \
		.start = RAMA_TAB_##m##_F_##dir##_START_TIMESTAMP,              \
		.end = RAMA_TAB_##m##_F_##dir##_END_TIMESTAMP,                  \
		.time = RAMA_TAB_##m##_F_##dir##_TIME,                          \
		.longest = RAMA_TAB_##m##_F_MAX_##dir##_TIME,                   \
	}

/* That the rows of a record stand as this file takes them to: all times in one block, in the order
 * of TIMES, RANK_TIMES and VARIANCES, at its end. */
#define RAMA_CORE_TRANSFER_CHECK(m)                                                                \
	_Static_assert(                                                                            \
		RAMA_TAB_##m##_F_CLOSE_END_TIMESTAMP - RAMA_TAB_##m##_F_OPEN_START_TIMESTAMP ==    \
				7 &&                                                               \
			RAMA_TAB_##m##_F_READ_TIME - RAMA_TAB_##m##_F_OPEN_START_TIMESTAMP == 8 && \
			RAMA_TAB_##m##_F_MAX_WRITE_TIME - RAMA_TAB_##m##_F_READ_TIME == 4 &&       \
			RAMA_TAB_##m##__WORDS - RAMA_TAB_##m##_F_MAX_WRITE_TIME == 5,              \
		"times as rama_core_transfer_finish() reads them");                                \
	_Static_assert(RAMA_TAB_##m##__WORDS <= UINT8_MAX,                                         \
		       "places fit struct rama_core_transfer_words")

/* `k` is a constant wherever this is used, so that every index is one too. */
static RAMA_CORE_INLINE void rama_core_transfer(union rama_core_word *restrict w,
						struct rama_core_progress *restrict p,
						const struct rama_core_transfer_words *k,
						const struct rama_core_op *restrict op,
						unsigned switches)
{
	uint64_t took = op->t1 - op->t0;

	w[k->bytes].i = rama_core_add(w[k->bytes].i, op->bytes);
	w[k->sizes + rama_core_posix_size_range((uint64_t)op->bytes)].i++;
	if (p->last != k->timer) {
		w[switches].i += p->last != 0;
		p->last = k->timer;
	}
	rama_core_times_stamp(&w[k->start], &w[k->end], op);
	if (RAMA_CORE_SELDOM((int64_t)took > w[k->longest].i)) {
		w[k->longest].u = took;
		w[k->longest_size].i = op->bytes;
	}
	rama_core_times_add(&w[k->time], &p->end[k->timer], op);
}

/* `times`: the block of times of a record, from F_OPEN_START_TIMESTAMP on; ticks become seconds */
void rama_core_transfer_finish(union rama_core_word *times, double tick);

#endif
