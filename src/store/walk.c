/* SPDX-License-Identifier: BSD-3-Clause */
/* walk.c: heads of blocks come in the order of the key, page by page. A block is opened when no
 * event that is still to come from open ones can be before its first; the least event of all
 * open blocks is next. Of a block only so many events are kept as fit the memory that is shared
 * by all open ones; for the others it is unpacked again. */
#include "base/grow.h"
#include "store/walk_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static struct key next_of(const struct rama_store_walk_cursor *c)
{
	const struct rama_store_walk_item *i = &c->item[c->at];

	return (struct key){ c->h.job, c->h.rank, i->event.end, c->h.process, c->h.lane, i->seq };
}

static bool before(const struct rama_store_event_walk *w, const struct rama_store_walk_cursor *a,
		   const struct rama_store_walk_cursor *b)
{
	struct key x = next_of(a), y = next_of(b);

	return compare(w, &x, &y) < 0;
}

static void sink_down(struct rama_store_event_walk *w, size_t at)
{
	for (;;) {
		size_t child = 2 * at + 1;
		struct rama_store_walk_cursor *c = w->open[at];

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

static int push(struct rama_store_event_walk *w, struct rama_store_walk_cursor *c)
{
	size_t at = w->n_open;

	if (!RAMA_GROW(w->open, w->room_open, at + 1))
		return RAMA_EMEMORY;
	w->open[w->n_open++] = c;
	while (at > 0 && before(w, w->open[at], w->open[(at - 1) / 2])) {
		struct rama_store_walk_cursor *up = w->open[(at - 1) / 2];

		w->open[(at - 1) / 2] = w->open[at];
		w->open[at] = up;
		at = (at - 1) / 2;
	}
	return 0;
}

static void cursor_free(struct rama_store_walk_cursor *c)
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
	if (row->n < 8 || w->n_page == RAMA_STORE_WALK_PAGE)
		return 1;
	w->page[w->n_page++] =
		(struct rama_store_walk_head){ c[0].i, c[1].i, c[2].i,		 c[3].i,
					       c[6].i, c[7].i, (uint32_t)c[4].i, (uint32_t)c[5].i };
	return 0;
}

static int64_t below(int64_t t, int64_t span)
{
	return t < INT64_MIN + span ? INT64_MIN : t - span;
}

static void first_page(struct rama_store_event_walk *w)
{
	w->last = (struct rama_store_walk_head){ .t0 = below(w->f.from, w->span),
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
	w->no_more = w->n_page < RAMA_STORE_WALK_PAGE;
	if (w->n_page > 0)
		w->last = w->page[w->n_page - 1];
	return rc;
}

/* the next head, or NULL: there are no more */
static int next_head(struct rama_store_event_walk *w, const struct rama_store_walk_head **h,
		     struct rama_err *e)
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

static int open_block(struct rama_store_event_walk *w, const struct rama_store_walk_head *h,
		      struct rama_err *e)
{
	struct rama_store_walk_cursor *c = calloc(1, sizeof(*c));
	int rc;

	if (c == NULL)
		return rama_err_no_memory(e);
	c->h = *h;
	rc = rama_store_event_walk_segment(w, h->process, &c->segment, e);
	if (rc == 0)
		rc = rama_store_event_walk_load(w, c, e);
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
	const struct rama_store_walk_head *h;
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
	struct rama_store_walk_cursor *c = w->given_from;
	int rc = 0;

	if (c == NULL)
		return 0;
	w->given_from = NULL;
	if (++c->at == c->n && !c->last) {
		c->before += c->n;
		rc = rama_store_event_walk_load(w, c, e);
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
	const struct rama_store_walk_cursor *c;
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
