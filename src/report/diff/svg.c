/* SPDX-License-Identifier: BSD-3-Clause */
/* svg.c: a comparison as one picture: the sentence, a pair of bars for each figure (with what
 * runs of a group differ by), and findings that came and went. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "report/svg.h"

#define BARS_X0 240
#define BARS_X1 640
#define BARS_MOST 14
#define BAR 11
#define STEP 34 /* from one pair to the next */
#define FINDINGS_MOST 6

struct pair {
	enum rama_report_metric metric;
	double value[2], deviation[2];
	enum rama_report_change change;
	int better;
	bool unsure;
};

/* ---- bars ------------------------------------------------------------------------------------ */

/* as far as single runs are from their mean, usually */
static void put_whisker(struct rama_report_svg_page *g, double from, double to, double y)
{
	from = from < BARS_X0 ? BARS_X0 : from;
	rama_report_svg_rect(g, from, y + 0.5, to - from, 1, "ir-t");
	rama_report_svg_rect(g, from, y - 2, 1, 6, "ir-t");
	rama_report_svg_rect(g, to - 1, y - 2, 1, 6, "ir-t");
}

static void put_value(struct rama_report_svg_page *g, const struct pair *p, unsigned side, double y)
{
	const char *unit = rama_report_metric_info[p->metric].unit;
	char n[2][RAMA_HUMAN], text[2 * RAMA_HUMAN + 8] = "–";

	if (isfinite(p->value[side]))
		snprintf(text, sizeof(text), "%s", rama_human_value(n[0], unit, p->value[side]));
	if (isfinite(p->value[side]) && p->deviation[side] > 0)
		snprintf(text, sizeof(text), "%s ± %s", n[0],
			 rama_human_value(n[1], unit, p->deviation[side]));
	rama_report_svg_text(g, BARS_X1 + 10, y, "ir-d", "start", text);
}

static void put_pair(struct rama_report_svg_page *g, const struct pair *p)
{
	static const char *const classes[] = { "ir-HIGH", "ir-r", "ir-p" };
	static const char *const words[] = { ", worse", "", ", better" };
	char text[RAMA_REPORT_CHANGE + 16], change[RAMA_REPORT_CHANGE];
	double most = 0;

	for (unsigned side = 0; side < 2; side++) {
		double d = isfinite(p->deviation[side]) ? p->deviation[side] : 0;

		most = isfinite(p->value[side]) ? fmax(most, p->value[side] + d) : most;
	}
	rama_report_svg_text(g, BARS_X0 - 10, g->y + 16, "ir-t", "end",
			     rama_report_metric_info[p->metric].label);
	for (unsigned side = 0; side < 2 && most > 0; side++) {
		double y = g->y + side * (BAR + 3), unit = (BARS_X1 - BARS_X0) / most,
		       at = BARS_X0 + unit * p->value[side], d = unit * p->deviation[side];

		if (p->value[side] > 0)
			rama_report_svg_rect(g, BARS_X0, y, fmax(1, at - BARS_X0), BAR,
					     side == 0 ? "ir-o" : classes[p->better + 1]);
		if (d > 0)
			put_whisker(g, at - d, at + d, y + BAR / 2.0 - 1);
		put_value(g, p, side, y + BAR - 1);
	}
	rama_report_change_text(change, p->metric, p->value, p->change);
	snprintf(text, sizeof(text), "%s%s", p->unsure ? "cannot tell" : change,
		 words[p->better + 1]);
	rama_report_svg_text(g, RAMA_REPORT_SVG_RIGHT, g->y + 16, "ir-t", "end", text);
	g->y += STEP;
}

/* Patterns are shares, which say little without what they are of. */
static bool shown(enum rama_report_metric m)
{
	return rama_report_metric_info[m].group !=
	       rama_report_metric_info[RAMA_REPORT_METRIC_consec_reads].group;
}

static void put_pairs(struct rama_report_svg_page *g, const struct pair *p, unsigned n, bool spread)
{
	rama_report_svg_title(
		g, "Figures",
		spread ? "A above, grey; B below: green is better, red worse, blue neither; each "
			 "pair has a scale of its own; ± and lines: standard deviation of runs"
		       : "A above, grey; B below: green is better, red worse, blue neither; each "
			 "pair has a scale of its own");
	g->y += 12;
	for (unsigned i = 0; i < n; i++)
		put_pair(g, &p[i]);
}

/* ---- findings -------------------------------------------------------------------------------- */

static bool matters(const struct rama_report_diff_finding *f)
{
	for (unsigned side = 0; side < 2; side++)
		if (f->side[side] != NULL && f->side[side]->level >= RAMA_DIAG_LEVEL_WARN)
			return true;
	return false;
}

static void put_finding(struct rama_report_svg_page *g, const struct rama_report_diff_finding *f)
{
	const struct rama_diag_finding *told = f->side[1] != NULL ? f->side[1] : f->side[0];
	char cost[2][RAMA_HUMAN], line[2 * RAMA_HUMAN + 8], class[16];

	for (unsigned side = 0; side < 2; side++) {
		if (f->side[side] != NULL)
			rama_human_seconds(cost[side], f->side[side]->cost);
		else
			snprintf(cost[side], RAMA_HUMAN, "–");
	}
	g->y += 25;
	rama_report_svg_text(g, RAMA_REPORT_SVG_LEFT + 50, g->y, "ir-t", "end",
			     rama_report_fate_name[f->fate]);
	snprintf(class, sizeof(class), "ir-%s", rama_diag_level_name[told->level]);
	rama_report_svg_rect(g, 78, g->y - 12, 44, 16, class);
	rama_report_svg_text(g, 100, g->y, "ir-c", "middle", rama_diag_level_name[told->level]);
	snprintf(line, sizeof(line), "%s to %s", cost[0], cost[1]);
	rama_report_svg_text(g, BARS_X0 - 10, g->y, "ir-d", "end", line);
	rama_report_svg_line(g, BARS_X0, told->title);
	rama_report_svg_text(g, RAMA_REPORT_SVG_RIGHT, g->y, "ir-s", "end", f->rule->id);
}

static void put_findings(struct rama_report_svg_page *g, const struct rama_report_diff *d)
{
	unsigned n = 0, more = 0;
	char line[60];

	for (size_t i = 0; i < d->n_findings; i++) {
		if (!matters(&d->findings[i]))
			continue;
		if (n == 0)
			rama_report_svg_title(g, "Findings", "what each costs in A and in B");
		if (n < FINDINGS_MOST)
			put_finding(g, &d->findings[i]);
		more += n++ >= FINDINGS_MOST;
	}
	if (more > 0) {
		g->y += 20;
		snprintf(line, sizeof(line), "and %u more", more);
		rama_report_svg_text(g, BARS_X0, g->y, "ir-s", "start", line);
	}
}

/* ---- pictures -------------------------------------------------------------------------------- */

static void put_side(struct rama_report_svg_page *g, unsigned side, const char *name,
		     const char *path, const char *more)
{
	char line[600];

	g->y += side == 0 ? 30 : 18;
	snprintf(line, sizeof(line), "%c  %.120s · %s · %.300s", 'A' + (int)side, name, more, path);
	rama_report_svg_text(g, RAMA_REPORT_SVG_LEFT, g->y, "ir-d", "start", line);
	if (side == 0)
		rama_report_svg_text(g, RAMA_REPORT_SVG_RIGHT, g->y, "ir-s", "end",
				     "iorama " IORAMA_BUILD_VERSION);
}

static void put_notes(struct rama_report_svg_page *g, const char *const notes[], unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		g->y += 18;
		rama_report_svg_text(g, RAMA_REPORT_SVG_LEFT, g->y, "ir-k", "start", notes[i]);
	}
}

static void draw_diff(const struct rama_report_diff *d, struct rama_out *o, bool both,
		      enum rama_report_file file)
{
	struct rama_out body;
	struct rama_report_svg_page g = { .o = &body };
	struct pair pairs[BARS_MOST];
	unsigned n = 0;

	rama_out_init(&body, NULL, NULL);
	for (unsigned side = 0; side < 2; side++) {
		const struct rama_job_view *v = d->side[side].view;
		char run[RAMA_HUMAN];

		put_side(&g, side, v->name, d->side[side].path,
			 rama_human_duration(run, v->run_time));
	}
	put_notes(&g, d->notes, d->n_notes);
	rama_report_svg_verdict(&g, d->verdict);
	for (unsigned m = 0; m < RAMA_REPORT_METRICS && n < BARS_MOST; m++) {
		const struct rama_report_diff_metric *x = &d->metrics[m];

		if (x->told && shown(m))
			pairs[n++] = (struct pair){ .metric = m,
						    .value = { x->value[0], x->value[1] },
						    .deviation = { NAN, NAN },
						    .change = x->change,
						    .better = x->better };
	}
	put_pairs(&g, pairs, n, false);
	put_findings(&g, d);
	rama_report_svg_finish(o, &body, g.y + 20, d->verdict, both, file);
}

static void draw_spread(const struct rama_report_spread *s, struct rama_out *o, bool both,
			enum rama_report_file file)
{
	struct rama_out body;
	struct rama_report_svg_page g = { .o = &body };
	struct pair pairs[BARS_MOST];
	unsigned n = 0;

	rama_out_init(&body, NULL, NULL);
	for (unsigned side = 0; side < 2; side++) {
		const struct rama_report_group *x = s->group[side];
		char count[40];

		snprintf(count, sizeof(count), "%zu run%s", x->n, x->n == 1 ? "" : "s");
		put_side(&g, side, x->name, x->path, count);
	}
	put_notes(&g, s->notes, s->n_notes);
	rama_report_svg_verdict(&g, s->verdict);
	for (unsigned m = 0; m < RAMA_REPORT_METRICS && n < BARS_MOST; m++) {
		const struct rama_report_spread_metric *x = &s->metrics[m];

		if (x->told && shown(m))
			pairs[n++] =
				(struct pair){ .metric = m,
					       .value = { x->mean[0], x->mean[1] },
					       .deviation = { x->deviation[0], x->deviation[1] },
					       .change = x->change,
					       .better = x->better,
					       .unsure = x->unsure };
	}
	put_pairs(&g, pairs, n, true);
	rama_report_svg_finish(o, &body, g.y + 20, s->verdict, both, file);
}

void rama_report_diff_svg(const struct rama_report_diff *d, struct rama_out *o,
			  const struct rama_report_ask *a)
{
	(void)a;
	draw_diff(d, o, true, RAMA_REPORT_FILE_svg);
}

void rama_report_diff_figure(const struct rama_report_diff *d, struct rama_out *o,
			     const struct rama_report_ask *a)
{
	draw_diff(d, o, false, a->file);
}

void rama_report_spread_svg(const struct rama_report_spread *s, struct rama_out *o,
			    const struct rama_report_ask *a)
{
	(void)a;
	draw_spread(s, o, true, RAMA_REPORT_FILE_svg);
}

void rama_report_spread_figure(const struct rama_report_spread *s, struct rama_out *o,
			       const struct rama_report_ask *a)
{
	draw_spread(s, o, false, a->file);
}
