/* SPDX-License-Identifier: BSD-3-Clause */
/* block.c: the events of one block that a walk asks for, as many as it may keep. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "core/record.h"
#include "store/walk/state.h"

/* How many events of a block are kept in memory, by how many blocks are open: 8192 of each of
 * the first 64, ... */
#define FEW 64
#define MANY 1024
#define KEEP_FEW RAMA_WIRE_BLOCK_EVENTS
#define KEEP_MANY 1024
#define KEEP_MORE 128

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

static int copy_items(struct rama_store_event_walk *w, struct rama_store_walk_cursor *c, uint32_t n,
		      struct rama_err *e)
{
	const struct rama_wire_what *what[RAMA_WIRE_BLOCK_WHATS];
	const struct rama_wire_block *b = w->block;
	uint32_t from = c->before, take = n - from < share(w) ? n - from : share(w);
	struct rama_store_walk_item *item = realloc(c->item, (take + 1) * sizeof(*item));

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

		item[i] = (struct rama_store_walk_item){ *ev, c->h.first + w->pick[from + i],
							 what[ev->what] };
	}
	c->n = take;
	c->at = 0;
	c->last = from + take == n;
	return 0;
}

/* ---- what is in a block ---------------------------------------------------------------------- */

static int unpacked(void *ctx, const struct rama_store_kept *k, struct rama_err *e)
{
	(void)ctx, (void)k, (void)e;
	return 0;
}

static int read_block(struct rama_store_event_walk *w, const struct rama_store_walk_cursor *c,
		      struct rama_err *e)
{
	const struct rama_store_walk_heads *near = &w->heads[RAMA_STORE_WALK_NEAR],
					   *far = &w->heads[RAMA_STORE_WALK_FAR];
	struct rama_store_ask ask = { .only = &c->h, .n_only = 1, .block = w->block };
	int rc;

	if (!c->far) {
		rc = near->ops->walk(near->h, &ask, unpacked, NULL, e);
		return rc == 0 ? 0 : rama_err_prefix(e, "block %lld", (long long)c->h.number);
	}
	rc = rama_store_fetch_block(&w->fetch, &w->far, &c->h, far->page + far->at,
				    c->before == 0 ? far->n - far->at : 0, &w->packer, w->block, e);
	return rc == 0 ? 0 : rama_err_prefix(e, "a block in %s", w->far.ops->name);
}

/* Does it have events of the file that is asked for, as far as its beginning tells? */
static bool may_have(const struct rama_store_event_walk *w, const struct rama_store_walk_cursor *c)
{
	unsigned char begin[RAMA_WIRE_BLOCK_BEGIN];
	int64_t n;
	int has = -1;

	if (w->f.record == 0 || c->far || w->ops->block_begin == NULL)
		return true;
	n = w->ops->block_begin(w->db, c->h.number, begin, RAMA_WIRE_BLOCK_LITTLE);
	if (n >= 0)
		has = rama_wire_block_has_file(begin, (size_t)n, w->f.record);
	if (n < 0 || has >= 0)
		return has != 0;
	n = w->ops->block_begin(w->db, c->h.number, begin, sizeof(begin));
	return n < 0 || rama_wire_block_has_file(begin, (size_t)n, w->f.record) != 0;
}

int rama_store_walk_load(struct rama_store_event_walk *w, struct rama_store_walk_cursor *c,
			 struct rama_err *e)
{
	bool wanted[RAMA_WIRE_BLOCK_WHATS];
	uint32_t n = 0;
	int rc;

	if (c->before == 0 && !may_have(w, c))
		return 0; /* none of its events is asked for */
	rc = read_block(w, c, e);
	if (rc != 0)
		return rc;
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
