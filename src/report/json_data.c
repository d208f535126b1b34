/* SPDX-License-Identifier: BSD-3-Clause */
/* json_data.c: what the job did: layers, sizes, files, ranks, counters, timeline, trace. */
#include "report/json.h"

#include <math.h>
#include <stdlib.h>

#define FILES_SHOWN 500
#define GROUPS_SHOWN 500
#define SORTED_SHOWN 512
#define RANKS_MOST 4096 /* sums per rank are left out above */

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

/* ---- layers ---------------------------------------------------------------------------------- */

static void times(struct rama_json *j, const struct rama_job_io *io)
{
	rama_cell_key_figure(j, "read", io->read_time);
	rama_cell_key_figure(j, "write", io->write_time);
	rama_cell_key_figure(j, "meta", io->meta_time);
}

static void layers(struct rama_json *j, const struct rama_report *r)
{
	rama_json_key_open(j, "layers", '[');
	for (size_t i = 0; i < r->n_layers; i++) {
		const struct rama_job_view_layer *l = &r->view->layer[r->layers[i]];

		rama_json_open(j, '{');
		rama_report_table_json(j, &rama_report_tables[RAMA_REPORT_TABLE_layers], r, i);
		rama_json_key_open(j, "mean", '{');
		times(j, &l->mean);
		rama_json_close(j, '}');
		rama_json_key_open(j, "median", '{');
		times(j, &l->median);
		rama_json_close(j, '}');
		rama_json_key_open(j, "slowest", '{');
		rama_json_key(j, "rank");
		if (l->slowest_rank >= 0)
			rama_json_i64(j, l->slowest_rank);
		else
			rama_json_null(j);
		times(j, &l->slowest);
		rama_json_close(j, '}');
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void size_use(struct rama_json *j, const char *key, const struct rama_job_view_layer *l,
		     unsigned kind)
{
	rama_json_key_open(j, key, '{');
	rama_json_key_open(j, "count", '[');
	for (unsigned b = 0; b < RAMA_JOB_SIZE_BINS; b++)
		rama_json_i64(j, rama_report_count(l->size_count[kind][b]));
	rama_json_close(j, ']');
	figures(j, "bytes", l->size_bytes[kind], RAMA_JOB_SIZE_BINS);
	if (l->sizes_exact) {
		figures(j, "time", l->size_time[kind], RAMA_JOB_SIZE_BINS);
	} else {
		rama_json_key(j, "time");
		rama_json_null(j);
	}
	rama_json_close(j, '}');
}

static void sizes(struct rama_json *j, const struct rama_report *r)
{
	rama_json_key_open(j, "sizes", '[');
	for (size_t i = 0; i < r->n_layers; i++) {
		const struct rama_job_view_layer *l = &r->view->layer[r->layers[i]];

		if (!l->sizes)
			continue;
		rama_json_open(j, '{');
		rama_json_key_string(j, "layer", rama_job_layer_info[r->layers[i]].name);
		rama_json_key_bool(j, "exact", l->sizes_exact);
		rama_json_key_open(j, "classes", '[');
		for (unsigned b = 0; b < RAMA_JOB_SIZE_BINS; b++)
			rama_json_string(j, rama_report_size_label[b]);
		rama_json_close(j, ']');
		size_use(j, "read", l, 1);
		size_use(j, "write", l, 0);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

/* ---- pattern --------------------------------------------------------------------------------- */

static void pattern_use(struct rama_json *j, const char *key, const struct rama_report_pattern *p,
			unsigned kind)
{
	rama_json_key_open(j, key, '{');
	rama_json_key_i64(j, "consecutive", p->use[kind].consecutive);
	rama_json_key_i64(j, "sequential", p->use[kind].sequential);
	rama_json_key_i64(j, "random", p->use[kind].random);
	rama_json_close(j, '}');
}

static void key_known(struct rama_json *j, const char *key, int64_t v)
{
	rama_json_key(j, key);
	if (v >= 0)
		rama_json_i64(j, v);
	else
		rama_json_null(j);
}

static void pattern(struct rama_json *j, const struct rama_report_pattern *p)
{
	rama_json_open(j, '{');
	rama_json_key_string(j, "layer", rama_job_layer_info[p->layer].name);
	pattern_use(j, "read", p, 1);
	pattern_use(j, "write", p, 0);
	rama_json_key_i64(j, "switches", p->switches);
	rama_json_key_open(j, "unaligned", '{');
	key_known(j, "file", p->file_unaligned);
	key_known(j, "memory", p->memory_unaligned);
	rama_json_close(j, '}');
	rama_json_key_open(j, "common", '[');
	for (unsigned i = 0; i < 4 && p->common[i].count > 0; i++) {
		rama_json_open(j, '{');
		rama_json_key_i64(j, "size", p->common[i].size);
		rama_json_key_i64(j, "count", p->common[i].count);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	rama_json_close(j, '}');
}

static void patterns(struct rama_json *j, const struct rama_report *r)
{
	rama_json_key_open(j, "pattern", '[');
	for (size_t i = 0; i < r->n_patterns; i++)
		pattern(j, &r->patterns[i]);
	rama_json_close(j, ']');
}

/* ---- counters -------------------------------------------------------------------------------- */

static void counters_of(struct rama_json *j, const struct rama_tab_schema *s,
			const union rama_core_word *w)
{
	for (unsigned i = 0; i < *s->n_fields; i++) {
		const struct rama_tab_field *f = &s->fields[i];

		if (f->place != RAMA_TAB_COUNTER || f->word == RAMA_TAB_NO_WORD ||
		    rama_tab_field_is_id(f))
			continue;
		rama_json_key(j, f->name);
		if (f->type == RAMA_TAB_F64)
			rama_cell_figure_json(j, w[f->word].f);
		else if (f->type == RAMA_TAB_U64)
			rama_json_u64(j, w[f->word].u);
		else
			rama_json_i64(j, w[f->word].i);
	}
}

static void counters(struct rama_json *j, const struct rama_report *r)
{
	rama_json_key_open(j, "counters", '{');
	for (size_t i = 0; i < r->n_layers; i++) {
		const struct rama_job_layer_info *info = &rama_job_layer_info[r->layers[i]];
		const union rama_core_word *total = r->view->layer[r->layers[i]].total;

		if (total == NULL)
			continue;
		rama_json_key_open(j, info->name, '{');
		counters_of(j, rama_tab_module_get(info->module)->record, total);
		rama_json_close(j, '}');
	}
	rama_json_close(j, '}');
}

/* ---- files and ranks ------------------------------------------------------------------------- */

static void file_layers(struct rama_json *j, const struct rama_job_view_file *f)
{
	rama_json_key_open(j, "layers", '{');
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++) {
		struct rama_job_io io;

		if (f->rec[l] == NULL)
			continue;
		io = rama_job_io_of(l, f->rec[l]);
		rama_json_key_open(j, rama_job_layer_info[l].name, '{');
		rama_json_key_i64(j, "reads", io.reads);
		rama_json_key_i64(j, "writes", io.writes);
		rama_json_key_i64(j, "bytes_read", io.bytes_read);
		rama_json_key_i64(j, "bytes_written", io.bytes_written);
		rama_cell_key_figure(j, "time", rama_job_io_time(&io));
		rama_json_close(j, '}');
	}
	rama_json_close(j, '}');
}

static void files(struct rama_json *j, const struct rama_report *r)
{
	size_t shown = r->n_files < FILES_SHOWN ? r->n_files : FILES_SHOWN;
	size_t groups = r->view->n_groups < GROUPS_SHOWN ? r->view->n_groups : GROUPS_SHOWN;

	rama_json_key_open(j, "files", '{');
	rama_json_key_i64(j, "total", (int64_t)r->view->n_real);
	rama_json_key_i64(j, "shown", (int64_t)shown);
	rama_json_key_string(j, "order", "time");
	rama_json_key_open(j, "rows", '[');
	for (size_t i = 0; i < shown; i++) {
		rama_json_open(j, '{');
		rama_report_table_json(j, &rama_report_tables[RAMA_REPORT_TABLE_files], r, i);
		file_layers(j, &r->view->files[r->files[i]]);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	rama_json_key_open(j, "groups", '[');
	for (size_t i = 0; i < groups; i++) {
		rama_json_open(j, '{');
		rama_report_table_json(j, &rama_report_tables[RAMA_REPORT_TABLE_groups], r, i);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	rama_json_close(j, '}');
}

static void ranks(struct rama_json *j, const struct rama_report *r)
{
	size_t n = r->view->nprocs > 0 ? (size_t)r->view->nprocs : 0;
	size_t shown = n < SORTED_SHOWN ? n : SORTED_SHOWN;

	rama_json_key_open(j, "ranks", '{');
	rama_json_key_i64(j, "total", (int64_t)n);
	rama_json_key_i64(j, "shown", (int64_t)r->n_ranks);
	rama_report_json_rows(j, "rows", &rama_report_tables[RAMA_REPORT_TABLE_ranks], r);
	rama_json_key_open(j, "sorted", '[');
	for (size_t i = 0; i < shown; i++) /* first and last one are always among them */
		rama_cell_figure_json(j, r->rank_times[shown == n ? i : i * (n - 1) / (shown - 1)]);
	rama_json_close(j, ']');
	rama_cell_key_figure(j, "mean", r->view->mean_io_time);
	rama_cell_key_figure(j, "median",
			     n > 0 ? (r->rank_times[n / 2] + r->rank_times[(n - 1) / 2]) / 2 : NAN);
	rama_json_close(j, '}');
}

/* ---- what it did when ------------------------------------------------------------------------ */

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
	rama_cell_key_figure(j, "width", h->width);
	rama_json_key_open(j, "first", '[');
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

/* phases that the program named, if any */
static void named(struct rama_json *j, const struct rama_job_view *v)
{
	rama_json_key_open(j, "named", '[');
	for (size_t i = 0; i < v->n_named; i++) {
		const struct rama_job_view_named *p = &v->named[i];

		rama_json_open(j, '{');
		rama_json_key_string(j, "name", p->name);
		rama_json_key_i64(j, "times", p->times);
		rama_json_key_i64(j, "ranks", (int64_t)p->ranks);
		rama_json_key_i64(j, "open", (int64_t)p->open);
		rama_cell_key_figure(j, "start", p->start);
		rama_cell_key_figure(j, "end", p->end);
		rama_cell_key_figure(j, "time", p->time);
		rama_cell_key_figure(j, "io_time", p->io_time);
		rama_cell_key_figure(j, "longest", p->longest);
		rama_json_key_i64(j, "bytes_read", p->bytes[1]);
		rama_json_key_i64(j, "bytes_written", p->bytes[0]);
		rama_json_key_open(j, "spans", '[');
		for (size_t k = 0; k < p->n_spans; k++) {
			rama_json_open(j, '[');
			rama_cell_figure_json(j, p->spans[k].start);
			rama_cell_figure_json(j, p->spans[k].end);
			rama_json_close(j, ']');
		}
		rama_json_close(j, ']');
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void timeline(struct rama_json *j, const struct rama_report *r)
{
	const struct rama_job_view *v = r->view;

	rama_json_key_open(j, "timeline", '{');
	rama_cell_key_figure(j, "run_time", v->run_time);
	rama_json_key_open(j, "strips", '[');
	for (size_t i = 0; i < v->n_heats; i++)
		strip(j, v, &v->heats[i]);
	rama_json_close(j, ']');
	rama_report_json_rows(j, "phases", &rama_report_tables[RAMA_REPORT_TABLE_phases], r);
	rama_json_key_string(j, "phases_from", v->phases_traced ? "trace" : "heatmap");
	if (v->n_named > 0)
		named(j, v);
	rama_json_close(j, '}');
}

/* ---- trace ----------------------------------------------------------------------------------- */

/* where the name of a file stands in "names", by file; 0: not in it, else place + 1 */
static void names(struct rama_json *j, const struct rama_job_view *v, uint32_t *place)
{
	uint32_t n = 0;

	rama_json_key_open(j, "names", '[');
	for (size_t i = 0; i < v->n_ops; i++) {
		uint32_t f = v->ops[i].file;

		if (place[f] != 0)
			continue;
		place[f] = ++n;
		rama_json_string(j, v->files[f].name);
	}
	for (size_t i = 0; i < v->n_calls; i++) {
		uint32_t f = v->calls[i].file;

		if (f >= v->n_files || place[f] != 0)
			continue;
		place[f] = ++n;
		rama_json_string(j, v->files[f].name);
	}
	rama_json_close(j, ']');
}

#define COLUMN_OF(j, key, put, value, type, at, n)        \
	do {                                              \
		rama_json_key(j, key);                    \
		rama_json_open(j, '[');                   \
		for (size_t i_ = 0; i_ < (n); i_++) {     \
			const struct type *x = &(at)[i_]; \
			put(j, value);                    \
		}                                         \
		rama_json_close(j, ']');                  \
	} while (0)
#define COLUMN(j, key, put, value) COLUMN_OF(j, key, put, value, rama_job_view_op, v->ops, v->n_ops)

static void ops(struct rama_json *j, const struct rama_job_view *v, const uint32_t *place)
{
	rama_json_key_open(j, "ops", '{');
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

static int64_t op_place(const struct rama_job_view *v, const char *op)
{
	size_t i = 0;

	while (i < v->n_call_ops && v->call_ops[i] != op)
		i++;
	return i < v->n_call_ops ? (int64_t)i : -1;
}

#define CALL(key, put, value) \
	COLUMN_OF(j, key, put, value, rama_job_view_call, v->calls, v->n_calls)

/* calls with those inside of them; null: the log does not tell */
static void calls(struct rama_json *j, const struct rama_job_view *v, const uint32_t *place)
{
	rama_json_key(j, "calls");
	if (v->n_calls == 0) {
		rama_json_null(j);
		return;
	}
	rama_json_open(j, '{');
	rama_json_key_i64(j, "n", (int64_t)v->n_calls);
	rama_json_key_bool(j, "all", v->calls_all);
	rama_json_key_open(j, "functions", '[');
	for (size_t i = 0; i < v->n_call_ops; i++)
		rama_json_string(j, v->call_ops[i]);
	rama_json_close(j, ']');
	CALL("layer", rama_json_string, x->layer);
	CALL("function", rama_json_i64, op_place(v, x->op));
	CALL("kind", rama_json_i64, x->kind);
	CALL("parent", rama_json_i64, x->parent);
	CALL("file", rama_json_i64, x->file < v->n_files ? (int64_t)place[x->file] - 1 : -1);
	CALL("rank", rama_json_i64, x->rank);
	CALL("bytes", rama_json_i64, x->bytes);
	CALL("start", rama_cell_figure_json, x->start);
	CALL("end", rama_cell_figure_json, x->end);
	rama_json_close(j, '}');
}

static void grid(struct rama_json *j, const char *key, const float *v, size_t n)
{
	rama_json_key_open(j, key, '[');
	for (size_t i = 0; i < n; i++)
		put_bytes(j, (double)v[i]);
	rama_json_close(j, ']');
}

static void offsets(struct rama_json *j, const struct rama_job_view *v)
{
	rama_json_key_open(j, "offsets", '[');
	for (size_t i = 0; i < v->n_offsets; i++) {
		const struct rama_job_view_offsets *x = &v->offsets[i];
		size_t n = (size_t)x->rows * x->bins;

		rama_json_open(j, '{');
		rama_json_key_string(j, "file", v->files[x->file].name);
		rama_json_key_string(j, "layer", rama_job_layer_info[x->layer].name);
		rama_json_key_i64(j, "size", x->size);
		rama_cell_key_figure(j, "t0", x->t0);
		rama_cell_key_figure(j, "t1", x->t1);
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
	rama_json_key_u64(j, "segments", v->segments);
	rama_json_key_bool(j, "complete", !v->segments_cut);
	rama_json_key_bool(j, "ops_all", v->ops_all);
	rama_json_key(j, "window");
	if (v->opt.to > v->opt.from) {
		rama_json_open(j, '[');
		rama_cell_figure_json(j, v->opt.from);
		rama_cell_figure_json(j, v->opt.to);
		rama_json_close(j, ']');
	} else {
		rama_json_null(j);
	}
	names(j, v, place);
	ops(j, v, place);
	offsets(j, v);
	calls(j, v, place);
	rama_json_close(j, '}');
	free(place);
}

void rama_report_json_data(struct rama_json *j, const struct rama_report *r)
{
	layers(j, r);
	sizes(j, r);
	patterns(j, r);
	rama_report_json_rows(j, "operations", &rama_report_tables[RAMA_REPORT_TABLE_operations],
			      r);
	rama_report_json_rows(j, "mounts", &rama_report_tables[RAMA_REPORT_TABLE_mounts], r);
	rama_json_key(j, "lustre");
	if (r->view->n_osts > 0) {
		rama_json_open(j, '{');
		rama_report_json_rows(j, "osts", &rama_report_tables[RAMA_REPORT_TABLE_targets], r);
		rama_json_close(j, '}');
	} else {
		rama_json_null(j);
	}
	if (r->view->n_sites > 0)
		rama_report_json_rows(j, "where", &rama_report_tables[RAMA_REPORT_TABLE_where], r);
	rama_report_json_rows(j, "modules", &rama_report_tables[RAMA_REPORT_TABLE_modules], r);
	counters(j, r);
	timeline(j, r);
	trace(j, r);
	files(j, r);
	ranks(j, r);
}
