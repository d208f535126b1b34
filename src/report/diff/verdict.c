/* SPDX-License-Identifier: BSD-3-Clause */
/* verdict.c: the sentence above a comparison: how much time, and what explains it. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "report/diff/diff.h"

#define TELLING 1.25 /* a smaller ratio explains nothing */
#define REASONS_MOST 2

struct text {
	char s[700];
	size_t used;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *fmt, ...)
{
	size_t room = sizeof(t->s) - t->used;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->s + t->used, room, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->used += (size_t)n < room ? (size_t)n : room - 1;
}

/* What may explain that B needs less time (1) or more (-1): a figure that went the matching way. */
struct reason {
	enum rama_report_metric metric;
	enum { RATIO, SHARE, CALLS } how; /* how two values of it are compared, and told */
	char part;			  /* r: of reading, w: of writing, m: of metadata */
	bool inverse;			  /* more of it takes less time */
	bool asked;		 /* what the program does says more than what becomes of it */
	const char *more, *less; /* with the ratio in it; else the words of a count or share */
};

static const struct reason reasons[] = {
	{ RAMA_REPORT_METRIC_write_size, RATIO, 'w', true, true, "writes are %s larger",
	  "writes are %s smaller" },
	{ RAMA_REPORT_METRIC_read_size, RATIO, 'r', true, true, "reads are %s larger",
	  "reads are %s smaller" },
	{ RAMA_REPORT_METRIC_bytes_written, RATIO, 'w', false, true, "%s as many bytes written",
	  "%s fewer bytes written" },
	{ RAMA_REPORT_METRIC_bytes_read, RATIO, 'r', false, true, "%s as many bytes read",
	  "%s fewer bytes read" },
	{ RAMA_REPORT_METRIC_disk_written, RATIO, 'w', false, false,
	  "%s as many bytes reach the disk", "%s fewer bytes reach the disk" },
	{ RAMA_REPORT_METRIC_disk_read, RATIO, 'r', false, false, "%s as many bytes come from disk",
	  "%s fewer bytes come from disk" },
	{ RAMA_REPORT_METRIC_disk_write_size, RATIO, 'w', true, false,
	  "writes to disk are %s larger", "writes to disk are %s smaller" },
	{ RAMA_REPORT_METRIC_disk_read_size, RATIO, 'r', true, false,
	  "reads from disk are %s larger", "reads from disk are %s smaller" },
	{ RAMA_REPORT_METRIC_metas, RATIO, 'm', false, true, "%s as many opens, seeks and stats",
	  "%s fewer opens, seeks and stats" },
	{ RAMA_REPORT_METRIC_writes, RATIO, 'w', false, false, "%s as many writes",
	  "%s fewer writes" },
	{ RAMA_REPORT_METRIC_reads, RATIO, 'r', false, false, "%s as many reads",
	  "%s fewer reads" },
	{ RAMA_REPORT_METRIC_active_ranks, RATIO, '*', true, true, "%s as many ranks move data",
	  "%s fewer ranks move data" },
	{ RAMA_REPORT_METRIC_random_reads, SHARE, 'r', false, true, "of reads jump in the file",
	  NULL },
	{ RAMA_REPORT_METRIC_random_writes, SHARE, 'w', false, true, "of writes jump in the file",
	  NULL },
	{ RAMA_REPORT_METRIC_locks, CALLS, '*', false, true, "locks", NULL },
	{ RAMA_REPORT_METRIC_syncs, CALLS, '*', false, true, "syncs", NULL },
	{ RAMA_REPORT_METRIC_seeks, CALLS, '*', false, true, "seeks", NULL },
};

/* reading, writing or metadata: which of them changed most the way that I/O as a whole did; 0:
 * none */
static char part_of(const struct rama_report_diff *d, int sign)
{
	static const enum rama_report_metric time[] = { RAMA_REPORT_METRIC_read_time,
							RAMA_REPORT_METRIC_write_time,
							RAMA_REPORT_METRIC_meta_time };
	double most = 0;
	char part = 0;

	for (unsigned i = 0; i < 3; i++) {
		double saved = 0;

		for (unsigned s = 0; s < 2; s++) {
			int64_t n = d->side[s].view->nprocs;

			saved += (s == 0 ? 1 : -1) * d->metrics[time[i]].value[s] /
				 (double)(n > 0 ? n : 1);
		}
		if (sign * saved > most) {
			most = sign * saved;
			part = "rwm"[i];
		}
	}
	return part;
}

#define SHARE_LEAST 0.2 /* of accesses: less of a change explains nothing */
#define CALLS_LEAST 100 /* calls more than before: fewer explain nothing */

/* the same for figures that one side may have none of */
static double explains_none(const struct reason *r, const double v[2], int sign)
{
	double more = sign > 0 ? v[0] : v[1], less = sign > 0 ? v[1] : v[0];

	if (r->how == SHARE)
		return more - less >= SHARE_LEAST ? 1 + 20 * (more - less) : 0;
	if (!(more - less >= CALLS_LEAST) || more < TELLING * less)
		return 0;
	/* none to thousands is a change as large as ten to thousands, no larger */
	return more / fmax(less, more / 100);
}

/* by how much it changed, if that explains it; else 0 */
static double explains(const struct rama_report_diff *d, const struct reason *r, char part,
		       int sign)
{
	const double *v = d->metrics[r->metric].value;
	double ratio;

	if (r->part != part && r->part != '*')
		return 0;
	if (r->how != RATIO)
		return explains_none(r, v, sign);
	if (!(v[0] > 0) || !(v[1] > 0))
		return 0;
	ratio = v[1] / v[0];
	if ((sign > 0) != ((ratio > 1) == r->inverse))
		return 0;
	ratio = ratio > 1 ? ratio : 1 / ratio;
	return ratio >= TELLING ? ratio : 0;
}

/* those that mean the same thing are told once: larger requests are fewer, more bytes take more
 * of them */
static bool alike(const struct reason *a, const struct reason *b)
{
	static const enum rama_report_metric sizes[] = { RAMA_REPORT_METRIC_write_size,
							 RAMA_REPORT_METRIC_read_size,
							 RAMA_REPORT_METRIC_disk_write_size,
							 RAMA_REPORT_METRIC_disk_read_size };
	bool size[2] = { false, false };

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size[0] |= a->metric == sizes[i];
		size[1] |= b->metric == sizes[i];
	}
	return size[0] == size[1] || b->metric == RAMA_REPORT_METRIC_writes ||
	       b->metric == RAMA_REPORT_METRIC_reads;
}

static void put_reason(struct text *t, const struct rama_report_diff *d, const struct reason *r,
		       double ratio)
{
	const double *v = d->metrics[r->metric].value;
	char n[RAMA_HUMAN], was[RAMA_HUMAN];
	const char *fmt = v[1] > v[0] ? r->more : r->less, *at;

	if (r->how == SHARE) {
		add(t, "%s %s instead of %s", rama_human_share(n, v[1]), r->more,
		    rama_human_share(was, v[0]));
		return;
	}
	if (r->how == CALLS) {
		add(t, "%s %s instead of %s", v[1] > 0 ? rama_human_count(n, (int64_t)v[1]) : "no",
		    r->more, v[0] > 0 ? rama_human_count(was, (int64_t)v[0]) : "none");
		return;
	}
	at = strstr(fmt, "%s");
	rama_human_ratio(n, ratio);
	add(t, "%.*s%s%s", (int)(at - fmt), fmt, n, at + 2);
}

/* 0: it explains nothing */
static double weight_of(double ratio, bool asked)
{
	return ratio > 1 ? log(ratio) * (asked ? 1.5 : 1) : 0;
}

static unsigned put_reasons(struct text *t, const struct rama_report_diff *d, int sign)
{
	const struct reason *told[REASONS_MOST] = { NULL };
	char part = part_of(d, sign);
	unsigned n = 0;

	while (n < REASONS_MOST) {
		const struct reason *best = NULL;
		double most = 0;

		for (unsigned i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
			double weight =
				weight_of(explains(d, &reasons[i], part, sign), reasons[i].asked);

			if (weight > most && (n == 0 || !alike(told[0], &reasons[i]))) {
				most = weight;
				best = &reasons[i];
			}
		}
		if (best == NULL)
			break;
		add(t, n == 0 ? ": " : ", ");
		put_reason(t, d, best, explains(d, best, part, sign));
		told[n++] = best;
	}
	return n;
}

/* the finding that came or went and costs most; was there one? */
static bool put_finding(struct text *t, const struct rama_report_diff *d, int sign)
{
	enum rama_report_fate fate = sign > 0 ? RAMA_REPORT_FATE_GONE : RAMA_REPORT_FATE_NEW;

	for (size_t i = 0; i < d->n_findings; i++) {
		const struct rama_report_diff_finding *f = &d->findings[i];

		if (f->fate != fate ||
		    f->side[fate == RAMA_REPORT_FATE_NEW]->level < RAMA_DIAG_LEVEL_WARN)
			continue;
		add(t, ": %s %s %s", sign > 0 ? "no more" : "new", f->rule->id, f->rule->title);
		return true;
	}
	return false;
}

/* Nothing that the program does has changed: the same calls take longer, or less long. */
static void put_same_calls(struct text *t, const struct rama_report_diff *d, int sign)
{
	static const struct {
		char part;
		enum rama_report_metric time, calls;
		const char *name;
	} of[] = { { 'r', RAMA_REPORT_METRIC_read_time, RAMA_REPORT_METRIC_reads, "read" },
		   { 'w', RAMA_REPORT_METRIC_write_time, RAMA_REPORT_METRIC_writes, "write" },
		   { 'm', RAMA_REPORT_METRIC_meta_time, RAMA_REPORT_METRIC_metas,
		     "metadata call" } };
	char part = part_of(d, sign), n[RAMA_HUMAN];

	for (unsigned i = 0; i < sizeof(of) / sizeof(*of); i++) {
		const double *time = d->metrics[of[i].time].value,
			     *calls = d->metrics[of[i].calls].value;
		double each[2] = { time[0] / calls[0], time[1] / calls[1] };
		double ratio = sign > 0 ? each[0] / each[1] : each[1] / each[0];

		if (of[i].part != part || !isfinite(ratio) || ratio < TELLING)
			continue;
		add(t,
		    ": a %s takes %s %s, and the program does the same: caches, other load or "
		    "another file system",
		    of[i].name, rama_human_ratio(n, ratio), sign > 0 ? "less" : "as long");
	}
}

static void put_io(struct text *t, const struct rama_report_diff *d)
{
	const struct rama_report_diff_metric *m = &d->metrics[RAMA_REPORT_METRIC_io_time];
	char n[3][RAMA_HUMAN];
	int sign = m->value[1] < m->value[0] ? 1 : -1;

	rama_human_seconds(n[0], m->value[0]);
	rama_human_seconds(n[1], m->value[1]);
	rama_human_seconds(n[2], fabs(m->value[1] - m->value[0]));
	if (m->value[0] <= 0 && m->value[1] <= 0) {
		add(t, "Neither run spends time in I/O.");
		return;
	}
	if (m->change == RAMA_REPORT_SAME) {
		add(t, "A and B spend about the same time in I/O: %s and %s.", n[0], n[1]);
		return;
	}
	add(t, "B spends %s %s in I/O (%s instead of %s)", n[2], sign > 0 ? "less" : "more", n[1],
	    n[0]);
	if (put_reasons(t, d, sign) == 0 && !put_finding(t, d, sign))
		put_same_calls(t, d, sign);
	add(t, ".");
}

static void put_run_time(struct text *t, const struct rama_report_diff *d)
{
	const struct rama_report_diff_metric *m = &d->metrics[RAMA_REPORT_METRIC_run_time];
	char n[3][RAMA_HUMAN];

	rama_human_duration(n[0], m->value[0]);
	rama_human_duration(n[1], m->value[1]);
	if (m->change == RAMA_REPORT_SAME) {
		add(t, " Run time is the same, %s.", n[1]);
		return;
	}
	rama_human_share(n[2], m->value[0] > 0 ? fabs(m->value[1] - m->value[0]) / m->value[0] : 1);
	add(t, " Run time went %s from %s to %s (%s%s).",
	    m->change == RAMA_REPORT_LESS ? "down" : "up", n[0], n[1],
	    m->change == RAMA_REPORT_LESS ? "−" : "+", n[2]);
}

const char *rama_report_diff_verdict(struct rama_report_diff *d)
{
	struct text t = { .used = 0 };

	put_io(&t, d);
	put_run_time(&t, d);
	return rama_arena_text(&d->arena, t.s, t.used);
}
