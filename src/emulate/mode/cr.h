/* SPDX-License-Identifier: BSD-3-Clause */
/* cr.h: internal to cr.c and cr_*.c: sets of checkpoint files in a directory.
 *
 *   ckpt.SET.RANK.FILE   one file of a writer; ckpt.SET.RANK.FILE.part until it is complete
 *   ckpt.SET.done        the manifest, written last: the set is complete if all files that it
 *                        tells of are there in full size
 *   ckpt.job             there while a job has not come to its end: what a killed one cannot
 *                        remember
 *
 * A set is known by its number, never by times. */
#ifndef RAMA_EMULATE_MODE_CR_H
#define RAMA_EMULATE_MODE_CR_H

#include "emulate/emulate.h"

/* ---- cr_sets.c: one process looks into one directory ---------------------------------------- */

#define RAMA_EMU_SET_PATH 4400 /* bytes that the path of any file of a set has room in */

/* what a set is made of */
struct rama_emu_cr_shape {
	uint32_t writers, files; /* ranks that write, files of each */
	int64_t size;		 /* bytes of data in a file */
	uint64_t seed;
	char form[16]; /* "plain", or the engine whose files have a format of their own */
};

/* the text of a manifest: false if it is not one of this set; and the other way round (512 bytes
 * are enough) */
bool rama_emu_shape_parse(const char *text, uint64_t set, struct rama_emu_cr_shape *shape);
void rama_emu_shape_put(const struct rama_emu_cr_shape *shape, uint64_t set, char *to, size_t room);
void rama_emu_set_file(const char *dir, uint64_t set, uint32_t rank, uint32_t file,
		       char to[RAMA_EMU_SET_PATH]);
/* The highest number below `below` that has a readable manifest, and its shape; 0: there is
 * none. */
int rama_emu_sets_next(const char *dir, uint64_t below, uint64_t *set,
		       struct rama_emu_cr_shape *shape, struct rama_err *e);
/* Are all files of this writer there in full size? */
bool rama_emu_set_has(const char *dir, uint64_t set, const struct rama_emu_cr_shape *shape,
		      uint32_t writer);
bool rama_emu_set_marked(const char *dir, uint64_t set);
/* Writes the manifest; all files are on disk already. `rank` keeps those apart who do it at
 * once. */
int rama_emu_set_commit(struct rama_emu_own *own, const char *dir, uint64_t set,
			const struct rama_emu_cr_shape *shape, int rank, struct rama_err *e);
/* Of what follows each removes only what is ours. */
/* the files of one writer, whole and half-written */
void rama_emu_set_drop(struct rama_emu_own *own, const char *dir, uint64_t set, uint32_t writer,
		       uint32_t files);
/* all sets but the newest `keep`, and but `spare`: first the manifests */
int rama_emu_sets_prune(struct rama_emu_own *own, const char *dir, uint64_t keep, uint64_t spare,
			struct rama_err *e);
/* what a crash left: sets above `newest`, files without a manifest, half-written ones */
int rama_emu_sets_tidy(struct rama_emu_own *own, const char *dir, uint64_t newest,
		       struct rama_err *e);
/* Is there anything above `newest`, or in the way of the job, that is not ours? */
int rama_emu_sets_check(struct rama_emu_own *own, const char *dir, uint64_t newest,
			struct rama_err *e);

struct rama_emu_cr_job {
	uint64_t base; /* set that was there before it began */
	uint64_t crashes, written;
	double lost, cost,
		seconds; /* work lost, time in checkpoints, time in all: of runs that were killed */
};
bool rama_emu_cr_job_parse(const char *text, struct rama_emu_cr_job *job);
bool rama_emu_cr_job_read(const char *dir, struct rama_emu_cr_job *job); /* false: there is none */
int rama_emu_cr_job_write(struct rama_emu_own *own, const char *dir,
			  const struct rama_emu_cr_job *job, struct rama_err *e);
void rama_emu_cr_job_end(struct rama_emu_own *own, const char *dir);
/* Waits until no process of an earlier run is left that could write there; then this one holds
 * the directory, with others of its run. *fd is closed at the end. File systems without locks
 * are trusted. */
int rama_emu_cr_lock(const char *dir, double seconds, int *fd, struct rama_err *e);
void rama_emu_cr_join(const char *dir, int *fd); /* the other ranks */

/* ---- ... copies from the fast place to the safe one, in a thread ---------------------------- */

struct rama_emu_copy_order {
	struct rama_emu_own *own;
	const char *from, *to;
	uint64_t set;
	struct rama_emu_cr_shape shape;
	uint32_t first, step; /* writers: first, first + step, ... */
};
struct rama_emu_copy;
struct rama_emu_copy *rama_emu_copy_start(const struct rama_emu_copy_order *order,
					  struct rama_err *e);
bool rama_emu_copy_done(struct rama_emu_copy *c); /* it can be ended without waiting */
/* Waits, or (`give_up`) makes it stop where it is; adds the time that it took. */
int rama_emu_copy_end(struct rama_emu_copy *c, bool give_up, double *seconds, struct rama_err *e);

/* ---- the run -------------------------------------------------------------------------------- */

struct rama_emu_cr {
	struct rama_emu_emulation *m;
	const char *safe, *fast;	/* directories */
	struct rama_emu_cr_shape shape; /* of the sets that this run writes */
	bool staging, kill, files;	/* files: the engine makes any */
	bool writer, leader;		/* leader: the first rank of its node */
	double interval, mtbf;		/* seconds as asked for */
	double chance;			/* of a crash in one round */
	uint64_t count;			/* checkpoints to write; 0: as many as there will be */
	bool goes_on;			/* after a crash, too */
	uint64_t last;			/* complete set; 0: none */
	struct rama_emu_cr_shape last_shape;
	uint64_t in_safe; /* newest one that is complete in the safe place */
	uint64_t writing; /* set that is not complete yet, 0: none */
	struct rama_emu_copy *copy;
	uint64_t copying; /* set that is being copied, 0: none */
	struct rama_emu_cr_shape copy_shape;
	struct rama_emu_cr_job job;
	double since, began; /* start of the work that a crash would lose; of the run */
	uint64_t written, restarts, copied, started_from;
	double copy_time, restart_time;
	struct rama_out from; /* rank 0: sets that were restarted from */
	int lock;
	bool entered; /* files may have been made */
};

static inline const char *rama_emu_cr_here(const struct rama_emu_cr *c)
{
	return c->staging ? c->fast : c->safe;
}

/* cr_files.c */
/* The files of this rank. `stop`: share of the requests after which it crashes; 1: it does not. */
int rama_emu_cr_write(struct rama_emu_cr *c, uint64_t set, double stop, struct rama_err *e);
/* Every rank reads its own files, or those of a writer that stands for it. Wrong contents are an
 * error at once. */
int rama_emu_cr_read(struct rama_emu_cr *c, const char *dir, uint64_t set,
		     const struct rama_emu_cr_shape *shape, struct rama_err *e);

#endif
