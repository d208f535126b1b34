/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c: what was measured, for people. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/form/grid.h"
#include "base/form/pen.h"
#include "base/human.h"
#include "emulate/emulate.h"
#include "emulate/output/output.h"

#define ROWS_MOST 20 /* of a table; the rest is in the JSON form */
#define TABLE_WIDTH 100

double rama_emu_tally_io(const struct rama_emu_tally *t)
{
	return t->read_time + t->write_time + t->open_time + t->sync_time;
}

/* Data that are not on disk yet are not written: syncs belong to writing. Modes that read in
 * threads of their own book the sum alone. */
static double side_time(const struct rama_emu_tally *t, bool write)
{
	if (write)
		return (t->write_busy > 0 ? t->write_busy : t->write_time) + t->sync_time;
	return t->read_busy > 0 ? t->read_busy : t->read_time;
}

struct rama_emu_side rama_emu_result_side(const struct rama_emu_result *r, bool write)
{
	const struct rama_emu_tally *t = &r->total;
	struct rama_emu_side s = { .bytes = write ? t->bytes_written : t->bytes_read,
				   .requests = write ? t->writes : t->reads,
				   .busy = write ? t->write_time : t->read_time,
				   .longest = write ? t->max_write : t->max_read };

	const struct rama_emu_latency *l = write ? &r->write : &r->read;

	for (uint32_t i = 0; i < r->n_ranks; i++)
		s.absolute = fmax(s.absolute, side_time(&r->rank[i], write));
	/* threads of a rank do not know of each other */
	s.absolute = r->seconds > 0 ? fmin(s.absolute, r->seconds) : s.absolute;
	s.p50 = fmin(rama_emu_latency_at(l, 0.50), s.longest);
	s.p95 = fmin(rama_emu_latency_at(l, 0.95), s.longest);
	s.p99 = fmin(rama_emu_latency_at(l, 0.99), s.longest);
	return s;
}

/* Two rates: over the whole run, which is what the user got, and over the time in requests of
 * the rank that was busiest with them, which is what the storage delivered and the paper
 * reports. */
static void put_side(struct rama_out *out, const struct rama_emu_result *r, bool write)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN], d[RAMA_HUMAN];
	struct rama_emu_side s = rama_emu_result_side(r, write);

	if (s.requests == 0)
		return;
	rama_out_fmt(out, "  %-9s %s in %s requests, %s over the run", write ? "written" : "read",
		     rama_human_bytes(a, (double)s.bytes), rama_human_count(b, (int64_t)s.requests),
		     rama_human_rate(c, r->seconds > 0 ? (double)s.bytes / r->seconds : 0));
	rama_out_fmt(out, "; I/O time %s, %s", rama_human_seconds(a, s.absolute),
		     rama_human_rate(b, s.absolute > 0 ? (double)s.bytes / s.absolute : 0));
	rama_out_fmt(out, "; a request %s, longest %s\n",
		     rama_human_seconds(a, s.busy / (double)s.requests),
		     rama_human_seconds(b, s.longest));
	rama_out_fmt(out, "  %-9s p50 %s, p95 %s, p99 %s, max %s\n", "",
		     rama_human_seconds(a, s.p50), rama_human_seconds(b, s.p95),
		     rama_human_seconds(c, s.p99), rama_human_seconds(d, s.longest));
}

static void put_times(struct rama_out *out, const struct rama_emu_result *r)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN], d[RAMA_HUMAN];
	const struct rama_emu_tally *t = &r->total;
	double n = r->n_ranks > 0 ? r->n_ranks : 1;
	double io = side_time(t, false) + side_time(t, true) - t->sync_time;

	rama_out_fmt(out,
		     "  %-9s %s I/O, %s waiting, %s computing, %s opening and syncing (mean of %u "
		     "rank%s)\n",
		     "ranks", rama_human_seconds(a, io / n),
		     rama_human_seconds(b, t->wait_time / n),
		     rama_human_seconds(c, t->compute_time / n),
		     rama_human_seconds(d, (t->open_time + t->sync_time) / n), r->n_ranks,
		     r->n_ranks == 1 ? "" : "s");
}

/* ---- tables --------------------------------------------------------------------------------- */

/* one row of a table */
struct row {
	const char *name;
	struct rama_emu_tally tally;
};

static double length_of(const struct rama_emu_tally *t)
{
	return rama_emu_tally_io(t) + t->compute_time;
}

static int by_length(const void *a, const void *b)
{
	double p = length_of(&((const struct row *)a)->tally);
	double q = length_of(&((const struct row *)b)->tally);

	return p > q ? -1 : p < q;
}

static struct rama_grid_cell number(struct rama_arena *a, const char *unit, double value)
{
	char text[RAMA_HUMAN];

	rama_human_value(text, unit, value);
	return (struct rama_grid_cell){ .text = rama_arena_text(a, text, strlen(text)),
					.value = value };
}

/* Nobody waits or computes in a file: how many requests there were instead, and how long one
 * took. */
static void fill_row(struct rama_grid *g, struct rama_arena *a, const struct row *r, bool file)
{
	const struct rama_emu_tally *t = &r->tally;
	uint64_t n = t->reads + t->writes;
	const double value[] = { (double)t->bytes_read, (double)t->bytes_written,
				 rama_emu_tally_io(t), file ? (double)n : t->wait_time,
				 !file	 ? t->compute_time
				 : n > 0 ? (t->read_time + t->write_time) / (double)n
					 : 0 };
	struct rama_grid_cell *cell = rama_grid_row(g);

	if (cell == NULL)
		return;
	cell[0] = rama_grid_text_cell(r->name);
	for (unsigned i = 0; i < sizeof(value) / sizeof(*value); i++)
		cell[i + 1] = number(a, g->columns[i + 1].unit, value[i]);
}

/* `what` a row is about: a task, a file or a rank */
static void put_table(struct rama_out *out, const char *what, const struct row *rows, uint32_t n)
{
	bool file = strcmp(what, "file") == 0;
	const struct rama_grid_column columns[] = {
		{ .key = what, .header = what, .wide = true },
		{ .key = "read", .header = "read", .unit = "bytes" },
		{ .key = "written", .header = "written", .unit = "bytes" },
		{ .key = "io", .header = "I/O", .unit = "s" },
		{ .key = "fourth",
		  .header = file ? "requests" : "waiting",
		  .unit = file ? "count" : "s" },
		{ .key = "fifth", .header = file ? "a request" : "computing", .unit = "s" },
	};
	struct rama_grid g = { .columns = columns,
			       .n_columns = sizeof(columns) / sizeof(*columns) };
	/* names come from workflow files and logs: none may reach the terminal as it is */
	const struct rama_grid_style style = { .width = TABLE_WIDTH, .utf8 = true, .pen = true };
	struct rama_arena arena = { 0 };

	for (uint32_t i = 0; i < n && i < ROWS_MOST; i++)
		fill_row(&g, &arena, &rows[i], file);
	if (n > 0)
		rama_out_char(out, '\n');
	rama_grid_text(out, &g, &style);
	if (n > ROWS_MOST)
		rama_out_fmt(out, "  and %u more: --json\n", n - ROWS_MOST);
	rama_grid_fini(&g);
	rama_arena_fini(&arena);
}

static void put_ranks(struct rama_out *out, const struct rama_emu_result *r)
{
	uint32_t n = r->n_ranks < ROWS_MOST ? r->n_ranks : ROWS_MOST;
	struct row rows[ROWS_MOST];
	char name[ROWS_MOST][16];

	for (uint32_t i = 0; i < n; i++) {
		snprintf(name[i], sizeof(name[i]), "%u", i);
		rows[i] = (struct row){ name[i], r->rank[i] };
	}
	if (r->n_ranks > 1)
		put_table(out, "rank", rows, r->n_ranks);
}

static void put_tasks(struct rama_out *out, const struct rama_emu_result *r,
		      const struct rama_emu_emulation *m)
{
	const struct rama_emu_graph *g = m->graph;
	uint32_t n = r->n_tasks < g->n_tasks ? r->n_tasks : g->n_tasks;
	struct rama_emu_task_wait *waits = rama_emu_result_waits(m);
	struct row *rows = calloc((size_t)n + 1, sizeof(*rows));

	for (uint32_t i = 0; rows != NULL && i < n; i++) {
		rows[i] = (struct row){ g->tasks[i].id, r->task[i] };
		if (waits != NULL)
			rows[i].tally.wait_time += waits[i].input + waits[i].rank;
	}
	if (rows != NULL) {
		qsort(rows, n, sizeof(*rows), by_length);
		put_table(out, "task", rows, n);
	}
	free(rows);
	free(waits);
}

static void put_files(struct rama_out *out, const struct rama_emu_result *r)
{
	struct row *rows = calloc((size_t)r->n_files + 1, sizeof(*rows));

	for (uint32_t i = 0; rows != NULL && i < r->n_files; i++)
		rows[i] = (struct row){ r->file[i].name, r->file[i].tally };
	if (rows != NULL) {
		qsort(rows, r->n_files, sizeof(*rows), by_length);
		put_table(out, "file", rows, r->n_files);
	}
	free(rows);
}

/* ---- a workflow ----------------------------------------------------------------------------- */

static void put_path(struct rama_out *out, const struct rama_emu_graph *g, const uint32_t *path,
		     int64_t n)
{
	struct rama_pen pen = { .o = out, .utf8 = true };

	for (int64_t i = 0; i < n; i++) {
		if (i == 6 && n > 9) {
			rama_out_text(out, " -> ...");
			i = n - 2;
		}
		rama_out_text(out, i == 0 ? ": " : " -> ");
		rama_pen_text(&pen, g->tasks[path[i]].id);
	}
	rama_out_char(out, '\n');
}

/* of the iteration in which it was longest */
static void put_critical(struct rama_out *out, const struct rama_emu_result *r,
			 const struct rama_emu_emulation *m)
{
	uint32_t iterations = rama_emu_result_iterations(m), longest = 0;
	char a[RAMA_HUMAN], b[RAMA_HUMAN];
	double sum = 0, most = -1, seconds;
	uint32_t *path;
	int64_t n;

	for (uint32_t k = 0; k < iterations; k++) {
		free(rama_emu_result_critical(m, k, &n, &seconds));
		sum += seconds;
		if (seconds > most) {
			most = seconds;
			longest = k;
		}
	}
	path = iterations > 0 ? rama_emu_result_critical(m, longest, &n, &seconds) : NULL;
	if (path == NULL)
		return;
	rama_out_fmt(out, "  %-9s %s of %s", "critical",
		     rama_human_seconds(a, fmin(sum, r->seconds)),
		     rama_human_seconds(b, r->seconds));
	if (iterations > 1)
		rama_out_fmt(out, "; %s in iteration %u of %u", rama_human_seconds(a, most),
			     longest + 1, iterations);
	put_path(out, m->graph, path, n);
	free(path);
}

static void put_makespan(struct rama_out *out, const struct rama_emu_result *r,
			 const struct rama_emu_emulation *m)
{
	double time = rama_emu_config_number(m->cfg, RAMA_EMU_P_time),
	       measured = m->graph->makespan;
	char a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN];

	if (measured <= 0)
		return;
	rama_out_fmt(out, "  %-9s %s; when it was measured %s", "makespan",
		     rama_human_duration(a, r->seconds), rama_human_duration(b, measured));
	if (time != 1)
		rama_out_fmt(out, ", x %.4g = %s", time, rama_human_duration(c, measured * time));
	rama_out_char(out, '\n');
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void put_flaws(struct rama_out *out, const struct rama_emu_result *r,
		      const struct rama_emu_emulation *m)
{
	char a[RAMA_HUMAN];

	if (!m->opt.verify)
		return;
	rama_out_fmt(out, "  %-9s", "verified");
	if (r->total.flaws.first < 0) {
		rama_out_fmt(out, " %s, all right\n",
			     rama_human_bytes(a, (double)r->total.bytes_read));
		return;
	}
	for (int i = 1; i < RAMA_EMU_FLAWS; i++)
		if (r->total.flaws.bad[i] > 0)
			rama_out_fmt(out, " %s %s;",
				     rama_human_bytes(a, (double)r->total.flaws.bad[i]),
				     rama_emu_flaw_name[i]);
	rama_out_char(out, '\n');
}

static void put_places(struct rama_out *out, const struct rama_emu_emulation *m)
{
	const char *dir;
	bool made;

	for (size_t i = 0; (dir = rama_emu_own_place_name(m->opt.own, i, &made)) != NULL; i++) {
		char *whole = realpath(dir, NULL);

		rama_out_fmt(out, "  %-9s %s%s\n", "in", whole != NULL ? whole : dir,
			     made ? ", which was not there and was made" : "");
		free(whole);
	}
}

void rama_emu_result_text(const struct rama_emu_result *r, const struct rama_emu_emulation *m,
			  struct rama_out *out)
{
	char a[RAMA_HUMAN];

	rama_out_fmt(out, "%s: %u rank%s (%s), %u node%s, engine %s, %s\n", m->cfg->mode,
		     r->n_ranks, r->n_ranks == 1 ? "" : "s", m->team->kind, m->team->n_nodes,
		     m->team->n_nodes == 1 ? "" : "s", m->opt.engine->name,
		     rama_human_seconds(a, r->seconds));
	put_side(out, r, false);
	put_side(out, r, true);
	rama_out_fmt(out,
		     "  %-9s bytes / I/O time of the rank that had most of it: its requests, those "
		     "that overlap once, writing with its syncs; from 0 s to %s\n",
		     "rates", rama_human_seconds(a, r->seconds));
	if (r->total.reads > 0 && !m->opt.cold && !m->opt.engine->direct &&
	    !m->opt.engine->no_files)
		rama_out_fmt(out,
			     "  %-9s not dropped: what is read may come from memory; --cold drops "
			     "files before they are read\n",
			     "caches");
	if (m->samples != NULL)
		rama_emu_repeats_text(m->samples, out);
	put_times(out, r);
	if (m->graph != NULL) {
		put_critical(out, r, m);
		put_makespan(out, r, m);
	}
	put_flaws(out, r, m);
	put_places(out, m);
	for (size_t at = 0; at < m->remarks.used;) {
		const char *end = memchr(m->remarks.buf + at, '\n', m->remarks.used - at);
		size_t n = end != NULL ? (size_t)(end - m->remarks.buf) - at : m->remarks.used - at;

		rama_out_fmt(out, "  %-9s ", "note");
		rama_out_bytes(out, m->remarks.buf + at, n);
		rama_out_char(out, '\n');
		at += n + 1;
	}
	if (m->graph != NULL)
		put_tasks(out, r, m);
	put_files(out, r);
	put_ranks(out, r);
}
