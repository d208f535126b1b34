/* SPDX-License-Identifier: BSD-3-Clause */
/* sink.h: where messages of an agent go. The agent's second thread reads messages from the spool
 * in order and puts them into one sink; what the sink has committed for good leaves the spool. */
#ifndef RAMA_BUS_SINK_SINK_H
#define RAMA_BUS_SINK_SINK_H

#include <limits.h>
#include <pthread.h>

#include "wire/message.h"

/* a message on its way: number is given by the spool and grows by one */
struct rama_bus_parcel {
	uint64_t number;
	const unsigned char *bytes; /* an encoded message */
	size_t len;
};

struct rama_bus_sink_totals {	   /* since it was opened */
	uint64_t messages, events; /* committed */
	uint64_t repeated;	   /* events that were there already */
	uint64_t refused,
		/* damaged, or more than the sink can take: lost, with a line to `tell` */
		refused_events;
};

struct rama_bus_sink_options {
	const char *agent; /* name of this agent: host and a number that stays, [A-Za-z0-9_-] */
	/* path, URL: what stands behind "KIND:" on the command line; options of the sink follow a
	 * '?' */
	const char *where;
	/* json: our own; paper, upstream: those of the connector (facts in
	 * docs/format/connector.md) */
	const char *dialect;
	const char *tag; /* streams whose job asks for no other; NULL: "iorama" */
	const char *credentials, *ca, *cert, *key; /* NULL: none */
	const char *domain;			   /* JetStream domain, or NULL */
	void (*tell)(void *ctx, const char *line); /* for the agent's journal */
	void *ctx;
};

struct rama_bus_sink;
struct rama_bus_sink_ops {
	const char *name; /* "store", "file", "nats", "ldms" */
	/* Does not wait for servers: a sink that cannot be reached yet opens all the same. */
	int (*open)(struct rama_bus_sink **s, const struct rama_bus_sink_options *o,
		    struct rama_err *e);
	/* Takes up to n parcels, in order; returns how many, or negative: RAMA_EIO (try again
	 * later, the same parcels), others are for good. Taken is not committed. */
	int64_t (*put)(struct rama_bus_sink *s, const struct rama_bus_parcel *p, size_t n,
		       struct rama_err *e);
	/* Pushes what was taken, waits at most that long. *committed: all parcels up to this
	 * number are safe. *again: parcels from this number on have to be put again (a
	 * connection was lost), else UINT64_MAX. */
	int (*sync)(struct rama_bus_sink *s, int wait_ms, uint64_t *committed, uint64_t *again,
		    struct rama_err *e);
	void (*totals)(const struct rama_bus_sink *s, struct rama_bus_sink_totals *t);
	void (*close)(struct rama_bus_sink *s);
};
extern const struct rama_bus_sink_ops rama_bus_sink_store, rama_bus_sink_file, rama_bus_sink_nats,
	rama_bus_sink_ldms;
/* "store:PATH", "file:PATH", "nats://HOST:PORT", "ldms:HOST:PORT", or a postgresql:// URL; NULL:
 * not known. *where: the rest */
const struct rama_bus_sink_ops *rama_bus_sink_find(const char *text, const char **where);

/* ---- for sinks ------------------------------------------------------------------------------- */

/* PLACE?key=value&key=value, taken apart; %26 and the like in values are read as in URLs */
#define RAMA_BUS_SINK_OPTIONS 12
struct rama_bus_sink_spec {
	char place[4096];
	struct {
		char key[24], value[1024];
	} option[RAMA_BUS_SINK_OPTIONS];
	unsigned n;
};
/* known: names that are allowed, each followed by a blank. A place whose own name has a '?'
 * needs another one at its end. */
int rama_bus_sink_split(struct rama_bus_sink_spec *sp, const char *where, const char *known,
			struct rama_err *e);
/* its value, or `otherwise` */
const char *rama_bus_sink_option(const struct rama_bus_sink_spec *sp, const char *key,
				 const char *otherwise);
/* the same for sizes (64M) and numbers; a value that is none is RAMA_EUSAGE */
int rama_bus_sink_number(const struct rama_bus_sink_spec *sp, const char *key, uint64_t *v,
			 struct rama_err *e);
/* A place as it may be shown: "nats://user:secret@host:1,nats://host2" becomes
 * "nats://host:1,nats://host2". Returns `to`. */
const char *rama_bus_sink_shown(const char *urls, char *to, size_t room);
/* A sink as a status names it: without passwords; a store else as on the command line */
const char *rama_bus_sink_named(const char *sink, char to[PATH_MAX]);
/* Waits for the condition (of rama_now_ms' clock), or so long. */
void rama_bus_sink_rest(pthread_cond_t *moved, pthread_mutex_t *lock, int64_t ms);
/* n bytes of a text as one word of a subject: [A-Za-z0-9_-], others become '_' */
void rama_bus_word(char *to, size_t room, const char *text, size_t n);
/* one line to the journal */
void rama_bus_sink_tell(const struct rama_bus_sink_options *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
