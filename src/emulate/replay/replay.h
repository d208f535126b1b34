/* SPDX-License-Identifier: BSD-3-Clause */
/* replay.h: internal to mode/replay.c and replay/: the operations of a job, from its trace or
 * guessed from its counters. */
#ifndef RAMA_EMULATE_REPLAY_REPLAY_H
#define RAMA_EMULATE_REPLAY_REPLAY_H

#include "base/map.h"
#include "emulate/emulate.h"

#define RAMA_EMU_REPLAY_MOST 20000000		 /* operations */
#define RAMA_EMU_REPLAY_BYTES (INT64_C(1) << 60) /* of one record of a log */

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
	bool upper;   /* of MPI-IO, not of what MPI-IO did below */
	/* all members of the file's group do it together; who has nothing to move moves nothing */
	bool together;
	/* ... the first since the group opened its file, the last before it closes it */
	bool joins, leaves;
	uint8_t syncs; /* of the group, after it */
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

/* what is done with a file besides moving data, in the order of calls of one moment */
enum rama_emu_replay_deed {
	RAMA_EMU_DEED_NONE,
	RAMA_EMU_DEED_MKDIR,
	RAMA_EMU_DEED_READ,  /* of no bytes: at the end of the file */
	RAMA_EMU_DEED_WRITE, /* of no bytes */
	RAMA_EMU_DEED_SYNC,
	RAMA_EMU_DEED_DATASYNC,
	RAMA_EMU_DEED_FLUSH, /* of a stream */
	RAMA_EMU_DEED_OPEN,  /* once more: what is open is closed before */
	RAMA_EMU_DEED_STAT,
	RAMA_EMU_DEED_ACCESS,
	RAMA_EMU_DEED_RENAME,
	RAMA_EMU_DEED_UNLINK,
	RAMA_EMU_DEEDS
};
#define RAMA_EMU_REPLAY_ROWS 48 /* of the table in calls.c, at most */

struct rama_emu_replay_call {
	uint32_t file;
	int32_t rank; /* of the log */
	enum rama_emu_replay_deed deed;
	double start; /* of the log: the end of the request that it follows */
	uint8_t row;  /* of the table in calls.c */
};

struct rama_emu_replay_file {
	uint64_t id;
	const char *name; /* in the log */
	int64_t size;	  /* that any operation reaches */
	int64_t written;  /* bytes, counted up to its size */
	/* must be there before the run: read before it was written */
	struct rama_emu_replay_ranges needed;
	uint32_t traced;      /* number of the newest log that has a trace of it, from 1; 0: none */
	bool folder, renamed; /* a call makes it a folder, or gives it another name */
	uint32_t upper;	    /* number of the log whose MPI-IO it is done with; 0: by its requests */
	bool together;	    /* some of its operations are */
	bool stream, plain; /* some of them are of streams (stdio), or are not */
	uint64_t group_opens, group_syncs;	/* of MPI-IO, added over ranks */
	struct rama_emu_replay_group *group[2]; /* by write: those that read, write it together */
	struct rama_emu_unit *unit;
};

/* ranks of the run that use a file together */
struct rama_emu_replay_group {
	uint32_t n, *rank; /* in order */
	void *comm;	   /* of this rank, if it is one of them */
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
	struct rama_emu_replay_call *calls; /* by start */
	size_t n_calls, room_calls;
	uint64_t left[RAMA_EMU_REPLAY_ROWS]; /* calls that are not done again, by row */
	uint64_t partial;		     /* modules that do not hold all files; bits */
	uint64_t lost; /* operations that the trace lacks, because memory for it was full */
	/* does again what a job did by MPI-IO; NULL: there is none, or it is not wanted */
	const struct rama_emu_engine *upper;
	/* ... by streams; NULL: not wanted */
	const struct rama_emu_engine *streams;
	bool entered; /* files may have been made */
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

/* Is a file used by streams alone, and are they done again, or is all done by them? */
bool rama_emu_replay_streams(const struct rama_emu_replay *r, const struct rama_emu_replay_file *f);

/* upper.c: is it a file of the job: no stream without a name, and none that a library of MPI makes
 * beside others for itself? */
bool rama_emu_replay_is_file(const char *name);

/* ... files that a job used by MPI-IO, where this run has MPI-IO, too */
struct rama_log;
struct rama_emu_replay_log { /* that is being read */
	struct rama_log *log;
	uint32_t number;    /* from 1 */
	uint32_t rank_base; /* its ranks begin here: several logs are several parts */
	double shift;	    /* of its times */
	size_t first;	    /* operation of it */
};
/* which of them can be done so: before operations are read */
int rama_emu_replay_upper_find(struct rama_emu_replay *r, const struct rama_emu_replay_log *l,
			       struct rama_err *e);
int rama_emu_replay_upper_load(struct rama_emu_replay *r, const struct rama_emu_replay_log *l,
			       struct rama_err *e);

/* together.c: finds who does collective operations together. After all changes. */
int rama_emu_replay_match(struct rama_emu_replay *r, struct rama_err *e);
/* communicators of this rank: all members call it */
void rama_emu_replay_groups_make(struct rama_emu_replay *r);

/* plan.c: never 0 */
uint64_t rama_emu_replay_print(const struct rama_emu_replay *r);

/* shape.c */
#define RAMA_EMU_SHAPE_BINS 10
/* reads or writes of `ranks` ranks from `first` on */
struct rama_emu_replay_shape {
	uint32_t file;
	int32_t first;
	uint32_t ranks;
	bool write;
	int64_t count, bytes, highest;	     /* highest: offset that is reached, or -1 */
	int64_t size[4], often[4];	     /* most frequent sizes and how often */
	int64_t in_bin[RAMA_EMU_SHAPE_BINS]; /* size histogram; adds up to count */
	double sequential;		     /* share */
	int64_t together;		     /* so many of them are collective, the first ones */
	double from, to, busy; /* window, and seconds in it that were I/O, added over ranks */
};
int rama_emu_replay_shape(struct rama_emu_replay *r, const struct rama_emu_replay_shape *s,
			  struct rama_err *e);

/* calls.c: between the operations of a log, which are those from `first` on, in order */
int rama_emu_replay_calls_load(struct rama_emu_replay *r, const struct rama_log *log, size_t first,
			       uint32_t rank_base, double shift, struct rama_err *e);
void rama_emu_replay_calls_sort(struct rama_emu_replay *r);
/* n calls of a module, by the counter that counts them, are not done again */
void rama_emu_replay_leave(struct rama_emu_replay *r, unsigned module, unsigned word, uint64_t n);
/* what r->left[row] counts; NULL: no more rows */
const char *rama_emu_replay_left_name(unsigned row);

/* deeds.c */
int rama_emu_replay_calls_settle(struct rama_emu_replay *r, struct rama_err *e);
bool rama_emu_replay_deed_opens(enum rama_emu_replay_deed deed);
/* step->call: ctx is what the run owns, flags the deed, strict: the unit is a folder */
int rama_emu_replay_deed_do(void *ctx, struct rama_emu_step *s, struct rama_err *e);
void rama_emu_replay_deeds_undo(const struct rama_emu_replay *r,
				const struct rama_emu_replay_file *f);
bool rama_emu_replay_left_put(const struct rama_emu_replay *r, struct rama_out *out, bool json);

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
