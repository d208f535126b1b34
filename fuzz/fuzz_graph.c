/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_graph.c: the first byte chooses a format of workflows (0: found by looking), the rest is
 * the file. What is read can be cut, ordered, scheduled to its end, and written; what our own
 * format says is read as the same workflow again. */
#include <stdlib.h>
#include <string.h>

#include "emulate/graph/graph.h"
#include "fuzz.h"

#define SMALL 3000 /* tasks and edges of workflows that are also scheduled and written */

static void check_bounds(const struct rama_emu_graph *g)
{
	uint64_t writes = 0, edges = 0;

	for (uint32_t i = 0; i < g->n_edges; i++)
		CHECK(g->edges[i].task < g->n_tasks && g->edges[i].data < g->n_data);
	for (uint32_t i = 0; i < g->n_data; i++) {
		CHECK(g->data[i].id != NULL && g->data[i].name != NULL && g->data[i].size >= -1);
		writes += g->data[i].writers + g->data[i].readers;
	}
	CHECK(writes == g->n_edges);
	for (uint32_t i = 0; i < g->n_tasks; i++) {
		CHECK(g->tasks[i].ranks >= 1 && g->tasks[i].seconds >= 0);
		edges += g->tasks[i].n_edges;
	}
	CHECK(edges == g->n_edges);
	for (uint32_t i = 0; i < g->n_afters; i++)
		CHECK(g->afters[i].before < g->n_tasks && g->afters[i].after < g->n_tasks);
	CHECK(g->iterations >= 1);
}

/* every task once, none before those it waits for */
static void check_order(const struct rama_emu_graph *g)
{
	uint32_t *order = calloc((size_t)g->n_tasks + 1, sizeof(*order));
	uint32_t *place = calloc((size_t)g->n_tasks + 1, sizeof(*place));

	CHECK(order != NULL && place != NULL);
	CHECK(rama_emu_graph_order(g, order) == 0);
	for (uint32_t i = 0; i < g->n_tasks; i++) {
		CHECK(order[i] < g->n_tasks && place[order[i]] == 0);
		place[order[i]] = i + 1;
	}
	for (uint32_t i = 0; i < g->n_afters; i++)
		CHECK(g->afters[i].feedback ||
		      place[g->afters[i].before] < place[g->afters[i].after]);
	free(order);
	free(place);
}

/* Two ranks do all of it: each task as often as there are iterations. */
static void check_schedule(const struct rama_emu_graph *g)
{
	const uint32_t node[2] = { 0, 1 };
	struct rama_err e = { 0 };
	struct rama_emu_schedule *s = rama_emu_schedule_new(g, 2, node, 2, &e);
	uint64_t ran = 0;

	CHECK(s != NULL);
	while (!rama_emu_schedule_finished(s)) {
		struct rama_emu_placement p;

		CHECK(rama_emu_schedule_next(s, &p));
		CHECK(p.task < g->n_tasks && p.iteration < 2 && p.n_ranks >= 1 && p.n_ranks <= 2);
		rama_emu_schedule_done(s, p.task, p.iteration);
		ran++;
	}
	CHECK(ran == (uint64_t)2 * g->n_tasks);
	rama_emu_schedule_free(s);
}

static void check_again(const struct rama_emu_graph *g, const struct rama_out *text)
{
	struct rama_err e = { 0 };
	struct rama_emu_graph again;
	int rc;

	rama_emu_graph_init(&again);
	rc = rama_emu_graph_read(&again, "iorama", text->buf, text->used, &e);
	CHECK(rc == 0 && again.n_tasks == g->n_tasks && again.n_data == g->n_data &&
	      again.n_edges == g->n_edges && again.n_afters == g->n_afters);
	for (uint32_t i = 0; i < g->n_tasks; i++)
		CHECK(strcmp(again.tasks[i].id, g->tasks[i].id) == 0);
	for (uint32_t i = 0; i < g->n_data; i++)
		CHECK(strcmp(again.data[i].id, g->data[i].id) == 0);
	rama_emu_graph_fini(&again);
}

static void check_written(const struct rama_emu_graph *g)
{
	for (unsigned i = 0; i < rama_emu_n_graph_formats; i++) {
		const struct rama_emu_graph_format *f = &rama_emu_graph_formats[i];
		struct rama_err e = { 0 };
		struct rama_out out;

		if (f->write == NULL)
			continue;
		rama_out_init(&out, NULL, NULL);
		if (f->write(g, &out, &e) == 0 && strcmp(f->name, "iorama") == 0)
			check_again(g, &out);
		else
			CHECK(strcmp(f->name, "iorama") != 0 || e.code < 0);
		rama_out_fini(&out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t what = fuzz_take_byte(&in) % (rama_emu_n_graph_formats + 1);
	const char *format = what == 0 ? NULL : rama_emu_graph_formats[what - 1].name;
	char *text = malloc(in.n + 1); /* its own block: reading beyond the end is seen */
	struct rama_err e = { 0 };
	struct rama_emu_graph g;

	CHECK(text != NULL);
	if (in.n > 0)
		memcpy(text, in.p, in.n);
	rama_emu_graph_init(&g);
	if (rama_emu_graph_read(&g, format, text, in.n, &e) != 0) {
		CHECK(e.code < 0 && e.text[0] != '\0');
	} else {
		check_bounds(&g);
		if (rama_emu_graph_cut(&g, &e) == 0) {
			check_order(&g);
			if (g.n_tasks < SMALL && g.n_edges < SMALL)
				check_schedule(&g);
		}
		if (g.n_tasks < SMALL && g.n_edges < SMALL)
			check_written(&g);
	}
	rama_emu_graph_fini(&g);
	free(text);
	return 0;
}
