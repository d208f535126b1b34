/* SPDX-License-Identifier: BSD-3-Clause */
/* bus.h: what agents and collectors have in common on NATS: how they connect, the stream
 * between them, names of subjects and headers. docs/live.md tells it in words.
 *
 *   iorama.<tag>.<uid>.<job>     messages of a job         iorama.node.<host>   those of a node
 *   iorama.probe.<from>.<agent>  is anybody reading?
 *   iorama-part.<from>.<agent>.<epoch>.<number>.<attempt>.<i>
 *   iorama-ack.<from>.<agent>    what collectors have committed, not kept: "<epoch> 5-9 11 !12 p3"
 *   iorama-focus.<from>          what agents say to each other, not kept: talk.h
 *
 * <from> is the user whose agent it is, 0 for one of the system: so a server can be told who may
 * publish and hear what. An epoch is one opening of a sink, and nobody can guess it:
 * acknowledgements of another one mean nothing. */
#ifndef RAMA_BUS_SINK_BUS_H
#define RAMA_BUS_SINK_BUS_H

#include <nats/nats.h>

#include "bus/sink/sink.h"

#define RAMA_BUS_STREAM "IORAMA"
#define RAMA_BUS_CONSUMER "iorama-collect"
#define RAMA_BUS_MESSAGES "iorama.>"
#define RAMA_BUS_PARTS "iorama-part.>"
#define RAMA_BUS_PART "iorama-part."
#define RAMA_BUS_PROBE "iorama.probe."
#define RAMA_BUS_ACK "iorama-ack."
#define RAMA_BUS_INBOX "_INBOX." /* of agents: followed by <from> */
#define RAMA_BUS_WAIT 3000	 /* ms for an answer of the server */

/* headers */
#define RAMA_BUS_AGENT "Iorama-Agent"
#define RAMA_BUS_FROM "Iorama-From" /* number of the user whose agent it is */
#define RAMA_BUS_EPOCH "Iorama-Epoch"
#define RAMA_BUS_NUMBER "Iorama-Number" /* of the spool; of the probe, if it is one */
#define RAMA_BUS_KIND "Iorama-Kind"	/* name of the kind of message, "probe", "part" */
#define RAMA_BUS_CUT "Iorama-Parts"	/* the message is in so many parts, this one has no data */
#define RAMA_BUS_ATTEMPT "Iorama-Attempt"

#define RAMA_BUS_PARTS_MOST 4096

#define RAMA_BUS_KNOWN                                                                     \
	"ack domain credentials nkey ca cert key insecure stream stream-bytes stream-age " \
	"replicas payload quiet tag "

struct rama_bus {
	struct rama_bus_sink_options o;
	struct rama_bus_sink_spec spec;
	char shown[256]; /* servers, without passwords */
	natsOptions *opts;
	natsConnection *nc;
	jsCtx *js;
	jsOptions jsopts; /* for requests and contexts */
	const char *stream, *domain;
	uint64_t stream_bytes, stream_age_s, replicas;
	bool ensured;  /* the stream is there */
	bool troubled; /* told that it cannot be used */
	int64_t not_before, pause;
	unsigned losses; /* times the connection was lost; written by the library's thread */
	bool denied,
		/* told that something is not permitted; that samples are not: likewise */
		no_samples;
	pthread_t watch;      /* looks at the clocks */
	pthread_mutex_t lock; /* of nc, where it comes and goes */
	pthread_cond_t wake;
	bool watched, ending;
};

/* Settings are checked, the connection is made in the background and kept for ever. on_link:
 * called by a thread of the library whenever the connection is there (again), may be NULL. */
int rama_bus_open(struct rama_bus *b, const struct rama_bus_sink_options *o, const char *known,
		  struct rama_err *e);
/* Connects, or connects again when the library has given up (wrong password: it might be right
 * tomorrow). true: it can be used now. *fresh: the context is another one than before, so
 * subscriptions are gone. */
bool rama_bus_ready(struct rama_bus *b, bool *fresh, struct rama_err *e);
/* Makes the stream if it is not there and this user may. 0, or RAMA_EIO. */
int rama_bus_stream(struct rama_bus *b, struct rama_err *e);
void rama_bus_close(struct rama_bus *b);

int rama_bus_error(struct rama_err *e, natsStatus st, const char *what);
/* a header as a number; `otherwise` if there is none */
uint64_t rama_bus_header(natsMsg *m, const char *key, uint64_t otherwise);

#endif
