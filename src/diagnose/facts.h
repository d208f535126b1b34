/* SPDX-License-Identifier: BSD-3-Clause */
/* facts.h: what rules know of a job, made from the rows of facts.def. Numbers only: pure, one
 * pass over the files. */
#ifndef RAMA_DIAGNOSE_FACTS_H
#define RAMA_DIAGNOSE_FACTS_H

#include "diagnose/diagnose.h"

/* values of all limits, in the order of table/limits.def */
struct rama_diag_limit_values {
#define LIMIT(name, ...) double name;
#include "table/limits.def"
#undef LIMIT
};

#define SUM(name, ...) double name;
#define RATIO(name, ...)
#define JOB(name, ...)
/* of one file, or added up over some */
struct rama_diag_sums {
#include "diagnose/facts.def"
#undef SUM
#undef RATIO
#define SUM(name, ...)
#define RATIO(name, ...) double name;
	/* of the sums: see rama_diag_sums_ratios() */
#include "diagnose/facts.def"
};
#undef RATIO
#undef JOB
#define RATIO(name, ...)
#define JOB(name, ...) double name;

struct rama_diag_facts {
	struct rama_diag_sums all; /* over all files */
#include "diagnose/facts.def"
	const struct rama_job_view *view;
	struct rama_diag_limit_values limits;
	/* where they are in the view, for evidence */
	struct rama_diag_chunk_facts *chunks; /* of each file of the view, NULL: no datasets */
	const char *slow_server, *full_server, *turn_file; /* names; NULL: none */
	double slow_input; /* I/O time of the slowest rank with input */
	const struct rama_job_view_phase *worst_phase;
	const struct rama_job_view_file *slow_op_file;
};
#undef SUM
#undef RATIO
#undef JOB

/* datasets of one file whose most frequent access is compared with their chunks */
struct rama_diag_chunk_facts {
	double accesses, partial;
	double bytes, access; /* of the dataset with most partial accesses */
	const char *worst;    /* its name */
	double most;
};

/* what the sums of one file are made of (facts_file.c); [0] writes, [1] reads */
struct rama_diag_file_parts {
	const struct rama_job_view_file *file;
	double count; /* files that it stands for, 0: only looked for */
	double users; /* ranks that share it */
	bool mpi, daos, tiny, several, parallel, home;
	double disk_ranks, waits, slow_call, slow_lost, slow_small;
	double tiny_time, slow_target_lost;
	double stalls, stall_calls, stall_time, stall_all, stall_lost;
	double ask_each, change_each, sync_each, list_each; /* of calls that EXTRA counts */
	double changes, wait_time;
	double open_time, stat_time, seek_time, rename_time;
	double sync_time; /* at least: part of the time of writes */
	double disk_time, disk_bytes, size, slowest;
	double small[2], small_bytes[2], small_time[2], small_lost[2], lost[2];
	double judged[2], random[2], consec[2], excess[2];
	double random_time[2], random_lost[2];
	double unaligned, unaligned_time, unaligned_lost;
	double stdio_lost, stdio_direct;
	double mpi_small[2], mpi_tiny[2], indep_lost[2], indep_small;
	double indep_time[2], indep_bytes[2], coll_time[2], coll_bytes[2];
	double modify_read, unasked_time, over[2], over_time[2];
	double h5_own, unpack_time;
	double library_calls, library_bytes, library_time, library_below;
	double chunk_accesses, chunk_partial, chunk_bytes, chunk_access;
	double input_reads, input_bytes, input_time;
	double again; /* bytes that were read before, of a file that is read whole each time */
	double async_time, async_lost, async_deep;
	double daos_calls[2], daos_bytes[2], daos_small[2], daos_lost;
};

/* 0 or RAMA_EMEMORY; call rama_diag_facts_fini() in any case */
int rama_diag_facts_make(struct rama_diag_facts *f, const struct rama_job_view *v,
			 const struct rama_diag_profile *p);
void rama_diag_facts_fini(struct rama_diag_facts *f);
/* the sums of one file, ratios included */
void rama_diag_facts_file(const struct rama_diag_facts *f, const struct rama_job_view_file *file,
			  struct rama_diag_sums *x);
void rama_diag_sums_add(struct rama_diag_sums *to, const struct rama_diag_sums *x);
void rama_diag_sums_ratios(struct rama_diag_sums *x);

/* the longest read or write of a POSIX record: what it took beyond the mean of the others, as if
 * they were as large; all 0 where there are no others */
struct rama_diag_longest {
	double time, bytes, mean, lost;
};
struct rama_diag_longest rama_diag_longest_of(const union rama_core_word *w, bool read);

/* stalls.c: calls of a trace that take far longer than most of the same size */
void rama_diag_stalls(struct rama_diag_file_parts *t, const struct rama_diag_facts *f);
/* ... and opens and reads that wait for another process */
void rama_diag_waits(struct rama_diag_file_parts *t, const struct rama_diag_facts *f);

/* facts_library.c: of one file */
void rama_diag_library_file(struct rama_diag_file_parts *t, const struct rama_diag_facts *f);

/* facts_serial.c: processes that run one after the other, ranks that write one after the other */
void rama_diag_facts_serial(struct rama_diag_facts *f);
void rama_diag_facts_relay(struct rama_diag_facts *f);

/* facts_loader.c: of one file, given its sizes; processes that read for another; reading and
 * computing in turn, given the slowest rank and the heat map */
void rama_diag_loader_file(struct rama_diag_file_parts *t, const struct rama_diag_facts *f);
void rama_diag_loader_workers(struct rama_diag_facts *f);
void rama_diag_loader_turns(struct rama_diag_facts *f);

/* facts_job.c, given the sums */
int rama_diag_facts_job(struct rama_diag_facts *f);
/* facts_path.c: of what is below the file system, if it was observed */
void rama_diag_facts_path(struct rama_diag_facts *f);

/* a fact by its name: of `x` if it is of files, else of the job; NULL: no such fact */
const struct rama_diag_fact *rama_diag_fact_find(const char *name, size_t len);
double rama_diag_fact_value(const struct rama_diag_fact *fact, const struct rama_diag_facts *f,
			    const struct rama_diag_sums *x);

/* counters that are not there or not monitored count as 0 */
static inline double rama_diag_count_of(const union rama_core_word *w, unsigned word)
{
	return w != NULL && w[word].i > 0 ? (double)w[word].i : 0;
}
static inline double rama_diag_time_of(const union rama_core_word *w, unsigned word)
{
	/* more than 30,000 years are damage; sums of them stay numbers */
	return w != NULL && w[word].f > 0 && w[word].f < 1e12 ? w[word].f : 0;
}

/* facts_meta.c: of calls that move nothing */
void rama_diag_facts_meta(struct rama_diag_file_parts *t);

#endif
