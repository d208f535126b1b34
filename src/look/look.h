/* SPDX-License-Identifier: BSD-3-Clause */
/* look.h: what runs now, from the segments of running processes: jobs, their processes (ranks),
 * files, rates since the look before, calls that are at work. Nothing is asked of the processes;
 * they do not notice. Segments are hostile: nonsense in them gives nonsense figures, never a
 * read outside. Clocks, /proc and directories are the caller's choice.
 *
 *   rama_look_create(&l, &options, &e);
 *   rama_look_take(l, &e);             once per interval; gains are those since the take before
 *   l->job[i]->process[k]->...          plain data, valid until the next take
 *   rama_look_destroy(l);
 *
 * Names of segment/ do not go together with those of job/: this header needs neither. */
#ifndef RAMA_LOOK_LOOK_H
#define RAMA_LOOK_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "table/table.h"

/* ---- figures --------------------------------------------------------------------------------- */

struct rama_look_io {
	int64_t reads, writes, metas; /* calls; metas: opens, stats, seeks, syncs and the like */
	int64_t bytes_read, bytes_written;
	double read_time, write_time, meta_time; /* seconds, added over threads */
};

/* kinds of records, by their numbers in segments; not all have such figures */
#define RAMA_LOOK_LAYERS RAMA_TAB_KINDS
extern const char *const rama_look_layer_name[RAMA_LOOK_LAYERS]; /* POSIX, STDIO, EXTRA, MPI-IO */

/* what moved in each of the last seconds */
#define RAMA_LOOK_TRAIL 60
struct rama_look_trail {
	int64_t second; /* of the newest place, 0: nothing yet */
	float read[RAMA_LOOK_TRAIL], written[RAMA_LOOK_TRAIL]; /* bytes; place: second % 60 */
	float ops[RAMA_LOOK_TRAIL];
};
/* The value `ago` seconds before the newest second (0: that one): bytes read and written. */
double rama_look_trail_bytes(const struct rama_look_trail *t, unsigned ago);

/* ---- a call that is at work ------------------------------------------------------------------ */

enum rama_look_class {
	RAMA_LOOK_CLASS_NONE, /* no I/O: accept, exec */
	RAMA_LOOK_CLASS_READ,
	RAMA_LOOK_CLASS_WRITE,
	RAMA_LOOK_CLASS_META
};

struct rama_look_call {
	const char *fn;
	enum rama_look_class class;
	uint32_t tid;
	int fd;		/* -1: it has none */
	double since;	/* seconds */
	bool file;	/* works on a file, or it is not known on what */
	char name[160]; /* of its file, cut at the front; "": not known */
};

#define RAMA_LOOK_CALLS 8 /* of a process that are told, the longest first */

/* ---- processes and jobs ---------------------------------------------------------------------- */

enum rama_look_state {
	RAMA_LOOK_RUNNING,
	RAMA_LOOK_ENDED,    /* by itself */
	RAMA_LOOK_REPLACED, /* another program took its place */
	RAMA_LOOK_KILLED,
	RAMA_LOOK_OFF /* runs, and observes itself no longer */
};

enum rama_look_wait {
	RAMA_LOOK_WAIT_GONE,
	RAMA_LOOK_WAIT_COMPUTE,
	RAMA_LOOK_WAIT_READ,
	RAMA_LOOK_WAIT_WRITE,
	RAMA_LOOK_WAIT_META
};
/* "", computing, reading, writing, metadata */
const char *rama_look_wait_name(enum rama_look_wait w);

/* live events */
struct rama_look_live {
	uint32_t on; /* bit per layer that is switched on; of jobs: of any process */
	uint64_t made, dropped, taken;
	int64_t reader; /* process id of the agent that reads them; 0: none */
};

struct rama_look_process {
	uint64_t number; /* stays its own as long as it is looked at */
	int64_t pid, uid, jobid;
	int64_t rank; /* of its MPI job, else in the order of start */
	bool mpi;
	int64_t start; /* ns since 1970 */
	char host[64], exe[256], command[512];
	char why[96]; /* RAMA_LOOK_OFF: why */
	enum rama_look_state state;
	bool here;    /* on this machine */
	double ended; /* seconds since its end was seen */
	uint32_t threads, files;
	struct rama_look_io total, gain; /* POSIX, STDIO and EXTRA: what reached the system */
	struct rama_look_io layer_total[RAMA_LOOK_LAYERS], layer_gain[RAMA_LOOK_LAYERS];
	/* seconds of the interval that its threads spent in I/O, at the top layer of each file,
	 * calls at work included; share: of one thread's time, at most 1 */
	double time_read, time_write, time_meta, share;
	double longest; /* seconds of its longest read or write so far */
	enum rama_look_wait wait;
	uint32_t n_calls; /* calls at work on files */
	struct rama_look_call call[RAMA_LOOK_CALLS];
	unsigned n_told; /* of them in `call` */
	struct rama_look_live live;
	struct rama_look_trail trail;
	struct rama_look_seg *seg; /* not for others */
};

struct rama_look_files;
struct rama_look_job {
	char key[128]; /* as the store has it: <uid>/<name>, with @<host> for jobs of one host */
	char name[96]; /* of its directory */
	char dir[480];
	int64_t uid, jobid;
	int64_t start; /* ns since 1970: of its first process */
	bool ended;
	double ended_since;
	struct rama_look_process *
		*process; /* by rank; those that were replaced or ended long ago are left out */
	size_t n, running;
	size_t gone; /* processes that are left out */
	size_t hosts;
	size_t unreadable; /* segments */
	struct rama_look_io total, gain;
	struct rama_look_io layer_total[RAMA_LOOK_LAYERS], layer_gain[RAMA_LOOK_LAYERS];
	double share; /* mean over processes that run */
	double longest;
	uint32_t n_calls;
	struct rama_look_live live;
	struct rama_look_trail trail;
	/* its files that move, as somebody else told them; NULL: they are looked for */
	const struct rama_look_files *told;
	struct rama_look_past *past; /* not for others */
};

struct rama_look_options {
	const char *const
		*dir; /* directories of jobs, or of one job; those that are not there hold none */
	size_t n_dirs;
	uint32_t uid;	  /* segments of this user only; UINT32_MAX: each directory's owner's */
	const char *proc; /* NULL: /proc */
	double linger;	  /* seconds that what has ended stays */
	/* The counter that a segment's times are in (enum rama_seg_clock_source), beside the
	 * clocks. NULL: this machine's */
	void (*now)(void *ctx, unsigned source, uint64_t *tick, uint64_t *mono, uint64_t *real);
	void *ctx;
};

struct rama_look {
	struct rama_look_job **job; /* by start, the newest last */
	size_t n;
	int64_t time;	 /* ns since 1970 */
	double interval; /* seconds since the take before; 0: there was none */
	uint64_t takes;
	/* where jobs come from that are not looked for on this machine; NULL: they are */
	int (*from)(struct rama_look *l, struct rama_err *e);
	void *ctx;			 /* of it */
	struct rama_look_state_all *all; /* not for others */
};

int rama_look_create(struct rama_look **l, const struct rama_look_options *o, struct rama_err *e);
int rama_look_take(struct rama_look *l, struct rama_err *e);
void rama_look_destroy(struct rama_look *l);

/* ---- files ----------------------------------------------------------------------------------- */

struct rama_look_file {
	uint64_t id;
	char *name;
	struct rama_look_io total,
		gain; /* at MPI-IO if it was used there and took longer, else below */
	double longest;
	uint32_t processes;
};
struct rama_look_files {
	struct rama_look_file *file;
	size_t n;
	size_t of; /* all there are */
};
enum rama_look_order {
	RAMA_LOOK_BY_RATE,
	RAMA_LOOK_BY_OPS,
	RAMA_LOOK_BY_TIME,
	RAMA_LOOK_BY_BYTES,
	RAMA_LOOK_BY_NAME
};
/* The first `most` files of a process, or of all of the job's (process NULL). */
int rama_look_files(struct rama_look_files *f, const struct rama_look_job *j,
		    const struct rama_look_process *p, enum rama_look_order order, size_t most,
		    struct rama_err *e);
/* Of n processes that have just been read, only those that they used since the look before; it
 * costs nothing while none is. */
int rama_look_files_moving(struct rama_look_files *f, const struct rama_look_process *const *p,
			   size_t n, size_t most, struct rama_err *e);
void rama_look_files_fini(struct rama_look_files *f);

/* ---- small words ----------------------------------------------------------------------------- */

static inline int64_t rama_look_ops(const struct rama_look_io *io)
{
	return io->reads + io->writes + io->metas;
}
static inline double rama_look_time(const struct rama_look_io *io)
{
	return io->read_time + io->write_time + io->meta_time;
}
/* mean seconds of a call; 0: there was none */
static inline double rama_look_latency(const struct rama_look_io *io)
{
	int64_t n = rama_look_ops(io);

	return n > 0 ? rama_look_time(io) / (double)n : 0;
}
void rama_look_io_add(struct rama_look_io *to, const struct rama_look_io *x);

#endif
