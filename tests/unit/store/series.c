/* SPDX-License-Identifier: BSD-3-Clause */
/* sums of jobs by second, minute and hour, of users by day: equal to what was told, whatever comes
 * twice, moves or goes; and made of what older stores have */
#include "help.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/out.h"
#include "store/handle.h"
#include "store/sqlite/sqlite.h"

#define SECOND 1000000000ll
#define START (T0 / SECOND) /* the first second */

/* what counters of rank p stand at after n seconds: every figure follows from these */
static struct rama_wire_message counters(const char *job, unsigned p, unsigned n)
{
	static struct rama_wire_msg_gain total[2];

	total[0] = (struct rama_wire_msg_gain){
		"POSIX",	3 * n,		n / 2, (p % 2) * n, (int64_t)n * 100 * (p + 1),
		(int64_t)n * 7, n * 10 + p * n, n * 5, (p % 2) * n
	};
	total[1] = (struct rama_wire_msg_gain){ "MPI-IO", n, 0, 0, n, 0, n, 0, 0 };
	return (struct rama_wire_message){ .kind = RAMA_WIRE_MSG_COUNTERS,
					   .counters = { .segment = key_of(p),
							 .version = n,
							 .job = job,
							 .rank = p,
							 .t = T0 + (int64_t)n * SECOND,
							 .since = T0,
							 .n = 2,
							 .total = total } };
}

#define RANKS 8
#define SECONDS 130

static int64_t is(struct rama_store *s, const char *what, const char *table, int64_t second,
		  const char *kind)
{
	char sql[300];

	snprintf(sql, sizeof(sql),
		 "SELECT CAST(coalesce(sum(%s), 0) AS BIGINT) FROM %s WHERE layer = 'POSIX' AND"
		 " kind = '%s' AND second = %lld",
		 what, table, kind, (long long)second);
	return number(s, sql);
}

/* Every seventh message twice, in batches of any size. */
static void twice_counts_once(void **state)
{
	struct rama_store *s = fresh();
	unsigned n = 0;

	(void)state;
	for (unsigned t = 1; t <= SECONDS; t++) {
		begin(s);
		for (unsigned p = 0; p < RANKS; p++) {
			struct rama_wire_message m = counters("7/run", p, t);

			put(s, &m);
			if (++n % 7 == 0)
				put(s, &m);
			if (n % 5 == 0) {
				commit(s);
				begin(s);
			}
			if (n % 7 == 3)
				put(s, &m);
		}
		commit(s);
	}
	for (unsigned t = 0; t < SECONDS; t++) {
		int64_t bytes = 0, ns = 0;

		for (unsigned p = 0; p < RANKS; p++)
			bytes += 100 * (p + 1), ns += 10 + p;
		assert_int_equal(is(s, "ops", "series", START + t, "read"), 3 * RANKS);
		assert_int_equal(is(s, "bytes", "series", START + t, "read"), bytes);
		assert_int_equal(is(s, "ns", "series", START + t, "read"), ns);
		assert_int_equal(is(s, "ranks", "series", START + t, "read"), RANKS);
		assert_int_equal(is(s, "slowest", "series", START + t, "read"), RANKS - 1);
		assert_int_equal(is(s, "slowest_ns", "series", START + t, "read"), 10 + RANKS - 1);
		/* every other second, and every other rank */
		assert_int_equal(is(s, "ops", "series", START + t, "write"), t % 2 * RANKS);
		assert_int_equal(is(s, "ranks", "series", START + t, "meta"), RANKS / 2);
	}
	assert_int_equal(number(s, "SELECT CAST(sum(ops) AS BIGINT) FROM series_minute WHERE layer"
				   " = 'POSIX' AND kind = 'read'"),
			 3 * RANKS * SECONDS);
	assert_int_equal(number(s, "SELECT max(ranks) FROM series_minute"), RANKS);
	assert_int_equal(number(s, "SELECT count(*) FROM (SELECT job, second, layer, kind, ops,"
				   " bytes, ns, slowest_ns FROM series_ten EXCEPT SELECT job,"
				   " second / 10 * 10, layer, kind, CAST(sum(ops) AS BIGINT),"
				   " CAST(sum(bytes) AS BIGINT), CAST(sum(ns) AS BIGINT),"
				   " max(slowest_ns) FROM series GROUP BY 1, 2, 3, 4) t"),
			 0);
	assert_int_equal(number(s, "SELECT CAST(sum(ops) AS BIGINT) FROM series_ten WHERE layer"
				   " = 'POSIX' AND kind = 'read'"),
			 3 * RANKS * SECONDS);
	assert_int_equal(number(s, "SELECT max(ranks) FROM series_ten"), RANKS);
	assert_int_equal(number(s, "SELECT count(*) FROM series_hour WHERE second % 3600 <> 0"), 0);
	assert_int_equal(number(s, "SELECT CAST(sum(bytes) AS BIGINT) FROM series_hour WHERE layer"
				   " = 'MPI-IO'"),
			 RANKS * SECONDS);
	rama_store_close(s);
}

/* An agent that was away: what was gained meanwhile is spread, and nothing is lost in it. */
static void long_intervals(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = counters("7/run", 1, 1);

	(void)state;
	put_one(s, &m);
	m = counters("7/run", 1, 11); /* 10 s later: 30 reads, 2000 bytes */
	put_one(s, &m);
	assert_int_equal(number(s, "SELECT count(*) FROM series WHERE layer = 'POSIX' AND kind ="
				   " 'read'"),
			 11);
	assert_int_equal(is(s, "bytes", "series", START + 5, "read"), 200);
	assert_int_equal(number(s, "SELECT CAST(sum(bytes) AS BIGINT) FROM series WHERE layer ="
				   " 'POSIX' AND kind = 'read'"),
			 2200);
	m = counters("7/run", 1, 12);
	m.counters.t += 86400 * SECOND;
	put_one(s, &m);
	assert_int_equal(number(s, "SELECT CAST(sum(ops) AS BIGINT) FROM series WHERE layer ="
				   " 'POSIX' AND kind = 'read'"),
			 36);
	rama_store_close(s);
}

/* the longest call is known where there are events */
static void longest_of_events(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = block_of("7/run", 1, 0, 0, 3000);

	(void)state;
	put_one(s, &m);
	put_one(s, &m);
	assert_true(number(s, "SELECT max(longest) FROM series") > 0);
	assert_int_equal(number(s, "SELECT max(longest) FROM series"),
			 number(s, "SELECT max(longest) FROM rollups"));
	assert_int_equal(number(s, "SELECT max(longest) FROM series_hour"),
			 number(s, "SELECT max(longest) FROM rollups"));
	assert_int_equal(number(s, "SELECT CAST(sum(ops) AS BIGINT) FROM series"), 0);
	rama_store_close(s);
}

static int add_row(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_out *o = ctx;

	(void)e;
	for (unsigned i = 0; i < row->n; i++)
		if (row->cell[i].type == RAMA_STORE_CELL_TEXT)
			rama_out_text(o, row->cell[i].text), rama_out_text(o, "|");
		else
			rama_out_i64(o, row->cell[i].type == RAMA_STORE_CELL_REAL
						? (int64_t)row->cell[i].f
						: row->cell[i].i),
				rama_out_text(o, "|");
	rama_out_text(o, "\n");
	return 0;
}

/* all sums as one text; free it */
static char *sums(struct rama_store *s)
{
	static const char *const tables[] = {
		"SELECT j.key, t.second, t.layer, t.kind, t.ops, t.bytes, t.ns, t.longest, t.ranks,"
		" t.slowest, t.slowest_ns FROM series t JOIN jobs j ON j.number = t.job"
		" ORDER BY 1, 2, 3, 4",
		"SELECT j.key, t.second, t.layer, t.kind, t.ops, t.bytes, t.ns, t.longest, t.ranks,"
		" t.slowest, t.slowest_ns FROM series_ten t JOIN jobs j ON j.number = t.job"
		" ORDER BY 1, 2, 3, 4",
		"SELECT j.key, t.second, t.layer, t.kind, t.ops, t.bytes, t.ns, t.longest, t.ranks,"
		" t.slowest, t.slowest_ns FROM series_minute t JOIN jobs j ON j.number = t.job"
		" ORDER BY 1, 2, 3, 4",
		"SELECT j.key, t.second, t.layer, t.kind, t.ops, t.bytes, t.ns, t.longest, t.ranks,"
		" t.slowest, t.slowest_ns FROM series_hour t JOIN jobs j ON j.number = t.job"
		" ORDER BY 1, 2, 3, 4",
		"SELECT day, username, name, jobs, broken, bytes_read, bytes_written, io_ms, "
		"run_ms,"
		" node_ms, cost_ms, high, warn FROM days ORDER BY 1, 2, 3",
	};
	struct rama_err e = { 0 };
	struct rama_out o;
	char *t;

	rama_out_init(&o, NULL, NULL);
	for (size_t i = 0; i < LENGTH(tables); i++)
		if (rama_store_select(s, tables[i], NULL, 0, add_row, &o, &e) != 0)
			fail_msg("%s", e.text);
	t = strndup(o.buf, o.used);
	rama_out_fini(&o);
	return t;
}

/* Told under another name first, then of another rank: as if it had always been so. */
static void moves_along(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m;
	char *right, *is_now;

	(void)state;
	for (unsigned t = 1; t <= 70; t++)
		for (unsigned p = 1; p < 3; p++) {
			m = counters("7/mpi", p, t);
			put_one(s, &m);
		}
	for (unsigned p = 1; p < 3; p++) {
		m = process_of("7/mpi", p, 100, 10 - p);
		put_one(s, &m);
	}
	right = sums(s);
	rama_store_close(s);
	s = fresh();
	for (unsigned t = 1; t <= 70; t++)
		for (unsigned p = 1; p < 3; p++) {
			m = counters(t < 30 || p == 1 ? "7/bare" : "7/mpi", p, t);
			if (t == 50) {
				m = process_of("7/mpi", p, 100, 10 - p);
				put_one(s, &m);
				m = counters("7/mpi", p, t);
			}
			put_one(s, &m);
		}
	is_now = sums(s);
	assert_string_equal(is_now, right);
	free(right);
	free(is_now);
	rama_store_close(s);
}

/* ---- days ------------------------------------------------------------------------------------ */

static struct rama_wire_message ended(const char *job, unsigned p, uint64_t version, bool runs)
{
	struct rama_wire_message m = process_of(job, p, version, p);

	m.process.start = T0;
	m.process.end = runs ? 0 : T0 + 90 * SECOND;
	m.process.seen_at = T0 + 90 * SECOND;
	m.process.state = runs ? RAMA_WIRE_STATE_RUNNING : RAMA_WIRE_STATE_ENDED;
	return m;
}

static void days_of_jobs(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m;
	struct rama_err e = { 0 };
	int64_t jobs = 0;

	(void)state;
	rama_store_clock(s, T0 + 91 * SECOND);
	for (unsigned p = 1; p < 4; p++) {
		m = ended(p < 3 ? "7/a" : "7/b", p, 1, true);
		put_one(s, &m);
	}
	assert_int_equal(number(s, "SELECT count(*) FROM days"), 0);
	for (unsigned p = 1; p < 4; p++) {
		m = ended(p < 3 ? "7/a" : "7/b", p, 2, false);
		put_one(s, &m);
		put_one(s, &m);
	}
	assert_int_equal(number(s, "SELECT day FROM days"), T0 / SECOND / 86400);
	assert_int_equal(number(s, "SELECT jobs FROM days"), 2);
	assert_int_equal(number(s, "SELECT CAST(run_ms AS BIGINT) FROM days"), 180000);
	/* what comes late, and twice */
	m = counters("7/a", 1, 9);
	put_one(s, &m);
	put_one(s, &m);
	assert_int_equal(number(s, "SELECT CAST(bytes_read AS BIGINT) FROM days"), 1800);
	/* it runs again */
	m = ended("7/a", 1, 3, true);
	put_one(s, &m);
	assert_int_equal(number(s, "SELECT jobs FROM days"), 1);
	assert_int_equal(number(s, "SELECT CAST(bytes_read AS BIGINT) FROM days"), 0);
	m = ended("7/a", 1, 4, false);
	put_one(s, &m);
	assert_int_equal(number(s, "SELECT jobs FROM days"), 2);
	assert_int_equal(rama_store_prune(s, T0 + 1000 * SECOND, true, &jobs, &e), 0);
	assert_int_equal(number(s, "SELECT jobs FROM days"), 2);
	assert_true(number(s, "SELECT count(*) FROM series") > 0); /* stay for ever */
	assert_int_equal(rama_store_prune(s, T0 + 1000 * SECOND, false, &jobs, &e), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM days"), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM day_jobs"), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM series"), 0);
	rama_store_close(s);
}

/* ---- stores of older versions ---------------------------------------------------------------- */

/* some jobs, one of which has ended, with events */
static void fill(struct rama_store *s)
{
	struct rama_wire_message m;

	rama_store_clock(s, T0 + 200 * SECOND);
	for (unsigned t = 1; t <= 130; t++)
		for (unsigned p = 0; p < 4; p++) {
			m = counters(p < 3 ? "7/a" : "7/b", p, t);
			put_one(s, &m);
		}
	for (unsigned p = 0; p < 4; p++) {
		m = ended(p < 3 ? "7/a" : "7/b", p, 200, p == 3);
		m.process.made = p == 1 ? 3000 : 0;
		put_one(s, &m);
	}
	m = block_of("7/a", 1, 0, 0, 3000);
	put_one(s, &m);
}

static int collect(void *ctx, int n, char **v, char **names)
{
	(void)names, (void)n;
	strcat(ctx, v[0]);
	strcat(ctx, "\n");
	return 0;
}

/* The rows of a store in one as `version` made it: its own scripts, its own columns. */
static void age_sqlite(const char *from, const char *to, int version)
{
	static char tables[20000];
	char sql[4000], *at;
	sqlite3 *db;

	unlink(to);
	assert_int_equal(sqlite3_open(to, &db), SQLITE_OK);
	for (int v = 0; v < version; v++)
		for (const char *const *p = rama_store_sqlite_schema[v]; *p != NULL; p++)
			assert_int_equal(sqlite3_exec(db, *p, NULL, NULL, NULL), SQLITE_OK);
	snprintf(sql, sizeof(sql), "ATTACH '%s' AS now", from);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	tables[0] = '\0';
	sqlite3_exec(db,
		     "SELECT 'INSERT INTO main.' || m.name || ' (' || group_concat(i.name, ', ') ||"
		     " ') SELECT ' || group_concat(i.name, ', ') || ' FROM now.' || m.name FROM"
		     " main.sqlite_schema m, pragma_table_info(m.name) i WHERE m.type = 'table'"
		     " GROUP BY m.name",
		     collect, tables, NULL);
	for (at = strtok(tables, "\n"); at != NULL; at = strtok(NULL, "\n"))
		if (sqlite3_exec(db, at, NULL, NULL, NULL) != SQLITE_OK)
			fail_msg("%s: %s", at, sqlite3_errmsg(db));
	snprintf(sql, sizeof(sql), "UPDATE meta SET value = '%d' WHERE key = 'schema'", version);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void flaw(void *ctx, const char *line)
{
	(void)ctx;
	if (strstr(line, "have no name") == NULL) /* of files: none was told */
		fail_msg("%s", line);
}

static void older_stores(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m;
	char path[4096], *right, *is_now;

	(void)state;
	if (!is_sqlite())
		skip();
	fill(s);
	right = sums(s);
	rama_store_close(s);
	assert_true(strlen(right) > 1000);
	for (int version = 1; version < 7; version++) {
		struct rama_err e = { 0 };

		snprintf(path, sizeof(path), "%s.v%d", where(), version);
		age_sqlite(where(), path, version);
		s = reopen_at(path, RAMA_STORE_WRITE);
		is_now = sums(s);
		assert_string_equal(is_now, right);
		free(is_now);
		/* and it goes on, without counting a rank once more */
		m = counters("7/b", 3, 131);
		put_one(s, &m);
		m = counters("7/b", 3, 131);
		put_one(s, &m);
		assert_int_equal(number(s,
					"SELECT max(ranks) FROM series t JOIN jobs j ON j.number ="
					" t.job WHERE j.key = '7/b'"),
				 1);
		assert_int_equal(number(s,
					"SELECT CAST(sum(ops) AS BIGINT) FROM series t JOIN jobs j"
					" ON j.number = t.job WHERE j.key = '7/b' AND layer ="
					" 'POSIX' AND kind = 'read'"),
				 3 * 131);
		assert_true(rama_store_verify(s, flaw, NULL, &e) >= 0);
		rama_store_close(s);
		unlink(path);
	}
	free(right);
}

/* ---- how long statements may take ------------------------------------------------------------ */

static int nothing(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)ctx, (void)row, (void)e;
	return 0;
}

static void too_long(void **state)
{
	static const char forever[] =
		"WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM"
		" n WHERE i < 4000000000) SELECT count(*) FROM n";
	struct rama_store *s = fresh();
	struct rama_err e = { 0 };

	(void)state;
	rama_store_limit(s, 50);
	assert_int_equal(rama_store_select(s, forever, NULL, 0, nothing, NULL, &e), RAMA_ESTOPPED);
	assert_string_equal(e.text, "it took longer than 50 ms");
	/* and the next one has all its time */
	assert_int_equal(number(s, "SELECT count(*) FROM jobs"), 0);
	rama_store_limit(s, 0);
	assert_int_equal(number(s, "SELECT 1"), 1);
	rama_store_close(s);
}

#define WIDE 4096

/* As wide as jobs are, every seventh message twice, one in two of these a second later.
 * IORAMA_TEST_LONG=1: for an hour. */
static void twice_of_many_ranks(void **state)
{
	const char *length = getenv("IORAMA_TEST_LONG");
	bool is_long = length != NULL && *length == '1';
	const unsigned seconds = is_long ? 3600 : is_sqlite() ? 6 : 2;
	const int64_t bytes = 100ll * WIDE * (WIDE + 1) / 2;
	struct rama_store *s = fresh();
	unsigned n = 0;

	(void)state;
	for (unsigned t = 1; t <= seconds; t++) {
		begin(s);
		for (unsigned p = 0; p < WIDE; p++) {
			struct rama_wire_message m = counters("7/run", p, t);

			put(s, &m);
			if (++n % 14 == 0)
				put(s, &m);
			if (t > 1 && n % 14 == 7) {
				m = counters("7/run", p, t - 1);
				put(s, &m);
			}
		}
		commit(s);
	}
	for (unsigned t = 0; t < seconds; t++) {
		assert_int_equal(is(s, "ops", "series", START + t, "read"), 3 * WIDE);
		assert_int_equal(is(s, "bytes", "series", START + t, "read"), bytes);
		assert_int_equal(is(s, "ranks", "series", START + t, "read"), WIDE);
		assert_int_equal(is(s, "slowest", "series", START + t, "read"), WIDE - 1);
		assert_int_equal(is(s, "ops", "series", START + t, "write"), t % 2 * WIDE);
		assert_int_equal(is(s, "ranks", "series", START + t, "meta"), WIDE / 2);
	}
	assert_int_equal(number(s, "SELECT CAST(sum(bytes) AS BIGINT) FROM series_minute WHERE"
				   " layer = 'POSIX' AND kind = 'read'"),
			 bytes * seconds);
	rama_store_close(s);
}

UNIT_GROUP(series, test(twice_counts_once), test(twice_of_many_ranks), test(long_intervals),
	   test(longest_of_events), test(moves_along), test(days_of_jobs), test(older_stores),
	   test(too_long))
