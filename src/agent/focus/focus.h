/* SPDX-License-Identifier: BSD-3-Clause */
/* focus.h: who is worth every call. All processes tell sums; only the slowest one of each group
 * (the processes of a job, the servers) makes events. Pure: sums go in, round by round, and who is
 * traced comes out. Groups may be spread over several agents (others.h): then one of them
 * decides for all. */
#ifndef RAMA_AGENT_FOCUS_FOCUS_H
#define RAMA_AGENT_FOCUS_FOCUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

/* settings FOCUS_... */
struct rama_agent_focus_limits {
	uint64_t calls;	 /* that make a mean */
	double ratio;	 /* by which another has to be slower */
	unsigned rounds; /* one after the other in which it has to be */
};

/* a process, as it is now */
struct rama_agent_focus_one {
	uint64_t id, group; /* not 0 */
	uint64_t calls, ns; /* since it began */
	bool traced;	    /* what is decided */
};

/* what is remembered of it */
struct rama_agent_focus_past {
	uint64_t id, group;
	uint64_t calls, ns;   /* when its mean was made last */
	double mean;	      /* ns of a call; 0: not known, or long ago */
	unsigned still;	      /* rounds without a call */
	uint64_t seen, round; /* calls in the last round; in which it was there last */
	uint64_t left_out;    /* calls that made no event */
};

struct rama_agent_focus_group {
	uint64_t group, at; /* who is traced; 0: nobody yet */
	uint64_t rival;	    /* who was slower in the last rounds, and in how many */
	unsigned rounds, n; /* n: how many are in it */
	double mean;	    /* of the one that is traced */
	uint64_t switches, round;
	uint64_t left_out; /* calls that made no event, of all of it */
};

/* a process of another agent */
struct rama_agent_focus_far {
	uint64_t id, group;
	double mean;
};
/* what another agent has decided for a group */
struct rama_agent_focus_told {
	uint64_t group, at;
	double mean;
	uint64_t switches;
	bool known; /* false: somebody will, and until then it stays as it is */
};
struct rama_agent_focus_elsewhere {
	const struct rama_agent_focus_far *far;
	size_t n_far;
	const struct rama_agent_focus_told *told;
	size_t n_told;
};

struct rama_agent_focus {
	struct rama_agent_focus_limits limits;
	struct rama_agent_focus_past *past;
	size_t n_past, room_past;
	struct rama_map by_id; /* id -> place in past + 1 */
	struct rama_agent_focus_group *group;
	size_t n_groups, room_groups;
	uint64_t round;
};

void rama_agent_focus_init(struct rama_agent_focus *f,
			   const struct rama_agent_focus_limits *limits);
/* Sets `traced` of each. elsewhere: what other agents say, NULL: there is none. false: there is no
 * memory, and nobody is traced that was not. */
bool rama_agent_focus_round(struct rama_agent_focus *f, struct rama_agent_focus_one *list, size_t n,
			    const struct rama_agent_focus_elsewhere *elsewhere);
/* the slowest of a group; the one of this id: NULL, there is none */
const struct rama_agent_focus_past *rama_agent_focus_slowest(const struct rama_agent_focus *f,
							     uint64_t group);
const struct rama_agent_focus_past *rama_agent_focus_past(const struct rama_agent_focus *f,
							  uint64_t id);
const struct rama_agent_focus_group *rama_agent_focus_group(const struct rama_agent_focus *f,
							    uint64_t group);
void rama_agent_focus_fini(struct rama_agent_focus *f);

#endif
