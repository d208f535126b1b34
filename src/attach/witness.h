/* SPDX-License-Identifier: BSD-3-Clause */
/* witness.h: what the kernel itself says of requests: its tracepoints (fuse:fuse_request_send,
 * block:block_rq_issue) through perf_event_open. A second witness beside what is observed inside of
 * processes: who caused how many. Needs CAP_PERFMON or root, and tracefs. */
#ifndef RAMA_ATTACH_WITNESS_H
#define RAMA_ATTACH_WITNESS_H

#include <stdint.h>

#include "base/err.h"

struct rama_attach_witness;

/* May it be asked for "group:event"? The error says why not, and how it would be. */
int rama_attach_witness_can(const char *event, struct rama_err *e);
/* From now on these are seen, on all processors: at most 8 of them. */
int rama_attach_witness_begin(struct rama_attach_witness **w, const char *const *event, unsigned n,
			      struct rama_err *e);
/* What was seen since: event `i` of thread `tid`, ns of the monotonic clock. To be called often
 * enough: a processor keeps some thousands. How many were lost so far. */
uint64_t rama_attach_witness_take(struct rama_attach_witness *w,
				  void (*fn)(void *ctx, unsigned i, uint32_t tid, uint64_t t),
				  void *ctx);
void rama_attach_witness_end(struct rama_attach_witness *w);

#endif
