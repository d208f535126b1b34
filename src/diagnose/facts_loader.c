/* SPDX-License-Identifier: BSD-3-Clause */
/* facts_loader.c: how programs are fed with data: files that are read again in each epoch,
 * processes that read for another one, reading and computing in turn; requests of io_uring. */
#include <math.h>
#include <string.h>

#include "diagnose/facts.h"
#include "table/index.h"

/* ---- files ----------------------------------------------------------------------------------- */

static double both_of(const struct rama_diag_file_parts *t, unsigned posix, unsigned stdio)
{
	return rama_diag_count_of(t->file->rec[RAMA_JOB_LAYER_POSIX], posix) +
	       rama_diag_count_of(t->file->rec[RAMA_JOB_LAYER_STDIO], stdio);
}

/* Input is what is read, and perhaps was written once before, by the same program; not what is
 * changed now and then. */
static void input_parts(struct rama_diag_file_parts *t)
{
	const union rama_core_word *posix = t->file->rec[RAMA_JOB_LAYER_POSIX],
				   *stdio = t->file->rec[RAMA_JOB_LAYER_STDIO];
	double reads = both_of(t, RAMA_TAB_POSIX_READS, RAMA_TAB_STDIO_READS),
	       writes = both_of(t, RAMA_TAB_POSIX_WRITES, RAMA_TAB_STDIO_WRITES);
	double read = both_of(t, RAMA_TAB_POSIX_BYTES_READ, RAMA_TAB_STDIO_BYTES_READ),
	       written = both_of(t, RAMA_TAB_POSIX_BYTES_WRITTEN, RAMA_TAB_STDIO_BYTES_WRITTEN);
	double meta = rama_diag_time_of(posix, RAMA_TAB_POSIX_F_META_TIME) +
		      rama_diag_time_of(stdio, RAMA_TAB_STDIO_F_META_TIME);

	if (reads == 0 || read < written ||
	    rama_diag_count_of(posix, RAMA_TAB_POSIX_RW_SWITCHES) > 2 + 0.1 * (reads + writes))
		return;
	t->input_reads = reads;
	t->input_bytes = read;
	t->input_time = rama_diag_time_of(posix, RAMA_TAB_POSIX_F_READ_TIME) +
			rama_diag_time_of(stdio, RAMA_TAB_STDIO_F_READ_TIME) +
			meta * read / fmax(1, read + written);
}

/* Bytes beyond the size of a file that is read whole each time. Ranks that read it once each are no
 * epochs. Which worker reads a sample in which epoch is chance: some of them, not all. */
static double again_of(const struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	bool chance = f->view->processes && (t->input_bytes >= 1.4 * t->size * t->users ||
					     t->users < 0.75 * (double)f->view->active_ranks);
	double once = t->size * (chance ? 1 : fmax(1, t->users));

	return t->file->folded || t->size <= 0 || t->input_bytes < 1.9 * once
		       ? 0
		       : t->input_bytes - once;
}

#define DEEP 2 /* requests at a time, on average */

/* Reads and writes that are not waited for one by one share the time of all by their number. */
static void async_parts(struct rama_diag_file_parts *t)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_POSIX],
				   *own = t->file->rec[RAMA_JOB_LAYER_EXTRA];
	double n[2] = { rama_diag_count_of(own, RAMA_TAB_EXTRA_AIO_WRITES),
			rama_diag_count_of(own, RAMA_TAB_EXTRA_AIO_READS) };
	double calls[2] = { rama_diag_count_of(w, RAMA_TAB_POSIX_WRITES),
			    rama_diag_count_of(w, RAMA_TAB_POSIX_READS) };
	double time[2] = { rama_diag_time_of(w, RAMA_TAB_POSIX_F_WRITE_TIME),
			   rama_diag_time_of(w, RAMA_TAB_POSIX_F_READ_TIME) };
	double sum[2] = { rama_diag_time_of(own, RAMA_TAB_EXTRA_F_WRITE_SUM),
			  rama_diag_time_of(own, RAMA_TAB_EXTRA_F_READ_SUM) };

	for (unsigned k = 0; k < 2; k++) {
		double share = calls[k] > 0 ? fmin(1, n[k] / calls[k]) : 0;

		t->async_time += time[k] * share;
		t->async_lost += t->lost[k] * share;
		/* added up one by one, they take several times as long as all together */
		if (sum[k] >= DEEP * time[k])
			t->async_deep += n[k];
	}
}

void rama_diag_loader_file(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	input_parts(t);
	t->again = again_of(t, f);
	if (t->file->rec[RAMA_JOB_LAYER_EXTRA] != NULL &&
	    t->file->rec[RAMA_JOB_LAYER_POSIX] != NULL)
		async_parts(t);
}

/* ---- processes that read for another --------------------------------------------------------- */

static double lived(const struct rama_diag_facts *f, const struct rama_job_view_rank *r)
{
	return r->end > r->start ? r->end - r->start : f->run_time;
}

/* Does this process read for the one that started it? It is the same program, was there for most of
 * the run, and what it did with a processor is known. */
static bool works_for(const struct rama_diag_facts *f, size_t r, int64_t parent)
{
	const struct rama_job_view_rank *own = &f->view->ranks[r],
					*master = &f->view->ranks[parent];

	return own->parent == parent && (int64_t)r != parent && own->io.bytes_read > 0 &&
	       own->program != NULL && master->program != NULL &&
	       strcmp(own->program, master->program) == 0 && own->cpu_time > 0 &&
	       lived(f, own) >= f->run_time / 2;
}

/* whoever is the parent of most; -1: nobody is one */
static int64_t master_of(const struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;

	/* loaders have one; the first that is found */
	for (size_t r = 0; r < (size_t)v->nprocs; r++)
		if (v->ranks[r].parent >= 0 && v->ranks[r].parent < v->nprocs &&
		    works_for(f, r, v->ranks[r].parent))
			return v->ranks[r].parent;
	return -1;
}

void rama_diag_loader_workers(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	int64_t master = v->processes && f->run_time > 0 ? master_of(f) : -1;
	const struct rama_job_view_rank *m;
	double busy = 0;

	if (master < 0)
		return;
	for (size_t r = 0; r < (size_t)v->nprocs; r++) {
		double io;

		if (!works_for(f, r, master))
			continue;
		io = rama_job_io_time(&v->ranks[r].io);
		f->workers++;
		f->workers_reads =
			fmax(f->workers_reads, fmin(io - v->ranks[r].io.write_time, f->run_time));
		busy += fmin(1, (v->ranks[r].user_time + io) / lived(f, &v->ranks[r]));
	}
	m = &v->ranks[master];
	f->master_rank = (double)master;
	f->workers_share = busy / f->workers;
	f->workers_needed = fmax(1, ceil(busy / 0.8));
	f->master_idle =
		m->cpu_time > 0 ? fmax(0, lived(f, m) - m->cpu_time - rama_job_io_time(&m->io)) : 0;
}

/* ---- one process that reads and computes ----------------------------------------------------- */

/* As long as nine tenths of what is read take, as if they were all of it */
static double reading_span(const struct rama_job_view *v)
{
	double most = 0, span = 0;

	for (size_t i = 0; i < v->n_heats; i++) {
		const struct rama_job_view_heat *h = &v->heats[i];
		double read = 0, sum = 0;
		uint32_t from = 0, to = 0;

		for (uint32_t b = 0; b < h->bins; b++)
			read += h->bin_bytes[1][b];
		if (read <= most)
			continue;
		most = read;
		for (uint32_t b = 0; b < h->bins && sum < 0.95 * read; b++) {
			from = sum < 0.05 * read ? b : from;
			to = b + 1;
			sum += h->bin_bytes[1][b];
		}
		span = (to - from) * h->width / 0.9;
	}
	return span;
}

/* Nobody reads for it, no other thread does, and it reads during the whole run, not only at the
 * start: then what it needs next could be read while it computes. */
void rama_diag_loader_turns(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	const struct rama_job_view_rank *r;
	double both;

	if (v->ranks == NULL || f->run_time <= 0 || (f->ranks > 1 && !v->processes) ||
	    f->workers > 0 || v->n_heats == 0 || v->ranks[(size_t)f->slow_rank].threads > 1 ||
	    f->early_read > f->limits.burst_bytes)
		return;
	r = &v->ranks[(size_t)f->slow_rank];
	both = fmax(0, r->user_time + rama_job_io_time(&r->io) - f->run_time);
	f->turns_reads = fmin(f->slow_input, f->run_time);
	/* what it does before and after all that it reads is in nobody's turn */
	f->turns_others = fmin(fmax(0, lived(f, r) - rama_job_io_time(&r->io)),
			       fmax(0, reading_span(v) - f->turns_reads));
	f->turns_time = fmax(0, fmin(f->turns_reads, f->turns_others) - both);
}
