/* SPDX-License-Identifier: BSD-3-Clause */
/* drain.h: one segment of a running process: its live events become blocks, its names, counters
 * and end become messages. What is in the spool is given back to the process at once; what is
 * not stays in its rings, so that nothing is kept here and an agent that is killed loses
 * nothing. Nothing in the segment is trusted. Time is passed in. */
#ifndef RAMA_AGENT_DRAIN_H
#define RAMA_AGENT_DRAIN_H

#include "base/map.h"
#include "agent/post.h"
#include "segment/clock.h"
#include "look/look.h"
#include "segment/ring.h"

/* What all segments share: room to work in, and the clocks of this machine. */
struct rama_agent_drain {
	/* by enum rama_seg_clock_source; 0: of another boot, never read */
	struct rama_seg_clock clock[3];
	char boot[40], host[64];
	int64_t real, mono; /* now, ns; set by rama_agent_drain_now() */
	unsigned block_age; /* ms that an event may wait for others */
	int64_t until;	    /* ns, of the clock of mono: no block is begun later; 0: no limit */
	struct rama_seg_event *raw;
	struct rama_wire_block *block;
	unsigned char *packed;
	struct rama_wire_block_packer packer;
	struct rama_arena arena;
	uint16_t what_of[1024]; /* calls of the block, hashed: place + 1 */
	uint32_t what_key[RAMA_WIRE_BLOCK_WHATS];
};
int rama_agent_drain_init(struct rama_agent_drain *d, struct rama_err *e);
void rama_agent_drain_fini(struct rama_agent_drain *d);
void rama_agent_drain_now(struct rama_agent_drain *d); /* reads the clocks */

/* a job: what its segments have in common */
struct rama_agent_drain_job {
	char key[RAMA_WIRE_JOB];
	char *dir;
	uint32_t uid;
	char user[64];
	struct rama_agent_post *post;
	struct rama_map names; /* records whose names were sent */
	uint64_t *known;       /* how many those are, of all jobs of its user; NULL: alone */
	int64_t ahead; /* ns of real time before the monotonic one where it began; 0: not known */
	int64_t world; /* ranks of its MPI program; 0: it has none */
	int64_t next_order;	       /* of processes without MPI: how many came so far */
	uint32_t segments;	       /* that are followed */
	uint64_t made, dropped, taken; /* of segments that are not followed any more */
	struct {
		uint64_t made, dropped, taken;
	} now;		      /* of those that are: agent.c */
	uint64_t damaged;     /* events that could not be read, told as lost */
	int64_t quiet_since;  /* ns, since when none is followed; 0: some are */
	int64_t quiet_wait;   /* ns: after so long it is looked whether it is to become a log */
	bool finishing, left; /* left: what remains of it is somebody else's */
	/* a daemon or server that has written its log itself: the store gets it, too */
	bool served;
	/* the last moment told of some process; one was told in this second: moment.c */
	bool moment, told_moment;
};

struct rama_agent_drain_lane {
	uint64_t made, taken, dropped;
	int64_t since; /* ns: when the oldest event that waits was seen; 0: none waits */
	int64_t end;   /* of the last event */
};

enum rama_agent_drain_phase {
	RAMA_AGENT_DRAIN_RUNNING,
	RAMA_AGENT_DRAIN_DEAD, /* its process is gone: what is left is read, then it is told */
	RAMA_AGENT_DRAIN_TOLD  /* all of it is in the spool */
};

struct rama_agent_drain_seg {
	struct rama_seg_mapped map;
	char *path;
	struct rama_agent_drain_job *job;
	struct rama_wire_segment_key key;
	const struct rama_seg_identity *id; /* in the mapping: they change */
	const struct rama_seg_state *state;
	const struct rama_seg_clock *clock;
	struct rama_seg_ticks own;
	enum rama_agent_drain_phase phase;
	bool unlinked; /* its file has no name any more */
	struct rama_agent_drain_lane *lane;
	uint32_t n_lanes;
	uint64_t names_at; /* names before this were told */
	int64_t order, rank, nprocs;
	uint64_t made, dropped, taken; /* over all lanes */
	/* the process as it was told last */
	struct {
		bool any;
		uint64_t made, dropped;
		int64_t at;
	} told;
	/* its counters as they were told last */
	struct {
		bool any;
		uint64_t seqs[RAMA_SEG_KINDS];
		int64_t at;
	} counted;
	/* what its counters say of calls to the system: how many, and how long they took; of
	 * servers and daemons: of what they did for others (focus/apply.c) */
	uint64_t io_calls, io_ns;
	struct rama_agent_moment *moment; /* what it is at; NULL: it did nothing yet */
	bool focused;			  /* chosen */
	uint64_t round;			  /* in which it is looked at next */
	unsigned idle;			  /* rounds in which nothing moved */
	int64_t dead_at;		  /* ns */
	int64_t replaced_at; /* ns: since when it says that another program took its place */
	bool cut;	     /* the time of its user was over before all was read ... */
	uint32_t at_lane;    /* ... and this lane is first the next time */
	int pidfd;	     /* the agent's */
	void *poll;	     /* the agent's */
};

/* Opens it for reading. The job is the caller's; where it goes on reading is known from the
 * segment. */
int rama_agent_drain_open(struct rama_agent_drain *d, struct rama_agent_drain_seg **s,
			  const char *path, uint32_t uid, struct rama_err *e);
void rama_agent_drain_close(struct rama_agent_drain_seg *s);
void rama_agent_moment_free(struct rama_agent_moment *m); /* moment.c */
/* joins a job, or another one than before; gives it a rank */
void rama_agent_drain_join(struct rama_agent_drain_seg *s, struct rama_agent_drain_job *job);
/* Which rank is it now? true: another one than before. */
bool rama_agent_drain_rank(struct rama_agent_drain_seg *s);

enum {
	RAMA_AGENT_DRAIN_ALL = 1,  /* also what could wait */
	RAMA_AGENT_DRAIN_LOSE = 2, /* what finds no room is dropped, and told */
	RAMA_AGENT_DRAIN_SEE = 4   /* only look, take nothing */
};
/* Reads what there is. 1: something was made since the last look, 0: nothing, negative: there is
 * no room. */
int rama_agent_drain_look(struct rama_agent_drain *d, struct rama_agent_drain_seg *s,
			  unsigned flags, struct rama_err *e);
/* Is there nothing left to read? */
bool rama_agent_drain_empty(const struct rama_agent_drain_seg *s);
uint64_t rama_agent_drain_pending(const struct rama_agent_drain_seg *s);

/* ns that events of this process may wait for others, and its counters: longer in a job of many
 * ranks */
int64_t rama_agent_drain_patience(const struct rama_agent_drain *d,
				  const struct rama_agent_drain_seg *s);

/* Once a second: what its counters stand at, and the process itself if it changed. end: it has
 * come to its end. */
int rama_agent_drain_count(struct rama_agent_drain *d, struct rama_agent_drain_seg *s,
			   struct rama_err *e);
int rama_agent_drain_tell(struct rama_agent_drain *d, struct rama_agent_drain_seg *s, bool end,
			  struct rama_err *e);

/* key of the job whose segments are in this directory */
void rama_agent_drain_job_key(char to[RAMA_WIRE_JOB], uint32_t uid, const char *dir,
			      const char *host);

#endif
