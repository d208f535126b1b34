/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/events.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "query/sql.h"

#define HOSTS 1024		/* segments whose host is kept */
#define NAMES_MOST 65536	/* names that are kept */
#define NAMES_BYTES (32u << 20) /* ... and their bytes */

const char *const rama_query_event_name[RAMA_QUERY_EVENT_COLUMNS] = {
#define EVENT(id, name, ...) #name,
#include "store/events.def"
};
#define UNIT_id "id"
#define UNIT_record "record"
#define UNIT_text "text"
#define UNIT_number NULL
const char *const rama_query_event_unit[RAMA_QUERY_EVENT_COLUMNS] = {
#define EVENT(id, name, lite, postgres, unit, ...) UNIT_##unit,
#include "store/events.def"
};

struct host {
	struct rama_wire_segment_key segment;
	char name[256];
	bool known;
};

struct walk {
	struct rama_query_events *q;
	struct rama_store *names;
	rama_store_row_fn fn;
	void *ctx;
	uint64_t rows;
	struct rama_map by_id; /* job and record -> text */
	struct rama_arena arena;
	struct rama_map wanted; /* records whose name matches the glob */
	struct host host[HOSTS];
	const char *found; /* by a statement */
	int64_t rank;	   /* of all jobs, -1: all */
};

/* ---- names ----------------------------------------------------------------------------------- */

static int take_text(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct walk *w = ctx;
	const struct rama_store_cell *c = &row->cell[0];

	if (c->type != RAMA_STORE_CELL_TEXT)
		return 1;
	w->found = rama_arena_text(&w->arena, c->text, c->len);
	return w->found != NULL ? 1 : rama_err_no_memory(e);
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
	struct rama_store_cell args[] = { { .type = RAMA_STORE_CELL_INT, .i = job },
					  { .type = RAMA_STORE_CELL_INT, .i = (int64_t)record } };
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
		return rama_err_no_memory(e);
	*n = (struct named){ job, record, w->found };
	*at = (uintptr_t)n;
	*name = w->found;
	return 0;
}

static int take_host(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct host *h = ctx;

	(void)e;
	if (row->cell[0].type == RAMA_STORE_CELL_TEXT)
		snprintf(h->name, sizeof(h->name), "%s", row->cell[0].text);
	return 1;
}

static unsigned place_in(const struct rama_wire_segment_key *segment)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < sizeof(segment->b); i++)
		sum = sum * 31 + segment->b[i];
	return sum % HOSTS;
}

static int host_of(struct walk *w, const struct rama_wire_segment_key *segment, const char **name,
		   struct rama_err *e)
{
	static const char sql[] = "SELECT host FROM processes WHERE segment = $1";
	struct host *h = &w->host[place_in(segment)];
	struct rama_store_cell arg = { .type = RAMA_STORE_CELL_BYTES,
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

/* ---- records of a glob ----------------------------------------------------------------------- */

static int take_record(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct walk *w = ctx;

	if (row->cell[1].type != RAMA_STORE_CELL_TEXT ||
	    fnmatch(w->q->file, row->cell[1].text, 0) != 0)
		return 0;
	return rama_map_put(&w->wanted, (uint64_t)row->cell[0].i, NULL) != NULL
		       ? 0
		       : rama_err_no_memory(e);
}

static int find_records(struct walk *w, struct rama_err *e)
{
	struct rama_store_event_filter *f = &w->q->filter;
	struct rama_store_cell job = { .type = RAMA_STORE_CELL_INT, .i = f->job };
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

/* ---- rows ------------------------------------------------------------------------------------ */

static struct rama_store_cell text(const char *s)
{
	return s != NULL && *s != '\0' ? rama_query_cell_text(s)
				       : (struct rama_store_cell){ .type = RAMA_STORE_CELL_NULL };
}

static struct rama_store_cell number_if(bool there, int64_t v)
{
	return there ? rama_query_cell_int(v)
		     : (struct rama_store_cell){ .type = RAMA_STORE_CELL_NULL };
}

/* what stands in a column, by the word that events.def has for it */
#define CELL_NUMBER(v) rama_query_cell_int(v)
#define CELL_PLACE(v) number_if((v) >= 0, v)
#define CELL_RECORD(v) number_if((v) != 0, v)
#define CELL_WORD(v) text(v)
#define CELL_FILE(v) text(file)
#define CELL_HOST(v) text(host)

static void fill(struct rama_store_cell *c, const struct rama_store_stored_event *ev,
		 const char *file, const char *host)
{
#define EVENT(id, name, lite, postgres, unit, is, value, sql) \
	c[RAMA_QUERY_EVENT_##id] = CELL_##is(value);
#include "store/events.def"
}

static int add(void *ctx, const struct rama_store_stored_event *ev, struct rama_err *e)
{
	struct walk *w = ctx;
	const char *file = NULL, *host = "";
	struct rama_store_cell cell[RAMA_QUERY_EVENT_COLUMNS];
	struct rama_store_row row = { RAMA_QUERY_EVENT_COLUMNS, rama_query_event_name, cell };
	int rc;

	if (w->rank >= 0 && ev->rank != w->rank)
		return 0;
	if (w->wanted.used > 0 && rama_map_get(&w->wanted, ev->event->record) == NULL)
		return 0;
	if (w->q->limit > 0 && w->rows == w->q->limit) {
		w->q->more = true;
		return 1;
	}
	w->rows++;
	rc = ev->event->record != 0 ? name_of(w, ev->job, ev->event->record, &file, e) : 0;
	if (rc == 0 && !w->q->no_hosts)
		rc = host_of(w, &ev->segment, &host, e);
	if (rc != 0)
		return rc;
	fill(cell, ev, file, host);
	return w->fn(w->ctx, &row, e);
}

int rama_query_events_list(struct rama_store *s, struct rama_store *names,
			   struct rama_query_events *q, rama_store_row_fn fn, void *ctx,
			   struct rama_err *e)
{
	struct walk *w = calloc(1, sizeof(*w));
	int rc = 0;

	if (w == NULL)
		return rama_err_no_memory(e);
	w->q = q;
	w->names = names;
	w->fn = fn;
	w->ctx = ctx;
	/* there is no key for a rank of any job */
	w->rank = q->filter.job < 0 ? q->filter.rank : -1;
	if (q->filter.job < 0)
		q->filter.rank = -1;
	if (q->file != NULL)
		rc = find_records(w, e);
	if (rc == 0)
		rc = rama_store_events(s, &q->filter, add, w, e);
	rama_map_fini(&w->by_id);
	rama_map_fini(&w->wanted);
	rama_arena_fini(&w->arena);
	free(w);
	return rc > 0 ? 0 : rc;
}
