/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/map.h"

#include <stdlib.h>

/* keys may come from a hostile file: mix them well before taking low bits */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

void rama_map_fini(struct rama_map *m)
{
	free(m->slots);
	free(m->full);
	*m = (struct rama_map){ 0 };
}

static size_t find(const struct rama_map *m, uint64_t key)
{
	size_t i = mix(key ^ m->salt) & (m->size - 1);

	while (m->full[i] && m->slots[i].key != key)
		i = (i + 1) & (m->size - 1);
	return i;
}

uint64_t *rama_map_get(const struct rama_map *m, uint64_t key)
{
	size_t i;

	if (m->size == 0)
		return NULL;
	i = find(m, key);
	return m->full[i] ? &m->slots[i].value : NULL;
}

static bool grow(struct rama_map *m)
{
	struct rama_map n = { .size = m->size == 0 ? 16 : m->size * 2, .used = m->used };

	n.slots = malloc(n.size * sizeof(*n.slots));
	n.full = calloc(n.size, 1);
	if (n.slots == NULL || n.full == NULL) {
		rama_map_fini(&n);
		return false;
	}
	n.salt = mix((uint64_t)(uintptr_t)n.slots ^ (uint64_t)(uintptr_t)&n << 20);
	for (size_t i = 0; i < m->size; i++) {
		if (m->full[i]) {
			size_t to = find(&n, m->slots[i].key);

			n.slots[to] = m->slots[i];
			n.full[to] = 1;
		}
	}
	rama_map_fini(m);
	*m = n;
	return true;
}

uint64_t *rama_map_put(struct rama_map *m, uint64_t key, bool *fresh)
{
	size_t i;

	if (m->used * 4 >= m->size * 3 && !grow(m))
		return NULL;
	i = find(m, key);
	if (fresh != NULL)
		*fresh = !m->full[i];
	if (!m->full[i]) {
		m->full[i] = 1;
		m->slots[i] = (struct rama_map_slot){ .key = key };
		m->used++;
	}
	return &m->slots[i].value;
}

bool rama_map_next(const struct rama_map *m, size_t *at, struct rama_map_slot *slot)
{
	while (*at < m->size && !m->full[*at])
		++*at;
	if (*at >= m->size)
		return false;
	*slot = m->slots[(*at)++];
	return true;
}
