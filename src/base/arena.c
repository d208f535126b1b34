/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct rama_arena_block {
	struct rama_arena_block *next;
	size_t used, size;
	uint64_t bytes[]; /* aligned */
};

#define FIRST (1u << 10) /* many arenas hold next to nothing */
#define BLOCK (64u << 10)

void *rama_arena_alloc(struct rama_arena *a, size_t n)
{
	struct rama_arena_block *b = a->block;
	size_t size = b == NULL ? FIRST : b->size < BLOCK / 4 ? 4 * b->size : BLOCK;
	char *p;

	if (n > SIZE_MAX / 2)
		return NULL;
	if (size < n)
		size = n;
	if (b == NULL || b->size - b->used < n) {
		b = malloc(sizeof(*b) + size);
		if (b == NULL)
			return NULL;
		*b = (struct rama_arena_block){ .next = a->block, .size = size };
		a->block = b;
	}
	p = (char *)b->bytes + b->used;
	n = (n + 7) & ~(size_t)7;
	b->used = b->size - b->used < n ? b->size : b->used + n;
	a->total += n;
	return p;
}

char *rama_arena_text(struct rama_arena *a, const char *s, size_t n)
{
	char *p = rama_arena_alloc(a, n + 1);

	if (p != NULL) {
		if (n > 0) /* of no bytes s may be NULL */
			memcpy(p, s, n);
		p[n] = '\0';
	}
	return p;
}

void rama_arena_fini(struct rama_arena *a)
{
	while (a->block != NULL) {
		struct rama_arena_block *next = a->block->next;

		free(a->block);
		a->block = next;
	}
	a->total = 0;
}
