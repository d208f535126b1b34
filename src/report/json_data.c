/* SPDX-License-Identifier: BSD-3-Clause */
/* What the job did, without time: layers, sizes, files, ranks, counters. */
#include "report/json.h"

#include <math.h>

#define FILES_SHOWN 500
#define GROUPS_SHOWN 500
#define SORTED_SHOWN 512

static void key_figure(struct rama_json *j, const char *key, double v)
{
	rama_json_key(j, key);
	rama_cell_figure_json(j, v);
}

/* ---- layers ---------------------------------------------------------------------------------- */

static void times(struct rama_json *j, const struct rama_job_io *io)
{
	key_figure(j, "read", io->read_time);
	key_figure(j, "write", io->write_time);
	key_figure(j, "meta", io->meta_time);
}

static void layers(struct rama_json *j, const struct rama_report *r)
{
	rama_json_key(j, "layers");
	rama_json_open(j, '[');
	for (size_t i = 0; i < r->n_layers; i++) {
		const struct rama_job_view_layer *l = &r->view->layer[r->layers[i]];

		rama_json_open(j, '{');
		rama_report_table_json(j, &rama_report_tables[RAMA_REPORT_TABLE_layers], r, i);
		rama_json_key(j, "mean");
		rama_json_open(j, '{');
		times(j, &l->mean);
		rama_json_close(j, '}');
		rama_json_key(j, "median");
		rama_json_open(j, '{');
		times(j, &l->median);
		rama_json_close(j, '}');
		rama_json_key(j, "slowest");
		rama_json_open(j, '{');
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

static void figures(struct rama_json *j, const char *key, const double *v, size_t n)
{
	rama_json_key(j, key);
	rama_json_open(j, '[');
	for (size_t i = 0; i < n; i++)
		rama_cell_figure_json(j, v[i]);
	rama_json_close(j, ']');
}

static void size_use(struct rama_json *j, const char *key, const struct rama_job_view_layer *l,
		     unsigned kind)
{
	rama_json_key(j, key);
	rama_json_open(j, '{');
	rama_json_key(j, "count");
	rama_json_open(j, '[');
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
	rama_json_key(j, "sizes");
	rama_json_open(j, '[');
	for (size_t i = 0; i < r->n_layers; i++) {
		const struct rama_job_view_layer *l = &r->view->layer[r->layers[i]];

		if (!l->sizes)
			continue;
		rama_json_open(j, '{');
		rama_json_key_string(j, "layer", rama_job_layer_info[r->layers[i]].name);
		rama_json_key(j, "exact");
		rama_json_bool(j, l->sizes_exact);
		rama_json_key(j, "classes");
		rama_json_open(j, '[');
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
	rama_json_key(j, key);
	rama_json_open(j, '{');
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
	rama_json_key(j, "unaligned");
	rama_json_open(j, '{');
	key_known(j, "file", p->file_unaligned);
	key_known(j, "memory", p->memory_unaligned);
	rama_json_close(j, '}');
	rama_json_key(j, "common");
	rama_json_open(j, '[');
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
	rama_json_key(j, "pattern");
	rama_json_open(j, '[');
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
	rama_json_key(j, "counters");
	rama_json_open(j, '{');
	for (size_t i = 0; i < r->n_layers; i++) {
		const struct rama_job_layer_info *info = &rama_job_layer_info[r->layers[i]];
		const union rama_core_word *total = r->view->layer[r->layers[i]].total;

		if (total == NULL)
			continue;
		rama_json_key(j, info->name);
		rama_json_open(j, '{');
		counters_of(j, rama_tab_module_get(info->module)->record, total);
		rama_json_close(j, '}');
	}
	rama_json_close(j, '}');
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
	rama_report_json_rows(j, "modules", &rama_report_tables[RAMA_REPORT_TABLE_modules], r);
	counters(j, r);
}

/* ---- files and ranks ------------------------------------------------------------------------- */

static void file_layers(struct rama_json *j, const struct rama_job_view_file *f)
{
	rama_json_key(j, "layers");
	rama_json_open(j, '{');
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++) {
		struct rama_job_io io;

		if (f->rec[l] == NULL)
			continue;
		io = rama_job_io_of(l, f->rec[l]);
		rama_json_key(j, rama_job_layer_info[l].name);
		rama_json_open(j, '{');
		rama_json_key_i64(j, "reads", io.reads);
		rama_json_key_i64(j, "writes", io.writes);
		rama_json_key_i64(j, "bytes_read", io.bytes_read);
		rama_json_key_i64(j, "bytes_written", io.bytes_written);
		key_figure(j, "time", rama_job_io_time(&io));
		rama_json_close(j, '}');
	}
	rama_json_close(j, '}');
}

static void files(struct rama_json *j, const struct rama_report *r)
{
	size_t shown = r->n_files < FILES_SHOWN ? r->n_files : FILES_SHOWN;
	size_t groups = r->view->n_groups < GROUPS_SHOWN ? r->view->n_groups : GROUPS_SHOWN;

	rama_json_key(j, "files");
	rama_json_open(j, '{');
	rama_json_key_i64(j, "total", (int64_t)r->n_files);
	rama_json_key_i64(j, "shown", (int64_t)shown);
	rama_json_key_string(j, "order", "time");
	rama_json_key(j, "rows");
	rama_json_open(j, '[');
	for (size_t i = 0; i < shown; i++) {
		rama_json_open(j, '{');
		rama_report_table_json(j, &rama_report_tables[RAMA_REPORT_TABLE_files], r, i);
		file_layers(j, &r->view->files[r->files[i]]);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	rama_json_key(j, "groups");
	rama_json_open(j, '[');
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

	rama_json_key(j, "ranks");
	rama_json_open(j, '{');
	rama_json_key_i64(j, "total", (int64_t)n);
	rama_json_key_i64(j, "shown", (int64_t)r->n_ranks);
	rama_report_json_rows(j, "rows", &rama_report_tables[RAMA_REPORT_TABLE_ranks], r);
	rama_json_key(j, "sorted");
	rama_json_open(j, '[');
	for (size_t i = 0; i < shown; i++) /* first and last one are always among them */
		rama_cell_figure_json(j, r->rank_times[shown == n ? i : i * (n - 1) / (shown - 1)]);
	rama_json_close(j, ']');
	key_figure(j, "mean", r->view->mean_io_time);
	key_figure(j, "median", n > 0 ? r->rank_times[n / 2] : NAN);
	rama_json_close(j, '}');
}

void rama_report_json_files(struct rama_json *j, const struct rama_report *r)
{
	files(j, r);
	ranks(j, r);
}
