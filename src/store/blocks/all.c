/* SPDX-License-Identifier: BSD-3-Clause */
/* all.c: all blocks of a process, for those who look at everything: first what lies in the
 * tables, and what lies elsewhere as far as the store knows of it, each event once. */
#include <stdlib.h>
#include <string.h>

#include "store/handle.h"

enum { NEAR, FAR };

struct rama_store_blocks *rama_store_blocks_new(struct rama_store *s, int64_t process)
{
	struct rama_store_blocks *b = calloc(1, sizeof(*b));

	if (b == NULL)
		return NULL;
	b->s = s;
	b->process = process;
	b->lane = -1;
	b->page[FAR].end = s->far.place.ops == NULL;
	return b;
}

void rama_store_blocks_free(struct rama_store_blocks *b)
{
	if (b != NULL)
		rama_store_fetch_fini(&b->fetch);
	free(b);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static int take_lie(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_blocks *b = ctx;
	const struct rama_store_cell *c = row->cell;
	struct rama_store_lie *l = &b->lie[b->n_lies];

	if (b->n_lies == RAMA_STORE_LIES || c[2].len != sizeof(b->segment))
		return rama_err_set(e, RAMA_ECORRUPT, "process %lld has been of too many jobs",
				    (long long)b->process);
	b->n_lies++;
	*l = (struct rama_store_lie){ .rank = c[1].i, .of_one = true };
	memcpy(&l->segment, c[2].text, sizeof(l->segment));
	memcpy(l->key, c[0].text, c[0].len < sizeof(l->key) ? c[0].len : 0);
	if (b->n_lies > 1)
		return 0;
	b->job = c[3].i;
	b->rank = c[1].i;
	return 0;
}

/* Under which keys and ranks its blocks were put: those of now, and of before. */
static int find_lies(struct rama_store_blocks *b, struct rama_err *e)
{
	static const char now[] = "SELECT j.key, p.rank, p.segment, p.job FROM processes p JOIN"
				  " jobs j ON j.number = p.job WHERE p.number = $1";
	static const char then[] = "SELECT l.key, l.rank, p.segment, p.job FROM placed l JOIN"
				   " processes p ON p.number = l.process WHERE l.process = $1";
	int rc = rama_store_rows(b->s, now, ARGS(I(b->process)), take_lie, b, e);

	return rc == 0 ? rama_store_rows(b->s, then, ARGS(I(b->process)), take_lie, b, e) : rc;
}

static int take_head(void *ctx, const struct rama_store_kept *k, struct rama_err *e)
{
	struct rama_store_blocks_page *p = ctx;

	(void)e;
	if (p->n == RAMA_STORE_BLOCKS_PAGE)
		return 1;
	p->k[p->n++] = *k;
	return 0;
}

static int read_page(struct rama_store_blocks *b, unsigned which, struct rama_err *e)
{
	struct rama_store_blocks_page *p = &b->page[which];
	struct rama_store_place near = { &rama_store_blocks_sql, &b->s->near };
	const struct rama_store_place *place = which == FAR ? &b->s->far.place : &near;
	struct rama_store_kept last;
	struct rama_store_ask ask = { .process = b->process,
				      .limit = RAMA_STORE_BLOCKS_PAGE,
				      .after = p->begun ? &last : NULL };
	int rc = which == FAR && !p->begun ? find_lies(b, e) : 0;

	if (p->begun)
		last = p->k[p->n - 1];
	ask.lie = b->lie;
	ask.n_lies = b->n_lies;
	p->n = p->at = 0;
	if (rc == 0 && (which == NEAR || b->n_lies > 0))
		rc = place->ops->walk(place->h, &ask, take_head, p, e);
	p->begun = true;
	p->end = p->n < RAMA_STORE_BLOCKS_PAGE;
	return rc < 0 ? rc : 0;
}

/* the page whose block is next, NULL: there are no more */
static int next_page(struct rama_store_blocks *b, struct rama_store_blocks_page **to,
		     struct rama_err *e)
{
	const struct rama_store_kept *least = NULL;
	int rc = 0;

	*to = NULL;
	for (unsigned i = 0; rc == 0 && i < 2; i++) {
		struct rama_store_blocks_page *p = &b->page[i];
		const struct rama_store_kept *k = &p->k[p->at];

		if (p->at == p->n && !p->end)
			rc = read_page(b, i, e);
		k = &p->k[p->at];
		if (rc != 0 || p->at == p->n)
			continue;
		if (least != NULL &&
		    (k->lane > least->lane || (k->lane == least->lane && k->first >= least->first)))
			continue;
		least = k;
		*to = p;
	}
	return rc;
}

/* ---- blocks of the tables -------------------------------------------------------------------- */

static int unpacked(void *ctx, const struct rama_store_kept *k, struct rama_err *e)
{
	(void)ctx, (void)k, (void)e;
	return 0;
}

static void set_row(struct rama_store_blocks *b, const struct rama_store_kept *k)
{
	b->row = (struct rama_store_block_row){
		k->number, k->lane, (int64_t)k->first, k->n,   k->t0,
		k->t1,	   k->tid,  (int64_t)k->lost,  k->job, k->rank
	};
	b->lane = k->lane;
	b->next = k->first + k->n;
}

static void set_block(const struct rama_store_blocks *b, const struct rama_store_kept *k)
{
	struct rama_wire_block *block = b->s->block;

	block->lane = k->lane;
	block->tid = k->tid;
	block->first = (uint64_t)b->row.first;
	block->lost = k->lost;
	block->rank = k->rank;
}

static int next_near(struct rama_store_blocks *b, const struct rama_store_kept *k,
		     struct rama_err *e)
{
	struct rama_store *s = b->s;
	struct rama_store_ask ask = { .only = k, .n_only = 1, .block = s->block };
	int rc;

	set_row(b, k);
	s->block->n = 0;
	rc = rama_store_blocks_sql.walk(&s->near, &ask, unpacked, NULL, e);
	if (rc == 0 && s->block->n != k->n)
		rc = rama_err_set(e, RAMA_ECORRUPT, "it has %u events, its row says %u",
				  s->block->n, k->n);
	if (rc < 0)
		return rc;
	set_block(b, k);
	return 1;
}

/* ---- blocks elsewhere ------------------------------------------------------------------------ */

/* the first events of from..to that the store knows of */
struct known {
	uint64_t from, to;
	uint64_t begin, end;
};

static int take_span(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	uint64_t first = (uint64_t)row->cell[0].i, end = first + (uint64_t)row->cell[1].i;
	struct known *k = ctx;

	(void)e;
	if (k->begin == k->end)
		k->begin = first > k->from ? first : k->from;
	else if (first > k->end)
		return 1;
	k->end = end < k->to ? end : k->to;
	return 0;
}

static int find_known(struct rama_store_blocks *b, const struct rama_store_kept *h, struct known *k,
		      struct rama_err *e)
{
	static const char sql[] = "SELECT first, n FROM spans WHERE process = $1 AND lane = $2 AND"
				  " first < $3 AND first + n > $4 ORDER BY first";

	*k = (struct known){ .from = h->first, .to = h->first + h->n };
	if (b->lane == (int64_t)h->lane && b->next > k->from)
		k->from = b->next;
	if (k->from >= k->to)
		return 0;
	return rama_store_rows(b->s, sql, ARGS(I(b->process), I(h->lane), I(k->to), I(k->from)),
			       take_span, k, e);
}

/* The part of the block that is known and was not given yet; 0: there is none. */
static int next_far(struct rama_store_blocks *b, struct rama_store_blocks_page *p,
		    struct rama_err *e)
{
	struct rama_store_kept k = p->k[p->at];
	struct rama_store *s = b->s;
	struct known part;
	int rc = find_known(b, &k, &part, e);

	k.job = b->job, k.rank = b->rank;
	if (rc < 0 || part.begin == part.end || part.end == part.to)
		p->at++;
	if (rc < 0 || part.begin == part.end)
		return rc < 0 ? rc : 0;
	set_row(b, &k);
	rc = rama_store_fetch_block(&b->fetch, &s->far.place, &k, p->k + p->at, p->n - p->at,
				    &s->packer, s->block, e);
	b->row.first = (int64_t)part.begin;
	b->row.n = (int64_t)(part.end - part.begin);
	b->next = part.end;
	if (rc < 0)
		return rc;
	if (part.end - part.begin < k.n) {
		rama_store_block_cut(s->cut, s->block, part.begin, part.end);
		memcpy(s->block, s->cut,
		       offsetof(struct rama_wire_block, event) +
			       s->cut->n * sizeof(s->cut->event[0]));
		b->row.t0 = s->block->t0;
		b->row.t1 = s->block->t1;
	}
	set_block(b, &k);
	return 1;
}

int rama_store_blocks_next(struct rama_store_blocks *b, const struct rama_store_block_row **r,
			   struct rama_err *e)
{
	struct rama_store_blocks_page *p;
	int rc;

	*r = NULL;
	do {
		rc = next_page(b, &p, e);
		if (rc != 0 || p == NULL)
			return rc;
		*r = &b->row;
		rc = p == &b->page[NEAR] ? next_near(b, &p->k[p->at++], e) : next_far(b, p, e);
	} while (rc == 0);
	return rc;
}
