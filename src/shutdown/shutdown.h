/* SPDX-License-Identifier: BSD-3-Clause */
/* shutdown.h: the end of a parallel job. All ranks call rama_shutdown() and make one log
 * together: files that every rank used become one record along a tree, each rank compresses what
 * is its own, a few writers put the pieces into one file. It knows nothing of MPI: ranks reach
 * each other through struct rama_shutdown_comm.
 *
 * A rank that does not answer costs its own data, never the job: the log says which ranks are
 * missing. Only rank 0 must be there. Nobody waits longer than the limit; no rank holds the
 * records of others. */
#ifndef RAMA_SHUTDOWN_SHUTDOWN_H
#define RAMA_SHUTDOWN_SHUTDOWN_H

#include "gather/gather.h"

/* How ranks reach each other. Messages between two ranks with the same tag arrive in order. */
struct rama_shutdown_comm {
	int64_t rank, size;
	/* Returns when `buf` may be used again; a receiver that never takes it must not block
	 * the sender for ever. An error counts as a message that does not arrive. */
	int (*send)(void *ctx, int64_t to, int tag, const void *buf, size_t n);
	/* *buf is the caller's to free. RAMA_EMISSING: none came in time; 0 s or less only looks
	 * once. */
	int (*recv)(void *ctx, int64_t from, int tag, void **buf, size_t *n, double timeout_s);
	double (*now)(void *ctx); /* seconds of a clock that never goes back */
	void *ctx;
};
#define RAMA_SHUTDOWN_TAGS 16 /* tags are below this */

/* ---- what a rank has ------------------------------------------------------------------------- */

/* The log of one rank, not compressed, in memory. */
struct rama_shutdown_own {
	unsigned char *bytes;
	size_t n, room;
	size_t moved; /* bytes in front, so that records are aligned */
	struct rama_log_part part[RAMA_LOG_REGIONS]; /* off: in bytes + moved */
	uint64_t partial;
};

/* Takes a log from a rama_log_writer that was made with RAMA_LOG_PLAIN_BYTES, is `inner` and
 * writes newest versions. rama_shutdown_own_ready() comes after rama_log_writer_finish(). */
struct rama_log_sink rama_shutdown_own_sink(struct rama_shutdown_own *o);
int rama_shutdown_own_ready(struct rama_shutdown_own *o, struct rama_err *e);
/* both at once for the segment of this process; p->rank and p->nprocs are those of the job */
int rama_shutdown_own_from_segment(struct rama_shutdown_own *o, struct rama_seg *s,
				   const struct rama_gather_process *p, struct rama_err *e);
void rama_shutdown_own_fini(struct rama_shutdown_own *o);

/* ---- where the log goes ---------------------------------------------------------------------- */

struct rama_shutdown_place {
	char path[4096]; /* while it is being written */
	uint64_t mark;	 /* first 8 bytes of the file until it is complete */
};

/* The file as rank 0 and the writers see it. Others never call these. */
struct rama_shutdown_file {
	/* rank 0: makes the file, writes the mark into it, tells where it is */
	int (*create)(void *ctx, struct rama_shutdown_place *place, struct rama_err *e);
	/* another writer: opens that file; fails if it is not there or does not begin with the
	 * mark */
	int (*open)(void *ctx, const struct rama_shutdown_place *place, struct rama_err *e);
	int (*write)(void *ctx, uint64_t off, const void *bytes, size_t n, struct rama_err *e);
	/* after create or open: closes it. Rank 0 also gives it its final name, or removes it if
	 * it is not complete. */
	int (*finish)(void *ctx, bool complete, struct rama_err *e);
	void *ctx;
};

/* file.c: plain files; "<path>_partial" until complete */
struct rama_shutdown_disk {
	const char *path; /* of the log, used on rank 0; must not exist */
	bool creator;
	bool in_the_way; /* something of that name exists: it was left as it is */
	int fd;
	char partial[4096];
};
struct rama_shutdown_file rama_shutdown_disk_file(struct rama_shutdown_disk *d, const char *path);

/* ---- all of it ------------------------------------------------------------------------------- */

#define RAMA_SHUTDOWN_LIMIT 30.0 /* seconds */
#define RAMA_SHUTDOWN_WRITERS 4

struct rama_shutdown_options {
	/* seconds, one half to find who is there, one half for the rest; 0: default */
	double limit;
	unsigned writers; /* at most; 0: default */
	bool unreduced;	  /* leave files of every rank as one record of each */
	bool single;	  /* a job of one rank: its files are shared by all ranks, that is -1 */
	bool keep_last; /* modes, alignments and the like of the highest rank, not of the lowest */
	int level;	/* of compression; 0: 6 */
	struct rama_shutdown_file file;
};

struct rama_shutdown_result {
	int64_t missing;			 /* ranks that are not in the log */
	unsigned writers;			 /* that were used */
	uint64_t bytes;				 /* rank 0: of the log */
	uint64_t own_bytes;			 /* packed pieces of this rank */
	uint64_t partial;			 /* rank 0: flags of the log */
	double call, aggregate, compress, store; /* seconds in each phase, on this rank */
};

/* Every rank of the job calls it once. `own` is used up (not freed): its times become those of
 * the job. NULL: this rank could not make its records; it does its part for the others and is
 * named as missing. 0: the log is complete and holds this rank's data. Else what the rank
 * recorded is not in a log and its segment should stay: RAMA_EMISSING (left out, or rank 0 is
 * not there), or why no log was made. */
int rama_shutdown(const struct rama_shutdown_comm *comm, struct rama_shutdown_own *own,
		  const struct rama_shutdown_options *opt, struct rama_shutdown_result *result,
		  struct rama_err *e);

#endif
