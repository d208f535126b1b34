/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs_list.c: many jobs of a store. */
#include "cli/jobs_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/when.h"
#include "cli/input.h"
#include "report/sheet.h"

struct list {
	struct rama_cli_jobs_list *l;
	struct rama_cli_rows rows;
	struct rama_report_paper paper;
	struct rama_report_sheet *sheet;
	const char *name[RAMA_QUERY_COLUMNS], *unit[RAMA_QUERY_COLUMNS];
	struct rama_report_sheet_column column[RAMA_QUERY_COLUMNS];
};

/* ---- the table ------------------------------------------------------------------------------- */

static enum rama_report_tone tone_of(const char *key, const char *text, double value)
{
	if (strcmp(key, "state") == 0)
		return strcmp(text, "running") == 0 ? RAMA_REPORT_TONE_GOOD
		       : strcmp(text, "incomplete") == 0 || strcmp(text, "lost") == 0
			       ? RAMA_REPORT_TONE_WARN
			       : RAMA_REPORT_TONE_DIM;
	if (strcmp(key, "finding") == 0)
		return RAMA_REPORT_TONE_WARN;
	if ((strcmp(key, "lost") == 0 || strcmp(key, "dropped") == 0 ||
	     strcmp(key, "missed") == 0) &&
	    value > 0)
		return RAMA_REPORT_TONE_BAD;
	return RAMA_REPORT_TONE_PLAIN;
}

static struct rama_report_sheet_cell sheet_cell(struct rama_report_paper *p,
						const struct rama_query_metric *m,
						const struct rama_store_cell *c)
{
	char text[RAMA_CLI_CELL_TEXT_MOST], when[RAMA_WHEN];
	struct rama_report_sheet_cell to = { .text = "", .value = NAN };

	if (c->type == RAMA_STORE_CELL_NULL)
		return to;
	if (strcmp(m->unit, "when") == 0 && c->type == RAMA_STORE_CELL_INT)
		to.text = rama_report_paper_fmt(p, "%.16s", rama_when_text(when, c->i, 0));
	else {
		rama_cli_cell_shown(text, c, m->unit);
		to.text = rama_report_paper_text(p, text);
	}
	to.value = c->type == RAMA_STORE_CELL_INT    ? (double)c->i
		   : c->type == RAMA_STORE_CELL_REAL ? c->f
						     : NAN;
	to.tone = tone_of(m->key, to.text, to.value);
	return to;
}

static int add(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct list *k = ctx;
	const struct rama_query_jobs *q = &k->l->query;
	struct rama_report_sheet_cell *to;

	(void)e;
	if (k->sheet == NULL)
		return rama_cli_rows_add(&k->rows, row->cell);
	to = rama_report_sheet_row(&k->paper, k->sheet);
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
		k->column[i] =
			(struct rama_report_sheet_column){ .key = m->key,
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
	const struct rama_report_sheet *s = k->sheet;

	if (k->l->query.column[i].shown <= 2)
		return true;
	for (size_t r = 0; r < s->n_rows; r++) {
		const struct rama_report_sheet_cell *c = &s->cells[r * s->n_columns + i];

		if (c->text != NULL && *c->text != '\0' && c->value != 0)
			return true;
	}
	return false;
}

static void drop_empty(struct list *k)
{
	struct rama_report_sheet *s = k->sheet;
	unsigned kept = 0, from[RAMA_QUERY_COLUMNS];

	for (unsigned i = 0; i < s->n_columns; i++) {
		if (!is_used(k, i))
			continue;
		k->column[kept] = k->column[i];
		from[kept++] = i;
	}
	for (size_t r = 0; r < s->n_rows; r++)
		for (unsigned i = 0; i < kept; i++)
			s->cells[r * kept + i] = s->cells[r * s->n_columns + from[i]];
	s->n_columns = kept;
}

static int print_table(struct list *k, const struct rama_cli_terminal *t, struct rama_out *out)
{
	struct rama_report_paper_style style = { t->width, t->colour, t->utf8 };

	k->sheet->none = "no jobs";
	drop_empty(k);
	if (k->paper.failed)
		return RAMA_EMEMORY;
	rama_report_paper_print(&k->paper, out, &style);
	return 0;
}

/* Where the next page begins: part of the JSON, else a line beside the rows. */
static void tell_next(struct list *k, struct rama_out *out)
{
	const char *next = k->l->query.next;
	struct rama_json j;

	if (k->l->form == RAMA_CLI_ROWS_JSON) {
		rama_out_text(out, ",\n\"next\": ");
		rama_json_init(&j, out);
		rama_json_string(&j, next);
		rama_out_text(out, "}\n");
	} else if (next != NULL) {
		rama_out_flush(out);
		rama_cli_complain("jobs", "there are more: --after %s", next);
	}
}

static int run_list(struct list *k, struct rama_store *s, const struct rama_cli_terminal *t,
		    struct rama_out *out, struct rama_err *e)
{
	struct rama_query_jobs *q = &k->l->query;
	enum rama_cli_rows_form form = k->l->form;
	int rc = 0;

	columns(k);
	k->rows = (struct rama_cli_rows){ .out = out, .form = form };
	if (k->l->paged && form == RAMA_CLI_ROWS_JSON)
		rama_out_text(out, "{\"schema\": \"iorama.jobs/1\",\n\"jobs\": ");
	if (form == RAMA_CLI_ROWS_TEXT)
		k->sheet =
			rama_report_paper_sheet(&k->paper, "jobs", NULL, k->column, q->n_columns);
	else
		rc = rama_cli_rows_begin(&k->rows, q->n_columns, k->name, k->unit);
	if (rc == 0)
		rc = rama_query_jobs_list(s, q, add, k, e);
	if (rc == 0 && k->sheet != NULL) {
		k->sheet->more = (unsigned)q->more;
		k->sheet->more_uncounted = q->more_uncounted;
		rc = print_table(k, t, out);
	}
	if (k->sheet == NULL)
		rama_cli_rows_end(&k->rows);
	if (rc == 0 && k->l->paged)
		tell_next(k, out);
	rama_report_paper_fini(&k->paper);
	return rc;
}

int rama_cli_jobs_list(struct rama_store *s, struct rama_cli_jobs_list *l,
		       const struct rama_cli_terminal *t, struct rama_out *out, struct rama_err *e)
{
	struct list *k = calloc(1, sizeof(*k));
	int rc;

	if (k == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	k->l = l;
	rc = run_list(k, s, t, out, e);
	free(k);
	return rc;
}
