/* SPDX-License-Identifier: BSD-3-Clause */
/* work.h: what each rank of a run does, as a stream of steps. Every mode (app, pc, cr, dl, dag,
 * replay) is a maker of steps; one runner carries them out with an engine, measures and
 * verifies. Streams are pulled: memory does not grow with the work. */
#ifndef RAMA_EMULATE_WORK_H
#define RAMA_EMULATE_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "emulate/engine/engine.h"
#include "emulate/pattern.h"
#include "emulate/team/team.h"

enum rama_emu_do {
	RAMA_EMU_DO_OPEN,  /* file, flags */
	RAMA_EMU_DO_WRITE, /* file, offset, length */
	RAMA_EMU_DO_READ,
	RAMA_EMU_DO_SYNC,
	RAMA_EMU_DO_CLOSE,
	RAMA_EMU_DO_COMPUTE, /* seconds; length: processors it keeps busy, 0 is 1 */
	RAMA_EMU_DO_WAIT,    /* until the file is complete, at most seconds; strict or not */
	RAMA_EMU_DO_READY,   /* the file is complete: renamed to its name, others are told */
	RAMA_EMU_DO_BARRIER, /* all ranks */
	RAMA_EMU_DO_REMOVE,
	RAMA_EMU_DO_BEGIN, /* a task or phase begins: task, version */
	RAMA_EMU_DO_END,
	RAMA_EMU_DO_KILL, /* SIGKILL to this process: a real crash */
	RAMA_EMU_DO_CALL, /* what only the mode knows: call(ctx) */
	RAMA_EMU_DO_META, /* the same, done to files: stat, unlink */
};

/* a data unit in a file */
struct rama_emu_unit {
	const char *name; /* in reports */
	const char *path;
	int64_t size;
	struct rama_emu_pattern pattern;
	const struct rama_emu_engine *engine; /* NULL: the run's */
	struct rama_emu_engine_options opt;
	/* written under its own name, not under a temporary one that is renamed when complete */
	bool in_place;
	const char *producer;		/* for messages: who should make it, or NULL */
	struct rama_emu_tally *tally;	/* what was done with it, or NULL */
	bool unbooked;			/* for now its tally stays as it is */
	struct rama_emu_handle *handle; /* the runner's while it is open, else NULL */
	struct rama_emu_unit *next_open;
};

struct rama_emu_step {
	enum rama_emu_do what;
	struct rama_emu_unit
		*unit; /* belongs to the maker; stays valid until its CLOSE, READY or REMOVE */
	uint32_t task; /* index for the books: maker's names, 0 if it has none */
	int flags;     /* of open */
	int64_t offset, length;
	double seconds;
	bool strict; /* of a wait: without the file there is no going on */
	bool alone;  /* a request that only this rank of the file's group makes */
	int (*call)(void *ctx, struct rama_emu_step *s, struct rama_err *e);
	void *ctx;
};

struct rama_emu_stream {
	/* 1: *s is the next step; 0: no more; negative: error */
	int (*next)(struct rama_emu_stream *me, struct rama_emu_step *s, struct rama_err *e);
	void *ctx;
};

struct rama_emu_run_options {
	struct rama_emu_own *own; /* files that may be written */
	const struct rama_emu_engine *engine;
	struct rama_emu_engine_options opt;
	bool verify; /* reads are checked */
	bool cold;   /* page cache dropped (posix_fadvise) before reads */
	uint64_t seed;
	double timeout; /* of one WAIT */
	double speed;	/* compute times are divided by it; 0: none at all */
	bool spin;	/* compute by computing, not by sleeping */
	/* buffers keep what they hold: for measuring alone; nothing can be verified */
	bool no_fill;
	bool fill_once;		 /* they are filled when they are new, and keep that */
	double rate;		 /* bytes per second of this rank at most; 0: as fast as it goes */
	bool record;		 /* keep spans for the Gantt chart */
	void (*tick)(void *ctx); /* called now and then while data are moved, or NULL */
	void *tick_ctx;
};

/* what was measured, of one rank; merged on rank 0 */
struct rama_emu_tally {
	uint64_t reads, writes, opens, syncs, waits, metas;
	uint64_t bytes_read, bytes_written;
	double read_time, write_time, open_time, sync_time, wait_time, compute_time;
	/* of a rank: time in which requests were under way, however many at once */
	double read_busy, write_busy;
	double first, last;	    /* on rank 0's clock */
	double max_read, max_write; /* longest single one */
	struct rama_emu_check_result flaws;
};

struct rama_emu_span { /* for charts */
	uint32_t task, rank, iteration;
	uint8_t what; /* enum rama_emu_do */
	double start, end;
	uint64_t bytes;
};

/* latency.c */
#define RAMA_EMU_LATENCY_BINS 272
struct rama_emu_latency {
	uint64_t n[RAMA_EMU_LATENCY_BINS];
};
void rama_emu_latency_add(struct rama_emu_latency *l, double seconds);
void rama_emu_latency_join(struct rama_emu_latency *to, const struct rama_emu_latency *x);
/* share 0.5: the median; within 5 % of it */
double rama_emu_latency_at(const struct rama_emu_latency *l, double share);

struct rama_emu_books {
	struct rama_emu_tally rank;	     /* of this rank */
	struct rama_emu_latency read, write; /* requests of this rank */
	struct rama_emu_tally *task;	     /* by task index, n_tasks */
	uint32_t n_tasks;
	struct rama_emu_span *spans;
	size_t n_spans, room_spans;
};
void rama_emu_books_fini(struct rama_emu_books *b);
void rama_emu_books_span(struct rama_emu_books *b,
			 const struct rama_emu_span *s); /* without memory the chart lacks it */

/* What a unit is called until it is complete; `room` bytes. */
const char *rama_emu_unit_partial(const struct rama_emu_own *own, const struct rama_emu_unit *u,
				  char *to, size_t room);

/* Makes the kernel forget what it holds of a file, as far as it will. */
void rama_emu_drop_cache(const char *path);

/* 1 when the file is there in its full size (-1: any), 0 when time is over or `give_up` says so.
 * Sleeps in between: told by the kernel where it can be, else looking now and then, at most some
 * ten times a second. */
int rama_emu_wait_file(const char *path, int64_t size, double seconds, struct rama_err *e);

void rama_emu_tally_add(struct rama_emu_tally *to, const struct rama_emu_tally *x);

/* Carries out a stream; the first thing that goes wrong ends it with an error that names file,
 * offset and reason. */
int rama_emu_run_stream(struct rama_emu_stream *stream, const struct rama_emu_run_options *opt,
			struct rama_emu_team *team, struct rama_emu_books *books,
			struct rama_err *e);

#endif
