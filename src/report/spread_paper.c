/* SPDX-License-Identifier: BSD-3-Clause */
/* spread_paper.c: two groups of runs compared, as sentences and tables, and as JSON. */
#include <math.h>
#include <stdio.h>

#include "base/human.h"
#include "base/json.h"
#include "report/spread.h"

/* ---- paper ----------------------------------------------------------------------------------- */

static void head(const struct rama_report_spread *s, struct rama_report_paper *p, unsigned side)
{
	const struct rama_report_group *g = s->group[side];
	char n[RAMA_HUMAN];

	rama_report_paper_head(p, RAMA_TONE_PLAIN,
			       rama_report_paper_fmt(p, "%c  %s · %s run%s · %s", 'A' + (int)side,
						     rama_report_paper_text(p, g->name),
						     rama_human_count(n, (int64_t)g->n),
						     g->n == 1 ? "" : "s",
						     rama_report_paper_text(p, g->path)));
}

static struct rama_grid_cell deviation_cell(struct rama_report_paper *p, const char *unit, double v)
{
	struct rama_grid_cell c = rama_report_paper_value(p, unit, v);

	if (isfinite(v))
		c.text = rama_report_paper_fmt(p, "± %s", c.text);
	c.tone = RAMA_TONE_DIM;
	return c;
}

static void figure(struct rama_report_paper *p, struct rama_grid *sheet, enum rama_report_metric m,
		   const struct rama_report_spread_metric *x)
{
	static const char *const words[] = { "worse", "", "better" };
	static const enum rama_tone tones[] = { RAMA_TONE_BAD, RAMA_TONE_PLAIN, RAMA_TONE_GOOD };
	const struct rama_report_metric_info *info = &rama_report_metric_info[m];
	struct rama_grid_cell *row = rama_report_paper_row(p, sheet);
	char text[RAMA_REPORT_CHANGE];

	row[0] = rama_grid_text_cell(rama_report_paper_fmt(p, "  %s", info->label));
	for (unsigned side = 0; side < 2; side++) {
		row[1 + 2 * side] = rama_report_paper_value(p, info->unit, x->mean[side]);
		row[2 + 2 * side] = deviation_cell(p, info->unit, x->deviation[side]);
	}
	rama_report_change_text(text, m, x->mean, x->change);
	row[5] = rama_grid_text_cell(
		rama_report_paper_fmt(p, "%s", x->unsure ? "cannot tell" : text));
	row[5].value = x->mean[0] != 0 ? x->mean[1] / x->mean[0] : NAN;
	if (x->change == RAMA_REPORT_SAME)
		row[5].tone = RAMA_TONE_DIM;
	row[6] = rama_grid_text_cell(words[x->better + 1]);
	row[6].tone = tones[x->better + 1];
}

static void figures(const struct rama_report_spread *s, struct rama_report_paper *p)
{
	static const struct rama_grid_column columns[] = {
		{ .key = "figure", .header = "" },
		{ .key = "a", .header = "A, mean", .unit = "value" },
		{ .key = "a_deviation", .header = "of runs", .unit = "value", .drop = 1 },
		{ .key = "b", .header = "B, mean", .unit = "value" },
		{ .key = "b_deviation", .header = "of runs", .unit = "value", .drop = 1 },
		{ .key = "ratio", .header = "change", .unit = "ratio" },
		{ .key = "judgement", .header = "" }
	};
	struct rama_grid *sheet = rama_report_paper_sheet(p, "figures", "Figures", columns, 7);
	unsigned group = UINT32_MAX;

	for (unsigned m = 0; m < RAMA_REPORT_METRICS; m++) {
		const struct rama_report_metric_info *info = &rama_report_metric_info[m];

		if (!s->metrics[m].told)
			continue;
		if (info->group != group)
			rama_report_paper_row(p, sheet)[0] =
				(struct rama_grid_cell){ rama_report_metric_groups[info->group],
							 NAN, RAMA_TONE_BOLD };
		group = info->group;
		figure(p, sheet, m, &s->metrics[m]);
	}
	sheet->note =
		"± is the standard deviation of single runs. A change is told where the 95 % "
		"interval of the difference does not hold 0; of many figures one in twenty may "
		"seem to differ by chance.";
}

/* the same for CSV: all of them, by name */
static void metrics(const struct rama_report_spread *s, struct rama_report_paper *p)
{
	static const struct rama_grid_column columns[] = {
		{ .key = "name", .header = "" },
		{ .key = "unit", .header = "" },
		{ .key = "a_runs", .header = "", .unit = "count" },
		{ .key = "a", .header = "", .unit = "value" },
		{ .key = "a_deviation", .header = "", .unit = "value" },
		{ .key = "b_runs", .header = "", .unit = "count" },
		{ .key = "b", .header = "", .unit = "value" },
		{ .key = "b_deviation", .header = "", .unit = "value" },
		{ .key = "low", .header = "", .unit = "value" },
		{ .key = "high", .header = "", .unit = "value" },
		{ .key = "change", .header = "" },
		{ .key = "judgement", .header = "" }
	};
	struct rama_grid *sheet = rama_report_paper_sheet(p, "metrics", "Figures", columns, 12);

	sheet->data = true;
	for (unsigned m = 0; m < RAMA_REPORT_METRICS; m++) {
		const struct rama_report_spread_metric *x = &s->metrics[m];
		struct rama_grid_cell *row = rama_report_paper_row(p, sheet);

		row[0] = rama_grid_text_cell(rama_report_metric_info[m].name);
		row[1] = rama_grid_text_cell(rama_report_metric_info[m].unit);
		for (unsigned side = 0; side < 2; side++) {
			row[2 + 3 * side].value = (double)x->n[side];
			row[3 + 3 * side].value = x->mean[side];
			row[4 + 3 * side].value = x->deviation[side];
		}
		row[8].value = x->low;
		row[9].value = x->high;
		row[10] = rama_grid_text_cell(x->unsure ? "unsure"
							: rama_report_change_name[x->change]);
		row[11] = rama_grid_text_cell(rama_report_judgement_name[x->better + 1]);
	}
}

static void runs(const struct rama_report_spread *s, struct rama_report_paper *p)
{
	static const enum rama_report_metric shown[] = { RAMA_REPORT_METRIC_run_time,
							 RAMA_REPORT_METRIC_io_time,
							 RAMA_REPORT_METRIC_bytes_read,
							 RAMA_REPORT_METRIC_bytes_written };
	static const struct rama_grid_column columns[] = {
		{ .key = "group", .header = "" },
		{ .key = "run_time", .header = "run time", .unit = "s" },
		{ .key = "io_time", .header = "in I/O", .unit = "s" },
		{ .key = "bytes_read", .header = "read", .unit = "bytes" },
		{ .key = "bytes_written", .header = "written", .unit = "bytes" },
		{ .key = "log", .header = "log", .wide = true }
	};
	struct rama_grid *sheet = rama_report_paper_sheet(p, "runs", "Runs", columns, 6);

	for (unsigned side = 0; side < 2; side++)
		for (size_t i = 0; i < s->group[side]->n; i++) {
			const struct rama_report_run *run = &s->group[side]->run[i];
			struct rama_grid_cell *row = rama_report_paper_row(p, sheet);

			row[0] = rama_grid_text_cell(side == 0 ? "A" : "B");
			for (unsigned k = 0; k < 4; k++)
				row[1 + k] = rama_report_paper_value(
					p, rama_report_metric_info[shown[k]].unit,
					run->value[shown[k]]);
			row[5] = rama_grid_text_cell(rama_report_paper_text(p, run->path));
		}
}

int rama_report_spread_paper(const struct rama_report_spread *s, struct rama_report_paper *p)
{
	char n[RAMA_HUMAN];

	*p = (struct rama_report_paper){ .title = "iorama diff: two groups of runs" };
	p->verdict = rama_report_paper_text(p, s->verdict);
	p->tone = s->faster == s->slower ? RAMA_TONE_PLAIN
		  : s->faster		 ? RAMA_TONE_GOOD
					 : RAMA_TONE_BAD;
	for (unsigned side = 0; side < 2; side++)
		head(s, p, side);
	for (unsigned i = 0; i < s->n_notes; i++)
		rama_report_paper_head(p, RAMA_TONE_WARN, rama_report_paper_text(p, s->notes[i]));
	figures(s, p);
	metrics(s, p);
	runs(s, p);
	rama_report_paper_foot(p, RAMA_TONE_DIM,
			       rama_report_paper_fmt(p, "Differences up to %s count as none.",
						     rama_human_share(n, s->tolerance)));
	return p->failed ? RAMA_EMEMORY : 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_group(struct rama_json *j, const char *key, const struct rama_report_group *g)
{
	rama_json_key_open(j, key, '{');
	rama_json_key_string(j, "path", g->path);
	rama_json_key_string(j, "name", g->name);
	rama_json_key_open(j, "runs", '[');
	for (size_t i = 0; i < g->n; i++) {
		const struct rama_report_run *run = &g->run[i];

		rama_json_open(j, '{');
		rama_json_key_string(j, "log", run->path);
		rama_json_key_i64(j, "nprocs", run->nprocs);
		rama_json_key_bool(j, "complete", run->complete);
		for (unsigned m = 0; m < RAMA_REPORT_METRICS; m++)
			rama_json_key_f64(j, rama_report_metric_info[m].name, run->value[m]);
		rama_json_close(j, '}');
	}
	rama_json_close(j, ']');
	rama_json_close(j, '}');
}

static void put_metric(struct rama_json *j, enum rama_report_metric m,
		       const struct rama_report_spread_metric *x)
{
	static const char *const keys[2][3] = { { "a_runs", "a", "a_deviation" },
						{ "b_runs", "b", "b_deviation" } };

	rama_json_open(j, '{');
	rama_json_key_string(j, "name", rama_report_metric_info[m].name);
	rama_json_key_string(j, "label", rama_report_metric_info[m].label);
	rama_json_key_string(j, "unit", rama_report_metric_info[m].unit);
	for (unsigned side = 0; side < 2; side++) {
		rama_json_key_u64(j, keys[side][0], x->n[side]);
		rama_json_key_f64(j, keys[side][1], x->mean[side]);
		rama_json_key_f64(j, keys[side][2], x->deviation[side]);
	}
	rama_json_key_f64(j, "low", x->low);
	rama_json_key_f64(j, "high", x->high);
	rama_json_key_string(j, "change",
			     x->unsure ? "unsure" : rama_report_change_name[x->change]);
	rama_json_key_string(j, "judgement", rama_report_judgement_name[x->better + 1]);
	rama_json_close(j, '}');
}

void rama_report_spread_json(const struct rama_report_spread *s, struct rama_out *o,
			     const struct rama_report_ask *a)
{
	struct rama_json j;

	(void)a;
	rama_json_init(&j, o);
	rama_json_open(&j, '{');
	rama_json_key_string(&j, "schema", "iorama-diff-groups");
	rama_json_key_i64(&j, "version", 1);
	rama_json_key_string(&j, "tool", "iorama " IORAMA_BUILD_VERSION);
	rama_json_key_f64(&j, "tolerance", s->tolerance);
	put_group(&j, "a", s->group[0]);
	put_group(&j, "b", s->group[1]);
	rama_json_key_open(&j, "verdict", '{');
	rama_json_key_string(&j, "text", s->verdict);
	rama_json_key_bool(&j, "faster", s->faster);
	rama_json_key_bool(&j, "slower", s->slower);
	rama_json_key_bool(&j, "differs", s->differs);
	rama_json_close(&j, '}');
	rama_json_key_open(&j, "notes", '[');
	for (unsigned i = 0; i < s->n_notes; i++)
		rama_json_string(&j, s->notes[i]);
	rama_json_close(&j, ']');
	rama_json_key_open(&j, "metrics", '[');
	for (unsigned m = 0; m < RAMA_REPORT_METRICS; m++)
		put_metric(&j, m, &s->metrics[m]);
	rama_json_close(&j, ']');
	rama_json_close(&j, '}');
	rama_out_char(o, '\n');
}
