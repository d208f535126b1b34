/* SPDX-License-Identifier: BSD-3-Clause */
/* team.h: the processes of a run and how they talk. Small messages go through sockets, also
 * under MPI, because whoever waits must cost nothing and MPI's receives spin. Rank 0 has a
 * director thread that all others are connected to. */
#ifndef RAMA_EMULATE_TEAM_TEAM_H
#define RAMA_EMULATE_TEAM_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/now.h"

struct rama_emu_team {
	int rank, size;
	const char *node;   /* name of this host */
	const char **nodes; /* distinct names, in order of their first rank */
	uint32_t n_nodes;
	uint32_t *node_of; /* rank -> index in nodes */
	const char *kind;  /* "single", "local", "Open MPI", "MPICH" */
	struct rama_emu_team_state *state;
	/* MPI only: communicator of some ranks for engines, made once for each set and kept;
	 * NULL elsewhere. Called by all of them. */
	void *(*group)(struct rama_emu_team *t, const uint32_t *ranks, uint32_t n);
	/* add to rama_now() of this rank for time on rank 0's clock */
	double clock_offset;
};

#define RAMA_EMU_TEAM_DIRECTOR (-2) /* address of the handler below */

/* alone, or n local processes that are forked here; returns in each of them (the parent is rank
 * 0) */
int rama_emu_team_local(struct rama_emu_team *t, int n, struct rama_err *e);
/* Other processes, started by MPI: rank 0 makes an address ("host:port:secret"), which all
 * others are told, and all join. */
#define RAMA_EMU_TEAM_ADDRESS 320
int rama_emu_team_listen(struct rama_emu_team *t, int size, char address[RAMA_EMU_TEAM_ADDRESS],
			 struct rama_err *e);
int rama_emu_team_join(struct rama_emu_team *t, int rank, int size, const char *address,
		       struct rama_err *e);

/* All ranks call these in the same order; waiting sleeps in poll(). A rank that dies makes all
 * others fail with an error that names it, at once. */
int rama_emu_team_barrier(struct rama_emu_team *t, struct rama_err *e);
int rama_emu_team_bcast(struct rama_emu_team *t, void *bytes, size_t n,
			struct rama_err *e); /* from rank 0; n is the same on all */
/* on rank 0 *all holds the pieces of all ranks one after the other, lengths in *lens; both to be
 * freed; elsewhere NULL */
int rama_emu_team_gather(struct rama_emu_team *t, const void *bytes, size_t n, char **all,
			 size_t **lens, struct rama_err *e);

/* single messages of any rank to any rank or to the director, kept in order. Kinds below 2^30
 * are the caller's. */
int rama_emu_team_send(struct rama_emu_team *t, int to, uint32_t kind, const void *bytes, size_t n,
		       struct rama_err *e);
struct rama_emu_team_message {
	int from;
	uint32_t kind;
	char *bytes; /* to be freed; a NUL follows them */
	size_t n;
};
/* waits at most `seconds` (0: only looks, negative: for ever). 1: got one, 0: time is over.
 * Threads of a rank may send, receive and look at the same time, but not for ever: who receives
 * keeps others from receiving. */
int rama_emu_team_recv(struct rama_emu_team *t, struct rama_emu_team_message *m, double seconds,
		       struct rama_err *e);

/* On rank 0, before any rank sends to the director: fn is called in the director's thread for
 * each such message and answers with rama_emu_team_post(). A negative return ends the run with
 * what it put into e. */
typedef int rama_emu_team_handler(void *ctx, struct rama_emu_team *t,
				  const struct rama_emu_team_message *m, struct rama_err *e);
void rama_emu_team_serve(struct rama_emu_team *t, rama_emu_team_handler *fn, void *ctx);
int rama_emu_team_post(struct rama_emu_team *t, int to, uint32_t kind, const void *bytes, size_t n);

/* tells all ranks to stop with this error */
void rama_emu_team_abort(struct rama_emu_team *t, const struct rama_err *why);
/* Was this rank told to stop? To be asked now and then by whoever works long without a message.
 * 0, or the error. */
int rama_emu_team_look(struct rama_emu_team *t, struct rama_err *e);
/* After an error: the rank whose error stopped all, which may take a moment to learn;
 * RAMA_EMU_TEAM_DIRECTOR: none of them. */
int rama_emu_team_aborted_by(struct rama_emu_team *t, double seconds);
/* After rama_emu_team_abort(): of several ranks that fail, one because of the other, the first
 * one's reason counts for all. */
int rama_emu_team_reason(struct rama_emu_team *t, struct rama_err *e);
/* This rank has stopped; waits until all have, at most so long. False: some have not, because
 * they hang in calls of others. */
bool rama_emu_team_settle(struct rama_emu_team *t, double seconds);
/* The end, for all ranks. In local children it does not return: they exit with `status`. In the
 * parent *worst is the highest status of all, also of those that were killed (128 + signal). */
int rama_emu_team_end(struct rama_emu_team *t, int status, int *worst, struct rama_err *e);

/* From now on SIGINT, SIGTERM and SIGHUP do not end this process: whoever waits, or looks, gets
 * an error and can clean up. */
void rama_emu_team_on_signals(void);

#endif
