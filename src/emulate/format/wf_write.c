/* SPDX-License-Identifier: BSD-3-Clause */
/* format_wf_write.c: WfFormat 1.5, with keys of our own for what it cannot say
 * (docs/format/workflow.md). */
#include <stdlib.h>

#include "base/json.h"
#include "emulate/format/formats.h"
#include "emulate/graph/graph_walk.h"
#include "emulate/format/wf.h"

static void put_ids(struct rama_json *j, const struct rama_emu_graph *g,
		    const struct rama_emu_task *t, const struct rama_emu_wf_list *list)
{
	bool open = list->strict; /* those of our own only where there are any */

	if (open) {
		rama_json_key(j, list->key);
		rama_json_open(j, '[');
	}
	for (uint32_t i = 0; i < t->n_edges; i++) {
		const struct rama_emu_edge *x = &g->edges[t->first_edge + i];

		if (x->write != list->write || x->strict != list->strict)
			continue;
		if (!open) {
			rama_json_key(j, list->key);
			rama_json_open(j, '[');
			open = true;
		}
		rama_json_string(j, g->data[x->data].id);
	}
	if (open)
		rama_json_close(j, ']');
}

/* tasks that a task waits for, or that wait for it, through data or not */
struct relatives {
	const struct rama_emu_graph *g;
	const uint32_t *first, *next; /* of each node, in one direction */
	uint32_t *mark;		      /* by task: task + 1 that named it last */
};

static void put_once(struct rama_json *j, const struct relatives *r, uint32_t task, uint32_t other)
{
	if (r->mark[other] != task + 1 && other != task)
		rama_json_string(j, r->g->tasks[other].id);
	r->mark[other] = task + 1;
}

static void put_relatives(struct rama_json *j, const char *key, const struct relatives *r,
			  uint32_t task)
{
	rama_json_key(j, key);
	rama_json_open(j, '[');
	for (uint32_t i = r->first[task]; i < r->first[task + 1]; i++) {
		uint32_t node = r->next[i];

		if (node < r->g->n_tasks) {
			put_once(j, r, task, node);
			continue;
		}
		for (uint32_t k = r->first[node]; k < r->first[node + 1]; k++)
			put_once(j, r, task, r->next[k]);
	}
	rama_json_close(j, ']');
}

/* Parents and children are always strict. */
static bool related(const struct rama_emu_graph *g, uint32_t edge)
{
	return rama_emu_arrow_strict(g, edge);
}

/* the arrows of all nodes, forwards or backwards */
static int direct(struct relatives *r, const struct rama_emu_arrows *a, bool back)
{
	uint32_t n = a->n_nodes, *first, *next;

	r->first = first = calloc((size_t)n + 2, sizeof(*first));
	r->next = next = calloc((size_t)a->first[n] + 1, sizeof(*next));
	r->mark = calloc((size_t)r->g->n_tasks + 1, sizeof(*r->mark));
	if (first == NULL || next == NULL || r->mark == NULL)
		return RAMA_EMEMORY;
	for (uint32_t node = 0; node < n; node++)
		for (uint32_t i = a->first[node]; i < a->first[node + 1]; i++)
			if (related(r->g, a->arrow[i].edge))
				first[(back ? a->arrow[i].to : node) + 2]++;
	for (uint32_t i = 2; i < n + 2; i++)
		first[i] += first[i - 1];
	for (uint32_t node = 0; node < n; node++) {
		for (uint32_t i = a->first[node]; i < a->first[node + 1]; i++) {
			uint32_t to = a->arrow[i].to;

			if (related(r->g, a->arrow[i].edge))
				next[first[(back ? to : node) + 1]++] = back ? node : to;
		}
	}
	return 0;
}

static void relatives_fini(struct relatives *r)
{
	free((void *)r->first);
	free((void *)r->next);
	free(r->mark);
}

static void put_specification(struct rama_json *j, const struct rama_emu_graph *g,
			      const struct relatives *up, const struct relatives *down)
{
	rama_json_key(j, "specification");
	rama_json_open(j, '{');
	rama_json_key(j, "tasks");
	rama_json_open(j, '[');
	for (uint32_t i = 0; i < g->n_tasks; i++) {
		const struct rama_emu_task *t = &g->tasks[i];

		rama_json_open(j, '{');
		rama_json_key_string(j, "name", t->name);
		rama_json_key_string(j, "id", t->id);
		put_relatives(j, "parents", up, i);
		put_relatives(j, "children", down, i);
		for (size_t k = 0; k < rama_emu_n_wf_lists; k++)
			put_ids(j, g, t, &rama_emu_wf_lists[k]);
		if (t->ranks > 1)
			rama_json_key_i64(j, "ranks", t->ranks);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	rama_json_key(j, "files");
	rama_json_open(j, '[');
	for (uint32_t i = 0; i < g->n_data; i++) {
		rama_json_open(j, '{');
		rama_json_key_string(j, "id", g->data[i].id);
		if (g->data[i].size >= 0) /* else the run decides */
			rama_json_key_i64(j, "sizeInBytes", g->data[i].size);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	if (g->iterations > 1)
		rama_json_key_i64(j, "iterations", g->iterations);
	rama_json_close(j, '}');
}

static void put_execution(struct rama_json *j, const struct rama_emu_graph *g)
{
	rama_json_key(j, "execution");
	rama_json_open(j, '{');
	rama_json_key_f64(j, "makespanInSeconds", g->makespan);
	rama_json_key_string(j, "executedAt", "1970-01-01T00:00:00Z");
	rama_json_key(j, "tasks");
	rama_json_open(j, '[');
	for (uint32_t i = 0; i < g->n_tasks; i++) {
		rama_json_open(j, '{');
		rama_json_key_string(j, "id", g->tasks[i].id);
		rama_json_key_f64(j, "runtimeInSeconds", g->tasks[i].seconds);
		if (!g->tasks[i].measured)
			rama_json_key_f64(j, "computeInSeconds", g->tasks[i].seconds);
		rama_json_key_f64(j, "coreCount", g->tasks[i].cores < 1 ? 1 : g->tasks[i].cores);
		if (g->tasks[i].read_bytes >= 0)
			rama_json_key_i64(j, "readBytes", g->tasks[i].read_bytes);
		if (g->tasks[i].written_bytes >= 0)
			rama_json_key_i64(j, "writtenBytes", g->tasks[i].written_bytes);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	rama_json_close(j, '}');
}

int rama_emu_write_wfformat(const struct rama_emu_graph *g, struct rama_out *out,
			    struct rama_err *e)
{
	struct rama_emu_arrows a;
	struct rama_json j;
	struct relatives up = { .g = g }, down = { .g = g };
	int rc = rama_emu_arrows_make(&a, g);

	if (rc != 0 || direct(&up, &a, true) != 0 || direct(&down, &a, false) != 0) {
		rc = rama_err_set(e, RAMA_EMEMORY, "no memory");
	} else {
		rama_json_init(&j, out);
		rama_json_open(&j, '{');
		rama_json_key_string(&j, "name", g->name);
		rama_json_key_string(&j, "schemaVersion", "1.5");
		rama_json_key(&j, "workflow");
		rama_json_open(&j, '{');
		put_specification(&j, g, &up, &down);
		put_execution(&j, g);
		rama_json_close(&j, '}');
		rama_json_close(&j, '}');
		rama_out_char(out, '\n');
		rc = out->error;
	}
	rama_emu_arrows_fini(&a);
	relatives_fini(&up);
	relatives_fini(&down);
	return rc;
}
