/* SPDX-License-Identifier: BSD-3-Clause */
/* store.h: jobs, their files and counters, findings, node samples and events, kept. SQLite (a
 * file) or PostgreSQL (a URL postgresql://…); docs/format/store.md is the schema. One store is
 * used by one thread at a time. */
#ifndef RAMA_STORE_STORE_H
#define RAMA_STORE_STORE_H

#include "logfile/log.h"
#include "wire/message.h"

struct rama_store;

enum {
	RAMA_STORE_READ = 0,
	RAMA_STORE_WRITE = 1,
	RAMA_STORE_CREATE = 2, /* with WRITE: make it if it is not there */
	RAMA_STORE_SMALL = 4   /* one of many that are open: keeps little of it in memory */
};

/* where: a path or postgresql://… . Brings an older schema up to date when opened for writing; a
 * newer one, or an older one opened for reading, is RAMA_EVERSION with a line that says what to
 * do. Messages do not name the store. */
int rama_store_open(struct rama_store **s, const char *where, unsigned flags, struct rama_err *e);
void rama_store_close(struct rama_store *s);
/* "sqlite" or "postgresql": what the few functions differ in that SQL has for texts */
const char *rama_store_kind(const struct rama_store *s);

#define RAMA_STORE_EVENTS_URL 2048
/* Where blocks of events go from now on, and for all who open this store: clickhouse://… .
 * Tables are made there. The same again does nothing; another one: change, else RAMA_EUSAGE. The
 * store is in PostgreSQL, open for writing. */
int rama_store_events_at(struct rama_store *s, const char *url, bool change, struct rama_err *e);
/* IORAMA_STORE, else $XDG_DATA_HOME/iorama/store.db, else ~/.local/share/iorama/store.db; false:
 * does not fit */
bool rama_store_default(char *to, size_t room);

/* ---- writing: begin, put…, commit. After an error: rollback, and all of the batch is to be put
 * again */

int rama_store_begin(struct rama_store *s, struct rama_err *e);
int rama_store_commit(struct rama_store *s, struct rama_err *e);
void rama_store_rollback(struct rama_store *s);
/* Is it worth trying again (the server is gone, the database is locked, the disk is full), or is
 * it the message? */
bool rama_store_temporary(const struct rama_store *s);
/* how long to wait for others that write, before an error that is temporary (10 s at first) */
void rama_store_wait(struct rama_store *s, int ms);
/* How long a statement may take, for who answers many: longer ones end with RAMA_ESTOPPED and a
 * line that says so. 0: as long as it takes. */
void rama_store_limit(struct rama_store *s, int ms);

/* Takes a message in; twice is once. Events that are there already (segment, lane, sequence) are
 * left out, also when a block overlaps what is there only in part. *stored: events that came in
 * by it, may be NULL. Damaged messages are RAMA_ECORRUPT and leave the batch as it was.
 * RAMA_WIRE_MSG_LOG is refused with RAMA_EUSAGE: see rama_store_put_log. */
int rama_store_put(struct rama_store *s, const struct rama_wire_message *m, uint64_t *stored,
		   struct rama_err *e);

/* Processes of which nothing was heard for RAMA_STORE_LOST_AFTER ns before `now`, and jobs with
 * nobody else in them, become `lost`; those that report again are back. A batch of its own. To
 * be called now and then by who writes. */
#define RAMA_STORE_LOST_AFTER 60000000000ll
int rama_store_reap(struct rama_store *s, int64_t now, struct rama_err *e);
/* 1: there are such, 0: not; for who only reads */
int rama_store_stale(struct rama_store *s, int64_t now, struct rama_err *e);
/* what time it is, for tests; 0: as the system says */
void rama_store_clock(struct rama_store *s, int64_t ns);
int64_t rama_store_now(const struct rama_store *s);

/* A job known from its log. Figures and findings come from the caller, who has diagnosed it. */
struct rama_store_finding {
	const char *rule, *level, *title, *evidence, *advice;
	double cost, bytes; /* seconds, bytes */
};
struct rama_store_figure { /* derived: "io_time", "rate", "small_writes": facts of diagnose */
	const char *name;
	double value;
};
/* of the log of a daemon or server, what it did for one user: a log */
struct rama_store_served {
	const char *user;
	int64_t uid, start_ns, end_ns; /* of his requests */
	uint64_t requests;
	const unsigned char *bytes;
	size_t len;
};

struct rama_store_log {
	const char *key;  /* of the job */
	const char *path; /* of the log, "" if it has none */
	int64_t size, mtime_ns;
	const char *user, *name;    /* name: of the program */
	struct rama_log *log;	    /* open; records are read from it */
	const unsigned char *bytes; /* the log itself, kept for `report --store`; NULL: not kept */
	size_t len;
	int64_t bytes_read, bytes_written, reads, writes, metas, files;
	int64_t nodes; /* 0: not known */
	double io_time, meta_time, run_time;
	bool complete;
	/* Of the bytes of the log, 0: not known. A log with the same hash under another key or
	 * path is the same log: its job is this one. */
	uint64_t hash;
	const char *verdict;
	const struct rama_store_finding *findings;
	size_t n_findings;
	const struct rama_store_figure *figures;
	size_t n_figures;
	const struct rama_store_served *served;
	size_t n_served;
};
/* Has the store an index for this figure? See ranked.def. */
bool rama_store_figure_ranked(const char *name);
/* Replaces what was known of the job by an earlier version of its log (same path or same key);
 * what came live stays. */
int rama_store_put_log(struct rama_store *s, const struct rama_store_log *l, struct rama_err *e);
/* 1: a log of this path with this size and time is in the store already */
int rama_store_has_log(struct rama_store *s, const char *path, int64_t size, int64_t mtime_ns,
		       struct rama_err *e);

/* What `iorama emulate try` found of a job: its replay as it was and with a change. */
struct rama_store_trial {
	int64_t t_ns; /* when, ns since 1970 */
	const char *host, *change;
	const char *rule; /* the finding that the change is the answer to, "": none */
	double cost;	  /* seconds that it was said to cost then; NAN: not known */
	int64_t ranks, rounds;
	double before, after;	      /* seconds of the replay, medians */
	double low, high, confidence; /* of after / before */
	const char *verdict;	      /* better, worse, cannot tell */
};
/* in a batch; RAMA_EMISSING: there is no such job */
int rama_store_put_trial(struct rama_store *s, int64_t job, const struct rama_store_trial *t,
			 struct rama_err *e);
/* the job of the log with this hash (rama_store_log.hash); RAMA_EMISSING: there is none */
int rama_store_find_log(struct rama_store *s, uint64_t hash, int64_t *job, struct rama_err *e);

/* ---- reading --------------------------------------------------------------------------------- */

enum rama_store_cell_type {
	RAMA_STORE_CELL_NULL,
	RAMA_STORE_CELL_INT,
	RAMA_STORE_CELL_REAL,
	RAMA_STORE_CELL_TEXT,
	RAMA_STORE_CELL_BYTES
};
struct rama_store_cell {
	enum rama_store_cell_type type;
	int64_t i;
	double f;
	const char *text; /* TEXT (ends with NUL) and BYTES; valid during the call */
	size_t len;
};
struct rama_store_row {
	unsigned n;
	const char *const *name; /* of columns */
	const struct rama_store_cell *cell;
};
/* Negative: an error that ends the walk; positive: enough; 0: go on. */
typedef int (*rama_store_row_fn)(void *ctx, const struct rama_store_row *row, struct rama_err *e);

/* One statement that only reads, $1 $2 … in it. */
int rama_store_select(struct rama_store *s, const char *sql, const struct rama_store_cell *args,
		      unsigned n_args, rama_store_row_fn fn, void *ctx, struct rama_err *e);

/* Events in the order of one of the joint keys, from blocks, never a scan over other jobs' or
 * ranks' blocks. */
#define RAMA_STORE_RANK_ALL (-1)
enum rama_store_order {
	RAMA_STORE_ORDER_JOB_RANK_TIME,
	RAMA_STORE_ORDER_JOB_TIME_RANK,
	RAMA_STORE_ORDER_TIME_JOB_RANK
};
struct rama_store_event_filter {
	enum rama_store_order order;
	int64_t job;		/* number in the store; -1: all (order TIME_JOB_RANK) */
	int64_t rank;		/* -1: all */
	int64_t from, to;	/* end time, ns since 1970, from <= end < to; 0 0: all */
	uint64_t record;	/* file; 0: all */
	const char *layer, *op; /* NULL: all */
	uint64_t limit;		/* 0: none */
};
struct rama_store_stored_event {
	int64_t job;
	int64_t process; /* number in the store */
	struct rama_wire_segment_key segment;
	int64_t rank;
	uint32_t lane, tid;
	uint64_t seq;
	const struct rama_wire_what *what;
	const struct rama_wire_event *event;
};
typedef int (*rama_store_event_fn)(void *ctx, const struct rama_store_stored_event *ev,
				   struct rama_err *e);
int rama_store_events(struct rama_store *s, const struct rama_store_event_filter *f,
		      rama_store_event_fn fn, void *ctx, struct rama_err *e);

/* What processes of a job are at, node by node, as agents told it last and not before `since`
 * (ns): valid during the call. */
typedef int (*rama_store_moment_fn)(void *ctx, const struct rama_wire_msg_moment *m,
				    struct rama_err *e);
int rama_store_moments(struct rama_store *s, int64_t job, int64_t since, rama_store_moment_fn fn,
		       void *ctx, struct rama_err *e);

/* Name of the table that holds a module's counters, and of the column of a field; false: there
 * is none. */
bool rama_store_table_name(const struct rama_tab_module *mod, char *to, size_t room);
bool rama_store_column_name(const struct rama_tab_field *field, char *to, size_t room);

/* The number of a job by its number, its key, its batch job id (the newest) or "last";
 * RAMA_EMISSING with a line. */
int rama_store_find_job(struct rama_store *s, const char *word, int64_t *job, struct rama_err *e);
/* the bytes of its log, malloc'ed; RAMA_EMISSING: none is kept */
int rama_store_log_bytes(struct rama_store *s, int64_t job, unsigned char **bytes, size_t *n,
			 struct rama_err *e);

/* ---- upkeep ---------------------------------------------------------------------------------- */

struct rama_store_counts {
	int64_t jobs, processes, files, records, findings, samples, blocks, events, lost, logs,
		bytes, elsewhere; /* of these, with the blocks that lie elsewhere */
	int64_t first, last;	  /* ns since 1970 */
	int schema;
};
/* bytes that it takes, about */
int64_t rama_store_size(struct rama_store *s);
int rama_store_stats(struct rama_store *s, struct rama_store_counts *c, struct rama_err *e);
/* Jobs that ended, or were lost, before this moment; events_only: their events and activity, the
 * rest stays. Running jobs stay. *jobs: how many. Space is given back. */
int rama_store_prune(struct rama_store *s, int64_t before, bool events_only, int64_t *jobs,
		     struct rama_err *e);
/* How long what is kept (keep.c): events and activity; sums by second, those by minute stay;
 * samples of nodes; jobs with all they have. Spans in ns since a job ended, or a sample was
 * taken. */
#define RAMA_STORE_FOREVER INT64_MAX
enum rama_store_keep_what {
	RAMA_STORE_KEEP_EVENTS,
	RAMA_STORE_KEEP_SERIES,
	RAMA_STORE_KEEP_SAMPLES,
	RAMA_STORE_KEEP_JOBS,
	RAMA_STORE_KEEPS
};
struct rama_store_keep {
	int64_t span[RAMA_STORE_KEEPS];
};
/* of words such as events=30d, jobs=forever; what is not named is kept for ever */
int rama_store_keep_read(struct rama_store_keep *k, const char *const *word, size_t n,
			 struct rama_err *e);
#define RAMA_STORE_KEEP_TEXT 160
char *rama_store_keep_text(char to[RAMA_STORE_KEEP_TEXT], const struct rama_store_keep *k);
/* the setting of a store; NULL: none any more. get: 1: there is one, 0: none */
int rama_store_keep_set(struct rama_store *s, const struct rama_store_keep *k, struct rama_err *e);
int rama_store_keep_get(struct rama_store *s, struct rama_store_keep *k, struct rama_err *e);
/* Removes what is older; dry: only counts it. Jobs that lost events, sums by second, or all;
 * samples. */
struct rama_store_keep_gone {
	int64_t n[RAMA_STORE_KEEPS];
};
int rama_store_keep_apply(struct rama_store *s, const struct rama_store_keep *k, bool dry,
			  struct rama_store_keep_gone *gone, struct rama_err *e);
/* Copies jobs that ended before this moment, and samples of that time, into another store (made if
 * need be), complete and checked, then removes them here. */
int rama_store_archive(struct rama_store *s, const char *to, int64_t before, int64_t *jobs,
		       struct rama_err *e);
/* Reads everything: every block unpacks, counts agree, sequences have no gap that is not a
 * counted loss, rollups equal the events. Each flaw is told; returns how many, or a negative
 * error. */
int64_t rama_store_verify(struct rama_store *s, void (*flaw)(void *ctx, const char *line),
			  void *ctx, struct rama_err *e);

#endif
