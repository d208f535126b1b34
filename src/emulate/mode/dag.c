/* SPDX-License-Identifier: BSD-3-Clause */
/* dag.c: a workflow. The director places tasks on ranks as their input becomes complete;
 * ranks wait for messages and cost nothing while they do. A unit is written under another name
 * until its last writer is done, so whoever finds it finds all of it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/human.h"
#include "emulate/mode/dag.h"

/* ---- one task ------------------------------------------------------------------------------- */
/* One task on one rank: read the input, compute, write the output. */

static int64_t request_of(const struct rama_emu_dag *d, const struct rama_emu_edge *x)
{
	return x->request > 0 ? x->request : d->m->request;
}

/* How often a unit is moved, by what was measured: less than once, it is read in part; more,
 * over and over. What is written is complete in any case. */
static double all_times_of(const struct rama_emu_dag *d, const struct rama_emu_edge *x)
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
	return x->write ? fmax(times, 1) : times;
}

static double times_of(const struct rama_emu_dag *d, const struct rama_emu_edge *x)
{
	return fmin(all_times_of(d, x), RAMA_EMU_DAG_TIMES);
}

uint32_t rama_emu_dag_cuts(const struct rama_emu_dag *d)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < d->graph->n_edges; i++)
		n += all_times_of(d, &d->graph->edges[i]) > RAMA_EMU_DAG_TIMES;
	return n;
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

/* bytes that all ranks of a task move, for guesses */
static double dag_bytes(const struct rama_emu_dag *d, uint32_t task)
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

static int dag_task(struct rama_emu_dag *d, const struct rama_emu_dag_part *p, struct rama_err *e)
{
	const struct rama_emu_task *t = &d->graph->tasks[p->task];
	double start = rama_now();
	struct rama_emu_script s;
	int rc = run_side(d, p, false, e);

	if (rc == 0) {
		rama_emu_script_init(&s);
		rama_emu_script_begin(&s, p->task, p->iteration);
		rama_emu_script_compute(&s, compute_time(d, p, rama_now() - start),
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

/* ---- workflows ------------------------------------------------------------------------------ */

enum { MSG_TASK = 1, MSG_PUBLISH, MSG_STOP, MSG_DONE, MSG_PUBLISHED, MSG_BEGIN };

#define RUNS_MOST 4000000 /* tasks x iterations whose times are kept */
#define TELL_EVERY 0.2	  /* seconds */
#define TOLD_WITHIN 5.0	  /* seconds until all ranks should know that one has failed */
/* bytes per second: what a task without a known time is taken to last, for how long it may go on */
#define USUAL_RATE 1e8

/* MSG_TASK, MSG_PUBLISH to a rank; MSG_DONE, MSG_PUBLISHED back */
struct order {
	uint32_t task, iteration, part,
		n; /* n numbers follow: ranks of the task, or units to publish */
	struct rama_emu_dag_moved moved; /* by this part */
};

/* ---- the director's side -------------------------------------------------------------------- */

struct director {
	struct rama_emu_dag *d;
	struct rama_emu_schedule *schedule;
	uint32_t *pending;   /* tasks: parts that still run */
	uint32_t *first;     /* tasks: the rank that publishes */
	uint32_t *unwritten; /* data: writers that are not done in this iteration */
	uint32_t *list;	     /* of one order */
	double began, told;  /* when progress was last told */
	double work, worked; /* seconds that all tasks may last, and those that are done */
	struct rama_emu_dag_moved moved;
};

static int post(struct rama_emu_team *t, int to, uint32_t kind, struct order o,
		const uint32_t *numbers)
{
	char bytes[sizeof(o) + 4 * 64], *b = bytes;
	size_t n = sizeof(o) + 4 * (size_t)o.n;
	int rc;

	if (n > sizeof(bytes)) {
		b = malloc(n);
		if (b == NULL)
			return RAMA_EMEMORY;
	}
	memcpy(b, &o, sizeof(o));
	if (o.n > 0)
		memcpy(b + sizeof(o), numbers, 4 * (size_t)o.n);
	rc = rama_emu_team_post(t, to, kind, b, n);
	if (b != bytes)
		free(b);
	return rc;
}

/* ---- how far it is -------------------------------------------------------------------------- */

static double work_of(const struct rama_emu_dag *d, uint32_t task)
{
	double speed = d->m->opt.speed;

	return (speed > 0 ? d->graph->tasks[task].seconds / speed : 0) +
	       dag_bytes(d, task) / USUAL_RATE + 1e-6;
}

static void tell(struct director *x)
{
	struct rama_emu_emulation *m = x->d->m;
	uint64_t done, running, waiting;
	double now = rama_now(), took = now - x->began;
	char line[300], a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN], d[RAMA_HUMAN], e[RAMA_HUMAN];

	if (m->progress == NULL || now - x->told < TELL_EVERY)
		return;
	x->told = now;
	rama_emu_schedule_counts(x->schedule, &done, &running, &waiting);
	snprintf(line, sizeof(line), "tasks: %s done, %s running, %s waiting; read %s, written %s",
		 rama_human_count(a, (int64_t)done), rama_human_count(b, (int64_t)running),
		 rama_human_count(c, (int64_t)waiting),
		 rama_human_rate(d, (double)x->moved.read / took),
		 rama_human_rate(e, (double)x->moved.written / took));
	if (x->worked > 0 && x->worked < x->work) {
		size_t n = strlen(line);

		snprintf(line + n, sizeof(line) - n, "; about %s left",
			 rama_human_duration(a, took * (x->work - x->worked) / x->worked));
	}
	m->progress(m->progress_ctx, line);
}

static struct rama_emu_task_run *run_of(const struct director *x, uint32_t task, uint32_t iteration)
{
	const struct rama_emu_emulation *m = x->d->m;
	uint64_t i = (uint64_t)iteration * x->d->graph->n_tasks + task;

	return i < m->n_runs ? &m->runs[i] : NULL;
}

static int keep_runs(struct rama_emu_dag *d, struct rama_err *e)
{
	struct rama_emu_emulation *m = d->m;
	uint64_t n = (uint64_t)d->iterations * d->graph->n_tasks;

	if (n > RUNS_MOST)
		return 0;
	m->runs = rama_arena_alloc(&m->arena, n * sizeof(*m->runs));
	if (m->runs == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %llu tasks",
				    (unsigned long long)n);
	memset(m->runs, 0, n * sizeof(*m->runs));
	m->n_runs = n;
	return 0;
}

/* ---- orders --------------------------------------------------------------------------------- */

/* hands out all that can start now, or the end */
static int dispatch(struct director *x, struct rama_emu_team *t)
{
	struct rama_emu_placement p;
	int rc = 0;

	while (rc == 0 && rama_emu_schedule_next(x->schedule, &p)) {
		struct rama_emu_task_run *run = run_of(x, p.task, p.iteration);

		x->pending[p.task] = p.n_ranks;
		x->first[p.task] = p.ranks[0];
		if (run != NULL)
			*run = (struct rama_emu_task_run){ .start = rama_now(),
							   .first_rank = p.ranks[0],
							   .ranks = p.n_ranks };
		for (uint32_t i = 0; rc == 0 && i < p.n_ranks; i++)
			rc = post(t, (int)p.ranks[i], MSG_TASK,
				  (struct order){ p.task, p.iteration, i, p.n_ranks, { 0 } },
				  p.ranks);
	}
	for (int r = 0; rc == 0 && rama_emu_schedule_finished(x->schedule) && r < t->size; r++)
		rc = rama_emu_team_post(t, r, MSG_STOP, NULL, 0);
	tell(x);
	return rc;
}

/* The units that this task was the last to write. */
static uint32_t completed(struct director *x, uint32_t task)
{
	const struct rama_emu_graph *g = x->d->graph;
	const struct rama_emu_task *t = &g->tasks[task];
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_edges; i++) {
		const struct rama_emu_edge *e = &g->edges[t->first_edge + i];

		if (!e->write || --x->unwritten[e->data] > 0)
			continue;
		x->unwritten[e->data] = g->data[e->data].writers; /* for the next iteration */
		x->list[n++] = e->data;
	}
	return n;
}

static int on_message(void *ctx, struct rama_emu_team *t, const struct rama_emu_team_message *msg,
		      struct rama_err *e)
{
	struct director *x = ctx;
	struct order o = { 0 };
	struct rama_emu_task_run *run;

	if (msg->kind == MSG_BEGIN)
		return dispatch(x, t);
	if (msg->n < sizeof(o))
		return rama_err_set(e, RAMA_ECORRUPT, "rank %d sent %zu bytes", msg->from, msg->n);
	memcpy(&o, msg->bytes, sizeof(o));
	if (o.task >= x->d->graph->n_tasks)
		return rama_err_set(e, RAMA_ECORRUPT, "rank %d did task %u", msg->from, o.task);
	if (msg->kind == MSG_DONE) {
		uint32_t n;

		x->moved.read += o.moved.read;
		x->moved.written += o.moved.written;
		if (--x->pending[o.task] > 0)
			return 0;
		n = completed(x, o.task);
		if (n > 0)
			return post(t, (int)x->first[o.task], MSG_PUBLISH,
				    (struct order){ o.task, o.iteration, 0, n, { 0 } }, x->list);
	}
	run = run_of(x, o.task, o.iteration);
	if (run != NULL)
		run->end = rama_now();
	x->worked += work_of(x->d, o.task);
	rama_emu_schedule_done(x->schedule, o.task, o.iteration);
	return dispatch(x, t);
}

static int director_init(struct director *x, struct rama_emu_dag *d, struct rama_err *e)
{
	const struct rama_emu_graph *g = d->graph;
	struct rama_emu_team *t = d->m->team;

	*x = (struct director){ .d = d, .began = rama_now() };
	x->schedule = rama_emu_schedule_new(g, (uint32_t)t->size, t->node_of, d->iterations, e);
	if (x->schedule != NULL && d->m->opt.engine->container)
		rama_emu_schedule_alone(x->schedule);
	x->pending = calloc(g->n_tasks, sizeof(*x->pending));
	x->first = calloc(g->n_tasks, sizeof(*x->first));
	x->unwritten = calloc((size_t)g->n_data + 1, sizeof(*x->unwritten));
	x->list = calloc((size_t)g->n_data + 1, sizeof(*x->list));
	if (x->schedule == NULL || x->pending == NULL || x->first == NULL || x->unwritten == NULL ||
	    x->list == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory for %u tasks", g->n_tasks);
	for (uint32_t i = 0; i < g->n_data; i++)
		x->unwritten[i] = g->data[i].writers;
	for (uint32_t i = 0; i < g->n_tasks; i++)
		x->work += d->iterations * work_of(d, i);
	return keep_runs(d, e);
}

static void director_fini(struct director *x)
{
	rama_emu_schedule_free(x->schedule);
	free(x->pending);
	free(x->first);
	free(x->unwritten);
	free(x->list);
}

/* ---- the ranks' side ------------------------------------------------------------------------ */

static int answer(struct rama_emu_dag *d, uint32_t kind, const struct order *o, struct rama_err *e)
{
	return rama_emu_team_send(d->m->team, RAMA_EMU_TEAM_DIRECTOR, kind, o, sizeof(*o), e);
}

static int publish(struct rama_emu_dag *d, const struct order *o, const uint32_t *list,
		   struct rama_err *e)
{
	for (uint32_t i = 0; i < o->n && !d->m->opt.engine->no_files; i++) {
		const struct rama_emu_unit *u = d->units[list[i]];
		char part[RAMA_EMU_OWN_PATH];
		int rc = 0;

		if (rama_emu_unit_partial(d->m->opt.own, u, part, sizeof(part)) == NULL)
			rc = rama_err_set(e, RAMA_EIO, "%s: name too long", u->path);
		else
			rc = rama_emu_own_publish(d->m->opt.own, part, u->path, e);
		if (rc != 0)
			return rc;
	}
	return answer(d, MSG_PUBLISHED, o, e);
}

static int obey(struct rama_emu_dag *d, const struct rama_emu_team_message *msg, struct rama_err *e)
{
	const uint32_t *numbers = (const uint32_t *)(msg->bytes + sizeof(struct order));
	const struct rama_emu_tally *b = &d->m->books.rank;
	struct rama_emu_dag_moved before = { b->bytes_read, b->bytes_written };
	struct order o;
	int rc;

	memcpy(&o, msg->bytes, sizeof(o));
	if (msg->kind == MSG_PUBLISH)
		return publish(d, &o, numbers, e);
	rc = dag_task(d, &(struct rama_emu_dag_part){ o.task, o.iteration, o.part, o.n, numbers },
		      e);
	o.moved = (struct rama_emu_dag_moved){ b->bytes_read - before.read,
					       b->bytes_written - before.written };
	return rc != 0 ? rc : answer(d, MSG_DONE, &o, e);
}

static void waited(struct rama_emu_dag *d, double start, double end)
{
	const struct rama_emu_team *t = d->m->team;

	if (d->m->opt.record)
		rama_emu_books_span(&d->m->books,
				    &(struct rama_emu_span){ .rank = (uint32_t)t->rank,
							     .what = RAMA_EMU_DO_WAIT,
							     .task = RAMA_EMU_NONE_YET,
							     .start = start + t->clock_offset,
							     .end = end + t->clock_offset });
}

static int work(struct rama_emu_dag *d, struct rama_err *e)
{
	struct rama_emu_team_message msg;
	int rc = 0;

	while (rc == 0) {
		double start = rama_now(), end;

		rc = rama_emu_team_recv(d->m->team, &msg, -1, e);
		if (rc <= 0)
			break;
		end = rama_now();
		d->m->books.rank.wait_time += end - start;
		d->m->books.rank.waits++;
		waited(d, start, end);
		rc = msg.kind == MSG_STOP ? 1 : obey(d, &msg, e);
		free(msg.bytes);
	}
	return rc < 0 ? rc : 0;
}

static int run_all(struct rama_emu_dag *d, struct rama_err *e)
{
	struct rama_emu_team *t = d->m->team;
	struct director x = { 0 };
	int rc = 0;

	if (t->rank == 0) {
		rc = director_init(&x, d, e);
		if (rc == 0)
			rama_emu_team_serve(t, on_message, &x);
	}
	if (rc == 0)
		rc = rama_emu_team_barrier(t, e);
	if (rc == 0 && t->rank == 0)
		rc = rama_emu_team_send(t, RAMA_EMU_TEAM_DIRECTOR, MSG_BEGIN, NULL, 0, e);
	if (rc == 0)
		rc = work(d, e);
	if (rc == 0)
		rc = rama_emu_team_barrier(t, e); /* nobody talks to the director any more */
	if (t->rank == 0)
		rama_emu_team_serve(t, NULL, NULL);
	director_fini(&x);
	return rc;
}

/* ---- the run -------------------------------------------------------------------------------- */

int rama_emu_mode_dag(struct rama_emu_emulation *m, struct rama_err *e)
{
	struct rama_emu_graph *g = malloc(sizeof(*g));
	struct rama_emu_dag d = { .m = m, .graph = g };
	int rc;

	if (g == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	m->graph = g; /* the result speaks of it */
	rama_emu_graph_init(g);
	rc = rama_emu_dag_load(&d, g, e);
	if (rc == 0)
		rc = rama_emu_dag_prepare(&d, e);
	if (rc == 0)
		rc = run_all(&d, e);
	if (rc == 0 && m->team->rank == 0)
		rc = rama_emu_dag_remarks(&d, e);
	if (rc == 0)
		return rama_emu_dag_clean(&d, false, e);
	/* before files go that others still read: what they would say is not the reason */
	rama_emu_team_abort(m->team, e);
	rama_emu_team_aborted_by(m->team, TOLD_WITHIN);
	rama_emu_dag_clean(&d, true, NULL);
	return rc;
}
