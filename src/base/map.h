/* SPDX-License-Identifier: BSD-3-Clause */
/* map.h: a table from 64-bit keys to 64-bit values, open addressing. Any key is allowed. */
#ifndef RAMA_BASE_MAP_H
#define RAMA_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rama_map_slot {
	uint64_t key, value;
};

struct rama_map {
	struct rama_map_slot *slots;
	uint8_t *full;
	size_t size, used;
	uint64_t salt; /* differs from run to run, so that nobody can choose keys that collide */
};

void rama_map_fini(struct rama_map *m);
/* address of the key's value, or NULL; valid until the next rama_map_put */
uint64_t *rama_map_get(const struct rama_map *m, uint64_t key);
/* address of the key's value, made 0 if it was not there (*fresh = true); NULL: no memory */
uint64_t *rama_map_put(struct rama_map *m, uint64_t key, bool *fresh);
/* walk: start with *at = 0; false at the end */
bool rama_map_next(const struct rama_map *m, size_t *at, struct rama_map_slot *slot);

#endif
