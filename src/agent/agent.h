/* SPDX-License-Identifier: BSD-3-Clause */
/* agent.h: `iorama agent`: reads the live events and counters of running processes and takes
 * them to a sink, by way of a spool. One thread reads (an event loop), one for each store
 * writes. docs/live.md says what is lost when. */
#ifndef RAMA_AGENT_AGENT_H
#define RAMA_AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum rama_agent_events {
	RAMA_AGENT_EVENTS_ASKED, /* of processes that ask for it (IORAMA_LIVE, iorama live) */
	RAMA_AGENT_EVENTS_ON,	 /* of all: switched on where they are off */
	RAMA_AGENT_EVENTS_OFF	 /* of none: switched off; counters are read all the same */
};

#define RAMA_AGENT_HOME "/var/lib/iorama" /* of --system */
/* what an agent says of itself, once a second, in its spool */
#define RAMA_AGENT_STATUS_FILE "status.json"

struct rama_agent_options {
	const char *sink; /* as on the command line; NULL with `system`: a store for each user */
	const char *const *dirs; /* roots of segments; none: the usual places */
	size_t n_dirs;
	const char *job; /* the directory of one job; NULL: all. Ends with it */
	const char *spool;
	uint64_t limit; /* bytes of the spool */
	enum rama_agent_events events;
	bool samples, system;
	/* events of the slowest process of each job and of the slowest server only, chosen by
	 * these: agent/focus.h */
	bool focus;
	uint64_t focus_calls;
	double focus_ratio;
	unsigned focus_rounds;
	unsigned interval; /* ms from one round to the next while events come */
	const char *root;  /* of /proc and /sys: "" or that of a copy */
	const char *home;  /* --system: where stores and logs of users are */
	/* --system: where directories of users are, instead of the usual places; NULL */
	const char *base;
	const char *logs;    /* directory for logs of jobs that did not end by themselves */
	const char *metrics; /* ADDRESS:PORT or a file.prom that has figures; NULL: none */
	void (*tell)(void *ctx, const char *line); /* from any thread */
	void *ctx;
};

#define RAMA_AGENT_RUN_FILE "run"
/* Of a spool that `iorama run` has made: held as long as it may start an agent there. -1:
 * another has it, or it cannot be had. */
int rama_agent_run_lock(const char *spool);

/* Brings what waits in the spool, and in those that were left beside it (SPOOL.run/…), to the
 * sink, and ends. instead: to o->sink, also what was meant for another. 0; RAMA_EIO: some of it
 * cannot be brought there now, and still waits. */
int rama_agent_left_drain(const struct rama_agent_options *o, bool instead, struct rama_err *e);

/* Works until SIGTERM, SIGINT or the end of the job. 0 or an error. */
int rama_agent_run(const struct rama_agent_options *o, struct rama_err *e);

#endif
