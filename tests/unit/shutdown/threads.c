/* SPDX-License-Identifier: BSD-3-Clause */
#include "threads.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STACK (512u << 10)
#define SEND_MOST 1.0 /* seconds that a send lasts */

struct letter {
	struct letter *next;
	int64_t from;
	int tag;
	struct seat *sender; /* that waits until it is taken */
	size_t n;
	unsigned char bytes[];
};

static void need(bool ok)
{
	if (!ok)
		abort();
}

double world_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- time ------------------------------------------------------------------------------------ */

static double seat_now(void *ctx)
{
	struct world *w = ((struct seat *)ctx)->world;
	double now;

	if (w->real)
		return world_now();
	pthread_mutex_lock(&w->lock);
	now = w->clock;
	pthread_mutex_unlock(&w->lock);
	return now;
}

static void wake(struct seat *s)
{
	s->waits = false;
	s->world->busy++;
	pthread_cond_signal(&s->came);
}

/* All wait: the clock goes to the moment when the first of them has waited long enough. */
static void move_on(struct world *w)
{
	double first = 0;
	bool any = false;

	for (int64_t i = 0; i < w->size; i++) {
		const struct seat *s = &w->seat[i];

		if (s->waits && (!any || s->until < first))
			first = s->until;
		any = any || s->waits;
	}
	w->clock = any && first > w->clock ? first : w->clock;
	for (int64_t i = 0; i < w->size && any; i++)
		if (w->seat[i].waits && w->seat[i].until <= w->clock)
			wake(&w->seat[i]);
}

static void stop_work(struct world *w)
{
	if (--w->busy == 0 && !w->real)
		move_on(w);
}

/* until a letter wakes it, or the time is over; the lock is held */
static void wait_here(struct seat *s, int64_t from, int tag, double seconds)
{
	struct world *w = s->world;
	struct timespec t = { 0 };

	s->waits = true;
	s->from = from;
	s->tag = tag;
	s->until = (w->real ? world_now() : w->clock) + seconds;
	t.tv_sec = (time_t)s->until;
	t.tv_nsec = (long)((s->until - (double)t.tv_sec) * 1e9);
	stop_work(w);
	while (s->waits) {
		if (!w->real)
			pthread_cond_wait(&s->came, &w->lock);
		else if (pthread_cond_timedwait(&s->came, &w->lock, &t) != 0 && s->waits)
			wake(s);
	}
}

/* ---- messages -------------------------------------------------------------------------------- */

static int seat_send(void *ctx, int64_t to, int tag, const void *buf, size_t n)
{
	struct seat *me = ctx, *them;
	struct letter *l;

	if ((tag == me->dies_at && me->spare-- == 0) || me->left == 0)
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
	pthread_mutex_lock(&me->world->lock);
	*them->last = l;
	them->last = &l->next;
	if (them->waits && them->from == me->rank && them->tag == tag && !them->dead)
		wake(them);
	if (me->world->eager > 0 && n > me->world->eager) {
		l->sender = me;
		wait_here(me, -1, -1, SEND_MOST);
	}
	pthread_mutex_unlock(&me->world->lock);
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
		if (l->sender != NULL && l->sender->waits && l->sender->from == -1)
			wake(l->sender);
		return l;
	}
	return NULL;
}

static int seat_recv(void *ctx, int64_t from, int tag, void **buf, size_t *n, double timeout_s)
{
	struct seat *me = ctx;
	struct letter *l = NULL;

	pthread_mutex_lock(&me->world->lock);
	if (!me->dead)
		l = find(me, from, tag);
	if (l == NULL && timeout_s > 0) {
		wait_here(me, from, tag, timeout_s);
		if (!me->dead)
			l = find(me, from, tag);
	}
	pthread_mutex_unlock(&me->world->lock);
	if (l == NULL)
		return RAMA_EMISSING;
	*n = l->n;
	*buf = malloc(l->n + 1);
	need(*buf != NULL);
	memcpy(*buf, l->bytes, l->n);
	free(l);
	return 0;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

void world_init(struct world *w, int64_t size)
{
	pthread_condattr_t attr;

	*w = (struct world){ .size = size, .seat = calloc((size_t)size, sizeof(*w->seat)) };
	need(w->seat != NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&w->lock, NULL);
	for (int64_t i = 0; i < size; i++) {
		struct seat *s = &w->seat[i];

		*s = (struct seat){ .world = w, .rank = i, .dies_at = -1, .left = -1 };
		s->last = &s->first;
		pthread_cond_init(&s->came, &attr);
	}
	pthread_condattr_destroy(&attr);
}

struct rama_shutdown_comm world_comm(struct world *w, int64_t rank)
{
	return (struct rama_shutdown_comm){ .rank = rank,
					    .size = w->size,
					    .send = seat_send,
					    .recv = seat_recv,
					    .now = seat_now,
					    .ctx = &w->seat[rank] };
}

static void *live(void *arg)
{
	struct seat *s = arg;
	struct rama_shutdown_comm comm = world_comm(s->world, s->rank);
	double begin;

	pthread_mutex_lock(&s->world->lock);
	if (s->late > 0)
		wait_here(s, -1, -1, s->late);
	pthread_mutex_unlock(&s->world->lock);
	begin = seat_now(s);
	s->rc = s->run(&comm, s->arg);
	s->took = seat_now(s) - begin;
	pthread_mutex_lock(&s->world->lock);
	stop_work(s->world);
	pthread_mutex_unlock(&s->world->lock);
	return NULL;
}

void world_run(struct world *w, int (*run)(const struct rama_shutdown_comm *comm, void *arg),
	       void *arg, size_t arg_size)
{
	pthread_t *thread = calloc((size_t)w->size, sizeof(*thread));
	pthread_attr_t attr;

	need(thread != NULL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (int64_t i = 0; i < w->size; i++)
		w->busy += !w->seat[i].dead;
	for (int64_t i = 0; i < w->size; i++) {
		w->seat[i].run = run;
		w->seat[i].arg = (char *)arg + (size_t)i * arg_size;
		if (w->seat[i].dead)
			w->seat[i].run = NULL;
		else
			need(pthread_create(&thread[i], &attr, live, &w->seat[i]) == 0);
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
	}
	pthread_mutex_destroy(&w->lock);
	free(w->seat);
	*w = (struct world){ 0 };
}
