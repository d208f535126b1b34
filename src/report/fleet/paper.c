/* SPDX-License-Identifier: BSD-3-Clause */
/* paper.c: many jobs as sentences and tables. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/human.h"
#include "report/fleet/fleet.h"

#define PROGRAMS_MOST 10
#define DAMAGED_MOST 20

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static double per(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

static const char *day(struct rama_report_paper *p, int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;
	char text[40];

	if (seconds <= 0 || gmtime_r(&t, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%d", &tm) == 0)
		return "?";
	return rama_report_paper_fmt(p, "%s", text);
}

static const char *user_of(struct rama_report_paper *p, const char *user, int64_t uid)
{
	return user != NULL ? rama_report_paper_text(p, user)
			    : rama_report_paper_fmt(p, "%lld", (long long)uid);
}

static enum rama_tone tone_of(enum rama_diag_level level)
{
	return level == RAMA_DIAG_LEVEL_HIGH   ? RAMA_TONE_BAD
	       : level == RAMA_DIAG_LEVEL_WARN ? RAMA_TONE_WARN
					       : RAMA_TONE_DIM;
}

/* ---- what comes first ------------------------------------------------------------------------ */

static void head(const struct rama_report_fleet *f, struct rama_report_paper *p)
{
	char n[8][RAMA_HUMAN];

	rama_report_paper_head(
		p, RAMA_TONE_PLAIN,
		rama_report_paper_fmt(
			p, "%s log%s · %s job%s · %s user%s · %s program%s · %s to %s",
			rama_human_count(n[0], (int64_t)f->n_order), plural(f->n_order),
			rama_human_count(n[1], (int64_t)f->n_jobs), plural(f->n_jobs),
			rama_human_count(n[2], (int64_t)f->n_users), plural(f->n_users),
			rama_human_count(n[3], (int64_t)f->n_exes), plural(f->n_exes),
			day(p, f->first_start), day(p, f->last_start)));
	rama_report_paper_head(
		p, RAMA_TONE_PLAIN,
		rama_report_paper_fmt(
			p, "read %s · written %s · %s files · %s of run time, %s in I/O (%s)",
			rama_human_bytes(n[0], f->bytes_read),
			rama_human_bytes(n[1], f->bytes_written),
			rama_human_count(n[2], (int64_t)f->files),
			rama_human_duration(n[3], f->run_time),
			rama_human_duration(n[4], f->io_time),
			rama_human_share(n[5], f->run_time > 0 ? f->io_time / f->run_time : 0)));
	if (f->n_unread + f->n_damaged > 0)
		rama_report_paper_head(
			p, RAMA_TONE_WARN,
			rama_report_paper_fmt(p, "%s log%s could not be read, %s only in part",
					      rama_human_count(n[0], (int64_t)f->n_unread),
					      plural(f->n_unread),
					      rama_human_count(n[1], (int64_t)f->n_damaged)));
}

static void verdict(const struct rama_report_fleet *f, struct rama_report_paper *p)
{
	char n[4][RAMA_HUMAN];

	p->tone = f->n_high > 0 ? RAMA_TONE_BAD : f->n_warn > 0 ? RAMA_TONE_WARN : RAMA_TONE_GOOD;
	if (f->n_jobs == 0)
		p->verdict = "No job could be read.";
	else if (f->n_high + f->n_warn == 0)
		p->verdict =
			rama_report_paper_fmt(p, "None of %s job%s has a finding that costs much.",
					      rama_human_count(n[0], (int64_t)f->n_jobs),
					      plural(f->n_jobs));
	else
		p->verdict = rama_report_paper_fmt(
			p, "%s of %s job%s (%s) could be faster: about %s of run time lost.",
			rama_human_count(n[0], (int64_t)(f->n_high + f->n_warn)),
			rama_human_count(n[1], (int64_t)f->n_jobs), plural(f->n_jobs),
			rama_human_share(n[2], (double)(f->n_high + f->n_warn) / (double)f->n_jobs),
			rama_human_duration(n[3], f->cost));
}

/* ---- how often each finding occurs ----------------------------------------------------------- */

static void rule_row(const struct rama_report_fleet *f, struct rama_report_paper *p,
		     struct rama_grid *s, unsigned rule)
{
	const struct rama_report_fleet_rule *r = &f->rules[rule];
	struct rama_grid_cell *row = rama_report_paper_row(p, s);

	row[0] = rama_grid_text_cell(rama_diag_rules[rule].id);
	row[1] = rama_grid_text_cell(rama_diag_rules[rule].title);
	row[2] = rama_report_paper_value(p, "count", (double)r->found);
	row[3] = rama_report_paper_value(p, "share", per((double)r->found, (double)f->n_jobs));
	row[4] = rama_report_paper_value(p, "share", per((double)r->found, (double)r->applies));
	row[5] = rama_report_paper_value(p, "count", (double)r->jobs[RAMA_DIAG_LEVEL_HIGH]);
	row[6] = rama_report_paper_value(p, "count", (double)r->jobs[RAMA_DIAG_LEVEL_WARN]);
	row[7] = rama_report_paper_value(p, "count", (double)r->jobs[RAMA_DIAG_LEVEL_INFO]);
	row[8] = rama_report_paper_value(p, "count", (double)r->users);
	row[9] = rama_report_paper_value(p, "count", (double)r->exes);
	row[10] = rama_report_paper_value(p, "s", r->cost);
	row[11] = rama_grid_text_cell(
		r->worst != UINT32_MAX ? rama_report_paper_text(p, f->exes[r->worst].name) : NULL);
	for (unsigned c = 2; c < 11; c++) {
		if (!(row[c].value > 0))
			row[c].tone = RAMA_TONE_DIM;
		else if (c >= 5 && c <= 7)
			row[c].tone = tone_of(RAMA_DIAG_LEVEL_HIGH + 5 - c);
	}
}

static void findings(const struct rama_report_fleet *f, struct rama_report_paper *p, bool all)
{
	static const struct rama_grid_column columns[] = {
		{ .key = "rule", .header = "rule" },
		{ .key = "title", .header = "finding", .wide = true },
		{ .key = "jobs", .header = "jobs", .unit = "count" },
		{ .key = "share", .header = "of all", .unit = "share" },
		{ .key = "applicable",
		  .header = "of those it concerns",
		  .unit = "share",
		  .drop = 3 },
		{ .key = "high", .header = "HIGH", .unit = "count", .drop = 1 },
		{ .key = "warn", .header = "WARN", .unit = "count", .drop = 1 },
		{ .key = "info", .header = "INFO", .unit = "count", .drop = 4 },
		{ .key = "users", .header = "users", .unit = "count" },
		{ .key = "programs", .header = "programs", .unit = "count" },
		{ .key = "cost", .header = "lost", .unit = "s", .bar = true },
		{ .key = "worst", .header = "most by", .drop = 5 },
	};
	struct rama_grid *s = rama_report_paper_sheet(p, "findings",
						      "How often each finding occurs", columns, 12);
	unsigned hidden = 0;

	s->none = "No finding in any job.";
	for (unsigned i = 0; i < f->n_rules; i++) {
		if (f->rules[f->rule_order[i]].found == 0 && !all)
			hidden++;
		else
			rule_row(f, p, s, f->rule_order[i]);
	}
	s->note = rama_report_paper_fmt(
		p,
		"Jobs, users, programs and seconds: of findings WARN and HIGH%s. Seconds may be "
		"counted by "
		"two findings of a job.",
		hidden > 0 ? rama_report_paper_fmt(
				     p, "; %u that are INFO only are left out (--verbose)", hidden)
			   : "");
}

/* ---- jobs ------------------------------------------------------------------------------------ */

#define JOB_COLUMNS                                                                          \
	{ .key = "job", .header = "job" },                                                   \
		{ .key = "program", .header = "program", .wide = true },                     \
		{ .key = "user", .header = "user" },                                         \
		{ .key = "start", .header = "start", .drop = 5 },                            \
		{ .key = "steps", .header = "steps", .unit = "count", .drop = 6 },           \
		{ .key = "ranks", .header = "ranks", .unit = "count" },                      \
		{ .key = "run_time", .header = "run time", .unit = "s" },                    \
		{ .key = "io_time", .header = "in I/O", .unit = "s" },                       \
		{ .key = "io_share", .header = "share", .unit = "share", .drop = 1 },        \
		{ .key = "bytes_read", .header = "read", .unit = "bytes", .drop = 2 },       \
		{ .key = "bytes_written", .header = "written", .unit = "bytes", .drop = 2 }, \
		{ .key = "rate", .header = "rate", .unit = "bytes/s", .drop = 3 },           \
		{ .key = "meta_time", .header = "metadata", .unit = "s", .drop = 4 },        \
		{ .key = "files", .header = "files", .unit = "count", .drop = 7 },           \
		{ .key = "cost", .header = "lost", .unit = "s", .bar = true },               \
		{ .key = "level", .header = "level", .drop = 1 },                            \
	{                                                                                    \
		.key = "rule", .header = "worst"                                             \
	}
#define JOB_CELLS 17
#define LIST_CELLS (JOB_CELLS + 1)

static void job_cells(const struct rama_report_fleet *f, struct rama_report_paper *p,
		      const struct rama_report_fleet_job *j, struct rama_grid_cell *row)
{
	row[0] = rama_grid_text_cell(rama_report_paper_fmt(p, "%lld", (long long)j->jobid));
	row[1] = rama_grid_text_cell(rama_report_paper_text(p, f->exes[j->exe].name));
	row[2] = rama_grid_text_cell(user_of(p, j->user, j->uid));
	row[3] = rama_grid_text_cell(day(p, j->start_sec));
	row[4] = rama_report_paper_value(p, "count", (double)j->steps);
	row[5] = rama_report_paper_value(p, "count", (double)j->nprocs);
	row[6] = rama_report_paper_value(p, "s", j->run_time);
	row[7] = rama_report_paper_value(p, "s", j->io_time);
	row[8] = rama_report_paper_value(p, "share", per(j->io_time, j->run_time));
	row[9] = rama_report_paper_value(p, "bytes", j->bytes_read);
	row[10] = rama_report_paper_value(p, "bytes", j->bytes_written);
	row[11] = rama_report_paper_value(p, "bytes/s", j->rate);
	row[12] = rama_report_paper_value(p, "s", j->meta_time);
	row[13] = rama_report_paper_value(p, "count", (double)j->files);
	row[14] = rama_report_paper_value(p, "s", j->cost);
	row[15] = rama_grid_text_cell(rama_diag_level_name[j->level]);
	row[15].tone = tone_of(j->level);
	row[16] = rama_grid_text_cell(j->worst != UINT16_MAX ? rama_diag_rules[j->worst].id : NULL);
}

/* the columns of a list of jobs: those that it is about are never left out */
static const struct rama_grid_column *list_columns(struct rama_report_paper *p,
						   const struct rama_report_fleet_top_info *t)
{
	static const struct rama_grid_column columns[LIST_CELLS] = {
		JOB_COLUMNS, { .key = "log", .header = "log", .wide = true, .drop = 8 }
	};
	struct rama_grid_column *own = rama_arena_alloc(&p->arena, sizeof(columns));

	if (own == NULL) {
		p->failed = true;
		return columns;
	}
	memcpy(own, columns, sizeof(columns));
	for (unsigned c = 0; c < LIST_CELLS; c++)
		if (strstr(t->columns, own[c].key) != NULL)
			own[c].drop = 0;
	return own;
}

static void lists(const struct rama_report_fleet *f, struct rama_report_paper *p)
{
	for (unsigned t = 0; t < RAMA_REPORT_FLEET_TOPS; t++) {
		const struct rama_report_fleet_top_info *info = &rama_report_fleet_top_info[t];
		struct rama_grid *s;

		if (f->n_top[t] == 0)
			continue;
		s = rama_report_paper_sheet(p, info->name, info->title, list_columns(p, info),
					    LIST_CELLS);
		for (size_t i = 0; i < f->n_top[t]; i++) {
			const struct rama_report_fleet_job *j = &f->jobs[f->top[t][i]];
			struct rama_grid_cell *row = rama_report_paper_row(p, s);

			job_cells(f, p, j, row);
			row[JOB_CELLS] = rama_grid_text_cell(
				rama_report_paper_text(p, f->logs[f->order[j->first]].path));
		}
	}
}

static void programs(const struct rama_report_fleet *f, struct rama_report_paper *p)
{
	static const struct rama_grid_column columns[] = {
		{ .key = "program", .header = "program", .wide = true },
		{ .key = "jobs", .header = "jobs", .unit = "count" },
		{ .key = "with_findings", .header = "with findings", .unit = "count" },
		{ .key = "run_time", .header = "run time", .unit = "s" },
		{ .key = "io_time", .header = "in I/O", .unit = "s" },
		{ .key = "bytes", .header = "moved", .unit = "bytes" },
		{ .key = "cost", .header = "lost", .unit = "s", .bar = true },
	};
	struct rama_grid *s =
		rama_report_paper_sheet(p, "programs", "Programs that lose most", columns, 7);

	for (size_t i = 0; i < f->n_exes && i < PROGRAMS_MOST; i++) {
		const struct rama_report_fleet_exe *x = &f->exes[f->exe_order[i]];
		struct rama_grid_cell *row = rama_report_paper_row(p, s);

		row[0] = rama_grid_text_cell(rama_report_paper_text(p, x->name));
		row[1] = rama_report_paper_value(p, "count", (double)x->jobs);
		row[2] = rama_report_paper_value(p, "count", (double)x->bad);
		row[3] = rama_report_paper_value(p, "s", x->run_time);
		row[4] = rama_report_paper_value(p, "s", x->io_time);
		row[5] = rama_report_paper_value(p, "bytes", x->bytes);
		row[6] = rama_report_paper_value(p, "s", x->cost);
	}
	s->more = f->n_exes > PROGRAMS_MOST ? (unsigned)(f->n_exes - PROGRAMS_MOST) : 0;
}

static void damaged(const struct rama_report_fleet *f, struct rama_report_paper *p)
{
	static const struct rama_grid_column columns[] = {
		{ .key = "log", .header = "log", .wide = true },
		{ .key = "problem", .header = "problem", .wide = true }
	};
	struct rama_grid *s =
		rama_report_paper_sheet(p, "damaged", "Logs that are damaged", columns, 2);

	for (size_t i = 0; i < f->n_logs; i++) {
		struct rama_grid_cell *row;

		if (f->logs[i].problem == NULL)
			continue;
		if (s->n_rows == DAMAGED_MOST) {
			s->more++;
			continue;
		}
		row = rama_report_paper_row(p, s);
		row[0] = rama_grid_text_cell(rama_report_paper_text(p, f->logs[i].path));
		row[1] = rama_grid_text_cell(rama_report_paper_text(p, f->logs[i].problem));
	}
}

/* all jobs and all logs: for CSV */
static void data(const struct rama_report_fleet *f, struct rama_report_paper *p)
{
	static const struct rama_grid_column jobs[] = { JOB_COLUMNS };
	static const struct rama_grid_column logs[] = {
		{ .key = "log", .header = "" },
		{ .key = "job", .header = "" },
		{ .key = "uid", .header = "", .unit = "count" },
		{ .key = "program", .header = "" },
		{ .key = "ranks", .header = "", .unit = "count" },
		{ .key = "start_s", .header = "", .unit = "count" },
		{ .key = "run_time", .header = "", .unit = "s" },
		{ .key = "io_time", .header = "", .unit = "s" },
		{ .key = "cost", .header = "", .unit = "s" },
		{ .key = "rules", .header = "" },
		{ .key = "problem", .header = "" },
	};
	struct rama_grid *s = rama_report_paper_sheet(p, "jobs", "Jobs", jobs, JOB_CELLS);

	s->data = true;
	for (size_t i = 0; i < f->n_jobs; i++)
		job_cells(f, p, &f->jobs[i], rama_report_paper_row(p, s));
	s = rama_report_paper_sheet(p, "logs", "Logs", logs, 11);
	s->data = true;
	for (size_t i = 0; i < f->n_logs; i++) {
		const struct rama_report_fleet_log *l = &f->logs[i];
		struct rama_grid_cell *row = rama_report_paper_row(p, s);
		const char *rules = "";

		row[0] = rama_grid_text_cell(rama_report_paper_text(p, l->path));
		row[10] = rama_grid_text_cell(
			l->problem != NULL ? rama_report_paper_text(p, l->problem) : NULL);
		if (!l->read)
			continue;
		row[1] = rama_grid_text_cell(rama_report_paper_fmt(p, "%lld", (long long)l->jobid));
		row[2].value = (double)l->uid;
		row[3] = rama_grid_text_cell(rama_report_paper_text(p, f->exes[l->exe].name));
		row[4].value = (double)l->nprocs;
		row[5].value = (double)l->start_sec;
		row[6].value = l->run_time;
		row[7].value = l->io_time;
		row[8].value = l->cost;
		for (unsigned k = 0; k < l->n_hits; k++)
			if (l->hits[k].level >= RAMA_DIAG_LEVEL_WARN)
				rules = rama_report_paper_fmt(p, "%s%s%s", rules,
							      *rules != '\0' ? " " : "",
							      rama_diag_rules[l->hits[k].rule].id);
		row[9] = rama_grid_text_cell(rules);
	}
}

int rama_report_fleet_paper(const struct rama_report_fleet *f, struct rama_report_paper *p,
			    bool all)
{
	*p = (struct rama_report_paper){ .title = "I/O of many jobs" };
	head(f, p);
	verdict(f, p);
	findings(f, p, all);
	lists(f, p);
	programs(f, p);
	damaged(f, p);
	if (all)
		data(f, p);
	return p->failed ? RAMA_EMEMORY : 0;
}
