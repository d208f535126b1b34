/* SPDX-License-Identifier: BSD-3-Clause */
/* collective.c: ranks that move data together: which calls of theirs are one collective call, so
 * that what one of them does for all is on the path of those that wait for it. */
#include <stdlib.h>
#include <string.h>

#include "path/join.h"

#define NEXT_NONE UINT32_MAX

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

/* Those that end when all have what they need; nonblocking and split ones do not. */
static bool collective_of(const struct rama_path_call *c, struct rama_path_key *k)
{
	*k = (struct rama_path_key){ { (uintptr_t)c->host, (uintptr_t)c->op, c->file_id } };
	return c->role == RAMA_PATH_ROLE_APPLICATION && c->rank >= 0 && *c->host != '\0' &&
	       strncmp(c->op, "MPI_File_i", 10) != 0 &&
	       (ends_with(c->op, "_all") || ends_with(c->op, "_ordered"));
}

struct turn {
	uint32_t nth, call; /* of its rank */
};

static int by_turn(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

/* calls on one file by their place among those of their rank; how many ranks there are, 0: no
 * memory */
static size_t take_turns(const struct rama_path *p, const uint32_t *call, size_t n, struct turn *to)
{
	struct rama_map ranks = { 0 };
	size_t n_ranks = 0;

	for (size_t i = 0; i < n; i++) {
		bool fresh;
		uint64_t *nth = rama_map_put(&ranks, (uint64_t)p->call[call[i]].rank, &fresh);

		if (nth == NULL) {
			n_ranks = 0;
			break;
		}
		*nth = fresh ? 0 : *nth + 1;
		n_ranks += fresh;
		to[i] = (struct turn){ (uint32_t)*nth, call[i] };
	}
	rama_map_fini(&ranks);
	qsort(to, n, sizeof(*to), by_turn);
	return n_ranks;
}

/* Nobody leaves before all have come: where that is not so they are not one call. */
static bool all_at_once(const struct rama_path *p, const struct turn *t, size_t n)
{
	int64_t last_start = INT64_MIN, first_end = INT64_MAX;

	for (size_t i = 0; i < n; i++) {
		const struct rama_path_call *c = &p->call[t[i].call];

		last_start = c->start > last_start ? c->start : last_start;
		first_end = c->end < first_end ? c->end : first_end;
	}
	return last_start <= first_end + RAMA_PATH_SLACK;
}

/* The first of each rank, the second of each, and so on, if all ranks made as many. */
static void link_turns(struct rama_path *p, const struct turn *t, size_t n, size_t ranks)
{
	for (size_t from = 0; from + ranks <= n; from += ranks) {
		if (t[from].nth != t[from + ranks - 1].nth || !all_at_once(p, t + from, ranks))
			continue;
		for (size_t i = 0; i < ranks; i++)
			p->together[t[from + i].call] = t[from + (i + 1) % ranks].call;
	}
}

int rama_path_find_together(struct rama_path *p)
{
	struct rama_path_groups g;
	int rc = rama_path_groups_make(&g, p, RAMA_PATH_ONLY(MPIIO), collective_of);
	struct turn *turn = malloc((g.n_calls + 1) * sizeof(*turn));

	free(p->together);
	p->together = g.n_calls > 0 ? malloc((p->n + 1) * sizeof(*p->together)) : NULL;
	if (turn == NULL || (p->together == NULL && g.n_calls > 0))
		rc = RAMA_EMEMORY;
	for (size_t i = 0; rc == 0 && g.n_calls > 0 && i < p->n; i++)
		p->together[i] = NEXT_NONE;
	for (size_t i = 0; rc == 0 && i < g.n; i++) {
		size_t n = g.first[i + 1] - g.first[i],
		       ranks = take_turns(p, g.call + g.first[i], n, turn);

		if (ranks == 0)
			rc = RAMA_EMEMORY;
		else if (ranks > 1 && n % ranks == 0)
			link_turns(p, turn, n, ranks);
	}
	free(turn);
	rama_path_groups_fini(&g);
	return rc;
}

size_t rama_path_together(const struct rama_path *p, size_t call)
{
	return call == RAMA_PATH_NONE || p->together == NULL || p->together[call] == NEXT_NONE
		       ? call
		       : p->together[call];
}
