/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.c: processes are added up to jobs, and get their ranks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "look/known.h"

#define IMAGES_APART 4096 /* segments between two of one process, by start */

void rama_look_job_free(struct rama_look_job *j)
{
	free(j->process);
	free(j->past);
	free(j);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void trail_add(struct rama_look_trail *t, uint64_t now, double interval,
		      const struct rama_look_io *gain)
{
	int64_t second = (int64_t)(now / RAMA_LOOK_SECOND);
	double at = (double)(now % RAMA_LOOK_SECOND) / RAMA_LOOK_SECOND, left = interval;

	if (t->second == 0 || second - t->second >= RAMA_LOOK_TRAIL || second < t->second)
		*t = (struct rama_look_trail){ .second = second };
	while (t->second < second) {
		unsigned i = (unsigned)(++t->second % RAMA_LOOK_TRAIL);

		t->read[i] = t->written[i] = t->ops[i] = 0;
	}
	/* what came in the interval is spread over the seconds that it covers */
	for (unsigned k = 0; k < RAMA_LOOK_TRAIL && left > 0; k++, second--) {
		double part = at < left ? at : left, share = part / interval;
		unsigned i = (unsigned)(second % RAMA_LOOK_TRAIL);

		t->read[i] += (float)((double)gain->bytes_read * share);
		t->written[i] += (float)((double)gain->bytes_written * share);
		t->ops[i] += (float)((double)rama_look_ops(gain) * share);
		left -= part;
		at = 1;
	}
}

double rama_look_trail_bytes(const struct rama_look_trail *t, unsigned ago)
{
	unsigned i;

	if (t->second <= 0 || ago >= RAMA_LOOK_TRAIL || t->second < ago)
		return 0;
	i = (unsigned)((t->second - ago) % RAMA_LOOK_TRAIL);
	return (double)t->read[i] + (double)t->written[i];
}

static void begin_job(struct rama_look_job *j)
{
	struct rama_look_past *past = j->past;

	j->n = j->running = j->unreadable = j->hosts = past->uses = 0;
	j->total = past->total;
	j->gain = (struct rama_look_io){ 0 };
	memcpy(j->layer_total, past->layer, sizeof(j->layer_total));
	memset(j->layer_gain, 0, sizeof(j->layer_gain));
	j->live = past->live;
	j->longest = past->longest;
	j->share = 0;
	j->n_calls = 0;
}

static int add_process(struct rama_look_job *j, struct rama_look_found *f)
{
	struct rama_look_process *p = &f->p;

	if (p->pid <= 0 || f->seg.map.seg.state.phase == RAMA_SEG_STARTING)
		return 0; /* not one yet */
	if (j->start == 0 || p->start < j->start) {
		j->start = p->start;
		j->jobid = p->jobid;
	}
	rama_look_io_add(&j->total, &p->total);
	rama_look_io_add(&j->gain, &p->gain);
	for (unsigned i = 0; i < RAMA_LOOK_LAYERS; i++) {
		rama_look_io_add(&j->layer_total[i], &p->layer_total[i]);
		rama_look_io_add(&j->layer_gain[i], &p->layer_gain[i]);
	}
	j->live.on |= rama_look_runs(p) ? p->live.on : 0;
	j->live.made += p->live.made;
	j->live.dropped += p->live.dropped;
	j->live.taken += p->live.taken;
	j->live.reader = p->live.reader > 0 ? p->live.reader : j->live.reader;
	j->longest = p->longest > j->longest ? p->longest : j->longest;
	j->n_calls += p->n_calls;
	j->running += rama_look_runs(p);
	j->share += rama_look_runs(p) ? p->share : 0;
	if (p->state == RAMA_LOOK_REPLACED)
		return 0;
	if (!RAMA_GROW(j->process, j->past->room, j->n + 1))
		return RAMA_EMEMORY;
	j->process[j->n++] = p;
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct rama_look_found *x = *(struct rama_look_found *const *)a,
				     *y = *(struct rama_look_found *const *)b;

	if (x->p.start != y->p.start)
		return x->p.start < y->p.start ? -1 : 1;
	return x->p.pid < y->p.pid ? -1 : x->p.pid > y->p.pid;
}

static int by_rank(const void *a, const void *b)
{
	const struct rama_look_process *x = *(struct rama_look_process *const *)a,
				       *y = *(struct rama_look_process *const *)b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* What an agent calls it in the store, from 1 on; 0: none has seen it. */
static uint64_t told_order(const struct rama_look_found *f)
{
	uint32_t kept = f->seg.map.seg.control.reserved[RAMA_SEG_KEPT_ORDER];

	return kept <= 1u << 24 ? kept : 0;
}

/* Processes are numbered as their agent has done it, so that a rank is the same here and in the
 * store; else in the order of start, as far as they are seen together; programs that one process
 * ran one after the other are one. */
static void give_orders(const struct rama_look_state_all *all)
{
	for (size_t i = 0; i < all->n; i++) {
		struct rama_look_found *f = all->found[i];

		f->job->past->uses++;
		if (!f->bad && told_order(f) > 0)
			f->order = told_order(f);
		if (f->order > 0 && f->job->past->next_order < f->order)
			f->job->past->next_order = f->order;
		if (f->order > 0 || f->bad)
			continue;
		for (size_t k = i; f->order == 0 && k > 0 && i - k < IMAGES_APART; k--) {
			const struct rama_look_found *x = all->found[k - 1];

			if (x->job == f->job && x->p.pid == f->p.pid &&
			    x->pid_start == f->pid_start && !x->bad)
				f->order = x->order;
		}
		if (f->order == 0)
			f->order = ++f->job->past->next_order;
	}
}

/* Ranks are those of the MPI job; other processes follow them, in the order in which they were
 * seen. */
static void give_ranks(struct rama_look_job *j)
{
	int64_t world = 0, plain = 0;

	for (size_t i = 0; i < j->n; i++) {
		struct rama_look_found *f = (struct rama_look_found *)(void *)j->process[i];
		const struct rama_seg_identity *id = &f->seg.map.seg.id;

		if (f->p.mpi && id->nprocs > world && id->nprocs < INT32_MAX)
			world = id->nprocs;
	}
	for (size_t i = 0; i < j->n; i++) {
		struct rama_look_found *f = (struct rama_look_found *)(void *)j->process[i];

		if (f->p.mpi)
			f->p.rank = f->seg.map.seg.id.rank;
		else
			f->p.rank = world > 0 ? world + plain++ : (int64_t)f->order - 1;
	}
	if (j->n > 1)
		qsort(j->process, j->n, sizeof(void *), by_rank);
}

static void finish_job(const struct rama_look *l, struct rama_look_job *j)
{
	const struct rama_look_state_all *all = l->all;
	struct rama_look_past *past = j->past;

	give_ranks(j);
	for (size_t i = 0; i < j->n; i++) {
		const char *host = j->process[i]->host;
		bool seen = false;

		for (size_t k = i > 64 ? i - 64 : 0; k < i && !seen; k++)
			seen = strcmp(j->process[k]->host, host) == 0;
		j->hosts += !seen;
	}
	j->share = j->running > 0 ? j->share / (double)j->running : 0;
	if (strncmp(j->name, "run-", 4) != 0 && strncmp(j->name, "mpi-", 4) != 0 && j->n > 0)
		snprintf(j->key, sizeof(j->key), "%u/%.40s@%.63s", (unsigned)j->uid, j->name,
			 j->process[0]->host);
	past->ran = past->ran || j->running > 0;
	if (j->running > 0)
		past->ended_at = 0;
	else if (past->ended_at == 0)
		past->ended_at = all->now.mono;
	j->ended = j->running == 0;
	j->ended_since = j->ended ? (double)(all->now.mono - past->ended_at) / RAMA_LOOK_SECOND : 0;
	if (l->interval > 0) {
		trail_add(&j->trail, all->now.mono, l->interval, &j->gain);
		for (size_t i = 0; i < j->n; i++)
			trail_add(&j->process[i]->trail, all->now.mono, l->interval,
				  &j->process[i]->gain);
	}
}

static int job_by_start(const void *a, const void *b)
{
	const struct rama_look_job *x = *(struct rama_look_job *const *)a,
				   *y = *(struct rama_look_job *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return strcmp(x->key, y->key);
}

/* Jobs that were dead already when they were found are `iorama recover`'s. */
int rama_look_jobs(struct rama_look *l)
{
	struct rama_look_state_all *all = l->all;
	size_t kept = 0;

	for (size_t i = 0; i < all->n_jobs; i++)
		begin_job(all->jobs[i]);
	if (all->n > 1)
		qsort(all->found, all->n, sizeof(void *), by_start);
	give_orders(all);
	for (size_t i = 0; i < all->n; i++) {
		struct rama_look_found *f = all->found[i];

		if (f->bad)
			f->job->unreadable++;
		else if (!f->closed && add_process(f->job, f) != 0)
			return RAMA_EMEMORY;
	}
	free(l->job);
	l->n = 0;
	l->job = calloc(all->n_jobs + 1, sizeof(void *));
	if (l->job == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < all->n_jobs; i++) {
		struct rama_look_job *j = all->jobs[i];

		finish_job(l, j);
		if (!j->past->there && j->past->uses == 0) {
			rama_look_job_free(j);
			continue;
		}
		all->jobs[kept++] = j;
		if (j->past->ran && (!j->ended || j->ended_since <= all->o.linger))
			l->job[l->n++] = j;
	}
	all->n_jobs = kept;
	if (l->n > 1)
		qsort(l->job, l->n, sizeof(void *), job_by_start);
	return 0;
}
