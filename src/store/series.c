/* SPDX-License-Identifier: BSD-3-Clause */
/* series.c: what a job did second by second, and by ten, by minute, by hour: sums over its
 * processes, so that nobody has to read a row per rank to draw a line. Gains are added in the
 * transaction that stores them, and only what is stored new, so that a message that comes twice
 * counts once. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/siphash.h"
#include "store/handle.h"

#define SECOND 1000000000ll
#define LONGEST_SPREAD 3600 /* seconds: what was gained in more is told of the last ones */

static const int64_t width_of[RAMA_STORE_SERIES] = { 1, 10, 60, 3600 };
static const char *const kind_name[RAMA_STORE_KINDS] = { "read", "write", "meta" };

void rama_store_series_clear(struct rama_store_series *t)
{
	t->n = 0;
	rama_map_fini(&t->at);
	t->at = (struct rama_map){ 0 };
}

void rama_store_series_fini(struct rama_store_series *t)
{
	rama_store_series_clear(t);
	free(t->cell);
	*t = (struct rama_store_series){ 0 };
}

/* ---- cells that this batch adds to ----------------------------------------------------------- */

struct name {
	int64_t job, second;
	uint32_t table, kind;
	char layer[16];
};

static bool is_same(const struct rama_store_series_cell *c, const struct name *n)
{
	return c->job == n->job && c->second == n->second && c->table == n->table &&
	       c->kind == n->kind && strcmp(c->layer, n->layer) == 0;
}

static struct rama_store_series_cell *cell_of(struct rama_store_series *t, const struct name *n)
{
	static const struct rama_sipkey fixed = { 0x736572696573u, 1 };
	uint64_t hash = rama_siphash(&fixed, n, sizeof(*n));
	struct rama_store_series_cell *c;
	uint64_t *at;
	bool fresh;

	for (;; hash++) { /* the next free place, where two names have one hash */
		at = rama_map_put(&t->at, hash, &fresh);
		if (at == NULL)
			return NULL;
		if (*at == 0)
			break;
		if (is_same(&t->cell[*at - 1], n))
			return &t->cell[*at - 1];
	}
	if (!RAMA_GROW(t->cell, t->room, t->n + 1))
		return NULL;
	c = &t->cell[t->n];
	*c = (struct rama_store_series_cell){ .job = n->job,
					      .second = n->second,
					      .table = n->table,
					      .kind = n->kind,
					      .slowest = -1 };
	memcpy(c->layer, n->layer, sizeof(c->layer));
	*at = ++t->n;
	return c;
}

/* where the minute or the hour of a second begins */
static int64_t begin_of(int64_t second, int64_t width)
{
	int64_t rest = second % width;

	return second - (rest < 0 ? rest + width : rest);
}

static struct name name_of(int64_t job, int64_t second, unsigned table, unsigned kind,
			   const char *layer)
{
	struct name n;

	memset(&n, 0, sizeof(n)); /* all of it is hashed */
	n.job = job;
	n.second = begin_of(second, width_of[table]);
	n.table = table;
	n.kind = kind;
	memcpy(n.layer, layer, strnlen(layer, sizeof(n.layer) - 1));
	return n;
}

/* ---- gains ----------------------------------------------------------------------------------- */

struct share {
	int64_t ops, bytes, ns;
};

/* What falls to the i-th of n seconds; over all of them it is the whole. Figures are below 2^50. */
static int64_t part_of(int64_t whole, int64_t i, int64_t n)
{
	return whole * (i + 1) / n - whole * i / n;
}

static int add(struct rama_store_series *t, const struct rama_store_gain *g, unsigned kind,
	       int64_t second, const struct share *w, int64_t *last)
{
	for (unsigned i = 0; i < RAMA_STORE_SERIES; i++) {
		struct name n = name_of(g->job, second, i, kind, g->layer);
		struct rama_store_series_cell *c = cell_of(t, &n);

		if (c == NULL)
			return RAMA_EMEMORY;
		c->ops = rama_store_sum(c->ops, w->ops);
		c->bytes = rama_store_sum(c->bytes, w->bytes);
		c->ns = rama_store_sum(c->ns, w->ns);
		/* the first that is told of this process in that time */
		c->ranks += *last < 0 || begin_of(*last, width_of[i]) != n.second;
		if (w->ns > c->slowest_ns) {
			c->slowest_ns = w->ns;
			c->slowest = g->rank;
		}
	}
	*last = second > *last ? second : *last;
	return 0;
}

int rama_store_series_gain(struct rama_store *s, const struct rama_store_gain *g,
			   int64_t last[RAMA_STORE_KINDS])
{
	const int64_t *f = g->figure;
	const struct share whole[RAMA_STORE_KINDS] = { { f[0], f[3], f[5] },
						       { f[1], f[4], f[6] },
						       { f[2], 0, f[7] } };
	int64_t n = (g->width + SECOND / 2) / SECOND;
	int64_t end = g->t > SECOND / 2 ? (g->t - SECOND / 2) / SECOND : 0;
	int rc = 0;

	n = n < 1 ? 1 : n > LONGEST_SPREAD ? LONGEST_SPREAD : n;
	for (unsigned k = 0; k < RAMA_STORE_KINDS; k++) {
		if ((whole[k].ops | whole[k].bytes | whole[k].ns) == 0)
			continue;
		for (int64_t i = 0; rc == 0 && i < n; i++) {
			const struct share w = { part_of(whole[k].ops, i, n),
						 part_of(whole[k].bytes, i, n),
						 part_of(whole[k].ns, i, n) };
			int64_t second = end - (n - 1 - i);

			if ((w.ops | w.bytes | w.ns) != 0)
				rc = add(&s->batch.series, g, k, second > 0 ? second : 0, &w,
					 &last[k]);
		}
	}
	return rc;
}

int rama_store_series_longest(struct rama_store *s, int64_t job, int64_t second, const char *layer,
			      unsigned kind, int64_t ns)
{
	for (unsigned i = 0; i < RAMA_STORE_SERIES; i++) {
		struct name n = name_of(job, second, i, kind, layer);
		struct rama_store_series_cell *c = cell_of(&s->batch.series, &n);

		if (c == NULL)
			return RAMA_EMEMORY;
		c->longest = ns > c->longest ? ns : c->longest;
	}
	return 0;
}

/* ---- from the beginning, after processes moved from job to job ------------------------------- */

struct past { /* when each process was told of last */
	int64_t last[RAMA_STORE_KINDS];
};

struct again {
	struct rama_store *s;
	int64_t job;
	char layer[64][16];
	unsigned n_layers;
	struct past *past;
	size_t n, room;
	struct rama_map at;
};

static struct past *past_of(struct again *a, int64_t process, const char *layer)
{
	unsigned l = 0;
	uint64_t *at;
	bool fresh;

	while (l < a->n_layers && strcmp(a->layer[l], layer) != 0)
		l++;
	if (l == 64)
		return NULL;
	if (l == a->n_layers)
		memcpy(a->layer[a->n_layers++], layer, strlen(layer) + 1);
	at = rama_map_put(&a->at, (uint64_t)process * 64 + l, &fresh);
	if (at == NULL || (*at == 0 && !RAMA_GROW(a->past, a->room, a->n + 1)))
		return NULL;
	if (*at == 0) {
		a->past[a->n] = (struct past){ { -1, -1, -1 } };
		*at = ++a->n;
	}
	return &a->past[*at - 1];
}

static int take_activity(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *v = row->cell;
	struct again *a = ctx;
	struct rama_store_gain g = { .job = a->job, .t = v[0].i, .rank = v[3].i, .width = v[4].i };
	struct past *p;

	if (v[2].len >= sizeof(g.layer))
		return 0;
	memcpy(g.layer, v[2].text, v[2].len);
	for (unsigned i = 0; i < RAMA_STORE_FIGURES; i++)
		g.figure[i] = v[5 + i].i;
	p = past_of(a, v[1].i, g.layer);
	if (p == NULL || rama_store_series_gain(a->s, &g, p->last) != 0)
		return rama_err_no_memory(e);
	return 0;
}

static int take_longest(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *v = row->cell;
	struct again *a = ctx;
	unsigned k = 0;

	while (k < RAMA_STORE_KINDS && strcmp(kind_name[k], v[2].text) != 0)
		k++;
	if (k == RAMA_STORE_KINDS || v[1].len >= 16)
		return 0;
	return rama_store_series_longest(a->s, a->job, v[0].i, v[1].text, k, v[3].i) == 0
		       ? 0
		       : rama_err_no_memory(e);
}

static int remove_all(struct rama_store *s, int64_t job, struct rama_err *e)
{
	static const char *const sql[RAMA_STORE_SERIES] = {
		"DELETE FROM series WHERE job = $1",
		"DELETE FROM series_ten WHERE job = $1",
		"DELETE FROM series_minute WHERE job = $1",
		"DELETE FROM series_hour WHERE job = $1",
	};
	int rc = 0;

	for (size_t i = 0; i < s->batch.series.n; i++)
		if (s->batch.series.cell[i].job == job)
			s->batch.series.cell[i].job = 0; /* of none: it is not written */
	for (unsigned i = 0; rc == 0 && i < RAMA_STORE_SERIES; i++)
		rc = rama_store_do(s, sql[i], ARGS(I(job)), e);
	return rc;
}

int rama_store_series_remove(struct rama_store *s, int64_t job, struct rama_err *e)
{
	return remove_all(s, job, e);
}

int rama_store_series_again(struct rama_store *s, int64_t job, struct rama_err *e)
{
	static const char is_pruned[] = "SELECT pruned FROM jobs WHERE number = $1";
	static const char gains[] =
		"SELECT t_ns, process, layer, rank, width_ns, reads, writes, metas, bytes_read,"
		" bytes_written, read_ns, write_ns, meta_ns FROM activity WHERE job = $1"
		" ORDER BY t_ns, process, layer";
	static const char longest[] = "SELECT second, layer, kind, max(longest) FROM rollups"
				      " WHERE job = $1 GROUP BY second, layer, kind";
	struct again a = { .s = s, .job = job };
	int64_t pruned = 0;
	int rc = rama_store_ints(s, is_pruned, ARGS(I(job)), &pruned, 1, e);

	if (rc < 0 || pruned != 0) /* what it was made of is gone */
		return rc < 0 ? rc : 0;
	rc = remove_all(s, job, e);
	if (rc == 0)
		rc = rama_store_rows(s, gains, ARGS(I(job)), take_activity, &a, e);
	if (rc == 0)
		rc = rama_store_rows(s, longest, ARGS(I(job)), take_longest, &a, e);
	rama_map_fini(&a.at);
	free(a.past);
	return rc;
}

/* ---- written --------------------------------------------------------------------------------- */

/* One order for all writers, so that none waits for another in a circle. */
static int in_order(const void *x, const void *y)
{
	const struct rama_store_series_cell *a = x, *b = y;

	if (a->job != b->job)
		return a->job < b->job ? -1 : 1;
	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->kind != b->kind ? (a->kind < b->kind ? -1 : 1) : strcmp(a->layer, b->layer);
}

#define SUM(x) \
	x " = CASE WHEN t." x " > $12 - excluded." x " THEN $12 ELSE t." x " + excluded." x " END"
#define MOST(x) x " = CASE WHEN excluded." x " > t." x " THEN excluded." x " ELSE t." x " END"
/* clang-format off */
#define ADD(table) \
	"INSERT INTO " table " AS t (job, second, layer, kind, ops, bytes, ns, longest, ranks," \
	" slowest, slowest_ns) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)" \
	" ON CONFLICT (job, second, layer, kind) DO UPDATE SET " SUM("ops") ", " SUM("bytes") ", " \
	SUM("ns") ", " MOST("longest") ", ranks = t.ranks + excluded.ranks," \
	" slowest = CASE WHEN excluded.slowest_ns > t.slowest_ns THEN excluded.slowest" \
	" ELSE t.slowest END, " MOST("slowest_ns")
/* clang-format on */

int rama_store_series_flush(struct rama_store *s, struct rama_err *e)
{
	static const char *const sql[RAMA_STORE_SERIES] = { ADD("series"), ADD("series_ten"),
							    ADD("series_minute"),
							    ADD("series_hour") };
	struct rama_store_series *t = &s->batch.series;
	int rc = 0;

	if (t->n > 1)
		qsort(t->cell, t->n, sizeof(t->cell[0]), in_order);
	for (size_t i = 0; rc == 0 && i < t->n; i++) {
		const struct rama_store_series_cell *c = &t->cell[i];

		if (c->job != 0)
			rc = rama_store_do(
				s, sql[c->table],
				ARGS(I(c->job), I(c->second), rama_store_cell_t(c->layer),
				     rama_store_cell_t(kind_name[c->kind]), I(c->ops), I(c->bytes),
				     I(c->ns), I(c->longest), I(c->ranks), I(c->slowest),
				     I(c->slowest_ns), I(RAMA_STORE_SUM_MOST)),
				e);
	}
	rama_store_series_clear(t);
	return rc;
}

int rama_store_series_fill(struct rama_store *s, struct rama_err *e)
{
	static const char list[] = "SELECT number FROM jobs WHERE processes > 0 ORDER BY number";
	struct rama_store_list l = { 0 };
	int rc = rama_store_list(s, list, NULL, 0, &l, e);

	for (size_t i = 0; rc == 0 && i < l.n; i++) {
		rc = rama_store_series_again(s, l.number[i], e);
		if (rc == 0)
			rc = rama_store_series_flush(s, e);
	}
	free(l.number);
	return rc;
}
