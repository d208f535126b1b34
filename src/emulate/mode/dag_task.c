/* SPDX-License-Identifier: BSD-3-Clause */
/* dag_task.c: one task on one rank: read the input, compute, write the output. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "emulate/mode/dag.h"

/* a unit is read again at most so often: what was measured holds libraries and the like too */
#define TIMES_MOST 1000

static int64_t request_of(const struct rama_emu_dag *d, const struct rama_emu_edge *x)
{
	return x->request > 0 ? x->request : d->m->request;
}

/* How often a unit is moved, by what was measured: less than once, it is read in part; more,
 * over and over. What is written is complete in any case. */
static double times_of(const struct rama_emu_dag *d, const struct rama_emu_edge *x)
{
	const struct rama_emu_task *t = &d->graph->tasks[x->task];
	int64_t measured = x->write ? t->written_bytes : t->read_bytes;
	double listed = 0, times;

	if (!rama_emu_config_flag(d->m->cfg, RAMA_EMU_P_measured) || measured < 0)
		return 1;
	for (uint32_t i = 0; i < t->n_edges; i++)
		if (d->graph->edges[t->first_edge + i].write == x->write)
			listed += (double)d->graph->data[d->graph->edges[t->first_edge + i].data]
					  .size;
	times = listed > 0 ? (double)measured *
				     rama_emu_config_number(d->m->cfg, RAMA_EMU_P_bytes) / listed
			   : 1;
	return fmin(x->write ? fmax(times, 1) : times, TIMES_MOST);
}

static enum rama_emu_order order_of(const struct rama_emu_dag *d, const struct rama_emu_edge *x)
{
	const char *order = rama_emu_config_text(d->m->cfg, RAMA_EMU_P_order);

	if (x->order != RAMA_EMU_SEQUENTIAL)
		return x->order;
	return strcmp(order, "strided") == 0  ? RAMA_EMU_STRIDED
	       : strcmp(order, "random") == 0 ? RAMA_EMU_RANDOM
					      : RAMA_EMU_SEQUENTIAL;
}

/* `fraction` of the unit, as far as it is this part's */
static struct rama_emu_walk walk_of(const struct rama_emu_dag *d, const struct rama_emu_edge *x,
				    const struct rama_emu_dag_part *p, double fraction)
{
	bool whole = x->whole || rama_emu_config_flag(d->m->cfg, RAMA_EMU_P_whole);
	int64_t size = d->graph->data[x->data].size;
	struct rama_emu_walk w = { .size = size,
				   .request = request_of(d, x),
				   .order = order_of(d, x),
				   .part = whole ? 0 : p->part,
				   .parts = whole ? 1 : p->parts,
				   .seed = d->m->opt.seed ^ x->data ^
					   (uint64_t)p->iteration << 32 };
	int64_t who = d->turn[x - d->graph->edges], all = d->graph->data[x->data].writers, n;

	if (!x->write)
		fraction *=
			x->fraction * rama_emu_config_number(d->m->cfg, RAMA_EMU_P_read_fraction);
	if (fraction < 1)
		w.size = (int64_t)ceil((double)size * fraction);
	if (!x->write || whole || all < 2)
		return w;
	/* borders between writers lie between requests; w.size may be smaller than that of the
	 * unit */
	n = w.size / w.request + (w.size % w.request > 0);
	w.from = (n / all * who + n % all * who / all) * w.request;
	n = n / all * (who + 1) + n % all * (who + 1) / all; /* requests before the next writer's */
	w.size = (n > w.size / w.request ? w.size : n * w.request) - w.from;
	return w;
}

/* What is waited for is of this iteration; what is not may be there or not, of this one or of
 * the one before. */
static bool sure(const struct rama_emu_dag *d, const struct rama_emu_edge *x)
{
	return x->strict && !x->feedback && !d->graph->data[x->data].fed_back;
}

/* The unit as this access sees it. */
static struct rama_emu_unit *view_of(struct rama_emu_dag *d, const struct rama_emu_edge *x,
				     const struct rama_emu_dag_part *p, struct rama_emu_unit *to)
{
	*to = *d->units[x->data];
	to->pattern.version = d->graph->data[x->data].writers > 0 ? p->iteration : 0;
	/* ranks that may find a file or not do not call together */
	if (p->parts > 1 && d->m->team->group != NULL && (x->write || sure(d, x)))
		to->opt.group = d->m->team->group(d->m->team, p->ranks, p->parts);
	return to;
}

static bool wanted(const struct rama_emu_dag *d, const struct rama_emu_edge *x, uint32_t iteration)
{
	struct stat st;

	if (x->write || sure(d, x))
		return true;
	if (iteration == 0 && (x->feedback || d->graph->data[x->data].fed_back))
		return false; /* there is nothing yet to be fed back */
	return d->m->opt.engine->no_files || stat(d->units[x->data]->path, &st) == 0;
}

static void add_access(struct rama_emu_dag *d, struct rama_emu_script *s,
		       const struct rama_emu_edge *x, const struct rama_emu_dag_part *p,
		       struct rama_emu_unit *u)
{
	const char *sync = rama_emu_config_text(d->m->cfg, RAMA_EMU_P_fsync);
	double times = times_of(d, x);

	rama_emu_script_open(
		s, u, x->write ? RAMA_EMU_OPEN_WRITE | RAMA_EMU_OPEN_CREATE : RAMA_EMU_OPEN_READ);
	for (uint32_t i = 0; i < times; i++) {
		struct rama_emu_walk w = walk_of(d, x, p, fmin(times - i, 1));

		rama_emu_script_move(s, x->write ? RAMA_EMU_DO_WRITE : RAMA_EMU_DO_READ, u, &w,
				     x->write && strcmp(sync, "request") == 0);
	}
	if (x->write && strcmp(sync, "file") == 0)
		rama_emu_script_step(s, RAMA_EMU_DO_SYNC, u);
	rama_emu_script_step(s, RAMA_EMU_DO_CLOSE, u);
}

/* all that the task reads, or all that it writes */
static int run_side(struct rama_emu_dag *d, const struct rama_emu_dag_part *p, bool write,
		    struct rama_err *e)
{
	const struct rama_emu_task *t = &d->graph->tasks[p->task];
	struct rama_emu_unit *views = calloc((size_t)t->n_edges + 1, sizeof(*views));
	bool verify = d->m->opt.verify;
	struct rama_emu_script s;
	int rc = 0;

	if (views == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	rama_emu_script_init(&s);
	for (uint32_t i = 0; rc == 0 && i < t->n_edges; i++) {
		const struct rama_emu_edge *x = &d->graph->edges[t->first_edge + i];

		if (x->write != write || !wanted(d, x, p->iteration))
			continue;
		rama_emu_script_clear(&s);
		rama_emu_script_begin(&s, p->task, p->iteration);
		add_access(d, &s, x, p, view_of(d, x, p, &views[i]));
		/* what the user's own input should hold nobody knows */
		d->m->opt.verify = verify && sure(d, x) &&
				   (d->graph->data[x->data].writers > 0 || d->made[x->data]);
		rc = rama_emu_emulation_stream(d->m, &s, e);
	}
	d->m->opt.verify = verify;
	rama_emu_script_fini(&s);
	free(views);
	return rc;
}

static double bytes_of(const struct rama_emu_dag *d, const struct rama_emu_dag_part *p, bool write)
{
	const struct rama_emu_task *t = &d->graph->tasks[p->task];
	double n = 0;

	for (uint32_t i = 0; i < t->n_edges; i++) {
		const struct rama_emu_edge *x = &d->graph->edges[t->first_edge + i];
		struct rama_emu_walk w;

		if (x->write != write)
			continue;
		w = walk_of(d, x, p, 1);
		n += times_of(d, x) * (double)rama_emu_walk_bytes(&w);
	}
	return n;
}

double rama_emu_dag_bytes(const struct rama_emu_dag *d, uint32_t task)
{
	struct rama_emu_dag_part all = { .task = task, .parts = 1 };

	return bytes_of(d, &all, false) + bytes_of(d, &all, true);
}

/* Times that were measured hold the I/O too: what reading took is known, what writing will take
 * is guessed from what it took so far. */
static double compute_time(struct rama_emu_dag *d, const struct rama_emu_dag_part *p,
			   double reading)
{
	const struct rama_emu_task *t = &d->graph->tasks[p->task];
	double seconds = t->seconds;

	if (t->measured && d->m->opt.speed > 0) {
		const struct rama_emu_tally *b = &d->m->books.rank;
		double io = reading;

		if (b->bytes_written > 0)
			io += bytes_of(d, p, true) * (b->write_time + b->sync_time) /
			      (double)b->bytes_written;
		seconds -= io * d->m->opt.speed;
	}
	return seconds > 0 ? seconds : 0;
}

int rama_emu_dag_task(struct rama_emu_dag *d, const struct rama_emu_dag_part *p, struct rama_err *e)
{
	const struct rama_emu_task *t = &d->graph->tasks[p->task];
	double start = rama_emu_team_now();
	struct rama_emu_script s;
	int rc = run_side(d, p, false, e);

	if (rc == 0) {
		rama_emu_script_init(&s);
		rama_emu_script_begin(&s, p->task, p->iteration);
		rama_emu_script_compute(&s, compute_time(d, p, rama_emu_team_now() - start),
					ceil(t->cores / fmax(1, p->parts)));
		rc = rama_emu_emulation_stream(d->m, &s, e);
		rama_emu_script_fini(&s);
	}
	if (rc == 0)
		rc = run_side(d, p, true, e);
	if (rc != 0 && strncmp(e->text, "task ", 5) != 0) /* else another rank's */
		rama_err_prefix(e, "task %s", d->graph->tasks[p->task].id);
	return rc;
}
