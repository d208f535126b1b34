/* SPDX-License-Identifier: BSD-3-Clause */
/* json.c: a comparison for scripts; docs/format/diff.md describes it. */
#include <math.h>

#include "base/json.h"
#include "report/diff/diff.h"

static void put_side(struct rama_json *j, const struct rama_report_diff_side *s)
{
	const struct rama_job_view *v = s->view;

	rama_json_open(j, '{');
	rama_json_key_string(j, "log", s->path);
	rama_json_key_id(j, "job", (uint64_t)v->jobid);
	rama_json_key_i64(j, "uid", v->uid);
	rama_json_key_string(j, "name", v->name);
	rama_json_key_string(j, "exe", v->exe);
	rama_json_key_i64(j, "nprocs", v->nprocs);
	rama_json_key_i64(j, "start_s", v->start_sec);
	rama_json_key_f64(j, "run_time", v->run_time);
	rama_json_key_bool(j, "complete", v->complete);
	rama_json_key_string(j, "verdict", s->diagnosis->verdict);
	rama_json_key_string(j, "level", rama_diag_level_name[s->diagnosis->level]);
	rama_json_close(j, '}');
}

static void put_metric(struct rama_json *j, const struct rama_report_diff *d,
		       enum rama_report_metric m)
{
	const struct rama_report_metric_info *info = &rama_report_metric_info[m];
	const struct rama_report_diff_metric *x = &d->metrics[m];

	rama_json_open(j, '{');
	rama_json_key_string(j, "name", info->name);
	rama_json_key_string(j, "label", info->label);
	rama_json_key_string(j, "group", rama_report_metric_groups[info->group]);
	rama_json_key_string(j, "unit", info->unit);
	rama_json_key_f64(j, "a", x->value[0]);
	rama_json_key_f64(j, "b", x->value[1]);
	rama_json_key_f64(j, "ratio", x->value[0] != 0 ? x->value[1] / x->value[0] : NAN);
	rama_json_key_string(j, "change", rama_report_change_name[x->change]);
	rama_json_key_string(j, "judgement", rama_report_judgement_name[x->better + 1]);
	rama_json_close(j, '}');
}

static void put_finding_side(struct rama_json *j, const char *key,
			     const struct rama_diag_finding *f)
{
	rama_json_key(j, key);
	if (f == NULL) {
		rama_json_null(j);
		return;
	}
	rama_json_open(j, '{');
	rama_json_key_string(j, "level", rama_diag_level_name[f->level]);
	rama_json_key_f64(j, "cost_s", f->cost);
	rama_json_key_f64(j, "cost_share", f->cost_share);
	rama_json_key_f64(j, "bytes", f->bytes);
	rama_json_key_string(j, "title", f->title);
	rama_json_key_string(j, "evidence", f->evidence);
	rama_json_close(j, '}');
}

static void put_io(struct rama_json *j, const char *key, const struct rama_job_io *io)
{
	rama_json_key_open(j, key, '{');
	rama_json_key_i64(j, "reads", io->reads);
	rama_json_key_i64(j, "writes", io->writes);
	rama_json_key_i64(j, "metas", io->metas);
	rama_json_key_i64(j, "bytes_read", io->bytes_read);
	rama_json_key_i64(j, "bytes_written", io->bytes_written);
	rama_json_key_f64(j, "read_time", io->read_time);
	rama_json_key_f64(j, "write_time", io->write_time);
	rama_json_key_f64(j, "meta_time", io->meta_time);
	rama_json_close(j, '}');
}

static void put_findings(struct rama_json *j, const struct rama_report_diff *d)
{
	rama_json_key_open(j, "findings", '[');
	for (size_t i = 0; i < d->n_findings; i++) {
		const struct rama_report_diff_finding *f = &d->findings[i];

		rama_json_open(j, '{');
		rama_json_key_string(j, "rule", f->rule->id);
		rama_json_key_string(j, "title", f->rule->title);
		rama_json_key_string(j, "state", rama_report_fate_name[f->fate]);
		put_finding_side(j, "a", f->side[0]);
		put_finding_side(j, "b", f->side[1]);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void put_layers(struct rama_json *j, const struct rama_report_diff *d)
{
	rama_json_key_open(j, "layers", '[');
	for (unsigned i = 0; i < RAMA_JOB_LAYERS; i++) {
		const struct rama_job_view_layer *a = &d->side[0].view->layer[i],
						 *b = &d->side[1].view->layer[i];

		if (!a->used && !b->used)
			continue;
		rama_json_open(j, '{');
		rama_json_key_string(j, "name", rama_job_layer_info[i].name);
		put_io(j, "a", &a->io);
		put_io(j, "b", &b->io);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void put_files(struct rama_json *j, const struct rama_report_diff *d)
{
	rama_json_key_open(j, "files", '{');
	rama_json_key_i64(j, "same_name", (int64_t)d->both);
	rama_json_key_i64(j, "only_a", (int64_t)d->only[0]);
	rama_json_key_i64(j, "only_b", (int64_t)d->only[1]);
	rama_json_key_open(j, "rows", '[');
	for (size_t i = 0; i < d->n_files; i++) {
		const struct rama_report_diff_file *f = &d->files[i];

		rama_json_open(j, '{');
		rama_json_key_string(j, "name", f->name);
		rama_json_key_i64(j, "files_a", f->files[0]);
		rama_json_key_i64(j, "files_b", f->files[1]);
		put_io(j, "a", &f->io[0]);
		put_io(j, "b", &f->io[1]);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	rama_json_close(j, '}');
}

static void put_verdict(struct rama_json *j, const struct rama_report_diff *d)
{
	rama_json_key_open(j, "verdict", '{');
	rama_json_key_string(j, "text", d->verdict);
	rama_json_key_bool(j, "slower", d->slower);
	rama_json_key_bool(j, "faster", d->faster);
	rama_json_key_bool(j, "differs", d->differs);
	rama_json_key_f64(j, "io_saved_s",
			  d->metrics[RAMA_REPORT_METRIC_io_time].value[0] -
				  d->metrics[RAMA_REPORT_METRIC_io_time].value[1]);
	rama_json_key_i64(j, "new", (int64_t)d->n_new);
	rama_json_key_i64(j, "gone", (int64_t)d->n_gone);
	rama_json_close(j, '}');
}

void rama_report_diff_json(const struct rama_report_diff *d, struct rama_out *o)
{
	struct rama_json j;

	rama_json_init(&j, o);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "schema", "iorama-diff");
	rama_json_key_i64(&j, "version", 1);
	rama_json_key_string(&j, "tool", "iorama " IORAMA_BUILD_VERSION);
	rama_json_key_f64(&j, "tolerance", d->tolerance);
	rama_json_key(&j, "a");
	put_side(&j, &d->side[0]);
	rama_json_key(&j, "b");
	put_side(&j, &d->side[1]);
	put_verdict(&j, d);
	rama_json_key_open(&j, "notes", '[');
	for (unsigned i = 0; i < d->n_notes; i++)
		rama_json_string(&j, d->notes[i]);
	rama_json_close(&j, ']');
	rama_json_key_open(&j, "metrics", '[');
	for (unsigned m = 0; m < RAMA_REPORT_METRICS; m++)
		put_metric(&j, d, m);
	rama_json_close(&j, ']');
	put_findings(&j, d);
	put_layers(&j, d);
	put_files(&j, d);
	rama_json_close(&j, '}');
	rama_out_char(o, '\n');
}
