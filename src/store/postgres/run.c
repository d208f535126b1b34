/* SPDX-License-Identifier: BSD-3-Clause */
/* run.c: statements on their way. What was sent comes back in order: outcomes nobody
 * waited for, then the rows of the one that somebody waits for, then the mark of the end of the
 * pipeline (sync). */
#include "base/grow.h"
#include "store/postgres/postgres.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNREAD_MOST 1000 /* the server keeps its answers for us until then */

/* what SQL that is written once says in a comment at its end, and what it means here */
static const struct {
	const char *mark, *sql;
} locks[] = {
	{ "/*lock*/", "FOR NO KEY UPDATE" },
	{ "/*hold*/", "FOR KEY SHARE" },
	{ "/*free*/", "FOR NO KEY UPDATE SKIP LOCKED" },
};

/* a statement with its arguments, and who wants to know what it gives */
struct question {
	const struct rama_store_pg_statement *st;
	const struct rama_store_cell *args;
	unsigned n;
	struct rama_store_pg_reader reader;
	int64_t *changed;
};

/* ---- what comes back ------------------------------------------------------------------------- */

/* The next outcome; NULL: nothing is on the wire any more, or the connection is gone. Ends of
 * statements (NULL) are passed over. */
static PGresult *next_result(struct rama_store_pg *db)
{
	PGresult *r = PQgetResult(db->conn);

	if (r == NULL)
		r = PQgetResult(db->conn);
	if (r != NULL && PQresultStatus(r) == PGRES_PIPELINE_SYNC && db->syncs > 0)
		db->syncs--;
	return r;
}

/* Reads, whatever it is, up to the end of the pipeline that was asked for last. */
static void pg_drain(struct rama_store_pg *db)
{
	PGresult *r;

	while (db->syncs > 0 && (r = next_result(db)) != NULL)
		PQclear(r);
	db->syncs = 0;
}

static int end_pipeline(struct rama_store_pg *db, struct rama_err *e)
{
	if (PQpipelineSync(db->conn) != 1)
		return rama_store_pg_fail(db, NULL, e);
	db->syncs++;
	return 0;
}

static bool bad(const PGresult *r)
{
	ExecStatusType s = PQresultStatus(r);

	return s == PGRES_FATAL_ERROR || s == PGRES_BAD_RESPONSE || s == PGRES_PIPELINE_ABORTED;
}

/* Outcomes of `n` statements nobody waited for, each with its end; the first error. */
static int read_unread(struct rama_store_pg *db, unsigned n, struct rama_err *e)
{
	int rc = 0;

	while (rc == 0 && n-- > 0) {
		PGresult *r = PQgetResult(db->conn);

		if (r == NULL || bad(r))
			rc = rama_store_pg_fail(db, r, e);
		PQclear(r);
		while (rc == 0 && (r = PQgetResult(db->conn)) != NULL)
			PQclear(r);
	}
	return rc;
}

int rama_store_pg_settle(struct rama_store_pg *db, struct rama_err *e)
{
	unsigned n = db->unread;
	int rc = n > 0 ? end_pipeline(db, e) : 0;

	db->unread = 0;
	if (rc == 0)
		rc = read_unread(db, n, e);
	pg_drain(db);
	return rc;
}

/* ---- what goes out --------------------------------------------------------------------------- */

int rama_store_pg_send(struct rama_store_pg *db, const char *sql, struct rama_err *e)
{
	if (PQsendQueryParams(db->conn, sql, 0, NULL, NULL, NULL, NULL, 0) != 1)
		return rama_store_pg_fail(db, NULL, e);
	db->unread++;
	return 0;
}

void rama_store_pg_forget_statements(struct rama_store_pg *db, bool for_good)
{
	for (unsigned i = 0; i < db->n_statements; i++) {
		struct rama_store_pg_statement *st = db->statement[i];

		st->ready = false;
		if (!for_good)
			continue;
		free(st->sql);
		free(st->type);
		free(st);
	}
	if (!for_good)
		return;
	free((void *)db->statement);
	rama_map_fini(&db->by_key);
	db->statement = NULL;
	db->n_statements = 0;
}

static int new_statement(struct rama_store_pg *db, const char *sql,
			 struct rama_store_pg_statement **found, struct rama_err *e)
{
	struct rama_store_pg_statement *st = calloc(1, sizeof(*st));

	if (st != NULL)
		st->sql = strdup(sql);
	if (st == NULL || st->sql == NULL ||
	    !RAMA_GROW(db->statement, db->room_statements, db->n_statements + 1)) {
		if (st != NULL)
			free(st->sql);
		free(st);
		return rama_err_no_memory(e);
	}
	snprintf(st->name, sizeof(st->name), "iorama_%u", db->n_statements);
	db->statement[db->n_statements++] = st;
	*found = st;
	return 0;
}

/* the statement of this text, found by its address; a text that changed since is another
 * statement */
static int find_statement(struct rama_store_pg *db, const char *sql,
			  struct rama_store_pg_statement **found, struct rama_err *e)
{
	bool fresh = false;
	uint64_t *at = rama_map_put(&db->by_key, (uint64_t)(uintptr_t)sql, &fresh);
	int rc;

	if (at == NULL)
		return rama_err_no_memory(e);
	if (*at != 0 && strcmp(db->statement[*at - 1]->sql, sql) == 0) {
		*found = db->statement[*at - 1];
		return 0;
	}
	rc = new_statement(db, sql, found, e);
	if (rc == 0)
		*at = db->n_statements;
	return rc;
}

static int learn_types(struct rama_store_pg_statement *st, const PGresult *r, struct rama_err *e)
{
	int columns = PQnfields(r);

	free(st->type);
	st->n_types = (unsigned)PQnparams(r);
	st->type = calloc(st->n_types + 1, sizeof(*st->type));
	if (st->type == NULL)
		return rama_err_no_memory(e);
	for (unsigned i = 0; i < st->n_types; i++)
		st->type[i] = PQparamtype(r, (int)i);
	st->binary = true;
	for (int i = 0; i < columns; i++)
		st->binary &= rama_store_pg_binary(PQftype(r, i));
	st->ready = true;
	return 0;
}

/* The comment at its end that asks for a lock becomes one. */
static char *with_lock(const char *sql)
{
	size_t n = strlen(sql);
	char *to = malloc(n + 32);

	if (to == NULL)
		return NULL;
	memcpy(to, sql, n + 1);
	for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
		size_t mark = strlen(locks[i].mark);

		if (n > mark && strcmp(sql + n - mark, locks[i].mark) == 0)
			snprintf(to + n - mark, 32, "%s", locks[i].sql);
	}
	return to;
}

/* Arguments that a statement does not use have a type all the same; the others' is found by the
 * server. Returns how many places there are. */
static unsigned unused_types(const char *sql, Oid *type, unsigned most)
{
	unsigned n = 0;

	for (unsigned i = 0; i < most; i++)
		type[i] = RAMA_STORE_PG_INT8;
	for (const char *at = strchr(sql, '$'); at != NULL; at = strchr(at + 1, '$')) {
		unsigned long k = strtoul(at + 1, NULL, 10);

		if (k < 1 || k > most)
			continue;
		type[k - 1] = 0;
		n = k > n ? (unsigned)k : n;
	}
	return n;
}

static int prepare(struct rama_store_pg *db, struct rama_store_pg_statement *st, struct rama_err *e)
{
	enum { MOST = 1024 };
	char *sql = with_lock(st->sql);
	PGresult *r = NULL;
	unsigned n = db->unread;
	Oid type[MOST];
	int rc = 0;

	if (sql == NULL)
		return rama_err_no_memory(e);
	if (PQsendPrepare(db->conn, st->name, sql, (int)unused_types(sql, type, MOST), type) != 1 ||
	    PQsendDescribePrepared(db->conn, st->name) != 1)
		rc = rama_store_pg_fail(db, NULL, e);
	free(sql);
	if (rc == 0)
		rc = end_pipeline(db, e);
	db->unread = 0;
	if (rc == 0)
		rc = read_unread(db, n + 1, e);
	if (rc == 0) {
		r = next_result(db);
		rc = r == NULL || bad(r) ? rama_store_pg_fail(db, r, e) : learn_types(st, r, e);
	}
	PQclear(r);
	pg_drain(db);
	return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Another statement wants the wire: what is still to come of this one is kept in memory. */
static int read_ahead(struct rama_store_pg *db, struct rama_err *e)
{
	struct rama_store_pg_rows *rows = db->open;
	PGresult *r;

	db->open = NULL;
	if (rows == NULL || rows->whole)
		return 0;
	while ((r = PQgetResult(db->conn)) != NULL) {
		if (!RAMA_GROW(rows->kept, rows->room, rows->n + 1)) {
			PQclear(r);
			pg_drain(db);
			rows->whole = true;
			return rama_err_no_memory(e);
		}
		rows->kept[rows->n++] = r;
	}
	pg_drain(db);
	rows->whole = true;
	return 0;
}

static PGresult *next_row(struct rama_store_pg *db, struct rama_store_pg_rows *rows)
{
	if (rows->at < rows->n)
		return rows->kept[rows->at++];
	return rows->whole ? NULL : PQgetResult(db->conn);
}

static void stop_server(struct rama_store_pg *db)
{
	char text[256];
	PGcancel *cancel = PQgetCancel(db->conn);

	if (cancel != NULL)
		PQcancel(cancel, text, sizeof(text));
	PQfreeCancel(cancel);
}

/* Reads the rows of a statement; fn may run others meanwhile. `stop`: the server may be told
 * that we have enough. */
static int read_rows(struct rama_store_pg *db, const struct question *q, bool stop,
		     struct rama_err *e)
{
	struct rama_store_pg_rows rows = { 0 };
	int answer = 0, rc = 0;
	PGresult *r;

	PQsetSingleRowMode(db->conn); /* else, too, they come: all at once */
	while (rc == 0 && answer == 0 && (r = next_row(db, &rows)) != NULL) {
		if (bad(r)) {
			rc = rama_store_pg_fail(db, r, e);
		} else if (PQresultStatus(r) == PGRES_EMPTY_QUERY) {
			rc = rama_err_set(e, RAMA_EUSAGE, "an empty statement");
		} else if (q->reader.fn != NULL && PQntuples(r) > 0) {
			db->open = &rows;
			answer = rama_store_pg_give(r, &q->reader, e);
			db->open = NULL;
		}
		if (q->changed != NULL && PQcmdTuples(r)[0] != '\0')
			*q->changed = strtoll(PQcmdTuples(r), NULL, 10);
		PQclear(r);
	}
	if (answer != 0 && stop && !rows.whole)
		stop_server(db);
	if (!rows.whole)
		pg_drain(db);
	while (rows.at < rows.n)
		PQclear(rows.kept[rows.at++]);
	free((void *)rows.kept);
	return rc != 0 ? rc : answer < 0 ? answer : 0;
}

/* ---- one statement --------------------------------------------------------------------------- */

static int send_one(struct rama_store_pg *db, const struct question *q, struct rama_err *e)
{
	const struct rama_store_pg_statement *st = q->st;
	struct rama_store_pg_args a;
	int rc = rama_store_pg_args_init(&a, st, q->args, q->n, e), sent = 1;

	if (rc == 0 && st->ready)
		sent = PQsendQueryPrepared(db->conn, st->name, (int)a.n, a.value, a.length,
					   a.format, st->binary);
	else if (rc == 0)
		sent = PQsendQueryParams(db->conn, st->sql, (int)a.n, a.type, a.value, a.length,
					 a.format, 0);
	rama_store_pg_args_fini(&a);
	if (rc == 0 && sent != 1)
		rc = rama_store_pg_fail(db, NULL, e);
	return rc;
}

/* Waits for the statement that was sent last; `unread`: so many were sent before it. */
static int read_answer(struct rama_store_pg *db, const struct question *q, unsigned unread,
		       bool stop, struct rama_err *e)
{
	int rc = end_pipeline(db, e);

	db->unread = 0;
	if (rc == 0)
		rc = read_unread(db, unread, e);
	if (rc == 0)
		rc = read_rows(db, q, stop, e);
	pg_drain(db);
	return rc;
}

/* A request to stop that comes late may hit this one: then again. */
static void leave_reading(struct rama_store_pg *db, bool batch)
{
	bool passing = db->passing;

	for (int i = 0; i < 5 && PQstatus(db->conn) == CONNECTION_OK; i++) {
		if (rama_store_pg_send(db, batch ? "ROLLBACK TO iorama_read" : "ROLLBACK", NULL) ==
			    0 &&
		    rama_store_pg_settle(db, NULL) == 0)
			break;
		db->broken = false;
	}
	db->passing = passing;
}

/* A statement of somebody else that must only read: whatever it is, it cannot write. */
static int run_reading(struct rama_store_pg *db, const struct question *q, struct rama_err *e)
{
	bool batch = db->in_batch;
	unsigned unread;
	int rc = rama_store_pg_send(db, batch ? "SAVEPOINT iorama_read" : "BEGIN READ ONLY", e);

	if (rc == 0 && batch)
		rc = rama_store_pg_send(db, "SET LOCAL transaction_read_only = on", e);
	unread = db->unread;
	if (rc == 0)
		rc = send_one(db, q, e);
	if (rc == 0)
		rc = read_answer(db, q, unread, !batch, e);
	if (!db->broken)
		leave_reading(db, batch);
	return rc;
}

/* Nobody waits for what has no rows in a batch. */
static int run_writing(struct rama_store_pg *db, const struct question *q, struct rama_err *e)
{
	unsigned unread = db->unread;
	int rc = send_one(db, q, e);

	if (rc != 0)
		return rc;
	if (db->in_batch && q->reader.fn == NULL && q->changed == NULL) {
		db->unread++;
		return db->unread < UNREAD_MOST ? 0 : rama_store_pg_settle(db, e);
	}
	return read_answer(db, q, unread, false, e);
}

// NOLINTNEXTLINE(readability-function-size): as db.h has it
int rama_store_pg_run(void *handle, const char *sql, int once, const struct rama_store_cell *args,
		      unsigned n_args, rama_store_row_fn fn, void *ctx, int64_t *changed,
		      struct rama_err *e)
{
	struct rama_store_pg *db = handle;
	struct rama_store_pg_statement own = { .sql = (char *)sql }, *st = &own;
	struct question q = { NULL, args, n_args, { fn, ctx }, changed };
	int rc = 0;

	if (changed != NULL)
		*changed = 0;
	if (db->broken) {
		if (e != NULL)
			*e = db->why;
		return db->why.code;
	}
	if (db->open != NULL)
		rc = read_ahead(db, e);
	if (rc == 0 && !db->in_batch)
		rc = rama_store_pg_connected(db, e);
	if (rc == 0 && once == RAMA_STORE_DB_KEPT)
		rc = find_statement(db, sql, &st, e);
	if (rc == 0 && once == RAMA_STORE_DB_KEPT && !st->ready)
		rc = prepare(db, st, e);
	q.st = st;
	if (rc != 0)
		return rc;
	return once == RAMA_STORE_DB_READ ? run_reading(db, &q, e) : run_writing(db, &q, e);
}
