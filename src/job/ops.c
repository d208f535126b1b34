/* SPDX-License-Identifier: BSD-3-Clause */
/* ops.c: single operations and grids of offsets, for pages that show them. */
#include <stdlib.h>
#include <string.h>

#include "job/times.h"

#define ROWS 64
#define BINS 128

/* ---- operations: all of them, or the longest ------------------------------------------------- */

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

void rama_job_ops_keep(struct rama_job_trace *t, const struct rama_job_access *a, uint8_t layer)
{
	struct rama_job_view_op op = { .file = a->file,
				       .rank = (int32_t)a->rank,
				       .layer = layer,
				       .kind = a->kind,
				       .offset = a->offset,
				       .length = a->length,
				       .start = a->start,
				       .end = a->end };

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

/* ---- offsets over time of the files that moved most ------------------------------------------ */

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

int rama_job_offsets_choose(struct rama_job_view *v)
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

void rama_job_offsets_add(struct rama_job_trace *t, const struct rama_job_access *a, uint8_t layer)
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
	v->ops_all = v->opt.detail && t->n_ops == v->segments;
	for (unsigned i = 0; i < t->n_offsets; i++)
		if (t->drawn >> i & 1)
			v->offsets[v->n_offsets++] = t->offsets[i];
	return 0;
}
