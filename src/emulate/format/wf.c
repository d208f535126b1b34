/* SPDX-License-Identifier: BSD-3-Clause */
/* wf.c: WfCommons' WfFormat, versions 1.0 to 1.5, told apart by their shape and not by
 * what they say: tasks or jobs; one table of files or files inside each task; ids or names in
 * `parents`; units in the names or not. */
#ifndef RAMA_WITHOUT_JANSSON
#include <jansson.h>
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/without.h"
#include "emulate/format/formats.h"
#include "emulate/format/lines.h"
#include "emulate/graph/graph_walk.h"

bool rama_emu_looks_wfformat(const char *bytes, size_t n)
{
	struct rama_config_piece p;

	for (p = (struct rama_config_piece){ bytes, n };
	     p.n > 0 && strchr(" \t\r\n\xef\xbb\xbf", *p.p);)
		p = (struct rama_config_piece){ p.p + 1, p.n - 1 };
	return p.n > 0 && p.p[0] == '{';
}

/* lists of files that a task has; keys of our own say the same of relations that are not strict */
struct wf_list {
	const char *key;
	bool write, strict;
};

static const struct wf_list wf_lists[] = { { "inputFiles", false, true },
					   { "outputFiles", true, true },
					   { "looseInputFiles", false, false },
					   { "looseOutputFiles", true, false } };
static const size_t n_wf_lists = sizeof(wf_lists) / sizeof(wf_lists[0]);

#ifdef RAMA_WITHOUT_JANSSON
int rama_emu_read_wfformat(struct rama_emu_graph *g, const char *bytes, size_t n,
			   struct rama_err *e)
{
	(void)g, (void)bytes, (void)n;
	return rama_err_without(e, "a reader of JSON (jansson)");
}
#else
struct reader {
	struct rama_emu_graph *g;
	struct rama_err *e;
	/* names of tasks, where parents are given by name: index of the task in `ranks` */
	struct rama_emu_graph names;
	bool kilobytes; /* bytesRead and the like of old versions, but not of Pegasus */
};

#define WRONG(r, ...) rama_err_set((r)->e, RAMA_EFORMAT, __VA_ARGS__)

/* ---- what may have several names ------------------------------------------------------------ */

/* the first of the keys that is there; a list that ends in NULL */
static const json_t *any_of(const json_t *object, const char *const *keys)
{
	for (; *keys != NULL; keys++) {
		const json_t *found = json_object_get(object, *keys);

		if (found != NULL && !json_is_null(found))
			return found;
	}
	return NULL;
}
#define ANY(object, ...) any_of(object, (const char *const[]){ __VA_ARGS__, NULL })

static const char *text_of(const json_t *value)
{
	return json_is_string(value) ? json_string_value(value) : NULL;
}

/* A number that is not negative, or what holds without one; numbers as text are taken too. */
static int number_of(struct reader *r, const json_t *value, const char *what, double otherwise,
		     double *to)
{
	const char *text = text_of(value);

	*to = otherwise;
	if (value == NULL)
		return 0;
	if (json_is_number(value))
		*to = json_number_value(value);
	else if (text == NULL ||
		 !rama_emu_word_number((struct rama_config_piece){ text, strlen(text) }, to))
		return WRONG(r, "%s is no number", what);
	if (!isfinite(*to) || *to < 0)
		return WRONG(r, "%s is negative", what);
	return 0;
}

static int size_of(struct reader *r, const json_t *value, const char *what, int64_t *to)
{
	double n;
	int rc;

	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*to = json_integer_value(value); /* exact, also above 2^53 */
		return 0;
	}
	rc = number_of(r, value, what, -1, &n);
	if (rc == 0 && n > 9.2e18)
		return WRONG(r, "%s is larger than any file", what);
	*to = (int64_t)n;
	return rc;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static const char *id_of(const json_t *task)
{
	const char *id = text_of(json_object_get(task, "id"));

	return id != NULL ? id : text_of(json_object_get(task, "name"));
}

static const char *keep(struct reader *r, const char *text)
{
	return text != NULL ? rama_arena_text(&r->g->arena, text, strlen(text)) : NULL;
}

/* Times and bytes stand beside the task, or in a record of its own in `execution`. */
static int read_measured(struct reader *r, const json_t *from, uint32_t task)
{
	struct rama_emu_task *t = &r->g->tasks[task];
	double cores = 1, cpu, factor = r->kilobytes ? 1000 : 1, n;
	const json_t *v;
	int rc = number_of(r, ANY(from, "runtimeInSeconds", "runtime"), "run time", t->seconds,
			   &t->seconds);

	t->measured = true;
	v = json_object_get(from, "computeInSeconds"); /* our own: without I/O in it */
	if (rc == 0 && v != NULL) {
		rc = number_of(r, v, "compute time", 0, &t->seconds);
		t->measured = false;
	}
	if (rc == 0)
		rc = number_of(r, ANY(from, "coreCount", "cores"), "number of cores", t->cores,
			       &cores);
	if (rc == 0)
		rc = number_of(r, ANY(from, "avgCPU"), "avgCPU", 100, &cpu);
	if (rc == 0 && ANY(from, "coreCount", "cores") != NULL)
		t->cores = cores;
	if (rc == 0 && ANY(from, "avgCPU") != NULL && cpu > 100 * t->cores)
		t->cores = cpu / 100;
	v = ANY(from, "readBytes", "bytesRead");
	if (rc == 0 && v != NULL) {
		rc = number_of(r, v, "readBytes", 0, &n);
		t->read_bytes = (int64_t)fmin(n * (ANY(from, "readBytes") ? 1 : factor), 9e18);
	}
	v = ANY(from, "writtenBytes", "bytesWritten");
	if (rc == 0 && v != NULL) {
		rc = number_of(r, v, "writtenBytes", 0, &n);
		t->written_bytes =
			(int64_t)fmin(n * (ANY(from, "writtenBytes") ? 1 : factor), 9e18);
	}
	return rc;
}

/* a whole number of our own keys, 1 without it */
static int whole_of(struct reader *r, const json_t *from, const char *key, uint32_t *to)
{
	const json_t *v = json_object_get(from, key);

	if (v == NULL)
		return 0;
	if (!json_is_integer(v) || json_integer_value(v) < 1 ||
	    json_integer_value(v) > RAMA_EMU_GRAPH_TASKS)
		return WRONG(r, "%s is no number from 1 to %d", key, RAMA_EMU_GRAPH_TASKS);
	*to = (uint32_t)json_integer_value(v);
	return 0;
}

static int add_task(struct reader *r, const json_t *task, size_t i)
{
	const char *id = id_of(task), *name = text_of(json_object_get(task, "name"));
	int64_t t, twin;

	if (!json_is_object(task) || id == NULL)
		return WRONG(r, "task %zu has neither id nor name", i);
	t = rama_emu_graph_task(r->g, id, strlen(id), r->e);
	if (t < 0)
		return (int)t;
	if (name != NULL)
		r->g->tasks[t].name = keep(r, name);
	r->g->tasks[t].app = keep(r, text_of(json_object_get(task, "category")));
	if (r->g->tasks[t].name == NULL)
		return rama_err_set(r->e, RAMA_EMEMORY, "no memory");
	if (name != NULL && rama_emu_graph_find_task(&r->names, name, strlen(name)) < 0) {
		twin = rama_emu_graph_task(&r->names, name, strlen(name), r->e);
		if (twin < 0)
			return (int)twin;
		r->names.tasks[twin].ranks = (uint32_t)t;
	}
	if (whole_of(r, task, "ranks", &r->g->tasks[t].ranks) != 0)
		return r->e->code;
	return read_measured(r, task, (uint32_t)t);
}

static int64_t find_task(struct reader *r, const char *id)
{
	int64_t t = rama_emu_graph_find_task(r->g, id, strlen(id));

	if (t >= 0)
		return t;
	t = rama_emu_graph_find_task(&r->names, id, strlen(id));
	return t >= 0 ? (int64_t)r->names.tasks[t].ranks : -1;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int add_file(struct reader *r, const json_t *file, const char *id, int64_t *index)
{
	const json_t *size = ANY(file, "sizeInBytes", "size");
	struct rama_emu_datum *d;
	int64_t bytes = -1;
	int rc;

	if (id == NULL)
		return WRONG(r, "a file has neither id nor name");
	rc = size_of(r, size, "size of a file", &bytes);
	if (rc != 0)
		return rama_err_prefix(r->e, "%.80s", id);
	*index = rama_emu_graph_find_datum(r->g, id, strlen(id));
	if (*index < 0)
		*index = rama_emu_graph_datum(r->g, id, strlen(id), r->e);
	if (*index < 0)
		return (int)*index;
	d = &r->g->data[*index];
	if (bytes > d->size) /* 1.4 says it in every task; the largest is right */
		d->size = bytes;
	return 0;
}

static int add_files(struct reader *r, const json_t *files)
{
	const json_t *file;
	size_t i;
	int64_t index;
	int rc = 0;

	json_array_foreach(files, i, file)
	{
		const char *id = text_of(ANY(file, "id", "name"));

		if (rc == 0)
			rc = add_file(r, file, id, &index);
	}
	return rc;
}

static int use_list(struct reader *r, uint32_t task, const json_t *list, const struct wf_list *how)
{
	const json_t *item;
	size_t i;
	int rc = 0;

	json_array_foreach(list, i, item)
	{
		const char *id = text_of(item);
		int64_t d = id != NULL ? rama_emu_graph_find_datum(r->g, id, strlen(id)) : -1;

		if (rc != 0)
			break;
		if (id == NULL)
			return WRONG(r, "task %s: a file id that is no text", r->g->tasks[task].id);
		if (d < 0) /* not in the table: a file of no known size */
			d = rama_emu_graph_datum(r->g, id, strlen(id), r->e);
		rc = d < 0 ? (int)d
			   : rama_emu_graph_edge(r->g, task, (uint32_t)d, how->write, how->strict,
						 r->e);
	}
	return rc;
}

static int use_inner(struct reader *r, uint32_t task, const json_t *files)
{
	const json_t *file;
	size_t i;
	int rc = 0;

	json_array_foreach(files, i, file)
	{
		const char *link = text_of(json_object_get(file, "link"));
		int64_t d = -1;

		if (rc != 0)
			break;
		if (link == NULL || (strcmp(link, "input") != 0 && strcmp(link, "output") != 0))
			return WRONG(r, "task %s: a file is neither input nor output",
				     r->g->tasks[task].id);
		rc = add_file(r, file, text_of(ANY(file, "id", "name")), &d);
		if (rc == 0)
			rc = rama_emu_graph_edge(r->g, task, (uint32_t)d,
						 strcmp(link, "output") == 0, true, r->e);
	}
	return rc;
}

/* ---- relations ------------------------------------------------------------------------------ */

static int relate(struct reader *r, uint32_t task, const json_t *list, bool parents)
{
	const json_t *item;
	size_t i;
	int rc = 0;

	json_array_foreach(list, i, item)
	{
		const char *id = text_of(item);
		int64_t other = id != NULL ? find_task(r, id) : -1;

		if (rc != 0)
			break;
		if (other < 0)
			return WRONG(r, "task %s: %s %.80s is not there", r->g->tasks[task].id,
				     parents ? "parent" : "child", id != NULL ? id : "?");
		rc = rama_emu_graph_after(r->g, parents ? (uint32_t)other : task,
					  parents ? task : (uint32_t)other, true, r->e);
	}
	return rc;
}

static int read_uses(struct reader *r, const json_t *task)
{
	uint32_t t = (uint32_t)rama_emu_graph_find_task(r->g, id_of(task), strlen(id_of(task)));
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n_wf_lists; i++)
		rc = use_list(r, t, json_object_get(task, wf_lists[i].key), &wf_lists[i]);
	if (rc == 0)
		rc = use_inner(r, t, json_object_get(task, "files"));
	if (rc == 0)
		rc = relate(r, t, json_object_get(task, "parents"), true);
	if (rc == 0)
		rc = relate(r, t, json_object_get(task, "children"), false);
	return rc;
}

static int by_ends(const void *a, const void *b)
{
	const struct rama_emu_after *x = a, *y = b;

	if (x->after != y->after)
		return x->after < y->after ? -1 : 1;
	return x->before < y->before ? -1 : x->before > y->before;
}

/* Parents and children say each relation twice. */
static void drop_double_afters(struct rama_emu_graph *g)
{
	uint32_t n = 0;

	if (g->n_afters > 0)
		qsort(g->afters, g->n_afters, sizeof(*g->afters), by_ends);
	for (uint32_t i = 0; i < g->n_afters; i++)
		if (n == 0 || by_ends(&g->afters[n - 1], &g->afters[i]) != 0)
			g->afters[n++] = g->afters[i];
	g->n_afters = n;
}

/* Tasks that read what they write: the edge that reads is made loose. */
static void loosen_in_place(struct rama_emu_graph *g)
{
	for (uint32_t i = 0; g->n_edges > 0 && i < g->n_tasks; i++) {
		struct rama_emu_edge *x = &g->edges[g->tasks[i].first_edge];
		uint32_t n = g->tasks[i].n_edges, writes = 0;

		while (writes < n && !x[writes].write)
			writes++;
		/* both sides are sorted by data */
		for (uint32_t a = 0, b = writes; a < writes && b < n;) {
			if (x[a].data == x[b].data)
				x[a].strict = false;
			if (x[a].data <= x[b].data)
				a++;
			else
				b++;
		}
	}
}

/* ---- the document --------------------------------------------------------------------------- */

static int read_execution(struct reader *r, const json_t *execution)
{
	const json_t *tasks = json_object_get(execution, "tasks"), *task;
	size_t i;
	int rc = 0;

	json_array_foreach(tasks, i, task)
	{
		const char *id = text_of(json_object_get(task, "id"));
		int64_t t = id != NULL ? find_task(r, id) : -1;

		if (rc == 0 && t >= 0)
			rc = read_measured(r, task, (uint32_t)t);
		if (rc != 0)
			return rama_err_prefix(r->e, "task %.80s", id);
	}
	return 0;
}

static int read_tasks(struct reader *r, const json_t *tasks)
{
	const json_t *task;
	size_t i;
	int rc = 0;

	json_array_foreach(tasks, i, task)
	{
		rc = add_task(r, task, i);
		if (rc != 0)
			return rc;
	}
	json_array_foreach(tasks, i, task)
	{
		rc = read_uses(r, task);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int read_root(struct reader *r, const json_t *root)
{
	const json_t *workflow = json_object_get(root, "workflow"), *spec, *execution, *tasks;
	const char *system = text_of(json_object_get(ANY(root, "runtimeSystem", "wms"), "name"));
	const char *name = text_of(json_object_get(root, "name"));
	int rc;

	if (!json_is_object(workflow))
		return WRONG(r, "no object called workflow: not WfFormat");
	spec = json_object_get(workflow, "specification");
	execution = json_object_get(workflow, "execution");
	spec = spec != NULL ? spec : workflow;
	tasks = ANY(spec, "tasks", "jobs");
	if (!json_is_array(tasks))
		return WRONG(r, "no list of tasks: not WfFormat");
	r->kilobytes = system == NULL || strcasecmp(system, "Pegasus") != 0;
	if (name != NULL)
		r->g->name = keep(r, name);
	rc = number_of(
		r, ANY(execution != NULL ? execution : workflow, "makespanInSeconds", "makespan"),
		"makespan", 0, &r->g->makespan);
	if (rc == 0)
		rc = whole_of(r, spec, "iterations", &r->g->iterations);
	if (rc == 0)
		rc = add_files(r, json_object_get(spec, "files"));
	if (rc == 0)
		rc = read_tasks(r, tasks);
	if (rc == 0)
		rc = read_execution(r, execution);
	if (rc != 0)
		return rc;
	drop_double_afters(r->g);
	rc = rama_emu_graph_finish(r->g, r->e);
	if (rc == 0)
		loosen_in_place(r->g);
	return rc;
}

int rama_emu_read_wfformat(struct rama_emu_graph *g, const char *bytes, size_t n,
			   struct rama_err *e)
{
	struct reader r = { .g = g, .e = e };
	json_error_t bad;
	size_t mark = n >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0
			      ? 3
			      : 0; /* of UTF-8: some editors write it */
	json_t *root = json_loadb(bytes + mark, n - mark, 0, &bad);
	int rc;

	if (root == NULL)
		return rama_err_set(e, RAMA_EFORMAT, "line %d, column %d: %s", bad.line, bad.column,
				    bad.text);
	rama_emu_graph_init(&r.names);
	rc = read_root(&r, root);
	rama_emu_graph_fini(&r.names);
	json_decref(root);
	return rc;
}
#endif

/* ---- writing -------------------------------------------------------------------------------- */
/* WfFormat 1.5, with keys of our own for what it cannot say
 * (docs/format/workflow.md). */

static void put_ids(struct rama_json *j, const struct rama_emu_graph *g,
		    const struct rama_emu_task *t, const struct wf_list *list)
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
		for (size_t k = 0; k < n_wf_lists; k++)
			put_ids(j, g, t, &wf_lists[k]);
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
