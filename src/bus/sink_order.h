/* SPDX-License-Identifier: BSD-3-Clause */
/* sink_order.h: the order in which messages of a batch are put into a store. It does not matter
 * to the store, but writers that work at the same time must take jobs and processes in one and
 * the same order, or they wait for each other in a ring. */
#ifndef RAMA_BUS_SINK_ORDER_H
#define RAMA_BUS_SINK_ORDER_H

#include "wire/message.h"

struct rama_bus_order_key {
	char job[RAMA_WIRE_JOB];
	struct rama_wire_segment_key segment;
	size_t place; /* in the batch: what belongs to one process stays as it came */
};
struct rama_bus_order { /* all 0 at the start */
	struct rama_bus_order_key *key;
	size_t room;
	struct rama_wire_block *head;
	struct rama_arena arena;
};

/* Of n messages, whose bytes get() gives (NULL: not known); afterwards key[i].place is the one
 * to put as i-th. 0 or RAMA_EMEMORY. */
int rama_bus_order_make(struct rama_bus_order *o, size_t n,
			const unsigned char *(*get)(const void *batch, size_t i, size_t *len),
			const void *batch, struct rama_err *e);
void rama_bus_order_fini(struct rama_bus_order *o);

#endif
