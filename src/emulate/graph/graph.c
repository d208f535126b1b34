/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulate/graph/graph_walk.h"

#include <stdlib.h>
#include <string.h>

#include "emulate/format/lines.h"

/* ---- memory --------------------------------------------------------------------------------- */

void rama_emu_graph_init(struct rama_emu_graph *g)
{
	*g = (struct rama_emu_graph){ .iterations = 1, .name = "workflow", .format = "" };
}

void rama_emu_graph_fini(struct rama_emu_graph *g)
{
	free(g->data);
	free(g->tasks);
	free(g->edges);
	free(g->afters);
	free(g->warnings);
	rama_map_fini(&g->data_by_id);
	rama_map_fini(&g->task_by_id);
	rama_arena_fini(&g->arena);
	*g = (struct rama_emu_graph){ 0 };
}

/* room for one more of an array; NULL and the error if there is none */
static void *more(void *array, uint32_t n, uint32_t *room, size_t size, uint64_t most,
		  const char *what, struct rama_err *e)
{
	uint64_t want = *room == 0 ? 64 : 2 * (uint64_t)*room;
	void *p;

	if (n < *room)
		return array;
	if (n >= most) {
		rama_err_set(e, RAMA_ELIMIT, "more than %llu %s", (unsigned long long)most, what);
		return NULL;
	}
	p = reallocarray(array, want, size);
	if (p == NULL)
		rama_err_set(e, RAMA_EMEMORY, "no memory for %llu %s", (unsigned long long)want,
			     what);
	else
		*room = (uint32_t)want;
	return p;
}

static uint64_t hash(const char *s, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
	return h;
}

static bool same_id(const char *id, const char *s, size_t n)
{
	return strncmp(id, s, n) == 0 && id[n] == '\0';
}

/* Ids that share a hash stand at the next keys: found by comparing names. */
static uint64_t *slot_of(const struct rama_map *m, uint64_t *key)
{
	uint64_t *at = rama_map_get(m, *key);

	++*key;
	return at;
}

int64_t rama_emu_graph_find_task(const struct rama_emu_graph *g, const char *id, size_t len)
{
	uint64_t key = hash(id, len), *at;

	while ((at = slot_of(&g->task_by_id, &key)) != NULL)
		if (same_id(g->tasks[*at].id, id, len))
			return (int64_t)*at;
	return -1;
}

int64_t rama_emu_graph_find_datum(const struct rama_emu_graph *g, const char *id, size_t len)
{
	uint64_t key = hash(id, len), *at;

	while ((at = slot_of(&g->data_by_id, &key)) != NULL)
		if (same_id(g->data[*at].id, id, len))
			return (int64_t)*at;
	return -1;
}

static int remember(struct rama_map *m, const char *id, size_t len, uint32_t index)
{
	uint64_t key = hash(id, len), *at;
	bool fresh = false;

	while (slot_of(m, &key) != NULL)
		;
	at = rama_map_put(m, key - 1, &fresh);
	if (at == NULL)
		return RAMA_EMEMORY;
	*at = index;
	return 0;
}

static const char *copy_id(struct rama_emu_graph *g, const char *id, size_t len, struct rama_err *e)
{
	char *text;

	if (len == 0) {
		rama_err_set(e, RAMA_EFORMAT, "an empty name");
		return NULL;
	}
	if (memchr(id, '\0', len) != NULL) {
		rama_err_set(e, RAMA_EFORMAT, "a name with a zero byte in it");
		return NULL;
	}
	text = rama_arena_text(&g->arena, id, len);
	if (text == NULL)
		rama_err_set(e, RAMA_EMEMORY, "%s", rama_err_text(RAMA_EMEMORY));
	return text;
}

/* ---- building ------------------------------------------------------------------------------- */

int64_t rama_emu_graph_task(struct rama_emu_graph *g, const char *id, size_t len,
			    struct rama_err *e)
{
	struct rama_emu_task *t;
	const char *text;

	if (rama_emu_graph_find_task(g, id, len) >= 0)
		return rama_err_set(e, RAMA_EFORMAT, "task %.*s is there twice",
				    (int)(len < 80 ? len : 80), id);
	t = more(g->tasks, g->n_tasks, &g->room_tasks, sizeof(*t), RAMA_EMU_GRAPH_TASKS, "tasks",
		 e);
	if (t == NULL)
		return e != NULL ? e->code : RAMA_EMEMORY;
	g->tasks = t;
	text = copy_id(g, id, len, e);
	if (text == NULL)
		return e != NULL ? e->code : RAMA_EFORMAT;
	if (remember(&g->task_by_id, id, len, g->n_tasks) != 0)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for task %s", text);
	g->tasks[g->n_tasks] = (struct rama_emu_task){ .id = text,
						       .name = text,
						       .ranks = 1,
						       .cores = 1,
						       .read_bytes = -1,
						       .written_bytes = -1,
						       .stage = RAMA_EMU_NONE_YET };
	return g->n_tasks++;
}

int64_t rama_emu_graph_datum(struct rama_emu_graph *g, const char *id, size_t len,
			     struct rama_err *e)
{
	struct rama_emu_datum *d;
	const char *text;

	if (rama_emu_graph_find_datum(g, id, len) >= 0)
		return rama_err_set(e, RAMA_EFORMAT, "data %.*s is there twice",
				    (int)(len < 80 ? len : 80), id);
	d = more(g->data, g->n_data, &g->room_data, sizeof(*d), 10 * RAMA_EMU_GRAPH_TASKS,
		 "data units", e);
	if (d == NULL)
		return e != NULL ? e->code : RAMA_EMEMORY;
	g->data = d;
	text = copy_id(g, id, len, e);
	if (text == NULL)
		return e != NULL ? e->code : RAMA_EFORMAT;
	if (remember(&g->data_by_id, id, len, g->n_data) != 0)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for data %s", text);
	g->data[g->n_data] = (struct rama_emu_datum){ .id = text, .name = text, .size = -1 };
	return g->n_data++;
}

int rama_emu_graph_edge(struct rama_emu_graph *g, uint32_t task, uint32_t data, bool write,
			bool strict, struct rama_err *e)
{
	struct rama_emu_edge *x = more(g->edges, g->n_edges, &g->room_edges, sizeof(*x),
				       20ull * RAMA_EMU_GRAPH_TASKS, "reads and writes", e);

	if (x == NULL)
		return e != NULL ? e->code : RAMA_EMEMORY;
	g->edges = x;
	g->edges[g->n_edges++] = (struct rama_emu_edge){ .task = task,
							 .data = data,
							 .write = write,
							 .strict = strict,
							 .fraction = 1,
							 .request = -1 };
	return 0;
}

int rama_emu_graph_after(struct rama_emu_graph *g, uint32_t before, uint32_t after, bool strict,
			 struct rama_err *e)
{
	struct rama_emu_after *a = more(g->afters, g->n_afters, &g->room_afters, sizeof(*a),
					20ull * RAMA_EMU_GRAPH_TASKS, "relations", e);

	if (a == NULL)
		return e != NULL ? e->code : RAMA_EMEMORY;
	g->afters = a;
	g->afters[g->n_afters++] =
		(struct rama_emu_after){ .before = before, .after = after, .strict = strict };
	return 0;
}

int rama_emu_graph_warn(struct rama_emu_graph *g, const char *text)
{
	char **w = reallocarray(g->warnings, g->n_warnings + 1, sizeof(*w));

	if (w == NULL)
		return RAMA_EMEMORY;
	g->warnings = w;
	w[g->n_warnings] = rama_arena_text(&g->arena, text, strlen(text));
	if (w[g->n_warnings] == NULL)
		return RAMA_EMEMORY;
	g->n_warnings++;
	return 0;
}

/* ---- when all is in ------------------------------------------------------------------------- */

static int by_task(const void *a, const void *b)
{
	const struct rama_emu_edge *x = a, *y = b;

	if (x->task != y->task)
		return x->task < y->task ? -1 : 1;
	if (x->write != y->write) /* what is read stands before what is written */
		return x->write ? 1 : -1;
	return x->data < y->data ? -1 : x->data > y->data;
}

/* The same relation said twice is one; strict wins. */
static void drop_doubles(struct rama_emu_graph *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_edges; i++) {
		struct rama_emu_edge *x = &g->edges[i];

		if (n > 0 && by_task(&g->edges[n - 1], x) == 0)
			g->edges[n - 1].strict |= x->strict;
		else
			g->edges[n++] = *x;
	}
	g->n_edges = n;
}

int rama_emu_graph_finish(struct rama_emu_graph *g, struct rama_err *e)
{
	if (g->n_tasks == 0)
		return rama_err_set(e, RAMA_EFORMAT, "no task in it");
	if (g->n_edges > 0)
		qsort(g->edges, g->n_edges, sizeof(*g->edges), by_task);
	drop_doubles(g);
	for (uint32_t i = 0; i < g->n_data; i++)
		g->data[i].writers = g->data[i].readers = 0;
	for (uint32_t i = 0; i < g->n_tasks; i++)
		g->tasks[i].n_edges = 0;
	for (uint32_t i = 0; i < g->n_edges; i++) {
		struct rama_emu_edge *x = &g->edges[i];
		struct rama_emu_task *t = &g->tasks[x->task];

		if (t->n_edges++ == 0)
			t->first_edge = i;
		if (x->write)
			g->data[x->data].writers++;
		else
			g->data[x->data].readers++;
	}
	return 0;
}

int rama_emu_graph_read(struct rama_emu_graph *g, const char *format, const char *bytes, size_t n,
			struct rama_err *e)
{
	rama_emu_skip_mark(&bytes, &n);
	for (unsigned i = 0; i < rama_emu_n_graph_formats; i++) {
		const struct rama_emu_graph_format *f = &rama_emu_graph_formats[i];
		int rc;

		if (f->read == NULL ||
		    (format != NULL ? strcmp(format, f->name) != 0 : !f->looks_like(bytes, n)))
			continue;
		g->format = f->name;
		rc = f->read(g, bytes, n, e);
		return rc != 0 ? rc : rama_emu_graph_finish(g, e);
	}
	if (format != NULL)
		return rama_err_set(e, RAMA_EUSAGE, "no format %s of workflows can be read",
				    format);
	return rama_err_set(e, RAMA_EFORMAT,
			    "no workflow that is known here: neither TASK and DATA "
			    "lines, READ and WRITE sections, [task NAME] sections "
			    "nor WfFormat's JSON");
}
