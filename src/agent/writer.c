/* SPDX-License-Identifier: BSD-3-Clause */
/* writer.c: a sink in another process: what is asked of it goes over a line, one question at a
 * time, and what it answers is trusted no more than its user is: it can lose what is his, and
 * nothing else. Both ends are the same program, so that structs go as they are. */
#include "agent/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/grow.h"

#define PARCELS 4096	   /* of a question, at most */
#define BYTES (1ull << 31) /* of all of them */
#define TEXT 1024

enum { OPEN = 1, PUT, SYNC, TELL, DONE };

struct question {
	uint32_t kind, n; /* n: parcels, or ms to wait */
	uint64_t len;	  /* bytes that follow: parcels, or texts */
};

struct parcel_head {
	uint64_t number, len;
};

struct reply {
	uint32_t kind, len; /* len: of the text that follows */
	int64_t value;
	int32_t error;
	uint64_t committed, again;
	struct rama_bus_sink_totals totals;
};

/* ---- the line -------------------------------------------------------------------------------- */

static bool send_all(int line, struct iovec *v, int n)
{
	while (n > 0) {
		struct msghdr m = { .msg_iov = v, .msg_iovlen = (size_t)(n < 512 ? n : 512) };
		ssize_t sent = sendmsg(line, &m, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return false;
		for (; n > 0 && (size_t)sent >= v->iov_len; n--, v++)
			sent -= (ssize_t)v->iov_len;
		if (n > 0) {
			v->iov_base = (char *)v->iov_base + sent;
			v->iov_len -= (size_t)sent;
		}
	}
	return true;
}

static bool take_all(int line, void *to, size_t n)
{
	char *at = to;

	while (n > 0) {
		ssize_t got = recv(line, at, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

static bool send_reply(int line, struct reply *r, const char *text)
{
	struct iovec v[2];

	r->len = (uint32_t)strnlen(text, TEXT - 1);
	v[0] = (struct iovec){ .iov_base = r, .iov_len = sizeof(*r) };
	v[1] = (struct iovec){ .iov_base = (void *)(uintptr_t)text, .iov_len = r->len };
	return send_all(line, v, 2);
}

/* ---- the writer ------------------------------------------------------------------------------ */

struct work {
	int line;
	struct rama_bus_sink *sink;
	struct rama_bus_sink_options o;
	char *texts; /* where, agent */
	unsigned char *bytes;
	size_t room;
	struct rama_bus_parcel parcel[PARCELS];
};

static void tell(void *ctx, const char *line)
{
	struct work *w = ctx;
	struct reply r = { .kind = TELL };

	send_reply(w->line, &r, line);
}

static bool take_bytes(struct work *w, uint64_t len)
{
	return len < BYTES && RAMA_GROW(w->bytes, w->room, (size_t)len + 1) &&
	       take_all(w->line, w->bytes, (size_t)len);
}

/* two texts, each with its NUL */
static bool take_texts(struct work *w, const struct question *q)
{
	const char *second;

	w->texts = q->len < 65536 ? malloc(q->len + 2) : NULL;
	if (w->texts == NULL || !take_all(w->line, w->texts, q->len))
		return false;
	w->texts[q->len] = w->texts[q->len + 1] = '\0';
	second = w->texts + strlen(w->texts) + 1;
	w->o = (struct rama_bus_sink_options){
		.where = w->texts, .agent = second, .tell = tell, .ctx = w
	};
	return true;
}

static bool take_parcels(struct work *w, const struct question *q)
{
	uint64_t at = 0;

	if (q->n > PARCELS || !take_bytes(w, q->len))
		return false;
	for (uint32_t i = 0; i < q->n; i++) {
		struct parcel_head h;

		if (q->len - at < sizeof(h))
			return false;
		memcpy(&h, w->bytes + at, sizeof(h));
		at += sizeof(h);
		if (h.len > q->len - at)
			return false;
		w->parcel[i] = (struct rama_bus_parcel){ h.number, w->bytes + at, (size_t)h.len };
		at += h.len;
	}
	return true;
}

/* false: the line is gone, or says nonsense */
static bool serve(struct work *w, const struct question *q)
{
	struct reply r = { .kind = DONE };
	struct rama_err e = { 0 };

	if (q->kind == OPEN && w->texts == NULL && take_texts(w, q))
		r.value = rama_bus_sink_store.open(&w->sink, &w->o, &e);
	else if (q->kind == PUT && w->sink != NULL && take_parcels(w, q))
		r.value = rama_bus_sink_store.put(w->sink, w->parcel, q->n, &e);
	else if (q->kind == SYNC && w->sink != NULL)
		r.value = rama_bus_sink_store.sync(w->sink, (int)q->n, &r.committed, &r.again, &e);
	else
		return false;
	if (w->sink != NULL)
		rama_bus_sink_store.totals(w->sink, &r.totals);
	r.error = e.code;
	return send_reply(w->line, &r, r.value < 0 ? e.text : "") && w->sink != NULL;
}

void rama_agent_writer_work(int line)
{
	struct work *w = calloc(1, sizeof(*w));
	struct question q;

	if (w == NULL)
		return;
	w->line = line;
	while (take_all(line, &q, sizeof(q)) && serve(w, &q))
		;
	if (w->sink != NULL)
		rama_bus_sink_store.close(w->sink);
	free(w->texts);
	free(w->bytes);
	free(w);
}

/* ---- the agent's side ------------------------------------------------------------------------ */

struct rama_agent_writer_sink {
	struct rama_agent_writers *writers;
	struct rama_bus_sink_options o;
	char *where, *agent;
	uint32_t uid, gid, id;
	int line;			       /* -1: there is no writer now */
	uint64_t committed, put;	       /* numbers: committed by it, put last */
	bool started, gap;		       /* gap: it was given later ones than it can take */
	struct rama_bus_sink_totals past, now; /* of those that are gone; of this one */
};

static void drop(struct rama_agent_writer_sink *s)
{
	if (s->line < 0)
		return;
	close(s->line);
	rama_agent_writers_kill(s->writers, s->id);
	s->line = -1;
	s->past.messages += s->now.messages;
	s->past.events += s->now.events;
	s->past.repeated += s->now.repeated;
	s->past.refused += s->now.refused;
	s->past.refused_events += s->now.refused_events;
	memset(&s->now, 0, sizeof(s->now));
}

/* one question and its answer; what the writer tells meanwhile goes to the journal */
static int ask(struct rama_agent_writer_sink *s, struct iovec *v, int n, struct reply *r,
	       struct rama_err *e)
{
	char text[TEXT] = "";
	bool good = send_all(s->line, v, n);

	do {
		good = good && take_all(s->line, r, sizeof(*r)) && r->len < sizeof(text) &&
		       take_all(s->line, text, r->len);
		text[good ? r->len : 0] = '\0';
		if (good && r->kind == TELL)
			rama_bus_sink_tell(&s->o, "user %u: %s", (unsigned)s->uid, text);
	} while (good && r->kind == TELL);
	if (!good || r->kind != DONE) {
		drop(s);
		return rama_err_set(e, RAMA_EIO, "the writer of user %u has ended",
				    (unsigned)s->uid);
	}
	s->now = r->totals;
	if (r->value < 0) {
		rama_err_set(e, r->error < 0 ? r->error : RAMA_EIO, "user %u: %s", (unsigned)s->uid,
			     text);
		return e->code;
	}
	return 0;
}

static int begin(struct rama_agent_writer_sink *s, struct rama_err *e)
{
	struct question q = { .kind = OPEN, .len = strlen(s->where) + strlen(s->agent) + 2 };
	struct iovec v[3] = { { .iov_base = &q, .iov_len = sizeof(q) },
			      { .iov_base = s->where, .iov_len = strlen(s->where) + 1 },
			      { .iov_base = s->agent, .iov_len = strlen(s->agent) + 1 } };
	struct reply r;
	int rc;

	if (s->line >= 0)
		return 0;
	s->line = rama_agent_writers_new(s->writers, s->uid, s->gid, &s->id, e);
	if (s->line < 0)
		return RAMA_EIO;
	s->put = s->committed;
	rc = ask(s, v, 3, &r, e);
	if (rc != 0)
		drop(s);
	return rc;
}

static int64_t put(struct rama_bus_sink *sink, const struct rama_bus_parcel *p, size_t n,
		   struct rama_err *e)
{
	struct rama_agent_writer_sink *s = (void *)sink;
	struct question q = { .kind = PUT, .n = (uint32_t)(n < PARCELS ? n : PARCELS) };
	struct parcel_head *h;
	struct iovec *v;
	struct reply r;
	int rc;

	if (n == 0)
		return 0;
	if (!s->started)
		s->committed = s->put = p->number - 1;
	s->started = true;
	rc = begin(s, e);
	if (rc != 0)
		return rc;
	s->gap = p->number > s->put + 1;
	if (s->gap)
		return rama_err_set(e, RAMA_EIO,
				    "the writer was gone: earlier messages have to come again");
	h = calloc(q.n, sizeof(*h));
	v = calloc(2 * (size_t)q.n + 1, sizeof(*v));
	if (h == NULL || v == NULL) {
		free(h);
		free(v);
		return rama_err_no_memory(e);
	}
	for (uint32_t i = 0; i < q.n; i++) {
		h[i] = (struct parcel_head){ p[i].number, p[i].len };
		v[2 * i + 1] = (struct iovec){ &h[i], sizeof(h[i]) };
		v[2 * i + 2] = (struct iovec){ (void *)(uintptr_t)p[i].bytes, p[i].len };
		q.len += sizeof(h[i]) + p[i].len;
	}
	v[0] = (struct iovec){ &q, sizeof(q) };
	rc = ask(s, v, 2 * (int)q.n + 1, &r, e);
	free(h);
	free(v);
	if (rc != 0)
		return rc;
	if (r.value > q.n)
		r.value = q.n;
	if (r.value > 0 && p[r.value - 1].number > s->put)
		s->put = p[r.value - 1].number;
	return r.value;
}

static int sync_it(struct rama_bus_sink *sink, int wait_ms, uint64_t *committed, uint64_t *again,
		   struct rama_err *e)
{
	struct rama_agent_writer_sink *s = (void *)sink;
	struct question q = { .kind = SYNC, .n = (uint32_t)wait_ms };
	struct iovec v = { .iov_base = &q, .iov_len = sizeof(q) };
	struct reply r;

	*again = UINT64_MAX;
	if (s->line >= 0 && s->started) {
		if (ask(s, &v, 1, &r, e) == 0) {
			/* no less than before, and nothing that it was not given */
			if (r.committed > s->committed && r.committed <= s->put)
				s->committed = r.committed;
			*again = r.again > s->committed ? r.again : s->committed + 1;
		}
	}
	if (s->line < 0 && s->started)
		*again = s->committed + 1;
	else if (s->gap && *again > s->put + 1)
		*again = s->put + 1;
	s->gap = false;
	if (*again <= s->put)
		s->put = *again - 1;
	*committed = s->committed;
	return 0;
}

static void totals(const struct rama_bus_sink *sink, struct rama_bus_sink_totals *t)
{
	const struct rama_agent_writer_sink *s = (const void *)sink;

	*t = s->past;
	t->messages += s->now.messages;
	t->events += s->now.events;
	t->repeated += s->now.repeated;
	t->refused += s->now.refused;
	t->refused_events += s->now.refused_events;
}

static void close_it(struct rama_bus_sink *sink)
{
	struct rama_agent_writer_sink *s = (void *)sink;

	if (s == NULL)
		return;
	if (s->line >= 0)
		close(s->line); /* it ends by itself */
	free(s->where);
	free(s->agent);
	free(s);
}

int rama_agent_writer_open(struct rama_bus_sink **to, struct rama_agent_writers *w, uint32_t uid,
			   uint32_t gid, const struct rama_bus_sink_options *o, struct rama_err *e)
{
	struct rama_agent_writer_sink *s = calloc(1, sizeof(*s));

	*to = NULL;
	if (s != NULL) {
		s->where = strdup(o->where);
		s->agent = strdup(o->agent);
	}
	if (s == NULL || s->where == NULL || s->agent == NULL) {
		if (s != NULL) {
			s->line = -1;
			close_it((void *)s);
		}
		return rama_err_no_memory(e);
	}
	s->writers = w;
	s->o = *o;
	s->uid = uid;
	s->gid = gid;
	s->line = -1;
	*to = (void *)s;
	return 0;
}

const struct rama_bus_sink_ops rama_agent_writer_ops = {
	.name = "writer", .put = put, .sync = sync_it, .totals = totals, .close = close_it
};
