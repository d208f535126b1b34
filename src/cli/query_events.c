/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/query_events.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"

#define HOSTS 1024		/* segments whose host is kept */
#define NAMES_MOST 65536	/* names that are kept */
#define NAMES_BYTES (32u << 20) /* ... and their bytes */

/* as the table `events` of the store has them */
enum column {
	JOB,
	RANK,
	END,
	START,
	DUR,
	OFF,
	LEN,
	RECORD,
	FILE_NAME,
	LAYER,
	OP,
	FN,
	TID,
	LANE,
	SEQ,
	CALL,
	PARENT,
	FAILED,
	HOST,
	COLUMNS
};
static const char *const names_of[COLUMNS] = { "job",  "rank",	 "end_ns", "start_ns", "dur_ns",
					       "off",  "len",	 "record", "file",     "layer",
					       "op",   "fn",	 "tid",	   "lane",     "seq",
					       "call", "parent", "failed", "host" };
static const char *const units[COLUMNS] = { "id",     "id",   NULL,   NULL,   NULL,   "id", "id",
					    "record", "text", "text", "text", "text", "id", "id",
					    "id",     "id",   "id",   "id",   "text" };

/* for people: fewer, and the ones that tell most first */
static const enum column short_columns[] = {
	START, DUR, JOB, RANK, LAYER, FN, OFF, LEN, FILE_NAME
};
static const char *const short_names[] = { "time", "took",   "job",   "rank", "layer",
					   "call", "offset", "bytes", "file" };
static const char *const short_units[] = { "when", "span", "id", "id",	"text",
					   "text", "id",   "id", "text" };
#define N_SHORT (sizeof(short_columns) / sizeof(*short_columns))

struct host {
	struct rama_segment_key segment;
	char name[256];
	bool known;
};

struct walk {
	struct rama_query_events *q;
	struct rama_store *names;
	struct rama_rows rows;
	struct rama_map by_id; /* job and record -> text */
	struct rama_arena arena;
	struct rama_map wanted; /* records whose name matches the glob */
	struct host host[HOSTS];
	const char *found; /* by a statement */
	int64_t rank;	   /* of all jobs, -1: all */
};

/* ---- names ---------------------------------------------------------------------------------------- */

static int take_text(void *ctx, const struct rama_row *row, struct rama_err *e)
{
	struct walk *w = ctx;
	const struct rama_cell *c = &row->cell[0];

	if (c->type != RAMA_CELL_TEXT)
		return 1;
	w->found = rama_arena_text(&w->arena, c->text, c->len);
	return w->found != NULL ? 1 : rama_err_set(e, RAMA_EMEMORY, "out of memory");
}

static uint64_t place_of(int64_t job, uint64_t record)
{
	uint64_t x = record ^ ((uint64_t)job * 0x9e3779b97f4a7c15u);

	return x ^ x >> 29; /* two of them in one place: see below */
}

struct named {
	int64_t job;
	uint64_t record;
	const char *name;
};

/* the name of a file, or NULL; they are kept, up to a number, then all are forgotten */
static int name_of(struct walk *w, int64_t job, uint64_t record, const char **name,
		   struct rama_err *e)
{
	static const char sql[] = "SELECT path FROM files WHERE job = $1 AND record = $2";
	struct rama_cell args[] = { { .type = RAMA_CELL_INT, .i = job },
				    { .type = RAMA_CELL_INT, .i = (int64_t)record } };
	uint64_t key = place_of(job, record), *at = rama_map_get(&w->by_id, key);
	struct named *n = at != NULL ? (struct named *)(uintptr_t)*at : NULL;
	int rc;

	if (n != NULL && n->job == job && n->record == record) {
		*name = n->name;
		return 0;
	}
	if (w->by_id.used >= NAMES_MOST || w->arena.total > NAMES_BYTES) {
		rama_map_fini(&w->by_id);
		rama_arena_fini(&w->arena);
		w->by_id = (struct rama_map){ 0 };
		w->arena = (struct rama_arena){ 0 };
	}
	w->found = NULL;
	rc = rama_store_select(w->names, sql, args, 2, take_text, w, e);
	if (rc < 0)
		return rc;
	n = rama_arena_alloc(&w->arena, sizeof(*n));
	at = rama_map_put(&w->by_id, key, NULL);
	if (n == NULL || at == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	*n = (struct named){ job, record, w->found };
	*at = (uintptr_t)n;
	*name = w->found;
	return 0;
}

static int take_host(void *ctx, const struct rama_row *row, struct rama_err *e)
{
	struct host *h = ctx;

	(void)e;
	if (row->cell[0].type == RAMA_CELL_TEXT)
		snprintf(h->name, sizeof(h->name), "%s", row->cell[0].text);
	return 1;
}

static unsigned place_in(const struct rama_segment_key *segment)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < sizeof(segment->b); i++)
		sum = sum * 31 + segment->b[i];
	return sum % HOSTS;
}

static int host_of(struct walk *w, const struct rama_segment_key *segment, const char **name,
		   struct rama_err *e)
{
	static const char sql[] = "SELECT host FROM processes WHERE segment = $1";
	struct host *h = &w->host[place_in(segment)];
	struct rama_cell arg = { .type = RAMA_CELL_BYTES,
				 .text = (const char *)segment->b,
				 .len = sizeof(segment->b) };
	int rc = 0;

	if (!h->known || memcmp(&h->segment, segment, sizeof(*segment)) != 0) {
		h->known = true;
		h->segment = *segment;
		h->name[0] = '\0';
		rc = rama_store_select(w->names, sql, &arg, 1, take_host, h, e);
	}
	*name = h->name;
	return rc < 0 ? rc : 0;
}

/* ---- records of a glob ------------------------------------------------------------------------------ */

static int take_record(void *ctx, const struct rama_row *row, struct rama_err *e)
{
	struct walk *w = ctx;

	if (row->cell[1].type != RAMA_CELL_TEXT || fnmatch(w->q->file, row->cell[1].text, 0) != 0)
		return 0;
	return rama_map_put(&w->wanted, (uint64_t)row->cell[0].i, NULL) != NULL
		       ? 0
		       : rama_err_set(e, RAMA_EMEMORY, "out of memory");
}

static int find_records(struct walk *w, struct rama_err *e)
{
	struct rama_event_filter *f = &w->q->filter;
	struct rama_cell job = { .type = RAMA_CELL_INT, .i = f->job };
	struct rama_map_slot slot;
	size_t at = 0;
	int rc = rama_store_select(w->names,
				   f->job >= 0 ? "SELECT record, path FROM files WHERE job = $1"
					       : "SELECT record, path FROM files",
				   &job, f->job >= 0 ? 1 : 0, take_record, w, e);

	if (rc < 0)
		return rc;
	if (w->wanted.used == 0)
		return rama_err_set(e, RAMA_EMISSING, "no file of %s is called '%s'",
				    f->job >= 0 ? "the job" : "any job", w->q->file);
	if (w->wanted.used == 1 && rama_map_next(&w->wanted, &at, &slot))
		f->record = slot.key;
	return 0;
}

/* ---- rows ---------------------------------------------------------------------------------------- */

static struct rama_cell integer(int64_t v)
{
	return (struct rama_cell){ .type = RAMA_CELL_INT, .i = v };
}

static struct rama_cell text(const char *s)
{
	return s != NULL && *s != '\0'
		       ? (struct rama_cell){ .type = RAMA_CELL_TEXT, .text = s, .len = strlen(s) }
		       : (struct rama_cell){ .type = RAMA_CELL_NULL };
}

/* -1: it has none */
static struct rama_cell unless_none(int64_t v)
{
	return v >= 0 ? integer(v) : (struct rama_cell){ .type = RAMA_CELL_NULL };
}

static void fill(struct rama_cell *c, const struct rama_stored_event *ev, const char *file,
		 const char *host)
{
	const struct rama_wire_event *x = ev->event;

	c[JOB] = integer(ev->job);
	c[RANK] = integer(ev->rank);
	c[END] = integer(x->end);
	c[START] = integer(x->end - x->dur);
	c[DUR] = integer(x->dur);
	c[OFF] = unless_none(x->off);
	c[LEN] = unless_none(x->bytes);
	c[RECORD] = x->record != 0 ? integer((int64_t)x->record)
				   : (struct rama_cell){ .type = RAMA_CELL_NULL };
	c[FILE_NAME] = text(file);
	c[LAYER] = text(ev->what->layer);
	c[OP] = text(ev->what->op);
	c[FN] = text(ev->what->fn);
	c[TID] = integer(ev->tid);
	c[LANE] = integer(ev->lane);
	c[SEQ] = integer((int64_t)ev->seq);
	c[CALL] = integer(ev->event->call);
	c[PARENT] = integer(ev->event->parent);
	c[FAILED] = integer(ev->event->failed);
	c[HOST] = text(host);
}

static int add(void *ctx, const struct rama_stored_event *ev, struct rama_err *e)
{
	struct walk *w = ctx;
	const char *file = NULL, *host = "";
	struct rama_cell cell[COLUMNS], few[N_SHORT];
	int rc;

	if (w->rank >= 0 && ev->rank != w->rank)
		return 0;
	if (w->wanted.used > 0 && rama_map_get(&w->wanted, ev->event->record) == NULL)
		return 0;
	if (w->q->limit > 0 && w->rows.rows == w->q->limit) {
		w->q->more = true;
		return 1;
	}
	rc = ev->event->record != 0 ? name_of(w, ev->job, ev->event->record, &file, e) : 0;
	if (rc == 0 && w->q->form != RAMA_ROWS_TEXT)
		rc = host_of(w, &ev->segment, &host, e);
	if (rc != 0)
		return rc;
	fill(cell, ev, file, host);
	if (w->q->form != RAMA_ROWS_TEXT)
		return rama_rows_add(&w->rows, cell);
	for (unsigned i = 0; i < N_SHORT; i++)
		few[i] = cell[short_columns[i]];
	return rama_rows_add(&w->rows, few);
}

int rama_query_events(struct rama_store *s, struct rama_store *names, struct rama_query_events *q,
		      struct rama_out *out, struct rama_err *e)
{
	struct walk *w = calloc(1, sizeof(*w));
	bool people = q->form == RAMA_ROWS_TEXT;
	int rc = 0;

	if (w == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	w->q = q;
	w->names = names;
	w->rank =
		q->filter.job < 0 ? q->filter.rank : -1; /* there is no key for a rank of any job */
	if (q->filter.job < 0)
		q->filter.rank = -1;
	w->rows = (struct rama_rows){ .out = out, .form = q->form };
	if (q->file != NULL)
		rc = find_records(w, e);
	if (rc == 0)
		rc = rama_rows_begin(&w->rows, people ? N_SHORT : COLUMNS,
				     people ? short_names : names_of, people ? short_units : units);
	if (rc == 0)
		rc = rama_store_events(s, &q->filter, add, w, e);
	if (rc >= 0 || w->rows.name != NULL)
		rama_rows_end(&w->rows);
	rama_map_fini(&w->by_id);
	rama_map_fini(&w->wanted);
	rama_arena_fini(&w->arena);
	free(w);
	return rc > 0 ? 0 : rc;
}
