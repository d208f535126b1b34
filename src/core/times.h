/* SPDX-License-Identifier: BSD-3-Clause */
/* times.h: how the times of calls become the time words of a record, in ticks. */
#ifndef RAMA_CORE_TIMES_H
#define RAMA_CORE_TIMES_H

#include "core/op.h"
#include "core/record.h"

/* Adds what a call took beyond the end of the calls before it, so that calls of several threads
 * that overlap count once. Calls are not always recorded in the order in which they ended (a
 * thread or a signal handler comes in between): one that ended before another adds nothing.
 * Darshan takes time away then, and sums can become negative. */
static inline void rama_core_times_add(union rama_core_word *sum, uint64_t *end,
				       const struct rama_core_op *op)
{
	uint64_t before = *end;

	if (__builtin_expect(op->t1 <= before, 0))
		return;
	sum->u += op->t1 - (op->t0 > before ? op->t0 : before);
	*end = op->t1;
}

/* First start and latest end. A start of 0 means none yet: less 1 it is beyond all others. */
static inline void rama_core_times_stamp(union rama_core_word *start, union rama_core_word *end,
					 const struct rama_core_op *op)
{
	if (op->t0 <= start->u - 1)
		start->u = op->t0;
	end->u = op->t1;
}

/* Steps of a time in a log: a nanosecond, near enough, which is less than it takes to read a clock.
 * Below that the bits of a product are noise, which no compressor can make smaller: they were a
 * third of a log. What is not 0 stays so, since 0 says that there was no such call. */
#define RAMA_CORE_TIMES_STEPS 0x1p30 /* in a second */

static inline double rama_core_times_round(double s)
{
	double steps = s * RAMA_CORE_TIMES_STEPS;

	if (!(steps > 0 && steps < 0x1p62))
		return s;
	return steps < 1 ? 1 / RAMA_CORE_TIMES_STEPS
			 : (double)(int64_t)(steps + 0.5) / RAMA_CORE_TIMES_STEPS;
}

static inline double rama_core_times_sum(union rama_core_word ticks, double tick)
{
	return rama_core_times_round((double)ticks.i * tick);
}

static inline double rama_core_times_moment(union rama_core_word ticks, double tick)
{
	return rama_core_times_round((double)ticks.u * tick);
}

#endif
