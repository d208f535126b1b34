/* SPDX-License-Identifier: BSD-3-Clause */
/* tags.h: the stream of each job: its processes say it, and every message of the job goes
 * there. */
#ifndef RAMA_BUS_SINK_TAGS_H
#define RAMA_BUS_SINK_TAGS_H

#include "base/map.h"

struct rama_bus_tag {
	char text[64];
};
struct rama_bus_tags {	      /* all 0 at the start */
	struct rama_map jobs; /* hash of a job's key -> its place, + 1 */
	struct rama_bus_tag *tag;
	size_t n, room;
};

/* The tag of a job; said: what a message of it asks for, which is learned, or ""; otherwise: while
 * nobody has said. Valid until the next call. */
const char *rama_bus_tags_of(struct rama_bus_tags *t, const char *job, const char *said,
			     const char *otherwise);
void rama_bus_tags_fini(struct rama_bus_tags *t);

#endif
