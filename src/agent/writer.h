/* SPDX-License-Identifier: BSD-3-Clause */
/* writer.h: writers of an agent of the system: a process for each user, with his rights and no
 * others, which writes to his store. What he has put into his own store (a trigger that never ends,
 * a damaged page) meets nobody but himself. They are made by a process that the agent forks before
 * it has threads; a writer ends with the agent, however that ends. */
#ifndef RAMA_AGENT_WRITER_H
#define RAMA_AGENT_WRITER_H

#include "bus/sink/sink.h"

struct rama_agent_writers;

/* Before there are threads. */
int rama_agent_writers_open(struct rama_agent_writers **w, struct rama_err *e);
/* Ends those that are still at work; from now on there are none. */
void rama_agent_writers_end(struct rama_agent_writers *w);
void rama_agent_writers_close(struct rama_agent_writers *w);

/* ---- writers.c, for writer.c ---- */

/* a new one: its end of the line; *id: for the next call. Negative: none can be made. */
int rama_agent_writers_new(struct rama_agent_writers *w, uint32_t uid, uint32_t gid, uint32_t *id,
			   struct rama_err *e);
void rama_agent_writers_kill(struct rama_agent_writers *w, uint32_t id);
/* what a writer does until its line is closed */
void rama_agent_writer_work(int line);

/* ---- a sink that is a store, by way of such a process: writer.c ---- */

int rama_agent_writer_open(struct rama_bus_sink **s, struct rama_agent_writers *w, uint32_t uid,
			   uint32_t gid, const struct rama_bus_sink_options *o, struct rama_err *e);
extern const struct rama_bus_sink_ops rama_agent_writer_ops; /* its other functions */

#endif
