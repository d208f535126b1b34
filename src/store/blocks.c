/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.c: all blocks of a process, one after the other, for those who look at everything. */
#include "store/parts.h"

void rama_store_blocks_init(struct rama_store_blocks *b, struct rama_store *s, int64_t process)
{
	b->s = s;
	b->process = process;
	b->lane = b->first = -1;
	b->n = b->at = 0;
	b->end = false;
}

static int take_row(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_blocks *b = ctx;
	const struct rama_store_cell *c = row->cell;

	(void)e;
	if (b->n < RAMA_STORE_BLOCKS_PAGE)
		b->row[b->n++] =
			(struct rama_store_block_row){ c[0].i, c[1].i, c[2].i, c[3].i, c[4].i,
						       c[5].i, c[6].i, c[7].i, c[8].i, c[9].i };
	return 0;
}

static int read_page(struct rama_store_blocks *b, struct rama_err *e)
{
	static const char sql[] =
		"SELECT number, lane, first, n, t0, t1, tid, lost, job, rank FROM blocks WHERE"
		" process = $1 AND lane >= $2 AND (lane > $2 OR first > $3) ORDER BY lane, first"
		" LIMIT 128";
	int rc;

	b->n = b->at = 0;
	rc = rama_store_rows(b->s, sql, ARGS(I(b->process), I(b->lane), I(b->first)), take_row, b,
			     e);
	b->end = b->n < RAMA_STORE_BLOCKS_PAGE;
	if (b->n > 0) {
		b->lane = b->row[b->n - 1].lane;
		b->first = b->row[b->n - 1].first;
	}
	return rc;
}

static int take_body(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store *s = ctx;
	int rc = s->ops->get_block(s->db, row->cell, row->n, s->block, &s->packer, e);

	return rc < 0 ? rc : 1;
}

int rama_store_blocks_next(struct rama_store_blocks *b, const struct rama_store_block_row **r,
			   struct rama_err *e)
{
	struct rama_store *s = b->s;
	int rc;

	*r = NULL;
	if (b->at == b->n) {
		if (b->end)
			return 0;
		rc = read_page(b, e);
		if (rc != 0 || b->n == 0)
			return rc;
	}
	*r = &b->row[b->at++];
	s->block->n = 0;
	rc = rama_store_rows(s, s->ops->block_sql, ARGS(I((*r)->number)), take_body, s, e);
	if (rc == 0 && s->block->n != (*r)->n)
		rc = rama_err_set(e, RAMA_ECORRUPT, "it has %u events, its row says %lld",
				  s->block->n, (long long)(*r)->n);
	if (rc < 0)
		return rc;
	s->block->lane = (uint32_t)(*r)->lane;
	s->block->tid = (uint32_t)(*r)->tid;
	s->block->first = (uint64_t)(*r)->first;
	s->block->lost = (uint64_t)(*r)->lost;
	s->block->rank = (*r)->rank;
	return 1;
}
