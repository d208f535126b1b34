/* SPDX-License-Identifier: BSD-3-Clause */
/* from_log_graph.c: `graph`: who wrote what others read. A reader that began when all writers
 * had ended depends on them (strict); one that began before does not wait for them (non-strict).
 * Jobs that do the same again and again are iterations of one workflow. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulate/mode/dag.h"
#include "emulate/replay/from_log.h"

struct maker {
	struct rama_emu_story *s;
	struct rama_emu_graph *g;
	size_t first;	  /* task: those before are earlier iterations of the same */
	uint32_t *datum;  /* by file: index + 1 */
	uint32_t *writer; /* by file: a use that writes it, + 1 ... */
	uint32_t *next;	  /* ... by use: the next one, + 1 */
	size_t folder;	  /* length of the folder that all files are in */
	struct rama_err *e;
};

/* ---- iterations ----------------------------------------------------------------------------- */

/* Does task b all that a does, to the same files? `more`: and perhaps more. */
static bool does_same(const struct rama_emu_story *s, const struct rama_emu_story_task *a,
		      const struct rama_emu_story_task *b, bool more)
{
	uint32_t k = 0;

	if (strcmp(a->program, b->program) != 0 || (!more && a->n != b->n))
		return false;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct rama_emu_story_use *x = &s->uses[a->first + i], *y;

		while (k < b->n && s->uses[b->first + k].file < x->file)
			k++;
		y = &s->uses[b->first + k];
		if (k == b->n || y->file != x->file || (x->read > 0) > (y->read > 0) ||
		    (x->written > 0) > (y->written > 0))
			return false;
		if (!more &&
		    ((x->read > 0) != (y->read > 0) || (x->written > 0) != (y->written > 0)))
			return false;
	}
	return true;
}

/* Tasks of one round: the smallest number after which all begins again. In the first round what
 * comes from the round before is not there yet. */
static size_t round_length(const struct rama_emu_story *s)
{
	for (size_t p = 1; p <= s->n_tasks / 2; p++) {
		size_t i = p;

		if (s->n_tasks % p != 0)
			continue;
		while (i < s->n_tasks && does_same(s, &s->tasks[i - p], &s->tasks[i], i < 2 * p))
			i++;
		if (i == s->n_tasks)
			return p;
	}
	return s->n_tasks;
}

/* ---- names ---------------------------------------------------------------------------------- */

/* the folder that all files of the graph are in, with its slash */
static size_t common_folder(const struct rama_emu_story *s)
{
	const char *name = s->files[0].name;
	size_t n = strlen(name);

	for (size_t i = 1; i < s->n_files; i++) {
		size_t k = 0;

		while (k < n && s->files[i].name[k] == name[k])
			k++;
		n = k;
	}
	while (n > 0 && name[n - 1] != '/')
		n--;
	return n;
}

static int64_t task_node(struct maker *k, const struct rama_emu_story_task *t)
{
	char id[300];
	int n = snprintf(id, sizeof(id), "%.255s", t->program);

	for (unsigned i = 2; rama_emu_graph_find_task(k->g, id, (size_t)n) >= 0; i++)
		n = snprintf(id, sizeof(id), "%.255s.%u", t->program, i);
	return rama_emu_graph_task(k->g, id, (size_t)n, k->e);
}

static int64_t file_node(struct maker *k, uint32_t file)
{
	const struct rama_emu_story_file *f = &k->s->files[file];
	const char *name = f->name + k->folder;
	int64_t at;

	if (k->datum[file] != 0)
		return k->datum[file] - 1;
	at = rama_emu_graph_datum(k->g, name, strlen(name), k->e);
	if (at < 0)
		return at;
	k->datum[file] = (uint32_t)at + 1;
	k->g->data[at].size = f->size;
	return at;
}

/* ---- edges ---------------------------------------------------------------------------------- */

/* how others stand to a reader */
struct sources {
	unsigned before, beside; /* had ended when it began; had not */
};

static struct sources find_sources(const struct maker *k, const struct rama_emu_story_use *u)
{
	struct sources s = { 0 };

	for (uint32_t i = k->writer[u->file]; i != 0; i = k->next[i - 1]) {
		const struct rama_emu_story_use *w = &k->s->uses[i - 1];

		if (w->task == u->task)
			continue;
		if (w->write_to <= u->read_from + k->s->slack)
			s.before++;
		else
			s.beside++;
	}
	return s;
}

static bool is_after(const struct rama_emu_graph *g, uint32_t before, uint32_t after)
{
	/* those of a task are added one after the other */
	for (uint32_t i = g->n_afters; i-- > 0 && g->afters[i].after == after;)
		if (g->afters[i].before == before)
			return true;
	return false;
}

/* An edge that is not strict lets the reader go on before those that had ended: they are named. */
static int add_afters(struct maker *k, const struct rama_emu_story_use *u, uint32_t task)
{
	int rc = 0;

	for (uint32_t i = k->writer[u->file]; rc == 0 && i != 0; i = k->next[i - 1]) {
		const struct rama_emu_story_use *w = &k->s->uses[i - 1];

		if (w->task != u->task && w->write_to <= u->read_from + k->s->slack &&
		    !is_after(k->g, (uint32_t)(w->task - k->first), task))
			rc = rama_emu_graph_after(k->g, (uint32_t)(w->task - k->first), task, true,
						  k->e);
	}
	return rc;
}

static void describe(const struct maker *k, const struct rama_emu_story_use *u,
		     struct rama_emu_edge *x)
{
	double size = (double)k->s->files[u->file].size;
	double parts = u->readers > 1 ? u->readers : 1;

	x->request = u->request;
	if (u->count > 2 && (double)u->in_order < 0.5 * (double)u->count)
		x->order = RAMA_EMU_RANDOM;
	if (x->write || size <= 0)
		return;
	x->whole = parts > 1 && (double)u->read >= 0.999 * parts * size;
	x->fraction = x->whole || (double)u->read >= 0.999 * size ? 1 : (double)u->read / size;
}

static int add_edge(struct maker *k, const struct rama_emu_story_use *u, uint32_t task, bool write,
		    bool strict)
{
	int64_t data = file_node(k, u->file);
	int rc = data < 0 ? (int)data
			  : rama_emu_graph_edge(k->g, task, (uint32_t)data, write, strict, k->e);

	if (rc == 0)
		describe(k, u, &k->g->edges[k->g->n_edges - 1]);
	return rc;
}

static int add_use(struct maker *k, const struct rama_emu_story_use *u, uint32_t task)
{
	/* what a task writes, too, it does not wait for */
	bool reads = u->read > 0;
	struct sources from = find_sources(k, u);
	bool strict = from.beside == 0 && u->written == 0;
	int rc = 0;

	if (reads)
		rc = add_edge(k, u, task, false, strict);
	if (rc == 0 && reads && !strict && from.before > 0)
		rc = add_afters(k, u, task);
	if (rc == 0 && u->written > 0)
		rc = add_edge(k, u, task, true, true);
	return rc;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int add_task(struct maker *k, const struct rama_emu_story_task *t)
{
	int64_t task = task_node(k, t);
	struct rama_emu_task *to;

	if (task < 0)
		return (int)task;
	to = &k->g->tasks[task];
	to->ranks = t->ranks > 0 ? t->ranks : 1;
	to->seconds = fmax(0, t->end - t->start - t->io / to->ranks);
	to->name = rama_arena_text(&k->g->arena, t->program, strlen(t->program));
	to->read_bytes = to->written_bytes = 0;
	for (uint32_t i = 0; i < t->n; i++) {
		to->read_bytes += k->s->uses[t->first + i].read;
		to->written_bytes += k->s->uses[t->first + i].written;
	}
	return to->name != NULL ? 0 : rama_err_set(k->e, RAMA_EMEMORY, "no memory");
}

static int add_all(struct maker *k)
{
	struct rama_emu_story *s = k->s;
	int rc = 0;

	for (size_t i = k->first; rc == 0 && i < s->n_tasks; i++)
		rc = add_task(k, &s->tasks[i]);
	for (size_t i = s->n_uses; i-- > 0 && s->uses[i].task >= k->first;) {
		if (s->uses[i].written > 0) {
			k->next[i] = k->writer[s->uses[i].file];
			k->writer[s->uses[i].file] = (uint32_t)i + 1;
		}
	}
	for (size_t i = 0; rc == 0 && i < s->n_uses; i++)
		if (s->uses[i].task >= k->first)
			rc = add_use(k, &s->uses[i], (uint32_t)(s->uses[i].task - k->first));
	return rc;
}

static int story_graph(struct rama_emu_story *s, struct rama_emu_graph *g, struct rama_err *e)
{
	struct maker k = { .s = s, .g = g, .e = e };
	size_t round = round_length(s);
	double end = 0;
	int rc = RAMA_EMEMORY;

	k.first = s->n_tasks - round;
	k.folder = common_folder(s);
	k.datum = calloc(s->n_files + 1, sizeof(*k.datum));
	k.writer = calloc(s->n_files + 1, sizeof(*k.writer));
	k.next = calloc(s->n_uses + 1, sizeof(*k.next));
	if (k.datum != NULL && k.writer != NULL && k.next != NULL)
		rc = add_all(&k);
	else
		rama_err_set(e, rc, "no memory");
	free(k.datum);
	free(k.writer);
	free(k.next);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < s->n_tasks; i++)
		end = fmax(end, s->tasks[i].end);
	g->name = "captured";
	g->iterations = round > 0 ? (uint32_t)(s->n_tasks / round) : 1;
	g->makespan = fmax(0, end - s->tasks[0].start);
	return rama_emu_graph_finish(g, e);
}

/* ---- the mode ------------------------------------------------------------------------------- */

static const struct rama_emu_graph_format *find_format(const char *name, struct rama_err *e)
{
	char known[200] = "";

	if (name[0] == '\0')
		name = "iorama";
	for (unsigned i = 0; i < rama_emu_n_graph_formats; i++) {
		const struct rama_emu_graph_format *f = &rama_emu_graph_formats[i];
		size_t n = strlen(known);

		if (f->write == NULL)
			continue;
		if (strcmp(f->name, name) == 0)
			return f;
		snprintf(known + n, sizeof(known) - n, " %s", f->name);
	}
	rama_err_set(e, RAMA_EUSAGE, "format: \"%.60s\" cannot be written; these can:%s", name,
		     known);
	return NULL;
}

static int write_graph(struct rama_emu_emulation *m, struct rama_err *e)
{
	const struct rama_emu_graph_format *format =
		find_format(rama_emu_config_text(m->cfg, RAMA_EMU_P_format), e);
	struct rama_emu_story s;
	struct rama_emu_graph g;
	int rc;

	if (format == NULL)
		return RAMA_EUSAGE;
	rama_emu_graph_init(&g);
	rc = m->cfg->n_args == 1 ? rama_emu_workflow_read(m->cfg->args[0], &g, e) : 0;
	if (rc != 0) { /* a workflow already: only its format changes */
		rc = rc > 0 ? format->write(&g, m->out, e) : rc;
		rama_emu_graph_fini(&g);
		return rc;
	}
	rc = rama_emu_story_read(&s, m->cfg->args, m->cfg->n_args, e);
	if (rc == 0)
		rc = story_graph(&s, &g, e);
	if (rc == 0)
		rc = format->write(&g, m->out, e);
	rama_emu_graph_fini(&g);
	rama_emu_story_fini(&s);
	return rc;
}

int rama_emu_mode_graph(struct rama_emu_emulation *m, struct rama_err *e)
{
	if (m->cfg->n_args == 0)
		return rama_err_set(e, RAMA_EUSAGE, "no log: iorama emulate graph LOG...");
	m->told = true;
	return m->team->rank == 0 ? write_graph(m, e) : 0;
}
