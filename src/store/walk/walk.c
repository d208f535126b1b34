/* SPDX-License-Identifier: BSD-3-Clause */
/* walk.c: heads of blocks come in the order of the key, page by page, from the tables and from
 * where else blocks lie. A block is opened when no
 * event that is still to come from open ones can be before its first; the least event of all
 * open blocks is next. Of a block only so many events are kept as fit the memory that is shared
 * by all open ones; for the others it is unpacked again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "store/walk/state.h"

#define PAGE 256      /* heads read at a time */
#define PAGE_FAR 4096 /* the same from another place, where each page costs a search */

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

/* ---- order ----------------------------------------------------------------------------------- */

static int compare(const struct rama_store_event_walk *w, const struct rama_store_walk_key *a,
		   const struct rama_store_walk_key *b)
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

static struct rama_store_walk_key next_of(const struct rama_store_walk_cursor *c)
{
	const struct rama_store_walk_item *i = &c->item[c->at];

	return (struct rama_store_walk_key){ c->h.job,	   c->h.rank, i->event.end,
					     c->h.process, c->h.lane, i->seq };
}

static bool before(const struct rama_store_event_walk *w, const struct rama_store_walk_cursor *a,
		   const struct rama_store_walk_cursor *b)
{
	struct rama_store_walk_key x = next_of(a), y = next_of(b);

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

static int64_t rank_at(const struct rama_store_event_walk *w)
{
	return w->n_ranks > 0 ? w->ranks[w->at_rank] : w->f.rank;
}

static int take_owner(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_kept *k = ctx;

	(void)e;
	k->process = row->cell[0].i;
	k->job = row->cell[1].i;
	k->rank = row->cell[2].i;
	return 1;
}

/* Whose a block is that lies elsewhere, as is known here: process 0: nobody's that is asked for. */
static int find_owner(struct rama_store_event_walk *w, struct rama_store_kept *k,
		      struct rama_err *e)
{
	static const char sql[] = "SELECT p.number, p.job, p.rank FROM processes p JOIN jobs j ON"
				  " j.number = p.job WHERE p.segment = $1 AND j.pruned = 0";
	int rc;

	if (w->owner.process == 0 ||
	    memcmp(&w->owner.segment, &k->segment, sizeof(k->segment)) != 0) {
		w->owner = (struct rama_store_kept){ .segment = k->segment };
		rc = w->ops->run(w->db, sql, RAMA_STORE_DB_KEPT,
				 ARGS(rama_store_cell_b(&k->segment, sizeof(k->segment))),
				 take_owner, &w->owner, NULL, e);
		if (rc != 0)
			return rc;
	}
	k->process = w->owner.process;
	k->job = w->owner.job;
	k->rank = w->owner.rank;
	if (w->f.job >= 0 && k->job != w->f.job)
		k->process = 0;
	if (w->way == RAMA_STORE_EVENT_WALK_RANK && k->rank != rank_at(w))
		k->process = 0;
	return 0;
}

struct taking {
	struct rama_store_event_walk *w;
	struct rama_store_walk_heads *heads;
};

static int take_head(void *ctx, const struct rama_store_kept *k, struct rama_err *e)
{
	struct taking *t = ctx;
	struct rama_store_walk_heads *h = t->heads;
	int rc = 0;

	if (h->n == h->room)
		return 1;
	h->told++;
	h->last = h->page[h->n] = *k;
	if (h == &t->w->heads[RAMA_STORE_WALK_FAR])
		rc = find_owner(t->w, &h->page[h->n], e);
	if (rc == 0 && h->page[h->n].process != 0)
		h->n++;
	return rc;
}

static int64_t below(int64_t t, int64_t span)
{
	return t < INT64_MIN + span ? INT64_MIN : t - span;
}

static void first_page(struct rama_store_event_walk *w)
{
	for (unsigned i = 0; i < w->n_places; i++) {
		w->heads[i].no_more = w->nothing || (i == RAMA_STORE_WALK_FAR && w->pruned);
		w->heads[i].begun = false;
	}
}

static int take_lie(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_event_walk *w = ctx;
	const struct rama_store_cell *c = row->cell;
	struct rama_store_lie *l = &w->lie[w->n_lies];

	(void)e;
	if (w->n_lies > RAMA_STORE_LIES)
		return 1;
	*l = (struct rama_store_lie){ .rank = row->n > 1 ? c[1].i : RAMA_STORE_RANK_ANY,
				      .of_one = row->n > 2 };
	snprintf(l->key, sizeof(l->key), "%s", c[0].type == RAMA_STORE_CELL_TEXT ? c[0].text : "");
	if (l->of_one && c[2].len == sizeof(l->segment))
		memcpy(&l->segment, c[2].text, sizeof(l->segment));
	w->n_lies++;
	return 0;
}

/* Under which keys and ranks the blocks of the job, or of the rank, were put. */
static int find_lies(struct rama_store_event_walk *w, struct rama_err *e)
{
	static const char of_rank[] =
		"SELECT l.key, l.rank, p.segment FROM placed l JOIN processes p ON p.number ="
		" l.process WHERE p.job = $1 AND p.rank = $2 LIMIT 65";
	static const char of_job[] =
		"SELECT DISTINCT l.key FROM placed l JOIN processes p ON p.number = l.process WHERE"
		" p.job = $1 LIMIT 65";
	bool one = w->way == RAMA_STORE_EVENT_WALK_RANK;
	int rc = 0;

	w->n_lies = 0;
	if (w->way == RAMA_STORE_EVENT_WALK_ALL)
		return 0;
	w->lie[w->n_lies] =
		(struct rama_store_lie){ .rank = one ? rank_at(w) : RAMA_STORE_RANK_ANY };
	memcpy(w->lie[w->n_lies++].key, w->key, sizeof(w->key));
	if (one)
		rc = w->ops->run(w->db, of_rank, RAMA_STORE_DB_KEPT,
				 ARGS(I(w->f.job), I(rank_at(w))), take_lie, w, NULL, e);
	if (rc == 0 && (!one || w->n_lies > RAMA_STORE_LIES)) {
		w->n_lies = 1;
		rc = w->ops->run(w->db, of_job, RAMA_STORE_DB_KEPT, ARGS(I(w->f.job)), take_lie, w,
				 NULL, e);
	}
	if (rc == 0 && w->n_lies > RAMA_STORE_LIES)
		rc = rama_err_set(e, RAMA_EUSAGE, "blocks of the job lie in too many places");
	return rc;
}

static int read_page(struct rama_store_event_walk *w, struct rama_store_walk_heads *h,
		     struct rama_err *e)
{
	bool one = w->way == RAMA_STORE_EVENT_WALK_RANK;
	struct rama_store_ask ask = { .job = w->f.job,
				      .lie = w->lie,
				      .n_lies = w->n_lies,
				      .rank = one ? rank_at(w) : RAMA_STORE_RANK_ANY,
				      .record = w->f.record,
				      .from = below(w->f.from, w->span),
				      .to = w->f.to,
				      .after = h->begun ? &h->last : NULL,
				      .limit = h->room };
	struct taking t = { w, h };
	int rc = h == &w->heads[RAMA_STORE_WALK_FAR] && !h->begun ? find_lies(w, e) : 0;

	ask.n_lies = w->n_lies;
	h->n = h->at = h->told = 0;
	if (rc == 0)
		rc = h->ops->walk(h->h, &ask, take_head, &t, e);
	h->begun = true;
	h->no_more = h->told < h->room;
	return rc < 0 ? rc : 0;
}

/* reads on where a page is at its end */
static int fill(struct rama_store_event_walk *w, bool *any, struct rama_err *e)
{
	int rc = 0;

	*any = false;
	for (unsigned i = 0; rc == 0 && i < w->n_places; i++) {
		struct rama_store_walk_heads *h = &w->heads[i];

		while (rc == 0 && h->at == h->n && !h->no_more)
			rc = read_page(w, h, e);
		*any = *any || h->at < h->n;
	}
	return rc;
}

/* the place of the next head, or NULL: there are no more */
static int next_head(struct rama_store_event_walk *w, struct rama_store_walk_heads **from,
		     struct rama_err *e)
{
	bool any;
	int rc;

	*from = NULL;
	for (;;) {
		rc = fill(w, &any, e);
		if (rc != 0 || any)
			break;
		if (w->at_rank + 1 >= w->n_ranks)
			return 0;
		w->at_rank++;
		first_page(w);
	}
	for (unsigned i = 0; rc == 0 && i < w->n_places; i++) {
		struct rama_store_walk_heads *h = &w->heads[i];

		if (h->at < h->n &&
		    (*from == NULL || h->page[h->at].t0 < (*from)->page[(*from)->at].t0))
			*from = h;
	}
	return rc;
}

static int open_block(struct rama_store_event_walk *w, const struct rama_store_walk_heads *from,
		      const struct rama_store_kept *h, struct rama_err *e)
{
	struct rama_store_walk_cursor *c = calloc(1, sizeof(*c));
	int rc;

	if (c == NULL)
		return rama_err_no_memory(e);
	c->h = *h;
	c->far = from == &w->heads[RAMA_STORE_WALK_FAR];
	rc = find_segment(w, h->process, &c->segment, e);
	if (rc == 0)
		rc = rama_store_walk_load(w, c, e);
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

/* What no event of a block is before. Of two places the heads come in the order of time alone. */
static struct rama_store_walk_key least_of(const struct rama_store_event_walk *w,
					   const struct rama_store_kept *h)
{
	struct rama_store_walk_key k = { h->job, h->rank, h->t0, INT64_MIN, INT64_MIN, 0 };

	if (w->n_places > 1 && w->way == RAMA_STORE_EVENT_WALK_ALL)
		k.job = INT64_MIN;
	if (w->n_places > 1 && w->way != RAMA_STORE_EVENT_WALK_RANK)
		k.rank = INT64_MIN;
	return k;
}

/* opens all blocks that may have an event before the least of the open ones */
static int open_due(struct rama_store_event_walk *w, struct rama_err *e)
{
	struct rama_store_kept h;
	struct rama_store_walk_heads *from;
	int rc;

	for (;;) {
		rc = next_head(w, &from, e);
		if (rc != 0 || from == NULL)
			return rc;
		h = from->page[from->at];
		if (w->n_open > 0) {
			struct rama_store_walk_key top = next_of(w->open[0]);
			struct rama_store_walk_key least = least_of(w, &h);

			if (compare(w, &top, &least) < 0)
				return 0;
		}
		from->at++;
		rc = open_block(w, from, &h, e);
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
		rc = rama_store_walk_load(w, c, e);
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

/* the one on top was given already, from another block */
static bool is_twice(const struct rama_store_event_walk *w)
{
	struct rama_store_walk_key k = next_of(w->open[0]);

	return w->n_places > 1 && w->given > 0 && compare(w, &k, &w->last) == 0;
}

/* the next event is on top; false: there is none */
static int next_on_top(struct rama_store_event_walk *w, bool *any, struct rama_err *e)
{
	int rc;

	do {
		rc = advance(w, e);
		if (rc == 0)
			rc = open_due(w, e);
		*any = rc == 0 && w->n_open > 0;
		if (!*any)
			return rc;
		w->given_from = w->open[0];
	} while (is_twice(w));
	return 0;
}

int rama_store_event_walk_next(struct rama_store_event_walk *w, struct rama_store_stored_event *ev,
			       struct rama_err *e)
{
	const struct rama_store_walk_cursor *c;
	bool any = false;
	int rc;

	if (w->f.limit != 0 && w->given == w->f.limit)
		return 0;
	rc = next_on_top(w, &any, e);
	if (rc != 0 || !any)
		return rc;
	w->last = next_of(w->given_from);
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

static int take_job(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_event_walk *w = ctx;
	const struct rama_store_cell *c = row->cell;

	(void)e;
	if (c[0].type == RAMA_STORE_CELL_INT && c[0].i > 0)
		w->span = c[0].i;
	if (row->n > 2) {
		w->pruned = c[1].i != 0;
		snprintf(w->key, sizeof(w->key), "%s", c[2].text);
	}
	return 1;
}

/* which way leads to the blocks; how long one may last */
static int find_way(struct rama_store_event_walk *w, struct rama_err *e)
{
	static const char ranks[] =
		"SELECT DISTINCT rank FROM processes WHERE job = $1 ORDER BY rank";
	static const char span[] = "SELECT max_span, pruned, key FROM jobs WHERE number = $1";
	static const char spans[] = "SELECT max(max_span) FROM jobs";
	int rc;

	w->way = w->f.job < 0 ? RAMA_STORE_EVENT_WALK_ALL : RAMA_STORE_EVENT_WALK_JOB;
	if (w->f.job >= 0 &&
	    (w->f.rank != RAMA_STORE_RANK_ALL || w->f.order == RAMA_STORE_ORDER_JOB_RANK_TIME))
		w->way = RAMA_STORE_EVENT_WALK_RANK;
	rc = w->ops->run(w->db, w->f.job < 0 ? spans : span, RAMA_STORE_DB_KEPT, ARGS(I(w->f.job)),
			 take_job, w, NULL, e);
	if (rc == 0 && w->way == RAMA_STORE_EVENT_WALK_RANK && w->f.rank == RAMA_STORE_RANK_ALL) {
		rc = w->ops->run(w->db, ranks, RAMA_STORE_DB_KEPT, ARGS(I(w->f.job)), take_rank, w,
				 NULL, e);
		w->nothing = rc == 0 && w->n_ranks == 0; /* no such job */
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
			       const struct rama_store_place *far,
			       const struct rama_store_event_filter *f, struct rama_err *e)
{
	struct rama_store_event_walk *w = calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		return rama_err_no_memory(e);
	w->ops = ops;
	w->db = db;
	w->f = *f;
	w->near = (struct rama_store_near){ ops, db, &w->packer };
	w->n_places = far != NULL && far->ops != NULL ? RAMA_STORE_WALK_PLACES : 1;
	w->heads[RAMA_STORE_WALK_NEAR] =
		(struct rama_store_walk_heads){ &rama_store_blocks_sql, &w->near, .room = PAGE };
	if (w->n_places > 1)
		w->far = *far;
	if (w->n_places > 1)
		w->heads[RAMA_STORE_WALK_FAR] =
			(struct rama_store_walk_heads){ far->ops, far->h, .room = PAGE_FAR };
	if (f->to == 0)
		w->f.to = INT64_MAX;
	if (f->from == 0)
		w->f.from = INT64_MIN;
	w->block = malloc(sizeof(*w->block));
	w->pick = malloc(RAMA_WIRE_BLOCK_EVENTS * sizeof(*w->pick));
	for (unsigned i = 0; i < w->n_places; i++)
		w->heads[i].page = malloc(w->heads[i].room * sizeof(*w->heads[i].page));
	rc = w->block != NULL && w->pick != NULL && w->heads[0].page != NULL &&
			     w->heads[w->n_places - 1].page != NULL
		     ? check(w, e)
		     : rama_err_no_memory(e);
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
	for (unsigned i = 0; i < RAMA_STORE_WALK_PLACES; i++)
		free(w->heads[i].page);
	rama_store_fetch_fini(&w->fetch);
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
