/* SPDX-License-Identifier: BSD-3-Clause */
/* postgres.c: statements, batches and blocks of the store on PostgreSQL. Those that need a
 * server take it from IORAMA_TEST_POSTGRES (tests/live/postgres.py sets it) and are skipped
 * without; each works in a schema of its own. */
#include "unit.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

#include "store/postgres/postgres.h"

static const struct rama_store_db_ops *const pg = &rama_store_db_postgres;
static struct rama_err e;
static char url[600];

static struct rama_store_cell num(int64_t v)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_INT, .i = v };
}

static struct rama_store_cell real(double v)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_REAL, .f = v };
}

static struct rama_store_cell text(const char *s)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_TEXT,
					 .text = s,
					 .len = strlen(s) };
}

static struct rama_store_cell bytes(const void *p, size_t n)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_BYTES, .text = p, .len = n };
}

static const struct rama_store_cell none = { .type = RAMA_STORE_CELL_NULL };

/* An address whose tables lie in a schema of this test; what an earlier run left there is gone. */
static const char *server(const char *name)
{
	const char *where = getenv("IORAMA_TEST_POSTGRES");
	void *db;
	char sql[200];

	if (where == NULL)
		skip();
	assert_int_equal(pg->open(&db, where, RAMA_STORE_WRITE, &e), 0);
	snprintf(sql, sizeof(sql), "DROP SCHEMA IF EXISTS unit_%s CASCADE; CREATE SCHEMA unit_%s",
		 name, name);
	assert_int_equal(pg->script(db, sql, &e), 0);
	pg->close(db);
	snprintf(url, sizeof(url), "%s?options=-csearch_path%%3Dunit_%s", where, name);
	return url;
}

static void *opened(const char *name)
{
	void *db;

	assert_int_equal(pg->open(&db, server(name), RAMA_STORE_WRITE | RAMA_STORE_CREATE, &e), 0);
	return db;
}

static void run_ok(void *db, const char *sql)
{
	if (pg->run(db, sql, RAMA_STORE_DB_ONCE, NULL, 0, NULL, NULL, NULL, &e) != 0)
		fail_msg("%s: %s", sql, e.text);
}

static int take_int(void *ctx, const struct rama_store_row *row, struct rama_err *err)
{
	(void)err;
	assert_int_equal(row->cell[0].type, RAMA_STORE_CELL_INT);
	*(int64_t *)ctx = row->cell[0].i;
	return 0;
}

static int64_t int_of(void *db, const char *sql)
{
	int64_t v = -1;

	if (pg->run(db, sql, RAMA_STORE_DB_ONCE, NULL, 0, take_int, &v, NULL, &e) != 0)
		fail_msg("%s: %s", sql, e.text);
	return v;
}

/* ---- without a server ------------------------------------------------------------------------ */

static void errors_that_pass(void **st)
{
	static const char *const pass[] = { "",	     "08006", "08001", "57P01", "57P02",
					    "57P03", "53100", "53200", "53300", "40001",
					    "40P01", "55P03", "23505", "58030", "57014" };
	static const char *const stay[] = { "42601", "42P01", "42501", "28P01", "28000",
					    "3D000", "22003", "23502", "XX001" };

	(void)st;
	for (size_t i = 0; i < LENGTH(pass); i++)
		if (!rama_store_pg_passing(pass[i]))
			fail_msg("%s may pass", pass[i]);
	for (size_t i = 0; i < LENGTH(stay); i++)
		if (rama_store_pg_passing(stay[i]))
			fail_msg("%s does not pass", stay[i]);
}

static void texts_become_utf8(void **st)
{
	static const struct {
		const char *in, *out; /* NULL: the same */
		size_t n;
	} rows[] = {
		{ "/plain/path", NULL, 11 },
		{ "", NULL, 0 },
		{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", NULL, 9 },
		{ "a\xff"
		  "b",
		  "a\\xff"
		  "b",
		  3 },
		{ "\xc3", "\\xc3", 1 },
		{ "\xc0\x80", "\\xc0\\x80", 2 },		   /* too long for what it says */
		{ "\xe0\x80\xaf", "\\xe0\\x80\\xaf", 3 },	   /* the same */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80", 3 },	   /* half of a pair */
		{ "\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", 4 }, /* beyond the last */
		{ "a\0b",
		  "a\\x00"
		  "b",
		  3 },
	};

	(void)st;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		size_t len;
		char *got = rama_store_pg_clean(rows[i].in, rows[i].n, &len);

		if (rows[i].out == NULL) {
			assert_null(got);
			assert_int_equal(len, rows[i].n);
		} else {
			assert_non_null(got);
			assert_string_equal(got, rows[i].out);
			assert_int_equal(len, strlen(rows[i].out));
		}
		free(got);
	}
}

static void addresses(void **st)
{
	void *db = NULL;

	(void)st;
	assert_int_equal(pg->open(&db, "postgresql://localhost/x?color=red", 0, &e), RAMA_EUSAGE);
	assert_non_null(strstr(e.text, "color"));
	assert_null(strchr(e.text, '\n'));
	/* nobody listens on port 1 */
	assert_int_equal(pg->open(&db, "postgresql://127.0.0.1:1/x", 0, &e), RAMA_EIO);
	assert_null(db);
	assert_null(strchr(e.text, '\n'));
}

/* ---- values ---------------------------------------------------------------------------------- */

struct seen {
	struct rama_store_cell cell[12];
	char kept[12][64];
	unsigned n, rows;
};

static int take_row(void *ctx, const struct rama_store_row *row, struct rama_err *err)
{
	struct seen *s = ctx;

	(void)err;
	s->n = row->n;
	s->rows++;
	for (unsigned i = 0; i < row->n && i < 12; i++) {
		s->cell[i] = row->cell[i];
		assert_true(row->cell[i].len < 64);
		if (row->cell[i].type >= RAMA_STORE_CELL_TEXT)
			memcpy(s->kept[i], row->cell[i].text, row->cell[i].len);
		s->cell[i].text = s->kept[i];
	}
	return 0;
}

static void check_values(void *db, const char *put, const char *get, int once)
{
	const struct rama_store_cell args[] = { num(INT64_MIN),
						num(INT64_MAX),
						num(-7),
						num(12),
						real(0.1),
						real(-DBL_MAX),
						num(3),
						text("q'u\"o\\xt\n\xc3\xa4 \xff"),
						bytes("\0\1\xff\\x", 5),
						none };
	struct seen s = { 0 };
	int64_t changed = 0;

	run_ok(db, "DELETE FROM v");
	assert_int_equal(pg->run(db, put, once, args, 10, NULL, NULL, &changed, &e), 0);
	assert_int_equal(changed, 1);
	assert_int_equal(pg->run(db, get, once, NULL, 0, take_row, &s, NULL, &e), 0);
	assert_int_equal(s.rows, 1);
	assert_int_equal(s.n, 10);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(s.cell[i].type, RAMA_STORE_CELL_INT);
		assert_true(s.cell[i].i == args[i].i);
	}
	for (unsigned i = 4; i < 7; i++) {
		assert_int_equal(s.cell[i].type, RAMA_STORE_CELL_REAL);
		assert_true(s.cell[i].f == (i == 6 ? 3.0 : args[i].f));
	}
	assert_int_equal(s.cell[7].type, RAMA_STORE_CELL_TEXT);
	assert_string_equal(s.kept[7], "q'u\"o\\xt\n\xc3\xa4 \\xff");
	assert_int_equal(s.cell[8].type, RAMA_STORE_CELL_BYTES);
	assert_int_equal(s.cell[8].len, 5);
	assert_memory_equal(s.kept[8], "\0\1\xff\\x", 5);
	assert_int_equal(s.cell[9].type, RAMA_STORE_CELL_NULL);
}

static void values_there_and_back(void **st)
{
	static const char put[] = "INSERT INTO v VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
	static const char get[] = "SELECT * FROM v";
	void *db = opened("values");
	struct seen s = { 0 };

	(void)st;
	run_ok(db, "CREATE TABLE v (a BIGINT, b BIGINT, c SMALLINT, d INTEGER, e DOUBLE PRECISION, "
		   "f DOUBLE PRECISION,"
		   " g DOUBLE PRECISION, h TEXT, i BYTEA, j BIGINT)");
	check_values(db, put, get, RAMA_STORE_DB_KEPT);
	check_values(db, put, get, RAMA_STORE_DB_KEPT);
	check_values(db, put, get, RAMA_STORE_DB_ONCE);
	/* types that have no bytes of ours: as text, and numbers as numbers all the same */
	assert_int_equal(pg->run(db,
				 "SELECT sum(d), count(*), d > 1, avg(e), 'x'::name, "
				 "'2026-01-02'::date FROM v GROUP BY d",
				 RAMA_STORE_DB_ONCE, NULL, 0, take_row, &s, NULL, &e),
			 0);
	assert_true(s.cell[0].type == RAMA_STORE_CELL_INT && s.cell[0].i == 12);
	assert_true(s.cell[1].i == 1 && s.cell[2].type == RAMA_STORE_CELL_INT && s.cell[2].i == 1);
	assert_true(s.cell[3].type == RAMA_STORE_CELL_REAL && s.cell[3].f == 0.1);
	assert_string_equal(s.kept[4], "x");
	assert_string_equal(s.kept[5], "2026-01-02");
	pg->close(db);
}

/* ---- batches --------------------------------------------------------------------------------- */

static void batches(void **st)
{
	static const char put[] = "INSERT INTO t VALUES ($1)";
	void *db = opened("batches");

	(void)st;
	run_ok(db, "CREATE TABLE t (a BIGINT PRIMARY KEY)");
	assert_int_equal(pg->begin(db, &e), 0);
	for (int64_t i = 0; i < 5000; i++) {
		struct rama_store_cell c = num(i);

		assert_int_equal(pg->run(db, put, RAMA_STORE_DB_KEPT, &c, 1, NULL, NULL, NULL, &e),
				 0);
	}
	assert_int_equal(int_of(db, "SELECT count(*) FROM t"), 5000);
	pg->rollback(db);
	assert_int_equal(int_of(db, "SELECT count(*) FROM t"), 0);
	assert_int_equal(pg->begin(db, &e), 0);
	run_ok(db, "INSERT INTO t VALUES (1)");
	assert_int_equal(pg->commit(db, &e), 0);
	assert_int_equal(int_of(db, "SELECT count(*) FROM t"), 1);
	pg->close(db);
}

/* A statement nobody waited for fails: the batch does, at the latest when it is committed, and
 * the next one works. */
static void late_errors(void **st)
{
	static const char put[] = "INSERT INTO t VALUES ($1)";
	void *db = opened("late");
	struct rama_store_cell one = num(1);
	int64_t v;

	(void)st;
	run_ok(db, "CREATE TABLE t (a BIGINT PRIMARY KEY)");
	for (int look = 0; look < 2; look++) {
		assert_int_equal(pg->begin(db, &e), 0);
		pg->run(db, put, RAMA_STORE_DB_KEPT, &one, 1, NULL, NULL, NULL, &e);
		pg->run(db, put, RAMA_STORE_DB_KEPT, &one, 1, NULL, NULL, NULL, &e);
		if (look)
			assert_true(pg->run(db, "SELECT 1", RAMA_STORE_DB_ONCE, NULL, 0, take_int,
					    &v, NULL, &e) < 0);
		memset(&e, 0, sizeof(e));
		assert_true(pg->commit(db, &e) < 0);
		assert_non_null(strstr(e.text, "duplicate key"));
		assert_true(pg->temporary(db)); /* another may have been faster */
		pg->rollback(db);
		assert_int_equal(int_of(db, "SELECT count(*) FROM t"), 0);
	}
	assert_true(pg->run(db, "SELEC 1", RAMA_STORE_DB_ONCE, NULL, 0, NULL, NULL, NULL, &e) ==
		    RAMA_EUSAGE);
	assert_false(pg->temporary(db));
	assert_int_equal(int_of(db, "SELECT 7"), 7);
	pg->close(db);
}

static void only_reading(void **st)
{
	void *db = opened("reading"), *other;
	int64_t v = 0;

	(void)st;
	run_ok(db, "CREATE TABLE t (a BIGINT)");
	for (int batch = 0; batch < 2; batch++) {
		if (batch)
			assert_int_equal(pg->begin(db, &e), 0);
		assert_int_equal(pg->run(db, "INSERT INTO t VALUES (1)", RAMA_STORE_DB_READ, NULL,
					 0, NULL, NULL, NULL, &e),
				 RAMA_EUSAGE);
		assert_non_null(strstr(e.text, "only statements that read"));
		if (batch)
			pg->rollback(db);
	}
	assert_int_equal(pg->run(db, "SELECT 1; SELECT 2", RAMA_STORE_DB_READ, NULL, 0, NULL, NULL,
				 NULL, &e),
			 RAMA_EUSAGE);
	assert_int_equal(pg->run(db, "COMMIT", RAMA_STORE_DB_READ, NULL, 0, NULL, NULL, NULL, &e),
			 0);
	assert_int_equal(int_of(db, "SELECT count(*) FROM t"), 0);
	/* in a batch it changes nothing of what the batch may do afterwards */
	assert_int_equal(pg->begin(db, &e), 0);
	run_ok(db, "INSERT INTO t VALUES (1)");
	assert_int_equal(pg->run(db, "SELECT count(*) FROM t", RAMA_STORE_DB_READ, NULL, 0,
				 take_int, &v, NULL, &e),
			 0);
	assert_int_equal(v, 1);
	run_ok(db, "INSERT INTO t VALUES (2)");
	assert_int_equal(pg->commit(db, &e), 0);
	assert_int_equal(int_of(db, "SELECT count(*) FROM t"), 2);
	/* a store opened for reading */
	assert_int_equal(pg->open(&other, url, RAMA_STORE_READ, &e), 0);
	assert_true(pg->run(other, "INSERT INTO t VALUES (1)", RAMA_STORE_DB_ONCE, NULL, 0, NULL,
			    NULL, NULL, &e) < 0);
	pg->close(other);
	pg->close(db);
}

/* ---- rows ------------------------------------------------------------------------------------ */

struct nest {
	void *db;
	int64_t rows, sum, inner;
	int64_t stop_at;
};

static int inner_row(void *ctx, const struct rama_store_row *row, struct rama_err *err)
{
	(void)err;
	((struct nest *)ctx)->inner += row->cell[0].i;
	return 0;
}

static int outer_row(void *ctx, const struct rama_store_row *row, struct rama_err *err)
{
	static const char inner[] = "SELECT a FROM generate_series(1, $1::BIGINT) AS g (a)";
	struct nest *n = ctx;
	struct rama_store_cell c = num(row->cell[0].i % 5);

	n->rows++;
	n->sum += row->cell[0].i;
	if (n->rows == n->stop_at)
		return 1;
	return n->db != NULL
		       ? pg->run(n->db, inner, RAMA_STORE_DB_KEPT, &c, 1, inner_row, n, NULL, err)
		       : 0;
}

static void statements_in_statements(void **st)
{
	static const char sql[] = "SELECT a FROM generate_series(1, 1000) AS g (a)";
	void *db = opened("nested");

	(void)st;
	for (int batch = 0; batch < 2; batch++)
		for (int once = RAMA_STORE_DB_KEPT; once <= RAMA_STORE_DB_READ; once++) {
			struct nest n = { .db = db };

			if (batch)
				assert_int_equal(pg->begin(db, &e), 0);
			assert_int_equal(pg->run(db, sql, once, NULL, 0, outer_row, &n, NULL, &e),
					 0);
			assert_true(n.rows == 1000 && n.sum == 500500);
			assert_int_equal(n.inner, 200 * (1 + 3 + 6 + 10));
			n = (struct nest){ .db = db, .stop_at = 10 };
			assert_int_equal(pg->run(db, sql, once, NULL, 0, outer_row, &n, NULL, &e),
					 0);
			assert_int_equal(n.rows, 10);
			if (batch)
				assert_int_equal(pg->commit(db, &e), 0);
		}
	pg->close(db);
}

/* What is written while rows are read is sent and not waited for: nobody may take its outcome
 * for another's. */
static int write_one(void *ctx, const struct rama_store_row *row, struct rama_err *err)
{
	static const char put[] = "INSERT INTO t VALUES ($1)";
	struct nest *n = ctx;

	n->rows++;
	return pg->run(n->db, put, RAMA_STORE_DB_KEPT, row->cell, 1, NULL, NULL, NULL, err);
}

static void writing_while_reading(void **st)
{
	static const char sql[] = "SELECT a FROM generate_series(1, 10) AS g (a)";
	static const char count[] = "SELECT count(*) FROM t";
	void *db = opened("both");
	int64_t v = 0;

	(void)st;
	run_ok(db, "CREATE TABLE t (a BIGINT)");
	assert_int_equal(pg->begin(db, &e), 0);
	for (int i = 1; i <= 3; i++) {
		struct nest n = { .db = db };

		assert_int_equal(
			pg->run(db, sql, RAMA_STORE_DB_KEPT, NULL, 0, write_one, &n, NULL, &e), 0);
		assert_int_equal(n.rows, 10);
		assert_int_equal(
			pg->run(db, count, RAMA_STORE_DB_KEPT, NULL, 0, take_int, &v, NULL, &e), 0);
		assert_int_equal(v, 10 * i);
	}
	assert_int_equal(pg->commit(db, &e), 0);
	assert_int_equal(int_of(db, "SELECT count(*) FROM t"), 30);
	pg->close(db);
}

static int64_t memory_kb(void)
{
#ifdef __SANITIZE_ADDRESS__ /* keeps what was freed */
	return 0;
#endif
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	int64_t kb = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "VmRSS: %ld", &kb) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return kb;
}

/* Many rows need no memory, and whoever has seen enough does not wait for the rest. */
static void streams(void **st)
{
	static const char many[] =
		"SELECT a, repeat('x', 500) FROM generate_series(1, 200000) AS g (a)";
	static const char endless[] = "SELECT generate_series(1, 100000000000)";
	void *db = opened("streams");
	struct nest n = { 0 };
	int64_t before;

	(void)st;
	for (int once = RAMA_STORE_DB_KEPT; once <= RAMA_STORE_DB_READ; once++) {
		before = memory_kb();
		n = (struct nest){ 0 };
		assert_int_equal(pg->run(db, many, once, NULL, 0, outer_row, &n, NULL, &e), 0);
		assert_int_equal(n.rows, 200000);
		assert_true(memory_kb() - before < 20000);
	}
	for (int i = 0; i < 20; i++) {
		n = (struct nest){ .stop_at = 3 };
		assert_int_equal(pg->run(db, endless, RAMA_STORE_DB_READ, NULL, 0, outer_row, &n,
					 NULL, &e),
				 0);
		assert_int_equal(n.rows, 3);
		run_ok(db, "CREATE TABLE IF NOT EXISTS still_writes ()");
	}
	pg->close(db);
}

/* ---- a server that goes away ----------------------------------------------------------------- */

static void kill_backend(int64_t pid)
{
	void *db;
	char sql[100];

	assert_int_equal(pg->open(&db, url, RAMA_STORE_WRITE, &e), 0);
	snprintf(sql, sizeof(sql), "SELECT pg_terminate_backend(%lld)", (long long)pid);
	run_ok(db, sql);
	snprintf(sql, sizeof(sql), "SELECT count(*) FROM pg_stat_activity WHERE pid = %lld",
		 (long long)pid);
	while (int_of(db, sql) != 0)
		;
	pg->close(db);
}

static void connections_come_back(void **st)
{
	static const char put[] = "INSERT INTO t VALUES ($1)";
	void *db = opened("lost");
	struct rama_store_cell one = num(1);
	int64_t v;

	(void)st;
	run_ok(db, "CREATE TABLE t (a BIGINT)");
	assert_int_equal(pg->run(db, put, RAMA_STORE_DB_KEPT, &one, 1, NULL, NULL, NULL, &e), 0);
	/* between batches nobody notices, and prepared statements are there again */
	kill_backend(int_of(db, "SELECT pg_backend_pid()"));
	assert_int_equal(pg->begin(db, &e), 0);
	assert_int_equal(pg->run(db, put, RAMA_STORE_DB_KEPT, &one, 1, NULL, NULL, NULL, &e), 0);
	assert_int_equal(pg->commit(db, &e), 0);
	/* in a batch it is an error that passes; what came before in the batch is gone */
	assert_int_equal(pg->begin(db, &e), 0);
	assert_int_equal(pg->run(db, put, RAMA_STORE_DB_KEPT, &one, 1, NULL, NULL, NULL, &e), 0);
	assert_int_equal(int_of(db, "SELECT count(*) FROM t"), 3);
	v = int_of(db, "SELECT pg_backend_pid()");
	kill_backend(v);
	pg->run(db, put, RAMA_STORE_DB_KEPT, &one, 1, NULL, NULL, NULL, &e);
	memset(&e, 0, sizeof(e));
	assert_int_equal(pg->commit(db, &e), RAMA_EIO);
	assert_null(strchr(e.text, '\n'));
	assert_true(pg->temporary(db));
	pg->rollback(db);
	assert_true(pg->temporary(db));
	assert_int_equal(pg->begin(db, &e), 0);
	assert_int_equal(pg->run(db, put, RAMA_STORE_DB_KEPT, &one, 1, NULL, NULL, NULL, &e), 0);
	assert_int_equal(pg->commit(db, &e), 0);
	assert_int_equal(int_of(db, "SELECT count(*) FROM t"), 3);
	pg->close(db);
}

/* a lock that another holds: waits as long as it was told, then an error that passes */
static void locks_of_others(void **st)
{
	void *db = opened("locks"), *other;

	(void)st;
	run_ok(db, "CREATE TABLE t (a BIGINT)");
	run_ok(db, "INSERT INTO t VALUES (1)");
	assert_int_equal(pg->open(&other, url, RAMA_STORE_WRITE, &e), 0);
	assert_int_equal(pg->begin(other, &e), 0);
	assert_int_equal(pg->run(other, "SELECT a FROM t /*lock*/", RAMA_STORE_DB_KEPT, NULL, 0,
				 NULL, NULL, NULL, &e),
			 0);
	assert_int_equal(int_of(other, "SELECT count(*) FROM t"), 1);
	pg->wait(db, 50);
	assert_int_equal(pg->run(db, "UPDATE t SET a = 2", RAMA_STORE_DB_ONCE, NULL, 0, NULL, NULL,
				 NULL, &e),
			 RAMA_EIO);
	assert_true(pg->temporary(db));
	assert_int_equal(pg->commit(other, &e), 0);
	run_ok(db, "UPDATE t SET a = 2");
	pg->close(other);
	pg->close(db);
}

/* ---- the schema ------------------------------------------------------------------------------ */

static void *open_store(void *arg)
{
	struct rama_store *s = NULL;
	struct rama_err own = { 0 };

	(void)arg;
	if (rama_store_open(&s, url, RAMA_STORE_WRITE | RAMA_STORE_CREATE, &own) != 0)
		fprintf(stderr, "%s\n", own.text);
	if (s == NULL)
		return "failed";
	rama_store_close(s);
	return NULL;
}

static void many_make_it_at_once(void **st)
{
	pthread_t thread[8];
	void *db;
	int v = 0;

	(void)st;
	for (int round = 0; round < 2; round++) {
		server("made");
		for (size_t i = 0; i < LENGTH(thread); i++)
			assert_int_equal(pthread_create(&thread[i], NULL, open_store, NULL), 0);
		for (size_t i = 0; i < LENGTH(thread); i++) {
			void *failed;

			assert_int_equal(pthread_join(thread[i], &failed), 0);
			assert_null(failed);
		}
	}
	assert_int_equal(pg->open(&db, url, RAMA_STORE_READ, &e), 0);
	assert_int_equal(pg->version(db, &v, &e), 0);
	assert_true(v >= 1);
	pg->close(db);
}

static void not_a_store(void **st)
{
	void *db = opened("other");
	struct rama_store *s = NULL;

	(void)st;
	assert_int_equal(rama_store_open(&s, url, RAMA_STORE_READ, &e), RAMA_EMISSING);
	run_ok(db, "CREATE TABLE somebody_elses (a BIGINT)");
	assert_int_equal(rama_store_open(&s, url, RAMA_STORE_WRITE | RAMA_STORE_CREATE, &e),
			 RAMA_EFORMAT);
	run_ok(db, "DROP TABLE somebody_elses");
	assert_int_equal(rama_store_open(&s, url, RAMA_STORE_WRITE | RAMA_STORE_CREATE, &e), 0);
	rama_store_close(s);
	run_ok(db, "UPDATE meta SET value = '999' WHERE key = 'schema'");
	assert_int_equal(rama_store_open(&s, url, RAMA_STORE_WRITE | RAMA_STORE_CREATE, &e),
			 RAMA_EVERSION);
	pg->close(db);
}

UNIT_GROUP(postgres, test(errors_that_pass), test(texts_become_utf8), test(addresses),
	   test(values_there_and_back), test(batches), test(late_errors), test(only_reading),
	   test(statements_in_statements), test(writing_while_reading), test(streams),
	   test(connections_come_back), test(locks_of_others), test(many_make_it_at_once),
	   test(not_a_store))
