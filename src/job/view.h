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
#include "base/code/site.h"
#include "core/record.h"
#include "logfile/log.h"
#include "logfile/meta.h"
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
	uint8_t turn; /* in which it is read: MPI-IO, other files, parts of files */
	/* its records are parts of files (datasets, variables), rolled up into their file's */
	bool part;
};
#define RAMA_JOB_TURNS 3
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

#define RAMA_JOB_SPANS 12 /* classes of how long calls take: below 1 µs, 4, 16, 64 µs, ... 4 s */

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
	struct {	       /* by how long they took */
		uint32_t count;
		float time, bytes;
	} span[2][RAMA_JOB_SPANS];
	double first, last;
};

/* ranks that use the same bytes of a file, one of them writing, with no sync and no close between:
 * how often, and the first place: who came first, and who then */
struct rama_job_view_conflict {
	uint64_t count;
	int64_t bytes, from, to; /* to: behind the last byte */
	int64_t rank[2];
	uint8_t kind[2]; /* 0 write, 1 read */
	double start[2], end[2];
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
	bool pseudo;	/* a standard stream: no file */
	bool folded;	/* stands for many files, which had no room of their own */
	uint32_t count; /* files it stands for: 1, of a folded one an estimate by its opens */
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
	const struct rama_job_view_conflict *conflict;		    /* NULL: none is known */
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
	int64_t threads;	 /* most of them in I/O at one time, 0: not known */
	int64_t parent;		 /* the process that started it; -1: not known */
	double start, end;	 /* of the process; 0 0: as the job */
	const char *program;	 /* of a process, one of `programs`; NULL: not known */
	/* page faults that waited for a disk, 0 where that is not known; bytes of mapped files;
	 * time that its threads were on a processor */
	int64_t major_faults;
	double mapped, cpu_time;
	double user_time; /* of cpu_time: in the program itself */
};

/* a program that processes of a job without MPI ran */
struct rama_job_view_program {
	const char *name;	   /* last part of its first word */
	int64_t processes, active; /* active: that moved data */
	double bytes;		   /* they moved */
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

/* a phase that the program has named, over all ranks */
struct rama_job_view_span {
	double start, end;
};
struct rama_job_view_named {
	const char *name;
	uint64_t ranks; /* records: that were in it */
	int64_t times;	/* added up over ranks */
	uint64_t open;	/* ranks that were in it when they ended, or were killed */
	bool joined;	/* some times are not kept one by one */
	/* when at least one rank was in it: ascending, no overlaps */
	struct rama_job_view_span *spans;
	size_t n_spans, spans_room;
	double start, end;
	double time;	  /* of all spans */
	double io_time;	  /* of it, while files were in use: as far as phases of I/O are known */
	double longest;	  /* one time of one rank */
	double slow_time; /* of the rank that was in it longest, all times that ended */
	int64_t slow_rank;
	int64_t bytes[2]; /* 0 written, 1 read, in the times that ended */
};

/* single operations that are kept: all when there are few, else the longest ones */
struct rama_job_view_op {
	uint32_t file; /* index */
	int32_t rank;
	uint8_t layer, kind; /* 0 write, 1 read */
	uint32_t thread;     /* 0: not known */
	int64_t offset, length;
	double start, end;
};
#define RAMA_JOB_OPS_KEPT 8000

/* a call of a tree: calls with those that they caused, of all layers that events have */
struct rama_job_view_call {
	uint32_t file;	/* index, UINT32_MAX: not known */
	int32_t parent; /* index in calls, before this one; -1: the root of a tree */
	int32_t rank;
	uint8_t kind;	   /* 0 write, 1 read */
	const char *layer; /* H5D, MPI-IO, POSIX */
	const char *op;	   /* name of the function; one of call_ops, or "" */
	int64_t bytes;
	double start, end;
};
#define RAMA_JOB_CALLS_KEPT 2500 /* of the longest trees */
#define RAMA_JOB_CALL_OPS 64	 /* different functions */

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

/* valid until the next one is asked for; "": not known. Either source or function is. */
struct rama_job_view_line {
	const char *source, *function;
	unsigned line;
};

/* what a place in the program moved, of the POSIX and STDIO layers: 0 written, 1 read */
struct rama_job_view_moved {
	int64_t count[2], bytes[2];
	double time[2];
};
struct rama_job_view_site {
	const char *name; /* "checkpoint.c:88 (write_particles)", "prog+0x11a9", "(not known)" */
	const char *source, *function; /* NULL: not known */
	const char *program; /* its path, or a library's; NULL: not known, or no address in one */
	unsigned line;
	uint32_t number;
	uint64_t files;
	struct rama_job_view_moved moved;
	struct rama_site_frame frame; /* its file NULL: it is not known which place */
};
/* ... of that, to one file; by file */
struct rama_job_view_share {
	uint64_t file; /* record id */
	uint32_t site; /* index */
	bool stream;   /* STDIO */
	struct rama_job_view_moved moved;
};

struct rama_job_view_options {
	bool trace;	 /* also read traces (heat maps and phases become exact) */
	bool detail;	 /* also keep single operations and offset grids, for pages */
	double from, to; /* only operations and calls of that time are kept; 0 0: of all */
	/* keep all traced operations in `every`: memory then grows with the trace */
	bool every;
	/* told now and then how much is done, 0..1; NULL: nobody asks */
	void (*progress)(void *ctx, double done);
	void *ctx;
	/* which line of source a place in a program is, as far as that is known; NULL: nobody
	 * knows any */
	bool (*line)(void *ctx, const struct rama_site_frame *f, struct rama_job_view_line *to);
	void *line_ctx;
};

#define RAMA_JOB_VIEW_RANKS (1 << 21) /* more than any job has had */

struct rama_job_view_work; /* what is needed while logs are read: job/work.h */

/* io_uring, of all processes: PROCESS counters */
struct rama_job_view_uring {
	int64_t ops, submits, depth_sum, depth_max, missed;
};

struct rama_job_view {
	struct rama_arena arena;
	struct rama_job_view_options opt;
	struct rama_job_view_work *work;
	/* the job */
	const char **logs;	   /* names as given */
	const char **log_programs; /* of each: the name of its program */
	size_t n_logs;
	const char *exe;  /* command line, "" if not known */
	const char *name; /* of the program: last part of its first word, or "job" */
	const char *log_version;
	int64_t jobid, uid, nprocs;
	/* ranks are processes that one of them started, without MPI: no word for people */
	bool processes;
	struct rama_job_view_program *programs; /* of processes, most bytes first */
	size_t n_programs;
	int64_t start_sec, end_sec;
	double run_time;
	const char *metadata; /* key=value lines, of the first log */
	/* what the batch system says of all of its logs alike, lines of the same kind */
	char batch[RAMA_LOG_BATCH_ROOM];
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
	struct rama_job_view_uring uring;
	const char *missing_ranks; /* "3,7-9" or NULL */
	/* how a parallel job was started, with its launcher; NULL: not known */
	const char *command;
	struct rama_log_unseen_sum unseen; /* programs that could not be observed */
	/* programs that nothing is here of for want of room, and their calls as far as known */
	int64_t unplaced, unplaced_calls;
	bool complete;
	/* what it did */
	struct rama_job_view_file *files;
	size_t n_files, n_real; /* n_real: how many files there were, without pseudo ones */
	bool files_estimated;	/* since some had no room of their own */
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
	struct rama_job_view_named *named; /* phases that the program named, by start */
	size_t n_named;
	struct rama_job_view_site *sites; /* places in the program; what moved most first */
	size_t n_sites;
	struct rama_job_view_share *shares; /* places and files, by file */
	size_t n_shares;
	bool traced; /* the log has a trace */
	uint64_t segments;
	bool segments_cut;	      /* the trace is known to lack some */
	struct rama_job_view_op *ops; /* by start */
	size_t n_ops;
	bool ops_all;			/* all there are, of opt.from to opt.to where asked for */
	struct rama_job_view_op *every; /* as the log has them; none unless asked for */
	size_t n_every, every_room;
	struct rama_job_view_offsets *offsets;
	size_t n_offsets;
	struct rama_job_view_call *calls; /* tree by tree; of traced logs that tell, for pages */
	size_t n_calls;
	bool calls_all;
	const char *call_ops[RAMA_JOB_CALL_OPS];
	size_t n_call_ops;
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
	/* what daemons and servers of its file system did; NULL: the log has none of them */
	const struct rama_path_facts *path;
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

/* the place that moved most bytes of a file, and what share of them; NULL: that is not known */
const struct rama_job_view_site *rama_job_view_site_of(const struct rama_job_view *v, uint64_t file,
						       double *share);
/* the file of an id, or NULL */
const struct rama_job_view_file *rama_job_view_file_of(const struct rama_job_view *v, uint64_t id);
/* the phase named by the program that this time lies in, or NULL */
const char *rama_job_view_named_at(const struct rama_job_view *v, double from, double to);
/* the user in the name of a log, user_program_id123…: its length, or 0 */
size_t rama_job_view_log_user(const char *path, const char **user);
/* A text about ranks, for people: of a job whose ranks are processes, "rank" and "ranks" become
 * "process" and "processes". Returns `text` itself where there is nothing to change. */
const char *rama_job_view_say(const struct rama_job_view *v, const char *text, char *to,
			      size_t room);
/* the name cut in the middle to at most `most` characters (not bytes) */
const char *rama_job_view_short_name(const char *name, unsigned most, char *to, size_t room);

#endif
