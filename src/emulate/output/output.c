/* SPDX-License-Identifier: BSD-3-Clause */
/* output.c: what was measured, for people. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "emulate/emulate.h"
#include "emulate/output/output.h"

#define ROWS_MOST 20 /* of a table; the rest is in the JSON form */

double rama_emu_tally_io(const struct rama_emu_tally *t)
{
	return t->read_time + t->write_time + t->open_time + t->sync_time;
}

struct rama_emu_side rama_emu_result_side(const struct rama_emu_result *r, bool write)
{
	const struct rama_emu_tally *t = &r->total;
	struct rama_emu_side s = { .bytes = write ? t->bytes_written : t->bytes_read,
				   .requests = write ? t->writes : t->reads,
				   .busy = write ? t->write_time : t->read_time,
				   .longest = write ? t->max_write : t->max_read };

	for (uint32_t i = 0; i < r->n_ranks; i++)
		s.absolute = fmax(s.absolute, write ? r->rank[i].write_time : r->rank[i].read_time);
	return s;
}

/* Two rates: over the whole run, which is what the user got, and over the time in requests of
 * the rank that was busiest with them, which is what the storage delivered and the paper
 * reports. */
static void put_side(struct rama_out *out, const struct rama_emu_result *r, bool write)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN];
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
}

static void put_times(struct rama_out *out, const struct rama_emu_result *r)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN], d[RAMA_HUMAN];
	const struct rama_emu_tally *t = &r->total;
	double n = r->n_ranks > 0 ? r->n_ranks : 1;

	rama_out_fmt(out,
		     "  %-9s %s I/O, %s waiting, %s computing, %s opening and syncing (mean of %u "
		     "ranks)\n",
		     "ranks", rama_human_seconds(a, (t->read_time + t->write_time) / n),
		     rama_human_seconds(b, t->wait_time / n),
		     rama_human_seconds(c, t->compute_time / n),
		     rama_human_seconds(d, (t->open_time + t->sync_time) / n), r->n_ranks);
}

/* ---- tables --------------------------------------------------------------------------------- */

static void put_row(struct rama_out *out, const char *name, const struct rama_emu_tally *t)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN], d[RAMA_HUMAN], f[RAMA_HUMAN];

	rama_out_fmt(out, "  %-24.24s %11s %11s %11s %11s %11s\n", name,
		     rama_human_bytes(a, (double)t->bytes_read),
		     rama_human_bytes(b, (double)t->bytes_written),
		     rama_human_seconds(c, rama_emu_tally_io(t)),
		     rama_human_seconds(d, t->wait_time), rama_human_seconds(f, t->compute_time));
}

static void put_head(struct rama_out *out, const char *what)
{
	rama_out_fmt(out, "\n  %-24s %11s %11s %11s %11s %11s\n", what, "read", "written", "I/O",
		     "waiting", "computing");
}

static void put_ranks(struct rama_out *out, const struct rama_emu_result *r)
{
	char name[32];

	if (r->n_ranks < 2)
		return;
	put_head(out, "rank");
	for (uint32_t i = 0; i < r->n_ranks && i < ROWS_MOST; i++) {
		snprintf(name, sizeof(name), "%u", i);
		put_row(out, name, &r->rank[i]);
	}
	if (r->n_ranks > ROWS_MOST)
		rama_out_fmt(out, "  and %u more: --json\n", r->n_ranks - ROWS_MOST);
}

/* one row of a table that shows the longest ones first */
struct row {
	const char *name;
	struct rama_emu_tally tally;
};

static int by_length(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double p = rama_emu_tally_io(&x->tally) + x->tally.compute_time;
	double q = rama_emu_tally_io(&y->tally) + y->tally.compute_time;

	return p > q ? -1 : p < q;
}

/* Nobody waits or computes in a file: how many requests there were instead, and how long one
 * took. */
static void put_file(struct rama_out *out, const char *name, const struct rama_emu_tally *t)
{
	char a[RAMA_HUMAN], b[RAMA_HUMAN], c[RAMA_HUMAN], d[RAMA_HUMAN], f[RAMA_HUMAN];
	uint64_t n = t->reads + t->writes;

	rama_out_fmt(out, "  %-24.24s %11s %11s %11s %11s %11s\n", name,
		     rama_human_bytes(a, (double)t->bytes_read),
		     rama_human_bytes(b, (double)t->bytes_written),
		     rama_human_seconds(c, rama_emu_tally_io(t)), rama_human_count(d, (int64_t)n),
		     rama_human_seconds(f, n > 0 ? (t->read_time + t->write_time) / (double)n : 0));
}

static void put_table(struct rama_out *out, struct row *rows, uint32_t n,
		      void (*put)(struct rama_out *, const char *, const struct rama_emu_tally *))
{
	if (n == 0)
		return;
	qsort(rows, n, sizeof(*rows), by_length);
	for (uint32_t i = 0; i < n && i < ROWS_MOST; i++)
		put(out, rows[i].name, &rows[i].tally);
	if (n > ROWS_MOST)
		rama_out_fmt(out, "  and %u more: --json\n", n - ROWS_MOST);
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
	put_head(out, "task");
	if (rows != NULL)
		put_table(out, rows, n, put_row);
	free(rows);
	free(waits);
}

static void put_files(struct rama_out *out, const struct rama_emu_result *r)
{
	struct row *rows = calloc((size_t)r->n_files + 1, sizeof(*rows));

	for (uint32_t i = 0; rows != NULL && i < r->n_files; i++)
		rows[i] = (struct row){ r->file[i].name, r->file[i].tally };
	if (rows != NULL && r->n_files > 0) {
		rama_out_fmt(out, "\n  %-24s %11s %11s %11s %11s %11s\n", "file", "read", "written",
			     "I/O", "requests", "a request");
		put_table(out, rows, r->n_files, put_file);
	}
	free(rows);
}

/* ---- a workflow ----------------------------------------------------------------------------- */

static void put_path(struct rama_out *out, const struct rama_emu_graph *g, const uint32_t *path,
		     int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (i == 6 && n > 9) {
			rama_out_text(out, " -> ...");
			i = n - 2;
		}
		rama_out_fmt(out, "%s%s", i == 0 ? ": " : " -> ", g->tasks[path[i]].id);
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
	put_times(out, r);
	if (m->graph != NULL) {
		put_critical(out, r, m);
		put_makespan(out, r, m);
	}
	put_flaws(out, r, m);
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
