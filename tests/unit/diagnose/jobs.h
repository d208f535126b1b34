/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.h: jobs put together by hand, as a view has them: a few files and ranks whose figures the
 * test knows. */
#ifndef RAMA_TESTS_UNIT_JOBS_H
#define RAMA_TESTS_UNIT_JOBS_H

#include "diagnose/engine.h"
#include "table/index.h"

#define JOB_FILES 16
#define JOB_RANKS 64

struct job {
	struct rama_job_view v;
	struct rama_job_view_file file[JOB_FILES];
	struct rama_job_view_rank rank[JOB_RANKS];
	union rama_core_word posix[JOB_FILES][RAMA_TAB_POSIX__WORDS],
		mpiio[JOB_FILES][RAMA_TAB_MPIIO__WORDS];
	struct rama_diag_profile p;
};

/* a complete job without files; call job_end() */
void job_begin(struct job *j, int64_t ranks, double run_time);
/* a file of one rank, or of all (rank -1); its POSIX record is j->posix[index], zero so far */
struct rama_job_view_file *job_file(struct job *j, const char *name, int64_t rank);
/* also used through MPI-IO: j->mpiio[index] */
void job_mpiio(struct job *j, struct rama_job_view_file *file);
/* `calls` writes of `size` bytes that took `time` seconds in all, one after the other */
void job_writes(struct job *j, struct rama_job_view_file *file, int64_t calls, int64_t size,
		double time);
/* figures of ranks and of the job, from those of the files */
void job_add_up(struct job *j);
void job_end(struct job *j);

/* the finding of a rule, or NULL */
const struct rama_diag_finding *finding(const struct rama_diag *d, const char *rule);

#endif
