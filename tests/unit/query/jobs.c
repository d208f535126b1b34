/* SPDX-License-Identifier: BSD-3-Clause */
#include "fill.h"

#include <fnmatch.h>
#include <math.h>

#include "query/jobs.h"

struct numbers {
	int64_t job[4 * FILLED];
	size_t n;
};

static int take(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct numbers *to = ctx;

	(void)e;
	assert_true(to->n < LENGTH(to->job));
	to->job[to->n++] = row->cell[0].i;
	return 0;
}

/* a question as a test asks it; each text may be NULL */
struct asked {
	const char *sort, *where, *where_too, *name, *word, *user, *finding;
	bool running;
	int64_t since, until;
};

static void ask(struct rama_query_jobs *q, const struct asked *a)
{
	struct rama_err e = { 0 };
	int rc = 0;

	rama_query_jobs_init(q);
	rc |= rama_query_jobs_column(q, "job", 3, &e);
	rc |= a->sort != NULL ? rama_query_jobs_sort(q, a->sort, &e) : 0;
	rc |= a->where != NULL ? rama_query_jobs_where(q, a->where, &e) : 0;
	rc |= a->where_too != NULL ? rama_query_jobs_where(q, a->where_too, &e) : 0;
	rc |= a->name != NULL ? rama_query_jobs_name(q, a->name, &e) : 0;
	rc |= a->word != NULL ? rama_query_jobs_word(q, a->word, &e) : 0;
	rc |= a->user != NULL ? rama_query_jobs_user(q, a->user, &e) : 0;
	rc |= a->finding != NULL ? rama_query_jobs_finding(q, a->finding, &e) : 0;
	rc |= a->running ? rama_query_jobs_running(q, &e) : 0;
	rc |= a->since != 0 ? rama_query_jobs_since(q, a->since, &e) : 0;
	rc |= a->until != 0 ? rama_query_jobs_until(q, a->until, &e) : 0;
	if (rc != 0)
		fail_msg("%s", e.text);
}

static void list(struct rama_store *s, struct rama_query_jobs *q, struct numbers *to)
{
	struct rama_err e = { 0 };

	if (rama_query_jobs_list(s, q, take, to, &e) != 0)
		fail_msg("%s", e.text);
}

/* ways of finding the same page */
static const struct {
	size_t few, names;
} ways[] = { { 8000, 10000 }, { 0, 10000 }, { 20, 10000 }, { 8000, 2 } };

/* All pages, one after the other, each with a question of its own, as they come from users. */
static void pages(struct rama_store *s, const struct asked *a, unsigned way, uint64_t limit,
		  struct numbers *to)
{
	char next[400] = "first";
	struct rama_err e = { 0 };

	to->n = 0;
	for (bool more = true; more;) {
		struct rama_query_jobs q;
		size_t before = to->n;

		ask(&q, a);
		q.limit = limit;
		q.few = ways[way].few;
		q.names = ways[way].names;
		assert_int_equal(rama_query_jobs_after(&q, next, &e), 0);
		list(s, &q, to);
		more = q.next != NULL;
		assert_true(to->n - before <= limit);
		if (more) {
			assert_int_equal(to->n - before, limit);
			assert_true(q.more > 0 || q.more_uncounted);
			assert_true(strlen(q.next) < sizeof(next));
			snprintf(next, sizeof(next), "%s", q.next);
		}
		rama_query_jobs_fini(&q);
	}
}

static void same(struct rama_store *s, const struct asked *a, uint64_t limit)
{
	static struct numbers whole, parts;
	struct rama_query_jobs q;

	ask(&q, a);
	whole.n = 0;
	list(s, &q, &whole);
	assert_null(q.next);
	rama_query_jobs_fini(&q);
	for (unsigned way = 0; way < LENGTH(ways); way++) {
		pages(s, a, way, limit, &parts);
		if (parts.n != whole.n ||
		    memcmp(parts.job, whole.job, whole.n * sizeof(*whole.job)) != 0)
			fail_msg("by %s, way %u, %u at once: %zu jobs, not %zu",
				 a->sort != NULL ? a->sort : "start", way, (unsigned)limit, parts.n,
				 whole.n);
	}
}

static const char *const keys[] = { "start",	"-start", "end",   "-end",	    "user",
				    "-user",	"name",	  "-name", "bytes",	    "-bytes",
				    "run_time", "cost",	  "-cost", "-run_time",	    "small_writes",
				    "job",	"-job",	  "state", "-small_writes", "io_share",
				    "ranks",	"finding" };

/* Every order, with equals and with jobs that have no value: pages are the whole, cut. */
static void pages_are_the_whole(void **state)
{
	static const uint64_t limits[] = { 4, 25, 1000 };
	struct rama_store *s = filled_store();

	(void)state;
	for (unsigned i = 0; i < LENGTH(keys); i++)
		for (unsigned k = 0; k < LENGTH(limits); k++)
			same(s, &(struct asked){ .sort = keys[i] }, limits[k]);
	rama_store_close(s);
}

static const struct asked questions[] = {
	{ .user = "user3" },
	{ .running = true },
	{ .finding = "W01" },
	{ .finding = "high" },
	{ .finding = "warn" },
	{ .where = "small_writes > 1" },
	{ .where = "small_writes >= 0" },
	{ .where = "small_writes < 0" },
	{ .where = "small_writes = 2", .where_too = "bytes > 1000" },
	{ .where = "bytes_written > 1500" },
	{ .where = "bytes_written = 2000", .user = "user1" },
	{ .where = "bytes != 0" },
	{ .where = "run_time > 30", .where_too = "cost < 0.7" },
	{ .where = "name = prog2" },
	{ .where = "state != done" },
	{ .name = "prog[12]" },
	{ .name = "*" },
	{ .name = "nothing" },
	{ .name = "*3", .finding = "warn" },
	{ .word = "APPS/PROG2" },
	{ .word = "5007" },
	{ .since = T0 + 60000000000 },
	{ .until = T0 + 20000000000 },
	{ .since = T0 + 50000000000, .until = T0 + 10000000000, .user = "user2" },
	{ .where = "cost <= 0.5" },
	{ .where = "cost >= 0.5" },
};

static void conditions_too(void **state)
{
	static const char *const orders[] = { NULL,	      "cost",	  "-bytes",
					      "small_writes", "run_time", "name" };
	struct rama_store *s = filled_store();

	(void)state;
	for (unsigned i = 0; i < LENGTH(questions); i++)
		for (unsigned k = 0; k < LENGTH(orders); k++) {
			struct asked a = questions[i];

			a.sort = orders[k];
			same(s, &a, 9);
		}
	rama_store_close(s);
}

/* ---- what is true ---------------------------------------------------------------------------- */

static bool meets(unsigned number, unsigned i)
{
	struct filled f = filled_job(i);
	bool found = !isnan(f.cost);
	double figure = isnan(f.figure) ? -1000 : f.figure;

	switch (number) {
	case 0:
		return strcmp(f.user, "user3") == 0;
	case 1:
		return f.running;
	case 2:
		return found && i % 3 == 0;
	case 3:
		return found && i % 5 == 0;
	case 4:
		return found;
	case 5:
		return figure > 1;
	case 6:
		return figure >= 0;
	case 7:
		return figure < 0 && figure > -1000;
	case 9:
		return f.bytes_written > 1500;
	case 15:
		return fnmatch("prog[12]", f.name, 0) == 0;
	case 19:
		return strcmp(f.name, "prog2") == 0;
	case 20:
		return f.jobid == 5007;
	case 21:
		return f.end == 0 || f.end >= T0 + 60000000000;
	case 22:
		return f.start != 0 && f.start < T0 + 20000000000;
	default:
		return false;
	}
}

static void conditions_hold(void **state)
{
	static const unsigned known[] = { 0, 1, 2, 3, 4, 5, 6, 7, 9, 15, 19, 20, 21, 22 };
	struct rama_store *s = filled_store();

	(void)state;
	for (unsigned k = 0; k < LENGTH(known); k++) {
		static struct numbers got;
		size_t n = 0;

		pages(s, &questions[known[k]], 0, 10, &got);
		for (unsigned i = 1; i <= FILLED; i++)
			n += meets(known[k], i);
		assert_int_equal(got.n, n);
		for (size_t i = 0; i < got.n; i++)
			assert_true(meets(known[k], (unsigned)got.job[i]));
	}
	rama_store_close(s);
}

/* the key of a job in an order that the test knows; larger is first */
static double key_of_job(const char *key, unsigned i)
{
	struct filled f = filled_job(i);

	if (strcmp(key, "cost") == 0)
		return isnan(f.cost) ? -1e300 : f.cost;
	if (strcmp(key, "small_writes") == 0)
		return isnan(f.figure) ? -1e300 : f.figure;
	if (strcmp(key, "bytes") == 0)
		return (double)(f.bytes_read + f.bytes_written);
	if (strcmp(key, "run_time") == 0 && f.start != 0) {
		int64_t end = f.running ? T0 + (int64_t)i * 1000000000 : f.end;

		return (double)(end - f.start) / 1e9;
	}
	return strcmp(key, "start") == 0 && f.start != 0 ? (double)f.start : -1e300;
}

static void orders_hold(void **state)
{
	static const char *const by[] = { "cost", "small_writes", "bytes", "run_time", "start" };
	struct rama_store *s = filled_store();

	(void)state;
	for (unsigned k = 0; k < LENGTH(by); k++) {
		static struct numbers got;

		pages(s, &(struct asked){ .sort = by[k] }, 0, 10, &got);
		assert_int_equal(got.n, FILLED);
		for (size_t i = 1; i < got.n; i++) {
			double a = key_of_job(by[k], (unsigned)got.job[i - 1]),
			       b = key_of_job(by[k], (unsigned)got.job[i]);

			if (a < b || (a == b && got.job[i - 1] < got.job[i]))
				fail_msg("by %s: job %d before %d", by[k], (int)got.job[i - 1],
					 (int)got.job[i]);
		}
	}
	rama_store_close(s);
}

/* ---- cursors --------------------------------------------------------------------------------- */

static void other_cursors_are_refused(void **state)
{
	static const char *const wrong[] = { "",      "x",	 "i1",	      "i1.2",
					     "i1.2.", "i1.2.3",	 "r1.2.zz",   "t6a.1.",
					     "n.1.0", "iffff1.", "i1.2.3.4.5" };
	struct rama_store *s = filled_store();
	struct rama_err e = { 0 };
	struct rama_query_jobs q;
	static struct numbers got;
	char cursor[200];

	(void)state;
	ask(&q, &(struct asked){ .sort = "bytes" });
	q.limit = 3;
	list(s, &q, &got);
	snprintf(cursor, sizeof(cursor), "%s", q.next);
	rama_query_jobs_fini(&q);
	for (unsigned i = 0; i < LENGTH(wrong) + 1; i++) {
		const char *text = i < LENGTH(wrong) ? wrong[i] : cursor;

		ask(&q, &(struct asked){ .sort = "cost" });
		q.limit = 3;
		assert_int_equal(rama_query_jobs_after(&q, text, &e), RAMA_EUSAGE);
		assert_non_null(strstr(e.text, "no place"));
		/* whoever goes on all the same gets no rows */
		assert_int_equal(rama_query_jobs_list(s, &q, take, &got, &e), RAMA_EUSAGE);
		rama_query_jobs_fini(&q);
	}
	rama_store_close(s);
}

/* A job that is gone was still at its place; jobs that come later do not make others come twice. */
static void pages_of_what_changes(void **state)
{
	struct rama_store *s = filled_store();
	struct rama_err e = { 0 };
	struct rama_query_jobs q;
	static struct numbers got;
	char sql[100], next[200];

	(void)state;
	ask(&q, &(struct asked){ .sort = "bytes" });
	q.limit = 20;
	got.n = 0;
	list(s, &q, &got);
	snprintf(next, sizeof(next), "%s", q.next);
	snprintf(sql, sizeof(sql), "DELETE FROM jobs WHERE number = %d", (int)got.job[19]);
	run_script(s, sql);
	run_script(s, "INSERT INTO jobs (key, bytes_read, start_ns) VALUES ('new', 999999999, 1)");
	q.limit = 0;
	assert_int_equal(rama_query_jobs_after(&q, next, &e), 0);
	list(s, &q, &got);
	rama_query_jobs_fini(&q);
	assert_int_equal(got.n, FILLED);
	for (size_t i = 0; i < got.n; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(got.job[i] != got.job[k]);
	rama_store_close(s);
}

static void what_is_more(void **state)
{
	struct rama_store *s = filled_store();
	struct rama_query_jobs q;
	static struct numbers got;

	(void)state;
	ask(&q, &(struct asked){ 0 });
	q.limit = 50;
	list(s, &q, &got);
	assert_int_equal(q.more, FILLED - 50);
	assert_false(q.more_uncounted);
	rama_query_jobs_fini(&q);
	ask(&q, &(struct asked){ .where = "bytes >= 0" });
	q.limit = 50;
	q.few = 0; /* each is looked at: they are not counted to the end */
	list(s, &q, &got);
	assert_true(q.more < FILLED - 50 && q.more_uncounted && q.next != NULL);
	rama_query_jobs_fini(&q);
	rama_store_close(s);
}

static void words_that_mean_nothing(void **state)
{
	struct rama_query_jobs q;
	struct rama_err e = { 0 };

	(void)state;
	rama_query_jobs_init(&q);
	assert_int_equal(rama_query_jobs_sort(&q, "j.number", &e), RAMA_EUSAGE);
	assert_int_equal(rama_query_jobs_where(&q, "bytes", &e), RAMA_EUSAGE);
	assert_int_equal(rama_query_jobs_where(&q, "bytes > x", &e), RAMA_EUSAGE);
	assert_int_equal(rama_query_jobs_where(&q, "name > x", &e), RAMA_EUSAGE);
	assert_int_equal(rama_query_jobs_where(&q, "bytes) OR (1=1) > 0", &e), RAMA_EUSAGE);
	assert_int_equal(rama_query_jobs_finding(&q, "Z99", &e), RAMA_EUSAGE);
	assert_int_equal(rama_query_jobs_column(&q, "(SELECT 1)", 10, &e), RAMA_EUSAGE);
	for (unsigned i = 0; i < RAMA_QUERY_CONDITIONS; i++)
		assert_int_equal(rama_query_jobs_where(&q, "bytes > 1", &e), 0);
	assert_int_equal(rama_query_jobs_where(&q, "bytes > 1", &e), RAMA_EUSAGE);
	rama_query_jobs_fini(&q);
}

UNIT_GROUP(jobs, test(pages_are_the_whole), test(conditions_too), test(conditions_hold),
	   test(orders_hold), test(other_cursors_are_refused), test(pages_of_what_changes),
	   test(what_is_more), test(words_that_mean_nothing))
