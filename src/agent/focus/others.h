/* SPDX-License-Identifier: BSD-3-Clause */
/* others.h: agents that choose together who makes events. Each says once a second who is
 * slowest among its own processes; of those that know a group, the one whose name comes first
 * decides for all, and the others do what it says. When it falls silent the next one goes on from
 * there; a new one listens for some seconds before it decides anything. Pure: what was heard goes
 * in, what it means comes out. */
#ifndef RAMA_AGENT_FOCUS_OTHERS_H
#define RAMA_AGENT_FOCUS_OTHERS_H

#include "agent/focus/focus.h"
#include "wire/message.h"

/* groups that are no job's; keys of jobs have a slash */
#define RAMA_AGENT_FOCUS_SERVERS "servers"
#define RAMA_AGENT_FOCUS_DAEMONS "daemons" /* of FUSE mounts */

/* what an agent said last of a group; texts are copies */
struct rama_agent_focus_said {
	uint64_t group;
	struct rama_wire_msg_focus_group is;
	char host[64]; /* of is.at */
};

struct rama_agent_focus_other {
	char name[96], host[64];
	int64_t heard; /* ns */
	struct rama_agent_focus_said *said;
	size_t n, room;
};

struct rama_agent_focus_others {
	struct rama_agent_focus_other *agent;
	size_t n, room;
	struct rama_agent_focus_far *far;
	size_t n_far, room_far;
	struct rama_agent_focus_told *told;
	size_t n_told, room_told;
	unsigned listened; /* rounds */
};

/* the group of a job's key, or one of these words */
uint64_t rama_agent_focus_group_of(const char *job);
void rama_agent_focus_others_hear(struct rama_agent_focus_others *o,
				  const struct rama_wire_msg_focus *m, const char *me, int64_t now);
/* Once in a round: those that are silent are forgotten; what the rest means for the round that
 * follows. Valid until the next call. */
struct rama_agent_focus_elsewhere rama_agent_focus_others_round(struct rama_agent_focus_others *o,
								const char *me, int64_t now);
/* Does this agent decide for the group? */
bool rama_agent_focus_others_leads(const struct rama_agent_focus_others *o, uint64_t group);
/* who does, and what he says; NULL: nobody else */
const struct rama_agent_focus_said *rama_agent_focus_others_decided(
	const struct rama_agent_focus_others *o, uint64_t group, const char **agent);
/* what all others have of a group: how many agents they are; processes and calls that made no
 * event are added */
unsigned rama_agent_focus_others_sum(const struct rama_agent_focus_others *o, uint64_t group,
				     uint64_t *processes, uint64_t *left_out);
/* where the process of this id is: its place, as its agent said; NULL: not known. *host: there */
const struct rama_wire_msg_focus_one *rama_agent_focus_others_find(
	const struct rama_agent_focus_others *o, uint64_t group, uint64_t id, const char **host);
void rama_agent_focus_others_fini(struct rama_agent_focus_others *o);

#endif
