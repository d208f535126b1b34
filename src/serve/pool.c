/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.c: a few threads, each with a store of its own, that do what may take a while. */
#include <time.h>

#include "query/open.h"
#include "serve/inside.h"

/* Waits by the clock that only goes forward: one that is set back would let it wait for hours. */
void rama_serve_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t a;

	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &a);
	pthread_condattr_destroy(&a);
}

struct rama_store *rama_serve_pool_open(const char *where, struct rama_err *e)
{
	struct rama_store *s = NULL;

	if (rama_store_open(&s, where, RAMA_STORE_READ | RAMA_STORE_SMALL, e) != 0)
		return NULL;
	rama_store_limit(s, RAMA_SERVE_STATEMENT_MS);
	return s;
}

static struct rama_serve_work *take(struct rama_serve_pool *p)
{
	struct rama_serve_work *w;

	pthread_mutex_lock(&p->lock);
	while (p->first == NULL && !p->stop)
		pthread_cond_wait(&p->come, &p->lock);
	w = p->first;
	if (w != NULL) {
		p->first = w->next;
		if (p->first == NULL)
			p->last = &p->first;
	}
	pthread_mutex_unlock(&p->lock);
	return w;
}

static void *work(void *ctx)
{
	struct rama_serve_pool *p = ctx;
	struct rama_store *store = NULL, *names = NULL;
	struct rama_serve_work *w;

	while ((w = take(p)) != NULL) {
		struct rama_err e = { 0 };

		/* one that could not be opened is tried again with the next request */
		if (store == NULL)
			store = rama_serve_pool_open(p->where, &e);
		if (store != NULL && names == NULL)
			names = rama_serve_pool_open(p->where, &e);
		w->run(w, names != NULL ? store : NULL, names);
	}
	rama_store_close(names);
	rama_store_close(store);
	return NULL;
}

int rama_serve_pool_init(struct rama_serve_pool *p, const char *where, unsigned workers,
			 struct rama_err *e)
{
	struct rama_store *s;
	int rc;

	*p = (struct rama_serve_pool){ .where = where };
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->come, NULL);
	p->last = &p->first;
	/* a store that is not there, or is old, is told at once */
	rc = rama_query_open(&s, where, RAMA_STORE_READ, e);
	if (rc != 0)
		return rc;
	rama_store_close(s);
	workers = workers < 1 ? 1 : workers > RAMA_SERVE_WORKERS ? RAMA_SERVE_WORKERS : workers;
	for (; p->n < workers; p->n++)
		if (pthread_create(&p->thread[p->n], NULL, work, p) != 0)
			return rama_err_set(e, RAMA_EIO, "no thread can be started");
	return 0;
}

bool rama_serve_pool_put(struct rama_serve_pool *p, struct rama_serve_work *w)
{
	bool takes;

	w->next = NULL;
	pthread_mutex_lock(&p->lock);
	takes = !p->stop;
	if (takes) {
		*p->last = w;
		p->last = &w->next;
		pthread_cond_signal(&p->come);
	}
	pthread_mutex_unlock(&p->lock);
	return takes;
}

void rama_serve_pool_fini(struct rama_serve_pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->come);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n; i++)
		pthread_join(p->thread[i], NULL);
}
