/* SPDX-License-Identifier: BSD-3-Clause */
/* schedule.c: which task runs next, and on which ranks. Iterations of a workflow follow each
 * other: what is fed back is there when the next one begins. */
#include <stdlib.h>
#include <string.h>

#include "emulate/graph/graph_walk.h"

#define LOOK_AT 64   /* ready tasks that are compared for locality, the longest way to go first */
#define PATIENCE 256 /* tasks that may pass one that needs more ranks than are free */

struct rama_emu_schedule {
	const struct rama_emu_graph *g;
	struct rama_emu_arrows arrows;
	uint32_t n_ranks, n_nodes;
	const uint32_t *node;
	uint32_t iteration, iterations;
	uint32_t *wait; /* nodes of the graph: strict arrows that are still to come */
	double *way;	/* tasks: longest way to the end */
	uint32_t *heap; /* ready tasks, longest way first */
	uint32_t n_ready;
	uint32_t passed; /* since the first of them did not fit */
	bool alone;	 /* units have one writer at a time */
	bool *written;	 /* data: a task that writes it runs */
	uint32_t *home;	 /* data: node it was written on, or RAMA_EMU_NONE_YET */
	bool *busy;	 /* ranks */
	uint32_t n_free;
	uint32_t **used; /* tasks: ranks they run on, NULL when they do not */
	uint32_t *n_used;
	uint32_t *free_on; /* nodes: free ranks */
	uint32_t *chosen;  /* ranks of the placement handed out last */
	uint64_t done, running, total;
	uint32_t done_now; /* in this iteration */
};

/* ---- the heap of ready tasks ---------------------------------------------------------------- */

static bool before(const struct rama_emu_schedule *s, uint32_t a, uint32_t b)
{
	if (s->way[a] != s->way[b])
		return s->way[a] > s->way[b];
	return a < b; /* the same run gives the same order */
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t x = *a;

	*a = *b;
	*b = x;
}

static void push(struct rama_emu_schedule *s, uint32_t task)
{
	uint32_t i = s->n_ready++;

	s->heap[i] = task;
	for (; i > 0 && before(s, s->heap[i], s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&s->heap[i], &s->heap[(i - 1) / 2]);
}

static void sink(struct rama_emu_schedule *s, uint32_t i)
{
	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= s->n_ready)
			return;
		if (child + 1 < s->n_ready && before(s, s->heap[child + 1], s->heap[child]))
			child++;
		if (!before(s, s->heap[child], s->heap[i]))
			return;
		swap(&s->heap[i], &s->heap[child]);
		i = child;
	}
}

static uint32_t pop(struct rama_emu_schedule *s)
{
	uint32_t task = s->heap[0];

	s->heap[0] = s->heap[--s->n_ready];
	sink(s, 0);
	return task;
}

/* ---- readiness ------------------------------------------------------------------------------ */

static bool holds(const struct rama_emu_schedule *s, const struct rama_emu_arrow *a)
{
	return rama_emu_arrow_holds(s->g, a->edge);
}

static void arrive(struct rama_emu_schedule *s, uint32_t node);

static void leave(struct rama_emu_schedule *s, uint32_t node)
{
	for (uint32_t k = s->arrows.first[node]; k < s->arrows.first[node + 1]; k++)
		if (holds(s, &s->arrows.arrow[k]) && --s->wait[s->arrows.arrow[k].to] == 0)
			arrive(s, s->arrows.arrow[k].to);
}

/* Nothing holds the node back any more. At most two deep: task -> data -> task. */
static void arrive(struct rama_emu_schedule *s, uint32_t node)
{
	if (node < s->g->n_tasks)
		push(s, node);
	else
		leave(s, node);
}

static void begin_iteration(struct rama_emu_schedule *s)
{
	uint32_t n = s->arrows.n_nodes;

	s->done_now = 0;
	memset(s->wait, 0, n * sizeof(*s->wait));
	for (uint32_t i = 0; i < s->arrows.first[n]; i++)
		if (holds(s, &s->arrows.arrow[i]))
			s->wait[s->arrows.arrow[i].to]++;
	/* Marked before any arrives: arrivals must not be taken for starts. */
	for (uint32_t i = 0; i < n; i++)
		if (s->wait[i] == 0)
			s->wait[i] = RAMA_EMU_NONE_YET;
	for (uint32_t i = 0; i < n; i++)
		if (s->wait[i] == RAMA_EMU_NONE_YET)
			arrive(s, i);
}

/* ---- making --------------------------------------------------------------------------------- */

static int allocate(struct rama_emu_schedule *s)
{
	size_t tasks = s->g->n_tasks, ranks = s->n_ranks;

	s->wait = calloc((size_t)s->arrows.n_nodes + 1, sizeof(*s->wait));
	s->way = calloc(tasks, sizeof(*s->way));
	s->heap = calloc(tasks + 1, sizeof(*s->heap));
	s->home = calloc((size_t)s->g->n_data + 1, sizeof(*s->home));
	s->written = calloc((size_t)s->g->n_data + 1, sizeof(*s->written));
	s->busy = calloc(ranks, sizeof(*s->busy));
	s->used = calloc(tasks, sizeof(*s->used));
	s->n_used = calloc(tasks, sizeof(*s->n_used));
	s->free_on = calloc(s->n_nodes, sizeof(*s->free_on));
	s->chosen = calloc(ranks, sizeof(*s->chosen));
	return s->wait && s->way && s->heap && s->home && s->written && s->busy && s->used &&
			       s->n_used && s->free_on && s->chosen
		       ? rama_emu_graph_ways(s->g, s->way)
		       : RAMA_EMEMORY;
}

struct rama_emu_schedule *rama_emu_schedule_new(const struct rama_emu_graph *g, uint32_t n_ranks,
						const uint32_t *node, uint32_t iterations,
						struct rama_err *e)
{
	struct rama_emu_schedule *s = calloc(1, sizeof(*s));

	if (s == NULL)
		goto no_memory;
	s->g = g;
	s->n_ranks = s->n_free = n_ranks;
	s->node = node;
	s->iterations = iterations;
	s->total = (uint64_t)g->n_tasks * iterations;
	for (uint32_t r = 0; r < n_ranks; r++)
		if (node[r] >= s->n_nodes)
			s->n_nodes = node[r] + 1;
	if (rama_emu_arrows_make(&s->arrows, g) != 0 || allocate(s) != 0)
		goto no_memory;
	for (uint32_t r = 0; r < n_ranks; r++)
		s->free_on[node[r]]++;
	for (uint32_t i = 0; i < g->n_data; i++)
		s->home[i] = RAMA_EMU_NONE_YET;
	if (iterations > 0)
		begin_iteration(s);
	return s;
no_memory:
	rama_emu_schedule_free(s);
	rama_err_set(e, RAMA_EMEMORY, "no memory to place %u tasks", g->n_tasks);
	return NULL;
}

void rama_emu_schedule_free(struct rama_emu_schedule *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; s->used != NULL && i < s->g->n_tasks; i++)
		free(s->used[i]);
	rama_emu_arrows_fini(&s->arrows);
	free(s->wait);
	free(s->way);
	free(s->heap);
	free(s->home);
	free(s->written);
	free(s->busy);
	free(s->used);
	free(s->n_used);
	free(s->free_on);
	free(s->chosen);
	free(s);
}

void rama_emu_schedule_alone(struct rama_emu_schedule *s)
{
	s->alone = true;
}

/* ---- choosing ------------------------------------------------------------------------------- */

static uint32_t ranks_of(const struct rama_emu_schedule *s, uint32_t task)
{
	uint32_t n = s->g->tasks[task].ranks;

	return n < s->n_ranks ? n : s->n_ranks; /* a larger task makes do with all there are */
}

/* The node with a free rank that holds most of what the task reads, and how much that is. Input
 * of one node is added up where it is met first: tasks read few units, or units of few nodes. */
static double best_node(const struct rama_emu_schedule *s, uint32_t task, uint32_t *node)
{
	const struct rama_emu_task *t = &s->g->tasks[task];
	double most = 0;

	*node = RAMA_EMU_NONE_YET;
	for (uint32_t i = 0; i < t->n_edges && i < LOOK_AT; i++) {
		const struct rama_emu_edge *x = &s->g->edges[t->first_edge + i];
		uint32_t home = s->home[x->data];
		double bytes = 0;

		if (x->write || home == RAMA_EMU_NONE_YET || home == *node || s->free_on[home] == 0)
			continue;
		for (uint32_t k = i; k < t->n_edges && k < i + LOOK_AT; k++) {
			const struct rama_emu_edge *y = &s->g->edges[t->first_edge + k];
			int64_t size = s->g->data[y->data].size;

			if (!y->write && s->home[y->data] == home)
				bytes += size > 0 ? (double)size : 1;
		}
		if (bytes > most) {
			most = bytes;
			*node = home;
		}
	}
	return most;
}

static bool must_wait(const struct rama_emu_schedule *s, uint32_t task)
{
	const struct rama_emu_task *t = &s->g->tasks[task];

	for (uint32_t i = 0; s->alone && i < t->n_edges; i++)
		if (s->g->edges[t->first_edge + i].write &&
		    s->written[s->g->edges[t->first_edge + i].data])
			return true;
	return false;
}

static void mark_written(struct rama_emu_schedule *s, uint32_t task, bool now)
{
	const struct rama_emu_task *t = &s->g->tasks[task];

	for (uint32_t i = 0; i < t->n_edges; i++)
		if (s->g->edges[t->first_edge + i].write)
			s->written[s->g->edges[t->first_edge + i].data] = now;
}

static void take_rank(struct rama_emu_schedule *s, struct rama_emu_placement *p, uint32_t rank)
{
	s->busy[rank] = true;
	s->n_free--;
	s->free_on[s->node[rank]]--;
	s->chosen[p->n_ranks++] = rank;
}

static bool place(struct rama_emu_schedule *s, uint32_t task, uint32_t node,
		  struct rama_emu_placement *p)
{
	uint32_t want = ranks_of(s, task);

	*p = (struct rama_emu_placement){ .task = task,
					  .iteration = s->iteration,
					  .ranks = s->chosen };
	s->used[task] = malloc(want * sizeof(*s->used[task]));
	if (s->used[task] == NULL)
		return false;
	for (unsigned pass = 0; pass < 2; pass++) /* first on the node of its data */
		for (uint32_t r = 0; r < s->n_ranks && p->n_ranks < want; r++)
			if (!s->busy[r] && (pass == 1 || s->node[r] == node))
				take_rank(s, p, r);
	memcpy(s->used[task], s->chosen, want * sizeof(*s->chosen));
	s->n_used[task] = want;
	mark_written(s, task, true);
	s->running++;
	return true;
}

bool rama_emu_schedule_next(struct rama_emu_schedule *s, struct rama_emu_placement *p)
{
	uint32_t seen[LOOK_AT], n = 0, best = RAMA_EMU_NONE_YET, where = RAMA_EMU_NONE_YET;
	double most = -1;
	bool ok = false;

	if (s->n_free == 0)
		return false;
	for (; n < LOOK_AT && s->n_ready > 0; n++) {
		uint32_t node;
		double bytes;

		seen[n] = pop(s);
		if (ranks_of(s, seen[n]) > s->n_free) {
			if (n == 0 && s->passed >= PATIENCE) { /* it has waited long enough */
				n++;
				break;
			}
			continue;
		}
		if (must_wait(s, seen[n]))
			continue;
		bytes = best_node(s, seen[n], &node);
		if (bytes > most) {
			most = bytes;
			best = n;
			where = node;
		}
	}
	if (best != RAMA_EMU_NONE_YET) {
		s->passed = best > 0 && ranks_of(s, seen[0]) > s->n_free ? s->passed + 1 : 0;
		ok = place(s, seen[best], where, p);
	}
	for (uint32_t i = 0; i < n; i++)
		if (!ok || i != best)
			push(s, seen[i]);
	return ok;
}

void rama_emu_schedule_done(struct rama_emu_schedule *s, uint32_t task, uint32_t iteration)
{
	const struct rama_emu_task *t = &s->g->tasks[task];

	if (s->used[task] == NULL || iteration != s->iteration)
		return;
	for (uint32_t i = 0; i < s->n_used[task]; i++) {
		s->busy[s->used[task][i]] = false;
		s->free_on[s->node[s->used[task][i]]]++;
		s->n_free++;
	}
	for (uint32_t i = 0; i < t->n_edges; i++)
		if (s->g->edges[t->first_edge + i].write)
			s->home[s->g->edges[t->first_edge + i].data] = s->node[s->used[task][0]];
	mark_written(s, task, false);
	free(s->used[task]);
	s->used[task] = NULL;
	s->running--;
	s->done++;
	leave(s, task);
	if (++s->done_now == s->g->n_tasks && ++s->iteration < s->iterations)
		begin_iteration(s);
}

bool rama_emu_schedule_finished(const struct rama_emu_schedule *s)
{
	return s->done == s->total;
}

void rama_emu_schedule_counts(const struct rama_emu_schedule *s, uint64_t *done, uint64_t *running,
			      uint64_t *waiting)
{
	*done = s->done;
	*running = s->running;
	*waiting = s->total - s->done - s->running;
}
