/* SPDX-License-Identifier: BSD-3-Clause */
/* ldms.c: events go to a daemon of LDMS, as messages that its connector for Darshan would
 * have sent, many events in each. The library is foreign: it may block for as long as it likes,
 * so that only a thread of its own calls it. That thread takes messages out of a queue; one that
 * is refused for the moment is tried again, one that the connection broke under is sent over the
 * next one. LDMS tells nobody what has arrived: taken by the library is all that can be known,
 * and counts as committed. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"
#include "bus/sink/ldms_lib.h"
#include "bus/sink/tags.h"
#include "bus/sink/text.h"

#define KNOWN "library service xprt auth arguments perm dialect events state tag "
#define QUEUE_BYTES (8u << 20)
#define LONGEST_PAUSE 5000 /* ms between two attempts to connect */
#define LONGEST_WAIT 200   /* ms between two attempts to publish what is refused for the moment */
#define STUCK 5000	   /* ms after which a call of the library is called stuck */
#define END_LIMIT 2000	   /* ms that such a call may keep the agent from ending */
#define SAVE_PAUSE 1000	   /* ms between two times that the state is saved */

/* a message in the queue; the last one of a parcel says so */
struct note {
	struct note *next;
	uint64_t number;		   /* of the parcel, if it is the last one of it; else 0 */
	struct rama_bus_sink_totals count; /* what the whole parcel adds */
	char tag[64];
	size_t len; /* 0: nothing to send */
	char text[];
};

struct rama_bus_sink {
	struct rama_bus_sink_options o;
	struct rama_bus_sink_spec spec;
	char host[256], port[16];
	const char *tag, *xprt, *auth, *state_path;
	uint64_t perm, arguments;
	struct rama_bus_encoder *encoder;
	struct rama_bus_encoder_totals counted;
	struct rama_out out;
	struct rama_bus_tags tags;
	struct rama_arena arena;
	struct rama_bus_text_state st;
	int64_t saved;
	uint64_t taken;
	bool told_left_out;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t moved;
	pthread_t thread;
	struct note *first, **end;
	size_t bytes; /* in the queue */
	uint64_t committed;
	bool running, stop, ended, abandoned;
	int64_t calling; /* ms: since when the library is at work; 0: it is not */
	struct rama_bus_sink_totals done;
};

static void destroy(struct rama_bus_sink *s);

/* ---- the thread ------------------------------------------------------------------------------ */

/* waits so long, or until it has to stop; true: go on */
static bool rest(struct rama_bus_sink *s, int64_t ms)
{
	int64_t until = rama_now_ms() + ms;
	bool go;

	pthread_mutex_lock(&s->lock);
	while (!s->stop && rama_now_ms() < until)
		rama_bus_sink_rest(&s->moved, &s->lock, ms < 5 ? ms : 5);
	go = !s->stop;
	pthread_mutex_unlock(&s->lock);
	return go;
}

static void set_calling(struct rama_bus_sink *s, bool on)
{
	pthread_mutex_lock(&s->lock);
	s->calling = on ? rama_now_ms() : 0;
	pthread_mutex_unlock(&s->lock);
}

/* A connection, however long that takes; NULL: stopped. */
static void *get_connection(struct rama_bus_sink *s, const struct rama_bus_ldms *l)
{
	int64_t pause = 100;
	void *x = NULL;
	bool told = false;

	for (;;) {
		set_calling(s, true);
		x = rama_bus_ldms_connect(l, s->xprt, s->auth, s->host, s->port);
		set_calling(s, false);
		if (x != NULL) {
			if (told)
				rama_bus_sink_tell(&s->o, "ldms: connected to %s:%s", s->host,
						   s->port);
			return x;
		}
		if (!told)
			rama_bus_sink_tell(
				&s->o, "ldms: no connection to %s:%s; it is tried again and again",
				s->host, s->port);
		told = true;
		if (!rest(s, pause))
			return NULL;
		pause = pause * 2 < LONGEST_PAUSE ? pause * 2 : LONGEST_PAUSE;
	}
}

static bool is_refused_now(int rc)
{
	return rc == EAGAIN || rc == ENOBUFS || rc == ENOMEM || rc == EBUSY;
}

/* errors that say something of the message, not of the connection */
static bool is_refused_for_good(int rc)
{
	return rc == E2BIG || rc == EMSGSIZE || rc == EINVAL || rc == ENAMETOOLONG;
}

/* Sends it, however long that takes. 1: sent; 0: never will be; -1: stopped. */
static int deliver(struct rama_bus_sink *s, const struct rama_bus_ldms *l, void **x,
		   const struct note *n)
{
	int64_t wait = 1;

	for (;;) {
		int rc;

		if (*x == NULL && (*x = get_connection(s, l)) == NULL)
			return -1;
		set_calling(s, true);
		rc = rama_bus_ldms_publish(l, *x, n->tag, (unsigned)s->perm, n->text, n->len);
		set_calling(s, false);
		if (rc == 0 || is_refused_for_good(rc))
			return rc == 0;
		if (!is_refused_now(rc)) {
			rama_bus_sink_tell(&s->o, "ldms: %s", strerror(rc));
			rama_bus_ldms_close(l, *x);
			*x = NULL;
		}
		if (!rest(s, wait))
			return -1;
		wait = wait * 2 < LONGEST_WAIT ? wait * 2 : LONGEST_WAIT;
	}
}

static struct note *next_note(struct rama_bus_sink *s)
{
	struct note *n;

	pthread_mutex_lock(&s->lock);
	while (s->first == NULL && !s->stop)
		pthread_cond_wait(&s->moved, &s->lock);
	n = s->stop ? NULL : s->first;
	pthread_mutex_unlock(&s->lock);
	return n;
}

static void note_done(struct rama_bus_sink *s, struct note *n, bool sent)
{
	if (!sent)
		rama_bus_sink_tell(&s->o, "ldms: a message of %zu bytes was refused; left out",
				   n->len);
	pthread_mutex_lock(&s->lock);
	s->first = n->next;
	if (s->first == NULL)
		s->end = &s->first;
	s->bytes -= n->len;
	s->done.refused += !sent;
	s->done.messages += n->count.messages;
	s->done.repeated += n->count.repeated;
	s->done.refused += n->count.refused;
	*(sent ? &s->done.events : &s->done.refused_events) += n->count.events;
	s->done.refused_events += n->count.refused_events;
	if (n->number != 0)
		s->committed = n->number;
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
	free(n);
}

static void work(struct rama_bus_sink *s, const struct rama_bus_ldms *l)
{
	void *x = NULL;
	struct note *n;

	/* a daemon in which it is off takes everything and says nothing */
	rama_bus_sink_tell(&s->o, "ldms: messages go by %s: the daemon needs %s", l->how,
			   l->message != NULL ? "msg_enable" : "stream_enable");
	while ((n = next_note(s)) != NULL) {
		int sent = n->len > 0 ? deliver(s, l, &x, n) : 1;

		if (sent < 0)
			break;
		note_done(s, n, sent == 1);
	}
	set_calling(s, true);
	rama_bus_ldms_close(l, x);
}

static void *thread(void *arg)
{
	struct rama_bus_sink *s = arg;
	struct rama_bus_ldms l;
	struct rama_err e = { 0 };
	bool told = false, mine;
	int64_t pause = 1000;

	while (rama_bus_ldms_load(&l, rama_bus_sink_option(&s->spec, "library", NULL),
				  rama_bus_sink_option(&s->spec, "service", "auto"),
				  (unsigned)s->arguments, &e) != 0) {
		if (!told)
			rama_bus_sink_tell(&s->o, "ldms: %s; it is tried again and again", e.text);
		told = true;
		if (!rest(s, pause))
			goto out;
	}
	work(s, &l);
out:
	pthread_mutex_lock(&s->lock);
	s->ended = true;
	mine = s->abandoned;
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
	if (mine)
		destroy(s);
	return NULL;
}

/* ---- the agent's side ------------------------------------------------------------------------ */

static void destroy(struct rama_bus_sink *s)
{
	for (struct note *n = s->first, *next; n != NULL; n = next) {
		next = n->next;
		free(n);
	}
	rama_bus_encoder_destroy(s->encoder);
	rama_out_fini(&s->out);
	rama_bus_tags_fini(&s->tags);
	rama_arena_fini(&s->arena);
	pthread_cond_destroy(&s->moved);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static void ldms_close(struct rama_bus_sink *s)
{
	int64_t until = rama_now_ms() + END_LIMIT;
	bool ended;

	if (s == NULL)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->moved);
	while (s->running && !s->ended && rama_now_ms() < until)
		rama_bus_sink_rest(&s->moved, &s->lock, 1000);
	ended = !s->running || s->ended;
	s->abandoned = !ended; /* the thread cleans up, if it ever comes back */
	if (s->running && !ended)
		pthread_detach(s->thread);
	pthread_mutex_unlock(&s->lock);
	if (!ended)
		return;
	if (s->running)
		pthread_join(s->thread, NULL);
	destroy(s);
}

/* "HOST:PORT", "//HOST:PORT", "HOST" */
static int split_place(struct rama_bus_sink *s, struct rama_err *e)
{
	const char *place =
			   strncmp(s->spec.place, "//", 2) == 0 ? s->spec.place + 2 : s->spec.place,
		   *colon = strrchr(place, ':');
	size_t n = colon != NULL ? (size_t)(colon - place) : strlen(place);

	if (n == 0 || n >= sizeof s->host || (colon != NULL && strlen(colon + 1) >= sizeof s->port))
		return rama_err_set(e, RAMA_EUSAGE, "ldms:%s: it is ldms:HOST:PORT", s->spec.place);
	memcpy(s->host, place, n);
	snprintf(s->port, sizeof s->port, "%s",
		 colon != NULL && colon[1] != '\0' ? colon + 1 : "412");
	return 0;
}

static int read_options(struct rama_bus_sink *s, struct rama_err *e)
{
	const char *service = rama_bus_sink_option(&s->spec, "service", "auto"),
		   *perm = rama_bus_sink_option(&s->spec, "perm", "0400");
	char *end;
	int rc = split_place(s, e);

	s->perm = strtoull(perm, &end, 8);
	if (rc == 0 && (*end != '\0' || s->perm == 0 || s->perm > 0777))
		rc = rama_err_set(e, RAMA_EUSAGE, "perm=%s: it is an octal number, 0400", perm);
	if (rc == 0)
		rc = rama_bus_sink_number(&s->spec, "arguments", &s->arguments, e);
	if (rc == 0 && s->arguments != 0 && s->arguments != 3 && s->arguments != 4)
		rc = rama_err_set(e, RAMA_EUSAGE, "arguments: it is 3 or 4");
	if (rc == 0 && strcmp(service, "auto") != 0 && strcmp(service, "msg") != 0 &&
	    strcmp(service, "stream") != 0)
		rc = rama_err_set(e, RAMA_EUSAGE, "service=%s: it is msg, stream or auto", service);
	s->xprt = rama_bus_sink_option(&s->spec, "xprt", "sock");
	s->auth = rama_bus_sink_option(&s->spec, "auth", "munge");
	s->state_path = rama_bus_sink_option(&s->spec, "state", NULL);
	s->tag = rama_bus_sink_option(&s->spec, "tag",
				      s->o.tag != NULL && *s->o.tag != '\0' ? s->o.tag : "iorama");
	return rc;
}

static void load_state(struct rama_bus_sink *s)
{
	struct rama_err e = { 0 };
	int rc = s->state_path != NULL ? rama_bus_text_load(s->state_path, &s->st, s->encoder, &e)
				       : RAMA_EMISSING;

	if (rc != 0 && rc != RAMA_EMISSING)
		rama_bus_sink_tell(&s->o, "%s; names of files that were told before are not known",
				   e.text);
	if (rc != 0 || strcmp(s->st.agent, s->o.agent) != 0)
		s->st.number = 0;
	snprintf(s->st.agent, sizeof s->st.agent, "%s", s->o.agent);
	s->taken = s->committed = s->st.number;
	rama_bus_encoder_totals(s->encoder, &s->counted);
}

static int ldms_open(struct rama_bus_sink **to, const struct rama_bus_sink_options *o,
		     struct rama_err *e)
{
	struct rama_bus_sink *s = calloc(1, sizeof *s);
	struct rama_bus_encoder_options eo;
	pthread_condattr_t attr;
	int rc;

	if (s == NULL)
		return rama_err_no_memory(e);
	s->o = *o;
	s->end = &s->first;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->moved, &attr);
	pthread_condattr_destroy(&attr);
	rama_out_init(&s->out, NULL, NULL);
	rc = rama_bus_sink_split(&s->spec, o->where, KNOWN, e);
	if (rc == 0)
		rc = read_options(s, e);
	if (rc == 0)
		rc = rama_bus_text_options(&eo, o, &s->spec, "upstream", e);
	if (rc == 0)
		rc = rama_bus_encoder_create(&s->encoder, &eo, e);
	if (rc == 0) {
		load_state(s);
		s->running = pthread_create(&s->thread, NULL, thread, s) == 0;
		if (!s->running)
			rc = rama_err_set(e, RAMA_EIO, "no thread could be started");
	}
	if (rc != 0) {
		destroy(s);
		return rc;
	}
	*to = s;
	return 0;
}

static int add_note(struct rama_bus_sink *s, const char *tag, const char *text, size_t len,
		    const struct rama_bus_sink_totals *count, uint64_t number)
{
	struct note *n = calloc(1, sizeof *n + len + 1);

	if (n == NULL)
		return RAMA_EMEMORY;
	snprintf(n->tag, sizeof n->tag, "%s", tag);
	memcpy(n->text, text, len);
	n->len = len;
	n->number = number;
	n->count = *count;
	pthread_mutex_lock(&s->lock);
	*s->end = n;
	s->end = &n->next;
	s->bytes += len;
	pthread_cond_broadcast(&s->moved);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

/* Events in a line of JSON: each has one duration. Quotes within texts are escaped, so that no
 * text looks like a key. */
static uint64_t events_in(const char *text, size_t n)
{
	static const char keys[2][12] = { "\"dur\":", "\"dur_ns\":" };
	uint64_t found = 0;

	for (size_t k = 0; k < 2; k++) {
		size_t len = strlen(keys[k]);
		const char *at = text;

		while ((at = memmem(at, n - (size_t)(at - text), keys[k], len)) != NULL) {
			found++;
			at += len;
		}
	}
	return found;
}

/* The text of a parcel goes into the queue line by line; what counts for all of it goes with the
 * last one. */
static int queue_lines(struct rama_bus_sink *s, const char *tag, struct rama_bus_sink_totals *count,
		       uint64_t number, struct rama_err *e)
{
	const char *at = s->out.buf, *end = at + s->out.used;
	int rc = 0;

	while (rc == 0 && at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((stop != NULL ? stop : end) - at);
		bool last = at + len + 1 >= end;
		struct rama_bus_sink_totals line = { .events = events_in(at, len) };

		if (last)
			line = *count;
		else
			count->events -= line.events < count->events ? line.events : count->events;
		rc = add_note(s, tag, at, len, &line, last ? number : 0);
		at += len + 1;
	}
	if (rc == 0 && s->out.used == 0)
		rc = add_note(s, tag, "", 0, count, number);
	s->out.used = 0;
	return rc == 0 ? 0 : rama_err_set(e, rc, "%s", rama_err_text(rc));
}

static int put_one(struct rama_bus_sink *s, const struct rama_bus_parcel *p, struct rama_err *e)
{
	struct rama_bus_sink_totals count = { 0 };
	struct rama_bus_encoder_totals t;
	char job[RAMA_WIRE_JOB] = "", tag[64];
	struct rama_wire_message m = { 0 };
	const char *said;
	int rc = rama_wire_message_decode(&m, p->bytes, p->len, &s->arena, e);

	if (rc == 0)
		rc = rama_wire_message_job(&m, job);
	if (rc == 0)
		rc = rama_bus_encoder_put(s->encoder, &m, &s->out, e);
	if (rc == RAMA_EMEMORY || s->out.error != 0)
		return rama_err_no_memory(e);
	if (rc != 0) {
		rama_bus_sink_tell(&s->o, "message %llu: %s; left out",
				   (unsigned long long)p->number, e->text);
		s->out.used = 0;
	}
	rama_bus_encoder_totals(s->encoder, &t);
	count.messages = rc == 0;
	count.refused = rc != 0;
	count.events = t.written - s->counted.written;
	count.repeated = t.repeated - s->counted.repeated;
	count.refused_events = t.left_out - s->counted.left_out +
			       (rc != 0 && m.kind != 0 ? rama_wire_message_events(&m) : 0);
	if (t.left_out > s->counted.left_out && !s->told_left_out) {
		rama_bus_sink_tell(&s->o,
				   "ldms: events that the dialect has no word for are left out");
		s->told_left_out = true;
	}
	s->counted = t;
	said = rc == 0 && m.kind == RAMA_WIRE_MSG_PROCESS ? m.process.tag : "";
	snprintf(tag, sizeof tag, "%s",
		 rc == 0 ? rama_bus_tags_of(&s->tags, job, said, s->tag) : s->tag);
	return queue_lines(s, tag, &count, p->number, e);
}

static int64_t ldms_put(struct rama_bus_sink *s, const struct rama_bus_parcel *p, size_t n,
			struct rama_err *e)
{
	size_t i = 0;

	for (; i < n; i++) {
		bool full, stuck;
		int rc;

		pthread_mutex_lock(&s->lock);
		full = s->bytes > QUEUE_BYTES;
		stuck = s->calling != 0 && rama_now_ms() - s->calling > STUCK;
		pthread_mutex_unlock(&s->lock);
		if (full && stuck && i == 0)
			return rama_err_set(e, RAMA_EIO, "ldms: its library does not come back");
		if (full)
			break;
		if (p[i].number <= s->taken)
			continue;
		rc = put_one(s, &p[i], e);
		rama_arena_fini(&s->arena);
		if (rc != 0)
			return rc;
		s->taken = p[i].number;
	}
	return (int64_t)i;
}

/* With nothing on its way, what the encoder knows belongs to what is committed. */
static void save_state(struct rama_bus_sink *s)
{
	struct rama_err e = { 0 };
	bool idle;

	pthread_mutex_lock(&s->lock);
	idle = s->committed == s->taken && s->committed != s->st.number;
	pthread_mutex_unlock(&s->lock);
	if (s->state_path == NULL || !idle || rama_now_ms() - s->saved < SAVE_PAUSE)
		return;
	s->st.number = s->taken;
	s->saved = rama_now_ms();
	if (rama_bus_text_save(s->state_path, &s->st, s->encoder, &e) != 0)
		rama_bus_sink_tell(&s->o, "%s", e.text);
}

static int ldms_sync(struct rama_bus_sink *s, int wait_ms, uint64_t *committed, uint64_t *again,
		     struct rama_err *e)
{
	int64_t until = rama_now_ms() + wait_ms;
	uint64_t before;

	(void)e;
	*again = UINT64_MAX; /* the queue keeps them */
	pthread_mutex_lock(&s->lock);
	before = s->committed;
	while (s->committed == before && s->first != NULL && rama_now_ms() < until)
		rama_bus_sink_rest(&s->moved, &s->lock, 20);
	*committed = s->committed;
	pthread_mutex_unlock(&s->lock);
	save_state(s);
	return 0;
}

static void ldms_totals(const struct rama_bus_sink *s, struct rama_bus_sink_totals *t)
{
	pthread_mutex_lock((pthread_mutex_t *)&s->lock);
	*t = s->done;
	pthread_mutex_unlock((pthread_mutex_t *)&s->lock);
}

const struct rama_bus_sink_ops rama_bus_sink_ldms = { "ldms",	 ldms_open,   ldms_put,
						      ldms_sync, ldms_totals, ldms_close };
