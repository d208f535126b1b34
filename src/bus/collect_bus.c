/* SPDX-License-Identifier: BSD-3-Clause */
/* collect_bus.c: from the stream of NATS into the store. A batch is fetched, put, committed;
 * only then the server and the agents hear of it. While the store is away the batch is kept, and
 * the server told that it is being worked on. Several collectors share one consumer; what one
 * that dies had fetched comes to another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/now.h"
#include "bus/collect.h"
#include "bus/sink/bus.h"

#define KNOWN RAMA_BUS_KNOWN "consumer "
#define LONGEST_PAUSE 5000 /* ms between two attempts to store */
#define IDLE 1000	   /* ms to wait for messages when none came lately */
#define RECEIPT 16384	   /* bytes of one receipt */
#define REAP_EVERY 10000   /* ms between two looks for processes that are lost */
#define MOST_PENDING 65536 /* messages that collectors may have fetched and not acknowledged */

struct collector {
	const struct rama_bus_collect_options *o;
	struct rama_bus_collect_totals *t;
	struct rama_bus bus;
	natsSubscription *sub;
	struct rama_bus_collect_store store;
	struct rama_bus_collect_users users;
	natsMsgList list;
	struct rama_bus_collected *item;
	struct rama_bus_receipt *receipt;
	int64_t asked;	/* ms, when the server was last asked how much waits */
	int64_t reaped; /* ms, when processes that are lost were last looked for */
	bool troubled;	/* told that the store is away */
	unsigned idle;
};

static bool stopped(const struct collector *c)
{
	return c->o->stop != NULL && *c->o->stop != 0;
}

static void pause_ms(const struct collector *c, int64_t ms)
{
	for (int64_t until = rama_now_ms() + ms; rama_now_ms() < until && !stopped(c);)
		usleep(20000);
}

/* ---- messages -------------------------------------------------------------------------------- */

static const char *header(natsMsg *m, const char *key)
{
	const char *text = NULL;

	return natsMsgHeader_Get(m, key, &text) == NATS_OK && text != NULL ? text : "";
}

static bool is_probe(natsMsg *m)
{
	return strcmp(header(m, RAMA_BUS_KIND), "probe") == 0;
}

/* one word of a subject, as long as it fits */
static bool copy_word(char *to, size_t room, const char *text)
{
	size_t n = strlen(text);

	if (n == 0 || n >= room)
		return false;
	rama_bus_word(to, room, text, n);
	return strcmp(to, text) == 0;
}

/* <from>.<agent>, as subjects name the sender. An agent of a user tells of that user alone, one
 * of the system of all. false: it cannot be. Messages of older agents do not say whose agent it
 * is. */
static bool sender_of(char *to, size_t room, natsMsg *m)
{
	struct rama_bus_collect_subject s;
	const char *from = header(m, RAMA_BUS_FROM);
	char agent[64], uid[16];

	if (!copy_word(agent, sizeof agent, header(m, RAMA_BUS_AGENT)))
		return false;
	if (*from == '\0') {
		snprintf(to, room, "%s", agent);
		return true;
	}
	if (!copy_word(uid, sizeof uid, from) || strspn(uid, "0123456789") != strlen(uid) ||
	    !rama_bus_collect_subject(&s, natsMsg_GetSubject(m)) ||
	    (s.n == 4 && strcmp(uid, "0") != 0 && strcmp(uid, s.word[2]) != 0))
		return false;
	snprintf(to, room, "%s.%s", uid, agent);
	return true;
}

/* how a receipt names it; false: it says nothing of whom it is from */
static bool receipt_of(const struct rama_bus_collected *c, struct rama_bus_receipt *r)
{
	natsMsg *m = c->user;

	*r = (struct rama_bus_receipt){ .number = rama_bus_header(m, RAMA_BUS_NUMBER, UINT64_MAX) };
	r->mark = is_probe(m) ? 'p' : c->fate == RAMA_BUS_FATE_REFUSED ? '!' : 0;
	return c->fate != RAMA_BUS_FATE_ABSENT && r->number != UINT64_MAX &&
	       sender_of(r->agent, sizeof r->agent, m) &&
	       copy_word(r->epoch, sizeof r->epoch, header(m, RAMA_BUS_EPOCH));
}

/* subject of a part, or of all parts ('>') of a message that was cut */
static bool part_subject(char *to, size_t room, natsMsg *m, unsigned part)
{
	char agent[80], epoch[24];
	int n;

	if (!sender_of(agent, sizeof agent, m) ||
	    !copy_word(epoch, sizeof epoch, header(m, RAMA_BUS_EPOCH)))
		return false;
	n = snprintf(to, room, RAMA_BUS_PART "%s.%s.%llu.", agent, epoch,
		     (unsigned long long)rama_bus_header(m, RAMA_BUS_NUMBER, 0));
	if (part == 0)
		snprintf(to + n, room - (size_t)n, ">");
	else
		snprintf(to + n, room - (size_t)n, "%llu.%u",
			 (unsigned long long)rama_bus_header(m, RAMA_BUS_ATTEMPT, 0), part);
	return true;
}

static uint64_t parts_of(natsMsg *m)
{
	uint64_t n = rama_bus_header(m, RAMA_BUS_CUT, 0);

	return n <= RAMA_BUS_PARTS_MOST ? n : 0;
}

static int fetch_part(struct collector *k, natsMsg *m, unsigned part, struct rama_wire_bytes *to,
		      struct rama_err *e)
{
	char subject[256];
	natsMsg *found = NULL;
	jsErrCode code = 0;
	natsStatus st;
	size_t n;

	if (!part_subject(subject, sizeof subject, m, part))
		return rama_err_set(e, RAMA_ECORRUPT, "a message in parts that does not say whose");
	st = js_GetLastMsg(&found, k->bus.js, k->bus.stream, subject, &k->bus.jsopts, &code);
	if (st == NATS_NOT_FOUND || code == JSNoMessageFoundErr)
		return rama_err_set(e, RAMA_EMISSING, "part %u is not there", part);
	if (st != NATS_OK)
		return rama_bus_error(e, st, "a part of a message");
	n = (size_t)natsMsg_GetDataLength(found);
	if (to->n + n > RAMA_WIRE_MESSAGE_MOST) {
		natsMsg_Destroy(found);
		return rama_err_set(e, RAMA_ELIMIT, "parts of more than any message has");
	}
	if (!RAMA_GROW(to->b, to->room, to->n + n + 1)) {
		natsMsg_Destroy(found);
		return rama_err_no_memory(e);
	}
	if (n > 0)
		memcpy(to->b + to->n, natsMsg_GetData(found), n);
	to->n += n;
	natsMsg_Destroy(found);
	return 0;
}

static int fetch_parts(void *ctx, struct rama_bus_collected *c, struct rama_err *e)
{
	struct collector *k = ctx;
	struct rama_wire_bytes all = { 0 };
	uint64_t n = parts_of(c->user);
	int rc = n > 0 ? 0 : rama_err_set(e, RAMA_ECORRUPT, "a message without content");

	for (unsigned i = 1; i <= n && rc == 0; i++)
		rc = fetch_part(k, c->user, i, &all, e);
	if (rc != 0) {
		rama_wire_bytes_fini(&all);
		return rc;
	}
	c->bytes = all.b;
	c->len = all.n;
	return 0;
}

static void release_parts(void *ctx, struct rama_bus_collected *c)
{
	(void)ctx;
	free((void *)c->bytes);
	c->bytes = NULL; /* its length stays, for the totals */
}

static void tell_refused(void *ctx, struct rama_bus_collected *c, const char *why)
{
	struct collector *k = ctx;

	rama_bus_sink_tell(&k->o->bus, "%s: message %s of %s: %s; left out",
			   natsMsg_GetSubject(c->user), header(c->user, RAMA_BUS_NUMBER),
			   header(c->user, RAMA_BUS_AGENT), why);
}

static int check(void *ctx, struct rama_bus_collected *c, struct rama_wire_message *m,
		 struct rama_err *e)
{
	struct collector *k = ctx;

	return rama_bus_collect_check(&k->users, natsMsg_GetSubject(c->user), m, e);
}

/* ---- the consumer ---------------------------------------------------------------------------- */

static const char *consumer_name(const struct collector *k)
{
	return rama_bus_sink_option(&k->bus.spec, "consumer", RAMA_BUS_CONSUMER);
}

static natsStatus add_consumer(struct collector *k, const char *name)
{
	jsConsumerConfig cfg;
	jsConsumerInfo *ci = NULL;
	jsErrCode code = 0;
	natsStatus st =
		js_GetConsumerInfo(&ci, k->bus.js, k->bus.stream, name, &k->bus.jsopts, &code);

	jsConsumerInfo_Destroy(ci);
	if (st != NATS_NOT_FOUND && code != JSConsumerNotFoundErr)
		return st;
	jsConsumerConfig_Init(&cfg);
	cfg.Durable = name;
	cfg.Description = "collectors of iorama";
	cfg.AckPolicy = js_AckExplicit;
	cfg.AckWait = (int64_t)k->o->ack_wait_s * 1000000000;
	cfg.MaxAckPending = MOST_PENDING;
	cfg.FilterSubject = RAMA_BUS_MESSAGES;
	return js_AddConsumer(NULL, k->bus.js, k->bus.stream, &cfg, &k->bus.jsopts, &code);
}

static int subscribe(struct collector *k, struct rama_err *e)
{
	const char *name = consumer_name(k);
	jsSubOptions so;
	jsErrCode code = 0;
	natsStatus st;

	if (k->sub != NULL)
		return 0;
	if (rama_bus_stream(&k->bus, e) != 0)
		return e->code;
	st = add_consumer(k, name);
	if (st != NATS_OK)
		return rama_bus_error(e, st, name);
	jsSubOptions_Init(&so);
	so.Stream = k->bus.stream;
	so.Consumer = name;
	st = js_PullSubscribe(&k->sub, k->bus.js, RAMA_BUS_MESSAGES, name, &k->bus.jsopts, &so,
			      &code);
	return st == NATS_OK ? 0 : rama_bus_error(e, st, name);
}

static void unsubscribe(struct collector *k)
{
	natsSubscription_Destroy(k->sub);
	k->sub = NULL;
}

/* Fills the list; false: there is nothing now. */
static bool fetch(struct collector *k)
{
	bool busy = k->idle < 5;
	jsErrCode code = 0;
	struct rama_err e = { 0 };
	bool fresh, there;
	natsStatus st;

	if (k->bus.nc != NULL && natsConnection_IsClosed(k->bus.nc))
		unsubscribe(k);
	there = rama_bus_ready(&k->bus, &fresh, &e);
	if (!there || subscribe(k, &e) != 0) {
		if (there)
			rama_bus_sink_tell(&k->o->bus, "%s: %s; it is tried again", k->bus.shown,
					   e.text);
		pause_ms(k, there ? 1000 : 100);
		return false;
	}
	st = natsSubscription_Fetch(&k->list, k->sub, (int)k->o->batch,
				    busy || k->o->drain ? k->o->wait_ms : IDLE, &code);
	if (st != NATS_OK && st != NATS_TIMEOUT) { /* the server has gone, or the consumer */
		unsubscribe(k);
		pause_ms(k, 100);
		return false;
	}
	k->idle = st == NATS_OK ? 0 : k->idle + 1;
	return st == NATS_OK && k->list.Count > 0;
}

/* ---- a batch --------------------------------------------------------------------------------- */

static size_t sort_out(struct collector *k)
{
	size_t n = 0;

	for (int i = 0; i < k->list.Count; i++) {
		natsMsg *m = k->list.Msgs[i];
		jsMsgMetaData *meta = NULL;

		if (natsMsg_GetMetaData(&meta, m) == NATS_OK)
			k->t->redelivered += meta->NumDelivered > 1;
		jsMsgMetaData_Destroy(meta);
		if (is_probe(m))
			continue;
		k->item[n] = (struct rama_bus_collected){ .user = m };
		if (parts_of(m) == 0) {
			k->item[n].bytes = (const unsigned char *)natsMsg_GetData(m);
			k->item[n].len = (size_t)natsMsg_GetDataLength(m);
		}
		n++;
	}
	for (int i = 0; i < k->list.Count; i++) /* probes stand behind, and are not stored */
		if (is_probe(k->list.Msgs[i]))
			k->item[n++] = (struct rama_bus_collected){ .user = k->list.Msgs[i],
								    .fate = RAMA_BUS_FATE_STORED };
	return n;
}

/* Stores it, however long that takes. false: stopped before that. */
static bool store_batch(struct collector *k, size_t n)
{
	int64_t pause = 100, told = rama_now_ms();
	struct rama_err e = { 0 };

	while (n > 0 && rama_bus_collect_put(&k->store, k->item, n, k->t, &e) != 0) {
		if (!k->troubled)
			rama_bus_sink_tell(&k->o->bus, "store: %s; messages wait in the stream",
					   e.text);
		k->troubled = true;
		for (int64_t until = rama_now_ms() + pause; rama_now_ms() < until && !stopped(k);)
			usleep(20000);
		pause = pause * 2 < LONGEST_PAUSE ? pause * 2 : LONGEST_PAUSE;
		if (stopped(k))
			return false;
		if (rama_now_ms() - told < (int64_t)k->o->ack_wait_s * 1000 / 4)
			continue;
		told = rama_now_ms();
		for (int i = 0; i < k->list.Count; i++)
			natsMsg_InProgress(k->list.Msgs[i], &k->bus.jsopts);
	}
	if (k->troubled)
		rama_bus_sink_tell(&k->o->bus, "store: it is back");
	k->troubled = false;
	return true;
}

static void say(void *ctx, const char *agent, const char *text, size_t len)
{
	struct collector *k = ctx;
	char subject[128];

	snprintf(subject, sizeof subject, RAMA_BUS_ACK "%s", agent);
	natsConnection_Publish(k->bus.nc, subject, text, (int)len);
}

static void purge_parts(struct collector *k, natsMsg *m)
{
	jsOptions o = k->bus.jsopts;
	char subject[256];
	jsErrCode code = 0;

	if (!part_subject(subject, sizeof subject, m, 0))
		return;
	o.Stream.Purge.Subject = subject;
	js_PurgeStream(k->bus.js, k->bus.stream, &o, &code);
}

/* It is in the store: agents and server may forget it. */
static void acknowledge(struct collector *k, size_t n)
{
	size_t receipts = 0;

	for (size_t i = 0; i < n; i++)
		receipts += receipt_of(&k->item[i], &k->receipt[receipts]);
	rama_bus_receipts(k->receipt, receipts, RECEIPT, say, k);
	for (size_t i = 0; i < n; i++) {
		natsStatus s = k->item[i].fate == RAMA_BUS_FATE_STORED
				       ? natsMsg_Ack(k->item[i].user, &k->bus.jsopts)
				       : natsMsg_Term(k->item[i].user, &k->bus.jsopts);

		/* Each waits for a server that is away. The others come again, and are known. */
		if (s != NATS_OK &&
		    (stopped(k) || natsConnection_Status(k->bus.nc) != NATS_CONN_STATUS_CONNECTED))
			return;
	}
	for (size_t i = 0; i < n; i++)
		if (parts_of(k->item[i].user) > 0)
			purge_parts(k, k->item[i].user);
}

static int64_t waiting(struct collector *k)
{
	jsConsumerInfo *ci = NULL;
	jsErrCode code = 0;
	int64_t n = -1;

	if (k->sub != NULL && js_GetConsumerInfo(&ci, k->bus.js, k->bus.stream, consumer_name(k),
						 &k->bus.jsopts, &code) == NATS_OK)
		n = (int64_t)ci->NumPending + ci->NumAckPending;
	jsConsumerInfo_Destroy(ci);
	return n;
}

static void show(struct collector *k)
{
	if (k->o->progress == NULL)
		return;
	if (rama_now_ms() - k->asked >= 1000) {
		k->t->waiting = waiting(k);
		k->asked = rama_now_ms();
	}
	k->o->progress(k->o->ctx, k->t);
}

/* A batch of its own; what goes wrong with it goes wrong with the next batch of messages too,
 * and is told there. */
static void reap(struct collector *k)
{
	struct rama_err e = { 0 };

	if (rama_now_ms() - k->reaped < REAP_EVERY ||
	    rama_bus_collect_store_open(&k->store, &e) != 0)
		return;
	k->reaped = rama_now_ms();
	if (rama_store_reap(k->store.store, rama_store_now(k->store.store), &e) != 0)
		rama_bus_collect_store_close(&k->store);
}

static void run(struct collector *k)
{
	while (!stopped(k)) {
		if (fetch(k)) {
			size_t n = sort_out(k), probes = 0;

			while (probes < n && k->item[n - 1 - probes].fate == RAMA_BUS_FATE_STORED)
				probes++;
			if (store_batch(k, n - probes))
				acknowledge(k, n);
			else /* another may have more luck */
				for (int i = 0; i < k->list.Count; i++)
					natsMsg_Nak(k->list.Msgs[i], &k->bus.jsopts);
		} else if (k->o->drain && k->sub != NULL && waiting(k) == 0) {
			break;
		}
		natsMsgList_Destroy(&k->list);
		memset(&k->list, 0, sizeof k->list);
		reap(k);
		show(k);
	}
	k->t->waiting = waiting(k);
}

int rama_bus_collect_bus(const struct rama_bus_collect_options *o,
			 struct rama_bus_collect_totals *t, struct rama_err *e)
{
	struct collector k = { .o = o, .t = t };
	int rc;

	k.store = (struct rama_bus_collect_store){ .where = o->store,
						   .fetch = fetch_parts,
						   .release = release_parts,
						   .refused = tell_refused,
						   .check = check,
						   .ctx = &k };
	t->waiting = -1;
	rc = rama_bus_open(&k.bus, &o->bus, KNOWN, e);
	if (rc != 0)
		return rc;
	k.item = calloc(o->batch, sizeof *k.item);
	k.receipt = calloc(o->batch, sizeof *k.receipt);
	rc = k.item != NULL && k.receipt != NULL ? rama_bus_collect_store_open(&k.store, e)
						 : rama_err_no_memory(e);
	if (rc == 0)
		run(&k);
	natsMsgList_Destroy(&k.list);
	if (k.bus.nc != NULL && natsConnection_Status(k.bus.nc) == NATS_CONN_STATUS_CONNECTED)
		natsConnection_FlushTimeout(k.bus.nc, 2000);
	unsubscribe(&k);
	rama_bus_close(&k.bus);
	rama_bus_collect_store_close(&k.store);
	free(k.item);
	free(k.receipt);
	return rc;
}
