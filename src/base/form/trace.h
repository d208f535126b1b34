/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.h: pieces of the Trace Event Format, which Perfetto and the browsers' own viewers open. */
#ifndef RAMA_BASE_FORM_TRACE_H
#define RAMA_BASE_FORM_TRACE_H

#include "base/json.h"

/* Microseconds with all nanoseconds: 17 digits of a double would not do for long jobs. */
void rama_trace_moment(struct rama_json *j, const char *key, uint64_t ns);
/* an event that is still open: its phase, process and thread are told */
void rama_trace_open(struct rama_json *j, const char *phase, int64_t pid, uint64_t tid);
/* the name of a process or thread, or (name NULL) its place among others */
void rama_trace_name(struct rama_json *j, const char *what, int64_t pid, uint64_t tid,
		     const char *name, int64_t order);

#endif
