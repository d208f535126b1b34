/* SPDX-License-Identifier: BSD-3-Clause */
/* sites.c: turns and rows of a segment become records of the module SITES: one for each place in
 * the program, with a row for each file and layer. What a file's record has and no place has done
 * is that of the place nobody knows: so the rows of a file are its record, to the byte. */
#include <stdlib.h>
#include <string.h>

#include "core/stdio.h"
#include "gather/one.h"

enum { ROW_WORDS = 8, ROWS_MOST = (RAMA_GATHER_WORDS - RAMA_TAB_SITES__WORDS) / ROW_WORDS };

/* turns of a place that have ended */
struct row {
	uint32_t name, site;
	uint8_t layer, turn;
	struct rama_core_moved moved;
};

static int by_file(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	if (x->layer != y->layer)
		return x->layer < y->layer ? -1 : 1;
	return (x->turn > y->turn) - (x->turn < y->turn);
}

/* They are read before the records that they are part of, which only grow. */
static int read_rows(struct rama_gather *g, struct row **rows, size_t *n)
{
	uint32_t slots = rama_seg_slots(g->s, RAMA_SEG_KIND_SITES);
	const struct rama_core_site_row *r = (const void *)g->u.room;

	*n = 0;
	*rows = malloc((slots + 1) * sizeof(**rows));
	if (*rows == NULL)
		return rama_gather_no_memory(g);
	for (uint32_t i = 0; i < slots; i++) {
		int rc = rama_seg_slot(g->s, RAMA_SEG_KIND_SITES, i, g->u.room, g->e);

		if (rc < 0)
			return rc;
		if (r->head.name != 0)
			(*rows)[(*n)++] = (struct row){ .name = r->head.name,
							.site = r->site,
							.layer = r->layer,
							.turn = r->turn,
							.moved = r->moved };
	}
	qsort(*rows, *n, sizeof(**rows), by_file);
	return 0;
}

/* the first of a file, layer and turn; n: there is none */
static size_t first_row(const struct row *rows, size_t n, const struct row *key)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (by_file(&rows[mid], key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && by_file(&rows[low], key) == 0 ? low : n;
}

static int put(struct rama_gather *g, const struct row *key, uint32_t site,
	       const struct rama_core_moved *m)
{
	struct rama_gather_name *n = site != 0 ? rama_gather_name_get(g, site) : NULL;
	struct rama_gather_site *to;

	if (m->ops <= 0 && m->bytes <= 0)
		return 0;
	if (g->n_sites == g->sites_room) {
		size_t room = g->sites_room == 0 ? 64 : 2 * g->sites_room;
		struct rama_gather_site *more = realloc(g->sites, room * sizeof(*more));

		if (more == NULL)
			return rama_gather_no_memory(g);
		g->sites = more;
		g->sites_room = room;
	}
	if (n != NULL)
		n->used = true;
	to = &g->sites[g->n_sites++];
	*to = (struct rama_gather_site){ .site = n != NULL ? site : 0,
					 .file = rama_gather_name_get(g, key->name)->id,
					 .layer = key->layer };
	to->moved[key->turn] = *m;
	return 0;
}

/* one direction of a record: whose turn it is, whose it was, and what is left */
static int see_turn(struct rama_gather *g, const struct row *key, const struct rama_core_turn *turn,
		    const union rama_core_word *w, const struct row *rows, size_t n)
{
	const struct rama_core_turn_words *at = &rama_core_turn_words[key->layer][key->turn];
	struct rama_core_moved left = { w[at->ops].i, w[at->bytes].i, w[at->ticks].u }, m;
	int rc = 0;

	if (turn->site != 0) {
		m = rama_core_turn_so_far(turn, w, at);
		m = rama_core_moved_take(&left, &m);
		rc = put(g, key, turn->site, &m);
	}
	for (size_t i = first_row(rows, n, key); i < n && rc == 0; i++) {
		if (by_file(&rows[i], key) != 0)
			break;
		m = rama_core_moved_take(&left, &rows[i].moved);
		rc = put(g, key, rows[i].site, &m);
	}
	return rc == 0 ? put(g, key, 0, &left) : rc;
}

static int see_slots(struct rama_gather *g, enum rama_seg_kind kind, uint8_t layer,
		     const struct row *rows, size_t n)
{
	const struct rama_core_stdio_file *stream = (const void *)g->u.room;
	int rc = 0;

	for (uint32_t i = 0; i < rama_seg_slots(g->s, kind) && rc >= 0; i++) {
		const struct rama_gather_name *file;

		rc = rama_seg_slot(g->s, kind, i, g->u.room, g->e);
		if (rc < 0)
			break;
		rc = 0;
		file = rama_gather_name_get(g, g->u.slot.name);
		if (file == NULL || file->slot[kind] != i + 1)
			continue;
		for (uint8_t turn = 0; turn < RAMA_CORE_TURNS && rc == 0; turn++) {
			struct row key = { .name = g->u.slot.name, .layer = layer, .turn = turn };

			rc = layer == 0
				     ? see_turn(g, &key, &g->u.posix.turn[turn], g->u.posix.w, rows,
						n)
				     : see_turn(g, &key, &stream->turn[turn], stream->w, rows, n);
		}
	}
	return rc;
}

static int by_site(const void *a, const void *b)
{
	const struct rama_gather_site *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->layer > y->layer) - (x->layer < y->layer);
}

int rama_gather_sites_find(struct rama_gather *g)
{
	struct row *rows = NULL;
	size_t n;
	int rc;

	if (!(g->s->id.flags & RAMA_SEG_SITES))
		return 0;
	rc = read_rows(g, &rows, &n);
	if (rc == 0)
		rc = see_slots(g, RAMA_SEG_KIND_POSIX, 0, rows, n);
	if (rc == 0)
		rc = see_slots(g, RAMA_SEG_KIND_STDIO, 1, rows, n);
	free(rows);
	if (g->n_sites > 0) {
		qsort(g->sites, g->n_sites, sizeof(*g->sites), by_site);
		g->has |= 1ull << RAMA_TAB_MOD_SITES;
	}
	return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int64_t nanoseconds(const struct rama_gather *g, uint64_t ticks)
{
	double ns = (double)ticks * g->s->tick * 1e9;

	return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

/* one row, and the sums of all */
static void put_row(struct rama_gather *g, union rama_core_word *w,
		    const struct rama_gather_site *s)
{
	union rama_core_word *sum = g->words;
	const struct rama_core_moved *rd = &s->moved[RAMA_CORE_TURN_READ],
				     *wr = &s->moved[RAMA_CORE_TURN_WRITE];

	w[0].u = s->file;
	w[1].u = s->layer;
	w[2].i = rd->ops;
	w[3].i = wr->ops;
	w[4].i = rd->bytes;
	w[5].i = wr->bytes;
	w[6].i = nanoseconds(g, rd->ticks);
	w[7].i = nanoseconds(g, wr->ticks);
	for (unsigned i = 0; i < 4; i++)
		sum[RAMA_TAB_SITES_READS + i].i =
			rama_core_add(sum[RAMA_TAB_SITES_READS + i].i, w[2 + i].i);
	sum[RAMA_TAB_SITES_F_READ_TIME].f += (double)w[6].i * 1e-9;
	sum[RAMA_TAB_SITES_F_WRITE_TIME].f += (double)w[7].i * 1e-9;
}

static void add(struct rama_core_moved *to, const struct rama_core_moved *m)
{
	to->ops = rama_core_add(to->ops, m->ops);
	to->bytes = rama_core_add(to->bytes, m->bytes);
	to->ticks += m->ticks;
}

/* rows of one place from `i` on, as many as fit a record; *i: behind them */
static int write_site(struct rama_gather *g, size_t *i)
{
	const uint32_t site = g->sites[*i].site;
	const struct rama_gather_name *name = rama_gather_name_get(g, site);
	unsigned n = 0;

	memset(g->words, 0, RAMA_TAB_SITES__WORDS * sizeof(g->words[0]));
	while (*i < g->n_sites && g->sites[*i].site == site && n < ROWS_MOST) {
		struct rama_gather_site s = g->sites[(*i)++];

		for (; *i < g->n_sites && by_site(&g->sites[*i], &s) == 0; ++*i)
			for (unsigned k = 0; k < RAMA_CORE_TURNS; k++)
				add(&s.moved[k], &g->sites[*i].moved[k]);
		put_row(g, &g->words[RAMA_TAB_SITES__WORDS + ROW_WORDS * n++], &s);
	}
	g->words[RAMA_TAB_ID].u = site != 0 ? name->id : rama_gather_id(RAMA_GATHER_NO_SITE);
	g->words[RAMA_TAB_SITES_ROWS].u = n;
	return rama_gather_record(g, RAMA_TAB_MOD_SITES, g->words);
}

int rama_gather_sites_write(struct rama_gather *g)
{
	int rc = 0;

	for (size_t i = 0; i < g->n_sites && rc == 0;)
		rc = write_site(g, &i);
	return rc;
}
