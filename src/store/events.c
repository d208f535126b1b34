/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c: events of a block come into the store, each once: what a block has in common with
 * blocks that are there is cut off it. Sums per second are kept beside them. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "store/blocks/far.h"

/* ---- sums per second ------------------------------------------------------------------------- */

enum kind { READS, WRITES, METAS, KINDS };
static const char *const kind_name[KINDS] = { "read", "write", "meta" };

struct sum {
	int64_t second;
	uint32_t group; /* layer and kind */
	int64_t ops, failed, bytes, ns, longest;
};

struct sums {
	struct sum *sum;
	size_t n, room;
	struct rama_map at;
	const char *layer[RAMA_WIRE_BLOCK_WHATS * KINDS]; /* of each group */
	uint32_t group[RAMA_WIRE_BLOCK_WHATS];		  /* of each call of the block */
	/* its sum that was added to last, + 1 */
	size_t last[RAMA_WIRE_BLOCK_WHATS];
};

static enum kind kind_of(const char *op)
{
	return strcmp(op, "read") == 0 ? READS : strcmp(op, "write") == 0 ? WRITES : METAS;
}

/* calls of the same layer and kind are one group: layer's first row * KINDS + kind */
static void group_calls(struct sums *t, const struct rama_wire_block *b)
{
	for (uint32_t i = 0; i < b->n_whats; i++) {
		uint32_t j = 0;

		while (strcmp(b->what[j].layer, b->what[i].layer) != 0)
			j++;
		t->group[i] = j * KINDS + kind_of(b->what[i].op);
		t->layer[t->group[i]] = b->what[i].layer;
		t->last[i] = 0;
	}
}

static struct sum *sum_of(struct sums *t, int64_t second, uint16_t what)
{
	uint32_t group = t->group[what];
	bool fresh;
	uint64_t *at;

	if (t->last[what] != 0 && t->sum[t->last[what] - 1].second == second)
		return &t->sum[t->last[what] - 1];
	at = rama_map_put(&t->at, (uint64_t)second * (RAMA_WIRE_BLOCK_WHATS * KINDS) + group,
			  &fresh);
	if (at == NULL)
		return NULL;
	if (*at == 0) {
		if (!RAMA_GROW(t->sum, t->room, t->n + 1))
			return NULL;
		t->sum[t->n] = (struct sum){ .second = second, .group = group };
		*at = ++t->n;
	}
	t->last[what] = *at;
	return &t->sum[*at - 1];
}

int64_t rama_store_second_of(int64_t ns)
{
	return ns >= 0 ? ns / 1000000000 : -1 - -(ns + 1) / 1000000000;
}

static int sum_up(struct sums *t, const struct rama_wire_block *b)
{
	for (uint32_t i = 0; i < b->n; i++) {
		const struct rama_wire_event *ev = &b->event[i];
		struct sum *sum = sum_of(t, rama_store_second_of(ev->end), ev->what);

		if (sum == NULL)
			return RAMA_EMEMORY;
		sum->ops++;
		sum->failed += ev->failed;
		sum->bytes = rama_store_sum(sum->bytes, ev->bytes);
		sum->ns = rama_store_sum(sum->ns, ev->dur);
		if (ev->dur > sum->longest)
			sum->longest = ev->dur;
	}
	return 0;
}

static int put_sums(struct rama_store *s, const struct rama_store_process *p, const struct sums *t,
		    struct rama_err *e)
{
	static const char sql[] =
		"INSERT INTO rollups (job, second, process, layer, kind, rank, ops, failed, bytes,"
		" ns, longest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
		" ON CONFLICT (job, second, process, layer, kind) DO UPDATE SET"
		" ops = rollups.ops + excluded.ops, failed = rollups.failed + excluded.failed,"
		" bytes = CASE WHEN rollups.bytes + excluded.bytes > $12 THEN $12"
		" ELSE rollups.bytes + excluded.bytes END,"
		" ns = CASE WHEN rollups.ns + excluded.ns > $12 THEN $12"
		" ELSE rollups.ns + excluded.ns END,"
		" longest = CASE WHEN excluded.longest > rollups.longest THEN excluded.longest"
		" ELSE rollups.longest END";
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < t->n; i++) {
		const struct sum *sum = &t->sum[i];

		rc = rama_store_do(s, sql,
				   ARGS(I(p->job), I(sum->second), I(p->number),
					rama_store_cell_t(t->layer[sum->group]),
					rama_store_cell_t(kind_name[sum->group % KINDS]),
					I(p->rank), I(sum->ops), I(sum->failed), I(sum->bytes),
					I(sum->ns), I(sum->longest), I(RAMA_STORE_SUM_MOST)),
				   e);
		if (rc == 0 &&
		    rama_store_series_longest(s, p->job, sum->second, t->layer[sum->group],
					      sum->group % KINDS, sum->longest) != 0)
			rc = rama_err_no_memory(e);
	}
	return rc;
}

/* the block with its sums goes where it lies */
static int put_far(struct rama_store *s, const struct rama_store_process *p, const struct sums *t,
		   struct rama_wire_block *b, struct rama_store_kept *k, struct rama_err *e)
{
	struct rama_store_second *second = malloc((t->n + 1) * sizeof(*second));
	int rc;

	if (second == NULL)
		return rama_err_no_memory(e);
	for (size_t i = 0; i < t->n; i++)
		second[i] = (struct rama_store_second){ .layer = t->layer[t->sum[i].group],
							.kind = kind_name[t->sum[i].group % KINDS],
							.second = t->sum[i].second,
							.ops = t->sum[i].ops,
							.failed = t->sum[i].failed,
							.bytes = t->sum[i].bytes,
							.ns = t->sum[i].ns,
							.longest = t->sum[i].longest };
	k->second = second;
	k->n_seconds = (unsigned)t->n;
	rc = rama_store_far_put(s, p, b, k, e);
	free(second);
	return rc;
}

/* sums per second of its events, added to those that are there */
static int rollups_put(struct rama_store *s, const struct rama_store_process *p,
		       struct rama_wire_block *b, struct rama_store_kept *k, struct rama_err *e)
{
	struct sums *t = calloc(1, sizeof(*t));
	int rc;

	if (t == NULL)
		return rama_err_no_memory(e);
	group_calls(t, b);
	rc = sum_up(t, b);
	rc = rc != 0 ? rama_err_set(e, rc, "out of memory") : put_sums(s, p, t, e);
	if (rc == 0 && s->far.place.ops != NULL)
		rc = put_far(s, p, t, b, k, e);
	rama_map_fini(&t->at);
	free(t->sum);
	free(t);
	return rc;
}

/* ---- each once ------------------------------------------------------------------------------- */

struct range {
	uint64_t from, to;
};

/* what a block has that is not there yet; at most one more than there are blocks in its range */
struct missing {
	struct range *range;
	size_t n, room;
	uint64_t at, to; /* still to be looked at */
	bool failed;
};

static void add_range(struct missing *m, uint64_t from, uint64_t to)
{
	if (from >= to || m->failed)
		return;
	m->failed = !RAMA_GROW(m->range, m->room, m->n + 1);
	if (!m->failed)
		m->range[m->n++] = (struct range){ from, to };
}

/* a block that is there, in order of its first event */
static int there(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct missing *m = ctx;
	uint64_t first = (uint64_t)row->cell[0].i, end = first + (uint64_t)row->cell[1].i;

	(void)e;
	if (end <= m->at)
		return 0;
	add_range(m, m->at, first < m->to ? first : m->to);
	m->at = end < m->to ? end : m->to;
	return 0;
}

static int find_missing(struct rama_store *s, int64_t process, const struct rama_wire_block *b,
			struct missing *m, struct rama_err *e)
{
	static const char sql[] = "SELECT first, n FROM blocks WHERE process = $1 AND lane = $2"
				  " AND first > $3 AND first < $4 ORDER BY first";
	static const char both[] =
		"SELECT first, n FROM blocks WHERE process = $1 AND lane = $2 AND first > $3 AND"
		" first < $4 UNION ALL SELECT first, n FROM spans WHERE process = $1 AND lane = $2"
		" AND first < $4 AND first + n > $5 ORDER BY 1";
	int64_t first = (int64_t)b->first;
	const struct rama_store_cell args[] = { I(process), I(b->lane),
						I(first - RAMA_WIRE_BLOCK_EVENTS), I(first + b->n),
						I(first) };
	bool far = s->far.place.ops != NULL;
	int rc;

	*m = (struct missing){ .at = b->first, .to = b->first + b->n };
	rc = rama_store_rows(s, far ? both : sql, args, far ? 5 : 4, there, m, e);
	add_range(m, m->at, m->to);
	return rc == 0 && m->failed ? rama_err_no_memory(e) : rc;
}

void rama_store_block_cut(struct rama_wire_block *to, const struct rama_wire_block *b,
			  uint64_t from, uint64_t end)
{
	size_t at = (size_t)(from - b->first);

	memcpy(to, b, offsetof(struct rama_wire_block, event));
	to->first = from;
	to->n = (uint32_t)(end - from);
	memcpy(to->event, b->event + at, to->n * sizeof(to->event[0]));
	to->t0 = INT64_MAX;
	to->t1 = INT64_MIN;
	for (uint32_t i = 0; i < to->n; i++) {
		int64_t t = to->event[i].end;

		to->t0 = t < to->t0 ? t : to->t0;
		to->t1 = t > to->t1 ? t : to->t1;
	}
}

static int put_range(struct rama_store *s, struct rama_store_process *p, struct rama_wire_block *b,
		     const unsigned char *bytes, size_t n, struct rama_err *e)
{
	struct rama_store_change *c = rama_store_batch_change(s, p->job);
	struct rama_store_kept k = { .job = p->job,
				     .process = p->number,
				     .rank = p->rank,
				     .block = b,
				     .body = bytes,
				     .len = n };
	int rc = 0;

	if (c == NULL)
		return rama_err_no_memory(e);
	if (s->far.place.ops == NULL)
		rc = rama_store_blocks_sql.put(&s->near, &k, 1, e);
	if (rc == 0)
		rc = rollups_put(s, p, b, &k, e);
	if (rc != 0)
		return rc;
	p->stored += b->n;
	rama_store_process_seen(s, p, b->t1);
	if (b->t1 - b->t0 > c->span)
		c->span = b->t1 - b->t0;
	return 0;
}

/* until a message about the process comes, blocks say its rank */
static int rank_of(struct rama_store *s, struct rama_store_process *p, int64_t rank,
		   struct rama_err *e)
{
	static const char sql[] = "UPDATE processes SET rank = $2 WHERE number = $1";
	int rc;

	if (p->version >= 0 || rank <= p->rank)
		return 0;
	rc = rama_store_process_move(s, p, p->job, rank, e);
	return rc == 0 ? rama_store_do(s, sql, ARGS(I(p->number), I(rank)), e) : rc;
}

int rama_store_events_put(struct rama_store *s, struct rama_wire_block *b,
			  const unsigned char *bytes, size_t n, uint64_t *stored,
			  struct rama_err *e)
{
	struct rama_store_process *p;
	struct missing m = { 0 };
	int rc;

	if (b->first > INT64_MAX - RAMA_WIRE_BLOCK_EVENTS)
		return rama_err_set(e, RAMA_ECORRUPT,
				    "a block with a number larger than any real one");
	if ((b->t0 < 0 && b->t1 > b->t0 + INT64_MAX))
		return rama_err_set(e, RAMA_ECORRUPT, "a block with times that cannot be");
	rc = rama_store_process_get(s, &b->segment, b->job, b->rank, &p, e);
	if (rc == 0)
		rc = rank_of(s, p, b->rank, e);
	if (rc == 0)
		rc = find_missing(s, p->number, b, &m, e);
	for (size_t i = 0; rc == 0 && i < m.n; i++) {
		uint64_t len = m.range[i].to - m.range[i].from;

		if (len == b->n) {
			rc = put_range(s, p, b, bytes, n, e);
		} else {
			rama_store_block_cut(s->cut, b, m.range[i].from, m.range[i].to);
			rc = put_range(s, p, s->cut, NULL, 0, e);
		}
		if (rc == 0)
			*stored += len;
	}
	free(m.range);
	return rc;
}
