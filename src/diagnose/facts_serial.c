/* SPDX-License-Identifier: BSD-3-Clause */
/* facts_serial.c: I/O in turn. A script starts hundreds of programs one after the other: each
 * spends next to nothing in I/O, all of them much of the run. Ranks that wait for the one before
 * them write one after the other: each is done soon, the last one late. */
#include <math.h>
#include <stdlib.h>

#include "diagnose/facts.h"

/* processes of which one begins when the one before has ended */
struct lane {
	double end, io, most, count;
};

struct turn {
	double start, end, io;
};

static int by_start(const void *a, const void *b)
{
	double x = ((const struct turn *)a)->start, y = ((const struct turn *)b)->start;

	return (x > y) - (x < y);
}

#define LANES 64     /* more at a time are no script */
#define BETWEEN 1e-3 /* seconds by which one may seem to begin before the other has ended */

/* the free lane that has seen most I/O; a new one if there is none; NULL: too many at a time */
static struct lane *lane_for(struct lane *lanes, unsigned *n, const struct turn *t)
{
	struct lane *best = NULL;

	for (unsigned i = 0; i < *n; i++)
		if (lanes[i].end <= t->start + BETWEEN && (best == NULL || lanes[i].io > best->io))
			best = &lanes[i];
	if (best == NULL && *n < LANES) {
		best = &lanes[(*n)++];
		*best = (struct lane){ 0 };
	}
	return best;
}

static void add(struct lane *lane, const struct turn *t)
{
	lane->end = t->end;
	lane->io += t->io;
	lane->most = fmax(lane->most, t->io);
	lane->count++;
}

static size_t turns_of(const struct rama_job_view *v, struct turn *turns)
{
	size_t n = 0;

	for (size_t r = 0; r < (size_t)v->nprocs; r++) {
		const struct rama_job_view_rank *p = &v->ranks[r];

		if (p->end > p->start)
			turns[n++] =
				(struct turn){ p->start, p->end,
					       fmin(rama_job_io_time(&p->io), p->end - p->start) };
	}
	qsort(turns, n, sizeof(*turns), by_start);
	return n;
}

void rama_diag_facts_serial(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	struct lane lanes[LANES];
	struct turn *turns;
	unsigned n_lanes = 0;
	size_t n;

	if (!v->processes || v->nprocs < 2 || v->ranks == NULL)
		return;
	turns = malloc((size_t)v->nprocs * sizeof(*turns));
	if (turns == NULL)
		return; /* one finding less */
	n = turns_of(v, turns);
	for (size_t i = 0; i < n; i++) {
		struct lane *lane = lane_for(lanes, &n_lanes, &turns[i]);

		if (lane != NULL)
			add(lane, &turns[i]);
	}
	for (unsigned i = 0; i < n_lanes; i++) {
		if (lanes[i].io <= f->serial_io)
			continue;
		f->serial_io = lanes[i].io;
		f->serial_count = lanes[i].count;
		f->serial_most = lanes[i].most;
	}
	f->serial_share = f->run_time > 0 ? fmin(1, f->serial_io / f->run_time) : 0;
	free(turns);
}

/* ---- ranks that wait for the one before them ------------------------------------------------- */

/* when a rank moves data: bins of the heat map */
struct stay {
	uint32_t first, last, bins;
};

static struct stay stay_of(const struct rama_job_view_heat *h, uint32_t row)
{
	struct stay s = { 0, 0, 0 };

	for (uint32_t b = 0; b < h->bins; b++) {
		size_t at = (size_t)row * h->bins + b;

		if (h->sum[0][at] + h->sum[1][at] <= 0)
			continue;
		s.first = s.bins == 0 ? b : s.first;
		s.last = b;
		s.bins++;
	}
	return s;
}

/* one of each rank, of the layer nearest to the disk */
static const struct rama_job_view_heat *rows_of_ranks(const struct rama_job_view *v)
{
	const struct rama_job_view_heat *found = NULL;

	for (size_t i = 0; i < v->n_heats; i++)
		if ((int64_t)v->heats[i].rows == v->nprocs &&
		    (found == NULL || v->heats[i].layer == RAMA_JOB_LAYER_POSIX))
			found = &v->heats[i];
	return found;
}

#define OFTEN 0.9 /* share of the bins in which it is as it is said to be */

/* All that move data do so in one go, one after the other without a pause, no two at a time, and
 * are in I/O all the while: not ranks that write now and then, each when its work is done. */
void rama_diag_facts_relay(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	const struct rama_job_view_heat *h = v->processes ? NULL : rows_of_ranks(v);
	uint32_t first = UINT32_MAX, last = 0, bins = 0, most = 0;
	double ranks = 0, io = 0, span;

	for (uint32_t row = 0; h != NULL && row < h->rows; row++) {
		struct stay s = stay_of(h, row);

		if (s.bins == 0)
			continue;
		if (s.bins < OFTEN * (s.last - s.first + 1) || s.bins < 2)
			return;
		first = s.first < first ? s.first : first;
		last = s.last > last ? s.last : last;
		most = s.bins > most ? s.bins : most;
		bins += s.bins;
		io += rama_job_io_time(&v->ranks[row].disk);
		ranks++;
	}
	if (ranks < 3)
		return;
	span = last - first + 1;
	/* two that follow each other share a bin */
	if (bins < OFTEN * span || bins > span + 1.1 * (ranks - 1) ||
	    io < OFTEN / 2 * span * h->width)
		return;
	f->relay_ranks = ranks;
	f->relay_time = fmin(span * h->width, f->run_time);
	f->relay_most = most * h->width;
	f->relay_cost = fmax(0, f->relay_time - f->relay_most);
}
