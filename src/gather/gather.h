/* SPDX-License-Identifier: BSD-3-Clause */
/* gather.h: the segments of a job become one log. Used by the observed process itself at its end
 * and by whoever finishes what processes left behind. */
#ifndef RAMA_GATHER_GATHER_H
#define RAMA_GATHER_GATHER_H

#include "logfile/unseen.h"
#include "logfile/writer.h"
#include "segment/segment.h"

/* what is known of a process from outside its segment */
struct rama_gather_process {
	int64_t rank;	     /* in the log */
	int64_t parent_rank; /* -1: not known */
	int64_t nprocs;
	int64_t images;
	int64_t ended; /* PROCESS_ENDED */
#define RAMA_GATHER_ENDED_QUIET 4
#define RAMA_GATHER_ENDED_STOPPED 5
	bool incomplete;  /* set RAMA_LOG_PARTIAL_END: the process did not end by itself */
	const char *note; /* "key=value\n" lines for the metadata, or NULL */
};

/* what a segment says of programs that could not be observed, added */
void rama_gather_unseen(struct rama_log_unseen_sum *to, const struct rama_seg_state *s);

/* One segment as a log of one process, without the header (rama_log_writer_finish() is the
 * caller's, with *partial). Used for bare preload. */
int rama_gather_one(struct rama_seg *s, const struct rama_gather_process *p,
		    struct rama_log_writer *w, uint64_t *partial, struct rama_err *e);

struct rama_gather_served {
	const char *log; /* its path */
	uint64_t calls;	 /* of it that are the job's: set by rama_gather_job() */
};

struct rama_gather_options {
	bool reduce;	     /* files of every rank become one record */
	bool incomplete;     /* mark the log: some process is missing or did not end */
	const char *note;    /* more metadata lines, or NULL */
	int64_t jobid;	     /* < 0: that of the first segment */
	const char *command; /* of the job; NULL: that of rank 0 */
	/* programs of which no segment tells; NULL: none */
	const struct rama_log_unseen_sum *unseen;
	/* logs that ranks of the job have made themselves, to be joined with the segments */
	const char *const *logs;
	size_t n_logs;
	/* logs of FUSE daemons and file servers: what they did for the job's threads becomes part
	 * of its calls */
	struct rama_gather_served *served;
	size_t n_served;
	void (*progress)(void *ctx, size_t done, size_t of);
	void *ctx;
	/* told what could not be read, one line each */
	void (*problem)(void *ctx, const char *line);
};

struct rama_gather_result {
	int64_t nprocs;
	uint64_t partial;
	size_t unreadable; /* segments that gave nothing */
	size_t unfinished; /* processes that did not end by themselves */
	size_t followed;   /* programs that another process wrote the segments of */
	size_t quiet;	   /* processes that confined themselves: nothing was recorded after that */
	uint64_t lost, missed, folded;
};

/* All segments of one job into one log at `out` (atomically; "-" is standard output). Images of one
 * process (exec) share a rank. */
int rama_gather_job(const char *const *paths, size_t n, const char *out,
		    const struct rama_gather_options *opt, struct rama_gather_result *result,
		    struct rama_err *e);

/* ---- segments on this machine: find.c -------------------------------------------------------- */

/* Does its process live? 1 yes, 0 no, -1 it cannot be known from here (another machine). */
int rama_gather_alive(const struct rama_seg *s);
/* Is it certain that its process will write no more? */
bool rama_gather_gone(const struct rama_seg *s);
/* For a process without an end: takes the length of a tick from this machine's clocks if the
 * segment is of this boot, and if the process lives, now as its end. */
void rama_gather_clock(struct rama_seg *s);

struct rama_gather_list {
	char **path; /* sorted by name; those of pack.h among them */
	size_t n;
};

int rama_gather_list_add(struct rama_gather_list *list, const char *dir, const char *name);
/* The segments of a job: the files "*.seg" in its directory and in its spare ones (place.h),
 * links left out, and those that were packed there (pack.h). */
int rama_gather_find(struct rama_gather_list *list, const char *dir, struct rama_err *e);
void rama_gather_list_fini(struct rama_gather_list *list);

#endif
