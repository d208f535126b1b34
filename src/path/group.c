/* SPDX-License-Identifier: BSD-3-Clause */
#include "path/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static uint64_t hash_of(const struct rama_path_groups *g, const struct rama_path_key *k)
{
	uint64_t h = g->salt;

	for (unsigned i = 0; i < sizeof(k->word) / sizeof(k->word[0]); i++) {
		h = (h ^ k->word[i]) * 0xff51afd7ed558ccdu;
		h ^= h >> 32;
	}
	return h;
}

static bool same(const struct rama_path_key *a, const struct rama_path_key *b)
{
	return memcmp(a->word, b->word, sizeof(a->word)) == 0;
}

/* where the group of a key is in the table, or would be */
static uint32_t *place_of(const struct rama_path_groups *g, const struct rama_path_key *k)
{
	size_t at = hash_of(g, k) & g->mask;

	while (g->table[at] != 0 && !same(&g->key[g->table[at] - 1], k))
		at = (at + 1) & g->mask;
	return &g->table[at];
}

uint32_t rama_path_groups_find(const struct rama_path_groups *g, const struct rama_path_key *k)
{
	uint32_t is = *place_of(g, k);

	return is != 0 ? is - 1 : RAMA_PATH_GROUP_NONE;
}

static int group_of(struct rama_path_groups *g, const struct rama_path_key *k, uint32_t *to)
{
	uint32_t *at = place_of(g, k);

	if (*at == 0) {
		if (!RAMA_GROW(g->key, g->room, g->n + 1))
			return RAMA_EMEMORY;
		g->key[g->n++] = *k;
		*at = (uint32_t)g->n;
	}
	*to = *at - 1;
	return 0;
}

static size_t count_of(const struct rama_path *p, uint32_t layers)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++)
		n += layers >> p->layer[i] & 1;
	return n;
}

/* the group of each call */
static int find_groups(struct rama_path_groups *g, const struct rama_path *p, uint32_t layers,
		       rama_path_key_of *key)
{
	struct rama_path_key k = { { 0 } }, was = k;
	uint32_t last = RAMA_PATH_GROUP_NONE;

	for (size_t i = 0; i < p->n; i++) {
		g->of[i] = RAMA_PATH_GROUP_NONE;
		if ((layers >> p->layer[i] & 1) == 0 || !key(&p->call[i], &k))
			continue;
		if (last == RAMA_PATH_GROUP_NONE || !same(&k, &was)) {
			if (group_of(g, &k, &last) != 0)
				return RAMA_EMEMORY;
			was = k;
		}
		g->of[i] = last;
	}
	return 0;
}

int rama_path_groups_make(struct rama_path_groups *g, const struct rama_path *p, uint32_t layers,
			  rama_path_key_of *key)
{
	size_t n = count_of(p, layers);

	*g = (struct rama_path_groups){ 0 };
	g->of = malloc((p->n + 1) * sizeof(*g->of));
	g->call = malloc((n + 1) * sizeof(*g->call));
	for (g->mask = 15; g->mask < 2 * n;)
		g->mask = 2 * g->mask + 1;
	g->table = calloc(g->mask + 1, sizeof(*g->table));
	if (g->of == NULL || g->call == NULL || g->table == NULL)
		return RAMA_EMEMORY;
	g->salt = (uint64_t)(uintptr_t)g->of * 0x9e3779b97f4a7c15u;
	if (find_groups(g, p, layers, key) != 0)
		return RAMA_EMEMORY;
	g->first = calloc(g->n + 2, sizeof(*g->first));
	if (g->first == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < p->n; i++)
		if (g->of[i] != RAMA_PATH_GROUP_NONE)
			g->first[g->of[i] + 2]++;
	for (size_t i = 2; i < g->n + 2; i++)
		g->first[i] += g->first[i - 1];
	for (size_t i = 0; i < p->n; i++)
		if (g->of[i] != RAMA_PATH_GROUP_NONE)
			g->call[g->first[g->of[i] + 1]++] = (uint32_t)i;
	g->n_calls = g->first[g->n];
	return 0;
}

uint32_t rama_path_groups_before(const struct rama_path_groups *g, const struct rama_path *p,
				 uint32_t group, int64_t when)
{
	uint32_t low = g->first[group], high = g->first[group + 1];

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (p->call[g->call[mid]].start <= when)
			low = mid + 1;
		else
			high = mid;
	}
	return low > g->first[group] ? low - 1 : UINT32_MAX;
}

void rama_path_groups_fini(struct rama_path_groups *g)
{
	free(g->table);
	free(g->key);
	free(g->of);
	free(g->first);
	free(g->call);
	*g = (struct rama_path_groups){ 0 };
}
