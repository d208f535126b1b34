/* SPDX-License-Identifier: BSD-3-Clause */
/* paper.c: a comparison as sentences and tables. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "report/diff/diff.h"
#include "report/words.h"

#define FILES_LEAST 3	/* shown whatever their change */
#define GAP_LEAST 0.005 /* of the run time */

static enum rama_tone judged(int better)
{
	return better > 0 ? RAMA_TONE_GOOD : better < 0 ? RAMA_TONE_BAD : RAMA_TONE_PLAIN;
}

static const char *plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

static void head(const struct rama_report_diff *d, struct rama_report_paper *p, unsigned s)
{
	const struct rama_job_view *v = d->side[s].view;
	char n[RAMA_HUMAN], who[RAMA_REPORT_WHO], date[RAMA_REPORT_DATE];

	rama_report_date_text(date, v->start_sec);
	rama_report_paper_head(
		p, RAMA_TONE_PLAIN,
		rama_report_paper_fmt(p, "%c  %s · job %lld · %s%s · %s · %s", 'A' + (int)s,
				      rama_report_paper_text(p, v->name), (long long)v->jobid,
				      rama_report_words_who(v, who), date,
				      rama_human_duration(n, v->run_time),
				      rama_report_paper_text(p, d->side[s].path)));
}

/* ---- figures --------------------------------------------------------------------------------- */

/* −88 %, 64×, same */
static struct rama_grid_cell change_cell(struct rama_report_paper *p, enum rama_report_metric m,
					 const struct rama_report_diff_metric *x)
{
	char text[RAMA_REPORT_CHANGE];
	struct rama_grid_cell c = rama_grid_text_cell(rama_report_paper_fmt(
		p, "%s", rama_report_change_text(text, m, x->value, x->change)));

	c.value = x->value[0] != 0 ? x->value[1] / x->value[0] : NAN;
	if (c.text[0] != '\0' && x->change == RAMA_REPORT_SAME)
		c.tone = RAMA_TONE_DIM;
	return c;
}

static void figures(const struct rama_report_diff *d, struct rama_report_paper *p)
{
	static const struct rama_grid_column columns[] = {
		{ .key = "figure", .header = "" },
		{ .key = "a", .header = "A", .unit = "value" },
		{ .key = "b", .header = "B", .unit = "value" },
		{ .key = "ratio", .header = "change", .unit = "ratio" },
		{ .key = "judgement", .header = "" }
	};
	static const char *const words[] = { "worse", "", "better" };
	struct rama_grid *s = rama_report_paper_sheet(p, "figures", "Figures", columns, 5);
	unsigned group = UINT32_MAX;

	for (unsigned m = 0; m < RAMA_REPORT_METRICS; m++) {
		const struct rama_report_metric_info *info = &rama_report_metric_info[m];
		const struct rama_report_diff_metric *x = &d->metrics[m];
		struct rama_grid_cell *row;

		if (!x->told)
			continue;
		if (info->group != group) {
			row = rama_report_paper_row(p, s);
			row[0] = (struct rama_grid_cell){ rama_report_metric_groups[info->group],
							  NAN, RAMA_TONE_BOLD };
			group = info->group;
		}
		row = rama_report_paper_row(p, s);
		row[0] = rama_grid_text_cell(rama_report_paper_fmt(p, "  %s", info->label));
		row[1] = rama_report_paper_value(p, info->unit, x->value[0]);
		row[2] = rama_report_paper_value(p, info->unit, x->value[1]);
		row[3] = change_cell(p, m, x);
		row[4] = rama_grid_text_cell(words[x->better + 1]);
		row[4].tone = judged(x->better);
	}
}

/* the same for CSV: all of them, by name */
static void metrics(const struct rama_report_diff *d, struct rama_report_paper *p)
{
	static const struct rama_grid_column columns[] = {
		{ .key = "name", .header = "" },
		{ .key = "unit", .header = "" },
		{ .key = "a", .header = "", .unit = "value" },
		{ .key = "b", .header = "", .unit = "value" },
		{ .key = "ratio", .header = "", .unit = "ratio" },
		{ .key = "change", .header = "" },
		{ .key = "judgement", .header = "" }
	};
	struct rama_grid *s = rama_report_paper_sheet(p, "metrics", "Figures", columns, 7);

	s->data = true;
	for (unsigned m = 0; m < RAMA_REPORT_METRICS; m++) {
		const struct rama_report_diff_metric *x = &d->metrics[m];
		struct rama_grid_cell *row = rama_report_paper_row(p, s);

		row[0] = rama_grid_text_cell(rama_report_metric_info[m].name);
		row[1] = rama_grid_text_cell(rama_report_metric_info[m].unit);
		row[2].value = x->value[0];
		row[3].value = x->value[1];
		row[4].value = x->value[0] != 0 ? x->value[1] / x->value[0] : NAN;
		row[5] = rama_grid_text_cell(rama_report_change_name[x->change]);
		row[6] = rama_grid_text_cell(rama_report_judgement_name[x->better + 1]);
	}
}

/* ---- findings -------------------------------------------------------------------------------- */

static enum rama_tone tone_of(enum rama_diag_level level)
{
	return level == RAMA_DIAG_LEVEL_HIGH   ? RAMA_TONE_BAD
	       : level == RAMA_DIAG_LEVEL_WARN ? RAMA_TONE_WARN
	       : level == RAMA_DIAG_LEVEL_OK   ? RAMA_TONE_GOOD
					       : RAMA_TONE_DIM;
}

static const char *level_of(const struct rama_diag_finding *f)
{
	return f != NULL ? rama_diag_level_name[f->level] : "–";
}

static enum rama_diag_level worst_of(const struct rama_report_diff_finding *f)
{
	enum rama_diag_level level = RAMA_DIAG_LEVEL_OK;

	for (unsigned s = 0; s < 2; s++)
		if (f->side[s] != NULL && f->side[s]->level > level)
			level = f->side[s]->level;
	return level;
}

static void finding_row(const struct rama_report_diff_finding *f, struct rama_report_paper *p,
			struct rama_grid *s)
{
	static const int better[] = { -1, -1, 1, 1, 0 }; /* by fate */
	const struct rama_diag_finding *a = f->side[0], *b = f->side[1];
	enum rama_diag_level worst = worst_of(f);
	struct rama_grid_cell *row = rama_report_paper_row(p, s);

	row[0] = rama_grid_text_cell(rama_report_fate_name[f->fate]);
	row[0].tone = judged(worst >= RAMA_DIAG_LEVEL_WARN ? better[f->fate] : 0);
	row[1] = rama_grid_text_cell(
		a != NULL && b != NULL && a->level == b->level
			? level_of(a)
			: rama_report_paper_fmt(p, "%s → %s", level_of(a), level_of(b)));
	row[1].tone = tone_of(worst);
	row[2] = rama_report_paper_value(p, "s", a != NULL ? a->cost : NAN);
	row[3] = rama_report_paper_value(p, "s", b != NULL ? b->cost : NAN);
	row[4] = rama_grid_text_cell(f->rule->id);
	row[5] = rama_grid_text_cell(rama_report_paper_text(p, b != NULL   ? b->title
							       : a != NULL ? a->title
									   : ""));
}

static void findings(const struct rama_report_diff *d, struct rama_report_paper *p, bool verbose)
{
	static const struct rama_grid_column columns[] = {
		{ .key = "state", .header = "" },
		{ .key = "level", .header = "level" },
		{ .key = "cost_a", .header = "cost A", .unit = "s" },
		{ .key = "cost_b", .header = "cost B", .unit = "s" },
		{ .key = "rule", .header = "rule" },
		{ .key = "title", .header = "finding", .wide = true }
	};
	struct rama_grid *s = rama_report_paper_sheet(p, "findings", "Findings", columns, 6);
	unsigned hidden = 0;

	s->none = "No finding of weight in either run.";
	for (size_t i = 0; i < d->n_findings; i++) {
		/* INFO is no news; it is there when all is asked for */
		if (verbose || worst_of(&d->findings[i]) >= RAMA_DIAG_LEVEL_WARN)
			finding_row(&d->findings[i], p, s);
		else
			hidden++;
	}
	if (hidden > 0)
		s->note = rama_report_paper_fmt(
			p, "%u of level INFO left out; --verbose lists them", hidden);
}

/* ---- layers and files ------------------------------------------------------------------------ */

static void pair(struct rama_report_paper *p, struct rama_grid_cell *row, const char *unit,
		 double a, double b)
{
	row[0] = rama_report_paper_value(p, unit, a);
	row[1] = rama_report_paper_value(p, unit, b);
}

static void io_cells(struct rama_report_paper *p, struct rama_grid_cell *row,
		     const struct rama_job_io *a, const struct rama_job_io *b)
{
	pair(p, row, "s", rama_job_io_time(a), rama_job_io_time(b));
	pair(p, row + 2, "bytes", (double)a->bytes_read, (double)b->bytes_read);
	pair(p, row + 4, "bytes", (double)a->bytes_written, (double)b->bytes_written);
	pair(p, row + 6, "count", (double)(a->reads + a->writes), (double)(b->reads + b->writes));
}

#define IO_COLUMNS                                                                               \
	{ .key = "time_a", .header = "time A", .unit = "s" },                                    \
		{ .key = "time_b", .header = "time B", .unit = "s" },                            \
		{ .key = "bytes_read_a", .header = "read A", .unit = "bytes", .drop = 2 },       \
		{ .key = "bytes_read_b", .header = "read B", .unit = "bytes", .drop = 2 },       \
		{ .key = "bytes_written_a", .header = "written A", .unit = "bytes", .drop = 1 }, \
		{ .key = "bytes_written_b", .header = "written B", .unit = "bytes", .drop = 1 }, \
		{ .key = "calls_a", .header = "calls A", .unit = "count", .drop = 3 },           \
	{                                                                                        \
		.key = "calls_b", .header = "calls B", .unit = "count", .drop = 3                \
	}

/* opened at most */
static bool idle(const struct rama_job_view_layer *l)
{
	return !l->used ||
	       (l->io.reads + l->io.writes + l->io.metas == 0 && rama_job_io_time(&l->io) == 0);
}

static void layers(const struct rama_report_diff *d, struct rama_report_paper *p)
{
	static const struct rama_grid_column columns[] = { { .key = "layer", .header = "layer" },
							   IO_COLUMNS };
	struct rama_grid *s = rama_report_paper_sheet(p, "layers", "Layers", columns, 9);

	for (unsigned i = 0; i < RAMA_JOB_LAYERS; i++) {
		const struct rama_job_view_layer *a = &d->side[0].view->layer[i],
						 *b = &d->side[1].view->layer[i];
		struct rama_grid_cell *row;

		if (idle(a) && idle(b))
			continue;
		row = rama_report_paper_row(p, s);
		row[0] = rama_grid_text_cell(rama_job_layer_info[i].label);
		io_cells(p, row + 1, &a->io, &b->io);
	}
	s->note = "Times and bytes are added over all ranks.";
}

/* how many files, of those that changed most, are worth a line: not each that took a millisecond
 * more */
static size_t telling(const struct rama_report_diff *d)
{
	size_t n = 0;

	while (n < d->n_files && n < RAMA_REPORT_DIFF_FILES) {
		const struct rama_report_diff_file *f = &d->files[n];
		double gap = fabs(rama_job_io_time(&f->io[1]) - rama_job_io_time(&f->io[0]));

		if (n >= FILES_LEAST &&
		    gap < GAP_LEAST * fmax(d->side[0].view->run_time, d->side[1].view->run_time))
			break;
		n++;
	}
	return n;
}

static void files(const struct rama_report_diff *d, struct rama_report_paper *p, bool verbose)
{
	static const struct rama_grid_column columns[] = {
		{ .key = "name", .header = "file", .wide = true },
		{ .key = "files_a", .header = "A", .unit = "count" },
		{ .key = "files_b", .header = "B", .unit = "count" },
		IO_COLUMNS
	};
	struct rama_grid *s =
		rama_report_paper_sheet(p, "files", "Files that changed most", columns, 11);
	size_t n = verbose ? d->n_files : telling(d);
	char count[3][RAMA_HUMAN];

	for (size_t i = 0; i < n; i++) {
		const struct rama_report_diff_file *f = &d->files[i];
		struct rama_grid_cell *row = rama_report_paper_row(p, s);

		row[0] = rama_grid_text_cell(rama_report_paper_text(p, f->name));
		pair(p, row + 1, "count", f->files[0], f->files[1]);
		io_cells(p, row + 3, &f->io[0], &f->io[1]);
	}
	s->more = (unsigned)(d->n_files - n);
	s->note = rama_report_paper_fmt(
		p,
		"%s file%s of the same name in both, %s without a match in B, %s without one in A",
		rama_human_count(count[0], (int64_t)d->both), plural((int64_t)d->both),
		rama_human_count(count[1], (int64_t)d->only[0]),
		rama_human_count(count[2], (int64_t)d->only[1]));
}

int rama_report_diff_paper(const struct rama_report_diff *d, struct rama_report_paper *p,
			   bool verbose)
{
	char n[RAMA_HUMAN];

	*p = (struct rama_report_paper){ .verdict = d->verdict };
	p->title = rama_report_paper_fmt(p, "%s: two runs compared",
					 rama_report_paper_text(p, d->side[1].view->name));
	p->tone = d->slower && !d->faster   ? RAMA_TONE_BAD
		  : d->faster && !d->slower ? RAMA_TONE_GOOD
					    : RAMA_TONE_PLAIN;
	head(d, p, 0);
	head(d, p, 1);
	for (unsigned i = 0; i < d->n_notes; i++)
		rama_report_paper_head(p, RAMA_TONE_WARN, rama_report_paper_text(p, d->notes[i]));
	figures(d, p);
	metrics(d, p);
	findings(d, p, verbose);
	layers(d, p);
	files(d, p, verbose);
	rama_report_paper_foot(p, RAMA_TONE_DIM,
			       rama_report_paper_fmt(p, "Differences up to %s count as none.",
						     rama_human_share(n, d->tolerance)));
	return p->failed ? RAMA_EMEMORY : 0;
}
