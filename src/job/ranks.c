/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.c: what each rank did. Records of single ranks say it; what a record says of all ranks
 * together is laid upon them: of the slowest and the fastest it is known, of each if there is a
 * trace, the rest is shared out alike. */
#include <stdlib.h>
#include <string.h>

#include "job/times.h"

int rama_job_view_ranks_init(struct rama_job_view *v)
{
	struct rama_job_view_work *k = v->work;
	size_t n = (size_t)v->nprocs;

	v->ranks = calloc(n, sizeof(*v->ranks));
	k->moved = calloc(n, 1);
	if (v->ranks == NULL || k->moved == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < n; i++)
		v->ranks[i].host = -1, v->ranks[i].parent = -1;
	return 0;
}

struct rama_job_io *rama_job_view_rank_io(struct rama_job_view *v, enum rama_job_layer layer,
					  int64_t rank)
{
	struct rama_job_io **all = &v->work->rank_io[layer];

	if (*all == NULL)
		*all = calloc((size_t)v->nprocs, sizeof(**all));
	return *all != NULL ? *all + rank : NULL;
}

/* ---- sharing out ---------------------------------------------------------------------------- */

/* Figures of the ranks of a log, and what each of them is to get in the end: without it a shared
 * file would cost as many steps as there are ranks. */
struct target {
	char *first; /* struct rama_job_io of the first rank */
	size_t stride;
	struct rama_job_io each; /* for every rank */
	struct rama_job_io rest; /* whole numbers that do not divide: for all of them together */
};

static struct rama_job_io *of_rank(const struct target *t, int64_t rank)
{
	return (struct rama_job_io *)(t->first + (size_t)rank * t->stride);
}

static struct rama_job_io minus(const struct rama_job_io *a, const struct rama_job_io *b)
{
	return (struct rama_job_io){ .reads = a->reads - b->reads,
				     .writes = a->writes - b->writes,
				     .metas = a->metas - b->metas,
				     .bytes_read = a->bytes_read - b->bytes_read,
				     .bytes_written = a->bytes_written - b->bytes_written,
				     .read_time = a->read_time - b->read_time,
				     .write_time = a->write_time - b->write_time,
				     .meta_time = a->meta_time - b->meta_time };
}

static struct rama_job_io divided(const struct rama_job_io *a, int64_t n)
{
	return (struct rama_job_io){ .reads = a->reads / n,
				     .writes = a->writes / n,
				     .metas = a->metas / n,
				     .bytes_read = a->bytes_read / n,
				     .bytes_written = a->bytes_written / n,
				     .read_time = a->read_time / (double)n,
				     .write_time = a->write_time / (double)n,
				     .meta_time = a->meta_time / (double)n };
}

/* what division left over; times have none */
static struct rama_job_io remainder_of(const struct rama_job_io *a, int64_t n)
{
	return (struct rama_job_io){ .reads = a->reads % n,
				     .writes = a->writes % n,
				     .metas = a->metas % n,
				     .bytes_read = a->bytes_read % n,
				     .bytes_written = a->bytes_written % n };
}

static double share(double part, double whole)
{
	return whole <= 0 || part <= 0 ? 0 : part >= whole ? 1 : part / whole;
}

/* Whoever moved nothing spent its time in metadata, such as waiting in a close for the one that
 * moved everything, whose reads and writes are those of all. */
static void split_time(struct rama_job_io *x, const struct rama_job_io *io, double seconds,
		       double bytes)
{
	double moving = io->read_time + io->write_time;
	double own = bytes > 0 ? (moving < seconds ? moving : seconds) : 0;

	if (bytes > 0 && bytes < 1)
		return;
	if (moving <= 0 || seconds - own > io->meta_time * 1.001)
		return; /* the record says otherwise */
	x->read_time = io->read_time / moving * own;
	x->write_time = io->write_time / moving * own;
	x->meta_time = seconds - own;
}

/* A rank whose time and bytes are known: divided into reads and writes as those of all ranks
 * are, if it moved a part of the data. */
static struct rama_job_io known_io(const struct rama_job_shared *s, const struct rama_job_io *io,
				   const struct rama_job_known *k, int64_t n)
{
	double time = share(k->time, rama_job_io_time(&s->io));
	double bytes =
		share((double)k->bytes, (double)s->io.bytes_read + (double)s->io.bytes_written);
	struct rama_job_io x = divided(io, n);

	x.bytes_read = (int64_t)((double)io->bytes_read * bytes);
	x.bytes_written = (int64_t)((double)io->bytes_written * bytes);
	x.bytes_read = x.bytes_read > io->bytes_read ? io->bytes_read : x.bytes_read;
	x.bytes_written = x.bytes_written > io->bytes_written ? io->bytes_written : x.bytes_written;
	x.read_time = io->read_time * time;
	x.write_time = io->write_time * time;
	x.meta_time = io->meta_time * time;
	if (s->io.bytes_read + s->io.bytes_written > 0 && k->bytes >= 0)
		split_time(&x, io, rama_job_io_time(&x), bytes);
	return x;
}

/* whatever is left cannot be less than nothing */
static void not_below_zero(struct rama_job_io *x)
{
	int64_t *n[] = { &x->reads, &x->writes, &x->metas, &x->bytes_read, &x->bytes_written };
	double *t[] = { &x->read_time, &x->write_time, &x->meta_time };

	for (unsigned i = 0; i < 5; i++)
		*n[i] = *n[i] > 0 ? *n[i] : 0;
	for (unsigned i = 0; i < 3; i++)
		*t[i] = *t[i] > 0 ? *t[i] : 0;
}

/* no rank has more than there is */
static void limit(struct rama_job_io *x, const struct rama_job_io *most)
{
	struct rama_job_io over = minus(x, most);

	not_below_zero(&over);
	*x = minus(x, &over);
}

static void spread(struct target *t, const struct rama_job_shared *s, const struct rama_job_io *io,
		   int64_t n)
{
	const struct rama_job_known *who[2] = { &s->slow, &s->fast };
	struct rama_job_io own[2], left = *io, each, rest;
	int64_t m = 0;

	if (s->slow.rank < 0 || n < 2)
		who[0] = NULL;
	if (s->fast.rank < 0 || n < 3 || s->fast.rank == s->slow.rank)
		who[1] = NULL;
	for (unsigned i = 0; i < 2; i++) {
		if (who[i] == NULL)
			continue;
		own[i] = known_io(s, io, who[i], n);
		limit(&own[i], &left);
		left = minus(&left, &own[i]);
		m++;
	}
	not_below_zero(&left);
	each = divided(&left, n - m);
	rest = remainder_of(&left, n - m);
	rama_job_io_add(&t->each, &each);
	rama_job_io_add(&t->rest, &rest);
	for (unsigned i = 0; i < 2; i++) {
		if (who[i] != NULL) {
			own[i] = minus(&own[i], &each);
			rama_job_io_add(of_rank(t, who[i]->rank), &own[i]);
		}
	}
}

static void hand_out(struct target *t, int64_t n)
{
	struct rama_job_io more = divided(&t->rest, n), last = remainder_of(&t->rest, n);

	if (t->first == NULL)
		return;
	rama_job_io_add(&t->each, &more);
	for (int64_t r = 0; r < n; r++) {
		struct rama_job_io *x = of_rank(t, r);
		struct rama_job_io one = { .reads = r < last.reads,
					   .writes = r < last.writes,
					   .metas = r < last.metas,
					   .bytes_read = r < last.bytes_read,
					   .bytes_written = r < last.bytes_written };

		rama_job_io_add(x, &t->each);
		rama_job_io_add(x, &one);
		not_below_zero(x);
	}
}

/* ---- with a trace --------------------------------------------------------------------------- */

static int by_file(const void *a, const void *b)
{
	const struct rama_job_traced_rank *x = a, *y = b;

	if (x->layer != y->layer)
		return x->layer < y->layer ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* the traced ranks of a file in a layer */
struct traced {
	const struct rama_job_traced_rank *who;
	size_t n;
	struct rama_job_io sum;
};

static struct traced traced_ranks(const struct rama_job_view_work *k,
				  const struct rama_job_shared *s)
{
	size_t low = 0, high = k->n_traced, at;

	if (high == 0)
		return (struct traced){ 0 };
	while (low < high) {
		size_t mid = (low + high) / 2;
		const struct rama_job_traced_rank *t = &k->traced[mid];

		if (t->layer < s->layer || (t->layer == s->layer && t->file < s->file))
			low = mid + 1;
		else
			high = mid;
	}
	for (at = low;
	     at < k->n_traced && k->traced[at].file == s->file && k->traced[at].layer == s->layer;)
		at++;
	return (struct traced){ .who = &k->traced[low], .n = at - low };
}

/* A trace that holds all of it moved the same bytes; any other is not used. */
static void check_whole(const struct rama_job_shared *s, struct traced *w)
{
	for (size_t i = 0; i < w->n; i++)
		rama_job_io_add(&w->sum, &w->who[i].io);
	if (w->sum.bytes_read != s->io.bytes_read || w->sum.bytes_written != s->io.bytes_written ||
	    w->sum.reads > s->io.reads || w->sum.writes > s->io.writes)
		w->n = 0;
}

/* Calls that overlap count once in the record and twice in the trace: times are made to fit the
 * record. */
static struct rama_job_io fitted(const struct rama_job_io *x, const struct rama_job_io *sum,
				 const struct rama_job_io *io)
{
	struct rama_job_io y = *x;

	y.read_time = sum->read_time > 0 ? x->read_time / sum->read_time * io->read_time : 0;
	y.write_time = sum->write_time > 0 ? x->write_time / sum->write_time * io->write_time : 0;
	return y;
}

/* What is left of a rank's time when its reads and writes are known: metadata calls are not
 * traced. */
static struct rama_job_known rest_of(const struct rama_job_known *k, const struct traced *w,
				     const struct rama_job_io *io)
{
	struct rama_job_known x = { .rank = k->rank, .time = k->time };

	for (size_t i = 0; i < w->n; i++) {
		if (w->who[i].rank == k->rank) {
			struct rama_job_io own = fitted(&w->who[i].io, &w->sum, io);

			x.time -= own.read_time + own.write_time;
		}
	}
	x.time = x.time > 0 ? x.time : 0;
	return x;
}

static void take_traced(struct target *t, const struct rama_job_shared *s,
			const struct rama_job_io *io, const struct traced *w, int64_t ranks)
{
	struct rama_job_shared rest = { .slow = rest_of(&s->slow, w, io),
					.fast = rest_of(&s->fast, w, io) };
	struct rama_job_io used = w->sum;

	used.read_time = used.read_time > 0 ? io->read_time : 0;
	used.write_time = used.write_time > 0 ? io->write_time : 0;
	for (size_t i = 0; i < w->n; i++) {
		struct rama_job_io x = fitted(&w->who[i].io, &w->sum, io);

		rama_job_io_add(of_rank(t, w->who[i].rank), &x);
	}
	rest.io = minus(io, &used);
	not_below_zero(&rest.io);
	spread(t, &rest, &rest.io, ranks);
}

static void traced_extremes(struct rama_job_view *v, const struct rama_job_shared *s,
			    const struct traced *t)
{
	struct rama_job_view_file *f = &v->files[s->file];
	bool first = true;

	if (f->rows[s->layer] != 1 || !s->disk)
		return;
	for (size_t i = 0; i < t->n; i++) {
		int64_t w = t->who[i].io.bytes_written, r = t->who[i].io.bytes_read;

		f->most_written = first || w > f->most_written ? w : f->most_written;
		f->least_written = first || w < f->least_written ? w : f->least_written;
		f->most_read = first || r > f->most_read ? r : f->most_read;
		f->least_read = first || r < f->least_read ? r : f->least_read;
		first = false;
	}
	if ((int64_t)t->n < v->work->n) /* the others moved nothing */
		f->least_written = f->least_read = 0;
}

/* ---- a log ---------------------------------------------------------------------------------- */

struct settling {
	struct target layer[RAMA_JOB_LAYERS], top, disk;
};

/* which ranks moved data at the lowest layers */
static void see_moved(struct rama_job_view *v, const struct rama_job_shared *s,
		      const struct traced *t)
{
	struct rama_job_view_work *k = v->work;
	const struct rama_job_layer_heat *h = k->heat != NULL ? &k->heat->layer[s->layer] : NULL;

	if (!s->disk || (s->io.bytes_read == 0 && s->io.bytes_written == 0))
		return;
	for (size_t i = 0; i < t->n; i++)
		k->moved[k->first + t->who[i].rank] |=
			t->who[i].io.bytes_read > 0 || t->who[i].io.bytes_written > 0;
	if (t->n > 0)
		return;
	if (s->alike)
		memset(k->moved + k->first, 1, (size_t)k->n);
	else if (h == NULL || !h->used)
		k->moved_unknown = true;
	else
		k->ask_heat |= 1u << s->layer;
}

static void ask_heat(struct rama_job_view *v)
{
	struct rama_job_view_work *k = v->work;

	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++)
		for (int64_t r = k->first; k->ask_heat >> l & 1 && r < k->first + k->n; r++)
			k->moved[r] |= k->heat->layer[l].rank_bytes[0][r] > 0 ||
				       k->heat->layer[l].rank_bytes[1][r] > 0;
	k->ask_heat = 0;
}

static void settle_one(struct rama_job_view *v, struct settling *to,
		       const struct rama_job_shared *s)
{
	struct rama_job_view_work *k = v->work;
	struct rama_job_io top = s->io;
	struct traced traced = traced_ranks(k, s);
	struct target *t[3] = { &to->layer[s->layer], &to->top, &to->disk };
	const struct rama_job_io *io[3] = { &s->io, &top, &s->io };
	bool use[3] = { true, s->top != RAMA_JOB_TOP_NOT, s->disk };

	if (s->top == RAMA_JOB_TOP_DATA) {
		top.metas = 0;
		top.meta_time = 0;
	}
	check_whole(s, &traced);
	see_moved(v, s, &traced);
	for (unsigned i = 0; i < 3; i++) {
		if (use[i] && traced.n > 0)
			take_traced(t[i], s, io[i], &traced, k->n);
		else if (use[i])
			spread(t[i], s, io[i], k->n);
	}
	if (traced.n > 0)
		traced_extremes(v, s, &traced);
	else if (s->top != RAMA_JOB_TOP_NOT && rama_job_io_time(&top) > 0)
		k->estimated = true;
}

int rama_job_view_ranks_settle(struct rama_job_view *v)
{
	struct rama_job_view_work *k = v->work;
	struct settling to = { 0 };

	k->estimated = false;
	to.top = (struct target){ .first = (char *)&v->ranks[k->first].io,
				  .stride = sizeof(*v->ranks) };
	to.disk = (struct target){ .first = (char *)&v->ranks[k->first].disk,
				   .stride = sizeof(*v->ranks) };
	if (k->n_traced > 0)
		qsort(k->traced, k->n_traced, sizeof(*k->traced), by_file);
	for (size_t i = 0; i < k->n_shared; i++) {
		struct target *t = &to.layer[k->shared[i].layer];

		if (t->first == NULL) {
			t->first = (char *)rama_job_view_rank_io(v, k->shared[i].layer, k->first);
			t->stride = sizeof(struct rama_job_io);
		}
		if (t->first == NULL)
			return RAMA_EMEMORY;
		settle_one(v, &to, &k->shared[i]);
	}
	ask_heat(v);
	hand_out(&to.top, k->n);
	hand_out(&to.disk, k->n);
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++)
		hand_out(&to.layer[l], k->n);
	for (int64_t r = 0; k->estimated && r < k->n; r++)
		v->ranks[k->first + r].estimated = true;
	k->n_shared = k->n_traced = 0;
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

struct timed {
	double time;
	int64_t rank;
};

static int by_time(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->rank < y->rank ? 1 : x->rank > y->rank ? -1 : 0; /* lowest rank last: it wins */
}

static bool is_nothing(const struct rama_job_io *x)
{
	return x->reads == 0 && x->writes == 0 && x->metas == 0 && rama_job_io_time(x) == 0;
}

static void layer_ranks(struct rama_job_view *v, enum rama_job_layer layer, struct timed *t)
{
	const struct rama_job_io *io = v->work->rank_io[layer];
	struct rama_job_view_layer *l = &v->layer[layer];
	int64_t n = 0;

	l->slowest_rank = -1;
	for (int64_t r = 0; io != NULL && r < v->nprocs; r++)
		if (!is_nothing(&io[r]))
			t[n++] = (struct timed){ rama_job_io_time(&io[r]), r };
	if (n == 0)
		return;
	qsort(t, (size_t)n, sizeof(*t), by_time);
	l->ranks = n;
	l->mean = divided(&l->io, n);
	l->median = io[t[n / 2].rank];
	if (n % 2 == 0) { /* of two in the middle their mean */
		rama_job_io_add(&l->median, &io[t[n / 2 - 1].rank]);
		l->median = divided(&l->median, 2);
	}
	l->slowest = io[t[n - 1].rank];
	l->slowest_rank = t[n - 1].rank;
}

static void job_times(struct rama_job_view *v)
{
	double sum = 0;

	v->io_rank = -1;
	for (int64_t r = 0; r < v->nprocs; r++) {
		double time = rama_job_io_time(&v->ranks[r].io);

		time = time < v->run_time || v->run_time <= 0 ? time : v->run_time;
		sum += time;
		if (time > v->io_time) {
			v->io_time = time;
			v->io_rank = r;
		}
	}
	v->mean_io_time = v->nprocs > 0 ? sum / (double)v->nprocs : 0;
	if (v->io_time > 0)
		v->rate = ((double)v->disk.bytes_read + (double)v->disk.bytes_written) / v->io_time;
}

int rama_job_view_ranks_finish(struct rama_job_view *v)
{
	struct rama_job_view_work *k = v->work;
	struct timed *t = malloc((size_t)v->nprocs * sizeof(*t));

	if (t == NULL)
		return RAMA_EMEMORY;
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++)
		layer_ranks(v, (enum rama_job_layer)l, t);
	free(t);
	job_times(v);
	v->active_ranks = 0;
	for (int64_t r = 0; r < v->nprocs; r++)
		v->active_ranks += k->moved[r];
	if (k->moved_unknown)
		v->active_ranks = -1;
	return 0;
}
