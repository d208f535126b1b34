/* SPDX-License-Identifier: BSD-3-Clause */
/* loss.h: the way out from the inside, for post.c and loss.c. */
#ifndef RAMA_AGENT_LOSS_H
#define RAMA_AGENT_LOSS_H

#include <pthread.h>

#include "base/map.h"
#include "agent/post.h"

struct rama_agent_post_job {
	char key[RAMA_WIRE_JOB];
	uint64_t waiting, lost;
};

/* a block that the sink has and has not committed */
struct rama_agent_post_sent {
	uint64_t number, events;
	size_t job;
};

struct rama_agent_losses; /* loss.c */

struct rama_agent_post {
	struct rama_agent_post_options o;
	char dir[1024], sink_text[4096], agent[96];
	struct rama_agent_spool *spool;
	struct rama_wire_bytes bytes; /* a message being encoded */
	struct rama_agent_losses *losses;
	pthread_t thread;
	bool started;
	bool as_meant;	       /* the sink is that of the spool, if it knows one */
	bool remove;	       /* the spool goes when it is closed */
	pthread_mutex_t mutex; /* for what follows */
	pthread_cond_t wake;
	bool stop, waits, failing;
	int64_t stop_at; /* ms: no longer than that */
	struct rama_agent_post_job *job;
	size_t n_jobs, room_jobs, jobs_most;
	struct rama_map job_of; /* hash of a key -> place + 1 */
	uint64_t lost, lost_said;
	int64_t said_at; /* ms; 0: never */
	char lost_why[64], lost_of[RAMA_WIRE_JOB];
	struct rama_bus_sink_totals totals;
	/* the thread's own */
	const struct rama_bus_sink_ops *ops;
	struct rama_bus_sink *sink;
	struct rama_agent_post_sent *sent; /* in the order of their numbers */
	size_t n_sent, room_sent;
	uint64_t next; /* number that is put next */
};

/* place of a job in p->job, made if need be; SIZE_MAX: no memory. With the mutex held. */
size_t rama_agent_post_job(struct rama_agent_post *p, const char *key);
int rama_agent_losses_open(struct rama_agent_post *p, struct rama_err *e);
void rama_agent_losses_close(struct rama_agent_post *p);

#endif
