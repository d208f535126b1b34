/* SPDX-License-Identifier: BSD-3-Clause */
#include "fill.h"

#include "query/events.h"
#include "query/job.h"
#include "query/series.h"

struct seen {
	unsigned rows, columns;
	int64_t last;
};

static int see(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct seen *s = ctx;

	(void)e;
	s->rows++;
	s->columns = row->n;
	s->last = row->cell[0].i;
	return 0;
}

static void a_row(void **state)
{
	struct rama_store *s = filled_store();
	struct rama_query_metric m[2];
	struct rama_query_job_log log;
	struct rama_query_job_live live;
	struct seen seen = { 0 };
	struct rama_err e = { 0 };
	int64_t ns;

	(void)state;
	assert_true(rama_query_metric_find("bytes_read", 10, &m[0]));
	assert_true(rama_query_metric_find("small_writes", 12, &m[1]));
	assert_int_equal(rama_query_job_row(s, 5, m, 2, see, &seen, &e), 0);
	assert_true(seen.rows == 1 && seen.columns == 2);
	assert_int_equal(seen.last, filled_job(5).bytes_read);
	assert_int_equal(rama_query_job_row(s, 5000, m, 2, see, &seen, &e), RAMA_EMISSING);
	assert_int_equal(rama_query_job_start(s, 5, &ns, &e), 0);
	assert_int_equal(ns, filled_job(5).start);
	assert_int_equal(rama_query_job_log_get(s, 5, &log, &e), 0);
	assert_true(!log.logged && !log.kept && strcmp(log.key, "7/job-5") == 0);
	assert_int_equal(rama_query_job_log_get(s, 5000, &log, &e), RAMA_EMISSING);
	assert_int_equal(rama_query_job_live_get(s, "7/job-19", &live, &e), 0);
	assert_true(live.known && live.running == 1);
	rama_store_close(s);
}

static void its_tables(void **state)
{
	static const unsigned columns[] = { 4, 7, 7, 11, 4, 2 };
	struct rama_store *s = fresh();
	struct rama_wire_message m[] = { process_of("7/run", 1, 1, 0),
					 block_of("7/run", 1, 0, 0, 300) };
	struct rama_err e = { 0 };

	(void)state;
	put_one(s, &m[0]);
	put_one(s, &m[1]);
	run_script(s, "INSERT INTO findings (job, number, rule, level, title, evidence, advice, "
		      "cost, bytes) VALUES (1, 0, 'W01', 'HIGH', 't', 'e', 'a', 1, 2);"
		      "INSERT INTO activity VALUES (1, 5, 1, 'POSIX', 0, 1, 2, 3, 4, 5, 6, 7, 8, "
		      "9);"
		      "INSERT INTO losses VALUES ('a', 1, 1, 'full', 3, 4);"
		      "INSERT INTO figure_names (number, name) VALUES (1, 'rate');"
		      "INSERT INTO figure_values (figure, job, value) VALUES (1, 1, 2.5);");
	for (unsigned i = 0; i < LENGTH(columns); i++) {
		struct seen seen = { 0 };

		assert_int_equal(
			rama_query_job_rows(s, 1, (enum rama_query_job_table)i, see, &seen, &e), 0);
		assert_true(seen.rows > 0);
		assert_int_equal(seen.columns, columns[i]);
	}
	rama_store_close(s);
}

/* ---- events and series ----------------------------------------------------------------------- */

struct events {
	unsigned n;
	uint64_t writes;
};

static int see_event(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct events *x = ctx;
	const struct rama_store_cell *c = row->cell;
	struct rama_wire_event t = truth(1, 0, (uint64_t)c[RAMA_QUERY_EVENT_SEQ].i);

	(void)e;
	assert_int_equal(row->n, RAMA_QUERY_EVENT_COLUMNS);
	assert_int_equal(c[RAMA_QUERY_EVENT_END].i, t.end);
	assert_int_equal(c[RAMA_QUERY_EVENT_START].i, t.end - t.dur);
	assert_int_equal(c[RAMA_QUERY_EVENT_OFF].type,
			 t.off < 0 ? RAMA_STORE_CELL_NULL : RAMA_STORE_CELL_INT);
	assert_string_equal(c[RAMA_QUERY_EVENT_FN].text, what_of(&t)->fn);
	assert_string_equal(row->name[RAMA_QUERY_EVENT_FN], "fn");
	assert_int_equal(c[RAMA_QUERY_EVENT_RECORD].i, (int64_t)t.record);
	x->n++;
	x->writes += strcmp(c[RAMA_QUERY_EVENT_OP].text, "write") == 0;
	return 0;
}

static void of_events(void **state)
{
	struct rama_store *s = fresh(), *names = reopen(RAMA_STORE_READ);
	struct rama_wire_message m = block_of("7/run", 1, 0, 0, 300);
	struct rama_query_events q = { .filter = { .job = 1, .rank = -1 } };
	struct events all = { 0 }, some = { 0 };
	struct rama_err e = { 0 };

	(void)state;
	put_one(s, &m);
	assert_int_equal(rama_query_events_list(s, names, &q, see_event, &all, &e), 0);
	assert_true(all.n == 300 && !q.more);
	q.limit = 20;
	q.filter.op = "write";
	assert_int_equal(rama_query_events_list(s, names, &q, see_event, &some, &e), 0);
	assert_true(some.n == 20 && some.writes == 20 && q.more);
	q.file = "*.nothing";
	assert_int_equal(rama_query_events_list(s, names, &q, see_event, &some, &e), RAMA_EMISSING);
	rama_store_close(names);
	rama_store_close(s);
}

static void of_time(void **state)
{
	struct rama_store *s = fresh();
	struct rama_query_series q = { .job = -1, .rank = -1, .from = INT64_MIN, .to = INT64_MAX };
	struct seen seen = { 0 };
	struct rama_err e = { 0 };

	(void)state;
	run_script(s, "INSERT INTO activity VALUES"
		      " (1, 10, 1, 'POSIX', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9),"
		      " (1, 20, 1, 'STDIO', 1, 1, 2, 3, 4, 5, 6, 7, 8, 9),"
		      " (2, 30, 2, 'POSIX', 0, 1, 2, 3, 4, 5, 6, 7, 8, 9);"
		      "INSERT INTO sample_series (number, host, metric) VALUES (1, 'n1', 'load');"
		      "INSERT INTO sample_values VALUES (1, 10, 0.5), (1, 20, 0.75);");
	assert_int_equal(rama_query_activity_list(s, &q, see, &seen, &e), 0);
	assert_true(seen.rows == 3 && seen.last == 30 &&
		    seen.columns == rama_query_activity_columns.n);
	q.limit = 2;
	seen = (struct seen){ 0 };
	assert_int_equal(rama_query_activity_list(s, &q, see, &seen, &e), 0);
	assert_true(seen.rows == 2 && seen.last == 20);
	q = (struct rama_query_series){ .job = 1, .rank = 0, .what = "POSIX", .from = 5, .to = 15 };
	seen = (struct seen){ 0 };
	assert_int_equal(rama_query_activity_list(s, &q, see, &seen, &e), 0);
	assert_int_equal(seen.rows, 1);
	q = (struct rama_query_series){ .host = "n1", .from = 15, .to = INT64_MAX };
	seen = (struct seen){ 0 };
	assert_int_equal(rama_query_samples_list(s, &q, see, &seen, &e), 0);
	assert_true(seen.rows == 1 && seen.last == 20 &&
		    seen.columns == rama_query_samples_columns.n);
	assert_int_equal(rama_query_statement_run(s, "DELETE FROM jobs", see, &seen, &e),
			 RAMA_EUSAGE);
	rama_store_close(s);
}

/* ---- which jobs a word means ----------------------------------------------------------------- */

static void means(struct rama_store *s, const char *word, bool all, const char *want)
{
	struct rama_err e = { 0 };
	int64_t *job = NULL;
	char got[100] = "";
	size_t n = 0;

	if (rama_query_job_find(s, word, all, &job, &n, &e) != 0)
		assert_true(n == 0 && job == NULL && e.text[0] != '\0');
	for (size_t i = 0; i < n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), " %lld", (long long)job[i]);
	if (strcmp(got, want) != 0)
		fail_msg("%s means%s, not%s", word, got, want);
	free(job);
}

static void steps_of_batch_jobs(void **state)
{
	struct rama_store *s = fresh();

	(void)state;
	/* two steps, one of before it was started again, another user's, another cluster's */
	run_script(
		s,
		"INSERT INTO jobs (number, key, jobid, uid, start_ns, batch_step, batch_name,"
		" batch_restart, batch_cluster) VALUES (1, 'a', 4242, 7, 100, '0', 'x', 1, ''),"
		" (2, 'b', 4242, 7, 200, '1', 'x', 1, ''), (3, 'c', 4242, 7, 50, '0', 'x', 0, ''),"
		" (4, 'd', 4242, 8, 150, '0', 'x', 1, ''), (5, 'e', 4242, 7, 150, '0', 'x', 1, "
		"'z'),"
		" (6, 'f', 9, 7, 10, '', '', 0, '')");
	means(s, "4242", false, " 1 2");
	means(s, "4242", true, " 3 1 2");
	means(s, "id=4242", false, " 1 2");
	means(s, "4242.1", false, " 2");
	means(s, "id=4242.0", true, " 3 1");
	means(s, "4242.7", false, "");
	means(s, "4242.", false, "");
	means(s, "id=", false, "");
	means(s, "id=1", false, "");
	means(s, "1", false, " 1");
	means(s, "9", false, " 6");
	means(s, "id=9", false, " 6");
	rama_store_close(s);
}

UNIT_GROUP(job, test(a_row), test(steps_of_batch_jobs), test(its_tables), test(of_events),
	   test(of_time))
