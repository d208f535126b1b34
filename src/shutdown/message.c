/* SPDX-License-Identifier: BSD-3-Clause */
/* message.c: what ranks tell each other, and the lists in it. */
#include <stdlib.h>
#include <string.h>

#include "shutdown/rank.h"

/* ---- messages -------------------------------------------------------------------------------- */

void rama_shutdown_msg_put(struct rama_shutdown_msg *m, const void *bytes, size_t n)
{
	if (m->failed || n == 0)
		return;
	if (n > m->room - m->n) {
		size_t room = 2 * m->room > m->n + n ? 2 * m->room : m->n + n + 256;
		unsigned char *more = realloc(m->bytes, room);

		if (more == NULL) {
			m->failed = true;
			return;
		}
		m->bytes = more;
		m->room = room;
	}
	memcpy(m->bytes + m->n, bytes, n);
	m->n += n;
}

void rama_shutdown_msg_u64(struct rama_shutdown_msg *m, uint64_t v)
{
	rama_shutdown_msg_put(m, &v, sizeof(v));
}

void rama_shutdown_msg_f64(struct rama_shutdown_msg *m, double v)
{
	rama_shutdown_msg_put(m, &v, sizeof(v));
}

void rama_shutdown_msg_fini(struct rama_shutdown_msg *m)
{
	free(m->bytes);
	*m = (struct rama_shutdown_msg){ 0 };
}

const void *rama_shutdown_got_take(struct rama_shutdown_got *g, size_t n)
{
	const unsigned char *p = g->bytes;

	if (g->bad || n > g->n - g->at) {
		g->bad = true;
		return NULL;
	}
	g->at += n;
	return p + g->at - n;
}

uint64_t rama_shutdown_got_u64(struct rama_shutdown_got *g)
{
	const void *p = rama_shutdown_got_take(g, sizeof(uint64_t));
	uint64_t v = 0;

	if (p != NULL)
		memcpy(&v, p, sizeof(v));
	return v;
}

double rama_shutdown_got_f64(struct rama_shutdown_got *g)
{
	const void *p = rama_shutdown_got_take(g, sizeof(double));
	double v = 0;

	if (p != NULL)
		memcpy(&v, p, sizeof(v));
	return v;
}

size_t rama_shutdown_got_count(struct rama_shutdown_got *g, size_t size)
{
	uint64_t n = rama_shutdown_got_u64(g);

	if (n > (g->n - g->at) / size) {
		g->bad = true;
		return 0;
	}
	return (size_t)n;
}

void rama_shutdown_got_fini(struct rama_shutdown_got *g)
{
	free(g->bytes);
	*g = (struct rama_shutdown_got){ 0 };
}

/* ---- ranks ----------------------------------------------------------------------------------- */

void rama_shutdown_ranges_put(struct rama_shutdown_msg *m, const struct rama_ranges *s)
{
	rama_shutdown_msg_u64(m, s->n);
	rama_shutdown_msg_put(m, s->r, s->n * sizeof(*s->r));
}

int rama_shutdown_ranges_take(struct rama_shutdown_got *g, struct rama_ranges *s, int64_t size)
{
	size_t n = rama_shutdown_got_count(g, sizeof(*s->r));

	for (size_t i = 0; i < n; i++) {
		int64_t first = (int64_t)rama_shutdown_got_u64(g),
			last = (int64_t)rama_shutdown_got_u64(g);

		if (first < 0 || first > last || last >= size)
			g->bad = true;
		else if (rama_ranges_add(s, first, last) != 0)
			return RAMA_EMEMORY;
	}
	return 0;
}

/* ---- ids ------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void rama_shutdown_ids_sort(struct rama_shutdown_ids *s)
{
	size_t n = 0;

	if (s->n > 1)
		qsort(s->id, s->n, sizeof(*s->id), by_value);
	for (size_t i = 0; i < s->n; i++)
		if (n == 0 || s->id[n - 1] != s->id[i])
			s->id[n++] = s->id[i];
	s->n = n;
}

void rama_shutdown_ids_put(struct rama_shutdown_msg *m, const struct rama_shutdown_ids *s)
{
	rama_shutdown_msg_u64(m, s->n);
	rama_shutdown_msg_put(m, s->id, s->n * sizeof(*s->id));
}

int rama_shutdown_ids_take(struct rama_shutdown_got *g, struct rama_shutdown_ids *s)
{
	size_t n = rama_shutdown_got_count(g, sizeof(*s->id));
	const void *p = rama_shutdown_got_take(g, n * sizeof(*s->id));

	*s = (struct rama_shutdown_ids){ .id = malloc((n + 1) * sizeof(*s->id)) };
	if (s->id == NULL)
		return RAMA_EMEMORY;
	if (p != NULL && n > 0) {
		memcpy(s->id, p, n * sizeof(*s->id));
		s->n = n;
	}
	for (size_t i = 1; i < s->n; i++)
		if (s->id[i - 1] >= s->id[i])
			g->bad = true;
	return 0;
}

bool rama_shutdown_ids_has(const struct rama_shutdown_ids *s, uint64_t id)
{
	return s->n > 0 && bsearch(&id, s->id, s->n, sizeof(*s->id), by_value) != NULL;
}

void rama_shutdown_ids_intersect(struct rama_shutdown_ids *s, const struct rama_shutdown_ids *with)
{
	size_t n = 0;

	for (size_t i = 0, k = 0; i < s->n && k < with->n;) {
		if (s->id[i] == with->id[k])
			s->id[n++] = s->id[i];
		if (s->id[i] < with->id[k])
			i++;
		else if (s->id[i] > with->id[k])
			k++;
		else
			i++, k++;
	}
	s->n = n;
}

int rama_shutdown_ids_join(struct rama_shutdown_ids *s, const struct rama_shutdown_ids *more,
			   struct rama_shutdown_ids *both, size_t most)
{
	uint64_t *all = malloc((s->n + more->n + 1) * sizeof(*all));
	size_t n = 0, i = 0, k = 0;

	*both = (struct rama_shutdown_ids){ .id = malloc((more->n + 1) * sizeof(*all)) };
	if (all == NULL || both->id == NULL) {
		free(all);
		return RAMA_EMEMORY;
	}
	while (i < s->n || k < more->n) {
		bool mine = i < s->n && (k == more->n || s->id[i] <= more->id[k]);
		bool theirs = k < more->n && (i == s->n || more->id[k] <= s->id[i]);

		all[n++] = mine ? s->id[i] : more->id[k];
		if (mine && theirs)
			both->id[both->n++] = s->id[i];
		i += mine;
		k += theirs;
	}
	if (n > most) {
		free(all);
		return 0;
	}
	free(s->id);
	*s = (struct rama_shutdown_ids){ all, n };
	return 0;
}

void rama_shutdown_ids_fini(struct rama_shutdown_ids *s)
{
	free(s->id);
	*s = (struct rama_shutdown_ids){ 0 };
}
