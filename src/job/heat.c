/* SPDX-License-Identifier: BSD-3-Clause */
/* heat.c: heat map records, of any width of bins, as maps of all ranks with one width. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/recordid.h"
#include "job/times.h"

#define PREFIX "heatmap:"

void rama_job_heat_maps_free(struct rama_job_heat_maps *h)
{
	if (h == NULL)
		return;
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++) {
		for (unsigned k = 0; k < 2; k++) {
			free(h->layer[l].sum[k]);
			free(h->layer[l].max[k]);
			free(h->layer[l].rank_bytes[k]);
		}
		free(h->layer[l].active);
	}
	free(h);
}

/* the layer a record is of, by its name or, where that is missing, by its id; RAMA_JOB_LAYERS:
 * none */
static unsigned layer_of(const struct rama_job_view *v, uint64_t id)
{
	static const char *const names[RAMA_JOB_LAYERS] = {
#define LAYER(symbol, ...) PREFIX #symbol,
#include "table/layers.def"
	};
	const struct rama_log_name *name = rama_log_name_get(v->work->log, id);

	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++)
		if (name != NULL ? strcmp(name->text, names[l]) == 0
				 : rama_core_record_id(names[l], strlen(names[l])) == id)
			return l;
	return RAMA_JOB_LAYERS;
}

/* how many rows a map of n ranks gets */
static size_t rows_for(size_t n, unsigned bins)
{
	return n <= RAMA_JOB_HEAT_ALONE / bins ? n : RAMA_JOB_HEAT_CELLS / bins;
}

/* The width of the first record is taken, or as many times that as make all of the job fit. */
static int start(struct rama_job_view *v, struct rama_job_layer_heat *h, double width)
{
	double bins = ceil((v->run_time > 0 ? v->run_time : width) / width);
	double times = ceil(bins / RAMA_JOB_VIEW_BINS);
	size_t n = (size_t)v->nprocs, cells;
	bool ok = true;

	h->width = width * times;
	bins = ceil(bins / times);
	h->bins = bins >= 1 ? bins < RAMA_JOB_VIEW_BINS ? (unsigned)bins : RAMA_JOB_VIEW_BINS : 1;
	h->rows = (unsigned)rows_for(n, h->bins);
	cells = (size_t)h->rows * h->bins;
	h->active = calloc(n, sizeof(*h->active));
	for (unsigned k = 0; k < 2; k++) {
		h->sum[k] = calloc(cells, sizeof(double));
		h->max[k] = calloc(cells, sizeof(double));
		h->rank_bytes[k] = calloc(n, sizeof(double));
		ok = ok && h->sum[k] != NULL && h->max[k] != NULL && h->rank_bytes[k] != NULL;
	}
	h->used = true;
	return ok && h->active != NULL ? 0 : RAMA_EMEMORY;
}

/* bytes moved between two moments, laid upon the bins in between alike; what is beyond the end
 * is in the last */
static void lay(double *row, unsigned bins, double width, const double span[2], double bytes)
{
	double a = span[0] / width, b = span[1] / width;
	unsigned i = a < bins ? (unsigned)a : bins - 1, j = b < bins ? (unsigned)b : bins - 1;

	if (i == j || b <= a) {
		row[i] += bytes;
		return;
	}
	for (unsigned k = i; k <= j; k++) {
		double from = k > a ? k : a, to = k + 1 < b && k < bins - 1 ? k + 1 : b;

		if (to > from)
			row[k] += bytes * (to - from) / (b - a);
	}
}

/* One bin of a record often is one of ours, or lies within one. */
static void lay_record(const struct rama_job_view *v, const struct rama_job_layer_heat *h,
		       const struct rama_core_record *r, unsigned kind, double *row)
{
	double width = r->w[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f, shift = v->work->shift;

	for (uint64_t i = 0; i < r->count[kind]; i++) {
		double bytes = (double)r->array[kind][i].i;
		/* a little inwards: ends that meet are not to spill over */
		double span[2] = { shift + width * ((double)i + 1e-6),
				   shift + width * ((double)i + 1 - 1e-6) };

		if (bytes > 0)
			lay(row, h->bins, h->width, span, bytes);
	}
}

static void add_row(struct rama_job_view *v, struct rama_job_layer_heat *h, int64_t rank,
		    unsigned kind, const double *row)
{
	size_t at = (size_t)(rank * h->rows / v->nprocs) * h->bins;

	for (unsigned b = 0; b < h->bins; b++) {
		if (row[b] <= 0)
			continue;
		h->sum[kind][at + b] += row[b];
		if (row[b] > h->max[kind][at + b])
			h->max[kind][at + b] = row[b];
		h->rank_bytes[kind][rank] += row[b];
		h->bin_bytes[kind][b] += row[b];
		h->active[rank][b / 64] |= 1ull << b % 64;
	}
}

static int take(struct rama_job_view *v, const struct rama_core_record *r)
{
	struct rama_job_view_work *k = v->work;
	unsigned layer = layer_of(v, r->w[RAMA_TAB_ID].u);
	double width = r->w[RAMA_TAB_HEATMAP_F_BIN_WIDTH_SECONDS].f;
	int64_t rank = r->w[RAMA_TAB_RANK].i < 0 && k->n == 1 ? 0 : r->w[RAMA_TAB_RANK].i;
	struct rama_job_layer_heat *h;

	if (layer == RAMA_JOB_LAYERS || !(width > 1e-9 && width < 1e9) || rank < 0 || rank >= k->n)
		return 0;
	h = &k->heat->layer[layer];
	if (!h->used && start(v, h, width) != 0)
		return RAMA_EMEMORY;
	for (unsigned kind = 0; kind < 2; kind++) {
		double row[RAMA_JOB_VIEW_BINS] = { 0 };

		lay_record(v, h, r, kind, row);
		add_row(v, h, k->first + rank, kind, row);
	}
	return 0;
}

int rama_job_view_heat_maps(struct rama_job_view *v)
{
	struct rama_job_view_work *k = v->work;
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc, bad = 0;

	if (k->heat == NULL)
		k->heat = calloc(1, sizeof(*k->heat));
	if (k->heat == NULL)
		return RAMA_EMEMORY;
	rc = rama_log_cursor_open(&c, k->log, RAMA_TAB_MOD_HEATMAP);
	while (rc > 0 && bad == 0 && (rc = rama_log_cursor_next(&c, &r)) > 0)
		bad = take(v, r);
	k->records[RAMA_TAB_MOD_HEATMAP] += c.index;
	rama_log_cursor_close(&c);
	return bad != 0 ? bad : rc;
}

/* ---- what is shown -------------------------------------------------------------------------- */

static double *copied(struct rama_job_view *v, const double *from, size_t n)
{
	double *to = rama_arena_alloc(&v->arena, n * sizeof(*to));

	if (to != NULL && from != NULL)
		memcpy(to, from, n * sizeof(*to));
	else if (to != NULL)
		memset(to, 0, n * sizeof(*to));
	return to;
}

static int row_ranks(struct rama_job_view *v, struct rama_job_view_heat *h)
{
	h->first = rama_arena_alloc(&v->arena, ((size_t)h->rows + 1) * sizeof(*h->first));
	if (h->first == NULL)
		return RAMA_EMEMORY;
	for (int64_t r = 0; r <= h->rows; r++) /* the first rank that is in row r */
		h->first[r] = (r * v->nprocs + h->rows - 1) / h->rows;
	return 0;
}

static int from_records(struct rama_job_view *v, enum rama_job_layer layer,
			struct rama_job_view_heat *h)
{
	const struct rama_job_layer_heat *x = &v->work->heat->layer[layer];
	size_t cells = (size_t)x->rows * x->bins;

	*h = (struct rama_job_view_heat){
		.layer = layer, .rows = x->rows, .bins = x->bins, .width = x->width
	};
	for (unsigned k = 0; k < 2; k++) {
		h->sum[k] = copied(v, x->sum[k], cells);
		h->max[k] = copied(v, x->max[k], cells);
		h->rank_bytes[k] = copied(v, x->rank_bytes[k], (size_t)v->nprocs);
		h->bin_bytes[k] = copied(v, x->bin_bytes[k], x->bins);
		if (h->sum[k] == NULL || h->max[k] == NULL || h->rank_bytes[k] == NULL ||
		    h->bin_bytes[k] == NULL)
			return RAMA_EMEMORY;
	}
	return row_ranks(v, h);
}

static void fold(const struct rama_job_view *v, const struct rama_job_layer_trace *x,
		 struct rama_job_view_heat *h)
{
	for (int64_t rank = 0; rank < v->nprocs; rank++) {
		size_t at = (size_t)(rank * h->rows / v->nprocs) * h->bins;

		for (unsigned b = 0; x->row[rank] != NULL && b < h->bins; b++) {
			for (unsigned k = 0; k < 2; k++) {
				double bytes = x->row[rank][b].bytes[k];

				h->sum[k][at + b] += bytes;
				if (bytes > h->max[k][at + b])
					h->max[k][at + b] = bytes;
			}
		}
	}
}

static int from_trace(struct rama_job_view *v, unsigned traced, struct rama_job_view_heat *h)
{
	const struct rama_job_trace *t = v->work->trace;
	const struct rama_job_layer_trace *x = &t->layer[traced];
	size_t n = (size_t)v->nprocs, rows = rows_for(n, t->bins), cells = rows * t->bins;

	*h = (struct rama_job_view_heat){
		.layer = (enum rama_job_layer)rama_job_traced_layer[traced],
		.traced = true,
		.rows = (uint32_t)rows,
		.bins = t->bins,
		.width = t->width
	};
	for (unsigned k = 0; k < 2; k++) {
		h->sum[k] = copied(v, NULL, cells);
		h->max[k] = copied(v, NULL, cells);
		h->rank_bytes[k] = copied(v, x->rank_bytes[k], n);
		h->bin_bytes[k] = copied(v, x->bin_bytes[k], t->bins);
		if (h->sum[k] == NULL || h->max[k] == NULL || h->rank_bytes[k] == NULL ||
		    h->bin_bytes[k] == NULL)
			return RAMA_EMEMORY;
	}
	fold(v, x, h);
	return row_ranks(v, h);
}

/* The trace is exact; heat maps know all ranks even if the trace does not, and may be finer
 * where ranks are many. */
static bool prefer_trace(const struct rama_job_view *v, unsigned traced)
{
	const struct rama_job_trace *t = v->work->trace;
	const struct rama_job_layer_heat *h = &v->work->heat->layer[rama_job_traced_layer[traced]];

	return t != NULL && t->layer[traced].segments > 0 &&
	       (!h->used || (t->layer[traced].whole && t->bins >= h->bins / 2));
}

/* Heat maps have the standard streams in them; alone they are not worth a map. */
static bool only_streams(const struct rama_job_view *v, unsigned layer)
{
	const struct rama_job_view_layer *l = &v->layer[layer];

	return l->used && l->io.bytes_read == 0 && l->io.bytes_written == 0;
}

static int heats_finish(struct rama_job_view *v)
{
	int rc = 0;

	v->heats = rama_arena_alloc(&v->arena, RAMA_JOB_LAYERS * sizeof(*v->heats));
	if (v->heats == NULL)
		return RAMA_EMEMORY;
	for (unsigned l = 0; l < RAMA_JOB_LAYERS && rc == 0; l++) {
		unsigned traced = 0;

		while (traced < RAMA_JOB_TRACED_LAYERS && rama_job_traced_layer[traced] != l)
			traced++;
		if (traced < RAMA_JOB_TRACED_LAYERS && prefer_trace(v, traced))
			rc = from_trace(v, traced, &v->heats[v->n_heats++]);
		else if (v->work->heat->layer[l].used && !only_streams(v, l))
			rc = from_records(v, (enum rama_job_layer)l, &v->heats[v->n_heats++]);
	}
	return rc;
}

/* Of each layer: is its trace all there? Then it moved what the counters say. */
static void see_whole(struct rama_job_view *v)
{
	struct rama_job_trace *t = v->work->trace;

	for (unsigned i = 0; i < RAMA_JOB_TRACED_LAYERS; i++) {
		const struct rama_job_io *io = &v->layer[rama_job_traced_layer[i]].io;
		struct rama_job_layer_trace *x = &t->layer[i];

		x->whole = !t->bad && x->bytes[0] == io->bytes_written &&
			   x->bytes[1] == io->bytes_read;
		v->segments += x->segments;
		if (x->segments > 0 && !x->whole)
			v->segments_cut = true;
	}
	if (v->lost_events > 0 || t->bad)
		v->segments_cut = true;
}

int rama_job_view_times_finish(struct rama_job_view *v)
{
	int rc = 0;

	if (v->work->trace != NULL)
		see_whole(v);
	if (v->work->heat != NULL)
		rc = heats_finish(v);
	if (rc == 0)
		rc = rama_job_phases_finish(v);
	if (rc == 0 && v->work->trace != NULL)
		rc = rama_job_ops_finish(v);
	return rc;
}
