/* SPDX-License-Identifier: BSD-3-Clause */
/* facts_job.c: facts of a job that are no sums over files: ranks, nodes, phases, bursts, the
 * longest call. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/facts.h"
#include "table/index.h"

static double rank_time(const struct rama_job_view *v, size_t r)
{
	return fmin(rama_job_io_time(&v->ranks[r].io), v->run_time > 0 ? v->run_time : INFINITY);
}

static double rank_bytes(const struct rama_job_view_rank *r)
{
	return (double)r->io.bytes_read + (double)r->io.bytes_written;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* mean and variation over ranks */
struct spread {
	double sum, square, most;
	size_t at;
};

static void spread_add(struct spread *s, double v, size_t at)
{
	if (v > s->most) {
		s->most = v;
		s->at = at;
	}
	s->sum += v;
	s->square += v * v;
}

static double spread_variation(const struct spread *s, double n)
{
	double mean = s->sum / n;

	return mean > 0 ? sqrt(fmax(0, s->square / n - mean * mean)) / mean : 0;
}

static double deviation(const union rama_core_word *w, unsigned variance)
{
	return sqrt(fmax(0, w[variance].f));
}

/* Of records reduced over all ranks the variance is known, not each rank: that of the file that
 * took most time counts, where ranks vary no more by what else they do */
static void reduced_variation(struct rama_diag_facts *f)
{
	const struct rama_job_view_file *best = NULL;
	const union rama_core_word *w;
	double n, mean, bytes;
	bool mpi;

	for (size_t i = 0; i < f->view->n_files; i++) {
		const struct rama_job_view_file *file = &f->view->files[i];

		if (!file->pseudo && file->shared &&
		    (best == NULL || rama_job_io_time(&file->io) > rama_job_io_time(&best->io)))
			best = file;
	}
	if (best == NULL || rama_job_io_time(&best->io) < 0.5 * rama_job_io_time(&f->view->total))
		return;
	mpi = best->top == RAMA_JOB_LAYER_MPIIO;
	w = best->rec[mpi ? RAMA_JOB_LAYER_MPIIO : RAMA_JOB_LAYER_POSIX];
	if (w == NULL)
		return;
	n = fmax(1, best->ranks);
	mean = rama_job_io_time(&best->io) / n;
	bytes = ((double)best->io.bytes_read + (double)best->io.bytes_written) / n;
	f->time_variation =
		fmax(f->time_variation, deviation(w, mpi ? RAMA_TAB_MPIIO_F_VARIANCE_RANK_TIME
							 : RAMA_TAB_POSIX_F_VARIANCE_RANK_TIME) /
						mean);
	f->bytes_variation =
		fmax(f->bytes_variation, deviation(w, mpi ? RAMA_TAB_MPIIO_F_VARIANCE_RANK_BYTES
							  : RAMA_TAB_POSIX_F_VARIANCE_RANK_BYTES) /
						 bytes);
	f->time_variation = isfinite(f->time_variation) ? f->time_variation : 0;
	f->bytes_variation = isfinite(f->bytes_variation) ? f->bytes_variation : 0;
}

/* time of a rank without that in which it waits for others inside of MPI-IO, such as in a close */
static double own_time(const struct rama_job_view *v, size_t r)
{
	double time = rank_time(v, r);

	return v->layer[RAMA_JOB_LAYER_MPIIO].used && v->layer[RAMA_JOB_LAYER_POSIX].used
		       ? fmin(time, rama_job_io_time(&v->ranks[r].disk))
		       : time;
}

/* whoever moves no unusual amount: what they take stays when data is spread evenly */
static void light_facts(struct rama_diag_facts *f)
{
	double least = (f->mean_bytes + f->most_bytes) / 2;

	for (size_t r = 0; r < (size_t)f->view->nprocs; r++)
		if (rank_bytes(&f->view->ranks[r]) < least)
			f->light_time = fmax(f->light_time, own_time(f->view, r));
}

static void rank_facts_set(struct rama_diag_facts *f, const struct spread *time,
			   const struct spread *bytes, const struct spread *meta)
{
	const struct rama_job_view *v = f->view;
	double n = (double)v->nprocs;

	f->mean_io = time->sum / n;
	f->slow_rank = (double)time->at;
	f->imbalance = time->most > 0 ? (time->most - f->mean_io) / time->most : 0;
	f->time_variation = spread_variation(time, n);
	f->bytes = bytes->sum;
	f->most_bytes = bytes->most;
	f->mean_bytes = bytes->sum / n;
	f->bytes_imbalance = bytes->most > 0 ? (bytes->most - f->mean_bytes) / bytes->most : 0;
	f->bytes_variation = spread_variation(bytes, n);
	f->heavy_rank = (double)bytes->at;
	f->heavy_share = bytes->sum > 0 ? bytes->most / bytes->sum : 0;
	f->heavy_time = rank_time(v, bytes->at);
	f->heavy_read = (double)v->ranks[bytes->at].io.bytes_read;
	f->heavy_written = (double)v->ranks[bytes->at].io.bytes_written;
	f->heavy_read_time = fmin(v->ranks[bytes->at].io.read_time, f->heavy_time);
	f->heavy_write_time = fmin(v->ranks[bytes->at].io.write_time, f->heavy_time);
	f->meta_most = meta->most;
	f->meta_mean = meta->sum / n;
	f->meta_rank = (double)meta->at;
	f->meta_share = f->run_time > 0 ? f->meta_most / f->run_time : 0;
	f->meta_ratio = rama_job_io_time(&v->total) > 0
				? v->total.meta_time / rama_job_io_time(&v->total)
				: 0;
	f->blocking_read =
		f->all.mpi_reads > 0
			? f->all.mpi_read_time * (1 - f->all.nb_reads / f->all.mpi_reads) / n
			: 0;
	f->blocking_write =
		f->all.mpi_writes > 0
			? f->all.mpi_write_time * (1 - f->all.nb_writes / f->all.mpi_writes) / n
			: 0;
	if (v->ranks[0].estimated)
		reduced_variation(f);
}

/* What one rank alone reads it may pass on: then it has to be read before the others have it */
static void passed_facts(struct rama_diag_facts *f, size_t heavy)
{
	double all = 0;

	for (size_t r = 0; r < (size_t)f->view->nprocs; r++)
		all += (double)f->view->ranks[r].io.bytes_read;
	if (f->heavy_read <= f->limits.one_rank_input &&
	    f->heavy_read >= f->limits.one_rank * all && !f->view->ranks[heavy].estimated) {
		f->passed_on = f->heavy_read;
		f->passed_on_time = f->heavy_read_time;
	}
}

/* Helpers that a script starts are not compared with the program, nor is the shell that starts
 * it: processes of a job without MPI are compared with those of the same program. Whoever has
 * workers that read for it does something else than they. */
static bool is_alike(const struct rama_job_view *v, size_t r, size_t heavy)
{
	const char *program = v->processes ? v->ranks[heavy].program : NULL;

	return program == NULL ||
	       (v->ranks[r].program != NULL && strcmp(program, v->ranks[r].program) == 0);
}

static bool is_peer(const struct rama_diag_facts *f, size_t r, size_t heavy)
{
	const struct rama_job_view *v = f->view;
	double lived = v->ranks[r].end - v->ranks[r].start; /* 0: as long as the job */

	if ((lived > 0 && lived < v->run_time / 2) || !is_alike(v, r, heavy))
		return false;
	return f->workers == 0 || (double)r != f->master_rank || r == heavy;
}

/* of processes without MPI the others are only those that are alike */
static void peer_facts(struct rama_diag_facts *f, size_t heavy)
{
	const struct rama_job_view *v = f->view;
	struct spread time = { 0 }, bytes = { 0 };

	for (size_t r = 0; r < (size_t)v->nprocs; r++) {
		f->alike += is_alike(v, r, heavy);
		if (!is_peer(f, r, heavy))
			continue;
		f->peers++;
		spread_add(&time, rank_time(v, r), r);
		spread_add(&bytes, rank_bytes(&v->ranks[r]), r);
	}
	if (f->workers > 0 && (double)heavy == f->master_rank)
		f->peers = 1; /* there is only one of its kind */
	f->peer_io = f->mean_io;
	if (!v->processes || f->peers < 1)
		return;
	f->peer_io = time.sum / f->peers;
	f->imbalance = time.most > 0 && (double)time.at == f->slow_rank
			       ? (time.most - f->peer_io) / time.most
			       : 0;
	f->mean_bytes = bytes.sum / f->peers;
	f->bytes_imbalance = bytes.most > 0 ? (bytes.most - f->mean_bytes) / bytes.most : 0;
	f->bytes_variation = spread_variation(&bytes, f->peers);
}

/* Ranks are compared with their mean, not with the total of all (mistake 10); metadata is added
 * up for each rank (mistake 9) */
static int rank_facts(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	size_t n = v->nprocs > 0 ? (size_t)v->nprocs : 0;
	struct spread time = { 0 }, bytes = { 0 }, meta = { 0 };
	double *sorted;

	if (n == 0 || v->ranks == NULL)
		return 0;
	sorted = malloc(n * sizeof(*sorted));
	if (sorted == NULL)
		return RAMA_EMEMORY;
	for (size_t r = 0; r < n; r++) {
		sorted[r] = rank_time(v, r);
		spread_add(&time, sorted[r], r);
		spread_add(&bytes, rank_bytes(&v->ranks[r]), r);
		spread_add(&meta,
			   fmin(v->ranks[r].io.meta_time, v->run_time > 0 ? v->run_time : INFINITY),
			   r);
	}
	qsort(sorted, n, sizeof(*sorted), by_value);
	rama_diag_loader_workers(f);
	f->median_io = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
	free(sorted);
	rank_facts_set(f, &time, &bytes, &meta);
	peer_facts(f, bytes.at);
	passed_facts(f, bytes.at);
	light_facts(f);
	return 0;
}

/* who moves data on disk: below MPI-IO not those that asked for it */
static void disk_facts(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	struct spread bytes = { 0 };

	for (size_t r = 0; v->ranks != NULL && r < (size_t)fmax(0, (double)v->nprocs); r++)
		spread_add(&bytes,
			   (double)v->ranks[r].disk.bytes_read +
				   (double)v->ranks[r].disk.bytes_written,
			   r);
	if (bytes.sum <= 0)
		return;
	f->disk_heavy_rank = (double)bytes.at;
	f->disk_heavy_bytes = bytes.most;
	f->disk_heavy_share = bytes.most / bytes.sum;
	f->disk_heavy_time =
		fmin(v->ranks[bytes.at].disk.read_time + v->ranks[bytes.at].disk.write_time,
		     rank_time(v, bytes.at));
}

/* mean I/O time of the ranks of each node */
static int host_facts(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	double *time;
	size_t *ranks, known = 0, hosts = 0;
	double all = 0;

	if (v->n_hosts < 2 || v->ranks == NULL)
		return 0;
	time = calloc(v->n_hosts, sizeof(*time));
	ranks = calloc(v->n_hosts, sizeof(*ranks));
	if (time == NULL || ranks == NULL) {
		free(time);
		free(ranks);
		return RAMA_EMEMORY;
	}
	for (size_t r = 0; r < (size_t)v->nprocs; r++) {
		int32_t host = v->ranks[r].host;

		if (host < 0 || (size_t)host >= v->n_hosts)
			continue;
		time[host] += rank_time(v, r);
		ranks[host]++;
		all += rank_time(v, r);
		known++;
	}
	for (size_t h = 0; h < v->n_hosts; h++) {
		if (ranks[h] == 0)
			continue;
		hosts++;
		f->host_most = fmax(f->host_most, time[h] / (double)ranks[h]);
	}
	if (hosts > 1) {
		f->host_mean = all / (double)known;
		f->host_imbalance =
			f->host_most > 0 ? (f->host_most - f->host_mean) / f->host_most : 0;
	} else {
		f->host_most = 0;
	}
	free(time);
	free(ranks);
	return 0;
}

/* the phase in which most is lost by waiting for one rank */
static void phase_facts(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	double worst = 0;

	for (size_t i = 0; i < v->n_phases && v->phases_traced; i++) {
		const struct rama_job_view_phase *p = &v->phases[i];
		double lost = p->slow_busy - p->median_busy;

		if (p->ranks < 2 || lost <= 0 ||
		    p->slow_busy < f->limits.straggler * p->median_busy)
			continue;
		f->phase_count++;
		f->phase_lost += lost;
		if (lost <= worst)
			continue;
		worst = lost;
		f->worst_phase = p;
		f->phase_rank = (double)p->slow_rank;
		f->phase_busy = p->slow_busy;
		f->phase_median = p->median_busy;
		f->phase_start = p->start;
		f->phase_end = p->end;
	}
}

/* the heat map that saw most: MPI-IO counts bytes that POSIX counts again */
static const struct rama_job_view_heat *best_heat(const struct rama_job_view *v)
{
	const struct rama_job_view_heat *best = NULL;
	double most = 0;

	for (size_t i = 0; i < v->n_heats; i++) {
		double sum = 0;

		for (uint32_t b = 0; b < v->heats[i].bins; b++)
			sum += v->heats[i].bin_bytes[0][b] + v->heats[i].bin_bytes[1][b];
		if (sum > most) {
			most = sum;
			best = &v->heats[i];
		}
	}
	return best;
}

static void early_and_late(struct rama_diag_facts *f, const struct rama_job_view_heat *h)
{
	double part = f->limits.burst_time * f->run_time, read = 0, written = 0, early = 0,
	       late = 0;

	for (uint32_t b = 0; b < h->bins; b++) {
		double start = b * h->width, end = start + h->width;

		read += h->bin_bytes[1][b];
		written += h->bin_bytes[0][b];
		if (end <= fmax(part, h->width))
			early += h->bin_bytes[1][b];
		if (start >= f->run_time - fmax(part, h->width) && start < f->run_time)
			late += h->bin_bytes[0][b];
	}
	f->early_read = read >= f->limits.burst_least ? early / read : 0;
	f->late_write = written >= f->limits.burst_least ? late / written : 0;
}

/* times between the starts of phases that write, if they are alike */
static void period_facts(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	double last = NAN, sum = 0, square = 0, bytes = 0, n = 0;

	for (size_t i = 0; i < v->n_phases; i++) {
		const struct rama_job_view_phase *p = &v->phases[i];

		if ((double)p->bytes[0] < f->limits.burst_least / 16 || p->bytes[0] < p->bytes[1])
			continue;
		if (!isnan(last)) {
			sum += p->start - last;
			square += (p->start - last) * (p->start - last);
			n++;
		}
		last = p->start;
		bytes += (double)p->bytes[0];
	}
	if (n + 1 < f->limits.period_count || sum <= 0)
		return;
	if (sqrt(fmax(0, square / n - sum / n * (sum / n))) > f->limits.period_spread * (sum / n))
		return;
	f->bursts = n + 1;
	f->period = sum / n;
	f->burst_bytes = bytes / (n + 1);
}

/* computing between this phase and its neighbour, before or after it */
static double quiet_beside(const struct rama_diag_facts *f, size_t i, bool after)
{
	const struct rama_job_view *v = f->view;

	if (after)
		return fmax(0, (i + 1 < v->n_phases ? v->phases[i + 1].start : f->run_time) -
				       v->phases[i].end);
	return i > 0 ? fmax(0, v->phases[i].start - v->phases[i - 1].end) : 0;
}

/* What the slowest rank needs for its bytes at a good rate, as far as it has not overlapped that
 * already: who computes on one processor and is in I/O at the same time is longer at it than the
 * run lasts. More is told elsewhere. */
static double could_hide(const struct rama_diag_facts *f, bool read)
{
	const struct rama_job_view_rank *r = &f->view->ranks[(size_t)f->slow_rank];
	double time = read ? r->io.read_time : r->io.write_time,
	       all = read ? f->all.read_time : f->all.write_time,
	       lost = read ? f->all.read_lost : f->all.write_lost;
	double both = r->user_time <= 1.02 * f->run_time
			      ? fmax(0, r->user_time + rama_job_io_time(&r->io) - f->run_time)
			      : 0;

	return fmax(0, time * (all > 0 ? 1 - fmin(1, lost / all) : 1) - both);
}

/* Phases that write could go on while the application computes after them, those that read could
 * begin while it computes before them. */
static void overlap_facts(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	double quiet;

	if (v->ranks == NULL || v->nprocs <= 0 || f->run_time <= 0)
		return;
	for (size_t i = 0; i < v->n_phases; i++) {
		const struct rama_job_view_phase *p = &v->phases[i];
		bool read = p->bytes[1] > p->bytes[0];
		double hidden = fmin(p->end - p->start, quiet_beside(f, i, !read));

		if ((double)p->bytes[read] < f->limits.burst_least / 16 || hidden <= 0)
			continue;
		if (read) {
			f->read_bursts++;
			f->overlap_read += hidden;
		} else {
			f->write_bursts++;
			f->overlap_write += hidden;
		}
	}
	f->block_write = v->ranks[(size_t)f->slow_rank].io.write_time;
	f->block_read = v->ranks[(size_t)f->slow_rank].io.read_time;
	/* what is between bursts on disk may be MPI-IO: ranks that are there do not compute */
	quiet = fmax(0, f->run_time - f->io_time);
	f->overlap_write = fmin(fmin(f->overlap_write, could_hide(f, false)), quiet);
	f->overlap_read = fmin(fmin(f->overlap_read, could_hide(f, true)), quiet);
}

/* Who computes on one processor for the whole run and is in I/O as well does both at the same time,
 * in threads: that I/O holds up nobody. Calls of streams and of MPI-IO compute themselves, copies
 * inside of the system count for both files, and who computes on several processors tells
 * nothing. */
static void hidden_facts(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	const struct rama_job_view_rank *r;
	double lived, both;

	if (v->ranks == NULL || v->nprocs <= 0 || f->run_time <= 0 || f->all.mpi_files > 0 ||
	    f->all.copies > 0)
		return;
	r = &v->ranks[(size_t)f->slow_rank];
	lived = r->end > r->start ? r->end - r->start : f->run_time;
	if (r->threads > 1 || r->user_time > 1.02 * lived)
		return;
	both = r->user_time + f->io_time - lived - f->all.stdio_time;
	if (both >= f->limits.hidden_share * lived)
		f->hidden_time = fmin(f->io_time, both);
}

/* one call of a file against the others of its kind */
static void operation_facts(struct rama_diag_facts *f)
{
	struct rama_diag_longest best = { 0 };

	for (size_t i = 0; i < f->view->n_files; i++) {
		const struct rama_job_view_file *file = &f->view->files[i];
		const union rama_core_word *w = file->rec[RAMA_JOB_LAYER_POSIX];

		for (unsigned k = 0; k < 2 && !file->pseudo && w != NULL; k++) {
			struct rama_diag_longest l = rama_diag_longest_of(w, k == 0);

			if (l.lost > best.lost) {
				best = l;
				f->slow_op_file = file;
			}
		}
	}
	f->slow_op = best.time;
	f->slow_op_bytes = best.bytes;
	f->slow_op_mean = best.mean;
	f->slow_op_ratio = best.mean > 0 ? best.time / best.mean : 0;
	f->slow_op_lost = best.lost;
}

int rama_diag_facts_job(struct rama_diag_facts *f)
{
	const struct rama_job_view_heat *h = best_heat(f->view);
	int rc = rank_facts(f);

	if (rc == 0)
		rc = host_facts(f);
	disk_facts(f);
	phase_facts(f);
	if (h != NULL && f->run_time > 0)
		early_and_late(f, h);
	period_facts(f);
	overlap_facts(f);
	hidden_facts(f);
	operation_facts(f);
	rama_diag_loader_turns(f);
	rama_diag_facts_serial(f);
	rama_diag_facts_relay(f);
	rama_diag_facts_path(f);
	return rc;
}
