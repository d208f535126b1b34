/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/blocks/fetch.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static bool is_same(const struct rama_store_kept *a, const struct rama_store_kept *b)
{
	return a->first == b->first && a->n == b->n && a->lane == b->lane &&
	       memcmp(&a->segment, &b->segment, sizeof(a->segment)) == 0;
}

static int take(void *ctx, const struct rama_store_kept *k, struct rama_err *e)
{
	struct rama_store_fetch *f = ctx;

	if (f->n == RAMA_STORE_BUNDLE)
		return 1;
	if (!RAMA_GROW(f->slot[f->n].body, f->slot[f->n].room, k->len + 1))
		return rama_err_no_memory(e);
	memcpy(f->slot[f->n].body, k->body, k->len);
	f->slot[f->n].k = *k;
	f->n++;
	return 0;
}

/* its place, -1: it is not here */
static int find(const struct rama_store_fetch *f, const struct rama_store_kept *k)
{
	for (unsigned i = 0; i < f->n; i++)
		if (is_same(&f->slot[i].k, k))
			return (int)i;
	return -1;
}

static int bring(struct rama_store_fetch *f, const struct rama_store_place *from,
		 const struct rama_store_kept *k, const struct rama_store_kept *ahead,
		 unsigned n_ahead, struct rama_err *e)
{
	struct rama_store_kept only[RAMA_STORE_BUNDLE];
	struct rama_store_ask ask = { .only = only, .n_only = 1 };
	int rc;

	only[0] = *k;
	/* what is there twice comes twice */
	for (; n_ahead > 0 && ask.n_only < RAMA_STORE_BUNDLE / 2; n_ahead--)
		only[ask.n_only++] = *ahead++;
	f->n = 0;
	rc = from->ops->walk(from->h, &ask, take, f, e);
	return rc < 0 ? rc : 0;
}

int rama_store_fetch_block(struct rama_store_fetch *f, const struct rama_store_place *from,
			   const struct rama_store_kept *k, const struct rama_store_kept *ahead,
			   unsigned n_ahead, struct rama_wire_block_packer *p,
			   struct rama_wire_block *b, struct rama_err *e)
{
	int at = find(f, k), rc = 0;

	if (at < 0) {
		rc = bring(f, from, k, ahead, n_ahead, e);
		at = find(f, k);
	}
	if (rc != 0)
		return rc;
	if (at < 0)
		return rama_err_set(e, RAMA_EMISSING, "it is gone");
	rc = rama_wire_block_unpack(p, b, f->slot[at].body, f->slot[at].k.len, e);
	if (rc != 0)
		return rc;
	if (b->n != k->n || b->first != k->first)
		return rama_err_set(e, RAMA_ECORRUPT, "it has %u events, its row says %u", b->n,
				    k->n);
	return 0;
}

void rama_store_fetch_fini(struct rama_store_fetch *f)
{
	for (unsigned i = 0; i < RAMA_STORE_BUNDLE; i++)
		free(f->slot[i].body);
	*f = (struct rama_store_fetch){ .n = 0 };
}
