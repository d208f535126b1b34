/* SPDX-License-Identifier: BSD-3-Clause */
/* job_parts.h: the segments of a job while they become one log; internal to gather. */
#ifndef RAMA_GATHER_JOB_PARTS_H
#define RAMA_GATHER_JOB_PARTS_H

#include "gather/made.h"

/* one segment: a program that a process ran */
struct rama_gather_image {
	const char *path;
	char host[64], boot[40];
	int64_t pid, ppid, jobid;
	uint64_t pid_start, real0;
	int64_t mpi, world;	/* rank and size of its MPI job; negative: none */
	uint64_t start;		/* ns of real time, as exact as the system keeps it */
	int64_t process;	/* rank of its process */
	int64_t images, number; /* of its process, and which of them this is */
	int64_t parent;		/* rank, or -1 */
	int64_t ended;
	bool unfinished, keep_last, unknown_mpi, quiet;
	/* exec took place, nobody said what for, and what came then ended without a trace */
	bool gone;
	uint64_t off, len; /* its log in the temporary file */
	struct rama_log log;
	struct rama_source src; /* of that log */
	struct rama_gather_work *work;
	bool opened;
};

struct rama_gather_work {
	const struct rama_gather_options *opt;
	struct rama_gather_result *result;
	struct rama_err *e;
	struct rama_gather_image *image;
	size_t n;
	struct rama_gather_made made;
	struct rama_ranges missing; /* ranks of which nothing is there */
	struct rama_log_unseen_sum unseen;
	const char *out; /* path of the log */
	int temp;
	unsigned temps; /* places that were tried for it */
	uint64_t temp_end;
	struct rama_seg seg; /* the one that is open */
	size_t done, steps;
	char command[RAMA_LOG_JOB_REGION]; /* of the job; longer ones are cut in any log */
};

/* ranks.c: which segments are of one process, and which rank that is; sorts the images by it */
int rama_gather_rank(struct rama_gather_work *k);

#endif
