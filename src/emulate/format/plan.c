/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.c: Wemul's execution plan:
 *
 *   READ                         WRITE, NONSTRICT (optional), STAGES: a word alone on a line
 *                                opens a section
 *   <data>:<task>,<task>,...     READ, WRITE
 *   <data>:<task>                NONSTRICT
 *   <stage>:<data>,<data>,...    STAGES
 *
 * In a stage each data unit is written, then read; a task may write and read the same unit, and
 * go on in a later stage. So a task of the plan becomes one task for each stage and side in
 * which it has something to do, in a row. Data that no stage names would never be used: they get
 * a stage after the last one, and a warning. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/format/formats.h"
#include "emulate/graph/graph_walk.h"
#include "emulate/format/lines.h"

enum section { WRITE, READ, NONSTRICT, STAGES, SECTIONS };
static const char *const section_name[SECTIONS] = { "WRITE", "READ", "NONSTRICT", "STAGES" };
#define STAGES_MOST 1000000

/* who (index of its name) does what with which data unit */
struct use {
	uint32_t who, data;
	bool write, strict;
	uint32_t stage;
};

struct reader {
	struct rama_emu_graph *g, who; /* who: the names of the plan's tasks */
	struct rama_emu_lines lines;
	struct rama_err *e;
	struct use *uses;
	size_t n_uses, room_uses;
	uint32_t *stage; /* by data */
	uint32_t last_stage;
};

static int section_of(struct rama_config_piece line)
{
	for (int i = 0; i < SECTIONS; i++)
		if (rama_config_piece_is(line, section_name[i]))
			return i;
	return -1;
}

bool rama_emu_looks_plan(const char *bytes, size_t n)
{
	struct rama_emu_lines l;
	struct rama_config_piece line;

	rama_emu_lines_init(&l, bytes, n);
	while (rama_emu_lines_next(&l, &line))
		if (line.n > 0)
			return section_of(line) >= 0;
	return false;
}

static int64_t datum(struct reader *r, struct rama_config_piece id)
{
	int64_t d = rama_emu_graph_find_datum(r->g, id.p, id.n);

	return d >= 0 ? d : rama_emu_graph_datum(r->g, id.p, id.n, r->e);
}

static int64_t who(struct reader *r, struct rama_config_piece id)
{
	int64_t t = rama_emu_graph_find_task(&r->who, id.p, id.n);

	return t >= 0 ? t : rama_emu_graph_task(&r->who, id.p, id.n, r->e);
}

static int add_use(struct reader *r, uint32_t task, uint32_t data, bool write)
{
	if (r->n_uses == r->room_uses) {
		size_t room = r->room_uses == 0 ? 256 : 2 * r->room_uses;
		struct use *p = room <= 20ull * RAMA_EMU_GRAPH_TASKS
					? reallocarray(r->uses, room, sizeof(*p))
					: NULL;

		if (p == NULL)
			return rama_err_set(r->e, RAMA_ELIMIT, "too many reads and writes");
		r->uses = p;
		r->room_uses = room;
	}
	r->uses[r->n_uses++] = (struct use){ task, data, write, true, 0 };
	return 0;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static int read_uses(struct reader *r, struct rama_config_piece data, struct rama_config_piece list,
		     bool write)
{
	int64_t d = datum(r, data), t;
	struct rama_config_piece item;
	int rc = d < 0 ? (int)d : 0;

	while (rc == 0 && rama_config_piece_next(&list, ',', &item)) {
		item = rama_emu_piece_trim(item);
		t = who(r, item);
		rc = t < 0 ? (int)t : add_use(r, (uint32_t)t, (uint32_t)d, write);
	}
	return rc == 0 ? 0 : rama_err_prefix(r->e, "line %lu", r->lines.number);
}

/* Few pairs are not strict: each looks through all uses of a unit once. */
static int read_loose(struct reader *r, struct rama_config_piece data,
		      struct rama_config_piece task)
{
	int64_t d = rama_emu_graph_find_datum(r->g, data.p, data.n);
	int64_t t = rama_emu_graph_find_task(&r->who, task.p, task.n);
	bool found = false;

	for (size_t i = 0; d >= 0 && t >= 0 && i < r->n_uses; i++) {
		struct use *u = &r->uses[i];

		if (u->data == (uint32_t)d && u->who == (uint32_t)t && !u->write) {
			u->strict = false;
			found = true;
		}
	}
	return found ? 0
		     : rama_emu_lines_error(&r->lines, r->e, "%.*s is not read by %.*s",
					    RAMA_EMU_PIECE(data), RAMA_EMU_PIECE(task));
}

static int read_stage(struct reader *r, struct rama_config_piece number,
		      struct rama_config_piece list)
{
	struct rama_config_piece item;
	double n;

	if (!rama_emu_word_number(number, &n) || n > STAGES_MOST || n != (uint32_t)n)
		return rama_emu_lines_error(&r->lines, r->e, "%.*s is no number of a stage",
					    RAMA_EMU_PIECE(number));
	while (rama_config_piece_next(&list, ',', &item)) {
		int64_t d;

		item = rama_emu_piece_trim(item);
		d = rama_emu_graph_find_datum(r->g, item.p, item.n);
		if (d < 0)
			return rama_emu_lines_error(&r->lines, r->e, "nobody reads or writes %.*s",
						    RAMA_EMU_PIECE(item));
		r->stage[d] = (uint32_t)n;
	}
	if ((uint32_t)n > r->last_stage)
		r->last_stage = (uint32_t)n;
	return 0;
}

static int read_line(struct reader *r, enum section section, struct rama_config_piece line)
{
	const char *colon = memchr(line.p, ':', line.n);
	struct rama_config_piece left, right;

	if (colon == NULL)
		return rama_emu_lines_error(&r->lines, r->e, "%.*s: no colon",
					    RAMA_EMU_PIECE(line));
	left = rama_emu_piece_trim((struct rama_config_piece){ line.p, (size_t)(colon - line.p) });
	right = rama_emu_piece_trim(
		(struct rama_config_piece){ colon + 1, line.n - (size_t)(colon - line.p) - 1 });
	if (left.n == 0 || right.n == 0)
		return rama_emu_lines_error(&r->lines, r->e, "nothing on one side of the colon");
	switch (section) {
	case NONSTRICT:
		return read_loose(r, left, right);
	case STAGES:
		return read_stage(r, left, right);
	default:
		return read_uses(r, left, right, section == WRITE);
	}
}

/* ---- what it means -------------------------------------------------------------------------- */

static int by_turn(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	if (x->who != y->who)
		return x->who < y->who ? -1 : 1;
	if (x->stage != y->stage)
		return x->stage < y->stage ? -1 : 1;
	if (x->write != y->write)
		return x->write ? -1 : 1;
	return x->data < y->data ? -1 : x->data > y->data;
}

static bool same_turn(const struct use *x, const struct use *y)
{
	return x->who == y->who && x->stage == y->stage && x->write == y->write;
}

static int64_t add_turn(struct reader *r, const struct use *u, bool alone)
{
	const char *id = r->who.tasks[u->who].id;
	char text[256];
	int n = alone ? snprintf(text, sizeof(text), "%s", id)
		      : snprintf(text, sizeof(text), "%.200s.%u%c", id, u->stage,
				 u->write ? 'w' : 'r');
	int64_t t =
		rama_emu_graph_task(r->g, text, (size_t)n < sizeof(text) ? (size_t)n : 255, r->e);

	if (t >= 0) {
		r->g->tasks[t].stage = u->stage;
		r->g->tasks[t].app = rama_arena_text(&r->g->arena, id, strlen(id));
	}
	return t;
}

static int make_tasks(struct reader *r)
{
	int64_t task = -1;
	int rc = 0;

	if (r->n_uses > 0)
		qsort(r->uses, r->n_uses, sizeof(*r->uses), by_turn);
	for (size_t i = 0; rc == 0 && i < r->n_uses; i++) {
		struct use *u = &r->uses[i];
		bool again = i > 0 && u[-1].who == u->who;

		if (!again || !same_turn(u, u - 1)) {
			int64_t before = task;
			size_t k = i;

			while (k < r->n_uses && same_turn(u, &r->uses[k]))
				k++;
			task = add_turn(r, u,
					!again && (k == r->n_uses || r->uses[k].who != u->who));
			if (task < 0)
				return (int)task;
			if (again)
				rc = rama_emu_graph_after(r->g, (uint32_t)before, (uint32_t)task,
							  true, r->e);
		}
		if (rc == 0)
			rc = rama_emu_graph_edge(r->g, (uint32_t)task, u->data, u->write, u->strict,
						 r->e);
	}
	return rc;
}

static int set_stages(struct reader *r)
{
	uint32_t missing = 0;
	char text[128];

	for (uint32_t d = 0; d < r->g->n_data; d++) {
		if (r->stage[d] == RAMA_EMU_NONE_YET) {
			r->stage[d] = r->last_stage + 1;
			missing++;
		}
	}
	for (size_t i = 0; i < r->n_uses; i++)
		r->uses[i].stage = r->stage[r->uses[i].data];
	if (missing == 0)
		return 0;
	snprintf(text, sizeof(text),
		 "%u of %u data units are in no stage; they come after the last one", missing,
		 r->g->n_data);
	return rama_emu_graph_warn(r->g, text);
}

static int read_all(struct reader *r, const char *bytes, size_t n)
{
	enum section section = WRITE;
	struct rama_config_piece line;
	int rc = 0;

	rama_emu_lines_init(&r->lines, bytes, n);
	while (rc == 0 && rama_emu_lines_next(&r->lines, &line)) {
		int s = section_of(line);

		if (s >= 0)
			section = (enum section)s;
		else if (line.n > 0)
			rc = read_line(r, section, line);
		if (s == STAGES && r->stage == NULL) {
			r->stage = malloc(((size_t)r->g->n_data + 1) * sizeof(*r->stage));
			if (r->stage == NULL)
				return rama_err_set(r->e, RAMA_EMEMORY, "no memory");
			memset(r->stage, 0xff, r->g->n_data * sizeof(*r->stage));
		} else if (r->stage != NULL && (s == READ || s == WRITE)) {
			return rama_emu_lines_error(&r->lines, r->e, "%s after STAGES",
						    section_name[s]);
		}
	}
	return rc;
}

int rama_emu_read_plan(struct rama_emu_graph *g, const char *bytes, size_t n, struct rama_err *e)
{
	struct reader r = { .g = g, .e = e };
	int rc;

	rama_emu_graph_init(&r.who);
	rc = read_all(&r, bytes, n);
	if (rc == 0 && r.stage == NULL)
		rc = rama_err_set(e, RAMA_EFORMAT, "no section STAGES");
	if (rc == 0)
		rc = set_stages(&r);
	if (rc == 0)
		rc = make_tasks(&r);
	free(r.uses);
	free(r.stage);
	rama_emu_graph_fini(&r.who);
	return rc;
}
