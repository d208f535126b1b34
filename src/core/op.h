/* SPDX-License-Identifier: BSD-3-Clause */
/* op.h: one observed operation on a file, the single currency: wrappers and probes make them;
 * counters, traces, heat maps and tests eat them. Times are ticks since the start of the process
 * (segment/layout.h says what a tick is), never 0. */
#ifndef RAMA_CORE_OP_H
#define RAMA_CORE_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "table/fn.h"

/* Ways to read and write by POSIX calls. What `how` means depends on the layer: core/mpiio.h,
 * core/h5f.h and core/pnetcdf.h have their own. */
enum rama_core_how { RAMA_CORE_HOW_PLAIN, RAMA_CORE_HOW_ASYNC, RAMA_CORE_HOW_COPY };

/* The first eight bytes are also handled as one word, RAMA_CORE_OP_WORD. */
struct rama_core_op {
	uint16_t fn;	/* enum rama_tab_fn: which function */
	uint8_t kind;	/* enum rama_tab_opkind: what it does */
	uint8_t how;	/* enum rama_core_how, or what the layer has instead */
	bool ok;	/* the call succeeded */
	bool has_off;	/* `off` was given by the caller; else the tracked offset counts */
	bool unaligned; /* memory address not a multiple of the alignment */
	uint8_t pad;
	int32_t mode;	    /* OPEN: creation mode, 0 if none was given; MPI-IO: access mode */
	int64_t off, bytes; /* off: SEEK: where it led; RENAMETO: id of the old name's record */
	uint64_t t0, t1;    /* start and end, t0 <= t1 */
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define RAMA_CORE_OP_WORD(fn, kind, how, ok, has_off)                                             \
	((uint64_t)(fn) | (uint64_t)(kind) << 16 | (uint64_t)(how) << 24 | (uint64_t)(ok) << 32 | \
	 (uint64_t)(has_off) << 40)
#else
#define RAMA_CORE_OP_WORD(fn, kind, how, ok, has_off)                            \
	((uint64_t)(fn) << 48 | (uint64_t)(kind) << 40 | (uint64_t)(how) << 32 | \
	 (uint64_t)(ok) << 24 | (uint64_t)(has_off) << 16)
#endif

#endif
