/* SPDX-License-Identifier: BSD-3-Clause */
/* view.h: one job in memory, whatever it came from: one log, several logs of its parts, segments
 * of a job that runs. One pass over the bytes; memory is bounded by files x layers and by ranks,
 * never by traced segments.
 *
 *   struct rama_job_view v;
 *   rama_job_view_init(&v, &options);
 *   rama_job_view_add_log(&v, &log, &e);      once for each log of the job
 *   rama_job_view_finish(&v, &e);             figures that need all of it: ranks, heat maps,
 *                                             phases, groups
 *   ...
 *   rama_job_view_fini(&v);
 *
 * Everything is plain data, valid until fini. Times are seconds since the start of the job. */
#ifndef RAMA_JOB_VIEW_H
#define RAMA_JOB_VIEW_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "core/record.h"
#include "logfile/log.h"
#include "logfile/unseen.h"

/* layers, the one nearest to the application first: rows of table/layers.def */
enum rama_job_layer {
#define LAYER(symbol, ...) RAMA_JOB_LAYER_##symbol,
#include "table/layers.def"
	RAMA_JOB_LAYERS
};

struct rama_job_layer_info {
	const char *name;  /* of its module: POSIX, MPI-IO */
	const char *label; /* what people call it */
	uint8_t module;
	/* its records are parts of files (datasets, variables), rolled up into their file's */
	bool part;
};
extern const struct rama_job_layer_info rama_job_layer_info[RAMA_JOB_LAYERS];

/* what was moved and how long it took: of a file, a rank, a layer, the job. Times are added over
 * ranks. */
struct rama_job_io {
	int64_t reads, writes, metas; /* calls; metas: opens, stats, seeks, syncs and the like */
	int64_t bytes_read, bytes_written;
	double read_time, write_time, meta_time;
};
static inline double rama_job_io_time(const struct rama_job_io *io)
{
	return io->read_time + io->write_time + io->meta_time;
}
void rama_job_io_add(struct rama_job_io *to, const struct rama_job_io *x);
/* of a record in the newest layout (-1, "not monitored", counts as 0) */
struct rama_job_io rama_job_io_of(enum rama_job_layer layer, const union rama_core_word *w);

#define RAMA_JOB_SIZE_BINS 10 /* the size classes of the logs */

/* layout of a file on Lustre; of composite layouts the component that holds most */
struct rama_job_view_stripes {
	int64_t stripe_size, stripe_count, components;
	uint32_t n_osts;
	int64_t *osts;
};

/* of the traced accesses to one file in one layer */
struct rama_job_view_traced {
	uint64_t count[2]; /* 0 writes, 1 reads */
	int64_t bytes[2];
	double time[2];
	uint64_t small[2];     /* below 1 MiB exactly */
	uint64_t crossing[2];  /* cross a stripe (Lustre), else a 1 MiB border */
	uint64_t unaligned[2]; /* do not start at one */
	uint64_t backward[2];  /* start before the end of the access before, of the same rank */
	uint32_t ranks[2];     /* that moved data */
	uint32_t records;      /* ranks that have a trace of it */
	double first, last;
};

/* a dataset or variable of a file */
struct rama_job_view_part {
	uint64_t id;
	const char *name; /* never NULL */
	uint32_t file;	  /* index in files */
	enum rama_job_layer layer;
	const union rama_core_word *rec; /* merged over its rows */
	uint32_t rows;
};

struct rama_job_view_file {
	uint64_t id;
	const char *name; /* never NULL; "#<id>" if the log does not know it */
	bool named;
	bool pseudo; /* a standard stream: no file */
	bool folded; /* stands for many files, which had no room of their own */
	/* only looked for, made or removed: nothing but an EXTRA record; not in n_real */
	bool unopened;
	int mount;	/* index in mounts, -1: unknown */
	uint32_t group; /* index in groups */
	/* merged over its rows (and parts); NULL: not used in this layer. Index with
	 * RAMA_TAB_POSIX_..., RAMA_TAB_H5D_... */
	const union rama_core_word *rec[RAMA_JOB_LAYERS];
	uint32_t rows[RAMA_JOB_LAYERS]; /* records that were merged */
	/* ranks they stand for: a reduced record for all of its job */
	uint32_t cover[RAMA_JOB_LAYERS];
	uint32_t parts; /* datasets or variables of it that were used */
	uint32_t ranks; /* that opened it: all (shared) or those that have a row */
	/* used by all ranks of a job with several: a reduced record, or a row of each */
	bool shared;
	int64_t rank; /* the only one, or -1 */
	/* highest layer that moved its data: MPI-IO above POSIX; times of HDF5 are not used */
	enum rama_job_layer top;
	struct rama_job_io io;	 /* at `top` */
	double start, end;	 /* first open to last close or access; 0 0 if not known */
	struct rama_job_io disk; /* at POSIX and STDIO, or DFS and DAOS */
	/* Over rows of single ranks at POSIX and STDIO, or their traces: extremes of bytes and
	 * time. Of a record reduced over all ranks only the times are known; bytes are -1 then. */
	int64_t most_written, least_written, most_read, least_read;
	double most_time, least_time;
	int64_t slow_rank; /* of most_time, or of the reduced record; -1: not known */
	const struct rama_job_view_stripes *stripes;		    /* NULL: not on Lustre */
	const struct rama_job_view_traced *traced[RAMA_JOB_LAYERS]; /* NULL: no trace of it */
};

/* files whose names differ in numbers only: out.####.h5 */
struct rama_job_view_group {
	const char *pattern;
	uint32_t files;
	struct rama_job_io io;
};

struct rama_job_view_rank {
	/* at the top layer of each file: what the application waited for */
	struct rama_job_io io;
	struct rama_job_io disk; /* POSIX and STDIO: what reached the system */
	bool estimated;		 /* partly from records reduced over all ranks */
	uint32_t files;		 /* of its own, shared ones not counted */
	int32_t host;		 /* index in hosts, -1 */
	int64_t pid;		 /* 0: not known */
	double start, end;	 /* of the process; 0 0: as the job */
};

struct rama_job_view_layer {
	bool used;
	uint32_t files; /* distinct, pseudo ones not counted */
	uint64_t records;
	/* record that sums up all, standard streams too, by the rules of reduction */
	const union rama_core_word *total;
	struct rama_job_io io; /* without standard streams */
	/* per rank, of the ranks that used it or may have (all for shared files) */
	int64_t ranks;				  /* how many these are */
	struct rama_job_io mean, median, slowest; /* median: of the rank in the middle by time */
	int64_t slowest_rank;
	bool sizes;				    /* has a histogram of sizes: */
	uint64_t size_count[2][RAMA_JOB_SIZE_BINS]; /* 0 writes, 1 reads */
	double size_bytes[2]
			 /* exact with a trace, else estimated from frequent sizes and bounds */
			 [RAMA_JOB_SIZE_BINS];
	double size_time[2][RAMA_JOB_SIZE_BINS]; /* with a trace only, else 0 */
	bool sizes_exact;
};

/* rank x time. A row stands for one rank, or for several neighbours when there are more than
 * fit: sum and max of them are both kept, so that no rank is lost. */
struct rama_job_view_heat {
	enum rama_job_layer layer;
	bool traced; /* made from the trace, else from heat map records */
	uint32_t rows, bins;
	double width;	/* of a bin, seconds; bin 0 starts at 0 */
	int64_t *first; /* rows + 1 of them: row r is ranks first[r] .. first[r + 1] - 1 */
	double *sum[2],
		*max[2]; /* rows x bins, bytes; 0 writes, 1 reads. max = sum where a row is one
		rank */
	double *rank_bytes[2]; /* nprocs, exact */
	double *bin_bytes[2];  /* bins, exact */
};
#define RAMA_JOB_HEAT_CELLS 40960 /* rows x bins at most */
#define RAMA_JOB_HEAT_ALONE 65536 /* where each row is one rank, which needs no maximum */
#define RAMA_JOB_VIEW_BINS 192

/* a time in which files are used, found from the trace or else from heat maps */
struct rama_job_view_phase {
	double start, end;
	int64_t bytes[2];
	uint64_t count[2];
	uint32_t ranks;		       /* active in it */
	int64_t slow_rank;	       /* busy longest */
	double slow_busy, median_busy; /* seconds inside operations */
	double wait; /* mean over ranks of: end of the phase - the rank's own end */
	/* longest operation of the slowest rank; with a trace only (file NULL: none) */
	const struct rama_job_view_file *file;
	int64_t offset, length;
	double op_start, op_end;
	unsigned op_kind;
};

/* single operations that are kept: all when there are few, else the longest ones */
struct rama_job_view_op {
	uint32_t file; /* index */
	int32_t rank;
	uint8_t layer, kind; /* 0 write, 1 read */
	int64_t offset, length;
	double start, end;
};
#define RAMA_JOB_OPS_KEPT 8000

/* offset x time of one file, for the files that moved most in the trace */
struct rama_job_view_offsets {
	uint32_t file;
	enum rama_job_layer layer;
	int64_t size; /* offsets 0 .. size */
	double t0, t1;
	uint32_t rows, bins; /* offset rows, time bins */
	float *bytes[2];
};
#define RAMA_JOB_OFFSET_FILES 4

struct rama_job_view_module { /* as in the log: also those that are no layers */
	uint8_t id;
	const char *name;
	uint32_t version;
	uint64_t records;
	bool partial;
};

struct rama_job_view_mount {
	const char *path, *type;
	uint32_t files;
	struct rama_job_io io; /* disk */
};

struct rama_job_view_ost {
	int64_t ost;
	uint32_t files; /* that have it among their stripes */
	double bytes;	/* laid upon the stripes of a file alike */
	double time;	/* read, write and metadata time of these files, shared out alike */
	double slowest; /* longest file time of files that lie on this target alone; 0: none */
	double mean;	/* ... and their mean */
	uint32_t alone; /* such files */
};

struct rama_job_view_options {
	bool trace;  /* also read traces (heat maps and phases become exact) */
	bool detail; /* also keep single operations and offset grids, for pages */
	/* told now and then how much is done, 0..1; NULL: nobody asks */
	void (*progress)(void *ctx, double done);
	void *ctx;
};

#define RAMA_JOB_VIEW_RANKS (1 << 21) /* more than any job has had */

struct rama_job_view_work; /* what is needed while logs are read: job/work.h */

struct rama_job_view {
	struct rama_arena arena;
	struct rama_job_view_options opt;
	struct rama_job_view_work *work;
	/* the job */
	const char **logs; /* names as given */
	size_t n_logs;
	const char *exe;  /* command line, "" if not known */
	const char *name; /* of the program: last part of its first word, or "job" */
	const char *log_version;
	int64_t jobid, uid, nprocs;
	int64_t start_sec, end_sec;
	double run_time;
	const char *metadata; /* key=value lines */
	const char *
		*hosts; /* distinct; nodes of the job if it is known on all of them, see nodes */
	size_t n_hosts;
	int64_t nodes; /* 0: not known */
	/* completeness */
	uint64_t partial; /* bit per module */
	size_t problems;  /* things that could not be read */
	/* processes that did not end by themselves, that still ran; what was dropped, see
	 * PROCESS counters */
	int64_t unfinished, running, lost_events, missed_calls, folded_files;
	const char *missing_ranks;	   /* "3,7-9" or NULL */
	struct rama_log_unseen_sum unseen; /* programs that could not be observed */
	/* programs that nothing is here of for want of room, and their calls as far as known */
	int64_t unplaced, unplaced_calls;
	bool complete;
	/* what it did */
	struct rama_job_view_file *files;
	size_t n_files, n_real; /* n_real: without pseudo ones */
	struct rama_map by_id;	/* id -> index in files */
	struct rama_job_view_part *parts;
	size_t n_parts;
	struct rama_job_view_group *groups;
	size_t n_groups;
	struct rama_job_view_rank *ranks; /* nprocs of them */
	struct rama_job_view_layer layer[RAMA_JOB_LAYERS];
	struct rama_job_view_module *modules;
	size_t n_modules;
	struct rama_job_view_mount *mounts;
	size_t n_mounts;
	struct rama_job_view_ost *osts;
	size_t n_osts;
	/* over time */
	struct rama_job_view_heat *heats;
	size_t n_heats;
	struct rama_job_view_phase *phases;
	size_t n_phases;
	bool phases_traced;
	bool traced; /* the log has a trace */
	uint64_t segments;
	bool segments_cut;	      /* the trace is known to lack some */
	struct rama_job_view_op *ops; /* by start */
	size_t n_ops;
	bool ops_all;
	struct rama_job_view_offsets *offsets;
	size_t n_offsets;
	/* the job's own figures. Top: what ranks waited for; see struct rama_job_view_rank */
	struct rama_job_io total; /* at the top layers */
	struct rama_job_io disk;  /* at POSIX and STDIO (or DFS, DAOS) */
	struct rama_job_io std;	  /* of the standard streams, in none of the other figures */
	double io_time;		  /* of the slowest rank, at most run_time */
	int64_t io_rank;	  /* which one; -1 none */
	double mean_io_time;	  /* over all ranks */
	double busy_time;	  /* seconds in which at least one rank moved data; 0: not known */
	int64_t active_ranks;	  /* that moved data at POSIX, STDIO, DFS or DAOS; -1: not known */
	double rate;		  /* bytes per second: disk bytes / io_time */
};

void rama_job_view_init(struct rama_job_view *v, const struct rama_job_view_options *opt);
/* With several logs: tell of each before the first is added, so that the start and length of the
 * whole are known. */
int rama_job_view_expect(struct rama_job_view *v, const struct rama_log *log, struct rama_err *e);
/* Takes in a log, which may be closed after; reports call it `name`. With several, times are
 * moved to the earliest start; programs that ran at the same time are different ranks, one that
 * began when all others had ended is a later step of the job, whose ranks go on. Damage is told
 * by the log itself. 0 or RAMA_EMEMORY, RAMA_ELIMIT, or what a strict log says. */
int rama_job_view_add_log(struct rama_job_view *v, struct rama_log *log, const char *name,
			  struct rama_err *e);
/* The same for the segments in a directory: of a job that runs, or that left them behind. */
int rama_job_view_add_segments(struct rama_job_view *v, const char *dir, struct rama_err *e);
int rama_job_view_finish(struct rama_job_view *v, struct rama_err *e);
void rama_job_view_fini(struct rama_job_view *v);

/* the file of an id, or NULL */
const struct rama_job_view_file *rama_job_view_file_of(const struct rama_job_view *v, uint64_t id);
/* the user in the name of a log, user_program_id123…: its length, or 0 */
size_t rama_job_view_log_user(const char *path, const char **user);
/* the name cut in the middle to at most `most` characters (not bytes) */
const char *rama_job_view_short_name(const char *name, unsigned most, char *to, size_t room);

#endif
