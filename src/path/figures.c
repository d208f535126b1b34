/* SPDX-License-Identifier: BSD-3-Clause */
/* figures.c: gaps and layers of a call, and the path of what was waited for. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "path/join.h"

/* ---- gaps ----------------------------------------------------------------------------------- */

void rama_path_gaps(const struct rama_path *p, size_t call, struct rama_path_gaps *to)
{
	const struct rama_path_call *c = &p->call[call];
	int64_t reached = c->start;
	bool any = false;

	*to = (struct rama_path_gaps){ 0 };
	for (size_t i = 0; i < c->n_subs; i++) {
		const struct rama_path_call *s = &p->call[rama_path_sub(p, call, i)];
		int64_t from = s->start > reached ? s->start : reached,
			stop = s->end < c->end ? s->end : c->end;

		if (!rama_path_awaited(s->link))
			continue;
		from = from < c->end ? from : c->end;
		*(any ? &to->between : &to->before) += from - reached;
		any = true;
		if (stop > from) {
			to->inside += stop - from;
			from = stop;
		}
		reached = from;
	}
	*(any ? &to->after : &to->before) += c->end - reached;
}

/* ---- layers --------------------------------------------------------------------------------- */

static void add_call(const struct rama_path_call *c, struct rama_path_sum to[RAMA_PATH_LAYERS])
{
	struct rama_path_sum *s = &to[c->layer];
	int64_t took = c->end - c->start;

	if (c->layer >= RAMA_PATH_LAYERS)
		return;
	s->count++;
	s->longest = took > s->longest ? took : s->longest;
	s->sum = rama_path_plus(s->sum, took);
	if (c->bytes > 0)
		s->bytes = rama_path_plus(s->bytes, c->bytes);
	if (c->bytes > 0 && took > 0)
		s->rate += (double)c->bytes / ((double)took * 1e-9);
}

/* no deeper than RAMA_PATH_DEPTH */
static void add_tree(const struct rama_path *p, size_t call, struct rama_path_sum *to)
{
	const struct rama_path_call *c = &p->call[call];

	add_call(c, to);
	for (size_t i = 0; i < c->n_subs; i++)
		add_tree(p, rama_path_sub(p, call, i), to);
}

void rama_path_layers(const struct rama_path *p, size_t call,
		      struct rama_path_sum to[RAMA_PATH_LAYERS])
{
	memset(to, 0, RAMA_PATH_LAYERS * sizeof(*to));
	if (call != RAMA_PATH_NONE) {
		add_tree(p, call, to);
		return;
	}
	for (size_t i = 0; i < p->n; i++)
		add_call(&p->call[i], to);
}

/* ---- the critical path ---------------------------------------------------------------------- */

struct ended {
	int64_t end, start;
	size_t call;
};

/* the latest end first; of those that ended together the one that began first, which leaves the
 * least unexplained */
static int by_end(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;

	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static int add_piece(struct rama_path_pieces *k, size_t call, int64_t from, int64_t to)
{
	if (from >= to)
		return 0;
	if (!RAMA_GROW(k->piece, k->room, k->n + 1))
		return RAMA_EMEMORY;
	k->piece[k->n++] = (struct rama_path_piece){ call, from, to };
	return 0;
}

static int walk(const struct rama_path *p, size_t call, int64_t from, int64_t to,
		struct rama_path_pieces *k);

/* parts of `call`, backwards from `to`; what none of them covers is its own */
static int walk_parts(const struct rama_path *p, size_t call, const struct ended *part, size_t n,
		      int64_t from, int64_t to, struct rama_path_pieces *k)
{
	int rc = 0;

	for (size_t i = 0; i < n && to > from && rc == 0; i++) {
		int64_t end = part[i].end < to ? part[i].end : to,
			start = part[i].start > from ? part[i].start : from;

		if (start >= end)
			continue;
		rc = add_piece(k, call, end, to);
		if (rc == 0)
			rc = walk(p, part[i].call, start, end, k);
		to = start;
	}
	return rc == 0 ? add_piece(k, call, from, to) : rc;
}

/* what it may have waited for: its own parts, and those of others in the same collective call */
static size_t parts_of(const struct rama_path *p, size_t call, struct ended *to)
{
	size_t n = 0, at = call;

	do {
		for (size_t i = 0; i < p->call[at].n_subs; i++) {
			size_t sub = rama_path_sub(p, at, i);
			const struct rama_path_call *s = &p->call[sub];

			if (rama_path_awaited(s->link) && to != NULL)
				to[n] = (struct ended){ s->end, s->start, sub };
			n += rama_path_awaited(s->link);
		}
		at = rama_path_together(p, at);
	} while (at != call);
	return n;
}

static size_t parts_of_job(const struct rama_path *p, struct ended *to)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_roots; i++) {
		const struct rama_path_call *c = &p->call[p->root[i]];

		if (c->role != RAMA_PATH_ROLE_APPLICATION)
			continue;
		if (to != NULL)
			to[n] = (struct ended){ c->end, c->start, p->root[i] };
		n++;
	}
	return n;
}

/* pieces of [from, to) of a call, the last first; no deeper than RAMA_PATH_DEPTH */
static int walk(const struct rama_path *p, size_t call, int64_t from, int64_t to,
		struct rama_path_pieces *k)
{
	bool job = call == RAMA_PATH_NONE;
	size_t n = job ? parts_of_job(p, NULL) : parts_of(p, call, NULL);
	struct ended *part;
	int rc;

	if (n == 0)
		return add_piece(k, call, from, to);
	part = malloc(n * sizeof(*part));
	if (part == NULL)
		return RAMA_EMEMORY;
	if (job)
		parts_of_job(p, part);
	else
		parts_of(p, call, part);
	qsort(part, n, sizeof(*part), by_end);
	rc = walk_parts(p, call, part, n, from, to, k);
	free(part);
	return rc;
}

int rama_path_critical(const struct rama_path *p, size_t call, struct rama_path_pieces *to)
{
	int64_t from = call == RAMA_PATH_NONE ? 0 : p->call[call].start;
	int64_t end = call == RAMA_PATH_NONE ? p->end : p->call[call].end;
	int rc;

	*to = (struct rama_path_pieces){ 0 };
	rc = walk(p, call, from, end, to);
	for (size_t i = 0; i < to->n / 2; i++) {
		struct rama_path_piece other = to->piece[i];

		to->piece[i] = to->piece[to->n - 1 - i];
		to->piece[to->n - 1 - i] = other;
	}
	return rc;
}

void rama_path_pieces_fini(struct rama_path_pieces *k)
{
	free(k->piece);
	*k = (struct rama_path_pieces){ 0 };
}
