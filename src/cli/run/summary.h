/* SPDX-License-Identifier: BSD-3-Clause */
/* run_summary.h: the few lines that `iorama run` prints of a log: the short form of its report,
 * and what only run knows. */
#ifndef RAMA_CLI_RUN_SUMMARY_H
#define RAMA_CLI_RUN_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "cli/opts.h"
#include "logfile/unseen.h"

struct rama_cli_run_live;

struct rama_cli_run_summary {
	/* what the log does not know; set by the caller */
	const char *log; /* its path */
	int exit, signal;
	size_t running;		/* processes that go on */
	const char *place;	/* directory of their segments */
	const char *unobserved; /* one line about the command, or NULL */
	enum rama_unseen why;	/* the reason that it tells */
	/* programs that had no room; how many of them said how many calls they made */
	int64_t unplaced, told, unplaced_calls;
	uint64_t moved;	 /* processes whose segments were in a spare directory */
	const char *odd; /* why segments were not where one would look for them, or NULL */
	const struct rama_cli_run_live *live; /* its events; NULL: not asked for */

	/* from the log */
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
	bool partial;  /* some module lacks data */
	char *missing; /* ranks that are not in the log: "3,7-9"; NULL: none */
	int64_t quiet; /* processes that confined themselves, and were not recorded after that */
	/* programs that could not be observed, the command too */
	struct rama_log_unseen_sum unseen;
	bool unknown_mpi; /* processes had an MPI of which nothing could be observed */
};

/* Fills in what the log tells, in one pass over it. */
int rama_cli_run_summary_read(struct rama_cli_run_summary *s, struct rama_err *e);
void rama_cli_run_summary_text(const struct rama_cli_run_summary *s,
			       /* on standard error */
			       const struct rama_cli_opts *o);
void rama_cli_run_summary_json(const struct rama_cli_run_summary *s, FILE *f); /* one line */
void rama_cli_run_summary_fini(struct rama_cli_run_summary *s);

#endif
