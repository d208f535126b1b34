/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/spread.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/human.h"

/* ---- groups ---------------------------------------------------------------------------------- */

int rama_report_group_add(struct rama_report_group *g, const struct rama_job_view *v,
			  const char *path)
{
	struct rama_report_run *run;

	if (!RAMA_GROW(g->run, g->room, g->n + 1))
		return RAMA_EMEMORY;
	run = &g->run[g->n];
	*run = (struct rama_report_run){ .path = rama_arena_text(&g->arena, path, strlen(path)),
					 .nprocs = v->nprocs,
					 .complete = v->complete };
	if (g->n == 0)
		g->name = rama_arena_text(&g->arena, v->name, strlen(v->name));
	if (run->path == NULL || g->name == NULL)
		return RAMA_EMEMORY;
	for (unsigned m = 0; m < RAMA_REPORT_METRICS; m++)
		run->value[m] = rama_report_metric_of(v, m);
	g->n++;
	return 0;
}

void rama_report_group_fini(struct rama_report_group *g)
{
	free(g->run);
	rama_arena_fini(&g->arena);
	*g = (struct rama_report_group){ 0 };
}

/* ---- figures --------------------------------------------------------------------------------- */

double rama_report_spread_t(double freedom)
{
	static const double few[] = { 12.706, 4.303, 3.182, 2.776, 2.571,
				      2.447,  2.365, 2.306, 2.262, 2.228 };
	const double z = 1.959964, z2 = z * z;
	unsigned whole = freedom < 1 ? 1 : freedom < 1e6 ? (unsigned)freedom : 1000000;

	if (whole <= sizeof(few) / sizeof(*few))
		return few[whole - 1];
	/* what is left out of the series is below 0.001 here */
	return z + z * (z2 + 1) / (4.0 * whole) +
	       z * ((5 * z2 + 16) * z2 + 3) / (96.0 * whole * whole) +
	       z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384.0 * whole * whole * whole);
}

static void measure(struct rama_report_spread_metric *x, unsigned side,
		    const struct rama_report_group *g, enum rama_report_metric m)
{
	double sum = 0, squares = 0;
	size_t n = 0;

	for (size_t i = 0; i < g->n; i++)
		if (isfinite(g->run[i].value[m])) {
			sum += g->run[i].value[m];
			n++;
		}
	x->n[side] = n;
	x->mean[side] = n > 0 ? sum / (double)n : NAN;
	for (size_t i = 0; i < g->n; i++)
		if (isfinite(g->run[i].value[m]))
			squares += (g->run[i].value[m] - x->mean[side]) *
				   (g->run[i].value[m] - x->mean[side]);
	x->deviation[side] = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
}

/* Welch's interval; a single run is believed to spread as those of the other group do */
static void find_interval(struct rama_report_spread_metric *x)
{
	double gap = x->mean[1] - x->mean[0], part[2], freedom, error;

	x->low = x->high = NAN;
	if (x->n[0] == 0 || x->n[1] == 0 || x->n[0] + x->n[1] < 3)
		return;
	for (unsigned s = 0; s < 2; s++) {
		double d = isfinite(x->deviation[s]) ? x->deviation[s] : x->deviation[1 - s];

		part[s] = d * d / (double)x->n[s];
	}
	error = part[0] + part[1];
	if (x->n[0] == 1 || x->n[1] == 1)
		freedom = (double)(x->n[0] + x->n[1]) - 2;
	else
		freedom = error > 0 ? error * error /
					      (part[0] * part[0] / (double)(x->n[0] - 1) +
					       part[1] * part[1] / (double)(x->n[1] - 1))
				    : 1;
	error = rama_report_spread_t(freedom) * sqrt(error);
	x->low = gap - error;
	x->high = gap + error;
}

static void compare(struct rama_report_spread *s, enum rama_report_metric m)
{
	struct rama_report_spread_metric *x = &s->metrics[m];
	enum rama_report_change change;

	for (unsigned side = 0; side < 2; side++)
		measure(x, side, s->group[side], m);
	find_interval(x);
	x->told = rama_report_metric_told(x->mean, s->metrics[rama_report_metric_asked(m)].mean);
	change = rama_report_metric_change(m, x->mean, s->tolerance);
	x->unsure = change != RAMA_REPORT_SAME && !(x->low > 0 || x->high < 0);
	x->change = x->unsure ? RAMA_REPORT_SAME : change;
	x->better = rama_report_metric_judge(m, x->change);
	s->differs |= x->change != RAMA_REPORT_SAME;
	if (m == RAMA_REPORT_METRIC_run_time || m == RAMA_REPORT_METRIC_io_time) {
		s->slower |= x->change == RAMA_REPORT_MORE;
		s->faster |= x->change == RAMA_REPORT_LESS;
	}
}

/* ---- words ----------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void note(struct rama_report_spread *s,
						       const char *fmt, ...)
{
	char text[400], *copy;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	copy = rama_arena_text(&s->arena, text, strlen(text));
	if (copy != NULL && s->n_notes < sizeof(s->notes) / sizeof(*s->notes))
		s->notes[s->n_notes++] = copy;
}

static void compare_groups(struct rama_report_spread *s)
{
	const struct rama_report_group *a = s->group[0], *b = s->group[1];
	int64_t ranks = a->run[0].nprocs;
	bool other = false;

	if (strcmp(a->name, b->name) != 0)
		note(s, "Different programs: %.150s and %.150s.", a->name, b->name);
	for (unsigned side = 0; side < 2; side++) {
		const struct rama_report_group *g = s->group[side];
		size_t incomplete = 0;

		for (size_t i = 0; i < g->n; i++) {
			other |= g->run[i].nprocs != ranks;
			incomplete += !g->run[i].complete;
		}
		if (incomplete > 0)
			note(s, "%zu of the %zu logs of %c %s incomplete: figures are too low.",
			     incomplete, g->n, 'A' + (int)side, incomplete == 1 ? "is" : "are");
		if (g->n == 1)
			note(s,
			     "%c is a single run: it is taken to spread as those of the other "
			     "group.",
			     'A' + (int)side);
	}
	if (other)
		note(s, "Runs have different numbers of ranks; times added over ranks do not "
			"compare.");
}

char *rama_report_group_time(char to[RAMA_REPORT_TIMES], const struct rama_report_group *g,
			     enum rama_report_metric m)
{
	struct rama_report_spread_metric x;
	char n[2][RAMA_HUMAN];

	measure(&x, 0, g, m);
	rama_human_seconds(n[0], x.mean[0]);
	if (isfinite(x.deviation[0]))
		snprintf(to, RAMA_REPORT_TIMES, "%s ± %s", n[0],
			 rama_human_seconds(n[1], x.deviation[0]));
	else
		snprintf(to, RAMA_REPORT_TIMES, "%s", n[0]);
	return to;
}

static const char *find_verdict(struct rama_report_spread *s)
{
	const struct rama_report_spread_metric *run = &s->metrics[RAMA_REPORT_METRIC_run_time],
					       *io = &s->metrics[RAMA_REPORT_METRIC_io_time];
	const struct rama_report_spread_metric *x = run->change != RAMA_REPORT_SAME  ? run
						    : io->change != RAMA_REPORT_SAME ? io
						    : run->unsure || !io->unsure     ? run
										     : io;
	const char *what = x == run ? "" : " in I/O";
	enum rama_report_metric m =
		x == run ? RAMA_REPORT_METRIC_run_time : RAMA_REPORT_METRIC_io_time;
	char a[RAMA_REPORT_TIMES], b[RAMA_REPORT_TIMES], share[RAMA_HUMAN], text[500];

	rama_report_group_time(a, s->group[0], m);
	rama_report_group_time(b, s->group[1], m);
	if (x->change != RAMA_REPORT_SAME)
		snprintf(text, sizeof(text),
			 "B takes %s %s time%s: %s instead of %s, more than runs of one group "
			 "differ by.",
			 rama_human_share(share,
					  x->mean[0] > 0 ? fabs(x->mean[1] / x->mean[0] - 1) : 1),
			 x->change == RAMA_REPORT_LESS ? "less" : "more", what, b, a);
	else if (run->unsure || io->unsure)
		snprintf(text, sizeof(text),
			 "Whether B is faster%s cannot be told: it takes %s, A %s, and runs of one "
			 "group "
			 "are as far apart. More runs would tell.",
			 what, b, a);
	else
		snprintf(text, sizeof(text), "B takes as long as A: %s and %s.", b, a);
	return rama_arena_text(&s->arena, text, strlen(text));
}

int rama_report_spread_make(struct rama_report_spread *s, const struct rama_report_group *a,
			    const struct rama_report_group *b, double tolerance, struct rama_err *e)
{
	*s = (struct rama_report_spread){ .group = { a, b }, .tolerance = tolerance };
	for (unsigned m = 0; m < RAMA_REPORT_METRICS; m++)
		compare(s, m);
	compare_groups(s);
	s->verdict = find_verdict(s);
	return s->verdict != NULL ? 0 : rama_err_no_memory(e);
}

void rama_report_spread_fini(struct rama_report_spread *s)
{
	rama_arena_fini(&s->arena);
	*s = (struct rama_report_spread){ 0 };
}
