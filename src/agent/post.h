/* SPDX-License-Identifier: BSD-3-Clause */
/* post.h: the way out of an agent: messages go into a spool; a thread of its own takes
 * them from there to the sink and keeps on trying. One for each store that an agent writes to.
 * All calls but the thread's own come from one thread. */
#ifndef RAMA_AGENT_POST_H
#define RAMA_AGENT_POST_H

#include "agent/spool.h"

struct rama_agent_post;
struct rama_agent_writers; /* writer.h */

struct rama_agent_post_options {
	const char *spool; /* directory */
	uint64_t limit;	   /* bytes of it */
	const char *sink;  /* as on the command line */
	/* the sink is a store, written by a process of this user; NULL: here */
	struct rama_agent_writers *writers;
	uint32_t uid, gid;
	void (*tell)(void *ctx, const char *line); /* from both threads */
	void *ctx;
};

int rama_agent_post_open(struct rama_agent_post **p, const struct rama_agent_post_options *o,
			 struct rama_err *e);
/* The same for a spool that somebody left: it goes where it was meant to go, or to o->sink if
 * that is not known or `instead`. */
int rama_agent_post_open_left(struct rama_agent_post **p, const struct rama_agent_post_options *o,
			      bool instead, struct rama_err *e);
/* Removes the spool itself, with its lock held, if all of it is committed; then as close. false:
 * it stays. */
bool rama_agent_post_remove(struct rama_agent_post *p);
/* Waits so long for the sink to commit what is in the spool (which stays there if it does not),
 * then ends. */
void rama_agent_post_close(struct rama_agent_post *p, unsigned wait_ms);
/* the agent, as sinks know it */
const char *rama_agent_post_name(const struct rama_agent_post *p);
/* Does it have nothing to do any more? */
bool rama_agent_post_idle(struct rama_agent_post *p);
/* the sink could not be reached the last time */
bool rama_agent_post_failing(struct rama_agent_post *p);
bool rama_agent_post_has_room(struct rama_agent_post *p, size_t n);

/* Into the spool; events: how many of this job it holds. RAMA_ELIMIT, RAMA_EIO: there is no
 * room, nothing happened. */
int rama_agent_post_send(struct rama_agent_post *p, const struct rama_wire_message *m,
			 const char *job, uint64_t events, struct rama_err *e);

/* ---- what had to be dropped: loss.c ---------------------------------------------------------- */

/* Events [from, until) of a lane are going to be dropped. After this they are counted, whatever
 * happens to the agent; done() is called when they have been given back, so that they are not
 * counted twice. */
struct rama_agent_loss_place {
	struct rama_wire_segment_key segment;
	uint32_t lane;
	uint64_t from, until;
};
int rama_agent_post_lose(struct rama_agent_post *p, const char *job, const char *why,
			 const struct rama_agent_loss_place *at, struct rama_err *e);
void rama_agent_post_lose_done(struct rama_agent_post *p);
/* What an agent that was killed had counted as lost of this segment but not given back: *until
 * of *lane. false: nothing. */
bool rama_agent_post_lost_before(struct rama_agent_post *p,
				 const struct rama_wire_segment_key *segment, uint32_t *lane,
				 uint64_t *until);
/* Sends what is to be told of losses, if there is room. */
void rama_agent_post_tell_losses(struct rama_agent_post *p);

/* ---- how it stands --------------------------------------------------------------------------- */

struct rama_agent_post_state {
	struct rama_agent_spool_state spool;
	struct rama_bus_sink_totals sink;
	uint64_t lost; /* events that were dropped here, since the agent began */
	const char *sink_name;
	bool failing; /* the sink could not be reached the last time */
};
void rama_agent_post_state(struct rama_agent_post *p, struct rama_agent_post_state *st);
/* events of a job that are in the spool; that were dropped */
uint64_t rama_agent_post_waiting(struct rama_agent_post *p, const char *job);
uint64_t rama_agent_post_lost(struct rama_agent_post *p, const char *job);

#endif
