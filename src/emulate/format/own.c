/* SPDX-License-Identifier: BSD-3-Clause */
/* own.c: our own format (docs/format/workflow.md):
 *
 *   [workflow]                name, iterations
 *   [data ID]                 file, size, tier, note
 *   [task ID]                 name, app, ranks, compute, runtime, cores, reads, writes, after
 *                             (lists with commas; ID? = not strict)
 *   [access TASK DATA]        read or write of that data by that task: fraction, request, order,
 *                             whole
 *
 * Ids and names may hold any byte: those that end a word here are written as %XX. Written here
 * and not with an INI library, which stops at long lines and joins equal keys; lists of a
 * thousand names are usual. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/format/formats.h"
#include "emulate/graph/graph_walk.h"
#include "emulate/format/lines.h"

enum kind { NOTHING, WORKFLOW, DATA, TASK, ACCESS };

struct reader {
	struct rama_emu_graph *g;
	struct rama_emu_lines lines;
	struct rama_err *e;
	enum kind kind;
	uint32_t index;	   /* of the task or data unit of this section */
	uint32_t first, n; /* edges of an [access] section: they are neighbours */
	enum {
		NAMES,
		RELATIONS,
		ACCESSES,
		PASSES
	} pass; /* what is looked at; the rest is left alone */
};

bool rama_emu_looks_own(const char *bytes, size_t n)
{
	struct rama_emu_lines l;
	struct rama_config_piece line, word;

	rama_emu_lines_init(&l, bytes, n);
	while (rama_emu_lines_next(&l, &line))
		if (line.n > 0)
			return rama_emu_word_next(&line, &word) && word.p[0] == '[' &&
			       (rama_config_piece_is(word, "[workflow]") ||
				rama_config_piece_is(word, "[data") ||
				rama_config_piece_is(word, "[task"));
	return false;
}

#define WRONG(r, ...) rama_emu_lines_error(&(r)->lines, (r)->e, __VA_ARGS__)

static int at_line(struct reader *r, int64_t rc)
{
	return rc >= 0 ? 0 : rama_err_prefix(r->e, "line %lu", r->lines.number);
}

static int hex(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
				      : -1;
}

/* %2C is a comma; a % before anything but two digits is itself */
static int plain(struct reader *r, struct rama_config_piece *w)
{
	char *to;
	size_t n = 0;

	if (memchr(w->p, '%', w->n) == NULL)
		return 0;
	to = rama_arena_text(&r->g->arena, w->p, w->n);
	if (to == NULL)
		return rama_err_set(r->e, RAMA_EMEMORY, "no memory");
	for (size_t i = 0; i < w->n; i++) {
		bool coded = w->p[i] == '%' && i + 2 < w->n && hex(w->p[i + 1]) >= 0 &&
			     hex(w->p[i + 2]) >= 0;

		to[n++] = coded ? (char)(hex(w->p[i + 1]) * 16 + hex(w->p[i + 2])) : w->p[i];
		i += coded ? 2 : 0;
	}
	if (memchr(to, '\0', n) != NULL)
		return WRONG(r, "a name with a zero byte in it");
	*w = (struct rama_config_piece){ to, n };
	return 0;
}

static int keep(struct reader *r, const char **to, struct rama_config_piece w)
{
	int rc = plain(r, &w);

	if (rc != 0)
		return rc;
	*to = rama_arena_text(&r->g->arena, w.p, w.n);
	return *to != NULL ? 0 : rama_err_set(r->e, RAMA_EMEMORY, "no memory");
}

/* ---- sections ------------------------------------------------------------------------------- */

static int open_access(struct reader *r, struct rama_config_piece rest)
{
	struct rama_config_piece task, data;
	const struct rama_emu_task *owner;
	int64_t t, d;

	if (!rama_emu_word_next(&rest, &task) || !rama_emu_word_next(&rest, &data) ||
	    rama_emu_piece_trim(rest).n > 0)
		return WRONG(r, "[access TASK DATA] needs two names");
	if (plain(r, &task) != 0 || plain(r, &data) != 0)
		return r->e->code;
	t = rama_emu_graph_find_task(r->g, task.p, task.n);
	d = rama_emu_graph_find_datum(r->g, data.p, data.n);
	if (t < 0 || d < 0)
		return WRONG(r, "nothing is called %.*s", RAMA_EMU_PIECE(t < 0 ? task : data));
	owner = &r->g->tasks[t];
	r->index = (uint32_t)d;
	r->first = owner->first_edge;
	r->n = owner->n_edges;
	for (uint32_t i = 0; i < r->n; i++)
		if (r->g->edges[r->first + i].data == r->index)
			return 0;
	return WRONG(r, "task %.*s neither reads nor writes %.*s", RAMA_EMU_PIECE(task),
		     RAMA_EMU_PIECE(data));
}

static int open_section(struct reader *r, struct rama_config_piece line)
{
	struct rama_config_piece word, rest;
	int64_t i = 0;

	if (line.p[line.n - 1] != ']')
		return WRONG(r, "%.*s: no ] at the end", RAMA_EMU_PIECE(line));
	rest = (struct rama_config_piece){ line.p + 1, line.n - 2 };
	if (!rama_emu_word_next(&rest, &word))
		return WRONG(r, "an empty section");
	rest = rama_emu_piece_trim(rest);
	r->kind = rama_config_piece_is(word, "workflow") ? WORKFLOW
		  : rama_config_piece_is(word, "data")	 ? DATA
		  : rama_config_piece_is(word, "task")	 ? TASK
		  : rama_config_piece_is(word, "access") ? ACCESS
							 : NOTHING;
	if (r->kind == NOTHING)
		return WRONG(r, "%.*s is none of workflow data task access", RAMA_EMU_PIECE(word));
	if (r->kind == ACCESS)
		return r->pass == ACCESSES ? open_access(r, rest) : 0;
	if (r->kind == WORKFLOW)
		return 0;
	if (plain(r, &rest) != 0)
		return r->e->code;
	if (r->pass != NAMES)
		i = r->kind == DATA ? rama_emu_graph_find_datum(r->g, rest.p, rest.n)
				    : rama_emu_graph_find_task(r->g, rest.p, rest.n);
	else
		i = r->kind == DATA ? rama_emu_graph_datum(r->g, rest.p, rest.n, r->e)
				    : rama_emu_graph_task(r->g, rest.p, rest.n, r->e);
	r->index = (uint32_t)i;
	return at_line(r, i);
}

/* ---- values --------------------------------------------------------------------------------- */

static int set_workflow(struct reader *r, struct rama_config_piece key,
			struct rama_config_piece value)
{
	double n;

	if (rama_config_piece_is(key, "name"))
		return keep(r, &r->g->name, value);
	if (!rama_config_piece_is(key, "iterations"))
		return WRONG(r, "[workflow] has no %.*s; it has name and iterations",
			     RAMA_EMU_PIECE(key));
	if (!rama_emu_word_number(value, &n) || n < 1 || n > 1e6 || n != (uint32_t)n)
		return WRONG(r, "iterations: %.*s is no number from 1 to 1000000",
			     RAMA_EMU_PIECE(value));
	r->g->iterations = (uint32_t)n;
	return 0;
}

static int set_data(struct reader *r, struct rama_config_piece key, struct rama_config_piece value)
{
	struct rama_emu_datum *d = &r->g->data[r->index];

	if (rama_config_piece_is(key, "file"))
		return keep(r, &d->name, value);
	if (rama_config_piece_is(key, "tier"))
		return keep(r, &d->tier, value);
	if (rama_config_piece_is(key, "note"))
		return keep(r, &d->note, value);
	if (!rama_config_piece_is(key, "size"))
		return WRONG(r, "[data] has no %.*s; it has file size tier note",
			     RAMA_EMU_PIECE(key));
	return rama_emu_word_size(value, &d->size)
		       ? 0
		       : WRONG(r, "size: %.*s is no size such as 4096 or 1.5 GiB",
			       RAMA_EMU_PIECE(value));
}

/* reads, writes, after: names with commas; a ? behind a name: the relation is not strict */
static int add_list(struct reader *r, struct rama_config_piece key, struct rama_config_piece value)
{
	struct rama_config_piece item;
	int rc = 0;

	while (rc == 0 && rama_config_piece_next(&value, ',', &item)) {
		bool strict = true;
		int64_t other;

		item = rama_emu_piece_trim(item);
		if (item.n > 1 && item.p[item.n - 1] == '?') {
			strict = false;
			item = rama_emu_piece_trim(
				(struct rama_config_piece){ item.p, item.n - 1 });
		}
		if (plain(r, &item) != 0)
			return r->e->code;
		other = rama_config_piece_is(key, "after")
				? rama_emu_graph_find_task(r->g, item.p, item.n)
				: rama_emu_graph_find_datum(r->g, item.p, item.n);
		if (other < 0)
			return WRONG(r, "%.*s: nothing is called %.*s", RAMA_EMU_PIECE(key),
				     RAMA_EMU_PIECE(item));
		rc = rama_config_piece_is(key, "after")
			     ? rama_emu_graph_after(r->g, (uint32_t)other, r->index, strict, r->e)
			     : rama_emu_graph_edge(r->g, r->index, (uint32_t)other,
						   rama_config_piece_is(key, "writes"), strict,
						   r->e);
	}
	return rc == 0 ? 0 : at_line(r, rc);
}

static int set_task_number(struct reader *r, struct rama_config_piece key,
			   struct rama_config_piece value)
{
	struct rama_emu_task *t = &r->g->tasks[r->index];
	double n;

	if (rama_config_piece_is(key, "compute") || rama_config_piece_is(key, "runtime")) {
		t->measured = rama_config_piece_is(key, "runtime");
		return rama_emu_word_seconds(value, &t->seconds)
			       ? 0
			       : WRONG(r, "%.*s: %.*s is no time such as 0.5 s or 2 min",
				       RAMA_EMU_PIECE(key), RAMA_EMU_PIECE(value));
	}
	if (!rama_emu_word_number(value, &n) || n > 1e9)
		return WRONG(r, "%.*s: %.*s is no number", RAMA_EMU_PIECE(key),
			     RAMA_EMU_PIECE(value));
	if (rama_config_piece_is(key, "cores")) {
		t->cores = n;
		return 0;
	}
	if (n < 1 || n != (uint32_t)n)
		return WRONG(r, "ranks: %.*s is no number of processes", RAMA_EMU_PIECE(value));
	t->ranks = (uint32_t)n;
	return 0;
}

static int set_task(struct reader *r, struct rama_config_piece key, struct rama_config_piece value)
{
	struct rama_emu_task *t = &r->g->tasks[r->index];
	bool relation = rama_config_piece_is(key, "reads") || rama_config_piece_is(key, "writes") ||
			rama_config_piece_is(key, "after");

	if (relation)
		return r->pass == RELATIONS ? add_list(r, key, value) : 0;
	if (r->pass != NAMES)
		return 0;
	if (rama_config_piece_is(key, "name"))
		return keep(r, &t->name, value);
	if (rama_config_piece_is(key, "app"))
		return keep(r, &t->app, value);
	if (rama_config_piece_is(key, "ranks") || rama_config_piece_is(key, "compute") ||
	    rama_config_piece_is(key, "runtime") || rama_config_piece_is(key, "cores"))
		return set_task_number(r, key, value);
	return WRONG(r,
		     "[task] has no %.*s; it has name app ranks compute runtime cores reads writes "
		     "after",
		     RAMA_EMU_PIECE(key));
}

static int read_access(struct reader *r, struct rama_config_piece key,
		       struct rama_config_piece value, struct rama_emu_edge *x)
{
	if (rama_config_piece_is(key, "fraction")) {
		if (!rama_emu_word_number(value, &x->fraction) || x->fraction > 1)
			return WRONG(r, "fraction: %.*s is no number from 0 to 1",
				     RAMA_EMU_PIECE(value));
	} else if (rama_config_piece_is(key, "request")) {
		if (!rama_emu_word_size(value, &x->request) || x->request == 0)
			return WRONG(r, "request: %.*s is no size", RAMA_EMU_PIECE(value));
	} else if (rama_config_piece_is(key, "order")) {
		x->order = rama_config_piece_is(value, "strided")  ? RAMA_EMU_STRIDED
			   : rama_config_piece_is(value, "random") ? RAMA_EMU_RANDOM
								   : RAMA_EMU_SEQUENTIAL;
		if (x->order == RAMA_EMU_SEQUENTIAL && !rama_config_piece_is(value, "sequential"))
			return WRONG(r, "order: %.*s is none of sequential strided random",
				     RAMA_EMU_PIECE(value));
	} else if (rama_config_piece_is(key, "whole")) {
		x->whole = rama_config_piece_is(value, "yes");
		if (!x->whole && !rama_config_piece_is(value, "no"))
			return WRONG(r, "whole: yes or no, not %.*s", RAMA_EMU_PIECE(value));
	} else {
		return WRONG(r, "[access] has no %.*s; it has fraction request order whole",
			     RAMA_EMU_PIECE(key));
	}
	return 0;
}

/* for both sides if the task reads and writes the data */
static int set_access(struct reader *r, struct rama_config_piece key,
		      struct rama_config_piece value)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < r->n; i++)
		if (r->g->edges[r->first + i].data == r->index)
			rc = read_access(r, key, value, &r->g->edges[r->first + i]);
	return rc;
}

static int set_value(struct reader *r, struct rama_config_piece line)
{
	const char *equal = memchr(line.p, '=', line.n);
	struct rama_config_piece key, value;

	if (equal == NULL)
		return WRONG(r, "%.*s: neither [section] nor key = value", RAMA_EMU_PIECE(line));
	key = rama_emu_piece_trim((struct rama_config_piece){ line.p, (size_t)(equal - line.p) });
	value = rama_emu_piece_trim(
		(struct rama_config_piece){ equal + 1, line.n - (size_t)(equal - line.p) - 1 });
	if (key.n == 0 || value.n == 0)
		return WRONG(r, "nothing on one side of =");
	switch (r->kind) {
	case WORKFLOW:
		return r->pass == NAMES ? set_workflow(r, key, value) : 0;
	case DATA:
		return r->pass == NAMES ? set_data(r, key, value) : 0;
	case TASK:
		return set_task(r, key, value);
	case ACCESS:
		return r->pass == ACCESSES ? set_access(r, key, value) : 0;
	default:
		return WRONG(r, "%.*s stands in no section", RAMA_EMU_PIECE(key));
	}
}

int rama_emu_read_own(struct rama_emu_graph *g, const char *bytes, size_t n, struct rama_err *e)
{
	struct reader r = { .g = g, .e = e };
	struct rama_config_piece line;
	int rc = 0;

	for (r.pass = NAMES; rc == 0 && r.pass < PASSES; r.pass++) {
		rama_emu_lines_init(&r.lines, bytes, n);
		r.kind = NOTHING;
		if (r.pass == ACCESSES) /* edges of a task are neighbours from here on */
			rc = rama_emu_graph_finish(g, e);
		while (rc == 0 && rama_emu_lines_next(&r.lines, &line)) {
			if (line.n == 0)
				continue;
			rc = line.p[0] == '[' ? open_section(&r, line) : set_value(&r, line);
		}
	}
	return rc;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* what ends a word, or could be taken for something else, as %XX */
static void put_coded(struct rama_out *out, const char *text, const char *special)
{
	for (const char *c = text; *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f || *c == '%' ||
		    strchr(special, *c) != NULL)
			rama_out_fmt(out, "%%%02X", (unsigned char)*c);
		else
			rama_out_char(out, *c);
	}
}

static void put_id(struct rama_out *out, const char *id)
{
	put_coded(out, id, " ,?[]#=");
}

static void put_value(struct rama_out *out, const char *key, const char *text)
{
	size_t n = strlen(text);
	/* blanks there would be lost */
	bool edges = n == 0 || text[0] == ' ' || text[n - 1] == ' ';

	if (n == 0)
		return;
	rama_out_fmt(out, "%s = ", key);
	put_coded(out, text, edges ? " #" : "#");
	rama_out_char(out, '\n');
}

static void put_list(const struct rama_emu_graph *g, struct rama_out *out, uint32_t task,
		     bool write)
{
	const struct rama_emu_task *t = &g->tasks[task];
	bool any = false;

	for (uint32_t i = 0; i < t->n_edges; i++) {
		const struct rama_emu_edge *x = &g->edges[t->first_edge + i];

		if (x->write != write)
			continue;
		rama_out_text(out, any ? ", " : write ? "writes = " : "reads = ");
		put_id(out, g->data[x->data].id);
		if (!x->strict)
			rama_out_char(out, '?');
		any = true;
	}
	if (any)
		rama_out_char(out, '\n');
}

static void put_accesses(const struct rama_emu_graph *g, struct rama_out *out,
			 const struct rama_emu_task *t)
{
	static const char *const order[] = { "sequential", "strided", "random" };

	for (uint32_t i = 0; i < t->n_edges; i++) {
		const struct rama_emu_edge *x = &g->edges[t->first_edge + i];

		if (x->fraction == 1 && x->request < 0 && x->order == RAMA_EMU_SEQUENTIAL &&
		    !x->whole)
			continue;
		rama_out_text(out, "\n[access ");
		put_id(out, t->id);
		rama_out_char(out, ' ');
		put_id(out, g->data[x->data].id);
		rama_out_text(out, "]\n");
		if (x->fraction != 1)
			rama_out_fmt(out, "fraction = %.9g\n", x->fraction);
		if (x->request > 0)
			rama_out_fmt(out, "request = %lld\n", (long long)x->request);
		if (x->order != RAMA_EMU_SEQUENTIAL)
			rama_out_fmt(out, "order = %s\n", order[x->order]);
		if (x->whole)
			rama_out_text(out, "whole = yes\n");
	}
}

static void put_task(const struct rama_emu_graph *g, struct rama_out *out, uint32_t i)
{
	const struct rama_emu_task *t = &g->tasks[i];

	rama_out_text(out, "\n[task ");
	put_id(out, t->id);
	rama_out_text(out, "]\n");
	if (strcmp(t->name, t->id) != 0)
		put_value(out, "name", t->name);
	if (t->app != NULL)
		put_value(out, "app", t->app);
	if (t->ranks != 1)
		rama_out_fmt(out, "ranks = %u\n", t->ranks);
	if (t->seconds > 0)
		rama_out_fmt(out, "%s = %.9g s\n", t->measured ? "runtime" : "compute", t->seconds);
	if (t->cores != 1)
		rama_out_fmt(out, "cores = %.9g\n", t->cores);
	put_list(g, out, i, false);
	put_list(g, out, i, true);
}

int rama_emu_write_own(const struct rama_emu_graph *g, struct rama_out *out, struct rama_err *e)
{
	uint32_t *first = calloc((size_t)g->n_tasks + 1, sizeof(*first)); /* after + 1, linked */
	uint32_t *next = calloc((size_t)g->n_afters + 1, sizeof(*next));

	if (first == NULL || next == NULL) {
		free(first);
		free(next);
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	}
	for (uint32_t i = g->n_afters; i-- > 0;) {
		next[i] = first[g->afters[i].after];
		first[g->afters[i].after] = i + 1;
	}
	rama_out_text(out, "[workflow]\n");
	put_value(out, "name", g->name);
	if (g->iterations != 1)
		rama_out_fmt(out, "iterations = %u\n", g->iterations);
	for (uint32_t i = 0; i < g->n_data; i++) {
		const struct rama_emu_datum *d = &g->data[i];

		rama_out_text(out, "\n[data ");
		put_id(out, d->id);
		rama_out_text(out, "]\n");
		if (strcmp(d->name, d->id) != 0)
			put_value(out, "file", d->name);
		if (d->size >= 0)
			rama_out_fmt(out, "size = %lld\n", (long long)d->size);
		if (d->tier != NULL)
			put_value(out, "tier", d->tier);
		if (d->note != NULL)
			put_value(out, "note", d->note);
	}
	for (uint32_t i = 0; i < g->n_tasks; i++) {
		put_task(g, out, i);
		for (uint32_t k = first[i]; k != 0; k = next[k - 1]) {
			rama_out_text(out, k == first[i] ? "after = " : ", ");
			put_id(out, g->tasks[g->afters[k - 1].before].id);
			rama_out_text(out, g->afters[k - 1].strict ? "" : "?");
			if (next[k - 1] == 0)
				rama_out_char(out, '\n');
		}
		put_accesses(g, out, &g->tasks[i]);
	}
	free(first);
	free(next);
	return out->error;
}
