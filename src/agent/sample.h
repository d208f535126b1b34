/* SPDX-License-Identifier: BSD-3-Clause */
/* sample.h: figures of a node from /proc and /sys: rows of table/metrics.def. Files are read
 * below a root, so that captured machines can be tests; they are not trusted. Counters become
 * differences per second. */
#ifndef RAMA_AGENT_SAMPLE_H
#define RAMA_AGENT_SAMPLE_H

#include "base/err.h"
#include "wire/message.h"

struct rama_agent_sampler;

/* root: "" for this machine */
int rama_agent_sampler_create(struct rama_agent_sampler **s, const char *root, struct rama_err *e);
void rama_agent_sampler_destroy(struct rama_agent_sampler *s);
/* Reads all files. t: ns of a clock that goes forward. Figures are valid until the next call;
 * counters give none the first time. Returns their number, or a negative error. */
int64_t rama_agent_sampler_take(struct rama_agent_sampler *s, int64_t t,
				struct rama_wire_msg_figure **figure, struct rama_err *e);

#endif
