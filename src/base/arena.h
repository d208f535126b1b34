/* SPDX-License-Identifier: BSD-3-Clause */
/* arena.h: memory that is freed all at once. */
#ifndef RAMA_BASE_ARENA_H
#define RAMA_BASE_ARENA_H

#include <stddef.h>

struct rama_arena {
	struct rama_arena_block *block;
	size_t total; /* bytes handed out */
};

void *rama_arena_alloc(struct rama_arena *a,
		       size_t n); /* 8-byte aligned, not cleared; NULL: no memory */
char *rama_arena_text(struct rama_arena *a, const char *s, size_t n); /* copy with a NUL added */
void rama_arena_fini(struct rama_arena *a);

#endif
