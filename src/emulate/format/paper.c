/* SPDX-License-Identifier: BSD-3-Clause */
/* paper.c: the workflow file of the Wemul paper:
 *
 *   APP  <id> <name> <processes> <seconds>
 *   TASK <id> [<app>] <name> <seconds>
 *   DATA <id> <name> <bytes> [words]
 *   PARENT    <id>... CHILD    <id>... [ACCESS 0|1]
 *   NS_PARENT <id>... NS_CHILD <id>... [ACCESS 0|1]     not strict
 *
 * Comments, blank lines and any number of blanks are fine; what a relation names may be declared
 * after it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "emulate/format/formats.h"
#include "emulate/graph/graph_walk.h"
#include "emulate/format/lines.h"

#define WORDS_MOST 65536 /* of a relation */
#define APPS_MOST 4096

/* tasks first .. first + n - 1 of the graph were made from one APP line */
struct app {
	const char *id;
	uint32_t first, n;
};

struct reader {
	struct rama_emu_graph *g;
	struct rama_emu_lines lines;
	struct app *apps;
	size_t n_apps, room_apps;
	uint32_t *left, *right; /* nodes of a relation */
	struct rama_err *e;
};

bool rama_emu_looks_paper(const char *bytes, size_t n)
{
	struct rama_emu_lines l;
	struct rama_config_piece line, word;

	rama_emu_lines_init(&l, bytes, n);
	while (rama_emu_lines_next(&l, &line))
		if (rama_emu_word_next(&line, &word) && line.n > 0)
			return rama_config_piece_is(word, "APP") ||
			       rama_config_piece_is(word, "TASK") ||
			       rama_config_piece_is(word, "DATA") ||
			       rama_config_piece_is(word, "PARENT") ||
			       rama_config_piece_is(word, "NS_PARENT");
	return false;
}

/* ---- declarations --------------------------------------------------------------------------- */

static size_t words_of(struct rama_config_piece line, struct rama_config_piece *w, size_t most)
{
	size_t n = 0;

	while (n < most && rama_emu_word_next(&line, &w[n]))
		n++;
	return n;
}

static int at_line(struct reader *r, int64_t rc)
{
	return rc >= 0 ? 0 : rama_err_prefix(r->e, "line %lu", r->lines.number);
}

static const char *keep(struct reader *r, struct rama_config_piece w)
{
	return rama_arena_text(&r->g->arena, w.p, w.n);
}

static struct app *find_app(struct reader *r, struct rama_config_piece id)
{
	for (size_t i = 0; i < r->n_apps; i++)
		if (rama_config_piece_is(id, r->apps[i].id))
			return &r->apps[i];
	return NULL;
}

static int add_app(struct reader *r, struct rama_config_piece id, uint32_t first, uint32_t n)
{
	if (find_app(r, id) != NULL)
		return rama_emu_lines_error(&r->lines, r->e, "APP %.*s is there twice",
					    RAMA_EMU_PIECE(id));
	if (r->n_apps == APPS_MOST)
		return rama_emu_lines_error(&r->lines, r->e, "more than %d applications",
					    APPS_MOST);
	if (!RAMA_GROW(r->apps, r->room_apps, r->n_apps + 1))
		return rama_err_set(r->e, RAMA_EMEMORY, "no memory");
	r->apps[r->n_apps] = (struct app){ keep(r, id), first, n };
	if (r->apps[r->n_apps].id == NULL)
		return rama_err_set(r->e, RAMA_EMEMORY, "no memory");
	r->n_apps++;
	return 0;
}

/* Tasks of an application are T1, T2, ... counted through the file. */
static int read_app(struct reader *r, struct rama_config_piece line)
{
	struct rama_config_piece w[5];
	uint32_t first = r->g->n_tasks;
	double n, seconds;
	char text[128];

	if (words_of(line, w, 5) != 4)
		return rama_emu_lines_error(
			&r->lines, r->e,
			"APP needs an id, a name, a number of processes and seconds");
	if (!rama_emu_word_number(w[2], &n) || n < 1 || n > RAMA_EMU_GRAPH_TASKS ||
	    n != (uint32_t)n)
		return rama_emu_lines_error(&r->lines, r->e, "APP: %.*s is no number of processes",
					    RAMA_EMU_PIECE(w[2]));
	if (!rama_emu_word_seconds(w[3], &seconds))
		return rama_emu_lines_error(&r->lines, r->e, "APP: %.*s is no time in seconds",
					    RAMA_EMU_PIECE(w[3]));
	for (uint32_t k = 1; k <= (uint32_t)n; k++) {
		int len = snprintf(text, sizeof(text), "T%u", r->g->n_tasks + 1);
		int64_t t = rama_emu_graph_task(r->g, text, (size_t)len, r->e);

		if (t < 0)
			return at_line(r, t);
		snprintf(text, sizeof(text), "%.*s.%u", RAMA_EMU_PIECE(w[1]), k);
		r->g->tasks[t].name = rama_arena_text(&r->g->arena, text, strlen(text));
		r->g->tasks[t].app = keep(r, w[0]);
		r->g->tasks[t].seconds = seconds;
		if (r->g->tasks[t].name == NULL || r->g->tasks[t].app == NULL)
			return rama_err_set(r->e, RAMA_EMEMORY, "no memory");
	}
	return add_app(r, w[0], first, (uint32_t)n);
}

static int read_task(struct reader *r, struct rama_config_piece line)
{
	struct rama_config_piece w[5];
	size_t n = words_of(line, w, 5);
	double seconds;
	int64_t t;

	if (n != 3 && n != 4)
		return rama_emu_lines_error(
			&r->lines, r->e,
			"TASK needs an id, perhaps an application, a name and seconds");
	if (!rama_emu_word_seconds(w[n - 1], &seconds))
		return rama_emu_lines_error(&r->lines, r->e, "TASK: %.*s is no time in seconds",
					    RAMA_EMU_PIECE(w[n - 1]));
	t = rama_emu_graph_task(r->g, w[0].p, w[0].n, r->e);
	if (t < 0)
		return at_line(r, t);
	r->g->tasks[t].name = keep(r, w[n - 2]);
	r->g->tasks[t].app = n == 4 ? keep(r, w[1]) : NULL;
	r->g->tasks[t].seconds = seconds;
	return 0;
}

static int read_data(struct reader *r, struct rama_config_piece line)
{
	struct rama_config_piece w[3], rest = line;
	int64_t d, size;

	for (int i = 0; i < 3; i++)
		if (!rama_emu_word_next(&rest, &w[i]))
			return rama_emu_lines_error(&r->lines, r->e,
						    "DATA needs an id, a name and a size");
	if (!rama_emu_word_size(w[2], &size))
		return rama_emu_lines_error(&r->lines, r->e, "DATA: %.*s is no size",
					    RAMA_EMU_PIECE(w[2]));
	d = rama_emu_graph_datum(r->g, w[0].p, w[0].n, r->e);
	if (d < 0)
		return at_line(r, d);
	rest = rama_emu_piece_trim(rest);
	r->g->data[d].name = keep(r, w[1]);
	r->g->data[d].size = size;
	r->g->data[d].note = rest.n > 0 ? keep(r, rest) : NULL;
	return 0;
}

/* ---- relations ------------------------------------------------------------------------------ */

/* the nodes of a name: a data unit, a task, or all tasks of an application */
static int add_nodes(struct reader *r, struct rama_config_piece id, uint32_t *to, uint32_t *n)
{
	int64_t d = rama_emu_graph_find_datum(r->g, id.p, id.n), t;
	struct app *app;

	if (d >= 0) {
		to[(*n)++] = r->g->n_tasks + (uint32_t)d;
		return *n < WORDS_MOST ? 0 : RAMA_ELIMIT;
	}
	app = find_app(r, id);
	for (uint32_t i = 0; app != NULL && i < app->n; i++) {
		if (*n + 1 >= WORDS_MOST)
			return rama_emu_lines_error(&r->lines, r->e, "more than %d names",
						    WORDS_MOST);
		to[(*n)++] = app->first + i;
	}
	if (app != NULL)
		return 0;
	t = rama_emu_graph_find_task(r->g, id.p, id.n);
	if (t < 0)
		return rama_emu_lines_error(&r->lines, r->e, "nothing is called %.*s",
					    RAMA_EMU_PIECE(id));
	if (*n + 1 >= WORDS_MOST)
		return rama_emu_lines_error(&r->lines, r->e, "more than %d names", WORDS_MOST);
	to[(*n)++] = (uint32_t)t;
	return 0;
}

static int relate(struct reader *r, uint32_t parent, uint32_t child, bool strict)
{
	struct rama_emu_graph *g = r->g;
	bool from_data = parent >= g->n_tasks, to_data = child >= g->n_tasks;

	if (from_data && to_data)
		return rama_emu_lines_error(&r->lines, r->e,
					    "data %s cannot come from data %s without a task",
					    g->data[child - g->n_tasks].id,
					    g->data[parent - g->n_tasks].id);
	if (from_data)
		return rama_emu_graph_edge(g, child, parent - g->n_tasks, false, strict, r->e);
	if (to_data)
		return rama_emu_graph_edge(g, parent, child - g->n_tasks, true, strict, r->e);
	return rama_emu_graph_after(g, parent, child, strict, r->e);
}

struct sides {
	uint32_t n_left, n_right;
	bool one_to_one;
};

static int read_sides(struct reader *r, struct rama_config_piece line, struct sides *s)
{
	struct rama_config_piece w;
	bool children = false;
	int rc = 0;

	*s = (struct sides){ 0 };
	while (rc == 0 && rama_emu_word_next(&line, &w)) {
		if (rama_config_piece_is(w, "CHILD") || rama_config_piece_is(w, "NS_CHILD")) {
			if (children)
				return rama_emu_lines_error(&r->lines, r->e, "CHILD stands twice");
			children = true;
		} else if (rama_config_piece_is(w, "ACCESS")) {
			if (!rama_emu_word_next(&line, &w) ||
			    (!rama_config_piece_is(w, "0") && !rama_config_piece_is(w, "1")) ||
			    rama_emu_piece_trim(line).n > 0)
				return rama_emu_lines_error(&r->lines, r->e,
							    "ACCESS 0 or ACCESS 1 ends the line");
			s->one_to_one = rama_config_piece_is(w, "1");
		} else if (children) {
			rc = add_nodes(r, w, r->right, &s->n_right);
		} else {
			rc = add_nodes(r, w, r->left, &s->n_left);
		}
	}
	if (rc == 0 && s->n_left == 0)
		return rama_emu_lines_error(&r->lines, r->e, "PARENT names nobody");
	if (rc == 0 && s->n_right == 0)
		return rama_emu_lines_error(&r->lines, r->e, "PARENT without CHILD");
	if (rc == 0 && s->one_to_one && s->n_left != s->n_right)
		return rama_emu_lines_error(
			&r->lines, r->e,
			"ACCESS 1 pairs %u parents with %u children: they must be as many",
			s->n_left, s->n_right);
	return rc;
}

static int read_relation(struct reader *r, struct rama_config_piece line, bool strict)
{
	struct sides s;
	int rc = read_sides(r, line, &s);

	for (uint32_t i = 0; rc == 0 && i < s.n_left; i++) {
		if (s.one_to_one) {
			rc = relate(r, r->left[i], r->right[i], strict);
			continue;
		}
		for (uint32_t k = 0; rc == 0 && k < s.n_right; k++)
			rc = relate(r, r->left[i], r->right[k], strict);
	}
	return rc;
}

/* ---- the file ------------------------------------------------------------------------------- */

static int read_line(struct reader *r, struct rama_config_piece line, bool relations)
{
	struct rama_config_piece word;
	bool parent, loose;

	if (!rama_emu_word_next(&line, &word))
		return 0;
	loose = rama_config_piece_is(word, "NS_PARENT");
	parent = loose || rama_config_piece_is(word, "PARENT");
	if (relations)
		return parent ? read_relation(r, line, !loose) : 0;
	if (parent)
		return 0;
	if (rama_config_piece_is(word, "APP"))
		return read_app(r, line);
	if (rama_config_piece_is(word, "TASK"))
		return read_task(r, line);
	if (rama_config_piece_is(word, "DATA"))
		return read_data(r, line);
	return rama_emu_lines_error(&r->lines, r->e,
				    "%.*s is none of APP TASK DATA PARENT NS_PARENT",
				    RAMA_EMU_PIECE(word));
}

int rama_emu_read_paper(struct rama_emu_graph *g, const char *bytes, size_t n, struct rama_err *e)
{
	struct reader r = { .g = g, .e = e };
	struct rama_config_piece line;
	int rc = 0;

	r.left = calloc(WORDS_MOST, sizeof(*r.left));
	r.right = calloc(WORDS_MOST, sizeof(*r.right));
	if (r.left == NULL || r.right == NULL)
		rc = rama_err_set(e, RAMA_EMEMORY, "no memory");
	for (int relations = 0; rc == 0 && relations < 2; relations++) {
		rama_emu_lines_init(&r.lines, bytes, n);
		while (rc == 0 && rama_emu_lines_next(&r.lines, &line))
			rc = read_line(&r, line, relations == 1);
	}
	free(r.left);
	free(r.right);
	free(r.apps);
	return rc;
}

/* ---- writing -------------------------------------------------------------------------------- */

static bool keyword(const char *text)
{
	static const char *const words[] = { "CHILD", "NS_CHILD", "ACCESS" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

/* Words end at blanks here, and there are no quotes. */
static bool put_word(struct rama_out *out, const char *text)
{
	bool changed = keyword(text);

	rama_out_char(out, ' ');
	for (const char *c = text; *c != '\0'; c++) {
		bool special = (unsigned char)*c <= ' ' || *c == '#';

		rama_out_char(out, special ? '_' : *c);
		changed |= special;
	}
	return changed;
}

/* An id that had to be changed gets its number too: others may look like it now. */
static void put_task_id(struct rama_out *out, const struct rama_emu_graph *g, uint32_t i)
{
	if (put_word(out, g->tasks[i].id))
		rama_out_fmt(out, "_t%u", i);
}

static void put_data_id(struct rama_out *out, const struct rama_emu_graph *g, uint32_t i)
{
	if (put_word(out, g->data[i].id))
		rama_out_fmt(out, "_d%u", i);
}

static void put_declarations(const struct rama_emu_graph *g, struct rama_out *out)
{
	for (uint32_t i = 0; i < g->n_tasks; i++) {
		rama_out_text(out, "TASK");
		put_task_id(out, g, i);
		put_word(out, g->tasks[i].app != NULL ? g->tasks[i].app : g->tasks[i].name);
		put_word(out, g->tasks[i].name);
		rama_out_fmt(out, " %.9g\n", g->tasks[i].seconds);
	}
	for (uint32_t i = 0; i < g->n_data; i++) {
		const struct rama_emu_datum *d = &g->data[i];

		rama_out_text(out, "DATA");
		put_data_id(out, g, i);
		put_word(out, d->name);
		rama_out_fmt(out, " %lld", (long long)(d->size < 0 ? 0 : d->size));
		if (d->note != NULL)
			put_word(out, d->note);
		rama_out_char(out, '\n');
	}
}

int rama_emu_write_paper(const struct rama_emu_graph *g, struct rama_out *out, struct rama_err *e)
{
	(void)e;
	put_declarations(g, out);
	for (uint32_t i = 0; i < g->n_edges; i++) {
		const struct rama_emu_edge *x = &g->edges[i];

		rama_out_text(out, x->strict ? "PARENT" : "NS_PARENT");
		if (x->write)
			put_task_id(out, g, x->task);
		else
			put_data_id(out, g, x->data);
		rama_out_text(out, x->strict ? " CHILD" : " NS_CHILD");
		if (x->write)
			put_data_id(out, g, x->data);
		else
			put_task_id(out, g, x->task);
		rama_out_char(out, '\n');
	}
	for (uint32_t i = 0; i < g->n_afters; i++) {
		const struct rama_emu_after *a = &g->afters[i];

		rama_out_text(out, a->strict ? "PARENT" : "NS_PARENT");
		put_task_id(out, g, a->before);
		rama_out_text(out, a->strict ? " CHILD" : " NS_CHILD");
		put_task_id(out, g, a->after);
		rama_out_char(out, '\n');
	}
	return out->error;
}
