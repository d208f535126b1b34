/* SPDX-License-Identifier: BSD-3-Clause */
/* parts.h: what the files of the store share; not for others. */
#ifndef RAMA_STORE_PARTS_H
#define RAMA_STORE_PARTS_H

#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "core/record.h"
#include "store/db.h"

/* a process that this batch has met */
struct rama_store_process {
	struct rama_wire_segment_key segment;
	int64_t number, job, rank, version;
	int64_t stored;		/* events that came in with this batch */
	int64_t seen, was_seen; /* ns: when it was seen last; the same as the store has it */
	bool lost;		/* the store has it as lost */
	uint64_t owner; /* whose job it is of: hash of what stands before the '/' in its key */
};

/* what this batch changes of a job; written at its end, once */
struct rama_store_change {
	int64_t job;
	bool settle;  /* its processes changed: look at all of them */
	bool recount; /* ... and what was summed up is to be summed up again */
	int64_t span;
	int64_t reads, writes, metas, bytes_read, bytes_written, io_ns, meta_ns, files;
};

/* names that have numbers in the store: figures, series of samples */
struct rama_store_names {
	struct rama_arena arena;
	struct rama_map map; /* hash of the name -> address of an entry */
};

struct rama_store_batch {
	struct rama_store_process *process;
	size_t n_processes, room_processes;
	struct rama_map by_segment; /* first half of the key -> place + 1 */
	struct rama_store_change *change;
	size_t n_changes, room_changes;
	struct rama_map by_job; /* number -> place + 1 */
};

/* the table of one module's counters */
struct rama_store_table {
	char name[40];
	char *insert, *remove, *count, *select; /* statements */
	unsigned n;				/* columns */
	uint16_t *field; /* of each column after the first four: which field of the record */
};

struct rama_store {
	const struct rama_store_db_ops *ops;
	void *db;
	unsigned flags;
	bool open;	 /* a batch is open */
	int64_t clock;	 /* what time it is, of tests; 0: as the system says */
	int64_t reaping; /* what time it is for rama_store_reap, while it is at work */
	struct rama_wire_block_packer packer;
	struct rama_wire_block *block, *cut; /* memory for one each */
	struct rama_arena text;		     /* of the message at work */
	struct rama_store_batch batch;
	struct rama_store_names figures, series;
	struct rama_store_table table[RAMA_TAB_MODULES_KNOWN];
	struct rama_store_cell *cells; /* for the widest of them */
};

/* ---- statements ------------------------------------------------------------------------------ */

static inline struct rama_store_cell rama_store_cell_i(int64_t v)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_INT, .i = v };
}

static inline struct rama_store_cell rama_store_cell_f(double v)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_REAL, .f = v };
}

static inline struct rama_store_cell rama_store_cell_t(const char *s)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_TEXT,
					 .text = s,
					 .len = strlen(s) };
}

static inline struct rama_store_cell rama_store_cell_b(const void *p, size_t n)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_BYTES, .text = p, .len = n };
}

/* a time: 0 is none */
static inline struct rama_store_cell rama_store_cell_when(int64_t ns)
{
	return ns != 0 ? rama_store_cell_i(ns)
		       : (struct rama_store_cell){ .type = RAMA_STORE_CELL_NULL };
}

/* text of somewhere, as the databases take it: UTF-8 without NUL */
struct rama_store_cell rama_store_cell_clean(struct rama_store *s, const char *text, size_t n);

/* Sums stop here, so that no message, however wrong, makes one that a database cannot hold: two
 * of them still fit an integer. */
#define RAMA_STORE_SUM_MOST 4000000000000000000

static inline int64_t rama_store_sum(int64_t a, int64_t b)
{
	return b <= 0 ? a : b > RAMA_STORE_SUM_MOST - a ? RAMA_STORE_SUM_MOST : a + b;
}

/* a number that somebody tells and that is summed up over processes: none of them has more */
#define RAMA_STORE_TOLD_MOST (1ll << 44)
static inline int64_t rama_store_told(uint64_t v, int64_t most)
{
	return v > (uint64_t)INT64_MAX ? (int64_t)0 : (int64_t)v > most ? most : (int64_t)v;
}

#define I(v) rama_store_cell_i((int64_t)(v))
#define ARGS(...)                                                         \
	(const struct rama_store_cell[]){ __VA_ARGS__ },                  \
		sizeof((const struct rama_store_cell[]){ __VA_ARGS__ }) / \
			sizeof(struct rama_store_cell)

/* a statement without rows */
int rama_store_do(struct rama_store *s, const char *sql, const struct rama_store_cell *args,
		  unsigned n, struct rama_err *e);
/* ... *changed: how many rows it changed */
int rama_store_count(struct rama_store *s, const char *sql, const struct rama_store_cell *args,
		     unsigned n, int64_t *changed, struct rama_err *e);
/* integers of its first row; columns that are NULL leave v[i] as it was; 1: there is a row, 0:
 * none */
int rama_store_ints(struct rama_store *s, const char *sql, const struct rama_store_cell *args,
		    unsigned n, int64_t *v, unsigned n_v, struct rama_err *e);
int rama_store_rows(struct rama_store *s, const char *sql, const struct rama_store_cell *args,
		    unsigned n, rama_store_row_fn fn, void *ctx, struct rama_err *e);

/* ---- parts of a batch ------------------------------------------------------------------------ */

void rama_store_batch_clear(struct rama_store_batch *b);
void rama_store_batch_fini(struct rama_store_batch *b);
/* NULL: no memory */
struct rama_store_change *rama_store_batch_change(struct rama_store *s, int64_t job);
/* writes what the batch changed of processes and jobs */
int rama_store_batch_flush(struct rama_store *s, struct rama_err *e);

/* number of the job of this key, made if it is not there */
int rama_store_job_get(struct rama_store *s, const char *key, const char *source, int64_t *job,
		       struct rama_err *e);
/* start, end, state and sums of a job from its processes, its log and what was lost */
int rama_store_job_settle(struct rama_store *s, const struct rama_store_change *c,
			  struct rama_err *e);
/* everything that belongs to it; `events`: only its events and activity */
int rama_store_job_remove_log(struct rama_store *s, int64_t job, struct rama_err *e);
int rama_store_job_remove(struct rama_store *s, int64_t job, bool events, struct rama_err *e);

/* numbers of rows; free(l->number) */
struct rama_store_list {
	int64_t *number;
	size_t n, room;
};
int rama_store_list(struct rama_store *s, const char *sql, const struct rama_store_cell *args,
		    unsigned n, struct rama_store_list *l, struct rama_err *e);
/* jobs that ended before this moment; with_events: and may have events */
int rama_store_jobs_ended(struct rama_store *s, int64_t before, bool with_events,
			  struct rama_store_list *l, struct rama_err *e);
/* in batches of its own */
int rama_store_jobs_remove(struct rama_store *s, const int64_t *job, size_t n, bool events,
			   struct rama_err *e);

/* Blocks of a process, in the order of lanes and numbers of events. Reads them one after the
 * other; `body`: unpacks each into s->block. 1: *r is the next, 0: no more. Damaged:
 * RAMA_ECORRUPT, and the next call goes on behind it. */
#define RAMA_STORE_BLOCKS_PAGE 128
struct rama_store_block_row {
	int64_t number, lane, first, n, t0, t1, tid, lost, job, rank;
};
struct rama_store_blocks {
	struct rama_store *s;
	int64_t process, lane, first; /* the last one of the page before */
	struct rama_store_block_row row[RAMA_STORE_BLOCKS_PAGE];
	unsigned n, at;
	bool end;
};
void rama_store_blocks_init(struct rama_store_blocks *b, struct rama_store *s, int64_t process);
int rama_store_blocks_next(struct rama_store_blocks *b, const struct rama_store_block_row **r,
			   struct rama_err *e);

/* The process of a segment; made, as one of that job, if it is not there. Valid until the next
 * one is asked for. */
int rama_store_process_get(struct rama_store *s, const struct rama_wire_segment_key *segment,
			   const char *job, int64_t rank, struct rama_store_process **p,
			   struct rama_err *e);
/* It was seen at that time, by what is being put. */
void rama_store_process_seen(struct rama_store *s, struct rama_store_process *p, int64_t t);
int rama_store_process_move(struct rama_store *s, struct rama_store_process *p, int64_t job,
			    int64_t rank, struct rama_err *e);

/* Events of a block, those that are not there yet. bytes: its packed form, or NULL. */
int rama_store_events_put(struct rama_store *s, struct rama_wire_block *b,
			  const unsigned char *bytes, size_t n, uint64_t *stored,
			  struct rama_err *e);
int64_t rama_store_second_of(int64_t ns);
int rama_store_names_put(struct rama_store *s, int64_t job, const struct rama_wire_msg_name *name,
			 size_t n, struct rama_err *e);

int rama_store_figures_put(struct rama_store *s, int64_t job,
			   const struct rama_store_figure *figures, size_t n_figures,
			   struct rama_err *e);

/* number of a name, by `find` ($1: the name, or $1 and $2) or else `make`; cached */
int rama_store_number(struct rama_store *s, struct rama_store_names *names,
		      const char *const name[2], const char *const sql[2], int64_t *number,
		      struct rama_err *e);
void rama_store_names_fini(struct rama_store_names *names);

/* ---- tables of counters ---------------------------------------------------------------------- */

int rama_store_tables_init(struct rama_store *s, struct rama_err *e); /* no statements are run */
void rama_store_tables_fini(struct rama_store *s);
/* makes those that are not there, adds columns that are not there; in a transaction */
int rama_store_tables_make(struct rama_store *s, struct rama_err *e);
/* what tables there should be, as one number in a text */
void rama_store_tables_mark(const struct rama_store *s, char to[20]);
int rama_store_counters_put(struct rama_store *s, int64_t job, struct rama_log *log,
			    struct rama_err *e);

#endif
