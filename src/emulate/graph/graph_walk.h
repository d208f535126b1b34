/* SPDX-License-Identifier: BSD-3-Clause */
/* graph_walk.h: internal to graph_*.c: the graph as nodes and arrows. Tasks are nodes 0 ..
 * n_tasks - 1, data units follow. */
#ifndef RAMA_EMULATE_GRAPH_GRAPH_WALK_H
#define RAMA_EMULATE_GRAPH_GRAPH_WALK_H

#include "emulate/graph/graph.h"

struct rama_emu_arrow {
	uint32_t to;
	uint32_t edge; /* index of the edge, or n_edges + that of the after */
};

struct rama_emu_arrows {
	uint32_t n_nodes;
	uint32_t *first; /* n_nodes + 1 */
	struct rama_emu_arrow *arrow;
};

/* all of them, also those marked as feedback; 0 or RAMA_EMEMORY */
int rama_emu_arrows_make(struct rama_emu_arrows *a, const struct rama_emu_graph *g);
void rama_emu_arrows_fini(struct rama_emu_arrows *a);

bool rama_emu_arrow_strict(const struct rama_emu_graph *g, uint32_t edge);
bool rama_emu_arrow_feedback(const struct rama_emu_graph *g, uint32_t edge);
/* Does what the arrow points at wait for where it comes from? A data unit waits for all that
 * write it; reading and `after` only where they are strict; nothing waits for what is fed back. */
bool rama_emu_arrow_holds(const struct rama_emu_graph *g, uint32_t edge);
const char *rama_emu_node_id(const struct rama_emu_graph *g, uint32_t node);

/* how many arrows each node is away from a start; also of graphs with cycles, which are broken
 * anywhere */
int rama_emu_graph_levels(const struct rama_emu_graph *g, uint32_t *level);

/* graph.c: keeps a line for the user */
int rama_emu_graph_warn(struct rama_emu_graph *g, const char *text);

#endif
