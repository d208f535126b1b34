/* SPDX-License-Identifier: BSD-3-Clause */
/* dag.c: what a workflow waited for, told from when its tasks began and ended. */
#include <math.h>
#include <stdlib.h>

#include "emulate/output/output.h"

uint32_t rama_emu_result_iterations(const struct rama_emu_emulation *m)
{
	return m->graph != NULL && m->runs != NULL && m->graph->n_tasks > 0
		       ? (uint32_t)(m->n_runs / m->graph->n_tasks)
		       : 0;
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* when the last of what each task waits for was there; `data`: when each unit was complete */
static void find_ready(const struct rama_emu_graph *g, const struct rama_emu_task_run *run,
		       double *ready, double *data)
{
	double begin = INFINITY;

	for (uint32_t i = 0; i < g->n_tasks; i++)
		if (run[i].end > 0)
			begin = fmin(begin, run[i].start);
	for (uint32_t i = 0; i < g->n_tasks; i++)
		ready[i] = begin;
	for (uint32_t i = 0; i < g->n_data; i++)
		data[i] = begin;
	for (uint32_t i = 0; i < g->n_edges; i++) {
		const struct rama_emu_edge *x = &g->edges[i];

		if (x->write && !x->feedback)
			data[x->data] = fmax(data[x->data], run[x->task].end);
	}
	for (uint32_t i = 0; i < g->n_edges; i++) {
		const struct rama_emu_edge *x = &g->edges[i];

		if (!x->write && x->strict && !x->feedback)
			ready[x->task] = fmax(ready[x->task], data[x->data]);
	}
	for (uint32_t i = 0; i < g->n_afters; i++) {
		const struct rama_emu_after *a = &g->afters[i];

		if (a->strict && !a->feedback)
			ready[a->after] = fmax(ready[a->after], run[a->before].end);
	}
}

static void add_waits(struct rama_emu_task_wait *to, const struct rama_emu_graph *g,
		      const struct rama_emu_task_run *run, const double *ready)
{
	double begin = INFINITY;

	for (uint32_t i = 0; i < g->n_tasks; i++)
		if (run[i].end > 0)
			begin = fmin(begin, run[i].start);
	for (uint32_t i = 0; i < g->n_tasks; i++) {
		if (run[i].end == 0)
			continue;
		to[i].input += fmax(ready[i] - begin, 0);
		to[i].rank += fmax(run[i].start - ready[i], 0);
	}
}

struct rama_emu_task_wait *rama_emu_result_waits(const struct rama_emu_emulation *m)
{
	const struct rama_emu_graph *g = m->graph;
	uint32_t iterations = rama_emu_result_iterations(m);
	struct rama_emu_task_wait *waits;
	double *ready, *data;

	if (iterations == 0)
		return NULL;
	waits = calloc(g->n_tasks, sizeof(*waits));
	ready = calloc(g->n_tasks, sizeof(*ready));
	data = calloc((size_t)g->n_data + 1, sizeof(*data));
	for (uint32_t k = 0; waits != NULL && ready != NULL && data != NULL && k < iterations;
	     k++) {
		const struct rama_emu_task_run *run = m->runs + (size_t)k * g->n_tasks;

		find_ready(g, run, ready, data);
		add_waits(waits, g, run, ready);
	}
	free(ready);
	free(data);
	return waits;
}

/* ---- the critical path ---------------------------------------------------------------------- */

uint32_t *rama_emu_result_critical(const struct rama_emu_emulation *m, uint32_t iteration,
				   int64_t *n, double *seconds)
{
	const struct rama_emu_graph *g = m->graph;
	double *took = calloc((size_t)g->n_tasks + 1, sizeof(*took));
	uint32_t *path = calloc((size_t)g->n_tasks + 1, sizeof(*path));

	*n = 0;
	*seconds = 0;
	for (uint32_t i = 0; took != NULL && i < g->n_tasks; i++) {
		const struct rama_emu_task_run *run = &m->runs[(size_t)iteration * g->n_tasks + i];

		took[i] = run->end - run->start;
	}
	if (took != NULL && path != NULL)
		*n = rama_emu_graph_critical(g, took, path);
	for (int64_t i = 0; i < *n; i++)
		*seconds += took[path[i]];
	free(took);
	if (*n > 0)
		return path;
	free(path);
	return NULL;
}
