/* SPDX-License-Identifier: BSD-3-Clause */
/* What the job did when: timeline, phases, trace. */
#include "report/json.h"

#include <stdlib.h>

#define RANKS_MOST 4096 /* sums per rank are left out above */

static void key_figure(struct rama_json *j, const char *key, double v)
{
	rama_json_key(j, key);
	rama_cell_figure_json(j, v);
}

/* Bytes of a cell, whole: traces lay accesses upon several cells, and fractions would double the
 * document. What is above zero stays so. */
static void put_bytes(struct rama_json *j, double v)
{
	if (v >= 1 && v < 9e15)
		rama_json_i64(j, (int64_t)(v + 0.5));
	else
		rama_cell_figure_json(j, v);
}

/* v NULL: null */
static void cells_of(struct rama_json *j, const char *key, const double *v, size_t n)
{
	rama_json_key(j, key);
	if (v == NULL) {
		rama_json_null(j);
		return;
	}
	rama_json_open(j, '[');
	for (size_t i = 0; i < n; i++)
		put_bytes(j, v[i]);
	rama_json_close(j, ']');
}

/* v NULL: null */
static void figures(struct rama_json *j, const char *key, const double *v, size_t n)
{
	rama_json_key(j, key);
	if (v == NULL) {
		rama_json_null(j);
		return;
	}
	rama_json_open(j, '[');
	for (size_t i = 0; i < n; i++)
		rama_cell_figure_json(j, v[i]);
	rama_json_close(j, ']');
}

static void strip(struct rama_json *j, const struct rama_job_view *v,
		  const struct rama_job_view_heat *h)
{
	size_t cells = (size_t)h->rows * h->bins;
	bool single = h->rows == (uint64_t)v->nprocs, few = v->nprocs <= RANKS_MOST;

	rama_json_open(j, '{');
	rama_json_key_string(j, "layer", rama_job_layer_info[h->layer].name);
	rama_json_key_string(j, "from", h->traced ? "trace" : "heatmap");
	rama_json_key_i64(j, "ranks", v->nprocs);
	rama_json_key_i64(j, "rows", h->rows);
	rama_json_key_i64(j, "bins", h->bins);
	key_figure(j, "width", h->width);
	rama_json_key(j, "first");
	rama_json_open(j, '[');
	for (size_t i = 0; i <= h->rows; i++)
		rama_json_i64(j, h->first[i]);
	rama_json_close(j, ']');
	cells_of(j, "write_sum", h->sum[0], cells);
	cells_of(j, "read_sum", h->sum[1], cells);
	cells_of(j, "write_max", single ? NULL : h->max[0], cells);
	cells_of(j, "read_max", single ? NULL : h->max[1], cells);
	figures(j, "bin_write", h->bin_bytes[0], h->bins);
	figures(j, "bin_read", h->bin_bytes[1], h->bins);
	figures(j, "rank_write", few ? h->rank_bytes[0] : NULL, (size_t)v->nprocs);
	figures(j, "rank_read", few ? h->rank_bytes[1] : NULL, (size_t)v->nprocs);
	rama_json_close(j, '}');
}

static void timeline(struct rama_json *j, const struct rama_report *r)
{
	const struct rama_job_view *v = r->view;

	rama_json_key(j, "timeline");
	rama_json_open(j, '{');
	key_figure(j, "run_time", v->run_time);
	rama_json_key(j, "strips");
	rama_json_open(j, '[');
	for (size_t i = 0; i < v->n_heats; i++)
		strip(j, v, &v->heats[i]);
	rama_json_close(j, ']');
	rama_report_json_rows(j, "phases", &rama_report_tables[RAMA_REPORT_TABLE_phases], r);
	rama_json_key_string(j, "phases_from", v->phases_traced ? "trace" : "heatmap");
	rama_json_close(j, '}');
}

/* ---- trace ----------------------------------------------------------------------------------- */

/* where the name of a file stands in "names", by file; 0: not in it, else place + 1 */
static void names(struct rama_json *j, const struct rama_job_view *v, uint32_t *place)
{
	uint32_t n = 0;

	rama_json_key(j, "names");
	rama_json_open(j, '[');
	for (size_t i = 0; i < v->n_ops; i++) {
		uint32_t f = v->ops[i].file;

		if (place[f] != 0)
			continue;
		place[f] = ++n;
		rama_json_string(j, v->files[f].name);
	}
	rama_json_close(j, ']');
}

#define COLUMN(j, key, put, value)                                      \
	do {                                                            \
		rama_json_key(j, key);                                  \
		rama_json_open(j, '[');                                 \
		for (size_t i_ = 0; i_ < v->n_ops; i_++) {              \
			const struct rama_job_view_op *x = &v->ops[i_]; \
			put(j, value);                                  \
		}                                                       \
		rama_json_close(j, ']');                                \
	} while (0)

static void ops(struct rama_json *j, const struct rama_job_view *v, const uint32_t *place)
{
	rama_json_key(j, "ops");
	rama_json_open(j, '{');
	rama_json_key_i64(j, "n", (int64_t)v->n_ops);
	COLUMN(j, "layer", rama_json_string, rama_job_layer_info[x->layer].name);
	COLUMN(j, "kind", rama_json_i64, x->kind);
	COLUMN(j, "file", rama_json_i64, (int64_t)place[x->file] - 1);
	COLUMN(j, "rank", rama_json_i64, x->rank);
	COLUMN(j, "offset", rama_json_i64, x->offset);
	COLUMN(j, "length", rama_json_i64, x->length);
	COLUMN(j, "start", rama_cell_figure_json, x->start);
	COLUMN(j, "end", rama_cell_figure_json, x->end);
	rama_json_close(j, '}');
}

static void grid(struct rama_json *j, const char *key, const float *v, size_t n)
{
	rama_json_key(j, key);
	rama_json_open(j, '[');
	for (size_t i = 0; i < n; i++)
		put_bytes(j, (double)v[i]);
	rama_json_close(j, ']');
}

static void offsets(struct rama_json *j, const struct rama_job_view *v)
{
	rama_json_key(j, "offsets");
	rama_json_open(j, '[');
	for (size_t i = 0; i < v->n_offsets; i++) {
		const struct rama_job_view_offsets *x = &v->offsets[i];
		size_t n = (size_t)x->rows * x->bins;

		rama_json_open(j, '{');
		rama_json_key_string(j, "file", v->files[x->file].name);
		rama_json_key_string(j, "layer", rama_job_layer_info[x->layer].name);
		rama_json_key_i64(j, "size", x->size);
		key_figure(j, "t0", x->t0);
		key_figure(j, "t1", x->t1);
		rama_json_key_i64(j, "rows", x->rows);
		rama_json_key_i64(j, "bins", x->bins);
		grid(j, "write", x->bytes[0], n);
		grid(j, "read", x->bytes[1], n);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void trace(struct rama_json *j, const struct rama_report *r)
{
	const struct rama_job_view *v = r->view;
	bool there = v->traced && v->opt.trace;
	uint32_t *place = NULL;

	rama_json_key(j, "trace");
	if (there)
		place = calloc(v->n_files + 1, sizeof(*place));
	if (place == NULL) {
		if (there)
			j->out->error = RAMA_EMEMORY;
		rama_json_null(j);
		return;
	}
	rama_json_open(j, '{');
	rama_json_key(j, "segments");
	rama_json_u64(j, v->segments);
	rama_json_key(j, "complete");
	rama_json_bool(j, !v->segments_cut);
	rama_json_key(j, "ops_all");
	rama_json_bool(j, v->ops_all);
	names(j, v, place);
	ops(j, v, place);
	offsets(j, v);
	rama_json_close(j, '}');
	free(place);
}

void rama_report_json_time(struct rama_json *j, const struct rama_report *r)
{
	timeline(j, r);
	trace(j, r);
}
