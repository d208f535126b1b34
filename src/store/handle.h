/* SPDX-License-Identifier: BSD-3-Clause */
/* handle.h: what the files of the store share; not for others. */
#ifndef RAMA_STORE_HANDLE_H
#define RAMA_STORE_HANDLE_H

#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "core/record.h"
#include "store/blocks/fetch.h"

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
	bool row;     /* only its own row has changed, which days are made of */
	int64_t span;
	int64_t reads, writes, metas, bytes_read, bytes_written, io_ns, meta_ns, files;
};

/* names that have numbers in the store: figures, series of samples */
struct rama_store_names {
	struct rama_arena arena;
	struct rama_map map; /* hash of the name -> address of an entry */
};

/* ---- sums of jobs by time: series.c ---- */

enum { RAMA_STORE_KINDS = 3, RAMA_STORE_SERIES = 4, RAMA_STORE_FIGURES = 8, RAMA_STORE_LAYER = 16 };

/* what a process gained in a layer in the time before t */
struct rama_store_gain {
	int64_t job, rank, t, width;
	char layer[RAMA_STORE_LAYER];
	/* reads, writes, metas, bytes_read, bytes_written, read_ns, write_ns, meta_ns */
	int64_t figure[RAMA_STORE_FIGURES];
};

struct rama_store_series_cell {
	int64_t job, second; /* job 0: not to be written */
	uint32_t table, kind;
	char layer[RAMA_STORE_LAYER];
	int64_t ops, bytes, ns, longest, ranks, slowest, slowest_ns;
};

struct rama_store_series {
	struct rama_store_series_cell *cell;
	size_t n, room;
	struct rama_map at;
};

/* ---- sums of users and programs by day: days.c ---- */

#define RAMA_STORE_DAY_SUMS 9

struct rama_store_day {
	int64_t day;
	const char *user, *name; /* in `text` */
	int64_t jobs;
	double v[RAMA_STORE_DAY_SUMS];
};

struct rama_store_days {
	struct rama_store_day *day;
	size_t n, room;
	struct rama_arena text;
};

/* ---- counters of all that came: totals.c ---- */

struct rama_store_total {
	const char *name; /* a constant */
	char a[24], b[8];
	int64_t value;
};

struct rama_store_totals {
	struct rama_store_total *row;
	size_t n, room;
};

struct rama_store_batch {
	struct rama_store_process *process;
	size_t n_processes, room_processes;
	struct rama_map by_segment; /* first half of the key -> place + 1 */
	struct rama_store_change *change;
	size_t n_changes, room_changes;
	struct rama_map by_job; /* number -> place + 1 */
	struct rama_store_series series;
	struct rama_store_days days;
	struct rama_store_totals totals;
};

/* the table of one module's counters */
struct rama_store_table {
	char name[40];
	char *insert, *remove, *count, *select; /* statements */
	unsigned n;				/* columns */
	uint16_t *field; /* of each column after the first four: which field of the record */
};

/* blocks that lie elsewhere; ops NULL: none do */
struct rama_store_far {
	struct rama_store_place place;
	/* of this batch, still to be put */
	struct rama_store_kept *kept;
	size_t n, room, bytes;
	struct rama_arena memory;
	int64_t job; /* that was asked for last, 0: none, and its key */
	char key[RAMA_WIRE_JOB];
	bool passing; /* of the last error there */
};

struct rama_store {
	const struct rama_store_db_ops *ops;
	void *db;
	struct rama_store_near near;
	struct rama_store_far far;
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
#define RAMA_STORE_TOGETHER 64 /* jobs in one transaction: others may write in between */
/* in batches of its own */
int rama_store_jobs_remove(struct rama_store *s, const int64_t *job, size_t n, bool events,
			   struct rama_err *e);

/* samples before this moment; *n: how many there were */
int rama_store_samples_remove(struct rama_store *s, int64_t before, int64_t *n, struct rama_err *e);
/* copies them into another store, sees that they are safe there, removes them here */
int rama_store_samples_archive(struct rama_store *from, struct rama_store *to, int64_t before,
			       struct rama_err *e);

/* Blocks of a process, in the order of lanes and numbers of events. Reads them one after the
 * other; `body`: unpacks each into s->block. 1: *r is the next, 0: no more. Damaged:
 * RAMA_ECORRUPT, and the next call goes on behind it. */
#define RAMA_STORE_BLOCKS_PAGE 256
struct rama_store_block_row {
	int64_t number, lane, first, n, t0, t1, tid, lost, job, rank;
};
struct rama_store_blocks {
	struct rama_store *s;
	int64_t process;
	struct rama_store_block_row row; /* given last */
	/* pages of the tables, and of where else blocks lie */
	struct rama_store_blocks_page {
		struct rama_store_kept k[RAMA_STORE_BLOCKS_PAGE];
		unsigned n, at;
		bool begun, end;
	} page[2];
	struct rama_store_lie lie[RAMA_STORE_LIES + 1];
	unsigned n_lies;
	struct rama_wire_segment_key segment;
	int64_t job, rank; /* of the process */
	struct rama_store_fetch fetch;
	int64_t lane;  /* of the last one */
	uint64_t next; /* event of that lane that was not given yet */
};
/* NULL: no memory */
struct rama_store_blocks *rama_store_blocks_new(struct rama_store *s, int64_t process);
void rama_store_blocks_free(struct rama_store_blocks *b);
int rama_store_blocks_next(struct rama_store_blocks *b, const struct rama_store_block_row **r,
			   struct rama_err *e);

/* Sums of a job per second, minute and hour, kept in the batch until its end. last: the second up
 * to which this process was told of in this layer, by kind, -1: never; it is renewed. Both: 0 or
 * RAMA_EMEMORY. */
int rama_store_series_gain(struct rama_store *s, const struct rama_store_gain *g,
			   int64_t last[RAMA_STORE_KINDS]);
/* the longest call of that second, as events tell; kind: 0 read, 1 write, 2 meta */
int rama_store_series_longest(struct rama_store *s, int64_t job, int64_t second, const char *layer,
			      unsigned kind, int64_t ns);
/* all of a job once more from what its processes gained */
int rama_store_series_again(struct rama_store *s, int64_t job, struct rama_err *e);
int rama_store_series_remove(struct rama_store *s, int64_t job, struct rama_err *e);
int rama_store_series_flush(struct rama_store *s, struct rama_err *e);
/* of all jobs of a store that had none yet */
int rama_store_series_fill(struct rama_store *s, struct rama_err *e);
void rama_store_series_clear(struct rama_store_series *t);
void rama_store_series_fini(struct rama_store_series *t);

/* What the job counts for among those of its day; gone: nothing any more. */
int rama_store_days_settle(struct rama_store *s, int64_t job, bool gone, struct rama_err *e);
int rama_store_days_flush(struct rama_store *s, struct rama_err *e);
int rama_store_days_fill(struct rama_store *s, struct rama_err *e);
void rama_store_days_clear(struct rama_store_days *d);
void rama_store_days_fini(struct rama_store_days *d);

/* value more of this counter; 0 or RAMA_EMEMORY */
int rama_store_totals_add(struct rama_store *s, const char *name, const char *a, const char *b,
			  int64_t value);
int rama_store_totals_flush(struct rama_store *s, struct rama_err *e);
int rama_store_totals_fill(struct rama_store *s, struct rama_err *e);
void rama_store_totals_clear(struct rama_store_totals *t);
void rama_store_totals_fini(struct rama_store_totals *t);

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
/* the events from..end of a block */
void rama_store_block_cut(struct rama_wire_block *to, const struct rama_wire_block *b,
			  uint64_t from, uint64_t end);
int rama_store_names_put(struct rama_store *s, int64_t job, const struct rama_wire_msg_name *name,
			 size_t n, struct rama_err *e);

int rama_store_figures_put(struct rama_store *s, int64_t job,
			   const struct rama_store_figure *figures, size_t n_figures,
			   struct rama_err *e);

/* $1 to $15: job, t_ns, host, change, rule, cost, ranks, rounds, before, after, low, high,
 * confidence, verdict, gain. The number is the next one of the job; what is there stays. */
#define RAMA_STORE_TRIAL_PUT                                                                 \
	"INSERT INTO trials (job, number, t_ns, host, change, rule, cost, ranks, rounds,"    \
	" before_s, after_s, low, high, confidence, verdict, gain) SELECT $1, (SELECT"       \
	" coalesce(max(number), -1) + 1 FROM trials WHERE job = $1), $2, $3, $4, $5, $6, $7" \
	", $8, $9, $10, $11, $12, $13, $14, $15 WHERE NOT EXISTS (SELECT 1 FROM trials"      \
	" WHERE job = $1 AND t_ns = $2 AND host = $3)"

/* number of a name, by `find` ($1: the name, or $1 and $2) or else `make`; cached */
int rama_store_number(struct rama_store *s, struct rama_store_names *names,
		      const char *const name[2], const char *const sql[2], int64_t *number,
		      struct rama_err *e);
void rama_store_names_fini(struct rama_store_names *names);

int rama_store_moment_put(struct rama_store *s, const struct rama_wire_message *m,
			  struct rama_err *e);
int rama_store_moment_remove(struct rama_store *s, int64_t job, struct rama_err *e);

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
