/* SPDX-License-Identifier: BSD-3-Clause */
/* sink_nats_post.c: how messages are addressed, cut into parts and handed to the library of
 * NATS. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bus/sink_nats_parts.h"

#define FLIGHT 512u		 /* of them, not yet acknowledged by the server */
#define FLIGHT_BYTES (16u << 20) /* of those */
#define HEADERS 1024		 /* bytes left for headers of a message */
#define LARGEST_PART (960u << 10)

static natsStatus add_number(natsMsg *msg, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof text, "%llu", (unsigned long long)v);
	return natsMsgHeader_Set(msg, key, text);
}

static natsStatus add_headers(struct rama_bus_sink *s, natsMsg *msg,
			      const struct rama_bus_nats_letter *l)
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

static void count_flight(struct rama_bus_sink *s, const struct rama_bus_nats_letter *l, bool up)
{
	pthread_mutex_lock(&s->lock);
	s->in_flight = up ? s->in_flight + 1 : s->in_flight - (s->in_flight > 0);
	s->in_flight_bytes = up ? s->in_flight_bytes + l->len
				: s->in_flight_bytes - (s->in_flight_bytes >= l->len ? l->len : 0);
	pthread_mutex_unlock(&s->lock);
}

int rama_bus_nats_post(struct rama_bus_sink *s, const struct rama_bus_nats_letter *l,
		       struct rama_err *e)
{
	natsMsg *msg = NULL;
	jsPubOptions po;
	char id[160];
	natsStatus st = natsMsg_Create(&msg, l->subject, NULL, (const char *)l->data, (int)l->len);

	if (st == NATS_OK)
		st = add_headers(s, msg, l);
	if (st == NATS_OK) {
		jsPubOptions_Init(&po);
		po.MaxWait = RAMA_BUS_NATS_ANSWER;
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

void rama_bus_nats_subject(struct rama_bus_sink *s, const struct rama_wire_message *m, char *to,
			   size_t room)
{
	char job[RAMA_WIRE_JOB] = "", tag[64], uid[32], name[128];
	const char *slash, *said;

	if (m->kind == RAMA_WIRE_MSG_SAMPLE) {
		rama_bus_word(name, sizeof name, m->sample.host, strlen(m->sample.host));
		snprintf(to, room, "iorama.node.%s", name);
		return;
	}
	if (rama_wire_message_job(m, job) != 0 || *job == '\0')
		snprintf(job, sizeof job, "%s/unknown", s->from);
	slash = strchr(job, '/');
	slash = slash != NULL ? slash : job + strlen(job);
	said = rama_bus_tags_of(&s->tags, m, job, s->tag);
	rama_bus_word(tag, sizeof tag, said, strlen(said));
	rama_bus_word(uid, sizeof uid, job, (size_t)(slash - job));
	rama_bus_word(name, sizeof name, *slash == '/' ? slash + 1 : slash,
		      strlen(*slash == '/' ? slash + 1 : slash));
	snprintf(to, room, "iorama.%s.%s.%s", tag, uid, name);
}

size_t rama_bus_nats_largest(struct rama_bus_sink *s)
{
	int64_t most = natsConnection_GetMaxPayload(s->bus.nc);
	size_t room = most > 2 * HEADERS ? (size_t)most - HEADERS : LARGEST_PART;

	if (s->payload >= 64 && s->payload < room)
		room = (size_t)s->payload;
	return room < LARGEST_PART ? room : LARGEST_PART;
}

bool rama_bus_nats_room(struct rama_bus_sink *s, int wait_ms)
{
	int64_t until = rama_bus_sink_now() + wait_ms;
	bool room;

	pthread_mutex_lock(&s->lock);
	while (!(room = s->in_flight < FLIGHT && s->in_flight_bytes < FLIGHT_BYTES) &&
	       rama_bus_sink_now() < until) {
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_nsec += 20000000;
		t.tv_sec += t.tv_nsec / 1000000000;
		t.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&s->moved, &s->lock, &t);
	}
	pthread_mutex_unlock(&s->lock);
	return room;
}

int rama_bus_nats_post_parts(struct rama_bus_sink *s, struct rama_bus_nats_letter *l, size_t size,
			     struct rama_err *e)
{
	const unsigned char *data = l->data;
	size_t len = l->len;

	l->data = NULL;
	l->len = 0;
	l->parts = (unsigned)((len + size - 1) / size);
	for (unsigned i = 0; i < l->parts; i++) {
		char subject[256];
		struct rama_bus_nats_letter part = *l;
		int rc;

		if (!rama_bus_nats_room(s, RAMA_BUS_NATS_ANSWER))
			return rama_err_set(e, RAMA_EIO, "%s: the server does not answer",
					    s->bus.shown);
		snprintf(subject, sizeof subject, RAMA_BUS_PART "%s.%s.%s.%llu.%u.%u", s->from,
			 s->agent, s->epoch, (unsigned long long)l->number, l->attempt, i + 1);
		part.subject = subject;
		part.kind = "part";
		part.part = i + 1;
		part.data = data + (size_t)i * size;
		part.len = i + 1 < l->parts ? size : len - (size_t)i * size;
		rc = rama_bus_nats_post(s, &part, e);
		if (rc != 0)
			return rc;
	}
	return rama_bus_nats_post(s, l, e);
}
