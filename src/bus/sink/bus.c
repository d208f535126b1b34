/* SPDX-License-Identifier: BSD-3-Clause */
#include "bus/sink/bus.h"

#include "base/now.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CLOCK_LOOK 200	      /* ms between two looks at the clocks */
#define CLOCK_SET 150000000ll /* ns by which they part when somebody sets the real one */

#define MOST_SERVERS 16
#define LONGEST_PAUSE 5000 /* ms between two attempts to connect */

static int users; /* of the library, which has threads and timers of its own */

int rama_bus_error(struct rama_err *e, natsStatus st, const char *what)
{
	natsStatus last = NATS_OK;
	const char *text = nats_GetLastError(&last);

	return rama_err_set(e, RAMA_EIO, "%s: %s", what,
			    text != NULL && *text != '\0' && last == st ? text
									: natsStatus_GetText(st));
}

uint64_t rama_bus_header(natsMsg *m, const char *key, uint64_t otherwise)
{
	const char *text;
	char *end;
	uint64_t v;

	if (natsMsgHeader_Get(m, key, &text) != NATS_OK || text == NULL || *text < '0' ||
	    *text > '9')
		return otherwise;
	v = strtoull(text, &end, 10);
	return *end == '\0' ? v : otherwise;
}

/* longer from time to time, up to a limit */
static int64_t reconnect_delay(natsConnection *nc, int attempts, void *closure)
{
	int64_t wait = attempts < 6 ? 100 << attempts : LONGEST_PAUSE;

	(void)nc, (void)closure;
	return wait < LONGEST_PAUSE ? wait : LONGEST_PAUSE;
}

static void on_lost(natsConnection *nc, void *closure)
{
	struct rama_bus *b = closure;

	(void)nc;
	__atomic_add_fetch(&b->losses, 1, __ATOMIC_RELEASE);
}

static void on_connected(natsConnection *nc, void *closure)
{
	(void)nc,
		/* the library connects in the background only if it has somebody to tell */
		(void)closure;
}

/* Slow consumers and the like: without this the library prints them. What the server does not
 * let us do is told once: what cannot be published waits, but for figures of the node, which
 * users' agents need not have a right to tell. */
static void on_error(natsConnection *nc, natsSubscription *sub, natsStatus st, void *closure)
{
	struct rama_bus *b = closure;
	const char *why = NULL;

	(void)sub;
	if (st != NATS_NOT_PERMITTED)
		return;
	natsConnection_GetLastError(nc, &why);
	if (why != NULL && strcasestr(why, "publish to \"iorama.node.") != NULL &&
	    !__atomic_exchange_n(&b->no_samples, true, __ATOMIC_ACQ_REL))
		rama_bus_sink_tell(&b->o, "%s: %s; no figures of this node are sent", b->shown,
				   why);
	else if (!__atomic_exchange_n(&b->denied, true, __ATOMIC_ACQ_REL))
		rama_bus_sink_tell(&b->o, "%s: %s", b->shown,
				   why != NULL && *why != '\0' ? why : natsStatus_GetText(st));
}

static natsStatus set_servers(struct rama_bus *b)
{
	const char *list[MOST_SERVERS];
	char *urls = strdup(b->spec.place), *save = NULL;
	natsStatus st = urls != NULL ? NATS_OK : NATS_NO_MEMORY;
	int n = 0;

	for (char *at = urls != NULL ? strtok_r(urls, ",", &save) : NULL;
	     at != NULL && n < MOST_SERVERS; at = strtok_r(NULL, ",", &save))
		list[n++] = at;
	if (st == NATS_OK)
		st = n > 0 ? natsOptions_SetServers(b->opts, list, n) : NATS_ADDRESS_MISSING;
	free(urls);
	return st;
}

static natsStatus set_trust(struct rama_bus *b)
{
	const char *creds = rama_bus_sink_option(&b->spec, "credentials", b->o.credentials),
		   *nkey = rama_bus_sink_option(&b->spec, "nkey", NULL),
		   *ca = rama_bus_sink_option(&b->spec, "ca", b->o.ca),
		   *cert = rama_bus_sink_option(&b->spec, "cert", b->o.cert),
		   *key = rama_bus_sink_option(&b->spec, "key", b->o.key);
	bool secure = ca != NULL || cert != NULL || strstr(b->spec.place, "tls://") != NULL;
	natsStatus st = NATS_OK;

	if (secure)
		st = natsOptions_SetSecure(b->opts, true);
	if (st == NATS_OK && ca != NULL)
		st = natsOptions_LoadCATrustedCertificates(b->opts, ca);
	if (st == NATS_OK && cert != NULL)
		st = natsOptions_LoadCertificatesChain(b->opts, cert, key != NULL ? key : cert);
	if (st == NATS_OK && strcmp(rama_bus_sink_option(&b->spec, "insecure", "0"), "1") == 0)
		st = natsOptions_SkipServerVerification(b->opts, true);
	if (st == NATS_OK && creds != NULL)
		st = natsOptions_SetUserCredentialsFromFiles(b->opts, creds, NULL);
	if (st == NATS_OK && nkey != NULL) {
		const char *colon = strchr(nkey, ':'); /* PUBLIC:FILE-WITH-SEED */
		char public[128];

		if (colon == NULL || colon - nkey >= (long)sizeof public)
			return NATS_INVALID_ARG;
		memcpy(public, nkey, (size_t)(colon - nkey));
		public[colon - nkey] = '\0';
		st = natsOptions_SetNKeyFromSeed(b->opts, public, colon + 1);
	}
	return st;
}

static natsStatus set_options(struct rama_bus *b)
{
	natsStatus st = natsOptions_Create(&b->opts);

	if (st == NATS_OK) {
		__atomic_add_fetch(&users, 1, __ATOMIC_ACQ_REL);
		st = set_servers(b);
	}
	if (st == NATS_OK)
		st = set_trust(b);
	if (st == NATS_OK)
		st = natsOptions_SetName(b->opts, b->o.agent != NULL ? b->o.agent : "iorama");
	if (st == NATS_OK)
		st = natsOptions_SetMaxReconnect(b->opts, -1);
	if (st == NATS_OK)
		st = natsOptions_SetCustomReconnectDelay(b->opts, reconnect_delay, NULL);
	if (st == NATS_OK)
		st = natsOptions_SetRetryOnFailedConnect(b->opts, true, on_connected, b);
	if (st == NATS_OK)
		st = natsOptions_SetDisconnectedCB(b->opts, on_lost, b);
	if (st == NATS_OK)
		st = natsOptions_SetErrorHandler(b->opts, on_error, b);
	if (st == NATS_OK)
		st = natsOptions_SetPingInterval(b->opts, 5000);
	if (st == NATS_OK)
		st = natsOptions_SetTimeout(b->opts, 5000);
	if (st == NATS_OK)
		st = natsOptions_SetWriteDeadline(b->opts, 10000);
	return st;
}

static int read_limits(struct rama_bus *b, struct rama_err *e)
{
	const char *ack = rama_bus_sink_option(&b->spec, "ack", "store");
	int rc = rama_bus_sink_number(&b->spec, "stream-bytes", &b->stream_bytes, e);

	if (rc == 0)
		rc = rama_bus_sink_number(&b->spec, "stream-age", &b->stream_age_s, e);
	b->replicas = 1;
	if (rc == 0)
		rc = rama_bus_sink_number(&b->spec, "replicas", &b->replicas, e);
	if (rc == 0 && strcmp(ack, "store") != 0 && strcmp(ack, "stream") != 0)
		rc = rama_err_set(e, RAMA_EUSAGE, "ack=%s: it is store or stream", ack);
	return rc;
}

/* ---- a clock that is set --------------------------------------------------------------------- */

/* ns by which the real clock is ahead of the one that nobody sets; false: somebody else had the
 * processor between the two readings */
static bool apart(int64_t *by)
{
	int64_t before = rama_now_ns(), after;
	struct timespec real;

	clock_gettime(CLOCK_REALTIME, &real);
	after = rama_now_ns();
	*by = (int64_t)real.tv_sec * 1000000000 + real.tv_nsec - after;
	return after - before < CLOCK_SET / 10;
}

/* The library waits until times of the real clock. When that is set back by an hour, what waits
 * then (for an answer, for messages, between two writes) waits an hour longer. A connection that is
 * closed lets all of them go; the next one begins with the new time. */
static void *watch_clock(void *closure)
{
	struct rama_bus *b = closure;
	int64_t before = 0, now, by;
	bool known = apart(&before);

	pthread_mutex_lock(&b->lock);
	while (!b->ending) {
		rama_bus_sink_rest(&b->wake, &b->lock, CLOCK_LOOK);
		if (!apart(&now))
			continue;
		by = known ? now - before : 0;
		before = now;
		known = true;
		if ((by > CLOCK_SET || by < -CLOCK_SET) && b->nc != NULL && !b->ending)
			natsConnection_Close(b->nc);
	}
	pthread_mutex_unlock(&b->lock);
	return NULL;
}

static int begin_watch(struct rama_bus *b, struct rama_err *e)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&b->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&b->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&b->watch, NULL, watch_clock, b) != 0)
		return rama_err_set(e, RAMA_EIO, "no thread to look at the clocks");
	b->watched = true;
	return 0;
}

static void end_watch(struct rama_bus *b)
{
	if (!b->watched)
		return;
	pthread_mutex_lock(&b->lock);
	b->ending = true;
	pthread_cond_signal(&b->wake);
	pthread_mutex_unlock(&b->lock);
	pthread_join(b->watch, NULL);
	pthread_cond_destroy(&b->wake);
	pthread_mutex_destroy(&b->lock);
	b->watched = false;
}

/* ---- the connection -------------------------------------------------------------------------- */

int rama_bus_open(struct rama_bus *b, const struct rama_bus_sink_options *o, const char *known,
		  struct rama_err *e)
{
	natsStatus st;
	int rc;

	memset(b, 0, sizeof *b);
	b->o = *o;
	rc = rama_bus_sink_split(&b->spec, o->where, known, e);
	if (rc == 0)
		rc = read_limits(b, e);
	if (rc != 0)
		return rc;
	rama_bus_sink_shown(b->spec.place, b->shown, sizeof b->shown);
	b->stream = rama_bus_sink_option(&b->spec, "stream", RAMA_BUS_STREAM);
	b->domain = rama_bus_sink_option(&b->spec, "domain", o->domain);
	jsOptions_Init(&b->jsopts);
	b->jsopts.Wait = RAMA_BUS_WAIT;
	b->jsopts.Domain = b->domain;
	st = set_options(b);
	if (st != NATS_OK) {
		rama_bus_error(e, st, b->shown);
		rama_bus_close(b);
		return e->code = RAMA_EUSAGE;
	}
	return begin_watch(b, e);
}

/* who looks at the clocks must not find one that is on its way */
static void set_connection(struct rama_bus *b, natsConnection *nc)
{
	if (b->watched)
		pthread_mutex_lock(&b->lock);
	b->nc = nc;
	if (b->watched)
		pthread_mutex_unlock(&b->lock);
}

static void drop_connection(struct rama_bus *b)
{
	natsConnection *nc = b->nc;

	set_connection(b, NULL);
	jsCtx_Destroy(b->js);
	natsConnection_Destroy(nc);
	b->js = NULL;
	b->ensured = false;
}

static int connect_now(struct rama_bus *b, struct rama_err *e)
{
	natsConnection *nc = NULL;
	natsStatus st;

	if (rama_now_ms() < b->not_before)
		return rama_err_set(e, RAMA_EIO, "%s: not connected", b->shown);
	st = natsConnection_Connect(&nc, b->opts);
	set_connection(b, nc);
	if (st == NATS_OK || st == NATS_NOT_YET_CONNECTED)
		st = natsConnection_JetStream(&b->js, b->nc, &b->jsopts);
	if (st == NATS_OK)
		return 0;
	rama_bus_error(e, st, b->shown);
	drop_connection(b);
	b->pause = b->pause == 0 ? 250 : b->pause < LONGEST_PAUSE ? b->pause * 2 : LONGEST_PAUSE;
	b->not_before = rama_now_ms() + b->pause;
	return e->code;
}

bool rama_bus_ready(struct rama_bus *b, bool *fresh, struct rama_err *e)
{
	*fresh = false;
	if (b->nc != NULL && natsConnection_IsClosed(b->nc))
		drop_connection(b);
	if (b->nc == NULL) {
		if (connect_now(b, e) != 0)
			goto no;
		*fresh = true;
	}
	if (natsConnection_Status(b->nc) != NATS_CONN_STATUS_CONNECTED) {
		const char *why = NULL;

		natsConnection_GetLastError(b->nc, &why);
		rama_err_set(e, RAMA_EIO, "%s: not connected%s%s", b->shown,
			     why != NULL && *why != '\0' ? ": " : "", why != NULL ? why : "");
		goto no;
	}
	b->pause = 0;
	if (b->troubled)
		rama_bus_sink_tell(&b->o, "%s: connected", b->shown);
	b->troubled = false;
	return true;
no:
	if (!b->troubled)
		rama_bus_sink_tell(&b->o, "%s; it is tried again and again", e->text);
	b->troubled = true;
	b->ensured = false;
	return false;
}

static natsStatus add_stream(struct rama_bus *b, jsErrCode *code)
{
	const char *subjects[] = { RAMA_BUS_MESSAGES, RAMA_BUS_PARTS };
	jsStreamConfig cfg;

	jsStreamConfig_Init(&cfg);
	cfg.Name = b->stream;
	cfg.Description = "I/O events on their way to a store";
	cfg.Subjects = subjects;
	cfg.SubjectsLen = 2;
	cfg.Storage = js_FileStorage;
	/* a message leaves when a collector has committed it; when the stream is full, agents
	 * keep theirs */
	cfg.Retention = js_WorkQueuePolicy;
	cfg.Discard = js_DiscardNew;
	cfg.Replicas = (int64_t)b->replicas;
	if (b->stream_bytes > 0)
		cfg.MaxBytes = (int64_t)b->stream_bytes;
	if (b->stream_age_s > 0)
		cfg.MaxAge = (int64_t)b->stream_age_s * 1000000000;
	return js_AddStream(NULL, b->js, &cfg, &b->jsopts, code);
}

int rama_bus_stream(struct rama_bus *b, struct rama_err *e)
{
	jsStreamInfo *si = NULL;
	jsErrCode code = 0;
	natsStatus st;

	if (b->ensured)
		return 0;
	st = js_GetStreamInfo(&si, b->js, b->stream, &b->jsopts, &code);
	jsStreamInfo_Destroy(si);
	if (st == NATS_NOT_FOUND || code == JSStreamNotFoundErr) {
		st = add_stream(b, &code);
		if (st != NATS_OK && code == JSStreamNameExistErr) /* another was faster */
			st = NATS_OK;
	}
	if (st != NATS_OK)
		return rama_bus_error(e, st, "stream " RAMA_BUS_STREAM);
	b->ensured = true;
	return 0;
}

void rama_bus_close(struct rama_bus *b)
{
	end_watch(b);
	drop_connection(b);
	natsOptions_Destroy(b->opts);
	if (b->opts != NULL && __atomic_sub_fetch(&users, 1, __ATOMIC_ACQ_REL) == 0)
		nats_CloseAndWait(2000); /* its threads use what the caller is going to free */
	b->opts = NULL;
}
