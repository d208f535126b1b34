/* SPDX-License-Identifier: BSD-3-Clause */
/* unexplained.c: what findings leave unexplained. */
#include <math.h>
#include <string.h>

#include "base/human.h"
#include "base/out.h"
#include "diagnose/advice.h"
#include "diagnose/engine.h"

/* the slowest rank */
static const struct rama_job_io *slowest(const struct rama_diag_engine *g)
{
	const struct rama_job_view *v = g->view;
	int64_t r = (int64_t)g->facts.slow_rank;

	return v->ranks != NULL && r >= 0 && r < v->nprocs ? &v->ranks[r].io : NULL;
}

/* Its bytes need most of the time it took, at the rate of the limits: there is little to gain.
 * What the job itself reached is no proof: it may be slow all along. */
static bool at_full_speed(const struct rama_diag_engine *g, const struct rama_job_io *io)
{
	const struct rama_diag_facts *f = &g->facts;
	double users = fmax(1, f->active > 0 ? f->active : f->ranks);
	double rate = fmin(f->limits.good_rate, f->limits.good_rate_total / users);
	double need = ((double)io->bytes_read + (double)io->bytes_written) / fmax(1, rate);

	return need >= f->limits.near_good * rama_job_io_time(io);
}

/* seconds of the slowest rank in metadata of MPI-IO, such as closing a file that others write */
static double waited(const struct rama_diag_engine *g)
{
	const struct rama_job_view *v = g->view;
	const struct rama_job_io *io = slowest(g);

	return v->layer[RAMA_JOB_LAYER_MPIIO].used && v->layer[RAMA_JOB_LAYER_POSIX].used
		       ? fmax(0,
			      io->meta_time - v->ranks[(size_t)g->facts.slow_rank].disk.meta_time)
		       : 0;
}

#define COMMAND_SHOWN 160 /* bytes; longer ones are not told in a sentence */

static void put_again(const struct rama_diag_engine *g, struct rama_out *o)
{
	char command[COMMAND_SHOWN + 64];

	rama_diag_advice_command(g->view, command, sizeof(command));
	if (strlen(command) <= COMMAND_SHOWN)
		rama_out_fmt(o, ". The same job with --trace shows single calls: `%s%s`.",
			     "iorama run --trace -- ", command);
	else
		rama_out_text(o, ". Run it again with --trace to see single calls.");
}

/* where the time of the slowest rank went, how ranks differ, and what would tell more */
static void put_figures(const struct rama_diag_engine *g, struct rama_out *o,
			const struct rama_job_io *io)
{
	const struct rama_diag_facts *f = &g->facts;
	char a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN];

	rama_out_fmt(o, " %s in reads, %s in writes, %s in metadata",
		     rama_human_seconds(a, io->read_time), rama_human_seconds(b, io->write_time),
		     rama_human_seconds(c, io->meta_time));
	if (waited(g) > f->io_time / 10)
		rama_out_fmt(o, ", of which %s wait for other ranks in MPI-IO",
			     rama_human_seconds(a, waited(g)));
	if (f->all.mpi_read_time + f->all.mpi_write_time > 0)
		rama_out_fmt(o, "; added over ranks %s in MPI-IO, %s below it",
			     rama_human_seconds(a, f->all.mpi_read_time + f->all.mpi_write_time),
			     rama_human_seconds(b, f->all.disk_time));
	if (f->ranks > 1)
		rama_out_fmt(o, "; slowest %s %s, mean %s", g->view->processes ? "process" : "rank",
			     rama_human_seconds(a, f->io_time), rama_human_seconds(b, f->mean_io));
	if (g->view->traced)
		rama_out_text(o, ". `iorama path` shows who waits for whom.");
	else
		put_again(g, o);
}

static double left_of(const struct rama_diag_engine *g, double waits)
{
	return g->facts.io_time - g->facts.hidden_time - waits -
	       rama_diag_together(g, RAMA_DIAG_LEVEL_INFO);
}

/* so much that it is to be told */
static bool is_much(const struct rama_diag_engine *g, double left)
{
	const struct rama_diag_facts *f = &g->facts;

	return slowest(g) != NULL && f->io_share >= f->limits.unexplained_share &&
	       f->io_time >= f->limits.unexplained_time && left > f->io_time / 2 &&
	       rama_diag_together_beyond(g, RAMA_DIAG_LEVEL_WARN) < f->io_time / 2;
}

bool rama_diag_unexplained(const struct rama_diag_engine *g, double waits)
{
	return is_much(g, left_of(g, waits)) && !at_full_speed(g, slowest(g));
}

void rama_diag_unexplained_put(const struct rama_diag_engine *g, struct rama_out *o, double waits)
{
	const struct rama_diag_facts *f = &g->facts;
	double left = left_of(g, waits);
	const struct rama_job_io *io = slowest(g);
	char a[RAMA_HUMAN], b[RAMA_HUMAN];

	if (!is_much(g, left))
		return;
	if (at_full_speed(g, io)) {
		double bytes = (double)io->bytes_read + (double)io->bytes_written;
		double lost = rama_diag_together(g, RAMA_DIAG_LEVEL_WARN);

		rama_human_rate(a, bytes / fmax(1e-9, rama_job_io_time(io) - lost));
		if (lost > 0) /* what is found, and that all is well, is not told of the same I/O */
			rama_out_fmt(o,
				     " The rest of the I/O runs at %s in the slowest %s: near "
				     "what counts as good here.",
				     a, g->view->processes ? "process" : "rank");
		else
			rama_out_fmt(
				o,
				" It runs at %s in the slowest %s, %s in all: near what counts as "
				"good here.",
				a, g->view->processes ? "process" : "rank",
				rama_human_rate(b, f->rate));
		return;
	}
	rama_out_fmt(o, " %s of it are not explained, at %s:", rama_human_seconds(a, left),
		     rama_human_rate(b, f->rate));
	put_figures(g, o, io);
}
