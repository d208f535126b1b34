/* SPDX-License-Identifier: BSD-3-Clause */
/* jobs_list.c: many jobs of a store. */
#include "cli/jobs_list.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/when.h"
#include "report/sheet.h"

/* what follows the columns in each row: for words and globs */
enum { FIND_NAME, FIND_USER, FIND_COMMAND, FIND_KEY, FIND_JOBID, FIND_SOURCE, FINDS };
static const char finds[] = ", j.name, j.username, j.command, j.key, j.jobid, j.source";

struct list {
	const struct rama_jobs_list *l;
	struct rama_rows rows;
	struct rama_paper paper;
	struct rama_sheet *sheet;
	const char *name[RAMA_JOBS_COLUMNS], *unit[RAMA_JOBS_COLUMNS];
	struct rama_sheet_column column[RAMA_JOBS_COLUMNS];
	uint64_t n;
};

/* ---- which of them --------------------------------------------------------------------------------- */

static bool has_word(const struct rama_cell *find, const char *word)
{
	char number[24];

	for (unsigned i = 0; i < FIND_JOBID; i++)
		if (find[i].type == RAMA_CELL_TEXT && strcasestr(find[i].text, word) != NULL)
			return true;
	snprintf(number, sizeof(number), "%lld", (long long)find[FIND_JOBID].i);
	return strcmp(number, word) == 0;
}

static bool wanted(const struct rama_jobs_list *l, const struct rama_cell *find)
{
	if (l->name != NULL && (find[FIND_NAME].type != RAMA_CELL_TEXT ||
				fnmatch(l->name, find[FIND_NAME].text, 0) != 0))
		return false;
	for (size_t i = 0; i < l->n_words; i++)
		if (!has_word(find, l->words[i]))
			return false;
	return true;
}

/* ---- the table ------------------------------------------------------------------------------------- */

static enum rama_tone tone_of(const char *key, const char *text, double value)
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

static struct rama_sheet_cell sheet_cell(struct rama_paper *p, const struct rama_metric *m,
					 const struct rama_cell *c)
{
	char text[RAMA_CELL_TEXT_MOST], when[RAMA_WHEN];
	struct rama_sheet_cell to = { .text = "", .value = NAN };

	if (c->type == RAMA_CELL_NULL)
		return to;
	if (strcmp(m->unit, "when") == 0 && c->type == RAMA_CELL_INT)
		to.text = rama_paper_fmt(p, "%.16s", rama_when_text(when, c->i, 0));
	else {
		rama_cell_shown(text, c, m->unit);
		to.text = rama_paper_text(p, text);
	}
	to.value = c->type == RAMA_CELL_INT ? (double)c->i : c->type == RAMA_CELL_REAL ? c->f : NAN;
	to.tone = tone_of(m->key, to.text, to.value);
	return to;
}

static int add(void *ctx, const struct rama_row *row, struct rama_err *e)
{
	struct list *k = ctx;
	const struct rama_jobs_list *l = k->l;
	struct rama_sheet_cell *to;

	if (row->n < l->n_columns + FINDS)
		return rama_err_set(e, RAMA_ECORRUPT, "the store answers with too few columns");
	if (!wanted(l, row->cell + l->n_columns))
		return 0;
	if (l->limit > 0 && k->n == l->limit) {
		if (k->sheet != NULL)
			k->sheet->more++;
		return k->sheet != NULL ? 0 : 1;
	}
	k->n++;
	if (k->sheet == NULL)
		return rama_rows_add(&k->rows, row->cell);
	to = rama_sheet_row(&k->paper, k->sheet);
	for (unsigned i = 0; i < l->n_columns; i++)
		to[i] = sheet_cell(&k->paper, &l->column[i], &row->cell[i]);
	return 0;
}

static void columns(struct list *k)
{
	for (unsigned i = 0; i < k->l->n_columns; i++) {
		const struct rama_metric *m = &k->l->column[i];
		bool text = strcmp(m->unit, "text") == 0 || strcmp(m->unit, "when") == 0;

		k->name[i] = m->key;
		k->unit[i] = m->unit;
		k->column[i] = (struct rama_sheet_column){ .key = m->key,
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
	const struct rama_sheet *s = k->sheet;

	if (k->l->column[i].shown <= 2)
		return true;
	for (size_t r = 0; r < s->n_rows; r++) {
		const struct rama_sheet_cell *c = &s->cells[r * s->n_columns + i];

		if (c->text != NULL && *c->text != '\0' && c->value != 0)
			return true;
	}
	return false;
}

static void drop_empty(struct list *k)
{
	struct rama_sheet *s = k->sheet;
	unsigned kept = 0, from[RAMA_JOBS_COLUMNS];

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

static int print_table(struct list *k, const struct rama_terminal *t, struct rama_out *out)
{
	struct rama_paper_style style = { t->width, t->colour, t->utf8 };

	k->sheet->none = "no jobs";
	drop_empty(k);
	if (k->paper.failed)
		return RAMA_EMEMORY;
	rama_paper_print(&k->paper, out, &style);
	return 0;
}

static char *statement(const struct rama_jobs_list *l)
{
	struct rama_out o;
	char *text = NULL;

	rama_out_init(&o, NULL, NULL);
	rama_out_text(&o, "SELECT ");
	for (unsigned i = 0; i < l->n_columns; i++) {
		rama_out_text(&o, i > 0 ? ", " : "");
		rama_out_text(&o, l->column[i].sql);
	}
	rama_out_text(&o, finds);
	rama_out_text(&o, " FROM jobs j WHERE 1 = 1");
	rama_out_text(&o, l->where);
	rama_out_text(&o, " ORDER BY ");
	rama_out_text(&o, l->order);
	rama_out_char(&o, '\0');
	if (o.error == 0)
		text = strdup(o.buf);
	rama_out_fini(&o);
	return text;
}

static int run_list(struct list *k, struct rama_store *s, const char *sql,
		    const struct rama_terminal *t, struct rama_out *out, struct rama_err *e)
{
	const struct rama_jobs_list *l = k->l;
	int rc = 0;

	columns(k);
	k->rows = (struct rama_rows){ .out = out, .form = l->form };
	if (l->form == RAMA_ROWS_TEXT)
		k->sheet = rama_paper_sheet(&k->paper, "jobs", NULL, k->column, l->n_columns);
	else
		rc = rama_rows_begin(&k->rows, l->n_columns, k->name, k->unit);
	if (rc == 0)
		rc = rama_store_select(s, sql, l->arg, l->n_args, add, k, e);
	rc = rc > 0 ? 0 : rc;
	if (rc == 0 && k->sheet != NULL)
		rc = print_table(k, t, out);
	if (k->sheet == NULL)
		rama_rows_end(&k->rows);
	rama_paper_fini(&k->paper);
	return rc;
}

int rama_jobs_list(struct rama_store *s, const struct rama_jobs_list *l,
		   const struct rama_terminal *t, struct rama_out *out, struct rama_err *e)
{
	struct list *k = calloc(1, sizeof(*k));
	char *sql = statement(l);
	int rc;

	if (k == NULL || sql == NULL) {
		rc = rama_err_set(e, RAMA_EMEMORY, "out of memory");
	} else {
		k->l = l;
		rc = run_list(k, s, sql, t, out, e);
	}
	free(sql);
	free(k);
	return rc;
}
