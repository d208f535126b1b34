/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs.c: jobs of a store for people and programs. */
#include "study/jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/when.h"
#include "query/cell.h"
#include "query/job.h"
#include "report/paper.h"

/* at most as much of a text as a table has use for */
#define TEXT_MOST 399

static double value_of(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_INT	 ? (double)c->i
	       : c->type == RAMA_STORE_CELL_REAL ? c->f
						 : NAN;
}

/* as people read it, times to the second; "" for nothing */
static const char *shown(struct rama_report_paper *p, const struct rama_store_cell *c,
			 const char *unit)
{
	struct rama_cell cell = rama_query_cell(c, unit);
	char to[RAMA_CELL_SHOWN], text[TEXT_MOST + 1];

	if (cell.kind == RAMA_CELL_INT && strcmp(unit, "when") == 0)
		return rama_report_paper_fmt(p, "%s", rama_when_text(to, c->i, 0));
	snprintf(text, sizeof(text), "%s", rama_cell_text(to, &cell, unit));
	return rama_report_paper_text(p, text);
}

/* ---- many jobs ------------------------------------------------------------------------------- */

struct list {
	struct rama_study_jobs *l;
	struct rama_rows rows;
	struct rama_report_paper paper;
	struct rama_grid *sheet;
	const char *name[RAMA_QUERY_COLUMNS], *unit[RAMA_QUERY_COLUMNS];
	struct rama_grid_column column[RAMA_QUERY_COLUMNS];
};

static enum rama_tone job_tone(const char *key, const char *text, double value)
{
	if (strcmp(key, "state") == 0)
		return strcmp(text, "running") == 0 ? RAMA_TONE_GOOD
		       : strcmp(text, "incomplete") == 0 || strcmp(text, "lost") == 0
			       ? RAMA_TONE_WARN
			       : RAMA_TONE_DIM;
	if (strcmp(key, "finding") == 0)
		return RAMA_TONE_WARN;
	if ((strcmp(key, "lost") == 0 || strcmp(key, "dropped") == 0 ||
	     strcmp(key, "missed") == 0) &&
	    value > 0)
		return RAMA_TONE_BAD;
	return RAMA_TONE_PLAIN;
}

static struct rama_grid_cell sheet_cell(struct rama_report_paper *p,
					const struct rama_query_metric *m,
					const struct rama_store_cell *c)
{
	struct rama_grid_cell to = { .text = shown(p, c, m->unit), .value = value_of(c) };

	if (strcmp(m->unit, "when") == 0 && c->type == RAMA_STORE_CELL_INT)
		to.text = rama_report_paper_fmt(p, "%.16s", to.text);
	if (c->type != RAMA_STORE_CELL_NULL)
		to.tone = job_tone(m->key, to.text, to.value);
	return to;
}

static int add(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct list *k = ctx;
	const struct rama_query_jobs *q = &k->l->query;
	struct rama_grid_cell *to;

	(void)e;
	if (k->sheet == NULL)
		return rama_query_rows_add(&k->rows, row->cell);
	to = rama_report_paper_row(&k->paper, k->sheet);
	for (unsigned i = 0; i < q->n_columns; i++)
		to[i] = sheet_cell(&k->paper, &q->column[i], &row->cell[i]);
	return 0;
}

static void columns(struct list *k)
{
	for (unsigned i = 0; i < k->l->query.n_columns; i++) {
		const struct rama_query_metric *m = &k->l->query.column[i];
		bool text = strcmp(m->unit, "text") == 0 || strcmp(m->unit, "when") == 0;

		k->name[i] = m->key;
		k->unit[i] = m->unit;
		k->column[i] = (struct rama_grid_column){ .key = m->key,
							  .header = m->header,
							  .unit = text ? NULL : m->unit,
							  .wide = strcmp(m->key, "name") == 0 ||
								  strcmp(m->key, "command") == 0 ||
								  strcmp(m->key, "verdict") == 0,
							  .drop = m->shown > 1 ? m->shown : 0 };
	}
}

/* A column without values says nothing: events and losses where nothing was live. */
static bool is_used(const struct list *k, unsigned i)
{
	const struct rama_grid *s = k->sheet;

	if (k->l->query.column[i].shown <= 2)
		return true;
	for (size_t r = 0; r < s->n_rows; r++) {
		const struct rama_grid_cell *c = &s->cells[r * s->n_columns + i];

		if (c->text != NULL && *c->text != '\0' && c->value != 0)
			return true;
	}
	return false;
}

static int print_table(struct list *k, const struct rama_grid_style *style, struct rama_out *out)
{
	bool keep[RAMA_QUERY_COLUMNS];

	k->sheet->none = "no jobs";
	for (unsigned i = 0; i < k->sheet->n_columns; i++)
		keep[i] = is_used(k, i);
	rama_grid_keep(k->sheet, k->column, keep);
	if (k->paper.failed)
		return RAMA_EMEMORY;
	rama_report_paper_print(&k->paper, out, style);
	return 0;
}

/* where the next page begins; other forms cannot hold it */
static void tell_next(const char *next, struct rama_out *out)
{
	struct rama_json j;

	rama_out_text(out, ",\n\"next\": ");
	rama_json_init(&j, out);
	rama_json_string(&j, next);
	rama_out_text(out, "}\n");
}

static int run_list(struct list *k, struct rama_store *s, const struct rama_grid_style *style,
		    struct rama_out *out, struct rama_err *e)
{
	struct rama_query_jobs *q = &k->l->query;
	enum rama_rows_form form = k->l->form;
	int rc = 0;

	columns(k);
	k->rows = (struct rama_rows){ .out = out, .form = form };
	if (k->l->paged && form == RAMA_ROWS_JSON)
		rama_out_text(out, "{\"schema\": \"iorama.jobs/1\",\n\"jobs\": ");
	if (form == RAMA_ROWS_TEXT)
		k->sheet =
			rama_report_paper_sheet(&k->paper, "jobs", NULL, k->column, q->n_columns);
	else
		rc = rama_rows_begin(&k->rows, q->n_columns, k->name, k->unit);
	if (rc == 0)
		rc = rama_query_jobs_list(s, q, add, k, e);
	if (rc == 0 && k->sheet != NULL) {
		k->sheet->more = (unsigned)q->more;
		k->sheet->more_uncounted = q->more_uncounted;
		rc = print_table(k, style, out);
	}
	if (k->sheet == NULL)
		rama_rows_end(&k->rows);
	if (rc == 0 && k->l->paged && form == RAMA_ROWS_JSON)
		tell_next(q->next, out);
	rama_report_paper_fini(&k->paper);
	return rc;
}

int rama_study_jobs_list(struct rama_store *s, struct rama_study_jobs *l,
			 const struct rama_grid_style *style, struct rama_out *out,
			 struct rama_err *e)
{
	struct list *k = calloc(1, sizeof(*k));
	int rc;

	if (k == NULL)
		return rama_err_no_memory(e);
	k->l = l;
	rc = run_list(k, s, style, out, e);
	free(k);
	return rc;
}

/* ---- one job: what it is, its processes, what was found, what was lost ----------------------- */

#define PROCESSES_MOST 16

/* a table of the page, with the columns of the table of the query */
struct part {
	const char *key, *title;
	enum rama_query_job_table table;
	const struct rama_grid_column *column;
	unsigned n_columns, most; /* rows, 0: all */
};

static const struct rama_grid_column process_columns[] = {
	{ .key = "rank", .header = "rank", .unit = "id" },
	{ .key = "host", .header = "host", .wide = true },
	{ .key = "pid", .header = "pid", .unit = "id" },
	{ .key = "state", .header = "state" },
	{ .key = "start", .header = "start", .drop = 3 },
	{ .key = "end", .header = "end", .drop = 4 },
	{ .key = "seen", .header = "events seen", .unit = "count" },
	{ .key = "stored", .header = "stored", .unit = "count" },
	{ .key = "dropped", .header = "dropped", .unit = "count" },
	{ .key = "missed", .header = "calls missed", .unit = "count", .drop = 2 },
	{ .key = "exe", .header = "program", .drop = 5 },
};
static const struct rama_grid_column finding_columns[] = {
	{ .key = "level", .header = "level" },
	{ .key = "rule", .header = "rule" },
	{ .key = "cost", .header = "cost", .unit = "s" },
	{ .key = "title", .header = "what", .wide = true },
};
static const struct rama_grid_column layer_columns[] = {
	{ .key = "layer", .header = "layer" },
	{ .key = "kind", .header = "calls" },
	{ .key = "ops", .header = "count", .unit = "count" },
	{ .key = "failed", .header = "failed", .unit = "count" },
	{ .key = "bytes", .header = "bytes", .unit = "bytes" },
	{ .key = "seconds", .header = "time", .unit = "s" },
	{ .key = "longest", .header = "longest", .unit = "s" },
};
static const struct rama_grid_column activity_columns[] = {
	{ .key = "layer", .header = "layer" },
	{ .key = "reads", .header = "reads", .unit = "count" },
	{ .key = "writes", .header = "writes", .unit = "count" },
	{ .key = "metas", .header = "metadata calls", .unit = "count" },
	{ .key = "bytes_read", .header = "read", .unit = "bytes" },
	{ .key = "bytes_written", .header = "written", .unit = "bytes" },
	{ .key = "seconds", .header = "time", .unit = "s" },
};
static const struct rama_grid_column loss_columns[] = {
	{ .key = "agent", .header = "agent", .wide = true },
	{ .key = "why", .header = "why" },
	{ .key = "events", .header = "events", .unit = "count" },
	{ .key = "messages", .header = "messages", .unit = "count" },
};
static const struct rama_grid_column trial_columns[] = {
	{ .key = "change", .header = "changed", .wide = true },
	{ .key = "rule", .header = "rule" },
	{ .key = "cost", .header = "said to cost", .unit = "s" },
	{ .key = "gain", .header = "gain", .unit = "s" },
	{ .key = "before", .header = "as it was", .unit = "s" },
	{ .key = "after", .header = "changed", .unit = "s" },
	{ .key = "verdict", .header = "verdict" },
	{ .key = "low", .header = "ratio from", .unit = "ratio", .drop = 2 },
	{ .key = "high", .header = "to", .unit = "ratio", .drop = 2 },
	{ .key = "rounds", .header = "rounds", .unit = "count", .drop = 3 },
	{ .key = "ranks", .header = "ranks", .unit = "count", .drop = 4 },
	{ .key = "host", .header = "host", .drop = 6 },
	{ .key = "when", .header = "when", .drop = 5 },
};
#define COLUMNS(x) x, sizeof(x) / sizeof(*(x))

static const struct part parts[] = {
	{ "findings", "Findings", RAMA_QUERY_JOB_FINDINGS, COLUMNS(finding_columns), 0 },
	{ "trials", "Tried again with a change", RAMA_QUERY_JOB_TRIALS, COLUMNS(trial_columns), 0 },
	{ "activity", "What it did, by its counters", RAMA_QUERY_JOB_ACTIVITY,
	  COLUMNS(activity_columns), 0 },
	{ "events", "Its events", RAMA_QUERY_JOB_EVENTS, COLUMNS(layer_columns), 0 },
	{ "processes", "Processes", RAMA_QUERY_JOB_PROCESSES, COLUMNS(process_columns),
	  PROCESSES_MOST },
	{ "losses", "Lost by agents", RAMA_QUERY_JOB_LOSSES, COLUMNS(loss_columns), 0 },
};
#define N_PARTS (sizeof(parts) / sizeof(*parts))

struct detail {
	struct rama_store *store;
	struct rama_report_paper *paper;
	struct rama_json *json;
	const struct part *part;
	struct rama_grid *sheet;
	bool all;
	struct rama_query_metric *column;
	unsigned n_columns;
};

static const char *unit_of(const struct rama_grid_column *c)
{
	bool when = strcmp(c->key, "start") == 0 || strcmp(c->key, "end") == 0 ||
		    strcmp(c->key, "when") == 0;

	return when ? "when" : c->unit != NULL ? c->unit : "text";
}

static void put_json(struct rama_json *j, const struct rama_store_cell *c, const char *unit)
{
	struct rama_cell cell = rama_query_cell(c, unit);

	rama_cell_json(j, &cell, unit);
}

static int part_json(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct detail *d = ctx;

	(void)e;
	rama_json_open(d->json, '{');
	for (unsigned i = 0; i < d->part->n_columns && i < row->n; i++) {
		rama_json_key(d->json, d->part->column[i].key);
		put_json(d->json, &row->cell[i], unit_of(&d->part->column[i]));
	}
	rama_json_close(d->json, '}');
	return d->json->out->error;
}

static enum rama_tone tone_of(const char *key, const char *text, double value)
{
	if (strcmp(key, "level") == 0)
		return strcmp(text, "HIGH") == 0   ? RAMA_TONE_BAD
		       : strcmp(text, "WARN") == 0 ? RAMA_TONE_WARN
						   : RAMA_TONE_DIM;
	if (strcmp(key, "state") == 0)
		return strcmp(text, "running") == 0				  ? RAMA_TONE_GOOD
		       : strcmp(text, "killed") == 0 || strcmp(text, "lost") == 0 ? RAMA_TONE_WARN
										  : RAMA_TONE_PLAIN;
	return (strcmp(key, "dropped") == 0 || strcmp(key, "missed") == 0) && value > 0
		       ? RAMA_TONE_BAD
		       : RAMA_TONE_PLAIN;
}

static int part_row(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct detail *d = ctx;
	struct rama_grid_cell *to;

	(void)e;
	if (d->part->most > 0 && !d->all && d->sheet->n_rows == d->part->most) {
		d->sheet->more++;
		return 0;
	}
	to = rama_report_paper_row(d->paper, d->sheet);
	for (unsigned i = 0; i < d->part->n_columns && i < row->n; i++) {
		to[i].text = shown(d->paper, &row->cell[i], unit_of(&d->part->column[i]));
		to[i].value = value_of(&row->cell[i]);
		to[i].tone = tone_of(d->part->column[i].key, to[i].text, to[i].value);
	}
	return 0;
}

/* ---- the job itself -------------------------------------------------------------------------- */

/* the text of a column, "" if it has none */
static const char *value(struct detail *d, const struct rama_store_row *row, const char *key)
{
	for (unsigned i = 0; i < d->n_columns && i < row->n; i++) {
		const struct rama_store_cell *c = &row->cell[i];

		if (strcmp(d->column[i].key, key) != 0 || c->type == RAMA_STORE_CELL_NULL)
			continue;
		if (c->type == RAMA_STORE_CELL_TEXT) /* the whole of it */
			return rama_report_paper_text(d->paper, c->text);
		return shown(d->paper, c, d->column[i].unit);
	}
	return "";
}

static void line(struct detail *d, const char *label, const char *text)
{
	if (*text != '\0')
		rama_report_paper_head(d->paper, RAMA_TONE_PLAIN,
				       rama_report_paper_fmt(d->paper, "%-10s %s", label, text));
}

static bool is_zero(const char *text)
{
	return *text == '\0' || strcmp(text, "0") == 0;
}

/* "4 ranks", "1 rank" */
static const char *number(struct detail *d, const char *n, const char *what)
{
	return rama_report_paper_fmt(d->paper, "%s %s%s", n, what, strcmp(n, "1") == 0 ? "" : "s");
}

static void tell_work(struct detail *d, const struct rama_store_row *row)
{
	const char *lost = value(d, row, "lost"), *missed = value(d, row, "missed"),
		   *reads = value(d, row, "reads"), *writes = value(d, row, "writes"),
		   *metas = value(d, row, "metas"), *seen = value(d, row, "made");

	if (is_zero(seen) || !is_zero(reads) || !is_zero(writes) || !is_zero(metas))
		line(d, "moved",
		     rama_report_paper_fmt(d->paper, "%s read in %s, %s written in %s, %s, %s",
					   value(d, row, "bytes_read"), number(d, reads, "call"),
					   value(d, row, "bytes_written"),
					   number(d, writes, "call"),
					   number(d, metas, "metadata call"),
					   number(d, value(d, row, "files"), "file")));
	if (!is_zero(seen))
		line(d, "events",
		     rama_report_paper_fmt(d->paper, "%s seen, %s stored, %s lost%s%s", seen,
					   value(d, row, "events"), lost,
					   is_zero(missed) ? "" : "; calls missed: ",
					   is_zero(missed) ? "" : missed));
	line(d, "verdict", value(d, row, "verdict"));
}

static int head(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct detail *d = ctx;
	struct rama_report_paper *p = d->paper;
	const char *name = value(d, row, "name"), *user = value(d, row, "user"),
		   *end = value(d, row, "end"), *nodes = value(d, row, "nodes");

	(void)e;
	rama_report_paper_head(
		p, RAMA_TONE_BOLD,
		rama_report_paper_fmt(p, "%s%sjob %s of the store%s%s · %s", name,
				      *name != '\0' ? " · " : "", value(d, row, "job"),
				      *user != '\0' ? " · " : "", user, value(d, row, "state")));
	line(d, "command", value(d, row, "command"));
	line(d, "key", value(d, row, "key"));
	if (!is_zero(value(d, row, "jobid")))
		line(d, "job id", value(d, row, "jobid"));
	line(d, "ran",
	     rama_report_paper_fmt(
		     p, "%s to %s, %s, %s%s%s", value(d, row, "start"), *end != '\0' ? end : "now",
		     value(d, row, "run_time"), number(d, value(d, row, "ranks"), "rank"),
		     is_zero(nodes) ? "" : " on ", is_zero(nodes) ? "" : number(d, nodes, "node")));
	tell_work(d, row);
	return 1;
}

static int job_json(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct detail *d = ctx;

	(void)e;
	for (unsigned i = 0; i < d->n_columns && i < row->n; i++) {
		rama_json_key(d->json, d->column[i].key);
		put_json(d->json, &row->cell[i], d->column[i].unit);
	}
	return 1;
}

static int figure_json(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct detail *d = ctx;

	(void)e;
	rama_json_key(d->json, row->cell[0].text);
	put_json(d->json, &row->cell[1], NULL);
	return d->json->out->error;
}

static int all_parts(struct detail *d, int64_t job, struct rama_err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < N_PARTS; i++) {
		d->part = &parts[i];
		if (d->json != NULL) {
			rama_json_key_open(d->json, d->part->key, '[');
		} else {
			d->sheet = rama_report_paper_sheet(d->paper, d->part->key, d->part->title,
							   d->part->column, d->part->n_columns);
		}
		rc = rama_query_job_rows(d->store, job, d->part->table,
					 d->json != NULL ? part_json : part_row, d, e);
		if (d->json != NULL)
			rama_json_close(d->json, ']');
	}
	return rc;
}

static int print_json(struct detail *d, int64_t job, struct rama_out *out, struct rama_err *e)
{
	struct rama_json j;
	int rc;

	rama_json_init(&j, out);
	d->json = &j;
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "schema", "iorama.job/1");
	rc = rama_query_job_row(d->store, job, d->column, d->n_columns, job_json, d, e);
	if (rc == 0)
		rc = all_parts(d, job, e);
	rama_json_key_open(&j, "figures", '{');
	if (rc == 0)
		rc = rama_query_job_rows(d->store, job, RAMA_QUERY_JOB_FIGURES, figure_json, d, e);
	rama_json_close(&j, '}');
	rama_json_close(&j, '}');
	rama_out_char(out, '\n');
	d->json = NULL;
	return rc;
}

int rama_study_job_tell(struct rama_store *s, int64_t job, enum rama_rows_form form,
			const struct rama_grid_style *style, bool all, struct rama_out *out,
			struct rama_err *e)
{
	struct rama_report_paper paper = { 0 };
	struct detail d = { .store = s, .paper = &paper, .all = all };
	int rc;

	d.column = calloc(RAMA_QUERY_COLUMNS, sizeof(*d.column));
	if (d.column == NULL)
		return rama_err_no_memory(e);
	while (d.n_columns < RAMA_QUERY_COLUMNS &&
	       rama_query_metric_column(d.n_columns, &d.column[d.n_columns]))
		d.n_columns++;
	if (form == RAMA_ROWS_JSON) {
		rc = print_json(&d, job, out, e);
	} else {
		rc = rama_query_job_row(s, job, d.column, d.n_columns, head, &d, e);
		if (rc == 0)
			rc = all_parts(&d, job, e);
		if (rc == 0 && paper.failed)
			rc = rama_err_no_memory(e);
		if (rc == 0)
			rama_report_paper_print(&paper, out, style);
	}
	rama_report_paper_fini(&paper);
	free(d.column);
	return rc;
}
