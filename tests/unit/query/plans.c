/* SPDX-License-Identifier: BSD-3-Clause */
/* How SQLite answers what pages ask: by keys, whatever the store has grown to. */
#include "fill.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "query/series.h"
#include "query/site.h"
#include "store/handle.h"

#define JOB 1000
#define SECONDS 700

static const struct rama_store_db_ops *real; /* the store's */
static char plans[8000];		     /* of all that was read */

static int add_line(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	size_t n = strlen(plans);

	(void)ctx;
	(void)e;
	snprintf(plans + n, sizeof(plans) - n, "%s\n", row->cell[row->n - 1].text);
	return 0;
}

static int explain(void *db, const char *sql, int once, const struct rama_store_cell *args,
		   unsigned n_args, rama_store_row_fn fn, void *ctx, int64_t *changed,
		   struct rama_err *e)
{
	char text[4000];
	int rc;

	snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", sql);
	rc = real->run(db, text, once, args, n_args, add_line, NULL, NULL, e);
	return rc < 0 ? rc : real->run(db, sql, once, args, n_args, fn, ctx, changed, e);
}

/* a store whose statements leave their plans */
static struct rama_store *explained(void)
{
	static struct rama_store_db_ops ops;
	struct rama_store *s = filled_store();

	real = s->ops;
	ops = *real;
	ops.run = explain;
	if (is_sqlite())
		s->ops = &ops;
	*plans = '\0';
	return s;
}

static void done(struct rama_store *s)
{
	s->ops = real;
	rama_store_close(s);
}

static void has(const char *what, bool wanted)
{
	if (is_sqlite() && (strstr(plans, what) != NULL) != wanted)
		fail_msg("%s '%s' in:\n%s", wanted ? "no" : "there is", what, plans);
}

/* ---- rules ----------------------------------------------------------------------------------- */

struct rule {
	unsigned rows;
	int64_t jobs[2][2]; /* W01 and M01, HIGH and WARN */
	double cost[2][2];
};

static int take_rule(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	bool other = strcmp(row->cell[0].text, "W01") != 0, warn = row->cell[1].text[0] == 'W';
	struct rule *r = ctx;

	(void)e;
	r->rows++;
	r->jobs[other][warn] = row->cell[2].i;
	r->cost[other][warn] = row->cell[4].f;
	return 0;
}

static void rules_by_jobs_of_the_time(void **state)
{
	struct rama_query_site q = { .seen = { .all = true },
				     .since = T0 + 20 * 1000000000ll,
				     .limit = 100 };
	struct rama_store *s = explained();
	struct rule got = { 0 }, want = { 0 };
	struct rama_err e = { 0 };

	(void)state;
	for (unsigned i = 1; i <= FILLED; i++) {
		struct filled f = filled_job(i);
		bool other = i % 3 != 0, warn = i % 5 != 0;

		if (isnan(f.cost) || f.start < q.since)
			continue;
		want.rows += want.jobs[other][warn]++ == 0;
		want.cost[other][warn] += f.cost;
	}
	assert_int_equal(want.rows, 4);
	assert_int_equal(rama_query_rules_list(s, &q, take_rule, &got, &e), 0);
	assert_memory_equal(&got, &want, sizeof(got));
	has("SEARCH j USING INDEX jobs_start (start_ns>?)", true);
	has("SEARCH f USING PRIMARY KEY (job=?)", true);
	has("SCAN", false);
	done(s);
}

/* ---- series ---------------------------------------------------------------------------------- */

struct pace {
	unsigned rows;
	double bytes, time;
	int64_t last;
};

static int take_pace(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct pace *p = ctx;

	(void)e;
	p->rows++;
	p->last = row->cell[0].i;
	p->bytes += row->cell[1].f;
	p->time += row->cell[2].f;
	return 0;
}

static int count(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)row;
	(void)e;
	++*(unsigned *)ctx;
	return 0;
}

/* Second i: POSIX reads i bytes and writes 2 i in 4 s each, which MPI-IO says once more. */
static void fill_series(struct rama_store *s)
{
	static const char *const rows[] = { "'POSIX', 'read', 1, %u", "'POSIX', 'write', 1, 2 * %u",
					    "'MPI-IO', 'write', 1, 3 * %u" };
	char sql[200], what[60];

	for (unsigned i = 0; i < SECONDS; i++)
		for (size_t k = 0; k < LENGTH(rows); k++) {
			snprintf(what, sizeof(what), rows[k], i);
			snprintf(sql, sizeof(sql),
				 "INSERT INTO series VALUES (%d, 5000 + %u, %s, 4000000000, 5, 1, "
				 "0, 5);",
				 JOB, i, what);
			run_script(s, sql);
		}
}

static void a_course_by_keys(void **state)
{
	struct rama_query_course q = { .job = JOB, .points = 4000 };
	struct rama_store *s = explained();
	struct rama_err e = { 0 };
	struct pace got = { 0 };
	unsigned rows = 0;

	(void)state;
	fill_series(s);
	assert_int_equal(rama_query_pace_list(s, &q, take_pace, &got, &e), 0);
	assert_true(q.from == 5000 && q.to == 5000 + SECONDS && q.step == 1);
	assert_true(got.rows == SECONDS && got.last == 5000 + SECONDS - 1);
	assert_float_equal(got.bytes, 3.0 * SECONDS * (SECONDS - 1) / 2, 0.1);
	assert_float_equal(got.time, 8.0 * SECONDS, 1e-6);
	has("TEMP B-TREE", false);
	/* the ends: the first and the last row, and none between them */
	has("SCALAR SUBQUERY 1", true);
	has("SCALAR SUBQUERY 2", true);
	has("SCAN series", false);
	q = (struct rama_query_course){ .job = JOB, .points = 350 };
	got = (struct pace){ 0 };
	assert_int_equal(rama_query_pace_list(s, &q, take_pace, &got, &e), 0);
	assert_true(q.step == 2 && got.rows == SECONDS / 2);
	assert_float_equal(got.bytes, 3.0 * SECONDS * (SECONDS - 1) / 2, 0.1);
	run_script(s, "INSERT INTO series_ten SELECT job, second - second % 10, layer, kind,"
		      " sum(ops), sum(bytes), sum(ns), 0, 1, 0, 0 FROM series GROUP BY 1, 2, 3, 4;"
		      "DELETE FROM series WHERE second > 5000 AND second < 5699;");
	q = (struct rama_query_course){ .job = JOB, .points = 175 };
	got = (struct pace){ 0 };
	assert_int_equal(rama_query_pace_list(s, &q, take_pace, &got, &e), 0);
	assert_true(q.step == 10 && got.rows == SECONDS / 10);
	assert_float_equal(got.bytes, 3.0 * SECONDS * (SECONDS - 1) / 2, 0.1);
	q = (struct rama_query_course){ .job = JOB, .points = 4000 };
	assert_int_equal(rama_query_course_list(s, &q, count, &rows, &e), 0);
	assert_int_equal(rows, 3 * 2);
	has("SCAN series", false);
	q = (struct rama_query_course){ .job = JOB + 1, .points = 4000 }; /* of nothing */
	rows = 0;
	assert_int_equal(rama_query_pace_list(s, &q, count, &rows, &e), 0);
	assert_true(rows == 0 && q.from == 0 && q.to == 0);
	done(s);
}

UNIT_GROUP(plans, test(rules_by_jobs_of_the_time), test(a_course_by_keys))
