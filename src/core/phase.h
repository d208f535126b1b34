/* SPDX-License-Identifier: BSD-3-Clause */
/* phase.h: a named phase while its program runs: part of a segment. */
#ifndef RAMA_CORE_PHASE_H
#define RAMA_CORE_PHASE_H

#include "core/kind.h"

/* times in a phase that are kept one by one; beyond that neighbours become one */
#define RAMA_CORE_PHASE_SPANS 64

/* An operation on it is an OPEN or a CLOSE, with what the process has moved so far: `bytes`
 * written, `off` read. */

struct rama_core_phase_span {
	uint64_t start, end; /* ticks */
};

struct rama_core_phase {
	struct rama_core_slot head;
	uint32_t depth;	  /* threads, or calls of one, that are in it */
	uint32_t spans;	  /* that have ended; ascending */
	uint64_t from;	  /* of the one that has not */
	int64_t moved[2]; /* what the process had moved then: 0 written, 1 read */
	union rama_core_word w[RAMA_TAB_PHASE__WORDS];
	struct rama_core_phase_span span[RAMA_CORE_PHASE_SPANS];
};

#endif
