/* SPDX-License-Identifier: BSD-3-Clause */
/* phases.c: times in which files are used, with quiet in between. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job/times.h"

/* ---- slots ---------------------------------------------------------------------------------- */
/* When somebody was busy, from accesses in any order, in memory that does not depend on
 * their number. */

struct rama_job_slots *rama_job_slots_create(void)
{
	struct rama_job_slots *s = calloc(1, sizeof(*s));

	for (unsigned i = 0; s != NULL && i < RAMA_JOB_SLOTS; i++)
		s->first[i] = -1;
	return s;
}

static unsigned slot(double t, double width)
{
	double i = t / width;

	return i < RAMA_JOB_SLOTS ? (unsigned)i : RAMA_JOB_SLOTS - 1;
}

void rama_job_slots_add(struct rama_job_slots *s, double width, double start, double end)
{
	unsigned a = slot(start, width), b = slot(end, width);

	s->open[a]++;
	s->open[b + 1]--;
	if (s->first[a] < 0 || start < s->first[a])
		s->first[a] = start;
	if (end > s->last[b])
		s->last[b] = end;
	if (a == b) {
		s->part[a] += end - start;
		return;
	}
	s->part[a] += (a + 1) * width - start;
	s->part[b] += end - b * width;
	s->full[a + 1]++;
	s->full[b]--;
}

struct span {
	double start, end;
};

/* times in which somebody was busy; returns how many, at most `room` */
static size_t slots_spans(const struct rama_job_slots *s, double width, struct span *to,
			  size_t room)
{
	int64_t open = 0;
	size_t n = 0;
	bool busy = false;

	for (unsigned i = 0; i < RAMA_JOB_SLOTS; i++) {
		open += s->open[i];
		if (open > 0 && !busy) {
			if (n == room)
				break;
			to[n].start = s->first[i] >= 0 ? s->first[i] : i * width;
		}
		if (open > 0)
			to[n].end = s->last[i] > 0 ? s->last[i] : (i + 1) * width;
		if (open <= 0 && busy)
			n++;
		busy = open > 0;
	}
	return busy ? n + 1 : n;
}

static double slots_busy(const struct rama_job_slots *s, double width)
{
	int64_t full = 0;
	double sum = 0;

	for (unsigned i = 0; i < RAMA_JOB_SLOTS; i++) {
		double busy;

		full += s->full[i];
		busy = (double)full * width + s->part[i];
		sum += busy < width || i == RAMA_JOB_SLOTS - 1 ? busy : width;
	}
	return sum;
}

/* ---- phases --------------------------------------------------------------------------------- */

#define QUIET_SECONDS 0.1
#define QUIET_SHARE 0.01
#define QUIET_MEDIANS 3

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *x, size_t n)
{
	if (n == 0)
		return 0;
	qsort(x, n, sizeof(*x), by_value);
	return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* Joins spans that are nearer to each other than a phase's gap; returns how many are left.
 * Quiet is longer than 0.1 s, than 1 % of the run time and than three times the usual gap. Where
 * most gaps are long they are not what is usual within a phase: a job that writes every minute
 * has as many phases. */
static size_t phases_join(struct span *span, size_t n, double run_time, double least)
{
	double quiet = fmax(fmax(QUIET_SECONDS, QUIET_SHARE * run_time), least), usual;
	double *gap = n > 1 ? malloc((n - 1) * sizeof(*gap)) : NULL;
	size_t kept = 0;

	for (size_t i = 1; gap != NULL && i < n; i++)
		gap[i - 1] = span[i].start - span[i - 1].end;
	usual = gap != NULL ? median(gap, n - 1) : 0;
	free(gap);
	if (usual < quiet)
		quiet = fmax(quiet, QUIET_MEDIANS * usual);
	for (size_t i = 1; i < n; i++) {
		if (span[i].start - span[kept].end > quiet)
			span[++kept] = span[i];
		else if (span[i].end > span[kept].end)
			span[kept].end = span[i].end;
	}
	return n > 0 ? kept + 1 : 0;
}

/* ---- from a trace --------------------------------------------------------------------------- */

/* one rank in one phase */
struct share {
	double busy, last;
	const struct rama_job_cell *longest;
};

static void see_cells(struct rama_job_view_phase *p, struct share *s,
		      const struct rama_job_cell *row, const unsigned bins[2])
{
	for (unsigned b = bins[0]; b <= bins[1]; b++) {
		const struct rama_job_cell *c = &row[b];

		for (unsigned k = 0; k < 2; k++)
			p->count[k] += c->count[k];
		s->busy += c->busy;
		s->last = c->last > s->last ? c->last : s->last;
		if (c->count[0] + c->count[1] > 0 &&
		    (s->longest == NULL || c->end - c->start > s->longest->end - s->longest->start))
			s->longest = c;
	}
}

static void see_slowest(const struct rama_job_view *v, struct rama_job_view_phase *p,
			const struct share *s, int64_t rank)
{
	p->slow_busy = s->busy;
	p->slow_rank = rank;
	p->file = NULL;
	if (s->longest == NULL)
		return;
	p->file = &v->files[s->longest->file];
	p->offset = s->longest->offset;
	p->length = s->longest->length;
	p->op_start = s->longest->start;
	p->op_end = s->longest->end;
	p->op_kind = s->longest->kind;
}

/* the layers that phases are made of: both of the system, or MPI-IO alone */
struct layers {
	unsigned first, last;
};

static void fill_traced(struct rama_job_view *v, struct rama_job_view_phase *p, struct layers l,
			double *busy)
{
	const struct rama_job_trace *t = v->work->trace;
	double a = p->start / t->width, b = p->end / t->width, bytes[2] = { 0 };
	unsigned bins[2] = { a < t->bins ? (unsigned)a : t->bins - 1,
			     b < t->bins ? (unsigned)b : t->bins - 1 };
	size_t n = 0;

	for (int64_t rank = 0; rank < v->nprocs; rank++) {
		struct share s = { 0 };

		for (unsigned i = l.first; i <= l.last; i++)
			if (t->layer[i].row != NULL && t->layer[i].row[rank] != NULL)
				see_cells(p, &s, t->layer[i].row[rank], bins);
		if (s.last == 0)
			continue;
		if (n == 0 || s.busy > p->slow_busy)
			see_slowest(v, p, &s, rank);
		p->wait += p->end > s.last ? p->end - s.last : 0;
		busy[n++] = s.busy;
	}
	for (unsigned i = l.first; i <= l.last; i++)
		for (unsigned k = bins[0]; k <= bins[1]; k++)
			for (unsigned d = 0; d < 2; d++)
				bytes[d] += t->layer[i].bin_bytes[d][k];
	p->bytes[0] = bytes[0] < 9e18 ? llround(bytes[0]) : INT64_MAX;
	p->bytes[1] = bytes[1] < 9e18 ? llround(bytes[1]) : INT64_MAX;
	p->ranks = (uint32_t)n;
	p->wait = n > 0 ? p->wait / (double)n : 0;
	p->median_busy = median(busy, n);
}

static int from_trace(struct rama_job_view *v, struct layers l, const struct rama_job_slots *slots)
{
	const struct rama_job_trace *t = v->work->trace;
	struct span *span = malloc(RAMA_JOB_SLOTS * sizeof(*span));
	double *busy = malloc((size_t)v->nprocs * sizeof(*busy));
	size_t n = 0;

	if (span != NULL && busy != NULL) {
		n = slots_spans(slots, t->slot_width, span, RAMA_JOB_SLOTS);
		/* phases have bins of their own: at least one is empty between two */
		n = phases_join(span, n, v->run_time, 2.5 * t->width);
		v->phases = rama_arena_alloc(&v->arena, n * sizeof(*v->phases) + 1);
	}
	for (size_t i = 0; v->phases != NULL && i < n; i++) {
		v->phases[i] = (struct rama_job_view_phase){ .start = span[i].start,
							     .end = span[i].end,
							     .slow_rank = -1 };
		fill_traced(v, &v->phases[i], l, busy);
		v->n_phases++;
	}
	free(span);
	free(busy);
	v->phases_traced = true;
	v->busy_time = slots_busy(slots, t->slot_width);
	return v->phases != NULL ? 0 : RAMA_EMEMORY;
}

/* ---- from heat maps ------------------------------------------------------------------------- */

static bool is_active(const struct rama_job_layer_heat *h, int64_t rank, unsigned b)
{
	return h->active[rank][b / 64] >> b % 64 & 1;
}

static void fill_heat(const struct rama_job_view *v, const struct rama_job_layer_heat *h,
		      struct rama_job_view_phase *p, const unsigned bins[2], double *busy)
{
	double bytes[2] = { 0 };
	size_t n = 0;

	for (int64_t rank = 0; rank < v->nprocs; rank++) {
		unsigned active = 0, last = 0;

		for (unsigned b = bins[0]; b <= bins[1]; b++) {
			if (is_active(h, rank, b)) {
				active++;
				last = b;
			}
		}
		if (active == 0)
			continue;
		if (n == 0 || active * h->width > p->slow_busy) {
			p->slow_busy = active * h->width;
			p->slow_rank = rank;
		}
		p->wait += (bins[1] - last) * h->width;
		busy[n++] = active * h->width;
	}
	for (unsigned b = bins[0]; b <= bins[1]; b++)
		for (unsigned k = 0; k < 2; k++)
			bytes[k] += h->bin_bytes[k][b];
	p->bytes[0] = bytes[0] < 9e18 ? llround(bytes[0]) : INT64_MAX;
	p->bytes[1] = bytes[1] < 9e18 ? llround(bytes[1]) : INT64_MAX;
	p->ranks = (uint32_t)n;
	p->wait = n > 0 ? p->wait / (double)n : 0;
	p->median_busy = median(busy, n);
}

static size_t heat_spans(const struct rama_job_layer_heat *h, struct span *to)
{
	size_t n = 0;
	bool busy = false;

	for (unsigned b = 0; b < h->bins; b++) {
		bool now = h->bin_bytes[0][b] > 0 || h->bin_bytes[1][b] > 0;

		if (now && !busy)
			to[n++].start = b * h->width;
		if (now)
			to[n - 1].end = (b + 1) * h->width;
		busy = now;
	}
	return n;
}

static int from_heat(struct rama_job_view *v, const struct rama_job_layer_heat *h)
{
	struct span span[RAMA_JOB_VIEW_BINS];
	size_t n = heat_spans(h, span);
	double *busy = malloc((size_t)v->nprocs * sizeof(*busy));

	for (size_t i = 0; i < n; i++)
		v->busy_time += span[i].end - span[i].start;
	n = phases_join(span, n, v->run_time, 0);
	v->phases = rama_arena_alloc(&v->arena, n * sizeof(*v->phases) + 1);
	for (size_t i = 0; busy != NULL && v->phases != NULL && i < n; i++) {
		unsigned bins[2] = { (unsigned)lround(span[i].start / h->width),
				     (unsigned)lround(span[i].end / h->width) - 1 };

		v->phases[i] = (struct rama_job_view_phase){ .start = span[i].start,
							     .end = span[i].end,
							     .slow_rank = -1 };
		fill_heat(v, h, &v->phases[i], bins, busy);
		if (v->run_time > v->phases[i].start && v->phases[i].end > v->run_time)
			v->phases[i].end = v->run_time;
		v->n_phases++;
	}
	free(busy);
	/* a bin in which little was moved was not busy all the time */
	v->busy_time = fmin(v->busy_time, fmin(rama_job_io_time(&v->disk), v->run_time));
	return busy != NULL && v->phases != NULL ? 0 : RAMA_EMEMORY;
}

static double heat_bytes(const struct rama_job_layer_heat *h)
{
	double sum = 0;

	for (unsigned b = 0; h->used && b < h->bins; b++)
		sum += h->bin_bytes[0][b] + h->bin_bytes[1][b];
	return sum;
}

/* The trace if it is all there, else heat maps, else what there is of a trace; data at the
 * lowest layers if any. */
int rama_job_phases_finish(struct rama_job_view *v)
{
	static const uint8_t order[] = { RAMA_JOB_LAYER_DFS, RAMA_JOB_LAYER_DAOS,
					 RAMA_JOB_LAYER_MPIIO };
	const struct rama_job_trace *t = v->work->trace;
	const struct rama_job_heat_maps *m = v->work->heat;
	const struct rama_job_layer_heat *h = NULL;
	bool disk = t != NULL && t->slots[0] != NULL &&
		    t->layer[RAMA_JOB_TRACED_POSIX].segments +
				    t->layer[RAMA_JOB_TRACED_STDIO].segments >
			    0;
	bool mpi = t != NULL && t->layer[RAMA_JOB_TRACED_MPIIO].segments > 0;

	if (m != NULL) {
		const struct rama_job_layer_heat *p = &m->layer[RAMA_JOB_LAYER_POSIX],
						 *s = &m->layer[RAMA_JOB_LAYER_STDIO];

		h = heat_bytes(s) > heat_bytes(p) ? s : p;
		for (unsigned i = 0; i < sizeof(order) && heat_bytes(h) == 0; i++)
			h = &m->layer[order[i]];
		h = heat_bytes(h) > 0 ? h : NULL;
	}
	if (disk && (h == NULL || !v->segments_cut))
		return from_trace(v,
				  (struct layers){ RAMA_JOB_TRACED_POSIX, RAMA_JOB_TRACED_STDIO },
				  t->slots[0]);
	if (h != NULL)
		return from_heat(v, h);
	if (mpi)
		return from_trace(v,
				  (struct layers){ RAMA_JOB_TRACED_MPIIO, RAMA_JOB_TRACED_MPIIO },
				  t->slots[1]);
	return 0;
}
