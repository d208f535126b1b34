/* SPDX-License-Identifier: BSD-3-Clause */
/* sink_nats_parts.h: what the two files of the sink for NATS share: its state (sink_nats.c) and
 * how it sends (sink_nats_post.c). */
#ifndef RAMA_BUS_SINK_NATS_PARTS_H
#define RAMA_BUS_SINK_NATS_PARTS_H

#include <pthread.h>

#include "bus/sink_bus.h"
#include "bus/sink_tags.h"

#define RAMA_BUS_NATS_WINDOW 32768u /* messages that are not committed, at most */
#define RAMA_BUS_NATS_ANSWER 10000  /* ms for the server's acknowledgement */

struct rama_bus_nats_slot {
	uint64_t number;
	uint32_t events, attempt;
	uint32_t pending; /* answers of the server that are still to come */
	bool failed, streamed, stored, refused;
};

struct rama_bus_sink {
	struct rama_bus bus;
	char agent[64], epoch[24], from[16];
	const char *tag;
	bool by_stream; /* the server's word is enough */
	natsSubscription *acks;
	struct rama_arena arena;
	struct rama_bus_tags tags;
	uint64_t payload, quiet; /* quiet: ms */
	unsigned losses;	 /* of the connection, that are dealt with */
	bool started, asked;	 /* asked: for the stream, since the connection was made */
	bool told_stream;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t moved;
	struct rama_bus_nats_slot *slot;
	uint64_t base, next;
	uint64_t expected; /* what the agent puts next */
	uint64_t in_flight, in_flight_bytes;
	bool gap, any_failed;	    /* any_failed: a slot may be marked so */
	uint64_t probe, probe_mark; /* the last one, and what was sent before it */
	int64_t probe_at, probe_back, probe_wait, news; /* ms; 0: none */
	int64_t hold, hold_until; /* ms: the server does not take messages now */
	bool no_stream;		  /* the server knows of no stream */
	bool told;		  /* of trouble, since the server last took something */
	char trouble[200];
	struct rama_bus_sink_totals done;
};

struct rama_bus_nats_letter {
	const char *subject, *kind;
	uint64_t number;
	uint32_t attempt; /* 0: a probe */
	unsigned part;	  /* 1…; 0: no part */
	unsigned parts;	  /* in how many it was cut; 0: not */
	const unsigned char *data;
	size_t len;
};

/* Hands a message to the library, which answers later. */
int rama_bus_nats_post(struct rama_bus_sink *s, const struct rama_bus_nats_letter *l,
		       struct rama_err *e);
/* A message that is too large: its parts first, then the message itself, without data, which
 * says how many there are. */
int rama_bus_nats_post_parts(struct rama_bus_sink *s, struct rama_bus_nats_letter *l, size_t size,
			     struct rama_err *e);
void rama_bus_nats_subject(struct rama_bus_sink *s, const struct rama_wire_message *m, char *to,
			   size_t room);
/* bytes that one message may have */
size_t rama_bus_nats_largest(struct rama_bus_sink *s);
/* Waits until more may be sent; false: the server does not answer. */
bool rama_bus_nats_room(struct rama_bus_sink *s, int wait_ms);

#endif
