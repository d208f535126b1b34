/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as Markdown, for tickets and wikis (GitHub's kind: tables and fenced code).
 * Whatever comes from the log is escaped: it may be text, never markup. */
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/form/pen.h"
#include "report/form.h"
#include "report/words.h"

#define ROWS_MOST 10

static void text(struct rama_out *o, const char *s)
{
	while (s != NULL && *s != '\0') {
		if (strchr("\\`*_{}[]<>#|~&$", *s) != NULL)
			rama_out_char(o, '\\');
		s += rama_pen_char(o, s);
	}
}

/* lines of program text, as they are */
static void code(struct rama_out *o, const char *s)
{
	while (*s != '\0') {
		if (*s == '\n' || *s == '\t')
			rama_out_char(o, *s++);
		else
			s += rama_pen_char(o, s);
	}
}

static void words(struct rama_out *o, struct rama_report_words *w, const char *between)
{
	for (unsigned i = 0; i < w->n; i++) {
		rama_out_text(o, i > 0 ? between : "");
		text(o, w->at[i]);
	}
	rama_report_words_fini(w);
}

/* ---- verdict and numbers --------------------------------------------------------------------- */

static void head(struct rama_out *o, const struct rama_report *r, long utc_offset)
{
	const struct rama_diag *d = r->diagnosis;
	const double share[] = { d->read_share, d->write_share, d->meta_share, d->other_share };
	static const char *const name[] = { "read", "write", "meta", "other" };
	struct rama_report_words w;
	char to[RAMA_HUMAN];

	rama_out_text(o, "# ");
	rama_report_words_head(&w, r, utc_offset);
	words(o, &w, " · ");
	rama_out_text(o, "\n\n");
	for (size_t i = 0; i < d->n_banner; i++) {
		rama_out_text(o, i == 0 ? "> **Incomplete:** " : "> ");
		text(o, d->banner[i]);
		rama_out_text(o, i + 1 < d->n_banner ? "  \n" : "\n\n");
	}
	rama_out_text(o, "**");
	text(o, d->verdict);
	rama_out_text(o, "**\n\n");
	for (unsigned i = 0; i < 4 && r->view->run_time > 0; i++)
		rama_out_fmt(o, "%s%s %s", i > 0 ? " · " : "", name[i],
			     rama_human_share(to, share[i]));
	rama_out_text(o, r->view->run_time > 0 ? "\n\n" : "");
	rama_report_words_numbers(&w, r);
	words(o, &w, " · ");
	rama_out_text(o, "\n\n");
}

/* ---- findings -------------------------------------------------------------------------------- */

static void culprits(struct rama_out *o, const struct rama_job_view *v,
		     const struct rama_diag_finding *f)
{
	char n[RAMA_HUMAN];

	for (size_t i = 0; i < f->n_culprits; i++) {
		const struct rama_diag_culprit *c = &f->culprits[i];
		const struct rama_job_view_file *file = rama_report_culprit_file(v, c);

		rama_out_text(o, "- ");
		text(o, file != NULL ? file->name : c->name);
		if (c->text != NULL && *c->text != '\0') {
			rama_out_text(o, ": ");
			text(o, c->text);
		}
		rama_out_char(o, '\n');
	}
	if (f->all_culprits > f->n_culprits)
		rama_out_fmt(o, "- and %s more\n",
			     rama_human_count(n, (int64_t)(f->all_culprits - f->n_culprits)));
	if (f->n_culprits > 0)
		rama_out_char(o, '\n');
}

/* the fence is longer than any row of backticks inside */
static void snippet(struct rama_out *o, const struct rama_diag_snippet *s)
{
	size_t fence = 3, n = 0, len = strlen(s->text);

	for (const char *p = s->text; *p != '\0'; p++) {
		n = *p == '`' ? n + 1 : 0;
		fence = n >= fence ? n + 1 : fence;
	}
	text(o, s->title);
	rama_out_fmt(o, " (%s)\n\n", s->language);
	for (size_t i = 0; i < fence; i++)
		rama_out_char(o, '`');
	rama_out_text(o, s->language);
	rama_out_char(o, '\n');
	code(o, s->text);
	if (len > 0 && s->text[len - 1] != '\n')
		rama_out_char(o, '\n');
	for (size_t i = 0; i < fence; i++)
		rama_out_char(o, '`');
	rama_out_text(o, "\n\n");
}

static void finding(struct rama_out *o, const struct rama_report *r,
		    const struct rama_diag_finding *f, const struct rama_report_look *look)
{
	char cost[RAMA_HUMAN];

	rama_out_fmt(o, "### %s", rama_diag_level_name[f->level]);
	if (f->cost > 0)
		rama_out_fmt(o, " · %s", rama_human_seconds(cost, f->cost));
	rama_out_text(o, " · ");
	text(o, f->title);
	rama_out_fmt(o, " (%s)\n\n", f->rule->id);
	if (f->evidence != NULL && *f->evidence != '\0') {
		text(o, f->evidence);
		rama_out_text(o, "\n\n");
	}
	if (f->level > RAMA_DIAG_LEVEL_INFO && !rama_report_culprit_told(r->view, f))
		culprits(o, r->view, f);
	if (f->advised_by != NULL)
		rama_out_fmt(o, "→ the same as for %s\n\n", f->advised_by->rule->id);
	else if (f->advice != NULL && *f->advice != '\0') {
		rama_out_text(o, "→ ");
		text(o, f->advice);
		rama_out_text(o, "\n\n");
	}
	for (size_t i = 0; i < r->n_trials; i++)
		if (strcmp(r->trials[i].rule, f->rule->id) == 0) {
			rama_out_text(o, "Tried: ");
			text(o, r->trials[i].text);
			rama_out_text(o, "\n\n");
		}
	if (!look->verbose || f->level <= RAMA_DIAG_LEVEL_INFO)
		return;
	if (f->how != NULL && *f->how != '\0') {
		rama_out_text(o, "Estimated: ");
		text(o, f->how);
		rama_out_fmt(o, " Confidence: %s.\n\n", rama_diag_confidence_name[f->confidence]);
	}
	for (size_t i = 0; i < f->n_snippets; i++)
		if (!rama_report_snippet_told(r, f, &f->snippets[i]))
			snippet(o, &f->snippets[i]);
}

/* of findings that are not shown with all */
static void other_trials(struct rama_out *o, const struct rama_report *r, size_t shown)
{
	for (size_t i = 0; i < r->n_trials; i++) {
		const char *rule = r->trials[i].rule;
		size_t k = 0;

		while (k < shown && strcmp(r->diagnosis->findings[k].rule->id, rule) != 0)
			k++;
		if (k < shown)
			continue;
		rama_out_fmt(o, *rule != '\0' ? "Tried for %s: " : "Tried: ", rule);
		text(o, r->trials[i].text);
		rama_out_text(o, "\n\n");
	}
}

static void findings(struct rama_out *o, const struct rama_report *r,
		     const struct rama_report_look *look)
{
	const struct rama_diag *d = r->diagnosis;
	size_t shown = look->verbose ? d->n_findings : d->n_high + d->n_warn;
	struct rama_report_words w;

	rama_out_text(o, "## Findings\n\n");
	for (size_t i = 0; i < shown; i++)
		finding(o, r, &d->findings[i], look);
	for (size_t i = shown; i < d->n_findings; i++) {
		const struct rama_diag_finding *f = &d->findings[i];

		rama_out_fmt(o, "- %s %s: ", rama_diag_level_name[f->level], f->rule->id);
		text(o, f->title);
		rama_out_char(o, '\n');
	}
	rama_out_text(o, shown < d->n_findings ? "\n" : "");
	other_trials(o, r, shown);
	rama_report_words_checks(&w, r);
	words(o, &w, " ");
	rama_out_text(o, "\n\n");
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const struct rama_report_choice choice[] = {
	{ RAMA_REPORT_TABLE_layers,
	  { "name", "files", "read_time", "write_time", "meta_time", "bytes_read", "bytes_written",
	    "reads", "writes", "metas" } },
	{ RAMA_REPORT_TABLE_files,
	  { "name", "ranks", "read_time", "write_time", "meta_time", "bytes_read", "bytes_written",
	    "reads", "writes" } },
	{ RAMA_REPORT_TABLE_mounts,
	  { "path", "type", "files", "bytes_read", "bytes_written", "time" } },
	{ RAMA_REPORT_TABLE_targets, { "ost", "files", "time", "mean", "slowest" } },
};

static void table(struct rama_out *o, const struct rama_report *r,
		  const struct rama_report_choice *choose)
{
	struct rama_cell c[RAMA_REPORT_COLUMNS_MOST];
	struct rama_report_picked p;
	size_t rows;
	char n[RAMA_HUMAN];

	rama_report_pick(&p, r, choose);
	rows = p.table->rows(r);
	for (size_t i = 0; i < rows && i < ROWS_MOST; i++)
		if (p.table->row(r, i, c))
			rama_report_pick_row(&p, c);
	if (rows > 0) {
		rama_out_fmt(o, "## %s\n\n", p.grid.title);
		rama_grid_markdown(o, &p.grid, text);
		if (rows > ROWS_MOST)
			rama_out_fmt(o, "\nand %s more\n",
				     rama_human_count(n, (int64_t)(rows - ROWS_MOST)));
		rama_out_char(o, '\n');
	}
	if (p.failed && o->error == 0)
		o->error = RAMA_EMEMORY;
	rama_report_pick_fini(&p);
}

static void markdown(struct rama_out *o, const struct rama_report *r,
		     const struct rama_report_ask *a)
{
	const struct rama_report_look *look = &a->look;

	rama_out_text(o, a->apart ? "\n" : "");
	head(o, r, look->utc_offset);
	findings(o, r, look);
	for (size_t i = 0; !look->brief && i < sizeof(choice) / sizeof(choice[0]); i++)
		table(o, r, &choice[i]);
	rama_out_text(o, "*iorama " IORAMA_BUILD_VERSION "*\n");
}

const struct rama_report_form rama_report_form_markdown = { .suffix = ".md",
							    .report = markdown,
							    .paper = rama_report_paper_markdown };
