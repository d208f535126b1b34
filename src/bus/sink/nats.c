/* SPDX-License-Identifier: BSD-3-Clause */
/* nats.c: messages go to a stream of NATS JetStream, many in flight at a time. The server's
 * acknowledgement says that the stream has a message; that of a collector, that the store has it
 * (bus.h): by default only the latter counts, for a stream may lose what it has
 * acknowledged when the power fails. Both kinds come on threads of the library.
 *
 * Each message from `base` (the first that is not committed) to `next` has a slot. One that
 * failed, or that nobody has seen, is asked for again and then sent under another attempt. When
 * collectors are silent for a while, a probe is sent behind all the rest: once it is
 * acknowledged, whatever was sent before it and is not, is lost on the way (or its
 * acknowledgement is). As long as there is no collector at all, nothing but a few probes is
 * sent. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/now.h"
#include "bus/sink/bus.h"
#include "bus/sink/tags.h"
#include "wire/message_head.h"

#define QUIET 5000		 /* ms without news before a probe is sent; option quiet */
#define LONGEST_PROBE 300000	 /* ms between two probes */
#define LONGEST_HOLD 5000	 /* ms that nothing is sent because the server took nothing */
#define FLIGHT 512u		 /* of them, not yet acknowledged by the server */
#define FLIGHT_BYTES (16u << 20) /* of those */
#define HEADERS 1024		 /* bytes left for headers of a message */
#define LARGEST_PART (960u << 10)

#define WINDOW 32768u /* messages that are not committed, at most */
#define ANSWER 10000  /* ms for the server's acknowledgement */

struct slot {
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
	struct rama_bus_tags tags;
	uint64_t payload, quiet; /* quiet: ms */
	unsigned losses;	 /* of the connection, that are dealt with */
	bool started, asked;	 /* asked: for the stream, since the connection was made */
	bool told_stream;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t moved;
	struct slot *slot;
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

struct letter {
	const char *subject, *kind;
	uint64_t number;
	uint32_t attempt; /* 0: a probe */
	unsigned part;	  /* 1…; 0: no part */
	unsigned parts;	  /* in how many it was cut; 0: not */
	const unsigned char *data;
	size_t len;
};

static struct slot *slot_of(struct rama_bus_sink *s, uint64_t number)
{
	return number >= s->base && number < s->next ? &s->slot[number % WINDOW] : NULL;
}

/* ---- what comes back, on threads of the library ---------------------------------------------- */

static void on_answer(jsCtx *js, natsMsg *msg, jsPubAck *yes, jsPubAckErr *no, void *closure)
{
	struct rama_bus_sink *s = closure;
	uint64_t number = rama_bus_header(msg, RAMA_BUS_NUMBER, 0);
	uint32_t attempt = (uint32_t)rama_bus_header(msg, RAMA_BUS_ATTEMPT, 0);
	size_t len = (size_t)natsMsg_GetDataLength(msg);
	struct slot *t;

	(void)js;
	pthread_mutex_lock(&s->lock);
	s->in_flight -= s->in_flight > 0;
	s->in_flight_bytes -= s->in_flight_bytes >= len ? len : s->in_flight_bytes;
	t = attempt > 0 ? slot_of(s, number) : NULL; /* probes have no attempt */
	if (t != NULL && t->attempt == attempt && yes == NULL)
		t->failed = s->any_failed = true;
	else if (t != NULL && t->attempt == attempt && t->pending > 0 && --t->pending == 0 &&
		 !t->failed)
		t->streamed = true;
	if (yes != NULL) {
		s->hold = 0;
		s->told = false;
	}
	if (yes == NULL && no != NULL) {
		if (rama_now_ms() >=
		    s->hold_until) { /* once for all that were in flight together */
			s->hold = s->hold == 0		       ? 50
				  : s->hold < LONGEST_HOLD / 2 ? s->hold * 2
							       : LONGEST_HOLD;
			s->hold_until = rama_now_ms() + s->hold;
		}
		s->no_stream |= no->Err == NATS_NO_RESPONDERS;
		snprintf(s->trouble, sizeof s->trouble, "%s",
			 no->ErrText != NULL ? no->ErrText : natsStatus_GetText(no->Err));
	}
	pthread_cond_signal(&s->moved);
	pthread_mutex_unlock(&s->lock);
	natsMsg_Destroy(msg);
}

/* numbers a to b are in the store, or were refused there */
static void mark_stored(struct rama_bus_sink *s, uint64_t a, uint64_t b, bool refused)
{
	if (a < s->base)
		a = s->base;
	for (uint64_t n = a; n <= b && n < s->next; n++) {
		struct slot *t = slot_of(s, n);

		s->news = t->stored ? s->news : rama_now_ms();
		t->refused |= refused && !t->stored;
		t->stored = true;
	}
}

/* one word of an acknowledgement; false: nonsense */
static bool read_word(struct rama_bus_sink *s, const char *word)
{
	bool refused = *word == '!', probe = *word == 'p';
	char *end;
	uint64_t a = strtoull(word + (refused || probe), &end, 10), b = a;

	if (*end == '-' && !probe)
		b = strtoull(end + 1, &end, 10);
	if (*end != '\0')
		return false;
	if (!probe)
		mark_stored(s, a, b, refused);
	else if (a == s->probe && s->probe_at != 0 && s->probe_back == 0)
		s->probe_back = rama_now_ms();
	return true;
}

static void on_commit(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *closure)
{
	struct rama_bus_sink *s = closure;
	char *text = strndup(natsMsg_GetData(msg), (size_t)natsMsg_GetDataLength(msg)),
	     *save = NULL;
	char *word = text != NULL ? strtok_r(text, " ", &save) : NULL;

	(void)nc, (void)sub;
	pthread_mutex_lock(&s->lock);
	if (word != NULL && strcmp(word, s->epoch) == 0)
		while ((word = strtok_r(NULL, " ", &save)) != NULL && read_word(s, word))
			;
	pthread_cond_signal(&s->moved);
	pthread_mutex_unlock(&s->lock);
	free(text);
	natsMsg_Destroy(msg);
}

/* ---- opening --------------------------------------------------------------------------------- */

static void nats_close(struct rama_bus_sink *s);

/* Answers come to subjects of our own, so that a server can be told to let nobody else hear
 * them. */
static int own_inbox(struct rama_bus_sink *s, struct rama_err *e)
{
	char prefix[32];
	natsStatus st;

	snprintf(prefix, sizeof prefix, RAMA_BUS_INBOX "%s", s->from);
	st = natsOptions_SetCustomInboxPrefix(s->bus.opts, prefix);
	return st == NATS_OK ? 0 : rama_bus_error(e, st, prefix);
}

static int nats_open(struct rama_bus_sink **to, const struct rama_bus_sink_options *o,
		     struct rama_err *e)
{
	struct rama_bus_sink *s = calloc(1, sizeof *s);
	pthread_condattr_t attr;
	uint64_t number;
	int rc;

	if (s == NULL || (s->slot = calloc(WINDOW, sizeof *s->slot)) == NULL) {
		free(s);
		return rama_err_no_memory(e);
	}
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->moved, &attr);
	pthread_condattr_destroy(&attr);
	rama_bus_word(s->agent, sizeof s->agent, o->agent, strlen(o->agent));
	snprintf(s->from, sizeof s->from, "%u", (unsigned)geteuid());
	rc = getrandom(&number, sizeof number, 0) == (ssize_t)sizeof number
		     ? 0
		     : rama_err_set(e, RAMA_EIO, "no random numbers: %s", strerror(errno));
	snprintf(s->epoch, sizeof s->epoch, "%016llx", (unsigned long long)number);
	if (rc == 0)
		rc = rama_bus_open(&s->bus, o, RAMA_BUS_KNOWN, e);
	if (rc == 0)
		rc = own_inbox(s, e);
	if (rc == 0)
		rc = rama_bus_sink_number(&s->bus.spec, "payload", &s->payload, e);
	s->quiet = QUIET;
	if (rc == 0)
		rc = rama_bus_sink_number(&s->bus.spec, "quiet", &s->quiet, e);
	if (rc != 0) {
		nats_close(s);
		return rc;
	}
	s->tag = rama_bus_sink_option(&s->bus.spec, "tag",
				      o->tag != NULL && *o->tag != '\0' ? o->tag : "iorama");
	s->by_stream = strcmp(rama_bus_sink_option(&s->bus.spec, "ack", "store"), "stream") == 0;
	s->bus.jsopts.PublishAsync.AckHandler = on_answer;
	s->bus.jsopts.PublishAsync.AckHandlerClosure = s;
	*to = s;
	return 0;
}

/* after a connection was lost nobody knows what of the messages in flight arrived */
static void fail_flight(struct rama_bus_sink *s, bool fresh)
{
	pthread_mutex_lock(&s->lock);
	for (uint64_t n = s->base; n < s->next; n++)
		slot_of(s, n)->failed |= slot_of(s, n)->pending > 0;
	s->any_failed = true;
	if (fresh)
		s->in_flight = s->in_flight_bytes = 0;
	s->probe_at = s->probe_back = 0;
	pthread_mutex_unlock(&s->lock);
}

static int hear(struct rama_bus_sink *s, struct rama_err *e)
{
	char subject[128];
	natsStatus st;

	natsSubscription_Destroy(s->acks);
	s->acks = NULL;
	if (s->by_stream)
		return 0;
	snprintf(subject, sizeof subject, RAMA_BUS_ACK "%s.%s", s->from, s->agent);
	st = natsConnection_Subscribe(&s->acks, s->bus.nc, subject, on_commit, s);
	return st == NATS_OK ? 0 : rama_bus_error(e, st, subject);
}

/* Connected, with all that belongs to it? */
static bool ready(struct rama_bus_sink *s, struct rama_err *e)
{
	bool fresh, there;
	unsigned losses;

	if (s->bus.nc != NULL && natsConnection_IsClosed(s->bus.nc)) {
		natsSubscription_Destroy(s->acks); /* before its connection goes */
		s->acks = NULL;
	}
	there = rama_bus_ready(&s->bus, &fresh, e);
	losses = __atomic_load_n(&s->bus.losses, __ATOMIC_ACQUIRE);
	if (fresh || losses != s->losses) {
		fail_flight(s, fresh);
		s->asked = false;
	}
	s->losses = losses;
	if (fresh && hear(s, e) != 0)
		return false;
	if (!there)
		return false;
	if (!s->asked && rama_bus_stream(&s->bus, e) != 0 &&
	    !s->told_stream) { /* it may be there all the same */
		rama_bus_sink_tell(&s->bus.o, "%s: %s; if it is there, all is well", s->bus.shown,
				   e->text);
		s->told_stream = true;
	}
	s->asked = true;
	return true;
}

/* ---- sending: addresses, parts, and the library of NATS -------------------------------------- */

static natsStatus add_number(natsMsg *msg, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)v);
	return natsMsgHeader_Set(msg, key, text);
}

static natsStatus add_headers(struct rama_bus_sink *s, natsMsg *msg, const struct letter *l)
{
	natsStatus st = natsMsgHeader_Set(msg, RAMA_BUS_AGENT, s->agent);

	if (st == NATS_OK)
		st = natsMsgHeader_Set(msg, RAMA_BUS_FROM, s->from);
	if (st == NATS_OK)
		st = natsMsgHeader_Set(msg, RAMA_BUS_EPOCH, s->epoch);
	if (st == NATS_OK)
		st = natsMsgHeader_Set(msg, RAMA_BUS_KIND, l->kind);
	if (st == NATS_OK)
		st = add_number(msg, RAMA_BUS_NUMBER, l->number);
	if (st == NATS_OK && l->attempt > 0)
		st = add_number(msg, RAMA_BUS_ATTEMPT, l->attempt);
	if (st == NATS_OK && l->parts > 0)
		st = add_number(msg, RAMA_BUS_CUT, l->parts);
	return st;
}

static void count_flight(struct rama_bus_sink *s, const struct letter *l, bool up)
{
	pthread_mutex_lock(&s->lock);
	s->in_flight = up ? s->in_flight + 1 : s->in_flight - (s->in_flight > 0);
	s->in_flight_bytes = up ? s->in_flight_bytes + l->len
				: s->in_flight_bytes - (s->in_flight_bytes >= l->len ? l->len : 0);
	pthread_mutex_unlock(&s->lock);
}

/* Hands a message to the library, which answers later. */
static int post(struct rama_bus_sink *s, const struct letter *l, struct rama_err *e)
{
	natsMsg *msg = NULL;
	jsPubOptions po;
	char id[160];
	natsStatus st = natsMsg_Create(&msg, l->subject, NULL, (const char *)l->data, (int)l->len);

	if (st == NATS_OK)
		st = add_headers(s, msg, l);
	if (st == NATS_OK) {
		jsPubOptions_Init(&po);
		po.MaxWait = ANSWER;
		snprintf(id, sizeof id, "%s/%llu/%s.%u%s%.0u", s->agent,
			 (unsigned long long)l->number, s->epoch, l->attempt,
			 l->part > 0	   ? "/"
			 : l->attempt == 0 ? "p"
					   : "",
			 l->part);
		po.MsgId = id;
		count_flight(s, l, true);
		st = js_PublishMsgAsync(s->bus.js, &msg, &po);
		if (st != NATS_OK)
			count_flight(s, l, false);
	}
	natsMsg_Destroy(msg);
	return st == NATS_OK ? 0 : rama_bus_error(e, st, s->bus.shown);
}

static void subject_of(struct rama_bus_sink *s, const struct rama_wire_message_head *h, char *to,
		       size_t room)
{
	char unknown[RAMA_WIRE_JOB], tag[64], uid[32], name[128];
	const char *job = h->job, *slash, *said;

	if (h->kind == RAMA_WIRE_MSG_SAMPLE) {
		rama_bus_word(name, sizeof name, h->word, strlen(h->word));
		snprintf(to, room, "iorama.node.%s", name);
		return;
	}
	if (*job == '\0') {
		snprintf(unknown, sizeof unknown, "%s/unknown", s->from);
		job = unknown;
	}
	slash = strchr(job, '/');
	slash = slash != NULL ? slash : job + strlen(job);
	said = rama_bus_tags_of(&s->tags, job, h->word, s->tag);
	rama_bus_word(tag, sizeof tag, said, strlen(said));
	rama_bus_word(uid, sizeof uid, job, (size_t)(slash - job));
	rama_bus_word(name, sizeof name, *slash == '/' ? slash + 1 : slash,
		      strlen(*slash == '/' ? slash + 1 : slash));
	snprintf(to, room, "iorama.%s.%s.%s", tag, uid, name);
}

/* bytes that one message may have */
static size_t largest(struct rama_bus_sink *s)
{
	int64_t most = natsConnection_GetMaxPayload(s->bus.nc);
	size_t room = most > 2 * HEADERS ? (size_t)most - HEADERS : LARGEST_PART;

	if (s->payload >= 64 && s->payload < room)
		room = (size_t)s->payload;
	return room < LARGEST_PART ? room : LARGEST_PART;
}

/* Waits until more may be sent; false: the server does not answer. */
static bool has_room(struct rama_bus_sink *s, int wait_ms)
{
	int64_t until = rama_now_ms() + wait_ms;
	bool room;

	pthread_mutex_lock(&s->lock);
	while (!(room = s->in_flight < FLIGHT && s->in_flight_bytes < FLIGHT_BYTES) &&
	       rama_now_ms() < until)
		rama_bus_sink_rest(&s->moved, &s->lock, 20);
	pthread_mutex_unlock(&s->lock);
	return room;
}

/* A message that is too large: its parts first, then the message itself, without data, which
 * says how many there are. */
static int post_parts(struct rama_bus_sink *s, struct letter *l, size_t size, struct rama_err *e)
{
	const unsigned char *data = l->data;
	size_t len = l->len;

	l->data = NULL;
	l->len = 0;
	l->parts = (unsigned)((len + size - 1) / size);
	for (unsigned i = 0; i < l->parts; i++) {
		char subject[256];
		struct letter part = *l;
		int rc;

		if (!has_room(s, ANSWER))
			return rama_err_set(e, RAMA_EIO, "%s: the server does not answer",
					    s->bus.shown);
		snprintf(subject, sizeof subject, RAMA_BUS_PART "%s.%s.%s.%llu.%u.%u", s->from,
			 s->agent, s->epoch, (unsigned long long)l->number, l->attempt, i + 1);
		part.subject = subject;
		part.kind = "part";
		part.part = i + 1;
		part.data = data + (size_t)i * size;
		part.len = i + 1 < l->parts ? size : len - (size_t)i * size;
		rc = post(s, &part, e);
		if (rc != 0)
			return rc;
	}
	return post(s, l, e);
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Its slot, made ready for another attempt; NULL: it is on its way or there already. */
static bool take_slot(struct rama_bus_sink *s, uint64_t number, uint32_t events, uint32_t pending)
{
	struct slot *t = &s->slot[number % WINDOW];
	bool wanted = true;

	pthread_mutex_lock(&s->lock);
	if (number < s->next) {
		wanted = !t->stored && (t->failed || (t->pending == 0 && !t->streamed));
	} else {
		memset(t, 0, sizeof *t);
		t->number = number;
		s->next = number + 1;
		s->news = s->base == number ? rama_now_ms() : s->news;
	}
	if (wanted) {
		t->attempt++;
		t->events = events;
		t->pending = pending;
		t->failed = t->streamed = false;
	}
	pthread_mutex_unlock(&s->lock);
	return wanted;
}

static void set_failed(struct rama_bus_sink *s, uint64_t number, bool refused)
{
	pthread_mutex_lock(&s->lock);
	if (refused)
		mark_stored(s, number, number, true);
	else
		slot_of(s, number)->failed = s->any_failed = true;
	pthread_mutex_unlock(&s->lock);
}

static int put_one(struct rama_bus_sink *s, const struct rama_bus_parcel *p, struct rama_err *e)
{
	struct letter l = { .number = p->number, .data = p->bytes, .len = p->len };
	struct rama_wire_message_head h;
	size_t size = largest(s);
	uint32_t parts = p->len > size ? (uint32_t)((p->len + size - 1) / size) : 0;
	char subject[512];
	bool unwanted;
	int rc = rama_wire_message_peek(&h, p->bytes, p->len, e);

	if (rc == 0 && parts > RAMA_BUS_PARTS_MOST)
		rc = rama_err_set(e, RAMA_ELIMIT, "too large for the bus");
	unwanted = rc == 0 && h.kind == RAMA_WIRE_MSG_SAMPLE &&
		   __atomic_load_n(&s->bus.no_samples, __ATOMIC_ACQUIRE);
	if (!take_slot(s, p->number, rc == 0 ? h.events : 0, parts + 1))
		return 0;
	if (rc != 0 || unwanted) { /* unwanted: that was told once, for all of them */
		if (!unwanted)
			rama_bus_sink_tell(&s->bus.o, "message %llu: %s; left out",
					   (unsigned long long)p->number, e->text);
		set_failed(s, p->number, true);
		return 0;
	}
	subject_of(s, &h, subject, sizeof subject);
	l.subject = subject;
	l.kind = rama_wire_message_name(h.kind);
	l.attempt = s->slot[p->number % WINDOW].attempt;
	rc = parts > 0 ? post_parts(s, &l, size, e) : post(s, &l, e);
	if (rc != 0)
		set_failed(s, p->number, false);
	return rc;
}

static int64_t nats_put(struct rama_bus_sink *s, const struct rama_bus_parcel *p, size_t n,
			struct rama_err *e)
{
	size_t i = 0;
	int rc = 0;

	if (n == 0)
		return 0;
	if (!s->started)
		s->base = s->next = s->expected = p->number;
	s->started = true;
	s->gap = p->number > s->expected;
	if (s->gap)
		return rama_err_set(e, RAMA_EIO, "earlier messages have to come again");
	if (!ready(s, e))
		return RAMA_EIO;
	for (; i < n && rc == 0; i++) {
		uint64_t base;
		bool held;

		pthread_mutex_lock(&s->lock);
		base = s->base;
		held = rama_now_ms() < s->hold_until;
		pthread_mutex_unlock(&s->lock);
		if (p[i].number >= base + WINDOW || held || !has_room(s, 0))
			break;
		if (p[i].number >= base)
			rc = put_one(s, &p[i], e);
	}
	s->expected = p->number + i;
	return rc == 0 || i > 1 ? (int64_t)i : rc;
}

/* ---- what is committed ----------------------------------------------------------------------- */

static bool advance(struct rama_bus_sink *s)
{
	uint64_t before = s->base;

	for (; s->base < s->next; s->base++) {
		struct slot *t = slot_of(s, s->base);

		if (!t->stored && !(s->by_stream && t->streamed))
			break;
		s->done.messages += !t->refused;
		s->done.refused += t->refused;
		*(t->refused ? &s->done.refused_events : &s->done.events) += t->events;
	}
	return s->base > before;
}

/* A probe came back some time ago: what was sent before it and is not in the store never will
 * be. */
static void judge_probe(struct rama_bus_sink *s)
{
	/* collectors may still be at work on what they fetched before */
	if (s->probe_back == 0 || rama_now_ms() - s->probe_back < (int64_t)s->quiet / 2)
		return;
	for (uint64_t n = s->base; n < s->probe_mark && n < s->next; n++)
		slot_of(s, n)->failed |= slot_of(s, n)->streamed && !slot_of(s, n)->stored;
	s->any_failed = true;
	s->probe_at = s->probe_back = 0;
	s->probe_wait = 0;
	s->news = rama_now_ms();
}

/* Is it time to ask whether anybody reads? */
static bool probe_due(struct rama_bus_sink *s)
{
	int64_t now = rama_now_ms();

	if (s->by_stream || s->base == s->next || s->probe_back != 0 ||
	    !slot_of(s, s->base)->streamed)
		return false;
	if (s->probe_at == 0)
		return now - s->news > (int64_t)s->quiet;
	return now - s->probe_at > s->probe_wait;
}

static void send_probe(struct rama_bus_sink *s)
{
	struct letter l = { .kind = "probe" };
	char subject[128];
	struct rama_err e;
	bool due;

	pthread_mutex_lock(&s->lock);
	due = probe_due(s);
	if (due) {
		s->probe_wait = s->probe_at == 0 ? 4 * (int64_t)s->quiet : 2 * s->probe_wait;
		s->probe_wait = s->probe_wait < LONGEST_PROBE ? s->probe_wait : LONGEST_PROBE;
		s->probe_at = rama_now_ms();
		s->probe_mark = s->next;
		l.number = ++s->probe;
	}
	pthread_mutex_unlock(&s->lock);
	if (!due)
		return;
	snprintf(subject, sizeof subject, RAMA_BUS_PROBE "%s.%s", s->from, s->agent);
	l.subject = subject;
	post(s, &l, &e);
}

/* the first message that has to come again and would not by itself */
static uint64_t first_failed(struct rama_bus_sink *s)
{
	for (uint64_t n = s->base; s->any_failed && n < s->next; n++)
		if (slot_of(s, n)->failed && !slot_of(s, n)->stored)
			return n < s->expected ? n : UINT64_MAX;
	s->any_failed = false;
	return s->gap ? s->expected : UINT64_MAX;
}

static void wait_for_news(struct rama_bus_sink *s, int wait_ms, uint64_t *again)
{
	int64_t until = rama_now_ms() + wait_ms;
	bool moved = advance(s);

	for (;;) {
		judge_probe(s);
		*again = first_failed(s);
		if (moved || *again != UINT64_MAX || s->base == s->next || rama_now_ms() >= until ||
		    probe_due(s))
			return;
		rama_bus_sink_rest(&s->moved, &s->lock, 50);
		moved = advance(s);
	}
}

static int nats_sync(struct rama_bus_sink *s, int wait_ms, uint64_t *committed, uint64_t *again,
		     struct rama_err *e)
{
	char trouble[sizeof s->trouble] = "";

	if (s->started && ready(s, e))
		send_probe(s);
	pthread_mutex_lock(&s->lock);
	wait_for_news(s, wait_ms, again);
	if (*again != UINT64_MAX) {
		s->expected = *again;
		s->gap = false;
		if (!s->told)
			memcpy(trouble, s->trouble, sizeof trouble);
		s->told |= *s->trouble != '\0';
		s->trouble[0] = '\0';
		s->bus.ensured &= !s->no_stream;
		s->asked &= !s->no_stream;
		s->no_stream = false;
	}
	*committed = s->base > 0 ? s->base - 1 : 0;
	pthread_mutex_unlock(&s->lock);
	if (*trouble != '\0')
		rama_bus_sink_tell(&s->bus.o, "%s: %s; it is sent again and again", s->bus.shown,
				   trouble);
	return 0;
}

static void nats_totals(const struct rama_bus_sink *s, struct rama_bus_sink_totals *t)
{
	pthread_mutex_lock((pthread_mutex_t *)&s->lock);
	*t = s->done;
	pthread_mutex_unlock((pthread_mutex_t *)&s->lock);
}

static void nats_close(struct rama_bus_sink *s)
{
	if (s == NULL)
		return;
	if (s->bus.nc != NULL && natsConnection_Status(s->bus.nc) == NATS_CONN_STATUS_CONNECTED)
		natsConnection_FlushTimeout(s->bus.nc, 1000);
	if (s->bus.nc != NULL)
		natsConnection_Close(s->bus.nc);
	natsSubscription_Destroy(s->acks);
	rama_bus_close(&s->bus);
	rama_bus_tags_fini(&s->tags);
	pthread_cond_destroy(&s->moved);
	pthread_mutex_destroy(&s->lock);
	free(s->slot);
	free(s);
}

const struct rama_bus_sink_ops rama_bus_sink_nats = { "nats",	 nats_open,   nats_put,
						      nats_sync, nats_totals, nats_close };
