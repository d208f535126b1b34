/* SPDX-License-Identifier: BSD-3-Clause */
/* sum.h: the few figures of a log that `iorama run` ends with, from one pass over it. */
#ifndef RAMA_LAUNCH_RUN_SUM_H
#define RAMA_LAUNCH_RUN_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "logfile/unseen.h"

struct rama_launch_sum {
	char *command;
	int64_t nprocs;
	double run_time;
	double read_time, write_time, meta_time; /* of all processes */
	double share; /* of all processes' time that was spent in I/O, 0 to 1 */
	struct {
		int64_t rank, pid;
		double share;
		char *command;
	} busiest; /* process with the highest share */
	int64_t bytes_read, bytes_written, reads, writes;
	size_t files;
	char *slowest; /* file that took most time; NULL: none */
	double slowest_time;
	size_t unfinished; /* processes that did not end by themselves */
	int64_t lost, missed, folded;
	int64_t uring_missed; /* operations of io_uring */
	bool partial;	      /* some module lacks data */
	char *missing;	      /* ranks that are not in the log: "3,7-9"; NULL: none */
	int64_t followed;     /* programs that were followed from outside */
	int64_t quiet; /* processes that confined themselves, and were not recorded after that */
	/* programs that could not be observed, the command too */
	struct rama_log_unseen_sum unseen;
	bool unknown_mpi; /* processes had an MPI of which nothing could be observed */
};

int rama_launch_sum_read(struct rama_launch_sum *s, const char *path, struct rama_err *e);
void rama_launch_sum_fini(struct rama_launch_sum *s);

#endif
