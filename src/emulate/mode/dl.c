/* SPDX-License-Identifier: BSD-3-Clause */
/* dl.c: training: in each epoch all files in another order, dealt out to the ranks, read
 * batch by batch with compute time in between. With prefetch threads the next batches are read
 * meanwhile. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/human.h"
#include "emulate/mode/dl.h"

/* ---- reading ahead -------------------------------------------------------------------------- */
/* Threads that read samples before they are needed, as the loaders of training
 * frameworks do. Each takes the next sample, in order, once it is near enough to what is being
 * computed on. */

struct ahead {
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
static int read_sample(struct ahead *a, struct rama_emu_unit *u, char *buf,
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
	start = rama_now();
	rc = g->open(&h, RAMA_EMU_OPEN_READ, e);
	if (rc != 0)
		return rc;
	t->opens++;
	end = rama_now();
	t->open_time += end - start;
	rama_emu_walk_start(&w);
	while (rc == 0 && rama_emu_walk_next(&w, &offset, &length)) {
		start = rama_now();
		rc = g->move(
			&h,
			(struct rama_emu_request){ .buf = buf, .n = (size_t)length, .off = offset },
			e);
		end = rama_now();
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
static char *new_buffer(const struct ahead *a)
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
static uint32_t take(struct ahead *a)
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

static void give(struct ahead *a, uint32_t i, int rc, const struct rama_err *e)
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

static int read_next(struct ahead *a, uint32_t i, char *buf, struct rama_emu_tally *t,
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
	struct ahead *a = ctx;
	struct rama_emu_tally t = { .flaws.first = -1, .first = rama_now() };
	char *buf = new_buffer(a);
	uint32_t i;

	while ((i = take(a)) < a->n) {
		struct rama_err e = { 0 };
		int rc = read_next(a, i, buf, &t, &e);

		give(a, i, rc, &e);
	}
	free(buf);
	t.last = rama_now();
	pthread_mutex_lock(&a->lock);
	rama_emu_tally_add(&a->tally, &t);
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ends the threads and adds what they did to the books */
static int ahead_end(struct ahead *a, struct rama_err *e)
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

static struct ahead *ahead_start(struct rama_emu_emulation *m, const struct rama_emu_dataset *d,
				 uint32_t first, uint32_t n, unsigned threads, uint32_t window,
				 struct rama_err *e)
{
	struct ahead *a = calloc(1, sizeof(*a));

	if (a != NULL) {
		*a = (struct ahead){ .m = m,
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
		ahead_end(a, NULL);
		return NULL;
	}
	return a;
}

/* A second at most: another rank may have failed meanwhile. */
static void sleep_until_read(struct ahead *a)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec++;
	pthread_cond_timedwait(&a->read, &a->lock, &t);
}

/* until sample i (from 0) of this piece is read */
static int ahead_wait(struct ahead *a, uint32_t i, struct rama_err *e)
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

/* ---- epochs --------------------------------------------------------------------------------- */

/* one rank's way through one epoch */
struct epoch {
	struct rama_emu_emulation *m;
	struct rama_emu_dataset *d;
	uint32_t first, n, at; /* samples of this rank; how many are done */
	uint32_t batch;
	uint32_t number;
	double step;		 /* compute time of a batch */
	struct rama_arena arena; /* of one batch */
	struct ahead *ahead;	 /* NULL: no prefetch */
	double waited;		 /* for data, in all epochs: what compute time did not hide */
};

/* ---- without threads: one batch after the other --------------------------------------------- */

static int add_sample(struct epoch *x, struct rama_emu_script *s,
		      const struct rama_emu_sample *sample, struct rama_err *e)
{
	struct rama_emu_unit *u = rama_emu_dataset_unit(x->m, &x->arena, sample, e);
	struct rama_emu_walk w = { .size = sample->size, .request = x->m->request };

	if (u == NULL)
		return e->code;
	rama_emu_script_open(s, u, RAMA_EMU_OPEN_READ);
	rama_emu_script_move(s, RAMA_EMU_DO_READ, u, &w, false);
	rama_emu_script_step(s, RAMA_EMU_DO_CLOSE, u);
	return 0;
}

static int wait_batch(void *ctx, struct rama_emu_step *step, struct rama_err *e)
{
	struct epoch *x = ctx;
	double start = rama_now();
	int rc = ahead_wait(x->ahead, (uint32_t)step->offset, e);

	x->waited += rama_now() - start;
	return rc;
}

static int next_batch(struct rama_emu_script *s, void *ctx, struct rama_err *e)
{
	struct epoch *x = ctx;
	uint32_t last = x->n - x->at < x->batch ? x->n : x->at + x->batch;
	int rc = 0;

	rama_emu_script_clear(s);
	rama_arena_fini(&x->arena);
	if (x->at == x->n)
		return 0;
	rama_emu_script_begin(s, 0, x->number);
	if (x->ahead != NULL) {
		/* samples may be read in any order: each of the batch is asked for */
		for (uint32_t i = x->at; i < last; i++) {
			struct rama_emu_step *step =
				rama_emu_script_step(s, RAMA_EMU_DO_CALL, NULL);

			step->call = wait_batch;
			step->ctx = x;
			step->offset = i;
		}
	}
	for (uint32_t i = x->at; x->ahead == NULL && rc == 0 && i < last; i++)
		rc = add_sample(x, s, &x->d->samples[x->d->order[x->first + i]], e);
	rama_emu_script_compute(s, x->step, 1);
	x->at = last;
	return rc != 0 ? rc : 1;
}

static int run_epoch(struct epoch *x, struct rama_err *e)
{
	int64_t threads = rama_emu_config_size(x->m->cfg, RAMA_EMU_P_prefetch);
	const struct rama_emu_tally *t = &x->m->books.rank;
	double before = t->read_time + t->open_time;
	struct rama_emu_script s;
	int rc = 0, ended = 0;

	rama_emu_script_init(&s);
	s.more = next_batch;
	s.ctx = x;
	if (threads > 0 && x->n > 0) {
		x->ahead = ahead_start(
			x->m, x->d, x->first, x->n, threads < 256 ? (unsigned)threads : 256,
			x->batch <= UINT32_MAX / 4
				? 2 * x->batch + (uint32_t)(threads < 256 ? threads : 256)
				: UINT32_MAX,
			e);
		rc = x->ahead != NULL ? 0 : e->code;
	}
	if (rc == 0)
		rc = rama_emu_emulation_stream(x->m, &s, e);
	/* of this thread: those of others are booked below */
	x->waited += t->read_time + t->open_time - before;
	if (x->ahead != NULL)
		ended = ahead_end(x->ahead, rc == 0 ? e : NULL);
	x->ahead = NULL;
	rama_emu_script_fini(&s);
	rama_arena_fini(&x->arena);
	return rc != 0 ? rc : ended;
}

/* ---- all epochs ----------------------------------------------------------------------------- */

static void piece(struct epoch *x)
{
	uint32_t size = (uint32_t)x->m->team->size, rank = (uint32_t)x->m->team->rank;
	uint64_t each = ((uint64_t)x->d->n + size - 1) / size, first = each * rank;

	x->first = first < x->d->n ? (uint32_t)first : x->d->n;
	x->n = (uint32_t)(first + each < x->d->n ? each : x->d->n - x->first);
	x->at = 0;
}

/* Bytes of one epoch, dealt out to all ranks: about what each of them reads. */
static void plan(struct rama_emu_emulation *m, const struct rama_emu_dataset *d, int64_t epochs)
{
	double bytes = 0;

	for (uint32_t i = 0; i < d->n; i++)
		bytes += (double)d->samples[i].size;
	m->planned = (uint64_t)(bytes * (double)epochs / m->team->size);
}

struct course {
	double *seconds; /* of each epoch */
	int64_t epochs;
	double all, waited; /* from begin to end; mean of the ranks */
};

static void note(struct rama_emu_emulation *m, const struct rama_emu_dataset *d,
		 const struct course *c)
{
	struct rama_out *o = &m->notes;
	double rate = c->all > 0 ? (double)d->n * (double)c->epochs / c->all : 0;
	double share = c->all > 0 ? c->waited / c->all : 0;
	char a[RAMA_HUMAN], b[RAMA_HUMAN];

	rama_out_fmt(o, "\"files\":%u,\"epochs\":%lld,\"samples_per_second\":%.6g,", d->n,
		     (long long)c->epochs, rate);
	rama_out_fmt(o, "\"data_wait_s\":%.6g,\"data_wait_share\":%.6g,\"epoch_seconds\":[",
		     c->waited, share);
	for (int64_t i = 0; i < c->epochs; i++)
		rama_out_fmt(o, "%s%.6g", i > 0 ? "," : "", c->seconds[i]);
	rama_out_text(o, "]");
	rama_out_fmt(&m->remarks, "%u files, %lld epoch%s, %.4g samples/s\n", d->n,
		     (long long)c->epochs, c->epochs == 1 ? "" : "s", rate);
	rama_out_fmt(&m->remarks, "ranks waited for data for %s, %s of the time\n",
		     rama_human_seconds(a, c->waited), rama_human_share(b, share));
}

/* the mean of all ranks, on rank 0 */
static int mean(struct rama_emu_emulation *m, double *x, struct rama_err *e)
{
	char *all = NULL;
	size_t *lens = NULL;
	double one, sum = 0;
	int rc = rama_emu_team_gather(m->team, x, sizeof(*x), &all, &lens, e);

	for (int i = 0; rc == 0 && all != NULL && i < m->team->size; i++) {
		memcpy(&one, all + (size_t)i * sizeof(one), sizeof(one));
		sum += one;
	}
	*x = sum / m->team->size;
	free(all);
	free(lens);
	return rc;
}

static int one_epoch(struct epoch *x, uint32_t number, struct rama_err *e)
{
	struct rama_emu_emulation *m = x->m;
	struct rama_emu_script s;
	int rc;

	if (!rama_emu_config_flag(m->cfg, RAMA_EMU_P_no_shuffle))
		rama_emu_dataset_shuffle(x->d, m->opt.seed, number);
	x->number = number;
	piece(x);
	rc = run_epoch(x, e);
	rama_emu_script_init(&s);
	rama_emu_script_compute(&s, rama_emu_config_number(m->cfg, RAMA_EMU_P_comp_epoch), 1);
	rama_emu_script_step(&s, RAMA_EMU_DO_BARRIER, NULL);
	if (rc == 0)
		rc = rama_emu_emulation_stream(m, &s, e);
	rama_emu_script_fini(&s);
	return rc;
}

static void show(struct rama_emu_emulation *m, const struct course *c, int64_t i)
{
	char line[96];

	if (m->progress == NULL)
		return;
	snprintf(line, sizeof(line), "epoch %lld of %lld, %.3g s", (long long)i + 1,
		 (long long)c->epochs, c->seconds[i]);
	m->progress(m->progress_ctx, line);
}

static int train(struct rama_emu_emulation *m, struct rama_emu_dataset *d, struct rama_err *e)
{
	int64_t batch = rama_emu_config_size(m->cfg, RAMA_EMU_P_batch_size);
	struct course c = { .epochs = rama_emu_config_size(m->cfg, RAMA_EMU_P_num_epochs) };
	struct epoch x = { .m = m,
			   .d = d,
			   .step = rama_emu_config_number(m->cfg, RAMA_EMU_P_comp_step) };
	double begin = rama_now();
	int rc = 0;

	x.batch = batch < 1 ? 1 : batch < d->n ? (uint32_t)batch : d->n;
	c.seconds = calloc((size_t)c.epochs + 1, sizeof(*c.seconds));
	if (c.seconds == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %lld epochs",
				    (long long)c.epochs);
	plan(m, d, c.epochs);
	for (int64_t i = 0; rc == 0 && i < c.epochs; i++) {
		double start = rama_now();

		rc = one_epoch(&x, (uint32_t)i, e);
		c.seconds[i] = rama_now() - start;
		show(m, &c, i);
	}
	c.all = rama_now() - begin;
	c.waited = x.waited;
	if (rc == 0)
		rc = mean(m, &c.waited, e);
	if (rc == 0 && m->team->rank == 0)
		note(m, d, &c);
	free(c.seconds);
	return rc;
}

static int check(const struct rama_emu_emulation *m, struct rama_err *e)
{
	const struct rama_emu_engine *g = m->opt.engine;

	if (g->container)
		return rama_err_set(e, RAMA_EUSAGE,
				    "a data set is made of plain files: engine %s cannot read them",
				    g->name);
	if (rama_emu_config_size(m->cfg, RAMA_EMU_P_prefetch) > 0 &&
	    (g->reap != NULL || g->needs_mpi))
		return rama_err_set(e, RAMA_EUSAGE,
				    "prefetch works with posix vector direct mmap null");
	if (rama_emu_config_size(m->cfg, RAMA_EMU_P_num_epochs) > 1000000)
		return rama_err_set(e, RAMA_EUSAGE, "num_epochs: at most 1000000");
	return 0;
}

int rama_emu_mode_dl(struct rama_emu_emulation *m, struct rama_err *e)
{
	struct rama_emu_dataset d = { 0 };
	int rc = check(m, e);

	if (rc == 0)
		rc = rama_emu_dataset_make(m, e);
	if (rc == 0)
		rc = rama_emu_dataset_find(&d, m, e);
	if (rc == 0)
		rc = train(m, &d, e);
	rama_emu_dataset_fini(&d);
	return rc;
}
