/* SPDX-License-Identifier: BSD-3-Clause */
/* world.h: what is known of a process from outside: the environment it began with, and the MPI job
 * that it is a rank of. */
#ifndef RAMA_ATTACH_WORLD_H
#define RAMA_ATTACH_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* variables of a process, as it began; all zero: it has none, or they are not ours to read */
struct rama_attach_variables {
	char *text;
	size_t n;
};
void rama_attach_variables_read(struct rama_attach_variables *v, pid_t pid);
/* NULL: it is not set. A rama_config_lookup. */
const char *rama_attach_variables_get(void *v, const char *name);
void rama_attach_variables_fini(struct rama_attach_variables *v);

pid_t rama_attach_parent(pid_t pid); /* 0: none, or it is gone */

/* two ranks are of one job if both members are the same */
struct rama_attach_world {
	pid_t launcher; /* the process that started the ranks of this host */
	uint64_t name;	/* of the world, where a launcher may have several */
};
/* false: it is no rank of an MPI job, as far as its launcher and its libraries tell. */
bool rama_attach_world_find(struct rama_attach_world *w, pid_t pid);

#endif
