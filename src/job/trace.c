/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.c: one pass over the traced accesses of a log. Nothing is kept of one but what it adds
 * to sums. */
#include <stdlib.h>
#include <string.h>

#include "job/times.h"

/* grids of offsets, for pages that show them */
#define ROWS 64
#define BINS 128

/* ---- operations: all of them, or the longest ------------------------------------------------ */

static double duration(const struct rama_job_view_op *op)
{
	return op->end - op->start;
}

static void sink(struct rama_job_view_op *heap, size_t n, size_t at)
{
	for (;;) {
		size_t low = at, child = 2 * at + 1;
		struct rama_job_view_op swap;

		for (size_t i = child; i < child + 2 && i < n; i++)
			if (duration(&heap[i]) < duration(&heap[low]))
				low = i;
		if (low == at)
			return;
		swap = heap[at];
		heap[at] = heap[low];
		heap[low] = swap;
		at = low;
	}
}

static struct rama_job_view_op op_of(const struct rama_job_access *a, uint8_t layer)
{
	return (struct rama_job_view_op){ .file = a->file,
					  .rank = (int32_t)a->rank,
					  .layer = layer,
					  .kind = a->kind,
					  .thread = a->thread,
					  .offset = a->offset,
					  .length = a->length,
					  .start = a->start,
					  .end = a->end };
}

static int every_keep(struct rama_job_view *v, const struct rama_job_access *a, uint8_t layer)
{
	if (!RAMA_GROW(v->every, v->every_room, v->n_every + 1))
		return RAMA_EMEMORY;
	v->every[v->n_every++] = op_of(a, layer);
	return 0;
}

static void ops_keep(struct rama_job_trace *t, const struct rama_job_access *a, uint8_t layer)
{
	struct rama_job_view_op op = op_of(a, layer);

	t->wanted++;
	if (t->n_ops < RAMA_JOB_OPS_KEPT) {
		t->ops[t->n_ops++] = op;
		return;
	}
	if (!t->heap) {
		for (size_t i = t->n_ops / 2; i-- > 0;)
			sink(t->ops, t->n_ops, i);
		t->heap = true;
	}
	if (duration(&op) > duration(&t->ops[0])) {
		t->ops[0] = op;
		sink(t->ops, t->n_ops, 0);
	}
}

static int by_start(const void *a, const void *b)
{
	const struct rama_job_view_op *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->layer != y->layer)
		return x->layer < y->layer ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* ---- offsets over time of the files that moved most ----------------------------------------- */

static double moved(const struct rama_job_view_file *f, enum rama_job_layer layer)
{
	struct rama_job_io io;

	if (f->rec[layer] == NULL || f->pseudo)
		return 0;
	io = rama_job_io_of(layer, f->rec[layer]);
	return (double)io.bytes_read + (double)io.bytes_written;
}

/* the lowest layer in which it moved data, and that can be traced */
static double traced_layer(const struct rama_job_view_file *f, enum rama_job_layer *layer)
{
	for (unsigned i = 0; i < RAMA_JOB_TRACED_LAYERS; i++) {
		*layer = (enum rama_job_layer)rama_job_traced_layer[i];
		if (moved(f, *layer) > 0)
			return moved(f, *layer);
	}
	return 0;
}

static int64_t size_of(const struct rama_job_view_file *f, enum rama_job_layer layer)
{
	const union rama_core_word *w = f->rec[layer];
	int64_t size = 1 << 20;

	if (layer == RAMA_JOB_LAYER_POSIX)
		size = w[RAMA_TAB_POSIX_MAX_BYTE_READ].i > w[RAMA_TAB_POSIX_MAX_BYTE_WRITTEN].i
			       ? w[RAMA_TAB_POSIX_MAX_BYTE_READ].i
			       : w[RAMA_TAB_POSIX_MAX_BYTE_WRITTEN].i;
	else if (layer == RAMA_JOB_LAYER_STDIO)
		size = w[RAMA_TAB_STDIO_MAX_BYTE_READ].i > w[RAMA_TAB_STDIO_MAX_BYTE_WRITTEN].i
			       ? w[RAMA_TAB_STDIO_MAX_BYTE_READ].i
			       : w[RAMA_TAB_STDIO_MAX_BYTE_WRITTEN].i;
	return size < ROWS ? ROWS : size < INT64_MAX / 4 ? size + 1 : INT64_MAX / 4;
}

static int start_grid(struct rama_job_view *v, uint32_t file, enum rama_job_layer layer)
{
	struct rama_job_trace *t = v->work->trace;
	struct rama_job_view_offsets *o = &t->offsets[t->n_offsets];
	struct rama_job_view_file *f = &v->files[file];

	rama_job_view_file_times(v, f);
	*o = (struct rama_job_view_offsets){ .file = file,
					     .layer = layer,
					     .size = size_of(f, layer),
					     .t0 = f->start,
					     .t1 = f->end,
					     .rows = ROWS,
					     .bins = BINS };
	if (!(o->t1 > o->t0)) {
		o->t0 = 0;
		o->t1 = v->run_time > 0 ? v->run_time : 1;
	}
	for (unsigned k = 0; k < 2; k++) {
		o->bytes[k] = rama_arena_alloc(&v->arena, sizeof(float) * ROWS * BINS);
		if (o->bytes[k] == NULL)
			return RAMA_EMEMORY;
		memset(o->bytes[k], 0, sizeof(float) * ROWS * BINS);
	}
	t->n_offsets++;
	return 0;
}

static int offsets_choose(struct rama_job_view *v)
{
	struct {
		double bytes;
		uint32_t file;
		enum rama_job_layer layer;
	} best[RAMA_JOB_OFFSET_FILES + 1];
	unsigned n = 0;
	int rc = 0;

	for (uint32_t i = 0; i < v->n_files; i++) {
		enum rama_job_layer layer;
		double bytes = traced_layer(&v->files[i], &layer);
		unsigned at = n;

		if (bytes == 0)
			continue;
		for (; at > 0 && bytes > best[at - 1].bytes; at--)
			best[at] = best[at - 1];
		best[at].bytes = bytes;
		best[at].file = i;
		best[at].layer = layer;
		n += n < RAMA_JOB_OFFSET_FILES;
	}
	for (unsigned i = 0; i < n && rc == 0; i++)
		rc = start_grid(v, best[i].file, best[i].layer);
	return rc;
}

/* twice as many offsets fit: pairs of rows become one */
static void widen(struct rama_job_view_offsets *o)
{
	for (unsigned k = 0; k < 2; k++) {
		float *x = o->bytes[k];

		for (unsigned r = 0; r < ROWS / 2; r++)
			for (unsigned b = 0; b < BINS; b++)
				x[r * BINS + b] = x[2 * r * BINS + b] + x[(2 * r + 1) * BINS + b];
		memset(x + ROWS / 2 * BINS, 0, sizeof(float) * ROWS / 2 * BINS);
	}
	o->size *= 2;
}

/* An access goes through its offsets from its start to its end. */
static void draw(struct rama_job_view_offsets *o, const struct rama_job_access *a)
{
	double high = (double)o->size / ROWS, len = (double)a->length, from = (double)a->offset;
	unsigned first = (unsigned)(from / high), last = (unsigned)((from + len - 1) / high);

	first = first < ROWS ? first : ROWS - 1;
	last = last < ROWS ? last : ROWS - 1;
	for (unsigned r = first; r <= last; r++) {
		double lo = r > first ? r * high : from,
		       hi = r < last ? (r + 1) * high : from + len;
		double mid = a->start + (a->end - a->start) * ((lo + hi) / 2 - from) / len;
		double bin = (mid - o->t0) / (o->t1 - o->t0) * BINS;
		unsigned b = bin > 0 ? bin < BINS ? (unsigned)bin : BINS - 1 : 0;

		o->bytes[a->kind][r * BINS + b] += (float)(hi - lo);
	}
}

static void offsets_add(struct rama_job_trace *t, const struct rama_job_access *a, uint8_t layer)
{
	for (unsigned i = 0; i < t->n_offsets; i++) {
		struct rama_job_view_offsets *o = &t->offsets[i];

		if (o->file != a->file || o->layer != layer || a->length == 0 || a->offset < 0 ||
		    a->offset > INT64_MAX / 4 || a->length > INT64_MAX / 4)
			continue;
		while (a->offset + a->length > o->size)
			widen(o);
		draw(o, a);
		t->drawn |= 1u << i;
	}
}

int rama_job_ops_finish(struct rama_job_view *v)
{
	struct rama_job_trace *t = v->work->trace;

	v->offsets = rama_arena_alloc(&v->arena, RAMA_JOB_OFFSET_FILES * sizeof(*v->offsets));
	v->ops = rama_arena_alloc(&v->arena, t->n_ops * sizeof(*v->ops) + 1);
	if (v->ops == NULL || v->offsets == NULL)
		return RAMA_EMEMORY;
	if (t->n_ops > 0) {
		qsort(t->ops, t->n_ops, sizeof(*t->ops), by_start);
		memcpy(v->ops, t->ops, t->n_ops * sizeof(*v->ops));
	}
	v->n_ops = t->n_ops;
	v->ops_all = v->opt.detail && t->n_ops == t->wanted;
	for (unsigned i = 0; i < t->n_offsets; i++)
		if (t->drawn >> i & 1)
			v->offsets[v->n_offsets++] = t->offsets[i];
	return 0;
}

/* ---- the trace ------------------------------------------------------------------------------ */

#define CELLS_MOST (1 << 18) /* of a layer, unless that leaves too few bins */
#define BINS_LEAST 32
#define CHUNK 256
#define BORDER (1 << 20) /* where stripes are not known */

const uint8_t rama_job_traced_layer[RAMA_JOB_TRACED_LAYERS] = {
#define TRACED(layer, ...) RAMA_JOB_LAYER_##layer,
#include "table/layers.def"
};
static const uint8_t modules[RAMA_JOB_TRACED_LAYERS] = {
#define TRACED(layer, word, name, module) RAMA_TAB_MOD_##module,
#include "table/layers.def"
};

void rama_job_trace_free(struct rama_job_trace *t)
{
	if (t == NULL)
		return;
	for (unsigned i = 0; i < RAMA_JOB_TRACED_LAYERS; i++) {
		free(t->layer[i].row);
		free(t->layer[i].rank_bytes[0]);
		free(t->layer[i].rank_bytes[1]);
	}
	free(t->slots[0]);
	free(t->slots[1]);
	free(t->ops);
	free(t->runs);
	free(t);
}

static int create(struct rama_job_view *v)
{
	struct rama_job_trace *t = v->work->trace = calloc(1, sizeof(*t));
	double span = v->run_time > 1e-6 ? v->run_time : 1e-6;
	int64_t bins = CELLS_MOST / v->nprocs;

	if (t == NULL)
		return RAMA_EMEMORY;
	t->bins = bins > RAMA_JOB_VIEW_BINS ? RAMA_JOB_VIEW_BINS
		  : bins < BINS_LEAST	    ? BINS_LEAST
					    : (unsigned)bins;
	t->width = span / t->bins;
	t->slot_width = span / RAMA_JOB_SLOTS;
	if (!v->opt.detail)
		return 0;
	t->ops = malloc(RAMA_JOB_OPS_KEPT * sizeof(*t->ops));
	return t->ops != NULL ? offsets_choose(v) : RAMA_EMEMORY;
}

static int start_layer(struct rama_job_view *v, struct rama_job_layer_trace *l, unsigned slots)
{
	struct rama_job_trace *t = v->work->trace;
	size_t n = (size_t)v->nprocs;

	if (t->slots[slots] == NULL)
		t->slots[slots] = rama_job_slots_create();
	if (t->slots[slots] == NULL)
		return RAMA_EMEMORY;
	if (l->row != NULL)
		return 0;
	l->row = calloc(n, sizeof(struct rama_job_cell *));
	l->rank_bytes[0] = calloc(n, sizeof(double));
	l->rank_bytes[1] = calloc(n, sizeof(double));
	return l->row != NULL && l->rank_bytes[0] != NULL && l->rank_bytes[1] != NULL
		       ? 0
		       : RAMA_EMEMORY;
}

/* ---- one record: a file on one rank --------------------------------------------------------- */

struct walk {
	struct rama_job_view *v;
	struct rama_job_trace *t;
	struct rama_job_layer_trace *l;
	struct rama_job_slots *slots;
	uint8_t layer;
	uint32_t file;
	int64_t rank; /* in the view; -1: of nobody */
	struct rama_job_cell *row;
	struct rama_job_view_traced sum; /* of this record */
	int64_t border;
	bool even;	 /* it is a power of two */
	int64_t next[2]; /* end of the access before */
	bool runs;	 /* places are kept */
};

static double moment(double t, double shift)
{
	return t > 0 && t < 1e12 ? t + shift : shift;
}

static void take_cell(struct rama_job_cell *c, const struct rama_job_access *a)
{
	c->count[a->kind]++;
	if (a->end - a->start >= c->end - c->start) {
		c->file = a->file;
		c->kind = a->kind;
		c->offset = a->offset;
		c->length = a->length;
		c->start = a->start;
		c->end = a->end;
	}
}

static unsigned bin_of(const struct rama_job_trace *t, double at)
{
	double b = at / t->width;

	return b < t->bins ? (unsigned)b : t->bins - 1;
}

static void add_time(struct walk *w, const struct rama_job_access *a)
{
	struct rama_job_trace *t = w->t;
	unsigned first = bin_of(t, a->start), last = bin_of(t, a->end);
	double length = a->end - a->start, bytes = (double)a->length;

	take_cell(&w->row[first], a);
	if (a->end > w->row[last].last)
		w->row[last].last = a->end;
	if (first == last) {
		w->row[first].bytes[a->kind] += bytes;
		w->row[first].busy += length;
		w->l->bin_bytes[a->kind][first] += bytes;
		return;
	}
	for (unsigned b = first; b <= last; b++) {
		double from = b > first ? b * t->width : a->start;
		double to = b < last ? (b + 1) * t->width : a->end;
		double part = to > from ? (to - from) / length : 0;

		w->row[b].bytes[a->kind] += bytes * part;
		w->row[b].busy += length * part;
		w->l->bin_bytes[a->kind][b] += bytes * part;
	}
}

static void add_place(struct walk *w, const struct rama_job_access *a)
{
	struct rama_job_view_traced *s = &w->sum;
	int64_t last = a->length > 0 ? rama_core_add(a->offset, a->length - 1) : a->offset;

	if (a->offset < 0 || last < a->offset) /* not known */
		return;
	if (w->even) {
		s->unaligned[a->kind] += (a->offset & (w->border - 1)) != 0;
		s->crossing[a->kind] += ((a->offset ^ last) & ~(w->border - 1)) != 0;
	} else {
		s->unaligned[a->kind] += a->offset % w->border != 0;
		s->crossing[a->kind] += a->offset / w->border != last / w->border;
	}
	s->backward[a->kind] += a->offset < w->next[a->kind];
	w->next[a->kind] = rama_core_add(last, a->length > 0);
}

/* class of a time: each is four times the one before */
static unsigned span_of(double seconds)
{
	uint64_t us = seconds > 0 && seconds < 1e6 ? (uint64_t)(seconds * 1e6) : 0;
	unsigned class = us == 0 ? 0 : (63 - (unsigned)__builtin_clzll(us)) / 2 + 1;

	return class < RAMA_JOB_SPANS ? class : RAMA_JOB_SPANS - 1;
}

static void add_span(struct rama_job_view_traced *s, const struct rama_job_access *a, double length)
{
	unsigned class = span_of(length);

	s->span[a->kind][class].count++;
	s->span[a->kind][class].time += (float)length;
	s->span[a->kind][class].bytes += (float)a->length;
}

static void add(struct walk *w, const struct rama_job_access *a)
{
	struct rama_job_view_traced *s = &w->sum;
	unsigned class = rama_job_size_class(a->length);
	double length = a->end - a->start;

	s->count[a->kind]++;
	s->bytes[a->kind] = rama_core_add(s->bytes[a->kind], a->length);
	s->time[a->kind] += length;
	s->small[a->kind] += a->length < BORDER;
	add_span(s, a, length);
	if (s->last == 0 || a->start < s->first)
		s->first = a->start;
	if (a->end > s->last)
		s->last = a->end;
	w->l->size_count[a->kind][class]++;
	w->l->size_bytes[a->kind][class] += (double)a->length;
	w->l->size_time[a->kind][class] += length;
	add_place(w, a);
	rama_job_slots_add(w->slots, w->t->slot_width, a->start, a->end);
	if (w->row != NULL)
		add_time(w, a);
	if (w->t->ops != NULL) {
		if (rama_job_view_wanted(w->v, a->start, a->end))
			ops_keep(w->t, a, w->layer);
		offsets_add(w->t, a, w->layer);
	}
}

static int take_segments(struct walk *w, struct rama_log_cursor *c)
{
	union rama_core_word seg[CHUNK][RAMA_TAB_SEG_WORDS];
	double shift = w->v->work->shift;
	unsigned kind;
	int n;

	while ((n = rama_log_cursor_segments(c, seg, CHUNK, &kind)) > 0) {
		bool threads = rama_log_cursor_has_threads(c);

		for (int i = 0; i < n; i++) {
			struct rama_job_access a = {
				.file = w->file,
				.rank = w->rank,
				.kind = (uint8_t)kind,
				.thread = threads ? (uint32_t)seg[i][RAMA_TAB_SEG_THREAD].u : 0,
				.offset = seg[i][RAMA_TAB_SEG_OFFSET].i,
				.length = seg[i][RAMA_TAB_SEG_LENGTH].i,
				.start = moment(seg[i][RAMA_TAB_SEG_START].f, shift),
				.end = moment(seg[i][RAMA_TAB_SEG_END].f, shift)
			};

			a.length = a.length > 0 ? a.length : 0;
			a.end = a.end > a.start ? a.end : a.start;
			add(w, &a);
			if (w->runs && rama_job_runs_add(w->t, &a) != 0)
				return RAMA_EMEMORY;
			if (w->v->opt.every && every_keep(w->v, &a, w->layer) != 0)
				return RAMA_EMEMORY;
		}
	}
	return n;
}

/* ---- what a record adds --------------------------------------------------------------------- */

static struct rama_job_view_traced *traced_of(struct rama_job_view *v, uint32_t file, uint8_t layer)
{
	struct rama_job_view_file *f = &v->files[file];
	struct rama_job_view_traced *x;

	if (f->traced[layer] != NULL)
		return (struct rama_job_view_traced *)f->traced[layer];
	x = rama_arena_alloc(&v->arena, sizeof(*x));
	if (x != NULL)
		*x = (struct rama_job_view_traced){ 0 };
	f->traced[layer] = x;
	return x;
}

static int join(struct walk *w)
{
	const struct rama_job_view_traced *s = &w->sum;
	struct rama_job_view_traced *x = traced_of(w->v, w->file, w->layer);

	if (x == NULL)
		return RAMA_EMEMORY;
	for (unsigned k = 0; k < 2; k++) {
		x->count[k] += s->count[k];
		x->bytes[k] = rama_core_add(x->bytes[k], s->bytes[k]);
		x->time[k] += s->time[k];
		x->small[k] += s->small[k];
		x->crossing[k] += s->crossing[k];
		x->unaligned[k] += s->unaligned[k];
		x->backward[k] += s->backward[k];
		x->ranks[k] += s->bytes[k] > 0;
		for (unsigned i = 0; i < RAMA_JOB_SPANS; i++) {
			x->span[k][i].count += s->span[k][i].count;
			x->span[k][i].time += s->span[k][i].time;
			x->span[k][i].bytes += s->span[k][i].bytes;
		}
		w->l->segments += s->count[k];
		w->l->bytes[k] = rama_core_add(w->l->bytes[k], s->bytes[k]);
		if (w->rank >= 0)
			w->l->rank_bytes[k][w->rank] += (double)s->bytes[k];
	}
	x->records++;
	if (s->last > 0 && (x->last == 0 || s->first < x->first))
		x->first = s->first;
	x->last = s->last > x->last ? s->last : x->last;
	return 0;
}

/* For a record that all ranks share the trace says what each did; without a record it is all
 * that is known. */
static int tell_rank(struct walk *w)
{
	struct rama_job_view_work *k = w->v->work;
	const struct rama_job_view_file *f = &w->v->files[w->file];
	const struct rama_job_view_traced *s = &w->sum;
	struct rama_job_traced_rank r = { .file = w->file,
					  .layer = w->layer,
					  .rank = w->rank - k->first,
					  .io = { .reads = (int64_t)s->count[1],
						  .writes = (int64_t)s->count[0],
						  .bytes_read = s->bytes[1],
						  .bytes_written = s->bytes[0],
						  .read_time = s->time[1],
						  .write_time = s->time[0] } };

	if (f->rec[w->layer] == NULL)
		return rama_job_view_traced_row(w->v, (enum rama_job_layer)w->layer, w->file,
						w->rank, &r.io);
	if (w->rank < 0 || f->cover[w->layer] == f->rows[w->layer])
		return 0;
	if (!RAMA_GROW(k->traced, k->traced_room, k->n_traced + 1))
		return RAMA_EMEMORY;
	k->traced[k->n_traced++] = r;
	return 0;
}

static int start_record(struct walk *w, const struct rama_core_record *r)
{
	struct rama_job_view_work *k = w->v->work;
	int64_t rank = r->w[RAMA_TAB_RANK].i < 0 && k->n == 1 ? 0 : r->w[RAMA_TAB_RANK].i;
	const struct rama_job_view_stripes *s;
	int rc = rama_job_view_file_get(w->v, r->w[RAMA_TAB_ID].u, &w->file);

	if (rc != 0)
		return rc;
	s = w->v->files[w->file].stripes;
	w->border = s != NULL && s->stripe_size > 0 ? s->stripe_size : BORDER;
	w->even = (w->border & (w->border - 1)) == 0;
	w->sum = (struct rama_job_view_traced){ 0 };
	w->next[0] = w->next[1] = 0;
	w->runs = w->layer == RAMA_JOB_LAYER_POSIX && rama_job_runs_wanted(w->v, w->file);
	w->rank = rank >= 0 && rank < k->n ? k->first + rank : -1;
	w->row = NULL;
	if (w->rank < 0)
		return 0;
	if (w->l->row[w->rank] == NULL) {
		size_t size = w->t->bins * sizeof(struct rama_job_cell);

		w->l->row[w->rank] = rama_arena_alloc(&w->v->work->cells, size);
		if (w->l->row[w->rank] == NULL)
			return RAMA_EMEMORY;
		memset(w->l->row[w->rank], 0, size);
	}
	w->row = w->l->row[w->rank];
	return rama_job_view_host(w->v, rank, r->w[RAMA_TAB_DXT_HOSTNAME].b, 64);
}

static int take_record(struct walk *w, struct rama_log_cursor *c, const struct rama_core_record *r)
{
	int rc = start_record(w, r), n;

	if (rc != 0 || w->v->files[w->file].pseudo)
		return rc;
	n = take_segments(w, c);
	rc = join(w);
	if (rc == 0)
		rc = tell_rank(w);
	return n < 0 ? n : rc;
}

static int walk_module(struct rama_job_view *v, unsigned traced)
{
	struct rama_job_view_work *k = v->work;
	struct walk w = { .v = v,
			  .t = k->trace,
			  .l = &k->trace->layer[traced],
			  .layer = rama_job_traced_layer[traced] };
	unsigned slots = traced == RAMA_JOB_TRACED_MPIIO, problems = k->log->problems;
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = start_layer(v, w.l, slots), bad = 0;

	if (rc != 0)
		return rc;
	w.slots = k->trace->slots[slots];
	rc = rama_log_cursor_open(&c, k->log, modules[traced]);
	while (rc > 0 && bad == 0 && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		bad = take_record(&w, &c, r);
		rama_job_view_progress(v, modules[traced], c.region.at);
	}
	k->records[modules[traced]] += c.index;
	rama_log_cursor_close(&c);
	if (k->log->problems != problems || k->log->partial >> modules[traced] & 1)
		k->trace->bad = true;
	return bad != 0 ? bad : rc;
}

int rama_job_view_trace(struct rama_job_view *v)
{
	int rc = 0;

	for (unsigned i = RAMA_JOB_TRACED_LAYERS;
	     i-- > 0 && rc == 0;) { /* MPI-IO before what is beneath */
		if (v->work->log->part[modules[i]].len == 0)
			continue;
		if (v->work->trace == NULL)
			rc = create(v);
		if (rc == 0)
			rc = walk_module(v, i);
	}
	return rc;
}

void rama_job_view_trace_sizes(struct rama_job_view *v)
{
	for (unsigned i = 0; v->work->trace != NULL && i < RAMA_JOB_TRACED_LAYERS; i++) {
		const struct rama_job_layer_trace *x = &v->work->trace->layer[i];
		struct rama_job_view_layer *l = &v->layer[rama_job_traced_layer[i]];

		if (x->segments == 0 || !x->whole)
			continue;
		l->sizes = l->sizes_exact = true;
		memcpy(l->size_count, x->size_count, sizeof(l->size_count));
		memcpy(l->size_bytes, x->size_bytes, sizeof(l->size_bytes));
		memcpy(l->size_time, x->size_time, sizeof(l->size_time));
	}
}
