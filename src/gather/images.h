/* SPDX-License-Identifier: BSD-3-Clause */
/* images.h: the segments of a job while they become one log; internal to gather. */
#ifndef RAMA_GATHER_IMAGES_H
#define RAMA_GATHER_IMAGES_H

#include "base/map.h"
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
	/* of daemons and servers: what they did for the job's threads; and what not, as a text */
	struct rama_gather_image *served;
	size_t n_served;
	struct rama_map threads; /* by host and number: whether they are the job's */
	char others[400];
	uint64_t left_out; /* calls that made no event because an agent chose others */
	char command[RAMA_LOG_JOB_REGION]; /* of the job; longer ones are cut in any log */
};

/* ranks.c: which segments are of one process, and which rank that is; sorts the images by it */
int rama_gather_rank(struct rama_gather_work *k);

/* served.c: after the logs of all processes are there */
int rama_gather_served_make(struct rama_gather_work *k);
void rama_gather_served_fini(struct rama_gather_work *k);

/* job.c: bytes of the log of an image, in the temporary file */
int rama_gather_temp_write(void *image, uint64_t off, const void *bytes, size_t n,
			   struct rama_err *e);
int rama_gather_temp_read(void *image, uint64_t off, void *buf, size_t n, struct rama_err *e);

#endif
