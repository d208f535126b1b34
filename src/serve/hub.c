/* SPDX-License-Identifier: BSD-3-Clause */
/* hub.c: what is pushed. A topic is what some viewers see alike: the newest jobs of a user, one
 * job. Once a second each topic that somebody listens to is asked for, once for all of them; if
 * it has changed it becomes a frame that they share. Who is slow misses frames, never the newest
 * one. */
#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/now.h"
#include "base/siphash.h"
#include "query/open.h"
#include "serve/inside.h"

#define QUIET_MS 15000 /* after which a line says that one is there */
#define STALE_MS 10000 /* how often those are looked for who are lost */
#define RECENT 120     /* s of a job's series in its frames */

struct frame {
	unsigned users; /* under the hub's lock */
	size_t len;
	char text[];
};

struct rama_serve_topic {
	struct rama_serve_topic *next;
	char *key;
	int64_t job;			 /* 0: the list */
	struct rama_serve_viewer viewer; /* who sees the same as all that listen */
	unsigned users;
	uint64_t seq, hash;
	struct frame *frame; /* NULL: none yet */
};

struct rama_serve_stream {
	struct rama_serve_stream *next, **self;
	struct rama_serve *serve;
	char user[RAMA_SERVE_NAME];
	char session[RAMA_SERVE_SECRET]; /* "": of none */
	int64_t until;			 /* ms */
	struct rama_serve_topic *topic[RAMA_SERVE_TOPICS];
	uint64_t seen[RAMA_SERVE_TOPICS];
	unsigned n;
	struct frame *at;
	size_t off;
	int64_t sent; /* ms */
	bool asleep, ended;
	void *ctx;
	void (*sleep)(void *ctx);
	void (*wake)(void *ctx);
};

/* ---- frames ---------------------------------------------------------------------------------- */

static void frame_drop(struct frame *f)
{
	if (f != NULL && --f->users == 0)
		free(f);
}

/* the answer to a request that nobody has sent */
static void ask(struct rama_serve *s, struct rama_serve_topic *t, struct rama_store *store,
		void (*handle)(struct rama_serve_call *c), const struct rama_serve_pair *pair,
		unsigned n, struct rama_out *out)
{
	struct rama_serve_request *r = calloc(1, sizeof(*r));
	struct rama_serve_call c = { .serve = s,
				     .request = r,
				     .viewer = &t->viewer,
				     .job = t->job,
				     .store = store,
				     .form = RAMA_ROWS_JSON,
				     .status = 200 };

	if (r == NULL) {
		out->error = RAMA_EMEMORY;
		return;
	}
	memcpy(r->pair, pair, n * sizeof(*pair));
	r->n_pairs = n;
	rama_out_init(&c.out, NULL, NULL);
	handle(&c);
	for (size_t i = 0; i < c.out.used; i++) /* between words only: in texts it is \n */
		if (c.out.buf[i] == '\n')
			c.out.buf[i] = ' ';
	if (c.status != 200)
		out->error = RAMA_EIO;
	rama_out_bytes(out, c.out.buf != NULL ? c.out.buf : "", c.out.used);
	rama_out_fini(&c.out);
	free(r);
}

static void make(struct rama_serve *s, struct rama_serve_topic *t, struct rama_store *store,
		 struct rama_out *out)
{
	char where[48], from[32], to[32];
	int64_t now = rama_store_now(store) / 1000000000;

	if (t->job == 0) {
		ask(s, t, store, rama_serve_do_jobs,
		    (const struct rama_serve_pair[]){ { "limit", "50" } }, 1, out);
		return;
	}
	snprintf(where, sizeof(where), "job = %lld", (long long)t->job);
	snprintf(from, sizeof(from), "%lld", (long long)(now - RECENT));
	snprintf(to, sizeof(to), "%lld", (long long)(now + 2));
	rama_out_fmt(out, "{\"job\":%lld,\"list\":", (long long)t->job);
	ask(s, t, store, rama_serve_do_jobs,
	    (const struct rama_serve_pair[]){ { "where", where }, { "limit", "1" } }, 2, out);
	rama_out_text(out, ",\"series\":");
	ask(s, t, store, rama_serve_do_series,
	    (const struct rama_serve_pair[]){ { "from", from }, { "to", to } }, 2, out);
	rama_out_char(out, '}');
}

/* under the lock; text: the document */
static void publish(struct rama_serve *s, struct rama_serve_topic *t, const struct rama_out *text)
{
	static const struct rama_sipkey fixed = { 0x6672616d65, 3 };
	uint64_t hash = rama_siphash(&fixed, text->buf, text->used);
	struct rama_out o;
	struct frame *f;

	if (t->frame != NULL && t->hash == hash)
		return;
	rama_out_init(&o, NULL, NULL);
	rama_out_fmt(&o, "event: %s\nid: %llu\ndata: ", t->job == 0 ? "jobs" : "job",
		     (unsigned long long)++s->hub.seq);
	rama_out_bytes(&o, text->buf, text->used);
	rama_out_text(&o, "\n\n");
	f = o.error == 0 ? malloc(sizeof(*f) + o.used) : NULL;
	if (f != NULL) {
		f->users = 1;
		f->len = o.used;
		memcpy(f->text, o.buf, o.used);
		frame_drop(t->frame);
		t->frame = f;
		t->hash = hash;
		t->seq = s->hub.seq;
	}
	rama_out_fini(&o);
}

/* ---- streams --------------------------------------------------------------------------------- */

static bool has_news(const struct rama_serve_stream *t, int64_t now)
{
	bool news = t->ended || t->at != NULL || now - t->sent >= QUIET_MS;

	for (unsigned i = 0; !news && i < t->n; i++)
		news = t->topic[i]->frame != NULL && t->topic[i]->seq != t->seen[i];
	return news;
}

static void wake_all(struct rama_serve_hub *h)
{
	int64_t now = rama_now_ms();

	for (struct rama_serve_stream *t = h->streams; t != NULL; t = t->next)
		if (t->asleep && has_news(t, now)) {
			t->asleep = false;
			t->wake(t->ctx);
		}
}

void rama_serve_hub_tick(struct rama_serve_hub *h, int64_t now)
{
	pthread_mutex_lock(&h->lock);
	for (struct rama_serve_stream *t = h->streams; t != NULL; t = t->next)
		t->ended |= now >= t->until;
	wake_all(h);
	pthread_mutex_unlock(&h->lock);
}

void rama_serve_hub_leave(struct rama_serve_hub *h, const char *session)
{
	pthread_mutex_lock(&h->lock);
	for (struct rama_serve_stream *t = h->streams; t != NULL; t = t->next)
		t->ended |= t->session[0] != '\0' && strcmp(t->session, session) == 0;
	wake_all(h);
	pthread_mutex_unlock(&h->lock);
}

long rama_serve_stream_read(struct rama_serve_stream *t, char *to, size_t room)
{
	struct rama_serve_hub *h = &t->serve->hub;
	int64_t now = rama_now_ms();
	long n = 0;

	pthread_mutex_lock(&h->lock);
	for (unsigned i = 0; t->at == NULL && i < t->n; i++)
		if (t->topic[i]->frame != NULL && t->topic[i]->seq != t->seen[i]) {
			t->seen[i] = t->topic[i]->seq;
			t->at = t->topic[i]->frame;
			t->at->users++;
			t->off = 0;
		}
	if (t->ended) {
		n = -1;
	} else if (t->at != NULL) {
		size_t left = t->at->len - t->off;

		n = (long)(left < room ? left : room);
		memcpy(to, t->at->text + t->off, (size_t)n);
		t->off += (size_t)n;
		t->sent = now;
		if (t->off == t->at->len) {
			frame_drop(t->at);
			t->at = NULL;
		}
	} else if (now - t->sent >= QUIET_MS && room >= 3) {
		memcpy(to, ":\n\n", 3);
		t->sent = now;
		n = 3;
	} else {
		t->asleep = true;
		t->sleep(t->ctx);
	}
	pthread_mutex_unlock(&h->lock);
	return n;
}

void rama_serve_stream_ways(struct rama_serve_stream *t, void *ctx, void (*sleep)(void *ctx),
			    void (*wake)(void *ctx))
{
	t->ctx = ctx;
	t->sleep = sleep;
	t->wake = wake;
}

static struct rama_serve_topic *topic_of(struct rama_serve *s, const struct rama_serve_viewer *v,
					 int64_t job)
{
	struct rama_query_seen seen = rama_serve_may_sums(v);
	struct rama_serve_topic *t;
	struct rama_out key;

	rama_out_init(&key, NULL, NULL);
	rama_out_fmt(&key, "%lld %s", (long long)job, seen.all ? "*" : "");
	for (size_t i = 0; !seen.all && i < seen.n; i++)
		rama_out_fmt(&key, "%s\n", seen.user[i]);
	rama_out_char(&key, '\0');
	if (key.error != 0)
		return NULL;
	for (t = s->hub.topics; t != NULL; t = t->next)
		if (strcmp(t->key, key.buf) == 0)
			break;
	if (t == NULL && (t = calloc(1, sizeof(*t))) != NULL) {
		t->job = job;
		t->key = strdup(key.buf);
		if (t->key == NULL ||
		    rama_serve_viewer_init(&t->viewer, &s->o, v->name, seen.all) != 0) {
			free(t->key);
			free(t);
			t = NULL;
		} else {
			t->next = s->hub.topics;
			s->hub.topics = t;
		}
	}
	rama_out_fini(&key);
	if (t != NULL)
		t->users++;
	return t;
}

/* "jobs" or "job:17"; 0, or a status */
static int topic_parse(struct rama_serve_call *c, const char *word, size_t n, int64_t *job)
{
	char text[24] = "";
	struct rama_err e = { 0 };
	int sees;

	*job = 0;
	if (n == 4 && strncmp(word, "jobs", 4) == 0)
		return 0;
	if (n < 5 || n > 22 || strncmp(word, "job:", 4) != 0)
		return 400;
	memcpy(text, word + 4, n - 4);
	if (strspn(text, "0123456789") != n - 4)
		return 400;
	*job = strtoll(text, NULL, 10);
	sees = rama_serve_may_job(c->viewer, c->store, *job, &e);
	return sees > 0 ? 0 : sees == 0 ? 404 : 503;
}

static unsigned streams_of(const struct rama_serve_hub *h, const char *user)
{
	unsigned n = 0;

	for (const struct rama_serve_stream *t = h->streams; t != NULL; t = t->next)
		n += strcmp(t->user, user) == 0;
	return n;
}

/* of whom it is, and for how long */
static void begin_stream(struct rama_serve_stream *t, struct rama_serve_call *c)
{
	int64_t until =
		rama_serve_who_session(&c->serve->who, &c->serve->o, c->request, t->session);

	t->serve = c->serve;
	t->sent = rama_now_ms();
	t->until = t->sent + RAMA_SERVE_STREAM_MS;
	if (until != 0 && until < t->until)
		t->until = until;
	snprintf(t->user, sizeof(t->user), "%s", c->viewer->name);
}

struct rama_serve_stream *rama_serve_stream_open(struct rama_serve_call *c, const char *topics,
						 int *status)
{
	struct rama_serve_hub *h = &c->serve->hub;
	struct rama_serve_stream *t = calloc(1, sizeof(*t));
	int64_t job[RAMA_SERVE_TOPICS];
	unsigned n = 0;

	*status = t != NULL ? 0 : 500;
	while (*status == 0 && *topics != '\0') {
		size_t len = strcspn(topics, ",");

		*status = n < RAMA_SERVE_TOPICS ? topic_parse(c, topics, len, &job[n++]) : 400;
		topics += len + (topics[len] == ',');
	}
	if (*status == 0 && n == 0)
		*status = 400;
	if (*status != 0) {
		free(t);
		return NULL;
	}
	begin_stream(t, c);
	pthread_mutex_lock(&h->lock);
	/* who has the token of the store is alone with it */
	if (h->stop || (c->viewer->role != RAMA_SERVE_ROLE_staff &&
			streams_of(h, t->user) >= RAMA_SERVE_STREAMS))
		*status = h->stop ? 503 : 429;
	for (unsigned i = 0; *status == 0 && i < n; i++) {
		t->topic[i] = topic_of(c->serve, c->viewer, job[i]);
		*status = t->topic[i] != NULL ? 0 : 500;
		t->n += t->topic[i] != NULL;
	}
	t->next = h->streams;
	t->self = &h->streams;
	if (t->next != NULL)
		t->next->self = &t->next;
	h->streams = t;
	atomic_fetch_add(&c->serve->counts.viewers, 1);
	h->hurry = true;
	pthread_cond_signal(&h->come);
	pthread_mutex_unlock(&h->lock);
	if (*status != 0) {
		rama_serve_stream_close(t);
		return NULL;
	}
	return t;
}

void rama_serve_stream_close(struct rama_serve_stream *t)
{
	struct rama_serve_hub *h = &t->serve->hub;

	pthread_mutex_lock(&h->lock);
	*t->self = t->next;
	if (t->next != NULL)
		t->next->self = t->self;
	for (unsigned i = 0; i < t->n; i++)
		t->topic[i]->users--;
	frame_drop(t->at);
	atomic_fetch_sub(&t->serve->counts.viewers, 1);
	pthread_mutex_unlock(&h->lock);
	free(t);
}

/* ---- once a second --------------------------------------------------------------------------- */

/* those that nobody listens to any more */
static void sweep(struct rama_serve_hub *h)
{
	struct rama_serve_topic **at = &h->topics, *t;

	while ((t = *at) != NULL) {
		if (t->users > 0) {
			at = &t->next;
			continue;
		}
		*at = t->next;
		frame_drop(t->frame);
		rama_serve_viewer_fini(&t->viewer);
		free(t->key);
		free(t);
	}
}

/* Topics are made and removed by this thread and by streams that open; a topic that is being
 * asked for is held. Called with the lock, which is let go while the store works. */
static void renew(struct rama_serve *s, struct rama_store *store, bool new_only)
{
	struct rama_serve_hub *h = &s->hub;

	sweep(h);
	for (struct rama_serve_topic *t = h->topics; t != NULL && !h->stop; t = t->next) {
		struct rama_out out;

		if (new_only && t->frame != NULL)
			continue;
		t->users++;
		pthread_mutex_unlock(&h->lock);
		rama_out_init(&out, NULL, NULL);
		make(s, t, store, &out);
		pthread_mutex_lock(&h->lock);
		t->users--;
		if (out.error == 0)
			publish(s, t, &out);
		rama_out_fini(&out);
	}
	wake_all(h);
}

static void see_lost(struct rama_serve *s, struct rama_store *store)
{
	struct rama_store *other;
	struct rama_err e = { 0 };

	if (rama_store_stale(store, rama_store_now(store), &e) == 1 &&
	    rama_query_open(&other, s->o.store, RAMA_STORE_READ, &e) == 0)
		rama_store_close(other);
}

/* What a large answer took was the server's for ever otherwise. */
static void give_back(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

/* until the next second, or until somebody is in a hurry; true: the latter */
static bool wait_a_second(struct rama_serve_hub *h, const struct timespec *until)
{
	while (!h->stop && !h->hurry)
		if (pthread_cond_timedwait(&h->come, &h->lock, until) == ETIMEDOUT)
			break;
	return h->hurry;
}

static void *run(void *ctx)
{
	struct rama_serve *s = ctx;
	struct rama_serve_hub *h = &s->hub;
	struct rama_store *store = NULL;
	int64_t looked = 0;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	pthread_mutex_lock(&h->lock);
	while (!h->stop) {
		bool hurry = wait_a_second(h, &next);
		struct rama_err e = { 0 };

		h->hurry = false;
		if (store == NULL) {
			pthread_mutex_unlock(&h->lock);
			store = rama_serve_pool_open(s->o.store, &e);
			pthread_mutex_lock(&h->lock);
		}
		if (store != NULL)
			renew(s, store, hurry);
		if (hurry)
			continue;
		pthread_mutex_unlock(&h->lock);
		rama_serve_hub_tick(h, rama_now_ms());
		rama_serve_http_tick(s);
		rama_serve_loans_tick(s->loans);
		if (store != NULL && rama_now_ms() - looked > STALE_MS) {
			see_lost(s, store);
			give_back();
			looked = rama_now_ms();
		}
		atomic_store(&h->ticked, rama_now_ms());
		clock_gettime(CLOCK_MONOTONIC, &next);
		next.tv_sec++;
		pthread_mutex_lock(&h->lock);
	}
	for (struct rama_serve_stream *t = h->streams; t != NULL; t = t->next)
		t->ended = true;
	wake_all(h);
	pthread_mutex_unlock(&h->lock);
	rama_store_close(store);
	return NULL;
}

int rama_serve_hub_init(struct rama_serve *s, struct rama_err *e)
{
	pthread_mutex_init(&s->hub.lock, NULL);
	rama_serve_cond_init(&s->hub.come);
	s->hub.started = pthread_create(&s->hub.thread, NULL, run, s) == 0;
	return s->hub.started ? 0 : rama_err_set(e, RAMA_EIO, "no thread can be started");
}

void rama_serve_hub_fini(struct rama_serve *s)
{
	struct rama_serve_hub *h = &s->hub;

	if (!h->started)
		return;
	pthread_mutex_lock(&h->lock);
	h->stop = true;
	pthread_cond_signal(&h->come);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	h->started = false;
}

void rama_serve_hub_clear(struct rama_serve *s)
{
	sweep(&s->hub);
}
