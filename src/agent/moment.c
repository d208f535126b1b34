/* SPDX-License-Identifier: BSD-3-Clause */
/* moment.c: once a second, what the processes of each job are at: the calls that they are in and
 * the files that move, as `iorama watch` sees them here, for those who look from elsewhere. Only
 * the newest is of use: while the store is away nothing is kept for it. */
#include <stdlib.h>
#include <string.h>

#include "agent/loop.h"
#include "look/known.h"

#define TOLD_MOST 256	/* processes of a job */
#define FILES_MOST 20	/* files of a job */
#define ROOM (1u << 20) /* bytes that the spool has to have left: events go first */

struct rama_agent_moment {
	struct rama_look_process p;
	struct rama_look_seg seg; /* its map is that of the agent */
	uint64_t seqs;		  /* what changes with its counters, when it was read last */
	bool active;		  /* it did something then */
};

void rama_agent_moment_free(struct rama_agent_moment *m)
{
	if (m != NULL) {
		m->seg.open = false; /* the agent closes it */
		rama_look_seg_close(&m->seg);
	}
	free(m);
}

/* ---- looking --------------------------------------------------------------------------------- */

static bool is_at_work(const struct rama_agent_drain_seg *s)
{
	const struct rama_seg_area_get *a = &s->map.seg.head.area[RAMA_SEG_AREA_LANES];

	for (uint32_t i = 0; i < s->n_lanes; i++) {
		const struct rama_seg_lane *lane =
			(const void *)(s->map.base + a->off + (uint64_t)i * a->item);

		if (__atomic_load_n(&lane->doing_since, __ATOMIC_RELAXED) != 0)
			return true;
	}
	return false;
}

static uint64_t seqs_of(const struct rama_agent_drain_seg *s)
{
	uint64_t sum = 0;

	for (unsigned kind = 0; kind < RAMA_SEG_KINDS; kind++)
		sum += s->counted.seqs[kind];
	return sum;
}

static struct rama_agent_moment *moment_of(struct rama_agent_drain_seg *s)
{
	struct rama_agent_moment *m = s->moment;

	if (m == NULL && (m = calloc(1, sizeof(*m))) != NULL) {
		m->seg.map = s->map;
		m->seg.open = true;
		m->p.seg = &m->seg;
		m->p.here = true;
		s->moment = m;
	}
	return m;
}

/* What is it at? false: nothing that is worth a word. Who rests costs the look at a few
 * numbers. */
static bool see(struct rama_agent *a, struct rama_agent_drain_seg *s,
		const struct rama_look_now *now, double interval)
{
	uint64_t seqs = seqs_of(s);
	bool fresh = s->moment == NULL, first;
	struct rama_agent_moment *m = s->moment;
	struct rama_err e = { 0 };

	if (s->phase != RAMA_AGENT_DRAIN_RUNNING ||
	    (!is_at_work(s) && seqs == (m != NULL ? m->seqs : 0) && !(m != NULL && m->active)))
		return false;
	m = moment_of(s);
	if (m == NULL || rama_seg_refresh(&m->seg.map.seg, &e) != 0)
		return false;
	/* what it did before anybody looked is no gain */
	first = fresh && (int64_t)s->own.real0 < a->moment_real;
	m->p.state = m->seg.map.seg.state.phase == RAMA_SEG_OFF ? RAMA_LOOK_OFF : RAMA_LOOK_RUNNING;
	m->p.pid = s->map.seg.id.pid;
	m->p.rank = s->rank;
	m->active = rama_look_seg_read(&m->p, now, interval, first, "/proc", &e) == 0 &&
		    (m->p.n_calls > 0 || rama_look_ops(&m->p.gain) > 0);
	m->seqs = seqs;
	return m->active;
}

/* ---- telling --------------------------------------------------------------------------------- */

static int64_t ns_of(double s)
{
	return s > 0 && s < 9e9 ? (int64_t)(s * 1e9) : 0;
}

static struct rama_wire_msg_gain figures_of(const struct rama_look_io *io)
{
	return (struct rama_wire_msg_gain){ .reads = io->reads,
					    .writes = io->writes,
					    .metas = io->metas,
					    .bytes_read = io->bytes_read,
					    .bytes_written = io->bytes_written,
					    .read_ns = ns_of(io->read_time),
					    .write_ns = ns_of(io->write_time),
					    .meta_ns = ns_of(io->meta_time) };
}

static void put_at(struct rama_wire_msg_at *to, struct rama_wire_msg_call *call,
		   const struct rama_agent_drain_seg *s)
{
	const struct rama_look_process *p = &s->moment->p;

	*to = (struct rama_wire_msg_at){ .segment = s->key,
					 .rank = p->rank,
					 .pid = p->pid,
					 .threads = p->threads,
					 .files = p->files,
					 .wait = p->wait > RAMA_LOOK_WAIT_COMPUTE
							 ? p->wait - RAMA_LOOK_WAIT_COMPUTE
							 : 0,
					 .share = (uint64_t)(p->share * 1e6),
					 .longest = ns_of(p->longest),
					 .gain = figures_of(&p->gain),
					 .calls = p->n_calls,
					 .n = p->n_told,
					 .call = call };
	for (unsigned i = 0; i < p->n_told; i++)
		call[i] = (struct rama_wire_msg_call){ .fn = p->call[i].fn,
						       .class = p->call[i].class,
						       .tid = p->call[i].tid,
						       .since = ns_of(p->call[i].since),
						       .file = p->call[i].name };
}

static void put_file(struct rama_wire_msg_moved *to, const struct rama_look_file *f)
{
	*to = (struct rama_wire_msg_moved){ .record = f->id,
					    .processes = f->processes,
					    .name = f->name,
					    .longest = ns_of(f->longest),
					    .gain = figures_of(&f->gain),
					    .total = figures_of(&f->total) };
}

/* n processes of a job, those that are worth most first */
static int put_all(struct rama_wire_msg_moment *w, struct rama_agent_drain_seg *const *seg,
		   size_t n, struct rama_wire_msg_call *call, struct rama_look_files *files,
		   struct rama_err *e)
{
	const struct rama_look_process **p = calloc(n + 1, sizeof(*p));
	int rc = p != NULL ? 0 : rama_err_no_memory(e);

	for (size_t i = 0; rc == 0 && i < n; i++)
		p[i] = &seg[i]->moment->p;
	if (rc == 0)
		rc = rama_look_files_moving(files, p, n, FILES_MOST, e);
	free(p);
	for (w->n = 0; rc == 0 && w->n < n && w->n < TOLD_MOST; w->n++)
		put_at(&w->at[w->n], call + (size_t)w->n * RAMA_LOOK_CALLS, seg[w->n]);
	for (w->n_files = 0; rc == 0 && w->n_files < files->n; w->n_files++)
		put_file(&w->file[w->n_files], &files->file[w->n_files]);
	return rc;
}

static void tell(struct rama_agent *a, struct rama_agent_drain_job *job,
		 struct rama_agent_drain_seg *const *seg, size_t n)
{
	size_t told = n < TOLD_MOST ? n : TOLD_MOST;
	struct rama_wire_msg_call *call = calloc(told * RAMA_LOOK_CALLS + 1, sizeof(*call));
	struct rama_wire_msg_at *at = calloc(told + 1, sizeof(*at));
	struct rama_wire_msg_moved file[FILES_MOST];
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_MOMENT };
	struct rama_look_files files = { 0 };
	struct rama_err e = { 0 };

	m.moment = (struct rama_wire_msg_moment){ .host = a->drain.host,
						  .job = job->key,
						  .t = a->drain.real,
						  .width = a->drain.mono - a->moment_mono,
						  .processes = job->segments,
						  .at = at,
						  .file = file };
	if (call != NULL && at != NULL && put_all(&m.moment, seg, n, call, &files, &e) == 0 &&
	    !rama_agent_post_failing(job->post) && rama_agent_post_has_room(job->post, ROOM) &&
	    rama_agent_post_send(job->post, &m, job->key, 0, &e) == 0)
		job->moment = n > 0;
	rama_look_files_fini(&files);
	free(call);
	free(at);
}

/* ---- once a second --------------------------------------------------------------------------- */

static double waits(const struct rama_agent_drain_seg *s)
{
	const struct rama_look_process *p = &s->moment->p;

	return p->n_told > 0 ? p->call[0].since : 0;
}

static int by_job(const void *a, const void *b)
{
	const struct rama_agent_drain_seg *x = *(struct rama_agent_drain_seg *const *)a,
					  *y = *(struct rama_agent_drain_seg *const *)b;
	int64_t bx = x->moment->p.gain.bytes_read + x->moment->p.gain.bytes_written,
		by = y->moment->p.gain.bytes_read + y->moment->p.gain.bytes_written;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (waits(x) != waits(y))
		return waits(x) > waits(y) ? -1 : 1;
	if (bx != by)
		return bx > by ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void read_now(struct rama_look_now *now)
{
	struct rama_seg_clock_pair pair;

	for (unsigned s = RAMA_SEG_CLOCK_TSC; s >= RAMA_SEG_CLOCK_MONOTONIC; s--) {
		rama_seg_clock_read((enum rama_seg_clock_source)s, &pair);
		now->tick[s] = pair.tick;
		now->mono = pair.mono;
		now->real = pair.real;
	}
}

void rama_agent_moment_second(struct rama_agent *a)
{
	struct rama_agent_drain_seg **seg = calloc(a->n_segs + 1, sizeof(*seg));
	double interval = (double)(a->drain.mono - a->moment_mono) / 1e9;
	bool first = a->moment_mono == 0;
	struct rama_look_now now;
	size_t n = 0;

	read_now(&now);
	for (size_t i = 0; seg != NULL && i < a->n_segs; i++)
		if (see(a, a->seg[i], &now, first ? 0 : interval))
			seg[n++] = a->seg[i];
	if (n > 1)
		qsort(seg, n, sizeof(*seg), by_job);
	for (size_t i = 0, end; !first && i < n; i = end) {
		for (end = i; end < n && seg[end]->job == seg[i]->job; end++)
			seg[end]->job->told_moment = true;
		tell(a, seg[i]->job, seg + i, end - i);
	}
	/* nobody waits any more: that is told once */
	for (size_t i = 0; i < a->n_jobs; i++) {
		if (a->job[i]->moment && !a->job[i]->told_moment && a->job[i]->segments > 0)
			tell(a, a->job[i], NULL, 0);
		a->job[i]->told_moment = false;
	}
	a->moment_mono = a->drain.mono;
	a->moment_real = a->drain.real;
	free(seg);
}
