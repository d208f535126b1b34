/* SPDX-License-Identifier: BSD-3-Clause */
/* fetch.h: what is in blocks that lie elsewhere, several at a time: each question there costs a
 * journey. */
#ifndef RAMA_STORE_BLOCKS_FETCH_H
#define RAMA_STORE_BLOCKS_FETCH_H

#include "store/blocks/blocks.h"

#define RAMA_STORE_BUNDLE 48

struct rama_store_fetch {
	struct {
		struct rama_store_kept k;
		unsigned char *body;
		size_t room;
	} slot[RAMA_STORE_BUNDLE];
	unsigned n;
};

/* The events of block k into b. `ahead`: those that will be asked for next. */
int rama_store_fetch_block(struct rama_store_fetch *f, const struct rama_store_place *from,
			   const struct rama_store_kept *k, const struct rama_store_kept *ahead,
			   unsigned n_ahead, struct rama_wire_block_packer *p,
			   struct rama_wire_block *b, struct rama_err *e);
void rama_store_fetch_fini(struct rama_store_fetch *f);

#endif
