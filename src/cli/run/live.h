/* SPDX-License-Identifier: BSD-3-Clause */
/* run_live.h: `iorama run --live`: an agent beside the command, a line that tells how it goes,
 * and in the end how many events were seen, stored and lost. Whatever goes wrong here, the
 * command runs all the same. */
#ifndef RAMA_CLI_RUN_LIVE_H
#define RAMA_CLI_RUN_LIVE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"

struct rama_cli_job_place;
struct rama_cli_run_line;

struct rama_cli_run_live {
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
	struct rama_cli_run_line *line;

	/* in the end; seen = stored + lost + waiting */
	uint64_t seen, stored, lost, waiting;
	uint64_t dropped; /* of those lost: found no room in the memory of their process */
	bool counted;	  /* stored is known */
};

/* Starts an agent for the job, unless one reads there already. `show`: a line on the terminal. */
void rama_cli_run_live_start(struct rama_cli_run_live *v, const struct rama_cli_job_place *place,
			     bool show);
/* Once a second while the command runs; and when the terminal is somebody else's for a while. */
void rama_cli_run_live_second(void *v);
void rama_cli_run_live_pause(void *v);
/* The command has ended: waits until the agent has all its events, which must be before the
 * segments go. */
void rama_cli_run_live_drain(struct rama_cli_run_live *v);
/* The segments are gone, unless processes go on (`left`): waits for the store, counts, and puts
 * the log into the store (NULL: it is not wanted there). */
void rama_cli_run_live_end(struct rama_cli_run_live *v, bool left, const char *log);
void rama_cli_run_live_text(const struct rama_cli_run_live *v, bool quiet); /* on standard error */
void rama_cli_run_live_json(const struct rama_cli_run_live *v, struct rama_json *j);
void rama_cli_run_live_fini(struct rama_cli_run_live *v);

/* ---- run_line.c: one line at the bottom of the terminal, which the command does not scroll
 * away */

/* NULL: this terminal cannot, or there is none */
struct rama_cli_run_line *rama_cli_run_line_create(const char *dir);
void rama_cli_run_line_second(struct rama_cli_run_line *l);
void rama_cli_run_line_say(struct rama_cli_run_line *l, const char *text);
void rama_cli_run_line_hide(struct rama_cli_run_line *l);
void rama_cli_run_line_destroy(struct rama_cli_run_line *l);

#endif
