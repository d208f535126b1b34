/* SPDX-License-Identifier: BSD-3-Clause */
/* put.h: a batch of messages goes into a store. On their way here messages are asked for their
 * heads only; here each is decoded, once, checked and put. */
#ifndef RAMA_BUS_PUT_H
#define RAMA_BUS_PUT_H

#include "store/store.h"
#include "wire/message_head.h"

struct rama_bus_put_key {
	char job[RAMA_WIRE_JOB];
	struct rama_wire_segment_key segment;
	size_t place; /* in the batch: what belongs to one process stays as it came */
};
struct rama_bus_put { /* all 0 at the start */
	struct rama_bus_put_key *key;
	size_t room;
};

/* as rama_store_open for writing; a line that says where, without passwords */
int rama_bus_put_open(struct rama_store **s, const char *where, struct rama_err *e);

/* The order in which messages of a batch are put. It does not matter to the store, but writers
 * that work at the same time must take jobs and processes in one and the same order, or they wait
 * for each other in a ring. Of n messages, whose bytes get() gives (NULL: not known); afterwards
 * key[i].place is the one to put as i-th. 0 or RAMA_EMEMORY. */
int rama_bus_put_order(struct rama_bus_put *p, size_t n,
		       const unsigned char *(*get)(const void *batch, size_t i, size_t *len),
		       const void *batch, struct rama_err *e);
void rama_bus_put_fini(struct rama_bus_put *p);

/* One message: *events of it, of which *stored are new. check: is it what it says it is? May
 * change it, and what is put is what it saw; NULL: whatever comes is. */
int rama_bus_put_message(struct rama_store *s, const unsigned char *bytes, size_t len,
			 int (*check)(void *ctx, struct rama_wire_message *m, struct rama_err *e),
			 void *ctx, uint64_t *events, uint64_t *stored, struct rama_err *e);
/* Is it the message, which no other attempt would make better? */
bool rama_bus_put_damaged(int rc);

#endif
