/* SPDX-License-Identifier: BSD-3-Clause */
/* work.h: what the files of job/ share while a view is made. Calls return 0 or RAMA_EMEMORY, or
 * what a strict log says, unless they say otherwise. */
#ifndef RAMA_JOB_WORK_H
#define RAMA_JOB_WORK_H

#include "base/grow.h"
#include "core/sum/plan.h"
#include "job/view.h"
#include "logfile/cursor.h"

#define RAMA_JOB_RECORD_WORDS 256 /* at least those of the longest record of a layer */

/* moments of a record that begin and end the use of its file */
enum { RAMA_JOB_BEGINS = 4, RAMA_JOB_ENDS = 5 };

/* the words of a layer's record that need care */
struct rama_job_care {
	uint16_t sum[RAMA_JOB_RECORD_WORDS], seconds[RAMA_JOB_RECORD_WORDS],
		stamp[RAMA_JOB_RECORD_WORDS];
	unsigned n_sum, n_seconds, n_stamp;
};

/* one log of the job */
struct rama_job_log_place {
	int64_t jobid, start_sec, end_sec, nprocs;
	double start, end, run_time;
	int64_t first; /* rank that its rank 0 becomes */
	bool used;
};

/* one rank's part of what all ranks did: known of the slowest and the fastest */
struct rama_job_known {
	int64_t rank; /* in its log; -1: not known */
	int64_t bytes;
	double time;
};

/* a record that was reduced over all ranks of its log: laid upon them when the log has been read */
struct rama_job_shared {
	uint32_t file;
	uint8_t layer;
	uint8_t top; /* enum rama_job_top_part */
	bool disk;
	bool alike; /* every rank moved as much as any other */
	struct rama_job_io io;
	struct rama_job_known slow, fast;
};

/* how much of a record is what the application waited for */
enum rama_job_top_part { RAMA_JOB_TOP_NOT, RAMA_JOB_TOP_DATA, RAMA_JOB_TOP_ALL };

/* traced accesses of one rank to a file that has a record of all ranks */
struct rama_job_traced_rank {
	uint32_t file;
	uint8_t layer;
	int64_t rank; /* in its log */
	struct rama_job_io io;
};

struct rama_job_trace;	   /* trace.c */
struct rama_job_heat_maps; /* heat.c */

struct rama_job_view_work {
	struct rama_core_plan plan[RAMA_JOB_LAYERS];
	struct rama_job_care care[RAMA_JOB_LAYERS];
	uint16_t begin[RAMA_JOB_LAYERS][RAMA_JOB_BEGINS],
		end[RAMA_JOB_LAYERS][RAMA_JOB_ENDS]; /* words of moments */
	struct rama_job_log_place *place;
	size_t n_places, place_room;
	/* the log that is being read */
	struct rama_log *log;
	int64_t first, n; /* its ranks are first .. first + n - 1 */
	double shift;	  /* seconds after the start of the job */
	struct rama_job_shared *shared;
	size_t n_shared, shared_room;
	struct rama_job_traced_rank *traced;
	size_t n_traced, traced_room;
	int64_t unfinished, running; /* processes */
	int64_t told, roots;	     /* processes of all logs; whose parent is none of them */
	const char *last_dir;	     /* of the last name that was looked up, */
	size_t last_dir_len;
	double steps, done; /* for progress */
	/* all of them */
	size_t files_room, parts_room, modules_room, logs_room, programs_of_room, hosts_room,
		mounts_room, programs_room, named_room, sites_room, shares_room;
	uint64_t records[RAMA_TAB_MODULES_KNOWN];
	double start; /* of the job, seconds of real time */
	struct rama_map parts_by_id[RAMA_JOB_LAYERS];
	struct rama_map sites_by_name;		      /* hash of a first frame -> index */
	struct rama_map hosts, programs;	      /* hash of a name -> index */
	struct rama_job_io *rank_io[RAMA_JOB_LAYERS]; /* v->nprocs; NULL: layer not used */
	uint8_t *moved; /* v->nprocs: 1 moved data at the lowest layers */
	struct rama_job_trace *trace;
	struct rama_arena cells; /* of the trace */
	struct rama_job_heat_maps *heat;
	unsigned ask_heat; /* bit per layer: its heat maps say which ranks moved data */
	int last_mount;	   /* where last_dir is */
	bool planned;
	bool dfs;	    /* the log has data at DFS: objects of DAOS are beneath */
	bool estimated;	    /* something was shared out alike */
	bool moved_unknown; /* some moved data, nobody says which */
};

/* rows.c: words of a record */
void rama_job_care_init(struct rama_job_care *c, const struct rama_tab_module *mod);
/* y takes x in. ny, nx: ranks they stand for; 0: no spread over ranks is kept. */
void rama_job_record_merge(const struct rama_job_view_work *k, enum rama_job_layer layer,
			   union rama_core_word *y, union rama_core_word *x, uint32_t ny,
			   uint32_t nx);

/* files.c */
int rama_job_view_file_get(struct rama_job_view *v, uint64_t id, uint32_t *index);
int rama_job_view_part_get(struct rama_job_view *v, enum rama_job_layer layer,
			   const union rama_core_word *w, uint32_t *index);
int rama_job_view_files_finish(struct rama_job_view *v);
/* start and end */
void rama_job_view_file_times(struct rama_job_view *v, struct rama_job_view_file *f);

/* ... records of the layers */
int rama_job_view_rows(struct rama_job_view *v, enum rama_job_layer layer);
/* what a trace says of a file that has no record in that layer */
int rama_job_view_traced_row(struct rama_job_view *v, enum rama_job_layer layer, uint32_t file,
			     int64_t rank, const struct rama_job_io *io);

/* ranks.c */
int rama_job_view_ranks_init(struct rama_job_view *v);
struct rama_job_io *rama_job_view_rank_io(struct rama_job_view *v, enum rama_job_layer layer,
					  int64_t rank);
/* lays what all ranks did together upon them; at the end of each log */
int rama_job_view_ranks_settle(struct rama_job_view *v);
int rama_job_view_ranks_finish(struct rama_job_view *v);

/* process.c */
int rama_job_view_processes(struct rama_job_view *v);
int rama_job_view_host(struct rama_job_view *v, int64_t rank, const char *host, size_t n);
int rama_job_view_missing(struct rama_job_view *v); /* what the metadata say of it */
void rama_job_view_nodes_finish(struct rama_job_view *v);
void rama_job_view_programs_finish(struct rama_job_view *v);

/* lustre.c; groups of files: files.c; sizes of accesses: view.c */
int rama_job_view_stripes(struct rama_job_view *v);
int rama_job_view_osts_finish(struct rama_job_view *v);
int rama_job_view_groups_finish(struct rama_job_view *v);
unsigned rama_job_size_class(int64_t length); /* 0 .. RAMA_JOB_SIZE_BINS - 1 */

/* heat.c, trace.c: over time */
int rama_job_view_heat_maps(struct rama_job_view *v);
void rama_job_heat_maps_free(struct rama_job_heat_maps *h);
int rama_job_view_trace(struct rama_job_view *v);
void rama_job_trace_free(struct rama_job_trace *t);
int rama_job_view_times_finish(struct rama_job_view *v);
int rama_job_conflicts_finish(struct rama_job_view *v);	 /* conflicts.c */
void rama_job_view_trace_sizes(struct rama_job_view *v); /* exact ones instead of guesses */

/* does it touch the time of which single operations are kept? */
static inline bool rama_job_view_wanted(const struct rama_job_view *v, double start, double end)
{
	return !(v->opt.to > v->opt.from) || (end >= v->opt.from && start <= v->opt.to);
}

/* calls.c: calls inside of calls */
int rama_job_view_calls(struct rama_job_view *v);

/* view.c: how far reading has come; at: place in the file */
void rama_job_view_progress(struct rama_job_view *v, unsigned module, uint64_t at);

/* path.c: calls of the log, and what is below them; 0 or RAMA_EMEMORY, or what a strict log says */
int rama_job_view_path(struct rama_job_view *v);

/* named.c */
int rama_job_view_named_read(struct rama_job_view *v);
/* sites.c */
int rama_job_view_sites_read(struct rama_job_view *v);
int rama_job_view_sites_finish(struct rama_job_view *v);
void rama_job_view_sites_free(struct rama_job_view *v);

int rama_job_view_named_finish(struct rama_job_view *v);
void rama_job_view_named_free(struct rama_job_view *v);

#endif
