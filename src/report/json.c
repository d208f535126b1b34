/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as one JSON document: docs/format/report.md. What a table has comes from its rows. */
#include "report/json.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "report/form.h"
#include "table/terms.h"

void rama_report_json_rows(struct rama_json *j, const char *key, const struct rama_report_table *t,
			   const struct rama_report *r)
{
	size_t n = t->rows(r);

	rama_json_key_open(j, key, '[');
	for (size_t i = 0; i < n; i++) {
		rama_json_open(j, '{');
		rama_report_table_json(j, t, r, i);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

/* a number, or null when it is below `least`: not known */
static void key_known(struct rama_json *j, const char *key, int64_t v, int64_t least)
{
	rama_json_key(j, key);
	if (v >= least)
		rama_json_i64(j, v);
	else
		rama_json_null(j);
}

static void strings(struct rama_json *j, const char *key, const char *const *s, size_t n)
{
	rama_json_key_open(j, key, '[');
	for (size_t i = 0; i < n; i++)
		rama_json_string(j, s[i]);
	rama_json_close(j, ']');
}

/* ---- the job --------------------------------------------------------------------------------- */

/* one line key=value of the metadata; false at the end */
static bool next_pair(const char **at, const char **key, size_t *key_len, size_t *len)
{
	for (; **at != '\0';) {
		const char *line = *at, *is;
		size_t n = strcspn(line, "\n");

		*at = line + n + (line[n] == '\n');
		is = memchr(line, '=', n);
		if (is == NULL || is == line)
			continue;
		*key = line;
		*key_len = (size_t)(is - line);
		*len = n;
		return true;
	}
	return false;
}

static bool seen_before(const char *text, const char *key, size_t key_len)
{
	const char *at = text, *k;
	size_t kn, n;

	while (next_pair(&at, &k, &kn, &n) && k < key)
		if (kn == key_len && memcmp(k, key, kn) == 0)
			return true;
	return false;
}

/* Keys are unique in JSON; the values of a key that occurs again (note) become one, a line each. */
static void metadata(struct rama_json *j, const char *text)
{
	const char *at = text, *key, *again, *k;
	size_t key_len, len, kn, n;

	rama_json_key_open(j, "metadata", '{');
	while (next_pair(&at, &key, &key_len, &len)) {
		struct rama_out all;

		if (seen_before(text, key, key_len))
			continue;
		rama_out_init(&all, NULL, NULL); /* the key, then its values */
		rama_out_bytes(&all, key, key_len);
		rama_out_char(&all, '\0');
		for (again = key; next_pair(&again, &k, &kn, &n);) {
			if (kn != key_len || memcmp(k, key, kn) != 0)
				continue;
			if (k != key)
				rama_out_char(&all, '\n');
			rama_out_bytes(&all, k + kn + 1, n - kn - 1);
		}
		if (all.error == 0) {
			rama_json_key(j, all.buf);
			rama_json_text(j, all.buf + key_len + 1, all.used - key_len - 1);
		}
		rama_out_fini(&all);
	}
	rama_json_close(j, '}');
}

/* who the processes are; none where ranks are those of MPI */
static void programs(struct rama_json *j, const struct rama_job_view *v)
{
	rama_json_key_open(j, "programs", '[');
	for (size_t i = 0; i < v->n_programs; i++) {
		rama_json_open(j, '{');
		rama_json_key_string(j, "name", v->programs[i].name);
		rama_json_key_i64(j, "processes", v->programs[i].processes);
		rama_json_key_i64(j, "active", v->programs[i].active);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void job(struct rama_json *j, const struct rama_job_view *v)
{
	time_t start = (time_t)v->start_sec;
	struct tm tm;
	char text[64] = "";

	if (v->start_sec > 0 && gmtime_r(&start, &tm) != NULL)
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	rama_json_key_open(j, "job", '{');
	rama_json_key_id(j, "id", (uint64_t)v->jobid);
	rama_json_key_i64(j, "uid", v->uid);
	rama_json_key_string(j, "exe", v->exe);
	rama_json_key_string(j, "name", v->name);
	rama_json_key_string(j, "start", text[0] != '\0' ? text : NULL);
	rama_json_key_i64(j, "start_s", v->start_sec);
	rama_cell_key_figure(j, "run_time", v->run_time);
	rama_json_key_i64(j, "nprocs", v->nprocs);
	rama_json_key_bool(j, "processes", v->processes);
	programs(j, v);
	key_known(j, "nodes", v->nodes, 1);
	strings(j, "hosts", v->hosts, v->n_hosts);
	metadata(j, v->metadata != NULL ? v->metadata : "");
	rama_json_key_string(j, "log_version", v->log_version);
	rama_json_close(j, '}');
}

static void unseen(struct rama_json *j, const struct rama_log_unseen_sum *s)
{
	rama_json_key_open(j, "unseen", '[');
	for (unsigned i = 1; i < RAMA_UNSEEN_REASONS; i++) {
		const char *name[RAMA_LOG_UNSEEN_NAMES];
		size_t n = 0;

		if (s->n[i] <= 0)
			continue;
		for (size_t k = 0; k < RAMA_LOG_UNSEEN_NAMES; k++)
			if (s->program[k].why == i)
				name[n++] = s->program[k].name;
		rama_json_open(j, '{');
		rama_json_key_string(j, "why", rama_unseen_key((enum rama_unseen)i));
		rama_json_key_i64(j, "programs", s->n[i]);
		strings(j, "names", name, n);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void verdict(struct rama_json *j, const struct rama_job_view *v, const struct rama_diag *d)
{
	rama_json_key_open(j, "verdict", '{');
	rama_json_key_string(j, "text", d->verdict);
	rama_json_key_string(j, "level", rama_diag_level_name[d->level]);
	rama_cell_key_figure(j, "io_time", v->io_time);
	rama_cell_key_figure(j, "io_share", rama_report_io_share(v));
	key_known(j, "io_rank", v->io_rank, 0);
	rama_cell_key_figure(j, "mean_io_time", v->mean_io_time);
	rama_cell_key_figure(j, "busy_time", v->busy_time > 0 ? v->busy_time : NAN);
	rama_cell_key_figure(j, "read_share", d->read_share);
	rama_cell_key_figure(j, "write_share", d->write_share);
	rama_cell_key_figure(j, "meta_share", d->meta_share);
	rama_cell_key_figure(j, "other_share", d->other_share);
	rama_json_close(j, '}');
	rama_json_key_bool(j, "complete", v->complete);
	strings(j, "banner", d->banner, d->n_banner);
	unseen(j, &v->unseen);
}

/* requests under way after a call that submitted some, and with each call, on average */
static void uring(struct rama_json *j, const struct rama_job_view_uring *u)
{
	if (u->submits <= 0)
		return;
	rama_json_key_open(j, "io_uring", '{');
	rama_json_key_i64(j, "operations", u->ops);
	rama_json_key_i64(j, "submits", u->submits);
	rama_cell_key_figure(j, "per_call", (double)u->ops / (double)u->submits);
	rama_cell_key_figure(j, "depth", (double)u->depth_sum / (double)u->submits);
	rama_json_key_i64(j, "deepest", u->depth_max);
	rama_json_key_i64(j, "missed", u->missed);
	rama_json_close(j, '}');
}

static void totals(struct rama_json *j, const struct rama_report *r)
{
	const struct rama_job_view *v = r->view;

	rama_json_key_open(j, "totals", '{');
	rama_json_key_i64(j, "bytes_read", v->disk.bytes_read);
	rama_json_key_i64(j, "bytes_written", v->disk.bytes_written);
	rama_json_key_i64(j, "reads", v->disk.reads);
	rama_json_key_i64(j, "writes", v->disk.writes);
	rama_json_key_i64(j, "metas", v->disk.metas);
	rama_json_key_i64(j, "files", (int64_t)v->n_real);
	rama_json_key_bool(j, "files_estimated", v->files_estimated);
	rama_json_key_i64(j, "groups", (int64_t)v->n_groups);
	rama_cell_key_figure(j, "rate", v->rate);
	key_known(j, "active_ranks", v->active_ranks, 0);
	rama_json_key_u64(j, "traced_segments", v->segments);
	rama_json_key_i64(j, "std_bytes_read", v->std.bytes_read);
	rama_json_key_i64(j, "std_bytes_written", v->std.bytes_written);
	uring(j, &v->uring);
	rama_json_close(j, '}');
}

/* ---- findings -------------------------------------------------------------------------------- */

static void values(struct rama_json *j, const struct rama_diag_finding *f)
{
	rama_json_key_open(j, "values", '[');
	for (size_t i = 0; i < f->n_values; i++) {
		const struct rama_diag_value *x = &f->values[i];

		rama_json_open(j, '{');
		rama_json_key_string(j, "name", x->name);
		rama_json_key_string(j, "doc", x->doc);
		rama_json_key_string(j, "unit", x->unit);
		rama_cell_key_figure(j, "value", x->value);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void culprits(struct rama_json *j, const struct rama_job_view *v,
		     const struct rama_diag_finding *f)
{
	rama_json_key_open(j, "culprits", '[');
	for (size_t i = 0; i < f->n_culprits; i++) {
		const struct rama_diag_culprit *x = &f->culprits[i];
		const struct rama_job_view_file *file = rama_report_culprit_file(v, x);

		rama_json_open(j, '{');
		rama_json_key_string(j, "kind", x->kind);
		rama_json_key_string(j, "name", file != NULL ? file->name : x->name);
		rama_json_key_string(j, "text", x->text);
		rama_cell_key_figure(j, "value", x->value);
		rama_json_key(j, "id");
		if (file != NULL)
			rama_json_id(j, file->id);
		else
			rama_json_null(j);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	rama_json_key_i64(j, "culprits_total", (int64_t)f->all_culprits);
}

static void window(struct rama_json *j, const struct rama_diag_finding *f)
{
	rama_json_key(j, "window");
	if (!isfinite(f->from) || !isfinite(f->to)) {
		rama_json_null(j);
		return;
	}
	rama_json_open(j, '[');
	rama_cell_figure_json(j, f->from);
	rama_cell_figure_json(j, f->to);
	rama_json_close(j, ']');
}

static void snippets(struct rama_json *j, const struct rama_diag_finding *f)
{
	rama_json_key_open(j, "snippets", '[');
	for (size_t i = 0; i < f->n_snippets; i++) {
		rama_json_open(j, '{');
		rama_json_key_string(j, "language", f->snippets[i].language);
		rama_json_key_string(j, "title", f->snippets[i].title);
		rama_json_key_string(j, "text", f->snippets[i].text);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

/* "P06 P16" -> ["P06","P16"] */
static void words(struct rama_json *j, const char *key, const char *s)
{
	rama_json_key_open(j, key, '[');
	for (size_t n; s != NULL && *(s += strspn(s, " ,")) != '\0'; s += n) {
		n = strcspn(s, " ,");
		rama_json_text(j, s, n);
	}
	rama_json_close(j, ']');
}

static void findings(struct rama_json *j, const struct rama_report *r)
{
	const struct rama_diag *d = r->diagnosis;

	rama_json_key_open(j, "findings", '[');
	for (size_t i = 0; i < d->n_findings; i++) {
		const struct rama_diag_finding *f = &d->findings[i];

		rama_json_open(j, '{');
		rama_report_table_json(j, &rama_report_tables[RAMA_REPORT_TABLE_findings], r, i);
		values(j, f);
		culprits(j, r->view, f);
		window(j, f);
		rama_json_key_string(j, "advice_ref",
				     f->advised_by != NULL ? f->advised_by->rule->id : NULL);
		snippets(j, f);
		words(j, "drishti", f->rule->drishti);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

/* of jobs of a store, if there are any */
static void trials(struct rama_json *j, const struct rama_report *r)
{
	if (r->n_trials == 0)
		return;
	rama_json_key_open(j, "trials", '[');
	for (size_t i = 0; i < r->n_trials; i++) {
		const struct rama_report_trial *t = &r->trials[i];

		rama_json_open(j, '{');
		rama_json_key_string(j, "rule", *t->rule != '\0' ? t->rule : NULL);
		rama_json_key_string(j, "change", t->change);
		rama_json_key_string(j, "verdict", t->verdict);
		rama_cell_key_figure(j, "cost_s", t->cost);
		rama_cell_key_figure(j, "gain_s", t->gain);
		rama_cell_key_figure(j, "before_s", t->before);
		rama_cell_key_figure(j, "after_s", t->after);
		rama_json_key_string(j, "text", t->text);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

static void checks(struct rama_json *j, const struct rama_report *r)
{
	const struct rama_diag *d = r->diagnosis;

	rama_json_key_open(j, "checks", '{');
	rama_json_key_i64(j, "total", (int64_t)rama_diag_n_rules);
	rama_json_key_i64(j, "found", (int64_t)d->n_found);
	rama_json_key_i64(j, "passed", (int64_t)d->n_passed);
	rama_json_key_i64(j, "not_applicable", (int64_t)d->n_na);
	rama_report_json_rows(j, "rules", &rama_report_tables[RAMA_REPORT_TABLE_checks], r);
	rama_json_close(j, '}');
}

/* ---- words that this report uses ------------------------------------------------------------- */

static bool holds(const char *text, const char *term)
{
	return text != NULL && strcasestr(text, term) != NULL;
}

static bool uses(const struct rama_diag *d, const char *term)
{
	if (holds(d->verdict, term))
		return true;
	for (size_t i = 0; i < d->n_findings; i++) {
		const struct rama_diag_finding *f = &d->findings[i];

		if (holds(f->title, term) || holds(f->evidence, term) || holds(f->how, term) ||
		    holds(f->advice, term))
			return true;
	}
	return false;
}

static void glossary(struct rama_json *j, const struct rama_report *r)
{
	rama_json_key_open(j, "glossary", '[');
	for (unsigned i = 0; i < rama_tab_n_terms; i++) {
		if (!uses(r->diagnosis, rama_tab_terms[i].name))
			continue;
		rama_json_open(j, '{');
		rama_json_key_string(j, "term", rama_tab_terms[i].name);
		rama_json_key_string(j, "text", rama_tab_terms[i].text);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
}

void rama_report_json(struct rama_out *o, const struct rama_report *r)
{
	struct rama_json j;

	rama_json_init(&j, o);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "schema", "iorama-report");
	rama_json_key_i64(&j, "version", RAMA_REPORT_SCHEMA);
	rama_json_key_string(&j, "tool", "iorama " IORAMA_BUILD_VERSION);
	strings(&j, "logs", r->view->logs, r->view->n_logs);
	job(&j, r->view);
	verdict(&j, r->view, r->diagnosis);
	totals(&j, r);
	findings(&j, r);
	trials(&j, r);
	checks(&j, r);
	rama_report_json_data(&j, r);
	rama_report_json_rows(&j, "limits", &rama_report_tables[RAMA_REPORT_TABLE_limits], r);
	glossary(&j, r);
	rama_json_close(&j, '}');
	rama_out_char(o, '\n');
}

static void json(struct rama_out *o, const struct rama_report *r, const struct rama_report_ask *a)
{
	(void)a;
	rama_report_json(o, r);
}

static void diff(const struct rama_report_diff *d, struct rama_out *o,
		 const struct rama_report_ask *a)
{
	(void)a;
	rama_report_diff_json(d, o);
}

const struct rama_report_form rama_report_form_json = { .suffix = ".json",
							.detail = true,
							.report = json,
							.diff = diff,
							.spread = rama_report_spread_json,
							.fleet = rama_report_fleet_json };
