/* SPDX-License-Identifier: BSD-3-Clause */
/* times.h: what heat maps and traces become while they are read. Memory follows from ranks and a
 * fixed number of bins, whatever the number of segments. */
#ifndef RAMA_JOB_TIMES_H
#define RAMA_JOB_TIMES_H

#include "job/work.h"

/* ---- heat map records: heat.c ---------------------------------------------------------------- */

#define RAMA_JOB_BIN_WORDS (RAMA_JOB_VIEW_BINS / 64)

struct rama_job_layer_heat {
	bool used;
	unsigned bins, rows;
	double width;
	double *sum[2], *max[2]; /* rows x bins */
	double *rank_bytes[2];	 /* nprocs */
	double bin_bytes[2][RAMA_JOB_VIEW_BINS];
	/* nprocs: bit per bin in which the rank moved data */
	uint64_t (*active)[RAMA_JOB_BIN_WORDS];
};

struct rama_job_heat_maps {
	struct rama_job_layer_heat layer[RAMA_JOB_LAYERS];
};

/* ---- traces: trace.c ------------------------------------------------------------------------- */

enum {
#define TRACED(layer, ...) RAMA_JOB_TRACED_##layer,
#include "table/layers.def"
	RAMA_JOB_TRACED_LAYERS
};
extern const uint8_t rama_job_traced_layer[RAMA_JOB_TRACED_LAYERS];

/* one access, times since the start of the job */
struct rama_job_access {
	uint32_t file;
	int64_t rank; /* in the view; -1: of nobody */
	uint8_t kind; /* 0 write, 1 read */
	uint32_t thread;
	int64_t offset, length;
	double start, end;
};

/* what one rank did in one bin */
struct rama_job_cell {
	double bytes[2];
	double busy;	   /* seconds inside operations */
	double last;	   /* end of the last one */
	uint32_t count[2]; /* that began here */
	uint32_t file;	   /* longest that began here: */
	uint32_t kind;
	int64_t offset, length;
	double start, end;
};

struct rama_job_layer_trace {
	uint64_t segments;
	int64_t bytes[2];
	struct rama_job_cell **row; /* nprocs; NULL: it has none */
	double *rank_bytes[2];
	double bin_bytes[2][RAMA_JOB_VIEW_BINS];
	uint64_t size_count[2][RAMA_JOB_SIZE_BINS];
	double size_bytes[2][RAMA_JOB_SIZE_BINS], size_time[2][RAMA_JOB_SIZE_BINS];
	bool whole; /* it moved as much as the counters say */
};

/* Time in fine slots, for phases: at any moment in one, was somebody busy? */
#define RAMA_JOB_SLOTS 16384
struct rama_job_slots {
	int32_t open[RAMA_JOB_SLOTS + 1]; /* change of the number of accesses that touch it */
	int32_t full[RAMA_JOB_SLOTS + 1]; /* ... that cover all of it */
	double part[RAMA_JOB_SLOTS];	  /* seconds of those that cover a part of it */
	double first[RAMA_JOB_SLOTS],
		last[RAMA_JOB_SLOTS]; /* first start and last end in it; first < 0: none */
};

struct rama_job_trace {
	unsigned bins;
	double width; /* of a bin */
	double slot_width;
	struct rama_job_layer_trace layer[RAMA_JOB_TRACED_LAYERS];
	struct rama_job_slots *slots[2]; /* 0: POSIX and STDIO, 1: MPI-IO */
	bool bad;			 /* damaged: something is missing */
	struct rama_job_view_op *ops;	 /* heap by duration once it is full */
	size_t n_ops;
	bool heap;
	uint64_t wanted; /* operations that ops would hold if there were room */
	struct rama_job_view_offsets offsets[RAMA_JOB_OFFSET_FILES];
	unsigned n_offsets;
	unsigned drawn;		   /* bit per grid that has something */
	struct rama_job_run *runs; /* conflicts.c */
	size_t n_runs, runs_room;
};

/* single operations and offsets that pages show */
int rama_job_ops_finish(struct rama_job_view *v);

/* conflicts.c: is the place of its accesses to be kept? They are, as long as there is room; then
 * they are compared. 0 or RAMA_EMEMORY */
bool rama_job_runs_wanted(const struct rama_job_view *v, uint32_t file);
int rama_job_runs_add(struct rama_job_trace *t, const struct rama_job_access *a);

/* phases.c */
struct rama_job_slots *rama_job_slots_create(void);
void rama_job_slots_add(struct rama_job_slots *s, double width, double start, double end);
int rama_job_phases_finish(struct rama_job_view *v);

#endif
