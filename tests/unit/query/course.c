/* SPDX-License-Identifier: BSD-3-Clause */
/* One job over time: in steps that fit the picture, from the table that has such steps, with
 * nothing lost between them. Each
 * table of this store holds other bytes, so that it is known which of them was read. */
#include "fill.h"

#include <math.h>

#include "query/program.h"

#define B INT64_C(1699999200) /* s; a whole hour */
#define HOURS 2
#define SPAN (HOURS * 3600)

#define SERIES " (job, second, layer, kind, ops, bytes, ns, longest, ranks, slowest, slowest_ns) "
#define STEPS(n)                                                                        \
	"(WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < " #n \
	" - 1) SELECT i FROM s) t"
#define FILL(table, n, width, bytes)                                                 \
	"INSERT INTO " table SERIES "SELECT 1, 1699999200 + t.i * " #width           \
	", 'POSIX', 'read', 1, " #bytes                                              \
	", 1000, t.i, 2, 7, 9 FROM " STEPS(n) ";"                                    \
					      "INSERT INTO " table SERIES            \
					      "SELECT 1, 1699999200 + t.i * " #width \
					      ", 'MPI-IO', 'write', 1, 1000000"      \
					      ", 1000, 0, 2, 7, 9 FROM " STEPS(n) ";"

static struct rama_store *known_store(void)
{
	struct rama_store *s = fresh();

	/* one, two, three and four bytes a second */
	run_script(s,
		   FILL("series", 7200, 1, 1) FILL("series_ten", 720, 10, 20)
			   FILL("series_minute", 120, 60, 180) FILL("series_hour", 2, 3600, 14400));
	return s;
}

struct sum {
	unsigned rows;
	double bytes, ops;
	int64_t first, last, slowest;
};

static double real_of(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_INT ? (double)c->i : c->f;
}

static int add_step(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *c = row->cell;
	struct sum *to = ctx;

	(void)e;
	if (strcmp(c[1].text, "POSIX") != 0)
		return 0;
	to->first = to->rows++ == 0 ? c[0].i : to->first;
	assert_true(to->rows == 1 || c[0].i > to->last);
	to->last = c[0].i;
	to->ops += real_of(&c[3]);
	to->bytes += real_of(&c[4]);
	to->slowest = c[8].type == RAMA_STORE_CELL_INT ? c[8].i : -1;
	return 0;
}

static int add_pace(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct sum *to = ctx;

	(void)e;
	to->rows++;
	to->bytes += real_of(&row->cell[1]);
	return 0;
}

static const struct {
	unsigned points;
	int64_t step;
	unsigned per; /* bytes a second: which table */
	bool alone;   /* a step is a row */
} steps[] = { { 7200, 1, 1, true },	  { 9999, 1, 1, true },	 { 3600, 2, 1, false },
	      { 2400, 3, 1, false },	  { 2399, 10, 2, true }, { 1000, 10, 2, true },
	      { 720, 10, 2, true },	  { 719, 60, 3, true },	 { 60, 120, 3, false },
	      { 8, 900 + 2700, 4, true }, { 1, 7200, 4, false } };

static void steps_that_fit(void **state)
{
	struct rama_store *s = known_store();
	struct rama_err e = { 0 };

	(void)state;
	for (size_t i = 0; i < LENGTH(steps); i++) {
		struct rama_query_course q = { .job = 1, .points = steps[i].points }, p = q;
		struct sum all = { 0 }, pace = { 0 };

		assert_int_equal(rama_query_course_list(s, &q, add_step, &all, &e), 0);
		if (q.step != steps[i].step || all.rows != SPAN / steps[i].step ||
		    all.bytes != (double)SPAN * steps[i].per ||
		    all.slowest != (steps[i].alone ? 7 : -1))
			fail_msg("%u points: steps of %lld, %u of them, %g bytes, slowest %lld",
				 steps[i].points, (long long)q.step, all.rows, all.bytes,
				 (long long)all.slowest);
		assert_true(all.first == B && all.last == B + SPAN - steps[i].step);
		/* the same, of layers by which bytes leave a program only */
		assert_int_equal(rama_query_pace_list(s, &p, add_pace, &pace, &e), 0);
		assert_true(pace.rows == all.rows && pace.bytes == all.bytes && p.step == q.step);
	}
	rama_store_close(s);
}

static void parts_of_the_time(void **state)
{
	struct rama_store *s = known_store();
	struct rama_query_course q = { .job = 1, .points = 10, .from = B + 7, .to = B + 100 };
	struct sum sum = { 0 };
	struct rama_err e = { 0 };

	(void)state;
	assert_int_equal(rama_query_course_list(s, &q, add_step, &sum, &e), 0);
	assert_true(q.step == 10 && q.from == B && sum.rows == 10 && sum.first == B &&
		    sum.bytes == 200);
	q = (struct rama_query_course){ .job = 1, .points = 100, .from = B + 7, .to = B + 9 };
	sum = (struct sum){ 0 };
	assert_int_equal(rama_query_course_list(s, &q, add_step, &sum, &e), 0);
	assert_true(q.step == 1 && sum.rows == 2 && sum.first == B + 7);
	q = (struct rama_query_course){ .job = 2, .points = 100 }; /* nobody's */
	sum = (struct sum){ 0 };
	assert_int_equal(rama_query_course_list(s, &q, add_step, &sum, &e), 0);
	assert_int_equal(sum.rows, 0);
	for (unsigned i = 0; i < 4; i++) {
		q = (struct rama_query_course){ .job = 1,
						.points = i == 0   ? 0
							  : i == 1 ? 10001
								   : 9,
						.from = B,
						.to = i == 2 ? B - 1 : B + 1 };
		if (i == 3)
			q.to = 9000000001;
		assert_int_equal(rama_query_course_list(s, &q, add_step, &sum, &e), RAMA_EUSAGE);
	}
	rama_store_close(s);
}

/* ---- by rank, and small pictures ------------------------------------------------------------- */

struct rows {
	double v[16][5];
	unsigned n;
};

static int take_row(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rows *to = ctx;

	(void)e;
	assert_true(to->n < 16);
	for (unsigned i = 0; i < 5; i++)
		to->v[to->n][i] = real_of(&row->cell[i + 1]);
	assert_true(row->cell[0].i == B || row->cell[0].i == 2);
	to->n++;
	return 0;
}

static void ranks_together(void **state)
{
	struct rama_query_course q = { .job = 2, .points = 10, .from = B, .to = B + 10 };
	struct rama_store *s = fresh();
	struct rows got = { .n = 0 };
	struct rama_err e = { 0 };
	int64_t step = 0;

	(void)state;
	run_script(s,
		   is_sqlite()
			   ? "INSERT INTO processes (segment, job, rank) VALUES (x'01', 2, 7)"
			   : "INSERT INTO processes (segment, job, rank) VALUES ('\\x01', 2, 7)");
	/* the second that ends half a second before or after t_ns: activity is told at its end */
	run_script(s, "INSERT INTO activity SELECT 2, 1699999201000000000, t.i, 'POSIX', t.i, "
		      "1000000000, 1, 0, 0, t.i, 2 * t.i,"
		      " (t.i + CAST(1 AS BIGINT)) * 1000000000, 0, 0 FROM " STEPS(
			      8) ";"
				 "INSERT INTO activity SELECT 2, 1699999201000000000, t.i, "
				 "'MPI-IO', "
				 "t.i, 1000000000, 1, 0, 0, 999, 999,"
				 " 999, 0, 0 FROM " STEPS(
					 8) ";"
					    "INSERT INTO activity SELECT 2, "
					    "1699999201000000000, 99, "
					    "'POSIX', -1, 1000000000, 1, 0, 0, 999, 999, "
					    "999, 0, 0"
					    " FROM " STEPS(1) ";");
	assert_int_equal(rama_query_ranks_list(s, &q, 4, &step, take_row, &got, &e), 0);
	assert_true(got.n == 4 && step == 2);
	for (unsigned i = 0; i < 4; i++) { /* rank, read, written, time, the most of one */
		const double want[] = { 2 * i, 4 * i + 1, 8 * i + 2, 4 * i + 3, 2 * i + 2 };

		for (unsigned k = 0; k < 5; k++)
			assert_float_equal(got.v[i][k], want[k], 1e-9);
	}
	assert_int_equal(rama_query_ranks_list(s, &q, 0, &step, take_row, &got, &e), RAMA_EUSAGE);
	/* of very many ranks the last seconds, as many as can be read */
	run_script(s, is_sqlite()
			      ? "INSERT INTO processes (segment, job, rank) VALUES (x'02', 2, "
				"99999)"
			      : "INSERT INTO processes (segment, job, rank) VALUES ('\\x02', 2, "
				"99999)");
	got.n = 0;
	q = (struct rama_query_course){ .job = 2, .points = 10, .from = B, .to = B + 10 };
	assert_int_equal(rama_query_ranks_list(s, &q, 4, &step, take_row, &got, &e), 0);
	assert_true(got.n == 0 && q.from == B + 10 - RAMA_QUERY_RANK_SECONDS / 100000);
	q = (struct rama_query_course){ .job = 2, .points = 3, .from = B, .to = B + 3 };
	assert_int_equal(rama_query_ranks_list(s, &q, 4, &step, take_row, &got, &e), 0);
	assert_true(got.n == 1 && q.from == B);
	rama_store_close(s);
}

static void small_pictures(void **state)
{
	struct rama_store *s = fresh();
	struct rows got = { .n = 0 };
	struct rama_err e = { 0 };

	(void)state;
	run_script(s, "INSERT INTO series" SERIES
		      "VALUES (2, 1699999200, 'POSIX', 'read', 1, 5, 0, 0, 1, 0, 0),"
		      " (2, 1699999200, 'POSIX', 'write', 1, 7, 0, 0, 1, 0, 0), (2, 1699999200, "
		      "'MPI-IO', 'write', 1, 100, 0, 0, 1, 0, 0),"
		      " (2, 1699999200, 'STDIO', 'write', 1, 1, 0, 0, 1, 0, 0), (2, 1699999200, "
		      "'POSIX', 'meta', 1, 50, 0, 0, 1, 0, 0),"
		      " (2, 1699999201, 'EXTRA', 'read', 1, 2, 0, 0, 1, 0, 0);");
	assert_int_equal(rama_query_spark_list(s, 2, 32, take_row, &got, &e), 0);
	assert_int_equal(got.n, 2); /* second, step, read, written */
	assert_true(got.v[0][0] == B && got.v[0][1] == 1 && got.v[0][2] == 5 && got.v[0][3] == 8);
	assert_true(got.v[1][0] == B + 1 && got.v[1][2] == 2 && got.v[1][3] == 0);
	got.n = 0;
	assert_int_equal(rama_query_spark_list(s, 3, 32, take_row, &got, &e), 0);
	assert_int_equal(got.n, 0);
	rama_store_close(s);
}

/* ---- runs of a program ----------------------------------------------------------------------- */

struct run_rows {
	int64_t job[16], like[16];
	double rate[16], share[16];
	unsigned n;
};

static int take_run(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *c = row->cell;
	struct run_rows *to = ctx;

	(void)e;
	to->job[to->n] = c[0].i;
	to->rate[to->n] = c[11].type == RAMA_STORE_CELL_NULL ? -1 : real_of(&c[11]);
	to->share[to->n] = c[12].type == RAMA_STORE_CELL_NULL ? -1 : real_of(&c[12]);
	to->like[to->n++] = c[13].i;
	return 0;
}

static int add_path(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	char *to = ctx;

	(void)e;
	strcat(strcat(to, row->cell[1].text), "\n");
	return 0;
}

/* What has a name is not always a file. */
static void only_files(void **state)
{
	struct rama_store *s = fresh();
	struct rama_err e = { 0 };
	char got[200] = "";

	(void)state;
	run_script(s, "INSERT INTO files (job, record, path) VALUES (1, 1, '/a/b'), (1, 2, "
		      "'@/bin/x+0x5'), (1, 3, 'heatmap:POSIX'), (1, 4, 'PROCESS'), (1, 5, "
		      "'<STDERR>'), (1, 6, 'relative'), (1, 7, 'unseen'), (2, 8, '/other');"
		      "INSERT INTO counters_posix (job, number, record, rank, posix_bytes_read, "
		      "posix_bytes_written) VALUES "
		      "(1, 0, 6, 0, 5, 5)");
	assert_int_equal(rama_query_files_list(s, 1, 99, add_path, got, &e), 0);
	assert_string_equal(got, "relative\n/a/b\n<STDERR>\n");
	rama_store_close(s);
}

static void runs_that_are_alike(void **state)
{
	static const char *const bob[] = { "bob" };
	struct rama_query_seen all = { .all = true }, his = { .user = bob, .n = 1 };
	struct rama_store *s = fresh();
	struct run_rows got = { .n = 0 };
	struct rama_err e = { 0 };

	(void)state;
	/* alike are those with the number of ranks that most have of those that ended well */
	run_script(s, "INSERT INTO jobs (number, key, name, username, state, start_ns, run_time, "
		      "io_time, nprocs, bytes_read, "
		      "bytes_written) VALUES (1, 'a', 'p', 'ada', 'done', 10, 100, 50, 4, 100, "
		      "400), (2, 'b', 'p', 'bob', 'done', 20, 100, 0, 4, 1, 1),"
		      " (3, 'c', 'p', 'ada', 'done', 30, 0, 1, 8, 1, 1), (4, 'd', 'p', 'ada', "
		      "'lost', 40, 10, 1, 4, 1, 1),"
		      " (5, 'e', 'p', 'ada', 'lost', 50, 10, 1, 8, 0, 0), (6, 'f', 'p', 'ada', "
		      "'lost', 60, 10, 1, 8, 1, 1),"
		      " (7, 'g', 'p', 'ada', 'running', 70, 10, 1, 4, 1, 1), (8, 'h', "
		      "'q', 'ada', "
		      "'done', 80, 10, 1, 4, 1, 1),"
		      " (9, 'i', 'p', 'ada', 'done', NULL, 10, 1, 4, 1, 1);");
	assert_int_equal(rama_query_runs_list(s, &all, "p", 0, take_run, &got, &e), 0);
	assert_int_equal(got.n, 6);
	for (unsigned i = 0; i < 6; i++) { /* the oldest first */
		assert_int_equal(got.job[i], i + 1);
		assert_int_equal(got.like[i], i < 2);
	}
	assert_true(got.rate[0] == 10 && got.share[0] == 0.5);
	assert_true(got.rate[1] == -1 && got.share[1] == 0); /* no time: no rate */
	assert_true(got.rate[2] == 2 && got.share[2] == -1);
	assert_true(got.rate[4] == -1); /* no bytes */
	got.n = 0;			/* those of the program of a job, and of him alone */
	assert_int_equal(rama_query_runs_list(s, &his, NULL, 1, take_run, &got, &e), 0);
	assert_true(got.n == 1 && got.job[0] == 2);
	rama_store_close(s);
}

UNIT_GROUP(course, test(steps_that_fit), test(parts_of_the_time), test(ranks_together),
	   test(small_pictures), test(only_files), test(runs_that_are_alike))
