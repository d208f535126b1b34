/* SPDX-License-Identifier: BSD-3-Clause */
/* live.h: `iorama run --live`: an agent beside the command, a line that tells how it goes,
 * and in the end how many events were seen, stored and lost. Whatever goes wrong here, the
 * command runs all the same. */
#ifndef RAMA_LAUNCH_RUN_LIVE_H
#define RAMA_LAUNCH_RUN_LIVE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "launch/place.h"

/* How it goes, for those who watch: each may be NULL. */
struct rama_launch_live_told {
	void (*begun)(void *ctx, const char *dir); /* segments will be there */
	void (*second)(void *ctx);		   /* a second is over */
	void (*wait)(void *ctx, const char *what); /* for what we wait */
	void (*hide)(void *ctx);		   /* nothing is to be seen from now on */
	void *ctx;
};

struct rama_launch_live {
	uint64_t past_made, past_dropped; /* events of segments that are gone already */
	bool on;
	char store[PATH_MAX]; /* path or URL */
	char key[128];	      /* of the job in it */
	char dir[PATH_MAX];   /* of its segments */
	char spool[PATH_MAX]; /* of the agent */
	pid_t agent;	      /* 0: none could be started */
	int ended;	      /* descriptor that tells of its end; -1: none */
	int words;	      /* what it said, a file without a name; -1: none */
	int lock;	/* of the spool: nobody takes it over while we look after it; -1: none */
	bool other;	/* it was there before and goes on */
	bool elsewhere; /* what it reads goes to another place than the store: `sink` */
	char sink[PATH_MAX];
	unsigned again;	   /* times it was started again */
	char trouble[512]; /* what went wrong; "": nothing */
	struct rama_launch_live_told told;

	/* in the end; seen = stored + lost + waiting */
	uint64_t seen, stored, lost, waiting;
	uint64_t dropped; /* of those lost: found no room in the memory of their process */
	bool counted;	  /* stored is known */
};

/* RAMA_EIO: what --live needs was left out of this build */
int rama_launch_live_possible(struct rama_err *e);
/* Starts an agent for the job, unless one reads there already. */
void rama_launch_live_start(struct rama_launch_live *v, const struct rama_launch_place *place);
/* Once a second while the command runs; and when the terminal is somebody else's for a while. */
void rama_launch_live_second(void *v);
void rama_launch_live_pause(void *v);
/* The command has ended: waits until the agent has all its events, which must be before the
 * segments go. */
void rama_launch_live_drain(struct rama_launch_live *v);
/* The segments are gone, unless processes go on (`left`): waits for the store, counts, and puts
 * the log into the store (NULL: it is not wanted there). */
void rama_launch_live_end(struct rama_launch_live *v, bool left, const char *log);
/* does an agent go on with what waits? */
bool rama_launch_live_goes_on(const struct rama_launch_live *v);
void rama_launch_live_fini(struct rama_launch_live *v);

#endif
