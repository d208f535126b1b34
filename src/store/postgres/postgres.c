/* SPDX-License-Identifier: BSD-3-Clause */
/* postgres.c: a connection to PostgreSQL that comes back when the server does, and its
 * transactions. */
#include "store/postgres/postgres.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/now.h"

#define CONNECT_S "10"
/* "iorama": only one at a time makes or changes the tables of a database */
#define SCHEMA_LOCK "7597127384229405042"

/* ---- errors ---------------------------------------------------------------------------------- */

bool rama_store_pg_passing(const char *state)
{
	static const char *const rows[] = {
		"",	 /* it never came to the server */
		"08",	 /* the connection */
		"40",	 /* it collided with another transaction */
		"53",	 /* disk full, out of memory, too many connections */
		"57P01", /* shut down by its administrator */
		"57P02", /* another of its processes crashed */
		"57P03", /* it starts, or shuts down */
		"57P05", /* idle for too long */
		"57014", /* took too long, was cancelled */
		"25P03", /* the same */
		"55P03", /* a lock was not to be had */
		"55006", /* in use */
		"23505", /* another has put it there meanwhile */
		"58",	 /* the system under it */
	};

	if (state == NULL || state[0] == '\0')
		return true;
	for (size_t i = 1; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strncmp(state, rows[i], strlen(rows[i])) == 0)
			return true;
	return false;
}

static int code_of(const char *state)
{
	if (state[0] == '\0' || rama_store_pg_passing(state))
		return RAMA_EIO;
	if (strncmp(state, "22", 2) == 0 || strncmp(state, "XX", 2) == 0)
		return RAMA_ECORRUPT;
	if (strcmp(state, "42501") == 0 || strncmp(state, "28", 2) == 0 ||
	    strncmp(state, "3D", 2) == 0)
		return RAMA_EIO;
	return RAMA_EUSAGE;
}

/* one line, without the "ERROR:  " that the caller says better */
static void first_line(const char *text, char *to, size_t room)
{
	static const char *const heads[] = { "ERROR:  ", "FATAL:  ", "PANIC:  " };
	size_t n;

	for (size_t i = 0; i < 3; i++)
		if (strncmp(text, heads[i], 8) == 0)
			text += 8;
	n = strcspn(text, "\n");
	snprintf(to, room, "%.*s", (int)n, text);
}

int rama_store_pg_fail(struct rama_store_pg *db, const PGresult *r, struct rama_err *e)
{
	const char *state = r != NULL ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
	const char *said = r != NULL ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	struct rama_err own;
	char line[400];

	if (e == NULL)
		e = &own;
	if (r != NULL && PQresultStatus(r) == PGRES_PIPELINE_ABORTED && db->broken) {
		*e = db->why;
		return e->code;
	}
	if (state == NULL || PQstatus(db->conn) != CONNECTION_OK)
		state = "";
	if (said == NULL)
		said = PQerrorMessage(db->conn);
	first_line(said, line, sizeof(line));
	db->passing = rama_store_pg_passing(state);
	if (strcmp(state, "57014") == 0 && db->limit_ms > 0)
		rama_err_set(e, RAMA_ESTOPPED, "it took longer than %d ms", db->limit_ms);
	else if (strcmp(state, "25006") == 0)
		rama_err_set(e, RAMA_EUSAGE, "only statements that read are allowed");
	else
		rama_err_set(e, code_of(state), "%s",
			     line[0] != '\0' ? line : "the connection is lost");
	if (db->in_batch && !db->broken) {
		/* it may be the fault of any message of the batch, or of none: nobody must leave
		 * one out for it */
		if (e->code != RAMA_EMEMORY && strcmp(state, "25006") != 0)
			e->code = RAMA_EIO;
		db->broken = true;
		db->why = *e;
	}
	return e->code;
}

static bool temporary(const void *handle)
{
	const struct rama_store_pg *db = handle;
	return db->passing;
}

/* ---- connecting ------------------------------------------------------------------------------ */

/* Notices are for nobody, but one that says that the connection has ended. */
static void take_notice(void *ctx, const PGresult *r)
{
	const char *severity = PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED);
	struct rama_store_pg *db = ctx;

	db->ended |= severity != NULL &&
		     (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
}

/* The SQLSTATE in a message of a failed connection, "FATAL:  57P03: the ..."; "": it came from
 * this side. */
static void state_in(const char *text, char state[6])
{
	const char *at = strstr(text, ":  ");

	state[0] = '\0';
	if (at != NULL && strspn(at + 3, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 5 &&
	    at[8] == ':')
		snprintf(state, 6, "%.5s", at + 3);
}

static int refused(struct rama_store_pg *db, struct rama_err *e)
{
	const char *text = PQerrorMessage(db->conn), *at;
	char state[6], line[400];

	state_in(text, state);
	at = state[0] != '\0' ? strstr(text, ":  ") + 10 : text;
	first_line(at, line, sizeof(line));
	db->passing = rama_store_pg_passing(state);
	return rama_err_set(e, RAMA_EIO, "%s", line[0] != '\0' ? line : "no connection");
}

/* Waits for the server's answers; libpq's own PQconnectdb would not tell why the server refused. */
static bool await_connection(PGconn *conn)
{
	int64_t end = rama_now_ms() + 1000 * strtol(CONNECT_S, NULL, 10);
	PostgresPollingStatusType st = PGRES_POLLING_WRITING;

	while (st == PGRES_POLLING_READING || st == PGRES_POLLING_WRITING) {
		struct pollfd p = { .fd = PQsocket(conn),
				    .events = st == PGRES_POLLING_READING ? POLLIN : POLLOUT };

		if (poll(&p, 1, 1000) == 0) {
			if (rama_now_ms() >= end)
				return false;
			continue;
		}
		st = PQconnectPoll(conn);
	}
	return st == PGRES_POLLING_OK;
}

/* What we ask of every connection. Statements of writers go by keys: a plan made while a table
 * was empty must not read all of it later. */
#define COMMON "SET jit = off; SET client_encoding = 'UTF8'; SET standard_conforming_strings = on;"
#define NUMBERS "SET extra_float_digits = 1; SET bytea_output = 'hex';"
static int settings(struct rama_store_pg *db, struct rama_err *e)
{
	static const char reads[] = COMMON NUMBERS "SET default_transaction_read_only = on";
	static const char writes[] = COMMON NUMBERS "SET enable_seqscan = off";
	bool write = (db->flags & RAMA_STORE_WRITE) != 0;
	const char *encoding = PQparameterStatus(db->conn, "server_encoding");
	PGresult *r = PQexec(db->conn, write ? writes : reads);
	int rc = PQresultStatus(r) == PGRES_COMMAND_OK ? 0 : rama_store_pg_fail(db, r, e);

	PQclear(r);
	if (rc == 0 && encoding != NULL && strcmp(encoding, "UTF8") != 0 &&
	    strcmp(encoding, "SQL_ASCII") != 0)
		rc = rama_err_set(e, RAMA_EFORMAT,
				  "its encoding is %s: CREATE DATABASE … ENCODING 'UTF8'",
				  encoding);
	/* writers that wait for each other in a circle find out sooner, where the server's owner
	 * lets us say so */
	if (rc == 0 && write)
		PQclear(PQexec(db->conn, "SET deadlock_timeout = '100ms'"));
	return rc;
}

/* place of the list's i-th value; a list of one value is for all */
static const char *nth(const char *list, unsigned i, char to[256])
{
	const char *at = list != NULL ? list : "", *comma;

	for (; i > 0 && (comma = strchr(at, ',')) != NULL; i--)
		at = comma + 1;
	snprintf(to, 256, "%.*s", (int)strcspn(at, ","), at);
	return to;
}

static unsigned count(const char *list)
{
	unsigned n = list != NULL && *list != '\0';

	for (; n > 0 && *list != '\0'; list++)
		n += *list == ',';
	return n;
}

/* What the URL says of hosts; *n: how many there are. */
static void read_hosts(const char *where, char *host[3], unsigned *n)
{
	static const char *const names[] = { "host", "hostaddr", "port" };
	PQconninfoOption *all = PQconninfoParse(where, NULL);

	*n = 0;
	for (unsigned i = 0; i < 3; i++) {
		host[i] = NULL;
		for (const PQconninfoOption *o = all; o != NULL && o->keyword != NULL; o++)
			if (strcmp(o->keyword, names[i]) == 0 && o->val != NULL)
				host[i] = strdup(o->val);
		if (i < 2 && count(host[i]) > *n)
			*n = count(host[i]);
	}
	PQconninfoFree(all);
}

static int connect_to(struct rama_store_pg *db, const char *const host[3], struct rama_err *e)
{
	/* the ones before dbname are what it may override, those behind it override */
	static const char *const keys[] = { "fallback_application_name",
					    "connect_timeout",
					    "keepalives_idle",
					    "keepalives_interval",
					    "keepalives_count",
					    "tcp_user_timeout",
					    "dbname",
					    "client_encoding",
					    "host",
					    "hostaddr",
					    "port",
					    NULL };
	/* an empty value is as if it were not there */
	const char *const values[] = { "iorama",  CONNECT_S, "30",    "10",    "3",	"60000",
				       db->where, "UTF8",    host[0], host[1], host[2], NULL };

	PQfinish(db->conn);
	db->unread = db->syncs = 0;
	rama_store_pg_forget_statements(db, false);
	db->conn = PQconnectStartParams(keys, values, 1);
	if (db->conn == NULL)
		return rama_err_no_memory(e);
	db->ended = false;
	PQsetNoticeReceiver(db->conn, take_notice, db);
	PQsetErrorVerbosity(db->conn, PQERRORS_VERBOSE);
	if (PQstatus(db->conn) == CONNECTION_BAD || !await_connection(db->conn))
		return refused(db, e);
	PQsetErrorVerbosity(db->conn, PQERRORS_DEFAULT);
	return 0;
}

/* Several servers: one after the other, beginning with that which was good last. libpq would wait
 * for ever for the first one if that does not even refuse. */
static int connect_any(struct rama_store_pg *db, struct rama_err *e)
{
	static const char *const as_it_stands[3] = { "", "", "" };
	char *list[3], one[3][256];
	unsigned n, at = 0;
	int rc = RAMA_EIO;

	read_hosts(db->where, list, &n);
	if (n < 2)
		rc = connect_to(db, as_it_stands, e);
	for (unsigned i = 0; n > 1 && i < n && rc != 0; i++) {
		const char *host[3];

		at = (db->host + i) % n;
		for (unsigned k = 0; k < 3; k++)
			host[k] = nth(list[k], at, one[k]);
		rc = connect_to(db, host, e);
	}
	if (rc == 0)
		db->host = at;
	for (unsigned k = 0; k < 3; k++)
		free(list[k]);
	return rc;
}

static void limit(void *handle, int ms);

static int connect_now(struct rama_store_pg *db, struct rama_err *e)
{
	int rc = connect_any(db, e);

	if (rc == 0)
		rc = settings(db, e);
	if (rc == 0 && PQenterPipelineMode(db->conn) != 1)
		rc = rama_err_set(e, RAMA_EIO, "no pipeline: %s", PQerrorMessage(db->conn));
	if (rc == 0)
		db->connections++;
	if (rc == 0 && db->limit_ms > 0)
		limit(db, db->limit_ms);
	return rc;
}

/* Has a server that went away said so meanwhile, or has the connection been closed? */
static bool still_there(struct rama_store_pg *db)
{
	struct pollfd p = { .fd = PQsocket(db->conn), .events = POLLIN };

	for (int i = 0; i < 100 && poll(&p, 1, 0) > 0 && PQconsumeInput(db->conn) == 1; i++)
		if (PQisBusy(db->conn) || db->ended)
			break;
	return !db->ended && PQstatus(db->conn) == CONNECTION_OK;
}

int rama_store_pg_connected(struct rama_store_pg *db, struct rama_err *e)
{
	if (PQstatus(db->conn) == CONNECTION_OK && PQpipelineStatus(db->conn) == PQ_PIPELINE_ON &&
	    (db->syncs > 0 || still_there(db)))
		return 0;
	return connect_now(db, e);
}

static void close_db(void *handle)
{
	struct rama_store_pg *db = handle;
	if (db == NULL)
		return;
	PQfinish(db->conn);
	rama_store_pg_forget_statements(db, true);
	free(db->call);
	rama_store_pg_work_fini(db);
	free(db->where);
	free(db);
}

/* A URL that cannot be meant is told at once, without asking a server. */
static int check_url(const char *where, struct rama_err *e)
{
	char *text = NULL;
	PQconninfoOption *o = PQconninfoParse(where, &text);
	int rc = o != NULL ? 0 : RAMA_EUSAGE;
	char line[400];

	if (o == NULL) {
		first_line(text != NULL ? text : "not an address of PostgreSQL", line,
			   sizeof(line));
		rama_err_set(e, RAMA_EUSAGE, "%s", line);
	}
	PQfreemem(text);
	PQconninfoFree(o);
	return rc;
}

static int open_db(void **to, const char *where, unsigned flags, struct rama_err *e)
{
	struct rama_store_pg *db;
	int rc = check_url(where, e);

	*to = NULL;
	if (rc != 0)
		return rc;
	db = calloc(1, sizeof(*db));
	if (db == NULL || (db->where = strdup(where)) == NULL) {
		free(db);
		return rama_err_no_memory(e);
	}
	db->flags = flags;
	rc = connect_now(db, e);
	if (rc != 0) {
		close_db(db);
		return rc;
	}
	*to = db;
	return 0;
}

/* ---- transactions ---------------------------------------------------------------------------- */

static int begin(void *handle, struct rama_err *e)
{
	struct rama_store_pg *db = handle;
	int rc = rama_store_pg_connected(db, e);

	if (rc == 0)
		rc = rama_store_pg_send(db, "BEGIN", e);
	db->in_batch = rc == 0;
	db->broken = false;
	return rc;
}

static void rollback(void *handle)
{
	struct rama_store_pg *db = handle;
	bool passing = db->passing;

	if (!db->in_batch)
		return;
	if (PQstatus(db->conn) == CONNECTION_OK) {
		rama_store_pg_settle(db, NULL);
		if (rama_store_pg_send(db, "ROLLBACK", NULL) == 0)
			rama_store_pg_settle(db, NULL);
	}
	/* calls that this batch made known are not there */
	db->n_calls = 0;
	db->in_batch = db->broken = false;
	db->passing = passing;
}

static int commit(void *handle, struct rama_err *e)
{
	struct rama_store_pg *db = handle;
	int rc = 0;

	if (db->broken) {
		if (e != NULL)
			*e = db->why;
		return db->why.code;
	}
	rc = rama_store_pg_send(db, "COMMIT", e);
	if (rc == 0)
		rc = rama_store_pg_settle(db, e);
	if (rc == 0)
		db->in_batch = false;
	return rc;
}

static int script(void *handle, const char *sql, struct rama_err *e)
{
	struct rama_store_pg *db = handle;
	PGresult *r;
	int rc = db->in_batch ? rama_store_pg_settle(db, e) : rama_store_pg_connected(db, e);

	if (rc != 0)
		return rc;
	PQexitPipelineMode(db->conn);
	r = PQexec(db->conn, sql);
	if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK &&
	    PQresultStatus(r) != PGRES_EMPTY_QUERY)
		rc = rama_store_pg_fail(db, r, e);
	PQclear(r);
	if (PQstatus(db->conn) == CONNECTION_OK)
		PQenterPipelineMode(db->conn);
	return rc;
}

static void wait_for(void *handle, int ms)
{
	struct rama_store_pg *db = handle;
	char sql[64];

	/* 0 would be for ever */
	snprintf(sql, sizeof(sql), "SET lock_timeout = %d", ms > 0 ? ms : 1);
	script(db, sql, NULL);
}

static void limit(void *handle, int ms)
{
	struct rama_store_pg *db = handle;
	char sql[64];

	snprintf(sql, sizeof(sql), "SET statement_timeout = %d", ms > 0 ? ms : 0);
	db->limit_ms = ms;
	script(db, sql, NULL);
}

/* ---- schema, upkeep -------------------------------------------------------------------------- */

static int one_int(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	*(int64_t *)ctx = row->n > 0 ? row->cell[0].i : 0;
	return 1;
}

static int ask(struct rama_store_pg *db, const char *sql, int64_t *n, struct rama_err *e)
{
	*n = 0;
	return rama_store_pg_run(db, sql, RAMA_STORE_DB_ONCE, NULL, 0, one_int, n, NULL, e);
}

/* In a transaction it is asked by somebody who is about to change the schema: one at a time. The
 * schema that the tables are to lie in (search_path) is made if it is not there. */
static int schema_lock(struct rama_store_pg *db, struct rama_err *e)
{
	static const char place[] =
		"DO $$ BEGIN IF current_schema() IS NULL THEN EXECUTE format('CREATE SCHEMA %I',"
		" btrim(split_part(current_setting('search_path'), ',', 1), ' \"')); END IF; END "
		"$$";
	int rc = script(db, "SELECT pg_advisory_xact_lock(" SCHEMA_LOCK ")", e);

	return rc == 0 && (db->flags & RAMA_STORE_CREATE) != 0 ? script(db, place, e) : rc;
}

static int version(void *handle, int *v, struct rama_err *e)
{
	struct rama_store_pg *db = handle;
	static const char tables[] =
		"SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
		" WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p')"
		" AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = "
		"'e')";
	static const char ours[] =
		"SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
		" WHERE n.nspname = current_schema() AND c.relname IN ('meta', 'jobs')";
	int64_t n = 0, own = 0;
	int rc = db->in_batch ? schema_lock(db, e) : 0;

	*v = 0;
	if (rc == 0)
		rc = ask(db, ours, &own, e);
	if (rc == 0 && own != 2)
		rc = ask(db, tables, &n, e);
	if (rc == 0 && own != 2)
		return n == 0 ? 0 : rama_err_set(e, RAMA_EFORMAT, "a database of something else");
	if (rc == 0)
		rc = ask(db, "SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'schema'", &n, e);
	if (rc == 0 && (n < 1 || n > 1000000))
		return rama_err_set(e, RAMA_EFORMAT, "a store without a version");
	*v = (int)n;
	return rc;
}

static int64_t size(void *handle)
{
	struct rama_store_pg *db = handle;
	int64_t n = 0;

	ask(db,
	    "SELECT CAST(coalesce(sum(pg_total_relation_size(c.oid)), 0) AS BIGINT) FROM pg_class c"
	    " JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() AND "
	    "c.relkind = 'r'",
	    &n, NULL);
	return n;
}

static int shrink(void *handle, struct rama_err *e)
{
	struct rama_store_pg *db = handle;
	static const char *const tables[] = { "blocks",	       "rollups", "activity",
					      "sample_values", "files",	  "logs" };
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(tables) / sizeof(tables[0]); i++) {
		char sql[64];

		snprintf(sql, sizeof(sql), "VACUUM (ANALYZE) %s", tables[i]);
		rc = script(db, sql, e);
	}
	return rc;
}

const struct rama_store_db_ops rama_store_db_postgres = {
	.name = "postgresql",
	.many_readers = true,
	.open = open_db,
	.close = close_db,
	.script = script,
	.run = rama_store_pg_run,
	.begin = begin,
	.commit = commit,
	.rollback = rollback,
	.temporary = temporary,
	.schema = rama_store_pg_schema,
	.version = version,
	.wait = wait_for,
	.limit = limit,
	.int_type = "BIGINT",
	.real_type = "DOUBLE PRECISION",
	.text_type = "TEXT",
	.table_end = "",
	.put_block = rama_store_pg_put_block,
	.get_block = rama_store_pg_get_block,
	.block_sql = rama_store_pg_block_sql,
	/* arguments that a statement does not use have no type of their own */
	.has_record = " AND (ROW($1::BIGINT, $2::BIGINT, $5::BIGINT, $6::BIGINT, $7::BIGINT) IS "
		      "NULL OR TRUE)"
		      " AND $8 = ANY(b.records)",
	.size = size,
	.shrink = shrink,
};
