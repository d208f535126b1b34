/* SPDX-License-Identifier: BSD-3-Clause */
/* walk.c: heads of blocks come in the order of the key, page by page. A block is opened when no
 * event that is still to come from open ones can be before its first; the least event of all
 * open blocks is next. Of a block only so many events are kept as fit the memory that is shared
 * by all open ones; for the others it is unpacked again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/map.h"
#include "core/record.h"
#include "store/parts.h"
#include "store/walk.h"

#define PAGE 256 /* heads read at a time */

struct head {
	int64_t number, job, process, rank, first, t0;
	uint32_t lane, tid;
};

struct item {
	struct rama_wire_event event;
	uint64_t seq;
	const struct rama_wire_what *what;
};

/* an open block */
struct cursor {
	struct head h;
	struct item *item; /* those that pass the filter, in order of time */
	uint32_t n, at;
	uint32_t before; /* of this block, that were given before item[0] */
	bool last;	 /* there are no more after item[n - 1] */
	struct rama_wire_segment_key segment;
};

struct rama_store_event_walk {
	const struct rama_store_db_ops *ops;
	void *db;
	struct rama_store_event_filter f;
	char layer[16], op[16];
	int way;
	uint64_t given;
	struct rama_wire_block_packer packer;
	struct rama_wire_block *block;
	uint16_t *pick; /* places of events of a block that pass the filter */
	/* heads still to come */
	struct head page[PAGE];
	unsigned n_page, at_page;
	bool no_more;	/* after this page, of this rank */
	int64_t *ranks; /* to go through, one after the other (job_rank_time) */
	size_t n_ranks, at_rank, room_ranks;
	int64_t span;
	struct head last; /* the page ended here */
	/* open blocks, a heap: the least next event on top */
	struct cursor **open;
	size_t n_open, room_open;
	struct cursor *given_from; /* whose event was given last */
	/* calls, each kept once; pointers stay */
	struct rama_arena arena;
	struct rama_map calls;
	/* segments of processes */
	struct rama_map segments; /* number of the process -> address */
};

/* ---- the events of one block that a walk asks for, as many as it may keep -------------------- */

/* How many events of a block are kept in memory, by how many blocks are open: 8192 of each of
 * the first 64, ... */
#define FEW 64
#define MANY 1024
#define KEEP_FEW RAMA_WIRE_BLOCK_EVENTS
#define KEEP_MANY 1024
#define KEEP_MORE 128

struct body {
	struct rama_store_event_walk *w;
	bool found;
};

static int take_body(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct body *b = ctx;
	int rc = b->w->ops->get_block(b->w->db, row->cell, row->n, b->w->block, &b->w->packer, e);

	b->found = true;
	return rc < 0 ? rc : 1;
}

static bool passes(const struct rama_store_event_walk *w, const bool *wanted,
		   const struct rama_wire_event *ev)
{
	return ev->end >= w->f.from && ev->end < w->f.to && wanted[ev->what] &&
	       (w->f.record == 0 || ev->record == w->f.record);
}

/* which calls of the block are asked for; false: none */
static bool wanted_calls(const struct rama_store_event_walk *w, const struct rama_wire_block *b,
			 bool *wanted)
{
	bool any = false;

	for (uint32_t i = 0; i < b->n_whats; i++) {
		wanted[i] = (w->layer[0] == '\0' || strcmp(b->what[i].layer, w->layer) == 0) &&
			    (w->op[0] == '\0' || strcmp(b->what[i].op, w->op) == 0);
		any = any || wanted[i];
	}
	return any;
}

/* Ends in a lane are nearly in order, so that an insertion sort is all it takes. A clock that
 * was set back makes it slow, once. */
static void sort_by_time(const struct rama_wire_block *b, uint16_t *pick, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		uint16_t p = pick[i];
		uint32_t j = i;

		for (; j > 0 && b->event[pick[j - 1]].end > b->event[p].end; j--)
			pick[j] = pick[j - 1];
		pick[j] = p;
	}
}

static const struct rama_wire_what *kept_what(struct rama_store_event_walk *w,
					      const struct rama_wire_what *what)
{
	uint64_t h = 0xcbf29ce484222325u, *at;
	struct rama_wire_what *copy;
	bool fresh;

	for (const char *p = (const char *)what; p < (const char *)(what + 1); p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3u;
	for (;; h++) { /* the next place, should two have the same hash */
		at = rama_map_put(&w->calls, h, &fresh);
		if (at == NULL)
			return NULL;
		if (*at == 0)
			break;
		if (memcmp((void *)(uintptr_t)*at, what, sizeof(*what)) == 0)
			return (void *)(uintptr_t)*at;
	}
	copy = rama_arena_alloc(&w->arena, sizeof(*copy));
	if (copy != NULL)
		*copy = *what;
	*at = (uintptr_t)copy;
	return copy;
}

/* texts of a block end, but what is behind their end is anybody's */
static struct rama_wire_what plain(const struct rama_wire_what *what)
{
	struct rama_wire_what p = { { 0 }, { 0 }, { 0 } };

	snprintf(p.layer, sizeof(p.layer), "%s", what->layer);
	snprintf(p.op, sizeof(p.op), "%s", what->op);
	snprintf(p.fn, sizeof(p.fn), "%s", what->fn);
	return p;
}

static uint32_t share(const struct rama_store_event_walk *w)
{
	return w->n_open < FEW ? KEEP_FEW : w->n_open < MANY ? KEEP_MANY : KEEP_MORE;
}

static int copy_items(struct rama_store_event_walk *w, struct cursor *c, uint32_t n,
		      struct rama_err *e)
{
	const struct rama_wire_what *what[RAMA_WIRE_BLOCK_WHATS];
	const struct rama_wire_block *b = w->block;
	uint32_t from = c->before, take = n - from < share(w) ? n - from : share(w);
	struct item *item = realloc(c->item, (take + 1) * sizeof(*item));

	if (item == NULL)
		return rama_err_no_memory(e);
	c->item = item;
	for (uint32_t i = 0; i < b->n_whats; i++) {
		struct rama_wire_what p = plain(&b->what[i]);

		what[i] = kept_what(w, &p);
		if (what[i] == NULL)
			return rama_err_no_memory(e);
	}
	for (uint32_t i = 0; i < take; i++) {
		const struct rama_wire_event *ev = &b->event[w->pick[from + i]];

		item[i] = (struct item){ *ev, (uint64_t)c->h.first + w->pick[from + i],
					 what[ev->what] };
	}
	c->n = take;
	c->at = 0;
	c->last = from + take == n;
	return 0;
}

/* events of a block from c->before on; c->n 0: none of them is asked for */
static int load(struct rama_store_event_walk *w, struct cursor *c, struct rama_err *e)
{
	struct body body = { w, false };
	bool wanted[RAMA_WIRE_BLOCK_WHATS];
	uint32_t n = 0;
	int rc = w->ops->run(w->db, w->ops->block_sql, RAMA_STORE_DB_KEPT, ARGS(I(c->h.number)),
			     take_body, &body, NULL, e);

	if (rc == 0 && !body.found)
		return rama_err_set(e, RAMA_EMISSING, "block %lld is gone", (long long)c->h.number);
	if (rc != 0)
		return rama_err_prefix(e, "block %lld: ", (long long)c->h.number);
	if (wanted_calls(w, w->block, wanted))
		for (uint32_t i = 0; i < w->block->n; i++)
			if (passes(w, wanted, &w->block->event[i]))
				w->pick[n++] = (uint16_t)i;
	sort_by_time(w->block, w->pick, n);
	if (c->before > n)
		return rama_err_set(e, RAMA_ECORRUPT, "block %lld changed while it was read",
				    (long long)c->h.number);
	return copy_items(w, c, n, e);
}

struct found {
	struct rama_wire_segment_key key;
	bool ok;
};

static int take_segment(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct found *f = ctx;

	(void)e;
	f->ok = row->cell[0].type == RAMA_STORE_CELL_BYTES && row->cell[0].len == sizeof(f->key);
	if (f->ok)
		memcpy(&f->key, row->cell[0].text, sizeof(f->key));
	return 1;
}

/* the key of a process's segment */
static int find_segment(struct rama_store_event_walk *w, int64_t process,
			struct rama_wire_segment_key *k, struct rama_err *e)
{
	static const char sql[] = "SELECT segment FROM processes WHERE number = $1";
	struct rama_wire_segment_key *copy;
	struct found f = { .ok = false };
	bool fresh;
	uint64_t *at = rama_map_put(&w->segments, (uint64_t)process, &fresh);
	int rc;

	if (at == NULL)
		return rama_err_no_memory(e);
	if (*at == 0) {
		rc = w->ops->run(w->db, sql, RAMA_STORE_DB_KEPT, ARGS(I(process)), take_segment, &f,
				 NULL, e);
		if (rc != 0)
			return rc;
		copy = rama_arena_alloc(&w->arena, sizeof(*copy));
		if (copy == NULL)
			return rama_err_no_memory(e);
		*copy = f.key;
		*at = (uintptr_t)copy;
	}
	*k = *(struct rama_wire_segment_key *)(uintptr_t)*at;
	return 0;
}

/* ---- statements ------------------------------------------------------------------------------ */

#define HEAD                                                                 \
	"SELECT b.number, b.job, b.process, b.rank, b.lane, b.tid, b.first," \
	" b.t0 FROM blocks b WHERE "

/* $: from where on (t0, then what follows it in the key), to where */
const char *const rama_store_event_walk_sql[RAMA_STORE_EVENT_WALK_WAYS] = {
	HEAD
	"b.job = $1 AND b.rank = $2 AND b.t0 >= $3 AND b.t0 < $4 AND (b.t0 > $3 OR b.number > $5)"
	" ORDER BY b.t0, b.number LIMIT 256",
	HEAD "b.job = $1 AND b.t0 >= $3 AND b.t0 < $4 AND"
	     " (b.t0 > $3 OR b.rank > $6 OR (b.rank = $6 AND b.number > $5))"
	     " ORDER BY b.t0, b.rank, b.number LIMIT 256",
	HEAD
	"b.t0 >= $3 AND b.t0 < $4 AND (b.t0 > $3 OR b.job > $7 OR (b.job = $7 AND (b.rank > $6 OR"
	" (b.rank = $6 AND b.number > $5)))) ORDER BY b.t0, b.job, b.rank, b.number LIMIT 256",
};

/* ---- order ----------------------------------------------------------------------------------- */

struct key {
	int64_t job, rank, time, process, lane;
	uint64_t seq;
};

static int compare(const struct rama_store_event_walk *w, const struct key *a, const struct key *b)
{
#define BY(field)                 \
	if (a->field != b->field) \
	return a->field < b->field ? -1 : 1
	if (w->f.order == RAMA_STORE_ORDER_TIME_JOB_RANK)
		BY(time);
	BY(job);
	if (w->f.order == RAMA_STORE_ORDER_JOB_TIME_RANK)
		BY(time);
	BY(rank);
	if (w->f.order == RAMA_STORE_ORDER_JOB_RANK_TIME)
		BY(time);
	BY(process);
	BY(lane);
	BY(seq);
#undef BY
	return 0;
}

static struct key next_of(const struct cursor *c)
{
	const struct item *i = &c->item[c->at];

	return (struct key){ c->h.job, c->h.rank, i->event.end, c->h.process, c->h.lane, i->seq };
}

static bool before(const struct rama_store_event_walk *w, const struct cursor *a,
		   const struct cursor *b)
{
	struct key x = next_of(a), y = next_of(b);

	return compare(w, &x, &y) < 0;
}

static void sink_down(struct rama_store_event_walk *w, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		struct cursor *c = w->open[at];

		if (child >= w->n_open)
			return;
		if (child + 1 < w->n_open && before(w, w->open[child + 1], w->open[child]))
			child++;
		if (!before(w, w->open[child], c))
			return;
		w->open[at] = w->open[child];
		w->open[child] = c;
		at = child;
	}
}

static int push(struct rama_store_event_walk *w, struct cursor *c)
{
	size_t at = w->n_open;

	if (!RAMA_GROW(w->open, w->room_open, at + 1))
		return RAMA_EMEMORY;
	w->open[w->n_open++] = c;
	while (at > 0 && before(w, w->open[at], w->open[(at - 1) / 2])) {
		struct cursor *up = w->open[(at - 1) / 2];

		w->open[(at - 1) / 2] = w->open[at];
		w->open[at] = up;
		at = (at - 1) / 2;
	}
	return 0;
}

static void cursor_free(struct cursor *c)
{
	if (c != NULL)
		free(c->item);
	free(c);
}

/* ---- heads ----------------------------------------------------------------------------------- */

static int take_head(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_event_walk *w = ctx;
	const struct rama_store_cell *c = row->cell;

	(void)e;
	if (row->n < 8 || w->n_page == PAGE)
		return 1;
	w->page[w->n_page++] = (struct head){ c[0].i, c[1].i, c[2].i,		c[3].i,
					      c[6].i, c[7].i, (uint32_t)c[4].i, (uint32_t)c[5].i };
	return 0;
}

static int64_t below(int64_t t, int64_t span)
{
	return t < INT64_MIN + span ? INT64_MIN : t - span;
}

static void first_page(struct rama_store_event_walk *w)
{
	w->last = (struct head){ .t0 = below(w->f.from, w->span),
				 .number = INT64_MIN,
				 .rank = INT64_MIN,
				 .job = INT64_MIN };
	w->no_more = false;
}

static int read_page(struct rama_store_event_walk *w, struct rama_err *e)
{
	int64_t rank = w->n_ranks > 0 ? w->ranks[w->at_rank] : w->f.rank;
	int rc;

	w->n_page = w->at_page = 0;
	rc = w->ops->run(w->db, rama_store_event_walk_sql[w->way], RAMA_STORE_DB_KEPT,
			 ARGS(I(w->f.job), I(rank), I(w->last.t0), I(w->f.to), I(w->last.number),
			      I(w->last.rank), I(w->last.job)),
			 take_head, w, NULL, e);
	w->no_more = w->n_page < PAGE;
	if (w->n_page > 0)
		w->last = w->page[w->n_page - 1];
	return rc;
}

/* the next head, or NULL: there are no more */
static int next_head(struct rama_store_event_walk *w, const struct head **h, struct rama_err *e)
{
	int rc;

	*h = NULL;
	while (w->at_page == w->n_page) {
		if (w->no_more) {
			if (w->at_rank + 1 >= w->n_ranks)
				return 0;
			w->at_rank++;
			first_page(w);
		}
		rc = read_page(w, e);
		if (rc != 0)
			return rc;
	}
	*h = &w->page[w->at_page];
	return 0;
}

static int open_block(struct rama_store_event_walk *w, const struct head *h, struct rama_err *e)
{
	struct cursor *c = calloc(1, sizeof(*c));
	int rc;

	if (c == NULL)
		return rama_err_no_memory(e);
	c->h = *h;
	rc = find_segment(w, h->process, &c->segment, e);
	if (rc == 0)
		rc = load(w, c, e);
	if (rc != 0 || c->n == 0) {
		cursor_free(c);
		return rc;
	}
	rc = push(w, c);
	if (rc != 0) {
		cursor_free(c);
		return rama_err_no_memory(e);
	}
	return 0;
}

/* opens all blocks that may have an event before the least of the open ones */
static int open_due(struct rama_store_event_walk *w, struct rama_err *e)
{
	const struct head *h;
	int rc;

	for (;;) {
		rc = next_head(w, &h, e);
		if (rc != 0 || h == NULL)
			return rc;
		if (w->n_open > 0) {
			struct key top = next_of(w->open[0]);
			struct key least = { h->job, h->rank, h->t0, INT64_MIN, INT64_MIN, 0 };

			if (compare(w, &top, &least) < 0)
				return 0;
		}
		w->at_page++;
		rc = open_block(w, h, e);
		if (rc != 0)
			return rc;
	}
}

/* steps over the event that was given last */
static int advance(struct rama_store_event_walk *w, struct rama_err *e)
{
	struct cursor *c = w->given_from;
	int rc = 0;

	if (c == NULL)
		return 0;
	w->given_from = NULL;
	if (++c->at == c->n && !c->last) {
		c->before += c->n;
		rc = load(w, c, e);
		if (rc != 0)
			return rc;
	}
	if (c->at == c->n) {
		w->open[0] = w->open[--w->n_open];
		cursor_free(c);
	}
	sink_down(w, 0);
	return 0;
}

int rama_store_event_walk_next(struct rama_store_event_walk *w, struct rama_store_stored_event *ev,
			       struct rama_err *e)
{
	const struct cursor *c;
	int rc = advance(w, e);

	if (rc != 0 || (w->f.limit != 0 && w->given == w->f.limit))
		return rc;
	rc = open_due(w, e);
	if (rc != 0 || w->n_open == 0)
		return rc;
	w->given_from = w->open[0];
	w->given++;
	c = w->given_from;
	*ev = (struct rama_store_stored_event){ .job = c->h.job,
						.segment = c->segment,
						.process = c->h.process,
						.rank = c->h.rank,
						.lane = c->h.lane,
						.tid = c->h.tid,
						.seq = c->item[c->at].seq,
						.what = c->item[c->at].what,
						.event = &c->item[c->at].event };
	return 1;
}

/* ---- open, close ----------------------------------------------------------------------------- */

static int take_rank(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_event_walk *w = ctx;

	if (!RAMA_GROW(w->ranks, w->room_ranks, w->n_ranks + 1))
		return rama_err_no_memory(e);
	w->ranks[w->n_ranks++] = row->cell[0].i;
	return 0;
}

static int take_span(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	if (row->cell[0].type == RAMA_STORE_CELL_INT && row->cell[0].i > 0)
		*(int64_t *)ctx = row->cell[0].i;
	return 1;
}

/* which way leads to the blocks; how long one may last */
static int find_way(struct rama_store_event_walk *w, struct rama_err *e)
{
	static const char ranks[] =
		"SELECT DISTINCT rank FROM processes WHERE job = $1 ORDER BY rank";
	static const char span[] = "SELECT max_span FROM jobs WHERE number = $1";
	static const char spans[] = "SELECT max(max_span) FROM jobs";
	int rc;

	w->way = w->f.job < 0 ? RAMA_STORE_EVENT_WALK_ALL : RAMA_STORE_EVENT_WALK_JOB;
	if (w->f.job >= 0 &&
	    (w->f.rank != RAMA_STORE_RANK_ALL || w->f.order == RAMA_STORE_ORDER_JOB_RANK_TIME))
		w->way = RAMA_STORE_EVENT_WALK_RANK;
	rc = w->ops->run(w->db, w->f.job < 0 ? spans : span, RAMA_STORE_DB_KEPT, ARGS(I(w->f.job)),
			 take_span, &w->span, NULL, e);
	if (rc == 0 && w->way == RAMA_STORE_EVENT_WALK_RANK && w->f.rank == RAMA_STORE_RANK_ALL) {
		rc = w->ops->run(w->db, ranks, RAMA_STORE_DB_KEPT, ARGS(I(w->f.job)), take_rank, w,
				 NULL, e);
		if (rc == 0 && w->n_ranks == 0) {
			w->no_more = true; /* no such job */
			return 0;
		}
	}
	first_page(w);
	return rc;
}

static int check(struct rama_store_event_walk *w, struct rama_err *e)
{
	const struct rama_store_event_filter *f = &w->f;

	if (f->job < 0 && f->order != RAMA_STORE_ORDER_TIME_JOB_RANK)
		return rama_err_set(e, RAMA_EUSAGE,
				    "events of all jobs come in the order time_job_rank only");
	if (f->job < 0 && f->rank != RAMA_STORE_RANK_ALL)
		return rama_err_set(e, RAMA_EUSAGE, "a rank needs a job");
	if ((f->layer != NULL && strlen(f->layer) >= sizeof(w->layer)) ||
	    (f->op != NULL && strlen(f->op) >= sizeof(w->op))) {
		w->f.to = w->f.from; /* no call has such a name */
		w->f.limit = 0;
	}
	return 0;
}

int rama_store_event_walk_open(struct rama_store_event_walk **to,
			       const struct rama_store_db_ops *ops, void *db,
			       const struct rama_store_event_filter *f, struct rama_err *e)
{
	struct rama_store_event_walk *w = calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		return rama_err_no_memory(e);
	w->ops = ops;
	w->db = db;
	w->f = *f;
	if (f->to == 0)
		w->f.to = INT64_MAX;
	if (f->from == 0)
		w->f.from = INT64_MIN;
	w->block = malloc(sizeof(*w->block));
	w->pick = malloc(RAMA_WIRE_BLOCK_EVENTS * sizeof(*w->pick));
	rc = w->block != NULL && w->pick != NULL ? check(w, e) : rama_err_no_memory(e);
	snprintf(w->layer, sizeof(w->layer), "%s", f->layer != NULL ? f->layer : "");
	snprintf(w->op, sizeof(w->op), "%s", f->op != NULL ? f->op : "");
	if (rc == 0)
		rc = find_way(w, e);
	if (rc != 0) {
		rama_store_event_walk_close(w);
		return rc;
	}
	*to = w;
	return 0;
}

void rama_store_event_walk_close(struct rama_store_event_walk *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < w->n_open; i++)
		cursor_free(w->open[i]);
	free(w->open);
	free(w->ranks);
	free(w->pick);
	free(w->block);
	rama_wire_block_packer_fini(&w->packer);
	rama_map_fini(&w->calls);
	rama_map_fini(&w->segments);
	rama_arena_fini(&w->arena);
	free(w);
}
