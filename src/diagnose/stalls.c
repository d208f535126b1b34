/* SPDX-License-Identifier: BSD-3-Clause */
/* stalls.c: tail latency. A mean hides it: of 3,000 writes 2,700 end in memory and 300 wait until
 * the cache is written back. A trace knows how long each call took; calls that take far longer
 * than the median, though they are no larger, stall. */
#include <string.h>

#include "diagnose/facts.h"
#include "table/index.h"

struct sum {
	double count, time, bytes;
};

static struct sum sum_of(const struct rama_job_view_traced *trace, unsigned k, unsigned from,
			 unsigned to)
{
	struct sum s = { 0, 0, 0 };

	for (unsigned i = from; i < to; i++) {
		s.count += trace->span[k][i].count;
		s.time += (double)trace->span[k][i].time;
		s.bytes += (double)trace->span[k][i].bytes;
	}
	return s;
}

/* the class in which the call in the middle lies */
static unsigned median_of(const struct rama_job_view_traced *trace, unsigned k, double all)
{
	unsigned i = 0;

	for (double n = 0; i + 1 < RAMA_JOB_SPANS; i++) {
		n += trace->span[k][i].count;
		if (2 * n >= all)
			break;
	}
	return i;
}

#define FAR 2 /* classes: at least four times, mostly sixteen times as long */

static void of_kind(struct rama_diag_file_parts *t, const struct rama_diag_facts *f,
		    const struct rama_job_view_traced *trace, unsigned k)
{
	struct sum all = sum_of(trace, k, 0, RAMA_JOB_SPANS), slow, rest;
	unsigned from = median_of(trace, k, all.count) + FAR;

	if (all.count < f->limits.stall_calls || from >= RAMA_JOB_SPANS)
		return;
	rest = sum_of(trace, k, 0, from);
	slow = sum_of(trace, k, from, RAMA_JOB_SPANS);
	/* many are no tail; larger ones take longer of themselves */
	if (slow.count < 2 || slow.count > f->limits.stall_share * all.count ||
	    slow.time < f->limits.stall_time * all.time ||
	    slow.bytes * rest.count > 4 * rest.bytes * slow.count)
		return;
	t->stalls += slow.count;
	t->stall_calls += all.count;
	t->stall_time += slow.time;
	t->stall_all += all.time;
	t->stall_lost += slow.time - slow.count * rest.time / rest.count;
}

void rama_diag_stalls(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	const struct rama_job_view_traced *trace = t->file->traced[RAMA_JOB_LAYER_POSIX];

	for (unsigned k = 0; k < 2 && trace != NULL; k++)
		of_kind(t, f, trace, k);
}

/* ---- who waits for another process ----------------------------------------------------------- */

static bool on_fuse(const struct rama_diag_file_parts *t, const struct rama_job_view *v)
{
	return t->file->mount >= 0 && strncmp(v->mounts[t->file->mount].type, "fuse", 4) == 0;
}

#define PIPE_READ 1024 /* bytes: a line or message at a time */
#define PIPE_WAIT 5e-3 /* seconds */

/* Small reads in order come from memory, where the system has read ahead. If each of them takes
 * long all the same, they wait for whoever fills a pipe. */
static double read_waits_of(const struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_POSIX];
	double reads = rama_diag_count_of(w, RAMA_TAB_POSIX_READS);

	/* both ends may be processes of the job; ranks that share a file are another matter */
	if ((t->file->ranks > 1 && !f->view->processes) || t->parallel || t->home ||
	    on_fuse(t, f->view) || reads < 2 || t->excess[1] > 0 ||
	    rama_diag_count_of(w, RAMA_TAB_POSIX_BYTES_READ) > PIPE_READ * reads ||
	    t->consec[1] < 0.9 * t->judged[1] ||
	    rama_diag_time_of(w, RAMA_TAB_POSIX_F_READ_TIME) < PIPE_WAIT * reads)
		return 0;
	return reads;
}

/* An open that takes very long and brings nothing is that of a pipe, a device or a lock */
static double waits_of(const struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	double opens = rama_diag_count_of(t->file->rec[RAMA_JOB_LAYER_POSIX], RAMA_TAB_POSIX_OPENS);
	double time =
		rama_diag_time_of(t->file->rec[RAMA_JOB_LAYER_POSIX], RAMA_TAB_POSIX_F_META_TIME);

	/* nobody puts pipes on a parallel file system: there the server is slow */
	if (t->file->ranks > 1 || t->parallel || t->disk_bytes > 65536 ||
	    time <= opens * f->limits.open_wait)
		return 0;
	return opens;
}

void rama_diag_waits(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_POSIX];
	double opens = waits_of(t, f), reads = read_waits_of(t, f);

	t->waits = opens + reads;
	t->wait_time = (opens > 0 ? rama_diag_time_of(w, RAMA_TAB_POSIX_F_META_TIME) : 0) +
		       (reads > 0 ? rama_diag_time_of(w, RAMA_TAB_POSIX_F_READ_TIME) : 0);
}
