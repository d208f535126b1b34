/* SPDX-License-Identifier: BSD-3-Clause */
/* group.h: calls that have something in common, such as their thread; those of a group are in the
 * order of the path. Internal to the room. */
#ifndef RAMA_PATH_GROUP_H
#define RAMA_PATH_GROUP_H

#include "path/path.h"

#define RAMA_PATH_GROUP_NONE UINT32_MAX

/* what calls of a group share: two are of one group if all words are the same */
struct rama_path_key {
	uint64_t word[6];
};

struct rama_path_groups {
	uint32_t *table; /* group and 1 by hash of its key, open addressing; half of it is empty */
	size_t mask;
	uint64_t salt; /* nobody can choose keys that collide */
	struct rama_path_key *key;
	size_t n, room;
	uint32_t *of;	 /* group of each call, RAMA_PATH_GROUP_NONE */
	uint32_t *first; /* n + 1: where the calls of each begin ... */
	uint32_t *call;	 /* ... in this */
	size_t n_calls;
};

/* false: the call is of no group */
typedef bool rama_path_key_of(const struct rama_path_call *c, struct rama_path_key *k);

/* Layers as bits: calls of others are not even looked at. */
#define RAMA_PATH_ONLY(layer) (1u << RAMA_PATH_LAYER_##layer)
#define RAMA_PATH_BELOW                                                           \
	(RAMA_PATH_ONLY(FUSE) | RAMA_PATH_ONLY(CLIENT) | RAMA_PATH_ONLY(SERVER) | \
	 RAMA_PATH_ONLY(DISK))
#define RAMA_PATH_ALL UINT32_MAX

/* Calls of these layers by what `key` says of them: O(n). RAMA_EMEMORY; fini in any case. */
int rama_path_groups_make(struct rama_path_groups *g, const struct rama_path *p, uint32_t layers,
			  rama_path_key_of *key);
/* the group of a key, RAMA_PATH_GROUP_NONE */
uint32_t rama_path_groups_find(const struct rama_path_groups *g, const struct rama_path_key *k);
void rama_path_groups_fini(struct rama_path_groups *g);

/* The last call of a group that began at `when` or before: its place in g->call; UINT32_MAX. */
uint32_t rama_path_groups_before(const struct rama_path_groups *g, const struct rama_path *p,
				 uint32_t group, int64_t when);

#endif
