/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "table/index.h"

#define TIME_FLOOR 0.01 /* seconds: clocks and schedulers differ by as much */
#define SHARE_FLOOR 0.005

const char *const rama_report_metric_groups[] = { "Time", "Data", "Calls", "Request sizes",
						  "Pattern" };
enum { GROUP_TIME, GROUP_DATA, GROUP_CALLS, GROUP_SIZES, GROUP_PATTERN };

const char *const rama_report_change_name[] = { "same", "less", "more" };
const char *const rama_report_judgement_name[] = { "worse", "neutral", "better" };
const char *const rama_report_fate_name[] = { "new", "worse", "better", "gone", "same" };

const struct rama_report_metric_info rama_report_metric_info[RAMA_REPORT_METRICS] = {
#define METRIC(symbol, group, label, unit, wish, value) \
	{ #symbol, label, unit, GROUP_##group, RAMA_REPORT_WISH_##wish },
#include "report/diff/metrics.def"
#undef METRIC
};

/* ---- figures --------------------------------------------------------------------------------- */

static double per(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

/* a counter of a layer as a share of its accesses */
static double of_layer(const struct rama_job_view *v, enum rama_job_layer layer, unsigned counter,
		       int64_t accesses)
{
	const struct rama_job_view_layer *l = &v->layer[layer];

	if (!l->used || l->total == NULL || accesses <= 0 || l->total[counter].i < 0)
		return NAN;
	return (double)l->total[counter].i / (double)accesses;
}

/* how often a layer was called, by a counter; none where it was not used */
static double calls(const struct rama_job_view *v, enum rama_job_layer layer, unsigned counter)
{
	const struct rama_job_view_layer *l = &v->layer[layer];

	return l->used && l->total != NULL ? fmax(0, (double)l->total[counter].i) : 0;
}

double rama_report_metric_of(const struct rama_job_view *v, enum rama_report_metric m)
{
	switch (m) {
#define METRIC(symbol, group, label, unit, wish, value) \
	case RAMA_REPORT_METRIC_##symbol:               \
		return value;
#include "report/diff/metrics.def"
#undef METRIC
	default:
		return NAN;
	}
}

enum rama_report_change rama_report_change_of(double a, double b, double tolerance)
{
	double most = fabs(a) > fabs(b) ? fabs(a) : fabs(b);

	if (!isfinite(a) || !isfinite(b) || fabs(b - a) <= tolerance * most)
		return RAMA_REPORT_SAME;
	return b > a ? RAMA_REPORT_MORE : RAMA_REPORT_LESS;
}

enum rama_report_change rama_report_metric_change(enum rama_report_metric m, const double value[2],
						  double tolerance)
{
	const struct rama_report_metric_info *info = &rama_report_metric_info[m];
	double gap = fabs(value[1] - value[0]);

	if (strcmp(info->unit, "s") == 0 && gap < TIME_FLOOR)
		return RAMA_REPORT_SAME;
	if (strcmp(info->unit, "share") == 0 && gap < SHARE_FLOOR)
		return RAMA_REPORT_SAME;
	return rama_report_change_of(value[0], value[1], tolerance);
}

int rama_report_metric_judge(enum rama_report_metric m, enum rama_report_change change)
{
	enum rama_report_wish wish = rama_report_metric_info[m].wish;

	if (wish == RAMA_REPORT_WISH_NEITHER || change == RAMA_REPORT_SAME)
		return 0;
	return (wish == RAMA_REPORT_WISH_LOWER) == (change == RAMA_REPORT_LESS) ? 1 : -1;
}

char *rama_report_change_text(char to[RAMA_REPORT_CHANGE], enum rama_report_metric m,
			      const double v[2], enum rama_report_change change)
{
	bool up = v[1] > v[0];
	char n[RAMA_HUMAN];

	if (!isfinite(v[0]) || !isfinite(v[1]))
		to[0] = '\0';
	else if (change == RAMA_REPORT_SAME)
		snprintf(to, RAMA_REPORT_CHANGE, "same");
	else if (strcmp(rama_report_metric_info[m].unit, "share") == 0)
		snprintf(to, RAMA_REPORT_CHANGE, "%s%.0f points", up ? "+" : "−",
			 fabs(v[1] - v[0]) * 100);
	else if (v[0] == 0 || v[1] == 0)
		snprintf(to, RAMA_REPORT_CHANGE, "%s", v[0] == 0 ? "new" : "none left");
	else if (v[1] / v[0] >= 2 || v[1] / v[0] <= 0.01)
		snprintf(to, RAMA_REPORT_CHANGE, "%s%s",
			 rama_human_ratio(n, up ? v[1] / v[0] : v[0] / v[1]), up ? "" : " less");
	else
		snprintf(to, RAMA_REPORT_CHANGE, "%s%s", up ? "+" : "−",
			 rama_human_share(n, fabs(v[1] - v[0]) / v[0]));
	return to;
}

enum rama_report_metric rama_report_metric_asked(enum rama_report_metric m)
{
	static const enum rama_report_metric pair[][2] = {
		{ RAMA_REPORT_METRIC_disk_read, RAMA_REPORT_METRIC_bytes_read },
		{ RAMA_REPORT_METRIC_disk_written, RAMA_REPORT_METRIC_bytes_written },
		{ RAMA_REPORT_METRIC_disk_reads, RAMA_REPORT_METRIC_reads },
		{ RAMA_REPORT_METRIC_disk_writes, RAMA_REPORT_METRIC_writes },
		{ RAMA_REPORT_METRIC_disk_read_size, RAMA_REPORT_METRIC_read_size },
		{ RAMA_REPORT_METRIC_disk_write_size, RAMA_REPORT_METRIC_write_size },
	};

	for (unsigned i = 0; i < sizeof(pair) / sizeof(*pair); i++)
		if (pair[i][0] == m)
			return pair[i][1];
	return m;
}

bool rama_report_metric_told(const double value[2], const double asked[2])
{
	bool repeats = asked != value;

	for (unsigned i = 0; i < 2; i++)
		repeats = repeats && (value[i] == asked[i] || (isnan(value[i]) && isnan(asked[i])));
	return (value[0] > 0 || value[1] > 0) && !repeats;
}

static void forget(struct rama_report_diff_metric *m)
{
	m->change = RAMA_REPORT_SAME;
	m->better = 0;
}

static void compare_metrics(struct rama_report_diff *d)
{
	for (unsigned m = 0; m < RAMA_REPORT_METRICS; m++) {
		struct rama_report_diff_metric *x = &d->metrics[m];

		for (unsigned s = 0; s < 2; s++)
			x->value[s] = rama_report_metric_of(d->side[s].view, m);
		x->change = rama_report_metric_change(m, x->value, d->tolerance);
		x->better = rama_report_metric_judge(m, x->change);
		x->told = rama_report_metric_told(x->value,
						  d->metrics[rama_report_metric_asked(m)].value);
	}
	/* what rests on a time that is the same does not differ either */
	if (d->metrics[RAMA_REPORT_METRIC_io_time].change == RAMA_REPORT_SAME &&
	    d->metrics[RAMA_REPORT_METRIC_disk_read].change == RAMA_REPORT_SAME &&
	    d->metrics[RAMA_REPORT_METRIC_disk_written].change == RAMA_REPORT_SAME)
		forget(&d->metrics[RAMA_REPORT_METRIC_rate]);
	if (d->metrics[RAMA_REPORT_METRIC_io_time].change == RAMA_REPORT_SAME &&
	    d->metrics[RAMA_REPORT_METRIC_run_time].change == RAMA_REPORT_SAME)
		forget(&d->metrics[RAMA_REPORT_METRIC_io_share]);
	for (unsigned m = 0; m < RAMA_REPORT_METRICS; m++)
		d->differs |= d->metrics[m].change != RAMA_REPORT_SAME;
	for (unsigned i = 0; i < 2; i++) {
		const struct rama_report_diff_metric *x =
			&d->metrics[i == 0 ? RAMA_REPORT_METRIC_run_time
					   : RAMA_REPORT_METRIC_io_time];

		d->slower |= x->change == RAMA_REPORT_MORE;
		d->faster |= x->change == RAMA_REPORT_LESS;
	}
}

/* ---- findings -------------------------------------------------------------------------------- */

static const struct rama_diag_finding *find(const struct rama_diag *d,
					    const struct rama_diag_rule *rule)
{
	for (size_t i = 0; i < d->n_findings; i++)
		if (d->findings[i].rule == rule && d->findings[i].level != RAMA_DIAG_LEVEL_OK)
			return &d->findings[i];
	return NULL;
}

static enum rama_report_fate fate_of(const struct rama_diag_finding *a,
				     const struct rama_diag_finding *b, double tolerance)
{
	if (a == NULL)
		return RAMA_REPORT_FATE_NEW;
	if (b == NULL)
		return RAMA_REPORT_FATE_GONE;
	if (a->level != b->level)
		return b->level > a->level ? RAMA_REPORT_FATE_WORSE : RAMA_REPORT_FATE_BETTER;
	if (fabs(b->cost - a->cost) < TIME_FLOOR)
		return RAMA_REPORT_FATE_SAME;
	switch (rama_report_change_of(a->cost, b->cost, tolerance)) {
	case RAMA_REPORT_MORE:
		return RAMA_REPORT_FATE_WORSE;
	case RAMA_REPORT_LESS:
		return RAMA_REPORT_FATE_BETTER;
	default:
		return RAMA_REPORT_FATE_SAME;
	}
}

static double gap_of(const struct rama_report_diff_finding *f)
{
	return fabs((f->side[1] != NULL ? f->side[1]->cost : 0) -
		    (f->side[0] != NULL ? f->side[0]->cost : 0));
}

static int by_weight(const void *x, const void *y)
{
	const struct rama_report_diff_finding *a = x, *b = y;
	double gap = gap_of(b) - gap_of(a);

	if (gap != 0)
		return gap > 0 ? 1 : -1;
	if (a->fate != b->fate)
		return (int)a->fate - (int)b->fate;
	return strcmp(a->rule->id, b->rule->id);
}

static void compare_findings(struct rama_report_diff *d)
{
	for (unsigned r = 0; r < rama_diag_n_rules; r++) {
		struct rama_report_diff_finding f = { .rule = &rama_diag_rules[r] };

		for (unsigned s = 0; s < 2; s++)
			f.side[s] = find(d->side[s].diagnosis, f.rule);
		if (f.side[0] == NULL && f.side[1] == NULL)
			continue;
		f.fate = fate_of(f.side[0], f.side[1], d->tolerance);
		d->n_new += f.side[0] == NULL && f.side[1]->level >= RAMA_DIAG_LEVEL_WARN;
		d->n_gone += f.side[1] == NULL && f.side[0] != NULL &&
			     f.side[0]->level >= RAMA_DIAG_LEVEL_WARN;
		d->differs |= f.fate != RAMA_REPORT_FATE_SAME;
		d->findings[d->n_findings++] = f;
	}
	qsort(d->findings, d->n_findings, sizeof(*d->findings), by_weight);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void note(struct rama_report_diff *d, const char *text)
{
	char *copy = rama_arena_text(&d->arena, text, strlen(text));

	if (copy != NULL && d->n_notes < sizeof(d->notes) / sizeof(*d->notes))
		d->notes[d->n_notes++] = copy;
}

static void compare_jobs(struct rama_report_diff *d)
{
	const struct rama_job_view *a = d->side[0].view, *b = d->side[1].view;
	char text[400], n[2][RAMA_HUMAN];

	if (strcmp(a->name, b->name) != 0) {
		snprintf(text, sizeof(text), "Different programs: %.150s and %.150s.", a->name,
			 b->name);
		note(d, text);
	}
	if (a->nprocs != b->nprocs) {
		snprintf(text, sizeof(text),
			 "Different numbers of ranks: %s and %s; times added over ranks do not "
			 "compare.",
			 rama_human_count(n[0], a->nprocs), rama_human_count(n[1], b->nprocs));
		note(d, text);
	}
	for (unsigned s = 0; s < 2; s++) {
		if (d->side[s].view->complete)
			continue;
		snprintf(text, sizeof(text),
			 "The log of %c is incomplete: its figures are too low.", 'A' + (int)s);
		note(d, text);
	}
	if (a->traced != b->traced) {
		snprintf(text, sizeof(text), "Only %c has a trace.", a->traced ? 'A' : 'B');
		note(d, text);
	}
}

int rama_report_diff_make(struct rama_report_diff *d, const struct rama_report_diff_side side[2],
			  double tolerance, struct rama_err *e)
{
	*d = (struct rama_report_diff){ .side = { side[0], side[1] }, .tolerance = tolerance };
	d->findings = rama_arena_alloc(&d->arena, (rama_diag_n_rules + 1) * sizeof(*d->findings));
	if (d->findings == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "%s", rama_err_text(RAMA_EMEMORY));
	compare_jobs(d);
	compare_metrics(d);
	compare_findings(d);
	if (rama_report_diff_files(d) != 0 || (d->verdict = rama_report_diff_verdict(d)) == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "%s", rama_err_text(RAMA_EMEMORY));
	return 0;
}

void rama_report_diff_fini(struct rama_report_diff *d)
{
	free(d->files);
	rama_arena_fini(&d->arena);
	*d = (struct rama_report_diff){ 0 };
}
