/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/weekly.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/when.h"

#define HOUR 3600.0
#define NAME_MOST 200 /* bytes of a name that a table has use for */

/* ---- figures --------------------------------------------------------------------------------- */

/* 0.0022, 0.05, 3.20, 1,234 node-hours: a small site has lost something, too */
static const char *in_hours(char n[RAMA_HUMAN], double seconds)
{
	double h = seconds / HOUR;

	if (!(h > 0) || h >= 0.1)
		return rama_human_value(n, "count", h);
	if (h < 0.0001)
		return "< 0.0001";
	snprintf(n, RAMA_HUMAN, "%.2g", h);
	return n;
}

static const char *hours(struct rama_report_paper *p, double seconds)
{
	char n[RAMA_HUMAN];

	return rama_report_paper_fmt(p, "%s", in_hours(n, seconds));
}

/* "+0.5 (+20 %)"; what was not there before is new, what is no more is gone */
static const char *change(struct rama_report_paper *p, double now, double then)
{
	double by = now - then;
	char n[2][RAMA_HUMAN];

	if (!(then > 0) || !(now > 0))
		return now > 0 ? "new" : then > 0 ? "gone" : "";
	rama_human_share(n[1], (by < 0 ? -by : by) / then);
	if (strcmp(n[1], "0 %") == 0 || strcmp(n[1], "< 0.1 %") == 0)
		return "the same";
	return rama_report_paper_fmt(p, by < 0 ? "−%s (−%s)" : "+%s (+%s)",
				     in_hours(n[0], by < 0 ? -by : by), n[1]);
}

static const char *plural(double n)
{
	return n > 1 || n < 1 ? "s" : "";
}

static struct rama_grid_cell hours_cell(struct rama_report_paper *p, double seconds)
{
	return (struct rama_grid_cell){ .text = hours(p, seconds),
					.value = seconds / HOUR,
					.tone = seconds > 0 ? RAMA_TONE_PLAIN : RAMA_TONE_DIM };
}

static struct rama_grid_cell change_cell(struct rama_report_paper *p, double now, double then)
{
	return (struct rama_grid_cell){ .text = change(p, now, then),
					.value = (now - then) / HOUR,
					.tone = now > then   ? RAMA_TONE_WARN
						: now < then ? RAMA_TONE_GOOD
							     : RAMA_TONE_DIM };
}

/* ---- tables ---------------------------------------------------------------------------------- */

struct filling {
	struct rama_report_paper *p;
	struct rama_grid *sheet;
	enum rama_query_lost_by by;
	size_t top;
};

#define KEY(k, h)                                   \
	{                                           \
		.key = k, .header = h, .wide = true \
	}
#define LOST_COLUMNS                                                                 \
	{ .key = "lost", .header = "lost", .unit = "s", .drop = 3 },                 \
		{ .key = "node_hours",                                               \
		  .header = "node-hours lost",                                       \
		  .unit = "count",                                                   \
		  .bar = true },                                                     \
		{ .key = "before", .header = "before", .unit = "count", .drop = 1 }, \
	{                                                                            \
		.key = "change", .header = "change", .unit = "count"                 \
	}
static const struct rama_grid_column rule_columns[] = {
	{ .key = "rule", .header = "rule" },
	KEY("title", "finding"),
	{ .key = "jobs", .header = "jobs", .unit = "count" },
	{ .key = "users", .header = "users", .unit = "count", .drop = 2 },
	LOST_COLUMNS
};
static const struct rama_grid_column program_columns[] = {
	KEY("program", "program"),
	{ .key = "jobs", .header = "jobs", .unit = "count" },
	{ .key = "users", .header = "users", .unit = "count", .drop = 2 },
	{ .key = "share", .header = "of its time", .unit = "share", .drop = 4 },
	LOST_COLUMNS
};
static const struct rama_grid_column user_columns[] = {
	KEY("user", "user"),
	{ .key = "jobs", .header = "jobs", .unit = "count" },
	{ .key = "programs", .header = "programs", .unit = "count", .drop = 2 },
	{ .key = "share", .header = "of its time", .unit = "share", .drop = 4 },
	LOST_COLUMNS
};
static const struct rama_grid_column folder_columns[] = {
	KEY("folder", "folder"),
	{ .key = "jobs", .header = "jobs", .unit = "count" },
	{ .key = "users", .header = "users", .unit = "count", .drop = 2 },
	LOST_COLUMNS
};

static const struct {
	const char *key, *title, *note;
	const struct rama_grid_column *columns;
	unsigned n;
} tables[RAMA_QUERY_LOST_BYS] = {
#define TABLE(key, title, note, columns)                                        \
	{                                                                       \
		key, title, note, columns, sizeof(columns) / sizeof(*(columns)) \
	}
	[RAMA_QUERY_LOST_RULES] = TABLE(
		"rules", "What was lost",
		"Findings may overlap; iorama explain RULE tells what to change.", rule_columns),
	[RAMA_QUERY_LOST_PROGRAMS] = TABLE("programs", "By program", NULL, program_columns),
	[RAMA_QUERY_LOST_USERS] = TABLE("users", "By user", NULL, user_columns),
	[RAMA_QUERY_LOST_FOLDERS] =
		TABLE("folders", "By file system",
		      "The first folder of the files; what a job lost is shared out by the time "
		      "that it spent with the files of each.",
		      folder_columns),
#undef TABLE
};

static const char *name_of(struct rama_report_paper *p, const char *key)
{
	char text[NAME_MOST + 1];

	snprintf(text, sizeof(text), "%s", key);
	return *key != '\0' ? rama_report_paper_text(p, text) : "(not known)";
}

static void add_row(void *ctx, const struct rama_query_lost_row *r)
{
	struct filling *f = ctx;
	struct rama_report_paper *p = f->p;
	struct rama_grid_cell *to;
	unsigned n = 0;

	if (!(r->now.node_lost > 0) && !(r->then.node_lost > 0))
		return;
	if (f->sheet->n_rows == f->top) {
		f->sheet->more++;
		return;
	}
	to = rama_report_paper_row(p, f->sheet);
	to[n++] = rama_grid_text_cell(name_of(p, r->key));
	if (f->by == RAMA_QUERY_LOST_RULES)
		to[n++] = rama_grid_text_cell(r->title);
	to[n++] = rama_report_paper_value(p, "count", r->now.jobs);
	to[n++] = rama_report_paper_value(p, "count", r->others);
	if (f->by == RAMA_QUERY_LOST_PROGRAMS || f->by == RAMA_QUERY_LOST_USERS)
		to[n++] = rama_report_paper_value(
			p, "share",
			r->now.node_time > 0 ? r->now.node_lost / r->now.node_time : NAN);
	to[n++] = rama_report_paper_value(p, "s", r->now.lost);
	to[n++] = hours_cell(p, r->now.node_lost);
	to[n++] = hours_cell(p, r->then.node_lost);
	to[n++] = change_cell(p, r->now.node_lost, r->then.node_lost);
}

static int add_table(struct rama_store *s, const struct rama_study_weekly *w,
		     struct rama_report_paper *p, enum rama_query_lost_by by, struct rama_err *e)
{
	struct filling f = { .p = p, .by = by, .top = w->top };

	f.sheet = rama_report_paper_sheet(p, tables[by].key, tables[by].title, tables[by].columns,
					  tables[by].n);
	if (f.sheet == NULL)
		return rama_err_no_memory(e);
	f.sheet->note = tables[by].note;
	return rama_query_lost_list(s, &w->query, by, add_row, &f, e);
}

/* ---- what comes first ------------------------------------------------------------------------ */

static void take_all(void *ctx, const struct rama_query_lost_row *r)
{
	*(struct rama_query_lost_row *)ctx = *r;
}

static const char *moment(struct rama_report_paper *p, int64_t ns)
{
	char text[RAMA_WHEN];

	return rama_report_paper_fmt(p, "%.16s", rama_when_text(text, ns, 0));
}

static const char *share(char to[RAMA_HUMAN], const struct rama_query_lost_sums *s)
{
	return rama_human_share(to, s->node_time > 0 ? s->node_lost / s->node_time : 0);
}

static void verdict(struct rama_report_paper *p, const struct rama_query_lost_row *all)
{
	char n[3][RAMA_HUMAN];
	const char *by = change(p, all->now.node_lost, all->then.node_lost);

	p->tone = all->now.node_lost > all->then.node_lost ? RAMA_TONE_WARN : RAMA_TONE_GOOD;
	if (!(all->now.jobs > 0))
		p->verdict = "No job has ended in this time.";
	else if (!(all->now.node_lost > 0))
		p->verdict =
			rama_report_paper_fmt(p, "None of %s job%s has a finding that costs much.",
					      rama_human_count(n[0], (int64_t)all->now.jobs),
					      plural(all->now.jobs));
	else
		p->verdict = rama_report_paper_fmt(
			p, "%s node-hours lost by %s of %s job%s, %s of their time%s%s.",
			hours(p, all->now.node_lost), rama_human_count(n[0], (int64_t)all->losing),
			rama_human_count(n[1], (int64_t)all->now.jobs), plural(all->now.jobs),
			share(n[2], &all->now),
			strcmp(by, "new") == 0 ? "; nothing before" : "; against before: ",
			strcmp(by, "new") == 0 ? "" : by);
}

static void head(struct rama_report_paper *p, const struct rama_study_weekly *w,
		 const struct rama_query_lost_row *all)
{
	const struct rama_query_lost *q = &w->query;
	char n[2][RAMA_HUMAN];

	if (w->about != NULL)
		rama_report_paper_head(p, RAMA_TONE_PLAIN,
				       rama_report_paper_fmt(p, "only %s",
							     rama_report_paper_text(p, w->about)));
	for (unsigned i = 0; i < 2; i++) {
		const struct rama_query_lost_sums *s = i == 0 ? &all->now : &all->then;

		rama_report_paper_head(
			p, i == 0 ? RAMA_TONE_PLAIN : RAMA_TONE_DIM,
			rama_report_paper_fmt(
				p, "%s %s to %s: %s job%s, %s node-hours, %s of them lost (%s)",
				i == 0 ? "now:" : "before:",
				moment(p, i == 0 ? q->from : q->before),
				moment(p, i == 0 ? q->to : q->from),
				rama_human_count(n[0], (int64_t)s->jobs), plural(s->jobs),
				hours(p, s->node_time), hours(p, s->node_lost), share(n[1], s)));
	}
}

/* for scripts: the sums of both times */
static void add_totals(struct rama_report_paper *p, const struct rama_query_lost_row *all)
{
	static const struct rama_grid_column columns[] = {
		{ .key = "when", .header = "when" },
		{ .key = "jobs", .header = "jobs", .unit = "count" },
		{ .key = "lost", .header = "lost", .unit = "s" },
		{ .key = "node_hours", .header = "node-hours lost", .unit = "count" },
		{ .key = "node_hours_used", .header = "node-hours", .unit = "count" },
	};
	struct rama_grid *s = rama_report_paper_sheet(p, "totals", "In all", columns, 5);

	if (s == NULL)
		return;
	s->data = true;
	for (unsigned i = 0; i < 2; i++) {
		const struct rama_query_lost_sums *sums = i == 0 ? &all->now : &all->then;
		struct rama_grid_cell *to = rama_report_paper_row(p, s);

		to[0] = rama_grid_text_cell(i == 0 ? "now" : "before");
		to[1] = rama_report_paper_value(p, "count", sums->jobs);
		to[2] = rama_report_paper_value(p, "s", sums->lost);
		to[3] = hours_cell(p, sums->node_lost);
		to[4] = hours_cell(p, sums->node_time);
	}
}

int rama_study_weekly_paper(struct rama_store *s, const struct rama_study_weekly *w,
			    struct rama_report_paper *p, struct rama_err *e)
{
	struct rama_query_lost_row all = { 0 };
	int rc;

	*p = (struct rama_report_paper){ .title = "What was lost" };
	rc = rama_query_lost_list(s, &w->query, RAMA_QUERY_LOST_ALL, take_all, &all, e);
	if (rc != 0)
		return rc;
	verdict(p, &all);
	head(p, w, &all);
	for (unsigned by = RAMA_QUERY_LOST_RULES; rc == 0 && by < RAMA_QUERY_LOST_BYS; by++)
		rc = add_table(s, w, p, (enum rama_query_lost_by)by, e);
	add_totals(p, &all);
	return rc == 0 && p->failed ? rama_err_no_memory(e) : rc;
}
