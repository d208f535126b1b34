/* SPDX-License-Identifier: BSD-3-Clause */
#include "index/run.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/now.h"

#define BATCH_LOGS 64
#define BATCH_BYTES (32u << 20) /* of logs that are kept until they are committed */
#define BATCH_SECONDS 0.25	/* that a log waits for others */
#define SLOTS_EACH 8		/* logs that may be ready before they are put, for each thread */
#define PATIENCE 60.0		/* seconds for a store that is busy, gone or full */
#define TELL_EVERY 64		/* logs that were left alone */

/* a log on its way from a thread to the store */
struct item {
	struct rama_index_indexed x;
	const char *path;
	struct rama_err e; /* code 0: it can be put */
	bool ready;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t room, ready;
	const struct rama_index_options *opt;
	const char **path; /* those to read */
	size_t n;
	/* under the lock */
	size_t next, put; /* next to be read, to be put */
	bool stop;
	struct item **slot; /* of path i: i % slots */
	size_t slots;
};

struct batch {
	struct item *item[BATCH_LOGS];
	size_t n, bytes;
	double since;
};

struct work {
	struct rama_index_run *run;
	struct queue q;
	struct batch batch;
	struct item **spare;
	size_t n_spare;
	pthread_t thread[RAMA_INDEX_THREADS];
	unsigned threads;
};

static void doze(double s)
{
	struct timespec t = { (time_t)s, (long)((s - (double)(time_t)s) * 1e9) };

	nanosleep(&t, NULL);
}

static bool stopped(struct rama_index_run *r)
{
	return r->stop != NULL && r->stop(r->ctx);
}

static void tell(struct rama_index_run *r)
{
	if (r->progress != NULL)
		r->progress(r->ctx, &r->counts);
}

/* ---- reading: any thread --------------------------------------------------------------------- */

static void read_item(struct item *it, const struct rama_index_options *opt)
{
	it->e = (struct rama_err){ 0 };
	if (rama_index_indexed_file(&it->x, it->path, NULL, opt, &it->e) != 0 && it->e.code == 0)
		rama_err_no_memory(&it->e);
}

static void *reader(void *ctx)
{
	struct queue *q = ctx;
	struct rama_index_users users = { 0 };
	struct rama_index_options opt = *q->opt;

	opt.users = &users;
	pthread_mutex_lock(&q->lock);
	for (;;) {
		struct item *it;
		size_t i;

		while (!q->stop && q->next < q->n && q->next >= q->put + q->slots)
			pthread_cond_wait(&q->room, &q->lock);
		if (q->stop || q->next >= q->n)
			break;
		i = q->next++;
		it = q->slot[i % q->slots];
		it->path = q->path[i];
		pthread_mutex_unlock(&q->lock);
		read_item(it, &opt);
		pthread_mutex_lock(&q->lock);
		it->ready = true;
		pthread_cond_signal(&q->ready);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* ---- putting: the caller's thread ------------------------------------------------------------ */

static void free_item(struct item *it)
{
	if (it != NULL)
		rama_index_indexed_fini(&it->x);
	free(it);
}

static void problem(struct rama_index_run *r, const char *path, const struct rama_err *e)
{
	int status = rama_err_status(e->code);

	if (r->problem != NULL)
		r->problem(r->ctx, path, e->text);
	r->worst = status > r->worst ? status : r->worst;
}

static void count(struct rama_index_run *r, struct item *it)
{
	r->counts.stored++;
	if (it->x.problem.code != 0) {
		r->counts.damaged++;
		problem(r, it->path, &it->x.problem);
	}
	if (r->taken != NULL)
		r->taken(r->ctx, &it->x.row);
}

/* all of them in one transaction */
static int put_items(struct rama_index_run *r, struct item **it, size_t n, struct rama_err *e)
{
	int rc = rama_store_begin(r->store, e);

	if (rc != 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = rama_index_indexed_put(r->store, &it[i]->x, e);
	if (rc == 0)
		rc = rama_store_commit(r->store, e);
	if (rc != 0)
		rama_store_rollback(r->store);
	return rc;
}

/* ... as often as it takes, while the store says that it may help */
static int put_patiently(struct rama_index_run *r, struct item **it, size_t n, struct rama_err *e)
{
	double end = rama_now() + PATIENCE, wait = 0.05;
	int rc;

	for (;;) {
		*e = (struct rama_err){ 0 };
		rc = put_items(r, it, n, e);
		if (rc == 0 || !rama_store_temporary(r->store) || rama_now() > end || stopped(r))
			return rc;
		doze(wait);
		wait = wait < 2 ? wait * 2 : 2;
	}
}

/* One of them cannot be put: each for itself, so that only that one is left out. */
static int put_singly(struct rama_index_run *r, struct batch *b, struct rama_err *e)
{
	for (size_t i = 0; i < b->n; i++) {
		int rc = put_patiently(r, &b->item[i], 1, e);

		if (rc != 0 && (rc == RAMA_EMEMORY || rama_store_temporary(r->store)))
			return rc;
		if (rc == 0) {
			count(r, b->item[i]);
		} else {
			r->counts.failed++;
			problem(r, b->item[i]->path, e);
		}
	}
	*e = (struct rama_err){ 0 };
	return 0;
}

static int flush(struct work *w, struct rama_err *e)
{
	struct rama_index_run *r = w->run;
	struct batch *b = &w->batch;
	int rc = b->n > 0 ? put_patiently(r, b->item, b->n, e) : 0;

	if (rc == 0)
		for (size_t i = 0; i < b->n; i++)
			count(r, b->item[i]);
	else if (rc != RAMA_EMEMORY && !rama_store_temporary(r->store))
		rc = put_singly(r, b, e);
	for (size_t i = 0; i < b->n; i++) {
		rama_index_indexed_fini(&b->item[i]->x);
		w->spare[w->n_spare++] = b->item[i];
	}
	b->n = b->bytes = 0;
	tell(r);
	return rc;
}

/* a log that was read joins the batch, or is told */
static int take(struct work *w, struct item *it, struct rama_err *e)
{
	struct rama_index_run *r = w->run;
	struct batch *b = &w->batch;
	struct stat st;

	if (it->e.code != 0) {
		rama_index_indexed_fini(&it->x);
		w->spare[w->n_spare++] = it;
		if (it->e.code == RAMA_EMEMORY)
			return rama_err_set(e, it->e.code, "%s: %s", it->path, it->e.text);
		if (stat(it->path, &st) != 0 && errno == ENOENT) {
			r->counts.gone++;
			return 0;
		}
		r->counts.failed++;
		problem(r, it->path, &it->e);
		return 0;
	}
	if (b->n == 0)
		b->since = rama_now();
	b->item[b->n++] = it;
	b->bytes += it->x.row.size < BATCH_BYTES ? (size_t)it->x.row.size : BATCH_BYTES;
	return b->n == BATCH_LOGS || b->bytes >= BATCH_BYTES ||
			       rama_now() - b->since > BATCH_SECONDS
		       ? flush(w, e)
		       : 0;
}

/* Waits until the next log in order was read; its place gets a spare. NULL: no memory */
static struct item *next_item(struct work *w)
{
	struct queue *q = &w->q;
	struct item *it, *fresh = w->n_spare > 0 ? w->spare[--w->n_spare] : malloc(sizeof(*fresh));

	if (fresh == NULL)
		return NULL;
	fresh->ready = false;
	fresh->x = (struct rama_index_indexed){ .file.fd = -1 };
	pthread_mutex_lock(&q->lock);
	while (w->threads > 0 && !q->slot[q->put % q->slots]->ready)
		pthread_cond_wait(&q->ready, &q->lock);
	it = q->slot[q->put % q->slots];
	q->slot[q->put % q->slots] = fresh;
	q->put++;
	pthread_cond_signal(&q->room);
	pthread_mutex_unlock(&q->lock);
	return it;
}

static int put_all(struct work *w, struct rama_err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < w->q.n && !stopped(w->run); i++) {
		struct item *it = next_item(w);

		if (it == NULL)
			return rama_err_no_memory(e);
		if (w->threads == 0) { /* none could be started */
			it->path = w->q.path[i];
			read_item(it, w->q.opt);
		}
		rc = take(w, it, e);
	}
	return rc == 0 ? flush(w, e) : rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* what of the list is not in the store as it is */
static int choose(struct rama_index_run *r, struct queue *q, const char *const *paths, size_t n,
		  struct rama_err *e)
{
	q->path = calloc(n + 1, sizeof(*q->path));
	if (q->path == NULL)
		return rama_err_no_memory(e);
	for (size_t i = 0; i < n && !stopped(r); i++) {
		struct stat st;
		int has = 0;

		if (stat(paths[i], &st) == 0) {
			has = r->again
				      ? 0
				      : rama_store_has_log(r->store, paths[i], st.st_size,
							   (int64_t)st.st_mtim.tv_sec * 1000000000 +
								   st.st_mtim.tv_nsec,
							   e);
		} else if (errno == ENOENT) {
			r->counts.gone++;
			continue;
		}
		if (has < 0)
			return has;
		if (has > 0)
			r->counts.same++;
		else
			q->path[q->n++] = paths[i];
		if (i % TELL_EVERY == 0)
			tell(r);
	}
	return 0;
}

static int start(struct work *w, unsigned threads, struct rama_err *e)
{
	struct queue *q = &w->q;

	threads = threads < 1 ? 1 : threads > RAMA_INDEX_THREADS ? RAMA_INDEX_THREADS : threads;
	if (threads > q->n)
		threads = (unsigned)q->n;
	q->slots = (size_t)threads * SLOTS_EACH;
	q->slot = calloc(q->slots + 1, sizeof(struct item *));
	w->spare = calloc(q->slots + BATCH_LOGS + 1, sizeof(struct item *));
	if (q->slot == NULL || w->spare == NULL)
		return rama_err_no_memory(e);
	for (size_t i = 0; i < q->slots; i++) {
		q->slot[i] = calloc(1, sizeof(**q->slot));
		if (q->slot[i] == NULL)
			return rama_err_no_memory(e);
		q->slot[i]->x.file.fd = -1;
	}
	while (w->threads < threads && pthread_create(&w->thread[w->threads], NULL, reader, q) == 0)
		w->threads++;
	return 0;
}

static void finish(struct work *w)
{
	struct queue *q = &w->q;

	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_broadcast(&q->room);
	pthread_mutex_unlock(&q->lock);
	for (unsigned i = 0; i < w->threads; i++)
		pthread_join(w->thread[i], NULL);
	for (size_t i = 0; q->slot != NULL && i < q->slots; i++)
		free_item(q->slot[i]);
	for (size_t i = 0; i < w->batch.n; i++)
		free_item(w->batch.item[i]);
	for (size_t i = 0; i < w->n_spare; i++)
		free(w->spare[i]);
	free(w->spare);
	free(q->slot);
	free(q->path);
	pthread_mutex_destroy(&q->lock);
	pthread_cond_destroy(&q->room);
	pthread_cond_destroy(&q->ready);
}

int rama_index_run(struct rama_index_run *r, const char *const *paths, size_t n, struct rama_err *e)
{
	struct work *w = calloc(1, sizeof(*w));
	int rc;

	if (w == NULL)
		return rama_err_no_memory(e);
	w->run = r;
	w->q.opt = &r->opt;
	pthread_mutex_init(&w->q.lock, NULL);
	pthread_cond_init(&w->q.room, NULL);
	pthread_cond_init(&w->q.ready, NULL);
	r->counts.all += n;
	rc = choose(r, &w->q, paths, n, e);
	if (rc == 0 && w->q.n > 0) {
		rc = start(w, r->threads, e);
		if (rc == 0)
			rc = put_all(w, e);
	}
	finish(w);
	free(w);
	return rc;
}
