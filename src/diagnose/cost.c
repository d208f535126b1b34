/* SPDX-License-Identifier: BSD-3-Clause */
/* cost.c: see cost.h. Times in records are added over ranks; run time is that of the slowest
 * rank. So a loss is put where it happened: upon the one rank of a private file; upon all ranks
 * of a shared one, with the slowest told apart where the record knows it. Below MPI-IO ranks wait
 * for the slowest that touches the disk, as long as they are in MPI-IO and not on disk. */
#include <math.h>
#include <stdlib.h>

#include "diagnose/cost.h"
#include "table/index.h"

int rama_diag_cost_add_rank(struct rama_diag_cost *c, const struct rama_diag_facts *f, int64_t rank,
			    double lost)
{
	if (rank < 0 || rank >= f->view->nprocs) {
		c->partly_mean += lost / fmax(1, f->ranks);
		return 0;
	}
	if (c->rank == NULL)
		c->rank = calloc((size_t)f->view->nprocs, sizeof(*c->rank));
	if (c->rank == NULL)
		return RAMA_EMEMORY;
	c->rank[rank] += lost;
	return 0;
}

/* time of the slowest rank in the calls of the application */
static double slowest_top(const struct rama_job_view_file *file, const struct rama_diag_sums *x)
{
	const union rama_core_word *w = file->rec[RAMA_JOB_LAYER_MPIIO];
	double slow = file->top == RAMA_JOB_LAYER_MPIIO && w != NULL
			      ? w[RAMA_TAB_MPIIO_F_SLOWEST_RANK_TIME].f
			      : x->slowest_time;

	return isfinite(slow) ? fmin(fmax(slow, x->top_time / fmax(1, x->openers)), x->top_time)
			      : 0;
}

/* several ranks: each loses the mean, the slowest more */
static int add_shared(struct rama_diag_cost *c, const struct rama_diag_facts *f,
		      const struct rama_job_view_file *file, double lost, double slow)
{
	double mean = lost / fmax(1, file->ranks);
	double more = fmax(0, slow - mean);

	if (file->shared) {
		c->everyone += mean;
	} else {
		c->partly_mean += lost / fmax(1, f->ranks);
		c->partly_most = fmax(c->partly_most, mean);
	}
	return more > 0 && file->slow_rank >= 0
		       ? rama_diag_cost_add_rank(c, f, file->slow_rank, more)
		       : 0;
}

/* Below MPI-IO: a rank saves what it loses itself, and what it waits for the slowest inside of the
 * calls. Who waits for nobody there, however collective the calls are, gains nothing by others. */
static int add_below(struct rama_diag_cost *c, const struct rama_diag_facts *f,
		     const struct rama_job_view_file *file, const struct rama_diag_sums *x,
		     double lost, double slow)
{
	double waits = fmax(0, x->top_time - x->disk_time);
	double own = fmin(x->top_time, lost + waits) / fmax(1, x->openers);

	c->everyone += fmin(slow, own);
	return slow > own && file->slow_rank >= 0
		       ? rama_diag_cost_add_rank(c, f, file->slow_rank, slow - own)
		       : 0;
}

int rama_diag_cost_add(struct rama_diag_cost *c, const struct rama_diag_facts *f,
		       const struct rama_job_view_file *file, const struct rama_diag_sums *x,
		       enum rama_diag_rule_place place, double lost)
{
	double total = place == RAMA_DIAG_PLACE_TOP ? x->top_time : x->disk_time;
	double slow;

	if (!(lost > 0))
		return 0;
	if (place == RAMA_DIAG_PLACE_SLOW)
		return rama_diag_cost_add_rank(
			c, f, file->ranks <= 1 ? file->rank : file->slow_rank, lost);
	if (place == RAMA_DIAG_PLACE_OWN || place == RAMA_DIAG_PLACE_BEYOND)
		return file->ranks <= 1 ? rama_diag_cost_add_rank(c, f, file->rank, lost)
					: add_shared(c, f, file, lost, 0);
	if (total <= 0) {
		place = RAMA_DIAG_PLACE_TOP; /* what is below is not in the log */
		total = x->top_time;
	}
	if (total <= 0)
		return 0;
	lost = fmin(lost, total);
	if (file->ranks <= 1)
		return rama_diag_cost_add_rank(c, f, file->rank, lost);
	slow = lost / total *
	       (place == RAMA_DIAG_PLACE_TOP ? slowest_top(file, x) : x->slowest_time);
	if (place == RAMA_DIAG_PLACE_DISK && file->top == RAMA_JOB_LAYER_MPIIO)
		return add_below(c, f, file, x, lost, slow);
	return add_shared(c, f, file, lost, slow);
}

static double base_of(const struct rama_diag_cost *c)
{
	return c->everyone + fmax(c->partly_mean, c->partly_most);
}

static double lost_at(const struct rama_diag_cost *c, size_t r)
{
	return base_of(c) + (c->rank != NULL ? c->rank[r] : 0);
}

double rama_diag_cost_at(const struct rama_diag_cost *c, const struct rama_diag_facts *f, size_t r)
{
	double io = rama_job_io_time(&f->view->ranks[r].io);
	double lost = lost_at(c, r);

	/* calls of several threads add up to more than the run time: so do their losses */
	if (f->run_time > 0 && io > f->run_time) {
		lost *= f->run_time / io;
		io = f->run_time;
	}
	return fmin(lost, io);
}

double rama_diag_cost_path(const struct rama_diag_cost *c, const struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	double most = f->run_time > 0 ? f->run_time : INFINITY, now = 0, then = 0;

	if (v->ranks == NULL || (base_of(c) <= 0 && c->rank == NULL))
		return fmin(base_of(c), f->io_time);
	for (size_t r = 0; r < (size_t)v->nprocs; r++) {
		double io = fmin(rama_job_io_time(&v->ranks[r].io), most);

		now = fmax(now, io);
		then = fmax(then, io - rama_diag_cost_at(c, f, r));
	}
	return fmin(now - then, f->io_time);
}

double rama_diag_cost_beyond(const struct rama_diag_cost *c, const struct rama_diag_cost *all,
			     const struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	double most = f->run_time > 0 ? f->run_time : INFINITY, now = 0, then = 0;

	for (size_t r = 0; v->ranks != NULL && r < (size_t)v->nprocs; r++) {
		double busy = fmin(rama_job_io_time(&v->ranks[r].io) + lost_at(all, r), most);

		now = fmax(now, busy);
		then = fmax(then, busy - fmin(lost_at(c, r), busy));
	}
	return now - then;
}

void rama_diag_cost_fini(struct rama_diag_cost *c)
{
	free(c->rank);
	c->rank = NULL;
}
