/* SPDX-License-Identifier: BSD-3-Clause */
/* The report for a terminal. The order is that of every form: verdict, numbers, findings, the
 * rest. An ordinary report fits one screen; what does not fit into it is said with --verbose. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/form/pen.h"
#include "report/form.h"
#include "report/words.h"

#define OPEN_MOST 5  /* findings with evidence and advice; further ones are a line each */
#define BRIEF_MOST 4 /* findings of the short form */
#define NOTES_MOST 6
#define COST_END 9 /* columns: cost, level, text */
#define LEVEL_AT 11
#define TEXT_AT 17
#define CODE_AT 6
#define ID_ROOM 6
#define BAR_LEAST 12
#define ROWS_MOST 10  /* of a table */
#define NAME_LEAST 24 /* columns of a name that is cut */

static const char *const level_style[RAMA_DIAG_LEVELS] = { "32", "36", "33", "1;31" };

/* texts beside each other, on as many lines as they need */
static void put_words(struct rama_pen *p, const struct rama_report_words *w, const char *between,
		      unsigned left)
{
	for (unsigned i = 0; i < w->n; i++) {
		unsigned n = rama_pen_columns(p, w->at[i]), gap = rama_pen_columns(p, between);

		if (i > 0 && p->column + gap + n > p->width) {
			rama_pen_line(p);
			rama_pen_to(p, left);
		} else if (i > 0) {
			rama_pen_text(p, between);
		}
		rama_pen_cut(p, w->at[i], p->width - left);
	}
}

static void put_head(struct rama_pen *p, const struct rama_report *r,
		     const struct rama_report_look *look)
{
	static const char tool[] = "iorama " IORAMA_BUILD_VERSION;
	struct rama_report_words w;

	rama_report_words_head(&w, r, look->utc_offset);
	if (look->lead != NULL)
		rama_pen_text(p, look->lead);
	put_words(p, &w, " · ", 2);
	rama_report_words_fini(&w);
	if (!look->brief && p->column + 2 + strlen(tool) <= p->width) {
		rama_pen_style(p, "2");
		rama_pen_right(p, tool, p->width);
		rama_pen_plain(p);
	}
	rama_pen_line(p);
}

static void put_banner(struct rama_pen *p, const struct rama_diag *d, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		rama_pen_style(p, "33");
		rama_pen_text(p, i == 0 ? "incomplete: " : "            ");
		rama_pen_wrap(p, d->banner[i], 12, p->width);
		rama_pen_plain(p);
		rama_pen_line(p);
	}
}

static void put_verdict(struct rama_pen *p, const struct rama_diag *d)
{
	rama_pen_style(p, "1");
	rama_pen_wrap(p, d->verdict != NULL ? d->verdict : "", 0, p->width);
	rama_pen_plain(p);
	rama_pen_line(p);
}

/* ---- the bar --------------------------------------------------------------------------------- */

struct part {
	const char *name, *style;
	double share;
};

/* Cells of a bar of n for each part: at least one for what is there, and n together. */
static void share_out(const struct part *part, unsigned n_parts, unsigned n, unsigned *cells)
{
	unsigned used = 0, largest = 0;

	for (unsigned i = 0; i < n_parts; i++) {
		double exact = part[i].share * n;

		cells[i] = exact > 0 && exact < 1 ? 1 : (unsigned)(exact + 0.5);
		used += cells[i];
		if (cells[i] > cells[largest])
			largest = i;
	}
	if (used > n && cells[largest] >= used - n)
		cells[largest] -= used - n;
	else if (used < n)
		cells[largest] += n - used;
}

static void put_bar(struct rama_pen *p, const struct rama_diag *d)
{
	const struct part part[] = { { "read", "34", d->read_share },
				     { "write", "38;5;166", d->write_share },
				     { "meta", "35", d->meta_share },
				     { "other", "2", d->other_share } };
	unsigned n_parts = sizeof(part) / sizeof(part[0]), cells[4], legend = 0, room;
	char share[RAMA_HUMAN], text[4][64];

	for (unsigned i = 0; i < n_parts; i++) {
		snprintf(text[i], sizeof(text[i]), "  %s %s", part[i].name,
			 rama_human_share(share, part[i].share));
		legend += (unsigned)strlen(text[i]);
	}
	room = p->width > legend + 2 + BAR_LEAST ? p->width - legend - 2 : p->width - 2;
	share_out(part, n_parts, room, cells);
	rama_pen_to(p, 2);
	for (unsigned i = 0; i < n_parts; i++) {
		rama_pen_style(p, part[i].style);
		for (unsigned k = 0; k < cells[i]; k++)
			rama_pen_text(p, i < 3 ? "█" : "░");
		rama_pen_plain(p);
	}
	if (room == p->width - 2)
		rama_pen_line(p);
	for (unsigned i = 0; i < n_parts; i++) {
		if (p->column + strlen(text[i]) > p->width)
			rama_pen_line(p);
		rama_pen_style(p, part[i].style);
		rama_pen_text(p, text[i]);
		rama_pen_plain(p);
	}
	rama_pen_line(p);
}

static void put_numbers(struct rama_pen *p, const struct rama_report *r)
{
	struct rama_report_words w;

	rama_report_words_numbers(&w, r);
	rama_pen_to(p, 2);
	put_words(p, &w, "   ", 2);
	rama_report_words_fini(&w);
	rama_pen_line(p);
}

/* phases that the program named, as they began; what has no room is only counted */
static void put_named(struct rama_pen *p, const struct rama_job_view *v)
{
	char time[RAMA_HUMAN], bytes[RAMA_HUMAN], text[400];
	size_t i = 0;

	if (v->n_named == 0)
		return;
	rama_pen_to(p, 2);
	rama_pen_text(p, "phases");
	for (; i < v->n_named; i++) {
		const struct rama_job_view_named *x = &v->named[i];
		int64_t moved = rama_core_add(x->bytes[0], x->bytes[1]);

		snprintf(text, sizeof(text), "   %.60s %s", x->name,
			 rama_human_seconds(time, x->time));
		if (moved > 0)
			snprintf(text + strlen(text), 64, " %s", rama_human_bytes(bytes, moved));
		if (i > 0 && p->column + rama_pen_columns(p, text) + 12 > p->width)
			break;
		rama_pen_text(p, text);
	}
	if (i < v->n_named)
		rama_pen_fmt(p, "   %zu more", v->n_named - i);
	rama_pen_line(p);
}

/* ---- findings -------------------------------------------------------------------------------- */

/* cost, level, title, rule */
static void put_title(struct rama_pen *p, const struct rama_diag_finding *f)
{
	char cost[RAMA_HUMAN];

	rama_pen_right(p, f->cost > 0 ? rama_human_seconds(cost, f->cost) : "-", COST_END);
	rama_pen_to(p, LEVEL_AT);
	rama_pen_style(p, level_style[f->level]);
	rama_pen_text(p, rama_diag_level_name[f->level]);
	rama_pen_plain(p);
	rama_pen_to(p, TEXT_AT);
	/* the rule is told at the end of the first line; the others may not run into it either */
	rama_pen_wrap_beside(p, f->title, TEXT_AT, p->width - ID_ROOM, f->rule->id);
	rama_pen_line(p);
}

static void put_under(struct rama_pen *p, const char *style, const char *lead, const char *text)
{
	unsigned left = TEXT_AT + rama_pen_columns(p, lead);

	if (text == NULL || *text == '\0')
		return;
	rama_pen_to(p, TEXT_AT);
	rama_pen_style(p, style);
	rama_pen_text(p, lead);
	rama_pen_wrap(p, text, left, p->width);
	rama_pen_plain(p);
	rama_pen_line(p);
}

static void put_advice(struct rama_pen *p, const struct rama_diag_finding *f)
{
	char text[64];

	if (f->advised_by == NULL) {
		put_under(p, "0", "→ ", f->advice);
		return;
	}
	snprintf(text, sizeof(text), "the same as for %s", f->advised_by->rule->id);
	put_under(p, "0", "→ ", text);
}

static void put_trials(struct rama_pen *p, const struct rama_report *r, const char *rule)
{
	for (size_t i = 0; i < r->n_trials; i++)
		if (strcmp(rule, r->trials[i].rule) == 0)
			put_under(p, "0", "tried: ", r->trials[i].text);
}

/* what was tried of rules that are not among the first findings, which are shown with all */
static void put_other_trials(struct rama_pen *p, const struct rama_report *r, size_t opened)
{
	const struct rama_diag *d = r->diagnosis;
	char lead[64];

	for (size_t i = 0; i < r->n_trials; i++) {
		const char *rule = r->trials[i].rule;
		size_t k = 0;

		while (k < opened && strcmp(d->findings[k].rule->id, rule) != 0)
			k++;
		snprintf(lead, sizeof(lead), *rule != '\0' ? "tried for %s: " : "tried: ", rule);
		if (k == opened)
			put_under(p, "0", lead, r->trials[i].text);
	}
}

static void put_culprits(struct rama_pen *p, const struct rama_job_view *v,
			 const struct rama_diag_finding *f)
{
	char more[64], n[RAMA_HUMAN];

	if (rama_report_culprit_told(v, f))
		return;
	for (size_t i = 0; i < f->n_culprits; i++) {
		const struct rama_diag_culprit *c = &f->culprits[i];
		const struct rama_job_view_file *file = rama_report_culprit_file(v, c);

		rama_pen_to(p, TEXT_AT);
		rama_pen_cut(p, file != NULL ? file->name : c->name, p->width - TEXT_AT - 1);
		if (c->text != NULL && *c->text != '\0') {
			rama_pen_text(p, ":");
			rama_pen_more(p, c->text, TEXT_AT + 2, p->width);
		}
		rama_pen_line(p);
	}
	if (f->all_culprits > f->n_culprits) {
		snprintf(more, sizeof(more), "and %s more",
			 rama_human_count(n, (int64_t)(f->all_culprits - f->n_culprits)));
		put_under(p, "2", "", more);
	}
}

/* Program text is not wrapped: it may be copied. */
static void put_snippet(struct rama_pen *p, const struct rama_diag_snippet *s)
{
	rama_pen_to(p, CODE_AT - 2);
	rama_pen_style(p, "1");
	rama_pen_wrap(p, s->title, CODE_AT - 2, p->width);
	rama_pen_plain(p);
	rama_pen_style(p, "2");
	rama_pen_fmt(p, " (%s)", s->language);
	rama_pen_plain(p);
	rama_pen_line(p);
	for (const char *line = s->text; *line != '\0';) {
		size_t n = strcspn(line, "\n");

		if (n > 0)
			rama_pen_to(p, CODE_AT);
		rama_pen_code(p, line, n);
		rama_pen_line(p);
		line += n + (line[n] == '\n');
	}
}

static void put_details(struct rama_pen *p, const struct rama_report *r,
			const struct rama_diag_finding *f)
{
	char text[64];

	put_culprits(p, r->view, f);
	put_under(p, "2", "estimated: ", f->how);
	snprintf(text, sizeof(text), "confidence %s", rama_diag_confidence_name[f->confidence]);
	put_under(p, "2", "", text);
	for (size_t i = 0; i < f->n_snippets; i++)
		if (!rama_report_snippet_told(r, f, &f->snippets[i]))
			put_snippet(p, &f->snippets[i]);
}

static void put_findings(struct rama_pen *p, const struct rama_report *r,
			 const struct rama_report_look *look)
{
	const struct rama_diag *d = r->diagnosis;
	size_t serious = d->n_high + d->n_warn, shown = serious, opened = 0;

	if (look->brief && shown > BRIEF_MOST)
		shown = BRIEF_MOST;
	if (look->verbose)
		shown = d->n_findings;
	for (size_t i = 0; i < shown; i++) {
		const struct rama_diag_finding *f = &d->findings[i];
		bool open = !look->brief && (look->verbose || i < OPEN_MOST);

		put_title(p, f);
		if (!open || f->level == RAMA_DIAG_LEVEL_OK)
			continue;
		put_under(p, "2", "", f->evidence);
		put_advice(p, f);
		put_trials(p, r, f->rule->id);
		opened = i + 1;
		if (look->verbose && f->level > RAMA_DIAG_LEVEL_INFO)
			put_details(p, r, f);
	}
	if (look->brief && shown < serious) {
		rama_pen_to(p, TEXT_AT);
		rama_pen_fmt(p, "and %zu more", serious - shown);
		rama_pen_line(p);
	}
	if (!look->brief)
		put_other_trials(p, r, opened);
}

/* what is no reason to act, in a line */
static void put_notes(struct rama_pen *p, const struct rama_diag *d)
{
	struct rama_out text;
	size_t n = 0;

	rama_out_init(&text, NULL, NULL);
	for (size_t i = 0; i < d->n_findings; i++) {
		const struct rama_diag_rule *rule = d->findings[i].rule;

		if (d->findings[i].level != RAMA_DIAG_LEVEL_INFO || n++ >= NOTES_MOST)
			continue;
		rama_out_fmt(&text, "%s%s %s", n > 1 ? ", " : "", rule->id, rule->title);
	}
	if (n > NOTES_MOST)
		rama_out_fmt(&text, " and %zu more", n - NOTES_MOST);
	rama_out_char(&text, '\0');
	if (n > 0 && text.error == 0) {
		rama_pen_text(p, " noted: ");
		rama_pen_wrap(p, text.buf, 8, p->width);
		rama_pen_line(p);
	}
	rama_out_fini(&text);
}

static void put_foot(struct rama_pen *p, const struct rama_report *r,
		     const struct rama_report_look *look)
{
	static const char hint[] = "--verbose for snippets, --html for pictures";
	struct rama_report_words w;

	rama_report_words_checks(&w, r);
	rama_pen_style(p, "2");
	rama_pen_to(p, 1);
	put_words(p, &w, " ", 1);
	rama_report_words_fini(&w);
	if (!look->verbose && p->column + 2 + strlen(hint) <= p->width)
		rama_pen_right(p, hint, p->width);
	rama_pen_plain(p);
	rama_pen_line(p);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Tables have some of the columns that CSV has; those that do not fit are left out from the right,
 * and what is left over in width goes to the first: which tables, with which columns, in which
 * order. */
static const struct rama_report_choice choice[] = {
	{ RAMA_REPORT_TABLE_layers,
	  { "name", "files", "read_time", "write_time", "meta_time", "bytes_read", "bytes_written",
	    "reads", "writes", "metas" } },
	{ RAMA_REPORT_TABLE_sizes,
	  { "layer", "class", "reads", "writes", "bytes_read", "bytes_written" } },
	{ RAMA_REPORT_TABLE_files,
	  { "name", "ranks", "read_time", "write_time", "meta_time", "bytes_read", "bytes_written",
	    "reads", "writes" } },
	{ RAMA_REPORT_TABLE_ranks,
	  { "rank", "program", "host", "read_time", "write_time", "meta_time", "bytes_read",
	    "bytes_written", "reads", "writes" } },
	{ RAMA_REPORT_TABLE_where,
	  { "place", "bytes_read", "bytes_written", "read_time", "write_time", "reads", "writes",
	    "files" } },
	{ RAMA_REPORT_TABLE_named,
	  { "name", "times", "start", "end", "time", "io_time", "bytes_read", "bytes_written",
	    "longest", "ranks" } },
	{ RAMA_REPORT_TABLE_phases,
	  { "start", "end", "bytes_read", "bytes_written", "ranks", "slow_rank", "slow_busy",
	    "median_busy", "wait" } },
	{ RAMA_REPORT_TABLE_mounts,
	  { "path", "type", "files", "bytes_read", "bytes_written", "time" } },
	{ RAMA_REPORT_TABLE_targets, { "ost", "files", "bytes", "time", "mean", "slowest" } },
};

static bool is_zero(const struct rama_cell *c)
{
	return (c->kind == RAMA_CELL_INT && c->i == 0) ||
	       (c->kind == RAMA_CELL_FIGURE && c->f == 0);
}

/* Rows that say something: in the table of sizes most classes are empty. */
static bool is_empty(const struct rama_report_picked *k, const struct rama_cell *c)
{
	for (unsigned i = 0; i < k->grid.n_columns; i++) {
		const struct rama_cell *x = &c[k->at[i]];

		if ((x->kind == RAMA_CELL_INT || x->kind == RAMA_CELL_FIGURE) && !is_zero(x))
			return false;
	}
	return true;
}

/* row i as shown: of the ranks the slowest come first */
static bool row_of(const struct rama_report_picked *k, const struct rama_report *r, size_t i,
		   struct rama_cell *c)
{
	if (k->table == &rama_report_tables[RAMA_REPORT_TABLE_ranks] && r->n_slow > 0)
		i = r->slow[i < r->n_slow ? i : r->n_slow - 1];
	return k->table->row(r, i, c) && !is_empty(k, c);
}

/* columns in which nothing stands but nothing and 0 are left out, but for the first */
static void drop_blank(struct rama_report_picked *k)
{
	bool keep[RAMA_REPORT_CHOICE_MOST] = { true };

	for (size_t r = 0; r < k->grid.n_rows; r++)
		for (unsigned c = 1; c < k->grid.n_columns; c++) {
			const struct rama_grid_cell *x = &k->grid.cells[r * k->grid.n_columns + c];

			keep[c] |= x->text != NULL && x->value != 0;
		}
	rama_grid_keep(&k->grid, k->column, keep);
	k->column[0].wide = k->column[0].unit == NULL;
	for (unsigned c = 2; c < k->grid.n_columns; c++)
		k->column[c].drop = c;
}

static void put_grid(struct rama_pen *p, struct rama_report_picked *k, const char *title)
{
	struct rama_grid_style style = { .width = p->width, .utf8 = p->utf8, .pen = true };
	struct rama_grid_layout l;

	drop_blank(k);
	rama_grid_fit(&l, &k->grid, &style, NAME_LEAST);
	rama_pen_line(p);
	rama_pen_style(p, "1");
	rama_pen_text(p, title);
	rama_pen_plain(p);
	rama_pen_line(p);
	rama_pen_style(p, "2");
	rama_grid_put_row(p->o, &k->grid, &l, &style, NULL);
	rama_pen_plain(p);
	for (size_t r = 0; r < k->grid.n_rows; r++)
		rama_grid_put_row(p->o, &k->grid, &l, &style,
				  &k->grid.cells[r * k->grid.n_columns]);
}

static void put_table(struct rama_pen *p, const struct rama_report *r,
		      const struct rama_report_choice *choose)
{
	struct rama_cell c[RAMA_REPORT_COLUMNS_MOST];
	struct rama_report_picked k;
	size_t rows, left = 0;
	char n[RAMA_HUMAN];

	rama_report_pick(&k, r, choose);
	for (unsigned i = 0; i < k.grid.n_columns; i++)
		if (strncmp(k.column[i].key, "bytes", 5) == 0)
			k.column[i].unit = "bytes"; /* also estimates */
	rows = k.table->rows(r);
	for (size_t i = 0; i < rows; i++) {
		if (!row_of(&k, r, i, c))
			continue;
		if (k.grid.n_rows < ROWS_MOST)
			rama_report_pick_row(&k, c);
		else
			left++;
	}
	if (k.grid.n_rows > 0)
		put_grid(p, &k,
			 choose->table != RAMA_REPORT_TABLE_ranks ? k.grid.title
			 : r->view->processes			  ? "Slowest processes"
								  : "Slowest ranks");
	if (left > 0) {
		rama_pen_fmt(p, "  and %s more: --csv=%s", rama_human_count(n, (int64_t)left),
			     k.table->name);
		rama_pen_line(p);
	}
	if (k.failed && p->o->error == 0)
		p->o->error = RAMA_EMEMORY;
	rama_report_pick_fini(&k);
}

void rama_report_text(struct rama_out *o, const struct rama_report *r,
		      const struct rama_report_look *look)
{
	struct rama_pen p = {
		.o = o, .width = look->width, .colour = look->colour, .utf8 = look->utf8
	};
	const struct rama_diag *d = r->diagnosis;

	if (p.width < RAMA_REPORT_NARROWEST)
		p.width = RAMA_REPORT_NARROWEST;
	put_head(&p, r, look);
	if (!look->no_banner)
		put_banner(&p, d,
			   look->no_unseen && d->n_banner > 0 &&
					   rama_log_unseen_total(&r->view->unseen) > 0
				   ? d->n_banner - 1
				   : d->n_banner);
	put_verdict(&p, d);
	if (!look->brief && r->view->run_time > 0)
		put_bar(&p, d);
	put_numbers(&p, r);
	put_named(&p, r->view);
	if (!look->brief && (d->n_high + d->n_warn > 0 || look->verbose))
		rama_pen_line(&p);
	put_findings(&p, r, look);
	if (look->brief)
		return;
	if (!look->verbose)
		put_notes(&p, d);
	put_foot(&p, r, look);
	for (size_t i = 0; look->verbose && i < sizeof(choice) / sizeof(choice[0]); i++)
		put_table(&p, r, &choice[i]);
}

static void text(struct rama_out *o, const struct rama_report *r, const struct rama_report_ask *a)
{
	rama_out_text(o, a->apart ? "\n" : "");
	rama_report_text(o, r, &a->look);
}

static void paper(struct rama_out *o, const struct rama_report_paper *p,
		  const struct rama_report_ask *a)
{
	struct rama_grid_style style = { .width = a->look.width,
					 .colour = a->look.colour,
					 .utf8 = a->look.utf8 };

	rama_report_paper_print(p, o, &style);
}

const struct rama_report_form rama_report_form_text = { .suffix = ".txt",
							.report = text,
							.paper = paper };
