/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "query/sql.h"

#define SUM(x) "CAST(sum(" x ") AS DOUBLE PRECISION)" /* may be too much for an integer */
#define SECONDS(x) "CAST(sum(" x ") / 1e9 AS DOUBLE PRECISION)"

/* clang-format off */
static const char *const tables[] = {
	[RAMA_QUERY_JOB_FINDINGS] =
		"SELECT level, rule, cost, title FROM findings WHERE job = $1 ORDER BY number",
	[RAMA_QUERY_JOB_ACTIVITY] =
		"SELECT layer, " SUM("reads") ", " SUM("writes") ", " SUM("metas") ", "
		SUM("bytes_read")
		", " SUM("bytes_written") ", " SECONDS("read_ns + write_ns + meta_ns")
		" FROM activity WHERE job = $1 GROUP BY layer ORDER BY layer",
	[RAMA_QUERY_JOB_EVENTS] =
		"SELECT layer, kind, " SUM("ops") ", " SUM("failed") ", " SUM("bytes") ", "
		SECONDS("ns")
		", CAST(max(longest) / 1e9 AS DOUBLE PRECISION)"
		" FROM rollups WHERE job = $1 GROUP BY layer, kind ORDER BY layer, kind",
	[RAMA_QUERY_JOB_PROCESSES] =
		"SELECT rank, host, pid, state, start_ns, end_ns, made + dropped, stored, "
		"dropped, missed, exe"
		" FROM processes WHERE job = $1 ORDER BY rank, start_ns, number",
	[RAMA_QUERY_JOB_LOSSES] =
		"SELECT agent, why, " SUM("events") ", " SUM("messages")
		" FROM losses WHERE job = $1 GROUP BY agent, why ORDER BY agent, why",
	[RAMA_QUERY_JOB_FIGURES] = "SELECT name, value FROM figures WHERE job = $1 ORDER BY name",
	[RAMA_QUERY_JOB_TRIALS] =
		"SELECT change, rule, cost, gain, before_s, after_s, verdict, low, high, rounds, "
		"ranks, host, t_ns FROM trials WHERE job = $1 ORDER BY number",
};
/* clang-format on */

/* ---- which jobs ------------------------------------------------------------------------------ */

struct found {
	int64_t *job;
	size_t n, room;
};

static int take_job(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct found *f = ctx;

	if (!RAMA_GROW(f->job, f->room, f->n + 1))
		return rama_err_no_memory(e);
	f->job[f->n++] = row->cell[0].i;
	return 0;
}

/* Steps of the batch job that this one is a step of. Ids come again after years, and on other
 * clusters. step: "": all of them. */
static int find_steps(struct rama_store *s, int64_t job, const char *step, bool all,
		      struct found *f, struct rama_err *e)
{
	struct rama_store_cell args[] = { rama_query_cell_int(job), rama_query_cell_text(step),
					  rama_query_cell_text(step) };
	struct rama_query_sql sql;
	int rc;

	rama_query_sql_init(&sql);
	rama_query_sql_add(
		&sql,
		"SELECT b.number FROM jobs a JOIN jobs b ON b.jobid = a.jobid AND b.uid = a.uid AND"
		" b.batch_cluster = a.batch_cluster AND b.start_ns BETWEEN a.start_ns -"
		" 3000000000000000 AND a.start_ns + 3000000000000000 WHERE a.number = ? AND"
		" (a.batch_step <> '' OR a.batch_name <> '') AND (b.batch_step <> '' OR"
		" b.batch_name <> '') AND (? = '' OR b.batch_step = ?)",
		args);
	if (!all)
		rama_query_sql_add(&sql, " AND b.batch_restart = a.batch_restart", NULL);
	rama_query_sql_add(&sql, " ORDER BY b.start_ns, b.number LIMIT 10000", NULL);
	rc = rama_query_sql_run(&sql, s, take_job, f, e);
	rama_query_sql_fini(&sql);
	return rc;
}

static int find_newest(struct rama_store *s, int64_t jobid, struct found *f, struct rama_err *e)
{
	struct rama_store_cell id = rama_query_cell_int(jobid);
	struct rama_query_sql sql;
	int rc;

	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql,
			   "SELECT number FROM jobs WHERE jobid = ? ORDER BY start_ns DESC, number"
			   " DESC LIMIT 1",
			   &id);
	rc = rama_query_sql_run(&sql, s, take_job, f, e);
	rama_query_sql_fini(&sql);
	return rc;
}

/* "id=4242", "id=4242.0", "4242.0": its number, and the step or "" */
static bool is_batch(const char *word, int64_t *id, const char **step)
{
	bool said = strncmp(word, "id=", 3) == 0;
	char *end;

	word += said ? 3 : 0;
	if (*word < '0' || *word > '9')
		return false;
	errno = 0;
	*id = strtoll(word, &end, 10);
	*step = *end == '.' ? end + 1 : "";
	return errno == 0 && (*end == '.' ? end[1] != '\0' : said && *end == '\0');
}

int rama_query_job_find(struct rama_store *s, const char *word, bool all, int64_t **jobs, size_t *n,
			struct rama_err *e)
{
	struct found one = { 0 }, steps = { 0 };
	const char *step = "";
	int64_t id = 0, job = 0;
	bool batch = is_batch(word, &id, &step);
	int rc = batch ? find_newest(s, id, &one, e) : rama_store_find_job(s, word, &job, e);

	if (batch && one.n > 0)
		job = one.job[0];
	if (rc == 0 && batch && one.n == 0)
		rc = rama_err_set(e, RAMA_EMISSING, "no job %.200s in the store", word);
	/* a number that is not one of the store is the batch system's */
	if (rc == 0 && (batch || (*word >= '0' && *word <= '9' && strchr(word, '/') == NULL &&
				  strtoll(word, NULL, 10) != job)))
		rc = find_steps(s, job, step, all, &steps, e);
	if (rc == 0 && steps.n == 0 && *step != '\0')
		rc = rama_err_set(e, RAMA_EMISSING,
				  "job %" PRId64 " has no step %.100s in the store", id, step);
	if (rc == 0 && steps.n == 0)
		rc = take_job(
			&steps,
			&(struct rama_store_row){
				.n = 1,
				.cell = (struct rama_store_cell[]){ rama_query_cell_int(job) } },
			e);
	free(one.job);
	if (rc != 0)
		free(steps.job);
	*jobs = rc == 0 ? steps.job : NULL;
	*n = rc == 0 ? steps.n : 0;
	return rc;
}

/* ---- one of them ----------------------------------------------------------------------------- */

struct one {
	rama_store_row_fn fn;
	void *ctx;
	bool found;
};

static int take_one(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct one *o = ctx;
	int rc = o->fn(o->ctx, row, e);

	o->found = true;
	return rc < 0 ? rc : 1;
}

int rama_query_job_row(struct rama_store *s, int64_t job, const struct rama_query_metric *column,
		       unsigned n, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_cell arg = rama_query_cell_int(job);
	struct one o = { fn, ctx, false };
	struct rama_query_sql sql;
	int rc;

	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, "SELECT ", NULL);
	for (unsigned i = 0; i < n; i++) {
		rama_query_sql_add(&sql, i > 0 ? ", " : "", NULL);
		rama_query_sql_add(&sql, column[i].sql, NULL);
	}
	rama_query_sql_add(&sql, " FROM jobs j WHERE j.number = ?", &arg);
	rc = rama_query_sql_run(&sql, s, take_one, &o, e);
	rama_query_sql_fini(&sql);
	if (rc == 0 && !o.found)
		return rama_err_set(e, RAMA_EMISSING, "job %" PRId64 " is no longer there", job);
	return rc;
}

int rama_query_job_rows(struct rama_store *s, int64_t job, enum rama_query_job_table table,
			rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_cell arg = rama_query_cell_int(job);
	int rc = rama_store_select(s, tables[table], &arg, 1, fn, ctx, e);

	return rc < 0 ? rc : 0;
}

static int take_start(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	*(int64_t *)ctx = row->cell[0].i;
	return 1;
}

int rama_query_job_start(struct rama_store *s, int64_t job, int64_t *ns, struct rama_err *e)
{
	struct rama_store_cell arg = rama_query_cell_int(job);
	int rc;

	*ns = 0;
	rc = rama_store_select(s, "SELECT start_ns FROM jobs WHERE number = $1", &arg, 1,
			       take_start, ns, e);
	return rc < 0 ? rc : 0;
}

/* ---- its log --------------------------------------------------------------------------------- */

static void take_text(char *to, size_t room, const struct rama_store_cell *c)
{
	if (c->type == RAMA_STORE_CELL_TEXT && c->len < room)
		snprintf(to, room, "%s", c->text);
}

static int take_log(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_query_job_log *k = ctx;
	const struct rama_store_cell *c = row->cell;

	(void)e;
	take_text(k->key, sizeof(k->key), &c[0]);
	take_text(k->state, sizeof(k->state), &c[1]);
	k->events = c[2].i;
	k->logged = c[3].type != RAMA_STORE_CELL_NULL;
	take_text(k->path, sizeof(k->path), &c[3]);
	k->size = c[4].i;
	k->mtime_ns = c[5].i;
	k->kept = c[6].i != 0;
	k->seconds = c[7].i;
	return 1;
}

int rama_query_job_log_get(struct rama_store *s, int64_t job, struct rama_query_job_log *to,
			   struct rama_err *e)
{
	static const char sql[] =
		"SELECT j.key, j.state, j.events, l.path, l.size, l.mtime_ns, l.kept,"
		" (SELECT count(DISTINCT a.t_ns) FROM activity a WHERE a.job = j.number)"
		" FROM jobs j LEFT JOIN logs l ON l.job = j.number WHERE j.number = $1";
	struct rama_store_cell arg = rama_query_cell_int(job);
	struct one o = { take_log, to, false };
	int rc;

	*to = (struct rama_query_job_log){ 0 };
	rc = rama_store_select(s, sql, &arg, 1, take_one, &o, e);
	if (rc >= 0 && !o.found)
		return rama_err_set(e, RAMA_EMISSING, "job %" PRId64 " is not in the store", job);
	return rc < 0 ? rc : 0;
}

int rama_query_job_keys_list(struct rama_store *s, int64_t job, rama_store_row_fn fn, void *ctx,
			     struct rama_err *e)
{
	static const char sql[] =
		"SELECT x.key, (SELECT count(*) FROM processes p WHERE p.job = $1 AND p.end_ns IS"
		" NULL) FROM (SELECT 0 AS o, key FROM jobs WHERE number = $1 UNION ALL"
		" SELECT 1 AS o, key FROM aliases WHERE job = $1) x ORDER BY x.o, x.key";
	struct rama_store_cell arg = rama_query_cell_int(job);
	int rc = rama_store_select(s, sql, &arg, 1, fn, ctx, e);

	return rc < 0 ? rc : 0;
}

int rama_query_logs_list(struct rama_store *s, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	int rc = rama_store_select(
		s,
		"SELECT l.job, l.path, j.key FROM logs l JOIN jobs j ON j.number = l.job"
		" ORDER BY l.path, l.job",
		NULL, 0, fn, ctx, e);

	return rc < 0 ? rc : 0;
}

int rama_query_logs_beside(struct rama_store *s, int64_t job, rama_store_row_fn fn, void *ctx,
			   struct rama_err *e)
{
	static const char sql[] =
		"SELECT l.job, j.key FROM logs m JOIN logs l ON l.start_ns <= m.end_ns + "
		"3600000000000"
		" AND l.end_ns >= m.start_ns - 3600000000000 JOIN jobs j ON j.number = l.job"
		" WHERE m.job = $1 AND l.job <> m.job AND j.key LIKE '%/bare.%'"
		" ORDER BY l.start_ns, l.job";
	struct rama_store_cell cell = { .type = RAMA_STORE_CELL_INT, .i = job };
	int rc = rama_store_select(s, sql, &cell, 1, fn, ctx, e);

	return rc < 0 ? rc : 0;
}

int rama_query_served(struct rama_store *s, int64_t job, rama_store_row_fn fn, void *ctx,
		      struct rama_err *e)
{
	static const char sql[] =
		"SELECT v.of_job, v.body FROM logs m JOIN jobs j ON j.number = m.job"
		" JOIN served v ON v.username = j.username"
		" AND v.start_ns <= m.end_ns + 3600000000000"
		" AND v.end_ns >= m.start_ns - 3600000000000"
		" WHERE m.job = $1 AND NOT EXISTS (SELECT 1 FROM logs l WHERE l.job = v.of_job)"
		" ORDER BY v.start_ns, v.of_job";
	struct rama_store_cell cell = { .type = RAMA_STORE_CELL_INT, .i = job };
	int rc = rama_store_select(s, sql, &cell, 1, fn, ctx, e);

	return rc < 0 ? rc : 0;
}

/* ---- a live one ------------------------------------------------------------------------------ */

static int take_live(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_query_job_live *to = ctx;

	(void)e;
	if (row->n < 2)
		return 1;
	*to = (struct rama_query_job_live){ true, row->cell[0].i > 0 ? (uint64_t)row->cell[0].i : 0,
					    row->cell[1].i };
	return 1;
}

int rama_query_job_live_get(struct rama_store *s, const char *key, struct rama_query_job_live *to,
			    struct rama_err *e)
{
	static const char sql[] =
		"SELECT COALESCE(SUM(p.stored), 0), COUNT(*) - COUNT(p.end_ns) FROM processes p "
		"JOIN jobs j ON j.number = p.job WHERE j.key = $1";
	struct rama_store_cell arg = rama_query_cell_text(key);
	int rc;

	*to = (struct rama_query_job_live){ 0 };
	rc = rama_store_select(s, sql, &arg, 1, take_live, to, e);
	return rc < 0 ? rc : 0;
}
