/* SPDX-License-Identifier: BSD-3-Clause */
/* sql.c: blocks in the table `blocks` of SQLite or PostgreSQL. */
#include "store/blocks/blocks.h"

#include <stdio.h>
#include <string.h>

#include "store/walk/walk.h"

static struct rama_store_cell i(int64_t v)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_INT, .i = v };
}

/* ---- statements ------------------------------------------------------------------------------ */

#define HEAD                                                                                  \
	"SELECT b.number, b.job, b.process, b.rank, b.lane, b.tid, b.first, b.t0, b.t1, b.n," \
	" b.lost FROM blocks b WHERE "

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

static const char of_process[] =
	HEAD "b.process = $1 AND b.lane >= $2 AND (b.lane > $2 OR b.first > $3)"
	     " ORDER BY b.lane, b.first LIMIT 256";

/* ---- walk ------------------------------------------------------------------------------------ */

struct giving {
	const struct rama_store_near *near;
	const struct rama_store_ask *ask;
	rama_store_kept_fn fn;
	void *ctx;
	unsigned n;
	const struct rama_store_kept *only;
	bool found;
};

static int give_head(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct giving *g = ctx;
	const struct rama_store_cell *c = row->cell;
	struct rama_store_kept k = { .number = c[0].i,
				     .job = c[1].i,
				     .process = c[2].i,
				     .rank = c[3].i,
				     .lane = (uint32_t)c[4].i,
				     .tid = (uint32_t)c[5].i,
				     .first = (uint64_t)c[6].i,
				     .t0 = c[7].i,
				     .t1 = c[8].i,
				     .n = (uint32_t)c[9].i,
				     .lost = (uint64_t)c[10].i };

	if (g->n++ == g->ask->limit)
		return 1;
	return g->fn(g->ctx, &k, e);
}

static int give_block(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct giving *g = ctx;
	const struct rama_store_near *near = g->near;
	int rc = near->ops->get_block(near->db, row->cell, row->n, g->ask->block, near->packer, e);

	g->found = true;
	if (rc >= 0)
		rc = g->fn(g->ctx, g->only, e);
	return rc < 0 ? rc : 1;
}

static int walk_only(struct giving *g, struct rama_err *e)
{
	const struct rama_store_near *near = g->near;
	int rc = 0;

	for (unsigned k = 0; rc == 0 && k < g->ask->n_only; k++) {
		struct rama_store_cell number = i(g->ask->only[k].number);

		g->only = &g->ask->only[k];
		g->found = false;
		rc = near->ops->run(near->db, near->ops->block_sql, RAMA_STORE_DB_KEPT, &number, 1,
				    give_block, g, NULL, e);
		if (rc == 0 && !g->found)
			rc = rama_err_set(e, RAMA_EMISSING, "it is gone");
	}
	return rc;
}

static int walk_process(struct giving *g, struct rama_err *e)
{
	const struct rama_store_kept *after = g->ask->after;
	const struct rama_store_cell args[] = { i(g->ask->process),
						i(after != NULL ? (int64_t)after->lane : -1),
						i(after != NULL ? (int64_t)after->first : -1) };

	return g->near->ops->run(g->near->db, of_process, RAMA_STORE_DB_KEPT, args, 3, give_head, g,
				 NULL, e);
}

/* heads of blocks with events of one file only */
static int walk_record(struct giving *g, unsigned way, const struct rama_store_cell *args,
		       struct rama_err *e)
{
	const char *whole = rama_store_event_walk_sql[way], *order = strstr(whole, " ORDER BY");
	char sql[700];

	snprintf(sql, sizeof(sql), "%.*s%s%s", (int)(order - whole), whole,
		 g->near->ops->has_record, order);
	return g->near->ops->run(g->near->db, sql, RAMA_STORE_DB_ONCE, args, 8, give_head, g, NULL,
				 e);
}

static int walk(void *h, const struct rama_store_ask *ask, rama_store_kept_fn fn, void *ctx,
		struct rama_err *e)
{
	const struct rama_store_near *near = h;
	const struct rama_store_kept *after = ask->after;
	struct giving g = { .near = near, .ask = ask, .fn = fn, .ctx = ctx };
	struct rama_store_cell args[] = { i(ask->job),
					  i(ask->rank),
					  i(after != NULL ? after->t0 : ask->from),
					  i(ask->to),
					  i(after != NULL ? after->number : INT64_MIN),
					  i(after != NULL ? after->rank : INT64_MIN),
					  i(after != NULL ? after->job : INT64_MIN),
					  i((int64_t)ask->record) };
	unsigned way = ask->job < 0			  ? RAMA_STORE_EVENT_WALK_ALL
		       : ask->rank == RAMA_STORE_RANK_ANY ? RAMA_STORE_EVENT_WALK_JOB
							  : RAMA_STORE_EVENT_WALK_RANK;

	if (ask->n_only > 0)
		return walk_only(&g, e);
	if (ask->process != 0)
		return walk_process(&g, e);
	if (ask->record != 0 && near->ops->has_record != NULL)
		return walk_record(&g, way, args, e);
	return near->ops->run(near->db, rama_store_event_walk_sql[way], RAMA_STORE_DB_KEPT, args, 7,
			      give_head, &g, NULL, e);
}

/* ---- the others ------------------------------------------------------------------------------ */

static int put(void *h, const struct rama_store_kept *k, size_t n, struct rama_err *e)
{
	const struct rama_store_near *near = h;
	int rc = 0;

	for (; rc == 0 && n > 0; n--, k++)
		rc = near->ops->put_block(near->db, k->job, k->process, k->rank, k->block, k->body,
					  k->len, near->packer, e);
	return rc;
}

static int remove_jobs(void *h, struct rama_store_gone *gone, size_t n, int64_t since,
		       struct rama_err *e)
{
	static const char sql[] = "DELETE FROM blocks WHERE job = $1";
	const struct rama_store_near *near = h;
	int rc = 0;

	(void)since;
	for (; rc == 0 && n > 0; n--, gone++) {
		struct rama_store_cell job = i(gone->job);

		rc = near->ops->run(near->db, sql, RAMA_STORE_DB_KEPT, &job, 1, NULL, NULL, NULL,
				    e);
		gone->done = rc == 0;
	}
	return rc;
}

static int take_counts(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_block_counts *c = ctx;

	(void)e;
	c->blocks = row->cell[0].i;
	c->events = row->cell[1].type == RAMA_STORE_CELL_INT ? row->cell[1].i : 0;
	return 1;
}

static int count(void *h, struct rama_store_block_counts *c, struct rama_err *e)
{
	static const char sql[] = "SELECT count(*), CAST(sum(n) AS BIGINT) FROM blocks";
	const struct rama_store_near *near = h;

	*c = (struct rama_store_block_counts){ 0 };
	return near->ops->run(near->db, sql, RAMA_STORE_DB_KEPT, NULL, 0, take_counts, c, NULL, e);
}

static int64_t check(void *h, void (*flaw)(void *ctx, const char *line), void *ctx,
		     struct rama_err *e)
{
	const struct rama_store_near *near = h;

	return near->ops->check != NULL ? near->ops->check(near->db, flaw, ctx, e) : 0;
}

static void nothing(void *h)
{
	(void)h; /* the database is closed by who opened it */
}

const struct rama_store_block_ops rama_store_blocks_sql = { .name = "sql",
							    .put = put,
							    .walk = walk,
							    .remove = remove_jobs,
							    .count = count,
							    .check = check,
							    .close = nothing };
