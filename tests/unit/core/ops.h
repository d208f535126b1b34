/* SPDX-License-Identifier: BSD-3-Clause */
/* ops.h: operations as a program would do them, one after the other, by a clock that stands still
 * unless a test moves it. */
#ifndef RAMA_TESTS_CORE_OPS_H
#define RAMA_TESTS_CORE_OPS_H

#include "unit.h"

#include "core/op.h"

static uint64_t now = 1000; /* ticks */

/* a call that succeeds and lasts so many ticks; the next one begins 10 ticks after its end */
static inline struct rama_core_op call(unsigned kind, uint64_t took)
{
	struct rama_core_op op = { .kind = (uint8_t)kind, .ok = true, .t0 = now, .t1 = now + took };

	now = op.t1 + 10;
	return op;
}

/* a call that began and ended when we say */
static inline struct rama_core_op call_at(unsigned kind, uint64_t t0, uint64_t t1)
{
	return (struct rama_core_op){ .kind = (uint8_t)kind, .ok = true, .t0 = t0, .t1 = t1 };
}

/* bytes at the tracked offset */
static inline struct rama_core_op next(unsigned kind, int64_t bytes)
{
	struct rama_core_op op = call(kind, 5);

	op.bytes = bytes;
	return op;
}

/* bytes at an offset, as pread and pwrite move them */
static inline struct rama_core_op at(unsigned kind, int64_t off, int64_t bytes)
{
	struct rama_core_op op = next(kind, bytes);

	op.off = off;
	op.has_off = true;
	return op;
}

static inline struct rama_core_op failing(unsigned kind)
{
	struct rama_core_op op = call(kind, 5);

	op.ok = false;
	op.bytes = -1;
	return op;
}

#endif
