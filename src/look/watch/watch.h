/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.h: what `iorama watch` shows of a look (look/look.h), and the forms it is shown in. */
#ifndef RAMA_LOOK_WATCH_WATCH_H
#define RAMA_LOOK_WATCH_WATCH_H

#include "base/out.h"
#include "look/watch/page.h"
#include "look/look.h"

enum rama_look_watch_kind { RAMA_LOOK_WATCH_JOBS, RAMA_LOOK_WATCH_RANKS, RAMA_LOOK_WATCH_FILES };

enum rama_look_watch_sort {
	RAMA_LOOK_SORT_RATE,
	RAMA_LOOK_SORT_OPS,
	RAMA_LOOK_SORT_LATENCY,
	RAMA_LOOK_SORT_LONGEST,
	RAMA_LOOK_SORT_IO,
	RAMA_LOOK_SORT_MOVED,
	RAMA_LOOK_SORT_NAME,
	RAMA_LOOK_SORTS
};
extern const char *const rama_look_watch_sort_name[RAMA_LOOK_SORTS];

#define RAMA_LOOK_WATCH_FILTER 64
#define RAMA_LOOK_WATCH_FILES_MOST 1000 /* files of a list */

/* what is looked at, and how */
struct rama_look_watch_view {
	enum rama_look_watch_kind kind;
	char job[128];			   /* key of the job: RANKS, FILES */
	uint64_t process;		   /* RANKS: chosen; FILES: whose; 0: the whole job's */
	enum rama_look_watch_sort sort[3]; /* by kind */
	bool reverse;
	char filter[RAMA_LOOK_WATCH_FILTER];
	/* the line that is chosen is known by its name, so that it stays chosen when lines
	 * change places */
	uint64_t chosen; /* hash or number, 0: the first */
	size_t at, top;	 /* its place, and that of the first line on the screen */
};

struct rama_look_watch_row {
	const struct rama_look_job *j;
	const struct rama_look_process *p; /* NULL in lists of jobs and of files */
	const struct rama_look_file *f;
	uint64_t name; /* for `chosen` */
	double key;
};

struct rama_look_watch_rows {
	struct rama_look_watch_row *row;
	size_t n;
	size_t of; /* before the filter */
	struct rama_look_files files;
	const struct rama_look_job *job; /* that the view is about; NULL: all, or it is gone */
	const struct rama_look_process *process; /* the same */
};

/* ---- rows.c ---------------------------------------------------------------------------------- */

/* the lines of a view, in order; places the chosen one */
int rama_look_watch_rows(struct rama_look_watch_rows *r, const struct rama_look *l,
			 struct rama_look_watch_view *v, struct rama_err *e);
void rama_look_watch_rows_fini(struct rama_look_watch_rows *r);
/* Leaves of a look only the job (by key, name, job id) or process (by its id) that a word names;
 * until the next take. *p: the process, may be NULL. False: there is none. */
bool rama_look_watch_choose(struct rama_look *l, const char *word,
			    const struct rama_look_process **p);
const struct rama_look_job *rama_look_watch_job(const struct rama_look *l, const char *key);
const char *rama_look_watch_program(const struct rama_look_job *j); /* name of what it runs */
const char *rama_look_watch_user(int64_t uid);
enum rama_look_order rama_look_watch_order(enum rama_look_watch_sort s);

/* ---- table.c --------------------------------------------------------------------------------- */

struct rama_look_watch_about { /* of the screen, beside the look */
	double interval;
	bool paused, help, ascii;
	const char *said;  /* line at the bottom instead of the keys; NULL: none */
	const char *place; /* where segments are looked for */
};

/* header and lines from..from + n of a table, on the page */
void rama_look_watch_table(struct rama_look_page *p, const struct rama_look *l,
			   const struct rama_look_watch_view *v,
			   const struct rama_look_watch_rows *r, size_t from, size_t n);
/* bytes of the last minute as a line of little bars */
void rama_look_watch_trail(struct rama_look_page *p, const struct rama_look_trail *t,
			   unsigned columns);
double rama_look_watch_peak(const struct rama_look_trail *t); /* of a second */
/* seconds of an interval that were reading, writing, metadata, as shares of a bar */
void rama_look_watch_bar(struct rama_look_page *p, const double share[3], unsigned columns);

/* ---- draw.c ---------------------------------------------------------------------------------- */

/* a whole screen */
void rama_look_watch_draw(struct rama_look_page *p, const struct rama_look *l,
			  struct rama_look_watch_view *v, const struct rama_look_watch_rows *r,
			  const struct rama_look_watch_about *a);
/* the lines above a table: what all of it together does */
void rama_look_watch_head(struct rama_look_page *p, const struct rama_look *l,
			  const struct rama_look_watch_view *v,
			  const struct rama_look_watch_rows *r);
void rama_look_watch_nothing(struct rama_look_page *p, const char *place);

/* ---- forms ----------------------------------------------------------------------------------- */

/* --once: jobs, then the ranks and files that do most of each */
int rama_look_watch_text(struct rama_look_page *p, const struct rama_look *l, const char *place,
			 enum rama_look_watch_sort sort, struct rama_err *e);
/* one document, docs/format/watch.md */
int rama_look_watch_json(struct rama_out *o, const struct rama_look *l, struct rama_err *e);

/* Switches live events of all processes of a job on or off; how many, or a negative error. */
int rama_look_watch_switch(const struct rama_look_job *j, bool on, struct rama_err *e);

#endif
