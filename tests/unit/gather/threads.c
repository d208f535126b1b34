/* SPDX-License-Identifier: BSD-3-Clause */
#include "threads.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STACK (512u << 10)

struct letter {
	struct letter *next;
	int64_t from;
	int tag;
	size_t n;
	unsigned char bytes[];
};

static void need(bool ok)
{
	if (!ok)
		abort();
}

double world_now(void *ctx)
{
	struct timespec t;

	(void)ctx;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sleep_for(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}

static int seat_send(void *ctx, int64_t to, int tag, const void *buf, size_t n)
{
	struct seat *me = ctx, *them;
	struct letter *l;

	if (tag == me->dies_at || me->left == 0)
		me->dead = true;
	if (me->dead)
		return 0;
	need(to >= 0 && to < me->world->size && tag >= 0 && tag < RAMA_SHUTDOWN_TAGS);
	me->left -= me->left > 0;
	me->sent++;
	me->bytes += n;
	them = &me->world->seat[to];
	l = malloc(sizeof(*l) + n + 1);
	need(l != NULL);
	*l = (struct letter){ .from = me->rank, .tag = tag, .n = n };
	if (n > 0)
		memcpy(l->bytes, buf, n);
	if (me->garbles > 0 && me->sent % me->garbles == 0 && n > 0)
		l->bytes[me->sent * 0x9e3779b97f4a7c15u % n] ^= (unsigned char)(1 + me->sent % 255);
	pthread_mutex_lock(&them->lock);
	*them->last = l;
	them->last = &l->next;
	pthread_cond_signal(&them->came);
	pthread_mutex_unlock(&them->lock);
	return 0;
}

static struct letter *find(struct seat *me, int64_t from, int tag)
{
	for (struct letter **at = &me->first; *at != NULL; at = &(*at)->next) {
		struct letter *l = *at;

		if (l->from != from || l->tag != tag)
			continue;
		*at = l->next;
		if (me->last == &l->next)
			me->last = at;
		return l;
	}
	return NULL;
}

static int seat_recv(void *ctx, int64_t from, int tag, void **buf, size_t *n, double timeout_s)
{
	struct seat *me = ctx;
	double until = world_now(NULL) + timeout_s;
	struct timespec t = { .tv_sec = (time_t)until };
	struct letter *l;
	int rc = 0;

	if (me->dead) { /* nothing reaches it, and it need not wait */
		sleep_for(0.001);
		return RAMA_EMISSING;
	}
	t.tv_nsec = (long)((until - (double)t.tv_sec) * 1e9);
	pthread_mutex_lock(&me->lock);
	while ((l = find(me, from, tag)) == NULL && rc == 0 && timeout_s > 0)
		rc = pthread_cond_timedwait(&me->came, &me->lock, &t);
	pthread_mutex_unlock(&me->lock);
	if (l == NULL)
		return RAMA_EMISSING;
	*n = l->n;
	*buf = malloc(l->n + 1);
	need(*buf != NULL);
	memcpy(*buf, l->bytes, l->n);
	free(l);
	return 0;
}

void world_init(struct world *w, int64_t size)
{
	pthread_condattr_t attr;

	*w = (struct world){ .size = size, .seat = calloc((size_t)size, sizeof(*w->seat)) };
	need(w->seat != NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	for (int64_t i = 0; i < size; i++) {
		struct seat *s = &w->seat[i];

		*s = (struct seat){ .world = w, .rank = i, .dies_at = -1, .left = -1 };
		s->last = &s->first;
		pthread_mutex_init(&s->lock, NULL);
		pthread_cond_init(&s->came, &attr);
	}
	pthread_condattr_destroy(&attr);
}

struct rama_comm world_comm(struct world *w, int64_t rank)
{
	return (struct rama_comm){ .rank = rank,
				   .size = w->size,
				   .send = seat_send,
				   .recv = seat_recv,
				   .now = world_now,
				   .ctx = &w->seat[rank] };
}

static void *live(void *arg)
{
	struct seat *s = arg;
	struct rama_comm comm = world_comm(s->world, s->rank);
	double begin;

	if (s->late > 0)
		sleep_for(s->late);
	begin = world_now(NULL);
	s->rc = s->run(&comm, s->arg);
	s->took = world_now(NULL) - begin;
	return NULL;
}

void world_run(struct world *w, int (*run)(const struct rama_comm *comm, void *arg), void *arg,
	       size_t arg_size)
{
	pthread_t *thread = calloc((size_t)w->size, sizeof(*thread));
	pthread_attr_t attr;

	need(thread != NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (int64_t i = 0; i < w->size; i++) {
		w->seat[i].run = run;
		w->seat[i].arg = (char *)arg + (size_t)i * arg_size;
		if (!w->seat[i].dead)
			need(pthread_create(&thread[i], &attr, live, &w->seat[i]) == 0);
		else
			w->seat[i].run = NULL;
	}
	for (int64_t i = 0; i < w->size; i++)
		if (w->seat[i].run != NULL)
			pthread_join(thread[i], NULL);
	pthread_attr_destroy(&attr);
	free(thread);
}

void world_fini(struct world *w)
{
	for (int64_t i = 0; i < w->size; i++) {
		struct seat *s = &w->seat[i];

		while (s->first != NULL) {
			struct letter *next = s->first->next;

			free(s->first);
			s->first = next;
		}
		pthread_cond_destroy(&s->came);
		pthread_mutex_destroy(&s->lock);
	}
	free(w->seat);
	*w = (struct world){ 0 };
}
