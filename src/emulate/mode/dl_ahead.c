/* SPDX-License-Identifier: BSD-3-Clause */
/* dl_ahead.c: threads that read samples before they are needed, as the loaders of training
 * frameworks do. Each takes the next sample, in order, once it is near enough to what is being
 * computed on. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emulate/mode/dl.h"

struct rama_emu_ahead {
	struct rama_emu_emulation *m;
	const struct rama_emu_dataset *d;
	uint32_t first, n, window;
	unsigned threads;
	pthread_t *thread;
	unsigned started;
	pthread_mutex_t lock;
	pthread_cond_t read, used; /* a sample was read; the one waited for has moved on */
	uint32_t next, wanted;
	bool *done, stop;
	struct rama_emu_tally tally;
	struct rama_err e;
};

/* All of a sample, request by request, with an engine that works alone. */
static int read_sample(struct rama_emu_ahead *a, struct rama_emu_unit *u, char *buf,
		       struct rama_emu_tally *t, struct rama_err *e)
{
	struct rama_emu_walk w = { .size = u->size, .request = a->m->request };
	const struct rama_emu_engine *g = a->m->opt.engine;
	struct rama_emu_handle h = { .engine = g, .path = u->path, .opt = a->m->opt.opt };
	double start, end;
	int64_t offset, length;
	int rc;

	if (a->m->opt.cold)
		rama_emu_drop_cache(u->path);
	h.opt.size = u->size;
	start = rama_emu_team_now();
	rc = g->open(&h, RAMA_EMU_OPEN_READ, e);
	if (rc != 0)
		return rc;
	t->opens++;
	end = rama_emu_team_now();
	t->open_time += end - start;
	rama_emu_walk_start(&w);
	while (rc == 0 && rama_emu_walk_next(&w, &offset, &length)) {
		start = rama_emu_team_now();
		rc = g->read(&h, buf, (size_t)length, offset, NULL, e);
		end = rama_emu_team_now();
		t->reads++;
		t->bytes_read += (uint64_t)length;
		t->read_time += end - start;
		t->max_read = end - start > t->max_read ? end - start : t->max_read;
		if (rc == 0 && a->m->opt.verify)
			rama_emu_pattern_check(&u->pattern, buf, (size_t)length, offset, &t->flaws);
	}
	if (rc != 0) {
		g->close(&h, NULL);
		return rc;
	}
	return g->close(&h, e);
}

/* room for the largest request of all samples */
static char *new_buffer(const struct rama_emu_ahead *a)
{
	int64_t most = 1;

	for (uint32_t i = 0; i < a->n; i++) {
		int64_t size = a->d->samples[a->d->order[a->first + i]].size;

		most = size > most ? size : most;
	}
	most = most < a->m->request ? most : a->m->request;
	return aligned_alloc(4096, ((size_t)most + 4095) / 4096 * 4096);
}

/* the number of the next sample, or n when there is no more */
static uint32_t take(struct rama_emu_ahead *a)
{
	uint32_t i = a->n;

	pthread_mutex_lock(&a->lock);
	while (!a->stop && a->next < a->n && a->next > a->wanted &&
	       a->next - a->wanted >= a->window)
		pthread_cond_wait(&a->used, &a->lock);
	if (!a->stop && a->next < a->n)
		i = a->next++;
	pthread_mutex_unlock(&a->lock);
	return i;
}

static void give(struct rama_emu_ahead *a, uint32_t i, int rc, const struct rama_err *e)
{
	pthread_mutex_lock(&a->lock);
	a->done[i] = true;
	if (rc != 0 && a->e.code == 0) {
		a->e = *e;
		a->stop = true;
		pthread_cond_broadcast(&a->used);
	}
	pthread_cond_broadcast(&a->read);
	pthread_mutex_unlock(&a->lock);
}

static int read_next(struct rama_emu_ahead *a, uint32_t i, char *buf, struct rama_emu_tally *t,
		     struct rama_err *e)
{
	const struct rama_emu_sample *s = &a->d->samples[a->d->order[a->first + i]];
	const char *top = rama_emu_config_text(a->m->cfg, RAMA_EMU_P_input_dir);
	struct rama_emu_unit u = { .name = s->name,
				   .size = s->size,
				   .pattern = { a->m->opt.seed, rama_emu_pattern_unit(s->name),
						0 } };
	size_t room = strlen(top) + strlen(s->name) + 2;
	char *path = malloc(room);
	int rc;

	if (path == NULL || buf == NULL) {
		free(path);
		return rama_err_set(e, RAMA_EMEMORY, "no memory to read ahead");
	}
	snprintf(path, room, "%s/%s", top, s->name);
	u.path = path;
	rc = read_sample(a, &u, buf, t, e);
	free(path);
	return rc;
}

static void *reader(void *ctx)
{
	struct rama_emu_ahead *a = ctx;
	struct rama_emu_tally t = { .flaws.first = -1, .first = rama_emu_team_now() };
	char *buf = new_buffer(a);
	uint32_t i;

	while ((i = take(a)) < a->n) {
		struct rama_err e = { 0 };
		int rc = read_next(a, i, buf, &t, &e);

		give(a, i, rc, &e);
	}
	free(buf);
	t.last = rama_emu_team_now();
	pthread_mutex_lock(&a->lock);
	rama_emu_tally_add(&a->tally, &t);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

struct rama_emu_ahead *rama_emu_ahead_start(struct rama_emu_emulation *m,
					    const struct rama_emu_dataset *d, uint32_t first,
					    uint32_t n, unsigned threads, uint32_t window,
					    struct rama_err *e)
{
	struct rama_emu_ahead *a = calloc(1, sizeof(*a));

	if (a != NULL) {
		*a = (struct rama_emu_ahead){ .m = m,
					      .d = d,
					      .first = first,
					      .n = n,
					      .window = window,
					      .threads = threads,
					      .tally.flaws.first = -1 };
		a->thread = calloc(threads, sizeof(*a->thread));
		a->done = calloc((size_t)n + 1, sizeof(*a->done));
	}
	if (a == NULL || a->thread == NULL || a->done == NULL) {
		if (a != NULL)
			free(a->thread);
		free(a);
		rama_err_set(e, RAMA_EMEMORY, "no memory to read ahead");
		return NULL;
	}
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->read, NULL);
	pthread_cond_init(&a->used, NULL);
	while (a->started < threads && pthread_create(&a->thread[a->started], NULL, reader, a) == 0)
		a->started++;
	if (a->started == 0) {
		rama_err_set(e, RAMA_EIO, "no thread to read ahead");
		rama_emu_ahead_end(a, NULL);
		return NULL;
	}
	return a;
}

/* A second at most: another rank may have failed meanwhile. */
static void sleep_until_read(struct rama_emu_ahead *a)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec++;
	pthread_cond_timedwait(&a->read, &a->lock, &t);
}

int rama_emu_ahead_wait(struct rama_emu_ahead *a, uint32_t i, struct rama_err *e)
{
	int rc = 0;

	pthread_mutex_lock(&a->lock);
	a->wanted = i;
	pthread_cond_broadcast(&a->used);
	while (rc == 0 && !a->done[i] && a->e.code == 0) {
		sleep_until_read(a);
		if (!a->done[i] && a->e.code == 0) {
			pthread_mutex_unlock(&a->lock);
			rc = rama_emu_team_look(a->m->team, e);
			pthread_mutex_lock(&a->lock);
		}
	}
	if (rc == 0 && a->e.code != 0) {
		*e = a->e;
		rc = a->e.code;
	}
	pthread_mutex_unlock(&a->lock);
	return rc;
}

int rama_emu_ahead_end(struct rama_emu_ahead *a, struct rama_err *e)
{
	double offset = a->m->team->clock_offset;
	int rc;

	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->used);
	pthread_mutex_unlock(&a->lock);
	for (unsigned i = 0; i < a->started; i++)
		pthread_join(a->thread[i], NULL);
	a->tally.first += offset;
	a->tally.last += offset;
	rama_emu_tally_add(&a->m->books.rank, &a->tally);
	if (a->m->books.n_tasks > 0)
		rama_emu_tally_add(&a->m->books.task[0], &a->tally);
	rc = a->e.code;
	if (rc != 0 && e != NULL)
		*e = a->e;
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->read);
	pthread_cond_destroy(&a->used);
	free(a->thread);
	free(a->done);
	free(a);
	return rc;
}
