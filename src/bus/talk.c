/* SPDX-License-Identifier: BSD-3-Clause */
#include "bus/talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bus/sink/bus.h"

#define HEARD_MOST 4096	     /* messages that wait to be read; what is more is lost */
#define LONGEST (512u << 10) /* bytes of one */
#define LOOK 500	     /* ms after which the connection is looked after */

struct heard {
	unsigned char *bytes;
	size_t n;
};

struct rama_bus_talk {
	struct rama_bus bus;
	natsSubscription *sub;
	char subject[96];
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t moved;
	bool stop;
	struct heard out, in[HEARD_MOST];
	size_t n_in;
};

/* on a thread of the library */
static void on_message(natsConnection *nc, natsSubscription *sub, natsMsg *msg, void *closure)
{
	struct rama_bus_talk *t = closure;
	size_t n = (size_t)natsMsg_GetDataLength(msg);
	unsigned char *copy = n > 0 && n <= LONGEST ? malloc(n) : NULL;

	(void)nc, (void)sub;
	if (copy != NULL)
		memcpy(copy, natsMsg_GetData(msg), n);
	pthread_mutex_lock(&t->lock);
	if (copy != NULL && t->n_in < HEARD_MOST) {
		t->in[t->n_in++] = (struct heard){ copy, n };
		copy = NULL;
	}
	pthread_mutex_unlock(&t->lock);
	free(copy);
	natsMsg_Destroy(msg);
}

static bool ready(struct rama_bus_talk *t)
{
	struct rama_err e = { 0 };
	bool fresh, there;

	if (t->bus.nc != NULL && natsConnection_IsClosed(t->bus.nc)) {
		natsSubscription_Destroy(t->sub); /* before its connection goes */
		t->sub = NULL;
	}
	there = rama_bus_ready(&t->bus, &fresh, &e);
	if (fresh)
		natsConnection_Subscribe(&t->sub, t->bus.nc, t->subject, on_message, t);
	return there;
}

static void *run(void *closure)
{
	struct rama_bus_talk *t = closure;
	bool stop = false;

	while (!stop) {
		bool there = ready(t);
		struct heard out;

		pthread_mutex_lock(&t->lock);
		if (t->out.bytes == NULL && !t->stop)
			rama_bus_sink_rest(&t->moved, &t->lock, LOOK);
		out = t->out;
		t->out = (struct heard){ 0 };
		stop = t->stop;
		pthread_mutex_unlock(&t->lock);
		if (out.bytes != NULL && there)
			natsConnection_Publish(t->bus.nc, t->subject, out.bytes, (int)out.n);
		free(out.bytes);
	}
	return NULL;
}

static int begin(struct rama_bus_talk *t, const struct rama_bus_sink_options *o, const char *about,
		 struct rama_err *e)
{
	pthread_condattr_t attr;
	int rc;

	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->moved, &attr);
	pthread_condattr_destroy(&attr);
	snprintf(t->subject, sizeof t->subject, "iorama-%s.%u", about, (unsigned)geteuid());
	rc = rama_bus_open(&t->bus, o, RAMA_BUS_KNOWN, e);
	if (rc == 0 && natsOptions_SetNoEcho(t->bus.opts, true) != NATS_OK)
		rc = rama_err_no_memory(e);
	if (rc == 0 && pthread_create(&t->thread, NULL, run, t) != 0)
		rc = rama_err_set(e, RAMA_EIO, "no thread for messages between agents");
	t->started = rc == 0;
	return rc;
}

int rama_bus_talk_open(struct rama_bus_talk **to, const char *sink, const char *about,
		       const struct rama_bus_sink_options *how, struct rama_err *e)
{
	struct rama_bus_sink_options o = *how;
	struct rama_bus_talk *t;
	int rc;

	*to = NULL;
	if (rama_bus_sink_find(sink, &o.where) != &rama_bus_sink_nats)
		return 0;
	t = calloc(1, sizeof *t);
	if (t == NULL)
		return rama_err_no_memory(e);
	rc = begin(t, &o, about, e);
	if (rc == 0)
		*to = t;
	else
		rama_bus_talk_close(t);
	return rc;
}

void rama_bus_talk_say(struct rama_bus_talk *t, const unsigned char *bytes, size_t n)
{
	unsigned char *copy = n > 0 && n <= LONGEST ? malloc(n) : NULL, *old;

	if (copy == NULL)
		return;
	memcpy(copy, bytes, n);
	pthread_mutex_lock(&t->lock);
	old = t->out.bytes;
	t->out = (struct heard){ copy, n };
	pthread_cond_signal(&t->moved);
	pthread_mutex_unlock(&t->lock);
	free(old);
}

void rama_bus_talk_hear(struct rama_bus_talk *t,
			void (*fn)(void *ctx, const unsigned char *bytes, size_t n), void *ctx)
{
	struct heard *in;
	size_t n;

	pthread_mutex_lock(&t->lock);
	n = t->n_in;
	in = n > 0 ? malloc(n * sizeof *in) : NULL;
	if (in != NULL) {
		memcpy(in, t->in, n * sizeof *in);
		t->n_in = 0;
	}
	pthread_mutex_unlock(&t->lock);
	for (size_t i = 0; in != NULL && i < n; i++) {
		fn(ctx, in[i].bytes, in[i].n);
		free(in[i].bytes);
	}
	free(in);
}

void rama_bus_talk_close(struct rama_bus_talk *t)
{
	if (t == NULL)
		return;
	pthread_mutex_lock(&t->lock);
	t->stop = true;
	pthread_cond_signal(&t->moved);
	pthread_mutex_unlock(&t->lock);
	if (t->started)
		pthread_join(t->thread, NULL);
	natsSubscription_Destroy(t->sub);
	rama_bus_close(&t->bus);
	for (size_t i = 0; i < t->n_in; i++)
		free(t->in[i].bytes);
	free(t->out.bytes);
	pthread_cond_destroy(&t->moved);
	pthread_mutex_destroy(&t->lock);
	free(t);
}
