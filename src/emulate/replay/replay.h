/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.h: internal to mode/replay.c and replay/: the operations of a job, from its trace or
 * guessed from its counters. */
#ifndef RAMA_EMULATE_REPLAY_REPLAY_H
#define RAMA_EMULATE_REPLAY_REPLAY_H

#include "base/map.h"
#include "emulate/emulate.h"

#define RAMA_EMU_REPLAY_MOST 20000000 /* operations */

struct rama_emu_replay_op {
	uint32_t file;
	int32_t rank; /* of the log */
	bool write;
	int64_t offset, length;
	double start, end; /* of the log */
	uint32_t number;   /* among the operations of its hand */
	/* of its rank: operations that went on at the same time are in different hands */
	uint16_t hand;
	bool guessed; /* from counters: when exactly is not known */
};

/* order.c */
struct rama_emu_range {
	int64_t from, to;
};
struct rama_emu_replay_ranges {
	struct rama_emu_range *range; /* in order; they do not touch each other */
	uint32_t n;
	size_t room;
};
/* RAMA_ELIMIT: too many of them, nothing was added */
int rama_emu_replay_ranges_add(struct rama_emu_replay_ranges *s, int64_t from, int64_t to);
bool rama_emu_replay_ranges_hold(const struct rama_emu_replay_ranges *s, int64_t from,
				 int64_t to); /* all of it */
void rama_emu_replay_ranges_fini(struct rama_emu_replay_ranges *s);

struct rama_emu_replay_file {
	uint64_t id;
	const char *name; /* in the log */
	int64_t size;	  /* that any operation reaches */
	/* must be there before the run: read before it was written */
	struct rama_emu_replay_ranges needed;
	uint32_t traced; /* number of the newest log that has a trace of it, from 1; 0: none */
	struct rama_emu_unit *unit;
};

struct rama_emu_replay {
	struct rama_emu_emulation *m;
	struct rama_emu_replay_op *ops; /* by start */
	size_t n, room;
	struct rama_emu_replay_file *files;
	uint32_t n_files;
	size_t room_files;
	struct rama_map by_id;
	int64_t nprocs;
	double span;	  /* of the logs: first start to last end */
	uint32_t hands;	  /* of each rank: most operations that any of them had at a time */
	double *untraced; /* by rank of the log: seconds of I/O that the trace does not show */
	bool shape;	  /* some of it is guessed from counters */
	uint64_t lost;	  /* operations that the trace lacks, because memory for it was full */
	bool entered;	  /* files may have been made */
};

/* Reads logs: what is traced exactly, all other files in shape. Ranks of a log follow those of
 * the log before. Jobs keep their place in time, but times in which none of them ran are left
 * out. */
int rama_emu_replay_load(struct rama_emu_replay *r, char *const *paths, size_t n,
			 struct rama_err *e);
int rama_emu_replay_add(struct rama_emu_replay *r, const struct rama_emu_replay_op *op,
			struct rama_err *e);
int64_t rama_emu_replay_file(struct rama_emu_replay *r, uint64_t id, const char *name,
			     struct rama_err *e);
void rama_emu_replay_sort(struct rama_emu_replay *r);
void rama_emu_replay_fini(struct rama_emu_replay *r);

/* order.c: who must wait for whom: a read of what another rank has written before. All of
 * it is found by each rank for itself, and only what concerns it is kept. */
struct rama_emu_replay_wait {
	uint32_t hand, op; /* hand of this rank, and the number of its operation that waits */
	uint32_t other;	   /* for this hand of any rank ... */
	uint32_t done;	   /* ... to have done so many operations */
};
struct rama_emu_replay_tell {
	uint32_t hand, op, rank; /* after this operation of a hand of this rank that rank is told */
};
struct rama_emu_replay_order {
	struct rama_emu_replay_wait *waits;
	size_t n_waits, room_waits;
	struct rama_emu_replay_tell *tells; /* by hand and op */
	size_t n_tells, room_tells;
};
/* Operations have their numbers. Also finds what each file needs before the run. */
int rama_emu_replay_find_order(struct rama_emu_replay_order *o, struct rama_emu_replay *r,
			       struct rama_err *e);
void rama_emu_replay_order_fini(struct rama_emu_replay_order *o);
/* rank of the run that does what a rank of the log did */
uint32_t rama_emu_replay_rank(const struct rama_emu_replay *r, int32_t rank);

/* ... what went on at the same time does so again */
int rama_emu_replay_find_hands(struct rama_emu_replay *r, struct rama_err *e);
/* after all changes: gives operations their numbers */
int rama_emu_replay_number(struct rama_emu_replay *r, struct rama_err *e);
/* the hand of an operation among those of all ranks of the run */
uint32_t rama_emu_replay_hand(const struct rama_emu_replay *r, const struct rama_emu_replay_op *op);

/* play.c: does all operations of this rank; files have their units */
int rama_emu_replay_play(struct rama_emu_replay *r, const struct rama_emu_replay_order *o,
			 struct rama_err *e);
void rama_emu_replay_plan(struct rama_emu_tally *t, const struct rama_emu_replay_op *op);

#endif
