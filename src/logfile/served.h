/* SPDX-License-Identifier: BSD-3-Clause */
/* served.h: of the log of a daemon or server, what it did for one user: nothing but the requests of
 * his threads and what is part of them, with names that occur there. What was done for others
 * meanwhile is a sum, without names of files. */
#ifndef RAMA_LOGFILE_SERVED_H
#define RAMA_LOGFILE_SERVED_H

#include "logfile/calls.h"
#include "logfile/log.h"
#include "logfile/writer.h"

#define RAMA_LOG_LOADS 24 /* sums of what was for others, by layer and server */

struct rama_log_loads {
	struct {
		uint8_t layer;
		uint64_t name, count, bytes, ns;
	} of[RAMA_LOG_LOADS];
	size_t n;
};
void rama_log_loads_add(struct rama_log_loads *l, const struct rama_log_call *c);
/* as RAMA_LOG_META_OTHER has it; behind what is there, as long as there is room */
void rama_log_loads_tell(const struct rama_log_loads *l, const struct rama_log *log, char *to,
			 size_t room);

struct rama_log_served {
	uint64_t user, requests;
	int64_t from, to; /* of his requests: ns since the start of the log's job */
};
/* Users whose threads requests name, by number; at most `most`. *n is 0 of a log that is none of
 * daemons and servers alone. RAMA_EMEMORY. */
int rama_log_served_users(struct rama_log *log, struct rama_log_served *users, size_t most,
			  size_t *n);
/* The log of one of them. */
int rama_log_served_write(struct rama_log *log, const struct rama_log_served *of,
			  const struct rama_log_sink *sink, struct rama_err *e);

#endif
