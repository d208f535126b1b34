/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/graph/graph_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void ends(const struct rama_emu_graph *g, uint32_t edge, uint32_t *from, uint32_t *to)
{
	if (edge >= g->n_edges) {
		*from = g->afters[edge - g->n_edges].before;
		*to = g->afters[edge - g->n_edges].after;
		return;
	}
	*from = g->edges[edge].task;
	*to = g->n_tasks + g->edges[edge].data;
	if (!g->edges[edge].write) {
		uint32_t task = *from;

		*from = *to;
		*to = task;
	}
}

int rama_emu_arrows_make(struct rama_emu_arrows *a, const struct rama_emu_graph *g)
{
	uint32_t n = g->n_edges + g->n_afters, from, to;

	*a = (struct rama_emu_arrows){ .n_nodes = g->n_tasks + g->n_data };
	a->first = calloc((size_t)a->n_nodes + 2, sizeof(*a->first));
	a->arrow = calloc((size_t)n + 1, sizeof(*a->arrow));
	if (a->first == NULL || a->arrow == NULL) {
		rama_emu_arrows_fini(a);
		return RAMA_EMEMORY;
	}
	/* counted one place further on, so that filling moves each start to where it belongs */
	for (uint32_t i = 0; i < n; i++) {
		ends(g, i, &from, &to);
		a->first[from + 2]++;
	}
	for (uint32_t i = 2; i < a->n_nodes + 2; i++)
		a->first[i] += a->first[i - 1];
	for (uint32_t i = 0; i < n; i++) {
		ends(g, i, &from, &to);
		a->arrow[a->first[from + 1]++] = (struct rama_emu_arrow){ to, i };
	}
	return 0;
}

void rama_emu_arrows_fini(struct rama_emu_arrows *a)
{
	free(a->first);
	free(a->arrow);
	*a = (struct rama_emu_arrows){ 0 };
}

bool rama_emu_arrow_strict(const struct rama_emu_graph *g, uint32_t edge)
{
	return edge < g->n_edges ? g->edges[edge].strict : g->afters[edge - g->n_edges].strict;
}

bool rama_emu_arrow_feedback(const struct rama_emu_graph *g, uint32_t edge)
{
	return edge < g->n_edges ? g->edges[edge].feedback : g->afters[edge - g->n_edges].feedback;
}

bool rama_emu_arrow_holds(const struct rama_emu_graph *g, uint32_t edge)
{
	if (rama_emu_arrow_feedback(g, edge))
		return false;
	return rama_emu_arrow_strict(g, edge) || (edge < g->n_edges && g->edges[edge].write);
}

static void cut(struct rama_emu_graph *g, uint32_t edge)
{
	if (edge >= g->n_edges) {
		g->afters[edge - g->n_edges].feedback = true;
		return;
	}
	g->edges[edge].feedback = true;
	if (g->edges[edge].write)
		g->data[g->edges[edge].data].fed_back = true;
}

const char *rama_emu_node_id(const struct rama_emu_graph *g, uint32_t node)
{
	return node < g->n_tasks ? g->tasks[node].id : g->data[node - g->n_tasks].id;
}

/* ---- cycles --------------------------------------------------------------------------------- */

enum { WHITE, ON_PATH, BLACK };

struct step {
	uint32_t node, next; /* arrow to look at next */
	uint32_t by;	     /* edge that led here */
};

struct search {
	struct rama_emu_graph *g;
	struct rama_emu_arrows a;
	uint8_t *colour;
	struct step *path;
	uint32_t depth;
	uint32_t work; /* cuts so far */
};

#define CUTS_MOST 100000 /* more loops than any workflow has */

static int name_cycle(const struct search *s, uint32_t head, struct rama_err *e)
{
	char text[400];
	size_t used = 0;
	uint32_t at = head, n = s->depth - head;

	for (uint32_t i = 0; i <= n; i++, at++) {
		const char *id = rama_emu_node_id(s->g, s->path[i == n ? head : at].node);
		size_t len = strlen(id);

		if (i > 6 && i + 3 < n) { /* of a long one: the start and the end */
			if (i == 7 && used + 8 < sizeof(text))
				used += (size_t)snprintf(text + used, sizeof(text) - used,
							 " -> ...");
			continue;
		}
		if (used + len + 8 > sizeof(text))
			break;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
					 i == 0 ? "" : " -> ", id);
	}
	return rama_err_set(
		e, RAMA_EFORMAT,
		"a cycle: the tasks wait for each other for ever: %s; make one of these "
		"relations non-strict",
		text);
}

/* The path from `head` to its end and back by `edge` is a cycle: cuts it, nearest to its end
 * first, and goes back to where the path is still whole. */
static int break_cycle(struct search *s, uint32_t head, uint32_t edge, struct rama_err *e)
{
	uint32_t i = s->depth;

	if (++s->work > CUTS_MOST)
		return rama_err_set(e, RAMA_ELIMIT, "more than %d cycles", CUTS_MOST);
	if (!rama_emu_arrow_strict(s->g, edge)) {
		cut(s->g, edge);
		return 0;
	}
	while (--i > head && rama_emu_arrow_strict(s->g, s->path[i].by))
		;
	if (i == head)
		return name_cycle(s, head, e);
	cut(s->g, s->path[i].by);
	while (s->depth > i)
		s->colour[s->path[--s->depth].node] = WHITE;
	return 0;
}

static int visit(struct search *s, uint32_t root, struct rama_err *e)
{
	s->path[0] = (struct step){ root, s->a.first[root], 0 };
	s->depth = 1;
	s->colour[root] = ON_PATH;
	while (s->depth > 0) {
		struct step *top = &s->path[s->depth - 1];
		struct rama_emu_arrow next;

		if (top->next == s->a.first[top->node + 1]) {
			s->colour[top->node] = BLACK;
			s->depth--;
			continue;
		}
		next = s->a.arrow[top->next++];
		if (rama_emu_arrow_feedback(s->g, next.edge) || s->colour[next.to] == BLACK)
			continue;
		if (s->colour[next.to] == WHITE) {
			s->colour[next.to] = ON_PATH;
			s->path[s->depth++] =
				(struct step){ next.to, s->a.first[next.to], next.edge };
		} else {
			uint32_t head = s->depth;
			int rc;

			while (s->path[--head].node != next.to)
				;
			rc = break_cycle(s, head, next.edge, e);
			if (rc != 0)
				return rc;
		}
	}
	return 0;
}

int rama_emu_graph_cut(struct rama_emu_graph *g, struct rama_err *e)
{
	struct search s = { .g = g };
	int rc = rama_emu_arrows_make(&s.a, g);

	s.colour = calloc((size_t)s.a.n_nodes + 1, 1);
	s.path = calloc((size_t)s.a.n_nodes + 1, sizeof(*s.path));
	if (rc != 0 || s.colour == NULL || s.path == NULL) {
		rama_err_set(e, RAMA_EMEMORY, "no memory to order %u tasks", g->n_tasks);
		rc = RAMA_EMEMORY;
	}
	for (uint32_t i = 0; rc == 0 && i < s.a.n_nodes; i++)
		if (s.colour[i] == WHITE)
			rc = visit(&s, i, e);
	rama_emu_arrows_fini(&s.a);
	free(s.colour);
	free(s.path);
	return rc;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Nodes in an order in which every arrow goes forward, and how many arrows away from a start;
 * feedback does not count. Without a cycle all of them are in it. */
static int sort_nodes(const struct rama_emu_graph *g, struct rama_emu_arrows *a, uint32_t *order,
		      uint32_t *level)
{
	uint32_t *wait = calloc((size_t)a->n_nodes + 1, sizeof(*wait)), n = 0;

	if (wait == NULL)
		return RAMA_EMEMORY;
	for (uint32_t i = 0; i < a->first[a->n_nodes]; i++)
		if (!rama_emu_arrow_feedback(g, a->arrow[i].edge))
			wait[a->arrow[i].to]++;
	for (uint32_t i = 0; i < a->n_nodes; i++) {
		level[i] = 0;
		if (wait[i] == 0)
			order[n++] = i;
	}
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = a->first[order[i]]; k < a->first[order[i] + 1]; k++) {
			uint32_t to = a->arrow[k].to;

			if (rama_emu_arrow_feedback(g, a->arrow[k].edge))
				continue;
			if (level[to] < level[order[i]] + 1)
				level[to] = level[order[i]] + 1;
			if (--wait[to] == 0)
				order[n++] = to;
		}
	}
	free(wait);
	return n == a->n_nodes ? 0 : RAMA_EFORMAT;
}

int rama_emu_graph_levels(const struct rama_emu_graph *g, uint32_t *level)
{
	struct rama_emu_arrows a;
	int rc = rama_emu_arrows_make(&a, g);
	uint32_t *wait = calloc((size_t)a.n_nodes + 1, sizeof(*wait));
	uint32_t *queue = calloc((size_t)a.n_nodes + 1, sizeof(*queue)), n = 0;
	bool *queued = calloc((size_t)a.n_nodes + 1, sizeof(*queued));

	if (rc == 0 && (wait == NULL || queue == NULL || queued == NULL))
		rc = RAMA_EMEMORY;
	for (uint32_t i = 0; rc == 0 && i < a.first[a.n_nodes]; i++)
		wait[a.arrow[i].to] += !rama_emu_arrow_feedback(g, a.arrow[i].edge);
	for (uint32_t i = 0; rc == 0 && i < a.n_nodes; i++) {
		level[i] = 0;
		queued[i] = wait[i] == 0;
		if (queued[i])
			queue[n++] = i;
	}
	for (uint32_t i = 0; rc == 0 && i < a.n_nodes; i++) {
		for (uint32_t k = 0; i == n; k++) { /* a cycle: broken at the first that is left */
			if (queued[k])
				continue;
			queued[k] = true;
			queue[n++] = k;
		}
		for (uint32_t k = a.first[queue[i]]; k < a.first[queue[i] + 1]; k++) {
			uint32_t to = a.arrow[k].to;

			if (rama_emu_arrow_feedback(g, a.arrow[k].edge) || queued[to])
				continue;
			level[to] = level[to] > level[queue[i]] ? level[to] : level[queue[i]] + 1;
			if (--wait[to] > 0)
				continue;
			queued[to] = true;
			queue[n++] = to;
		}
	}
	rama_emu_arrows_fini(&a);
	free(wait);
	free(queue);
	free(queued);
	return rc;
}

struct sorted {
	struct rama_emu_arrows a;
	uint32_t *order, *level;
};

static int sorted_make(struct sorted *s, const struct rama_emu_graph *g)
{
	int rc = rama_emu_arrows_make(&s->a, g);

	s->order = calloc((size_t)s->a.n_nodes + 1, sizeof(*s->order));
	s->level = calloc((size_t)s->a.n_nodes + 1, sizeof(*s->level));
	if (rc == 0)
		rc = s->order == NULL || s->level == NULL
			     ? RAMA_EMEMORY
			     : sort_nodes(g, &s->a, s->order, s->level);
	return rc;
}

static void sorted_fini(struct sorted *s)
{
	rama_emu_arrows_fini(&s->a);
	free(s->order);
	free(s->level);
}

int rama_emu_graph_order(const struct rama_emu_graph *g, uint32_t *order)
{
	struct sorted s;
	int rc = sorted_make(&s, g);

	for (uint32_t i = 0, n = 0; rc == 0 && i < s.a.n_nodes; i++)
		if (s.order[i] < g->n_tasks)
			order[n++] = s.order[i];
	sorted_fini(&s);
	return rc;
}

int rama_emu_graph_stages(struct rama_emu_graph *g)
{
	struct sorted s;
	int rc = sorted_make(&s, g);

	/* each task is two arrows further than the one whose data it reads */
	for (uint32_t i = 0; rc == 0 && i < g->n_tasks; i++)
		if (g->tasks[i].stage == RAMA_EMU_NONE_YET)
			g->tasks[i].stage = (s.level[i] + 1) / 2;
	sorted_fini(&s);
	return rc;
}

int64_t rama_emu_graph_critical(const struct rama_emu_graph *g, const double *seconds,
				uint32_t *tasks)
{
	struct sorted s;
	int rc = sorted_make(&s, g);
	double *reach = calloc((size_t)s.a.n_nodes + 1, sizeof(*reach));
	uint32_t *via = calloc((size_t)s.a.n_nodes + 1, sizeof(*via)), n = 0, at = 0;

	if (rc == 0 && (reach == NULL || via == NULL))
		rc = RAMA_EMEMORY;
	/* from the ends back: the longest way from each node on, and where it leads */
	for (uint32_t i = s.a.n_nodes; rc == 0 && i-- > 0;) {
		uint32_t node = s.order[i];

		via[node] = RAMA_EMU_NONE_YET;
		for (uint32_t k = s.a.first[node]; k < s.a.first[node + 1]; k++) {
			uint32_t to = s.a.arrow[k].to;

			if (!rama_emu_arrow_holds(g, s.a.arrow[k].edge))
				continue;
			if (via[node] == RAMA_EMU_NONE_YET || reach[to] > reach[via[node]])
				via[node] = to;
		}
		reach[node] = (via[node] != RAMA_EMU_NONE_YET ? reach[via[node]] : 0) +
			      (node < g->n_tasks ? seconds[node] : 0);
		if (reach[node] >= reach[at] || i == s.a.n_nodes - 1)
			at = node;
	}
	for (; rc == 0 && at != RAMA_EMU_NONE_YET; at = via[at])
		if (at < g->n_tasks)
			tasks[n++] = at;
	free(reach);
	free(via);
	sorted_fini(&s);
	return rc != 0 ? rc : (int64_t)n;
}

/* longest way from each task to an end, by its seconds */
int rama_emu_graph_ways(const struct rama_emu_graph *g, double *way)
{
	struct sorted s;
	int rc = sorted_make(&s, g);
	double *reach = calloc((size_t)s.a.n_nodes + 1, sizeof(*reach));

	if (rc == 0 && reach == NULL)
		rc = RAMA_EMEMORY;
	for (uint32_t i = s.a.n_nodes; rc == 0 && i-- > 0;) {
		uint32_t node = s.order[i];

		for (uint32_t k = s.a.first[node]; k < s.a.first[node + 1]; k++)
			if (!rama_emu_arrow_feedback(g, s.a.arrow[k].edge) &&
			    reach[s.a.arrow[k].to] > reach[node])
				reach[node] = reach[s.a.arrow[k].to];
		if (node < g->n_tasks) {
			/* a task of no known length still is a step */
			reach[node] += g->tasks[node].seconds > 0 ? g->tasks[node].seconds : 1e-6;
			way[node] = reach[node];
		}
	}
	free(reach);
	sorted_fini(&s);
	return rc;
}
