/* SPDX-License-Identifier: BSD-3-Clause */
/* facts.c: the facts of a job, and facts by their names. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/advice.h"
#include "diagnose/facts.h"
#include "table/index.h"

/* ---- targets of Lustre ----------------------------------------------------------------------- */
/* Storage targets compared. A file that lies on one target alone tells how fast
 * that target is; only files of about the same size are compared, as if all had that size, so
 * that more data does not look like a slow disk. */

struct target {
	int64_t ost;
	double files, time, bytes, slowest;
	double mean, cost; /* seconds of a file, and as if all files had the same size */
};

static int by_ost(const void *a, const void *b)
{
	int64_t x = ((const struct target *)a)->ost, y = ((const struct target *)b)->ost;

	return (x > y) - (x < y);
}

static int by_cost(const void *a, const void *b)
{
	double x = ((const struct target *)a)->cost, y = ((const struct target *)b)->cost;

	return (x > y) - (x < y);
}

/* files on one target alone, one row of each; returns how many rows */
static size_t lonely_files(const struct rama_diag_facts *f, struct target *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < f->view->n_files; i++) {
		const struct rama_job_view_file *file = &f->view->files[i];
		struct rama_diag_sums x;

		if (file->pseudo || file->stripes == NULL || file->stripes->n_osts != 1)
			continue;
		rama_diag_facts_file(f, file, &x);
		if (x.disk_bytes <= 0)
			continue;
		/* of a file that several ranks use, time is added over them */
		x.disk_time /= fmax(1, file->ranks);
		rows[n++] = (struct target){
			file->stripes->osts[0], 1, x.disk_time, x.disk_bytes, x.disk_time, 0, 0
		};
	}
	return n;
}

/* keeps files between a quarter and four times the size that most bytes lie in */
static size_t alike(struct target *rows, size_t n)
{
	double bytes = 0, square = 0, size;
	size_t out = 0;

	for (size_t i = 0; i < n; i++) {
		bytes += rows[i].bytes;
		square += rows[i].bytes * rows[i].bytes;
	}
	size = bytes > 0 ? square / bytes : 0;
	for (size_t i = 0; i < n; i++)
		if (rows[i].bytes >= size / 4 && rows[i].bytes <= size * 4)
			rows[out++] = rows[i];
	return out;
}

/* rows of the same target become one */
static size_t join(struct target *rows, size_t n)
{
	size_t out = 0;

	qsort(rows, n, sizeof(*rows), by_ost);
	for (size_t i = 0; i < n; i++) {
		if (out > 0 && rows[out - 1].ost == rows[i].ost) {
			rows[out - 1].files++;
			rows[out - 1].time += rows[i].time;
			rows[out - 1].bytes += rows[i].bytes;
			rows[out - 1].slowest = fmax(rows[out - 1].slowest, rows[i].slowest);
		} else {
			rows[out++] = rows[i];
		}
	}
	return out;
}

static void compare(struct rama_diag_facts *f, struct target *rows, size_t n)
{
	double files = 0, bytes = 0, median;
	const struct target *worst = &rows[n - 1];

	for (size_t i = 0; i < n; i++) {
		files += rows[i].files;
		bytes += rows[i].bytes;
	}
	for (size_t i = 0; i < n; i++) {
		rows[i].mean = rows[i].time / rows[i].files;
		rows[i].cost = rows[i].time / rows[i].bytes * (bytes / files);
	}
	qsort(rows, n, sizeof(*rows), by_cost);
	median = rows[n / 2].cost;
	f->known_targets = (double)n;
	f->slow_target = (double)worst->ost;
	f->slow_target_time = worst->slowest;
	f->slow_target_mean = worst->mean;
	f->slow_target_files = worst->files;
	f->other_target_time = rows[n / 2].mean;
	f->target_ratio = median > 0 ? worst->cost / median : 0;
	for (size_t i = 0; i < n; i++) {
		if (rows[i].cost >= f->limits.slow_target * median && median > 0)
			f->slow_targets++;
		else
			f->other_target_slowest = fmax(f->other_target_slowest, rows[i].slowest);
	}
}

static void skew(struct rama_diag_facts *f)
{
	const struct rama_job_view *v = f->view;
	double all = 0, most = 0;

	for (size_t i = 0; i < v->n_osts; i++) {
		all += v->osts[i].bytes;
		if (v->osts[i].bytes > most) {
			most = v->osts[i].bytes;
			f->full_target = (double)v->osts[i].ost;
		}
	}
	f->targets = (double)v->n_osts;
	if (all > 0)
		f->target_skew = most / (all / (double)v->n_osts);
}

static int facts_targets(struct rama_diag_facts *f)
{
	struct target *rows;
	size_t n;

	skew(f);
	if (f->view->n_osts == 0)
		return 0;
	rows = malloc(f->view->n_files * sizeof(*rows));
	if (rows == NULL)
		return RAMA_EMEMORY;
	n = join(rows, alike(rows, lonely_files(f, rows)));
	if (n > 1)
		compare(f, rows, n);
	free(rows);
	return 0;
}

/* ---- facts ---------------------------------------------------------------------------------- */

#define SUM(name, unit, expression, doc) \
	{ #name, #unit, doc, offsetof(struct rama_diag_sums, name), true },
#define RATIO(name, unit, expression, doc) SUM(name, unit, expression, doc)
#define JOB(name, unit, doc) { #name, #unit, doc, offsetof(struct rama_diag_facts, name), false },
const struct rama_diag_fact rama_diag_fact_info[] = {
#include "diagnose/facts.def"
};
#undef SUM
#undef RATIO
#undef JOB
const unsigned rama_diag_n_facts = sizeof(rama_diag_fact_info) / sizeof(rama_diag_fact_info[0]);

const struct rama_diag_fact *rama_diag_fact_find(const char *name, size_t len)
{
	for (unsigned i = 0; i < rama_diag_n_facts; i++)
		if (rama_diag_fact_info[i].name[0] == name[0] &&
		    strncmp(rama_diag_fact_info[i].name, name, len) == 0 &&
		    rama_diag_fact_info[i].name[len] == '\0')
			return &rama_diag_fact_info[i];
	return NULL;
}

double rama_diag_fact_value(const struct rama_diag_fact *fact, const struct rama_diag_facts *f,
			    const struct rama_diag_sums *x)
{
	const char *base = fact->of_files ? (const char *)x : (const char *)f;
	double v;

	memcpy(&v, base + fact->where, sizeof(v));
	return isfinite(v) ? v : 0;
}

/* nothing else is wrong with it: what shows a fault is no measure of it */
static bool healthy(const struct rama_diag_sums *x, const struct rama_diag_limit_values *l)
{
	return x->home_bytes_moved == 0 && x->syncs <= fmax(x->openers, l->syncs * x->writes) &&
	       x->parallel_unaligned <= l->misaligned_requests * x->parallel_accesses &&
	       !(x->stripes == 1 && x->openers > 1 && x->held >= l->stripe_file) &&
	       x->write_amplification < l->amplification &&
	       x->read_amplification < l->amplification && x->modify_read < l->amplification_bytes;
}

/* what the job itself shows; [0] writes, [1] reads */
struct shown {
	double bytes[2], time[2]; /* of files that are moved in large requests */
	double small[2];	  /* best rate of files that are moved in requests of a few KiB */
};

static void show_large(const struct rama_diag_facts *f, const struct rama_diag_sums *x,
		       struct shown *s)
{
	if (!healthy(x, &f->limits))
		return;
	if (x->small_writes <= 0.1 * x->writes &&
	    x->random_write_share <= f->limits.random_operations) {
		s->bytes[0] += x->bytes_written;
		s->time[0] += x->write_time;
	}
	if (x->small_reads <= 0.1 * x->reads &&
	    x->random_read_share <= f->limits.random_operations) {
		s->bytes[1] += x->bytes_read;
		s->time[1] += x->read_time;
	}
}

static void show_small(const struct rama_diag_facts *f, const struct rama_diag_sums *x,
		       struct shown *s)
{
	double calls[2] = { x->writes, x->reads }, bytes[2] = { x->bytes_written, x->bytes_read },
	       time[2] = { x->write_time, x->read_time };

	for (unsigned k = 0; k < 2; k++)
		if (calls[k] > f->limits.small_requests_absolute && bytes[k] <= 10240 * calls[k] &&
		    bytes[k] >= f->limits.own_rate_bytes / 16 && time[k] > 0)
			s->small[k] = fmax(s->small[k], bytes[k] / time[k]);
}

/* Nothing in its counters tells a rate: less than nine in ten requests can be of 1 MiB and more,
 * and there are few of them. */
static bool shows_nothing(const struct rama_diag_facts *f, const struct rama_job_view_file *file)
{
	const union rama_core_word *w = file->rec[RAMA_JOB_LAYER_POSIX];
	struct rama_job_io io;

	if (w == NULL)
		return true;
	io = rama_job_io_of(RAMA_JOB_LAYER_POSIX, w);
	return (double)io.bytes_written < 0.9 * 1048576 * (double)io.writes &&
	       (double)io.bytes_read < 0.9 * 1048576 * (double)io.reads &&
	       (double)io.writes <= f->limits.small_requests_absolute &&
	       (double)io.reads <= f->limits.small_requests_absolute;
}

/* rate that a process reaches when nothing is wrong: the job's own, or that of the limits */
static void facts_rates(struct rama_diag_facts *f)
{
	double most =
		fmin(f->limits.good_rate,
		     f->limits.good_rate_total / fmax(1, f->active > 0 ? f->active : f->ranks));
	struct shown s = { { 0 }, { 0 }, { 0 } };

	f->good_read = f->good_write = most;
	for (size_t i = 0; i < f->view->n_files; i++) {
		struct rama_diag_sums x;

		if (f->view->files[i].pseudo || shows_nothing(f, &f->view->files[i]))
			continue;
		rama_diag_facts_file(f, &f->view->files[i], &x);
		show_large(f, &x, &s);
		show_small(f, &x, &s);
	}
	/* small requests that are fast prove that large ones reach a multiple of it */
	f->good_write = fmax(most, f->limits.small_rate_gain * s.small[0]);
	f->good_read = fmax(most, f->limits.small_rate_gain * s.small[1]);
	if (s.bytes[0] >= f->limits.own_rate_bytes && s.time[0] > 0) {
		f->good_write = s.bytes[0] / s.time[0];
		f->own_write = 1;
	}
	if (s.bytes[1] >= f->limits.own_rate_bytes && s.time[1] > 0) {
		f->good_read = s.bytes[1] / s.time[1];
		f->own_read = 1;
	}
}

static void known_facts(struct rama_diag_facts *f, const struct rama_job_view *v)
{
	f->run_time = fmax(0, v->run_time);
	f->io_time = fmax(0, v->io_time);
	f->io_share = f->run_time > 0 ? fmin(1, f->io_time / f->run_time) : 0;
	f->mean_io = v->mean_io_time;
	f->ranks = (double)v->nprocs;
	f->nodes = (double)v->nodes;
	f->active = (double)v->active_ranks;
	f->std_bytes = (double)v->std.bytes_read + (double)v->std.bytes_written;
	f->rate = v->rate;
	f->problems = (double)v->problems;
	f->unfinished = (double)v->unfinished;
	f->lost_events = (double)v->lost_events;
	f->missed_calls = (double)v->missed_calls;
	f->folded_files = (double)v->folded_files;
	f->python = (rama_diag_advice_fits(v, NULL) & RAMA_DIAG_FIT_PYTHON) != 0;
	f->uring_ops = (double)v->uring.ops;
	f->uring_submits = (double)v->uring.submits;
	f->uring_each = v->uring.submits > 0 ? f->uring_ops / f->uring_submits : 0;
	f->uring_depth = v->uring.submits > 0 ? (double)v->uring.depth_sum / f->uring_submits : 0;
	f->uring_deepest = (double)v->uring.depth_max;
	f->uring_missed = (double)v->uring.missed;
	for (size_t i = 0; i < v->n_modules; i++) {
		const struct rama_tab_module *mod = rama_tab_module_get(v->modules[i].id);
		bool trace = mod != NULL && (mod->flags & RAMA_TAB_TRACE);

		f->partial_traces += v->modules[i].partial && trace;
		/* files without room are in other records of the module: nothing of them lacks */
		f->partial_modules += v->modules[i].partial && !trace && v->folded_files == 0;
	}
	/* Where a trace is cut the counters still have everything, as they have of processes that
	 * were killed and of files that share a record. What did not end by itself and was not
	 * killed stopped being recorded (RAMA_LOG_META_QUIET), or in the middle of a call. */
	f->counters_lost =
		f->partial_modules + f->problems + f->missed_calls + f->uring_missed > 0 ||
		v->missing_ranks != NULL || v->unplaced > 0 || v->unplaced_calls > 0 ||
		((v->partial & RAMA_LOG_PARTIAL_END) && v->unfinished == 0 && v->running == 0);
}

/* bytes of a chunk, 0: not chunked */
static double chunk_size(const union rama_core_word *w)
{
	double bytes = (double)w[RAMA_TAB_H5D_DATATYPE_SIZE].i;

	if (w[RAMA_TAB_H5D_CHUNK_SIZE_D1].i <= 0 || bytes <= 0)
		return 0;
	for (unsigned i = RAMA_TAB_H5D_CHUNK_SIZE_D1; i <= RAMA_TAB_H5D_CHUNK_SIZE_D5; i++)
		bytes *= w[i].i > 0 ? (double)w[i].i : 1;
	return bytes;
}

/* chunks are compared dataset by dataset, with the most frequent access to each */
static int chunk_facts(struct rama_diag_facts *f, const struct rama_job_view *v)
{
	if (v->n_parts == 0 || !v->layer[RAMA_JOB_LAYER_H5D].used)
		return 0;
	f->chunks = calloc(v->n_files, sizeof(*f->chunks));
	if (f->chunks == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < v->n_parts; i++) {
		const struct rama_job_view_part *part = &v->parts[i];
		struct rama_diag_chunk_facts *c = &f->chunks[part->file];
		double chunk, calls, access;

		if (part->layer != RAMA_JOB_LAYER_H5D || (chunk = chunk_size(part->rec)) <= 0)
			continue;
		calls = fmax(0, (double)part->rec[RAMA_TAB_H5D_READS].i) +
			fmax(0, (double)part->rec[RAMA_TAB_H5D_WRITES].i);
		access = (double)part->rec[RAMA_TAB_H5D_ACCESS1_ACCESS].i;
		c->accesses += calls;
		if (access <= 0 || chunk < f->limits.chunk_ratio * access)
			continue;
		c->partial += calls;
		if (calls > c->most) {
			c->most = calls;
			c->bytes = chunk;
			c->access = access;
			c->worst = part->name;
		}
	}
	return 0;
}

void rama_diag_facts_fini(struct rama_diag_facts *f)
{
	free(f->chunks);
	f->chunks = NULL;
}

static void sum_files(struct rama_diag_facts *f, const struct rama_job_view *v)
{
	double most = 0;

	f->aggregators = -1;
	for (size_t i = 0; i < v->n_files; i++) {
		struct rama_diag_sums x;

		if (v->files[i].pseudo) /* standard streams are no files (mistakes 16, 24) */
			continue;
		rama_diag_facts_file(f, &v->files[i], &x);
		rama_diag_sums_add(&f->all, &x);
		if (v->files[i].ranks > 1 || v->files[i].rank == v->io_rank)
			f->slow_input += x.input_time / fmax(1, v->files[i].ranks);
		/* aggregators are those of the file that matters most */
		if (x.coll_time_share >= f->limits.collective_operations &&
		    x.coll_reads + x.coll_writes > 0 && x.top_bytes > most) {
			most = x.top_bytes;
			f->aggregators = x.disk_ranks > 0 ? x.disk_ranks : -1;
		}
	}
	rama_diag_sums_ratios(&f->all);
	/* a mebibyte takes some time */
	if (f->io_time <= 0 && f->all.disk_bytes + f->all.top_bytes >= 1048576)
		f->untimed = fmax(f->all.disk_bytes, f->all.top_bytes);
	f->waiting = f->aggregators > 0 ? fmax(0, f->ranks - f->aggregators) : 0;
}

int rama_diag_facts_make(struct rama_diag_facts *f, const struct rama_job_view *v,
			 const struct rama_diag_profile *p)
{
	int rc;

	memset(f, 0, sizeof(*f));
	f->view = v;
	_Static_assert(sizeof(f->limits) % sizeof(double) == 0, "limits are numbers");
	memcpy(&f->limits, p->value, sizeof(f->limits));
	known_facts(f, v);
	rc = chunk_facts(f, v);
	if (rc != 0)
		return rc;
	facts_rates(f);
	sum_files(f, v);
	rc = rama_diag_facts_job(f);
	return rc == 0 ? facts_targets(f) : rc;
}
