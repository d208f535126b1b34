/* SPDX-License-Identifier: BSD-3-Clause */
/* collect.h: messages that come from elsewhere, over NATS or out of files, go into a store. */
#ifndef RAMA_BUS_COLLECT_H
#define RAMA_BUS_COLLECT_H

#include <signal.h>

#include "bus/put.h"
#include "bus/sink/sink.h"

struct rama_bus_collect_totals {
	uint64_t messages, bytes, events; /* stored */
	uint64_t repeated;		  /* events that were there already */
	uint64_t refused, refused_events; /* damaged: left out, told */
	uint64_t batches, retries;	  /* retries: the store could not be used */
	uint64_t redelivered;		  /* messages that came more than once */
	int64_t waiting;		  /* in the stream, when last asked; -1: not known */
};

struct rama_bus_collect_options {
	const char *store;
	/* where, agent (a name for the server's lists), credentials, …, tell */
	struct rama_bus_sink_options bus;
	unsigned batch; /* messages, at most */
	int wait_ms;	/* for a batch to fill */
	/* after which the server gives messages of a dead collector to another */
	unsigned ack_wait_s;
	bool drain; /* end when nothing is left */
	const volatile sig_atomic_t *stop;
	void (*progress)(void *ctx,
			 const struct rama_bus_collect_totals *t); /* now and then; may be NULL */
	void *ctx;
};

/* Until it is stopped. 0, or an error that no waiting would mend. */
int rama_bus_collect_bus(const struct rama_bus_collect_options *o,
			 struct rama_bus_collect_totals *t, struct rama_err *e);

/* ---- one batch ------------------------------------------------------------------------------- */

enum rama_bus_fate {
	RAMA_BUS_FATE_OPEN,    /* not stored yet */
	RAMA_BUS_FATE_STORED,  /* committed */
	RAMA_BUS_FATE_REFUSED, /* damaged */
	RAMA_BUS_FATE_ABSENT   /* its parts are not there (any more) */
};

struct rama_bus_collected {
	const unsigned char *bytes;
	size_t len;
	enum rama_bus_fate fate;
	uint64_t events, stored;
	void *user;
};

/* a store that may be away for a while */
struct rama_bus_collect_store {
	const char *where;
	struct rama_store *store; /* NULL: not open */
	struct rama_bus_put put;
	/* gives the bytes of a message that has none, which `release` gives back; 0, or
	 * RAMA_EMISSING: it is absent */
	int (*fetch)(void *ctx, struct rama_bus_collected *c, struct rama_err *e);
	void (*release)(void *ctx, struct rama_bus_collected *c);
	void (*refused)(void *ctx, struct rama_bus_collected *c, const char *why);
	/* Is it what it says it is? Else RAMA_ECORRUPT: it is refused. NULL: whatever comes is. */
	int (*check)(void *ctx, struct rama_bus_collected *c, struct rama_wire_message *m,
		     struct rama_err *e);
	void *ctx;
};

int rama_bus_collect_store_open(struct rama_bus_collect_store *s, struct rama_err *e);
/* All of it, and commits; fates and totals are set only when it is committed. RAMA_EIO: nothing
 * was, try again later. */
int rama_bus_collect_put(struct rama_bus_collect_store *s, struct rama_bus_collected *c, size_t n,
			 struct rama_bus_collect_totals *t, struct rama_err *e);
void rama_bus_collect_store_close(struct rama_bus_collect_store *s);

/* ---- whom messages are from ------------------------------------------------------------------ */

/* iorama.<tag>.<uid>.<job>, or iorama.node.<host> */
struct rama_bus_collect_subject {
	char word[4][128];
	unsigned n;
	uint64_t uid;
};
/* false: it is none of them */
bool rama_bus_collect_subject(struct rama_bus_collect_subject *to, const char *subject);

/* users, as this machine knows them */
#define RAMA_BUS_COLLECT_USERS 257
struct rama_bus_collect_users {
	struct rama_bus_collect_user {
		uint64_t uid;
		int64_t asked; /* ms; 0: never */
		char name[64];
	} user[RAMA_BUS_COLLECT_USERS];
	char number[24];
};
/* 0, or RAMA_ECORRUPT and a line: job, user or name of a message are not those of its subject. A
 * name that nobody here can vouch for becomes the number of the user; valid until the next call. */
int rama_bus_collect_check(struct rama_bus_collect_users *users, const char *subject,
			   struct rama_wire_message *m, struct rama_err *e);

/* ---- what agents are told -------------------------------------------------------------------- */

struct rama_bus_receipt {
	char agent[80],
		epoch[24]; /* agent: as in the subject of acknowledgements, <from>.<agent> */
	uint64_t number;
	char mark; /* 0: stored, '!': refused, 'p': a probe */
};

/* Sorts them; then calls say() with an agent and texts "<epoch> 5-9 11 !12 p3" of at most `room`
 * bytes that hold all of them. */
void rama_bus_receipts(struct rama_bus_receipt *r, size_t n, size_t room,
		       void (*say)(void *ctx, const char *agent, const char *text, size_t len),
		       void *ctx);

#endif
