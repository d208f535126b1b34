/* SPDX-License-Identifier: BSD-3-Clause */
/* sqlite.c: statements of the store on SQLite. Opening a file is in open.c. */
#include "store/sqlite/db.h"

#include <stdlib.h>
#include <string.h>

#include "base/now.h"

/* ---- errors ---------------------------------------------------------------------------------- */

int rama_store_sqlite_error(struct rama_store_sqlite *db, int code, struct rama_err *e)
{
	const char *text = sqlite3_errmsg(db->handle);

	db->code = code;
	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return rama_err_set(e, RAMA_EIO, "another program holds the store");
	case SQLITE_FULL:
		return rama_err_set(e, RAMA_EIO, "the disk is full");
	case SQLITE_NOMEM:
		return rama_err_no_memory(e);
	case SQLITE_CORRUPT:
		return rama_err_set(e, RAMA_ECORRUPT, "the database is damaged: %s", text);
	case SQLITE_NOTADB:
		return rama_err_set(e, RAMA_EFORMAT, "not a database");
	case SQLITE_INTERRUPT:
		if (db->late)
			return rama_err_set(e, RAMA_ESTOPPED, "it took longer than %d ms",
					    db->limit_ms);
		return rama_err_set(e, RAMA_ESTOPPED, "interrupted");
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return rama_err_set(e, RAMA_EIO, "%s", text);
	case SQLITE_AUTH:
		return rama_err_set(e, RAMA_EUSAGE, "only statements that read are allowed");
	default:
		return rama_err_set(e, RAMA_EUSAGE, "%s", text);
	}
}

static bool temporary(const void *handle)
{
	const struct rama_store_sqlite *db = handle;
	int code = db->code & 0xff;

	return code == SQLITE_BUSY || code == SQLITE_LOCKED || code == SQLITE_FULL ||
	       code == SQLITE_IOERR || code == SQLITE_NOMEM;
}

/* ---- statements, prepared once --------------------------------------------------------------- */

static void entry_fini(struct rama_store_sqlite_entry *en)
{
	sqlite3_finalize(en->st);
	free(en->arg);
	free(en->name);
	free(en->cell);
	*en = (struct rama_store_sqlite_entry){ 0 };
}

/* parameters are named $1, $2, ...: which argument each place takes */
static int number_of(const char *name)
{
	return name != NULL && name[0] == '$' ? (int)strtol(name + 1, NULL, 10) : 0;
}

static int entry_init(struct rama_store_sqlite *db, struct rama_store_sqlite_entry *en,
		      const char *sql, int once, struct rama_err *e)
{
	unsigned flags = once == RAMA_STORE_DB_KEPT ? SQLITE_PREPARE_PERSISTENT : 0;
	const char *rest = NULL;
	int rc = sqlite3_prepare_v3(db->handle, sql, -1, flags, &en->st, &rest);

	if (rc != SQLITE_OK)
		return rama_store_sqlite_error(db, rc, e);
	if (en->st == NULL)
		return rama_err_set(e, RAMA_EUSAGE, "an empty statement");
	if (rest[strspn(rest, " \t\r\n;")] != '\0')
		return rama_err_set(e, RAMA_EUSAGE, "more than one statement");
	en->sql = sql;
	en->n_args = (unsigned)sqlite3_bind_parameter_count(en->st);
	en->n_cells = (unsigned)sqlite3_column_count(en->st);
	en->arg = calloc(en->n_args + 1, sizeof(*en->arg));
	en->name = calloc(en->n_cells + 1, sizeof(*en->name));
	en->cell = calloc(en->n_cells + 1, sizeof(*en->cell));
	if (en->arg == NULL || en->name == NULL || en->cell == NULL)
		return rama_err_no_memory(e);
	for (unsigned i = 0; i < en->n_args; i++)
		en->arg[i] = number_of(sqlite3_bind_parameter_name(en->st, (int)i + 1));
	return 0;
}

/* the kept statement of this text (by its address), prepared if need be; NULL: it is at work, or
 * there is no room */
static struct rama_store_sqlite_entry *kept(struct rama_store_sqlite *db, const char *sql)
{
	size_t at = ((uintptr_t)sql * 0x9e3779b97f4a7c15u) >> 32;

	for (size_t i = 0; i < RAMA_STORE_SQLITE_KEPT; i++) {
		struct rama_store_sqlite_entry *en = &db->kept[(at + i) % RAMA_STORE_SQLITE_KEPT];

		if (en->sql == sql)
			return sqlite3_stmt_busy(en->st) ? NULL : en;
		if (en->sql == NULL)
			return en;
	}
	return NULL;
}

static int bind_one(sqlite3_stmt *st, int at, const struct rama_store_cell *c)
{
	switch (c->type) {
	case RAMA_STORE_CELL_INT:
		return sqlite3_bind_int64(st, at, c->i);
	case RAMA_STORE_CELL_REAL:
		return sqlite3_bind_double(st, at, c->f);
	case RAMA_STORE_CELL_TEXT:
		return sqlite3_bind_text64(st, at, c->text, c->len, SQLITE_STATIC, SQLITE_UTF8);
	case RAMA_STORE_CELL_BYTES:
		return sqlite3_bind_blob64(st, at, c->text, c->len, SQLITE_STATIC);
	default:
		return sqlite3_bind_null(st, at);
	}
}

static void read_cell(sqlite3_stmt *st, int at, struct rama_store_cell *c)
{
	*c = (struct rama_store_cell){ 0 };
	switch (sqlite3_column_type(st, at)) {
	case SQLITE_INTEGER:
		c->type = RAMA_STORE_CELL_INT;
		c->i = sqlite3_column_int64(st, at);
		break;
	case SQLITE_FLOAT:
		c->type = RAMA_STORE_CELL_REAL;
		c->f = sqlite3_column_double(st, at);
		break;
	case SQLITE_TEXT:
		c->type = RAMA_STORE_CELL_TEXT;
		c->text = (const char *)sqlite3_column_text(st, at);
		break;
	case SQLITE_BLOB:
		c->type = RAMA_STORE_CELL_BYTES;
		c->text = sqlite3_column_blob(st, at);
		break;
	default:
		return;
	}
	if (c->type >= RAMA_STORE_CELL_TEXT)
		c->len = (size_t)sqlite3_column_bytes(st, at);
	if (c->text == NULL)
		c->text = "";
}

static int give_row(struct rama_store_sqlite_entry *en, rama_store_row_fn fn, void *ctx,
		    struct rama_err *e)
{
	struct rama_store_row row = { .n = en->n_cells, .name = en->name, .cell = en->cell };

	for (unsigned i = 0; i < en->n_cells; i++) {
		en->name[i] = sqlite3_column_name(en->st, (int)i);
		read_cell(en->st, (int)i, &en->cell[i]);
	}
	return fn(ctx, &row, e);
}

static int step_all(struct rama_store_sqlite *db, struct rama_store_sqlite_entry *en,
		    rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	int rc, answer = 0;

	while ((rc = sqlite3_step(en->st)) == SQLITE_ROW && answer == 0)
		if (fn != NULL)
			answer = give_row(en, fn, ctx, e);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		answer = rama_store_sqlite_error(db, rc, e);
	sqlite3_reset(en->st);
	return answer < 0 ? answer : 0;
}

/* `query --sql` and the like: no ATTACH, no PRAGMA that sets something */
static int only_reads(void *ctx, int action, const char *a, const char *b, const char *c,
		      const char *d)
{
	(void)ctx, (void)a, (void)c, (void)d;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_FUNCTION:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	/* SQLite says so when it meets the table `events`; a statement that did it would be found
	 * out */
	case SQLITE_UPDATE:
		return a != NULL && strcmp(a, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
	case SQLITE_PRAGMA:
		return b == NULL || (a != NULL && strncmp(a, "table_", 6) == 0) ? SQLITE_OK
										: SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

/* ---- how long they may take ------------------------------------------------------------------ */

#define STEPS 4000 /* of the virtual machine, between two looks at the clock: less than a ms */

static int is_late(void *ctx)
{
	struct rama_store_sqlite *db = ctx;

	db->late = db->deadline != 0 && rama_now_ns() > db->deadline;
	return db->late;
}

static void limit(void *handle, int ms)
{
	struct rama_store_sqlite *db = handle;

	db->limit_ms = ms;
	db->deadline = 0;
	sqlite3_progress_handler(db->handle, STEPS, ms > 0 ? is_late : NULL, db);
	/* who answers many has many of these open */
	if (ms > 0)
		sqlite3_exec(db->handle, "PRAGMA cache_size = -2000", NULL, NULL, NULL);
}

/* what the places of a statement take */
static int bind_all(struct rama_store_sqlite *db, struct rama_store_sqlite_entry *en,
		    const struct rama_store_cell *args, unsigned n_args, struct rama_err *e)
{
	static const struct rama_store_cell none = { .type = RAMA_STORE_CELL_NULL };

	for (unsigned i = 0; i < en->n_args; i++) {
		int k = en->arg[i];

		if (bind_one(en->st, (int)i + 1,
			     k >= 1 && (unsigned)k <= n_args ? &args[k - 1] : &none) != SQLITE_OK)
			return rama_store_sqlite_error(db, sqlite3_errcode(db->handle), e);
	}
	return 0;
}

// NOLINTNEXTLINE(readability-function-size): as db.h has it
static int run(void *handle, const char *sql, int once, const struct rama_store_cell *args,
	       unsigned n_args, rama_store_row_fn fn, void *ctx, int64_t *changed,
	       struct rama_err *e)
{
	struct rama_store_sqlite *db = handle;
	struct rama_store_sqlite_entry own = { 0 },
				       *en = once == RAMA_STORE_DB_KEPT ? kept(db, sql) : NULL;
	int64_t before = sqlite3_total_changes64(db->handle);
	int rc = 0;

	if (en == NULL)
		en = &own;
	if (db->limit_ms > 0)
		db->deadline = rama_now_ns() + (int64_t)db->limit_ms * 1000000;
	if (once == RAMA_STORE_DB_READ)
		sqlite3_set_authorizer(db->handle, only_reads, NULL);
	if (en->sql == NULL)
		rc = entry_init(db, en, sql, once, e);
	if (rc == 0 && once == RAMA_STORE_DB_READ && !sqlite3_stmt_readonly(en->st))
		rc = rama_err_set(e, RAMA_EUSAGE, "only statements that read are allowed");
	if (rc == 0)
		rc = bind_all(db, en, args, n_args, e);
	if (rc == 0)
		rc = step_all(db, en, fn, ctx, e);
	if (changed != NULL)
		*changed = sqlite3_total_changes64(db->handle) - before;
	if (en == &own || en->sql == NULL)
		entry_fini(en);
	if (once == RAMA_STORE_DB_READ)
		sqlite3_set_authorizer(db->handle, NULL, NULL);
	return rc;
}

static int script(void *handle, const char *sql, struct rama_err *e)
{
	struct rama_store_sqlite *db = handle;
	int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

	return rc == SQLITE_OK ? 0 : rama_store_sqlite_error(db, rc, e);
}

/* ---- transactions ---------------------------------------------------------------------------- */

static int begin(void *handle, struct rama_err *e)
{
	struct rama_store_sqlite *db = handle;
	return run(db, db->writes ? "BEGIN IMMEDIATE" : "BEGIN", RAMA_STORE_DB_ONCE, NULL, 0, NULL,
		   NULL, NULL, e);
}

static int commit(void *handle, struct rama_err *e)
{
	struct rama_store_sqlite *db = handle;
	return run(db, "COMMIT", RAMA_STORE_DB_ONCE, NULL, 0, NULL, NULL, NULL, e);
}

static void rollback(void *handle)
{
	struct rama_store_sqlite *db = handle;
	int code = db->code;

	if (!sqlite3_get_autocommit(db->handle))
		sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
	db->code = code;
}

static void wait_for(void *handle, int ms)
{
	struct rama_store_sqlite *db = handle;
	sqlite3_busy_timeout(db->handle, ms);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

#define INT(v)                                                 \
	{                                                      \
		.type = RAMA_STORE_CELL_INT, .i = (int64_t)(v) \
	}

// NOLINTNEXTLINE(readability-function-size): as db.h has it
static int put_block(void *handle, int64_t job, int64_t process, int64_t rank,
		     struct rama_wire_block *b, const unsigned char *bytes, size_t n,
		     struct rama_wire_block_packer *p, struct rama_err *e)
{
	struct rama_store_sqlite *db = handle;
	static const char sql[] =
		"INSERT INTO blocks (process, lane, first, n, job, rank, t0, t1, tid, lost, body)"
		" VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
	unsigned char *own = NULL;
	int64_t len = (int64_t)n;
	int rc = 0;

	if (bytes == NULL) {
		size_t room = rama_wire_block_room(b);

		own = malloc(room);
		len = own != NULL ? rama_wire_block_pack(p, b, own, room, e)
				  : rama_err_no_memory(e);
		rc = len < 0 ? (int)len : 0;
	}
	if (rc == 0) {
		struct rama_store_cell args[] = {
			INT(process),
			INT(b->lane),
			INT(b->first),
			INT(b->n),
			INT(job),
			INT(rank),
			INT(b->t0),
			INT(b->t1),
			INT(b->tid),
			INT(b->lost),
			{ .type = RAMA_STORE_CELL_BYTES,
			  .text = (const char *)(own != NULL ? own : bytes),
			  .len = (size_t)len },
		};

		rc = run(db, sql, RAMA_STORE_DB_KEPT, args, 11, NULL, NULL, NULL, e);
	}
	free(own);
	return rc;
}

static int get_block(void *handle, const struct rama_store_cell *cells, unsigned n,
		     struct rama_wire_block *b, struct rama_wire_block_packer *p,
		     struct rama_err *e)
{
	struct rama_store_sqlite *db = handle;
	(void)db;
	if (n < 1 || cells[0].type != RAMA_STORE_CELL_BYTES)
		return rama_err_set(e, RAMA_ECORRUPT, "a block without bytes");
	return rama_wire_block_unpack(p, b, (const unsigned char *)cells[0].text, cells[0].len, e);
}

/* ---- upkeep ---------------------------------------------------------------------------------- */

static int one_int(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	*(int64_t *)ctx = row->n > 0 ? row->cell[0].i : 0;
	return 1;
}

static int64_t size(void *handle)
{
	struct rama_store_sqlite *db = handle;
	int64_t pages = 0, page = 0;

	run(db, "PRAGMA page_count", RAMA_STORE_DB_ONCE, NULL, 0, one_int, &pages, NULL, NULL);
	run(db, "PRAGMA page_size", RAMA_STORE_DB_ONCE, NULL, 0, one_int, &page, NULL, NULL);
	return pages * page;
}

static int shrink(void *handle, struct rama_err *e)
{
	struct rama_store_sqlite *db = handle;
	int rc = run(db, "PRAGMA incremental_vacuum", RAMA_STORE_DB_ONCE, NULL, 0, NULL, NULL, NULL,
		     e);

	/* while others read, the file shrinks later */
	if (rc == 0)
		run(db, "PRAGMA wal_checkpoint(TRUNCATE)", RAMA_STORE_DB_ONCE, NULL, 0, NULL, NULL,
		    NULL, NULL);
	return rc;
}

struct told {
	void (*flaw)(void *ctx, const char *line);
	void *ctx;
	int64_t n;
};

static int tell(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct told *t = ctx;

	(void)e;
	if (row->cell[0].type == RAMA_STORE_CELL_TEXT && strcmp(row->cell[0].text, "ok") != 0) {
		t->flaw(t->ctx, row->cell[0].text);
		t->n++;
	}
	return 0;
}

static int64_t check(void *handle, void (*flaw)(void *ctx, const char *line), void *ctx,
		     struct rama_err *e)
{
	struct rama_store_sqlite *db = handle;
	struct told t = { flaw, ctx, 0 };
	int rc = run(db, "PRAGMA quick_check(20)", RAMA_STORE_DB_ONCE, NULL, 0, tell, &t, NULL, e);

	return rc < 0 ? rc : t.n;
}

static int version(void *handle, int *v, struct rama_err *e)
{
	struct rama_store_sqlite *db = handle;
	int64_t tables = 0, meta = 0, n = 0;
	int rc = run(db, "SELECT count(*) FROM sqlite_schema", RAMA_STORE_DB_ONCE, NULL, 0, one_int,
		     &tables, NULL, e);

	*v = 0;
	if (rc != 0 || tables == 0)
		return rc;
	rc = run(db,
		 "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('meta',"
		 " 'jobs')",
		 RAMA_STORE_DB_ONCE, NULL, 0, one_int, &meta, NULL, e);
	if (rc == 0 && meta != 2)
		return rama_err_set(e, RAMA_EFORMAT, "a database of something else");
	if (rc == 0)
		rc = run(db, "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'schema'",
			 RAMA_STORE_DB_ONCE, NULL, 0, one_int, &n, NULL, e);
	if (rc == 0 && (n < 1 || n > 1000000))
		return rama_err_set(e, RAMA_EFORMAT, "a store without a version");
	*v = (int)n;
	return rc;
}

void rama_store_sqlite_fini(struct rama_store_sqlite *db)
{
	for (size_t i = 0; i < RAMA_STORE_SQLITE_KEPT; i++)
		entry_fini(&db->kept[i]);
}

struct rama_store_sqlite *rama_store_sqlite_borrow(sqlite3 *handle)
{
	struct rama_store_sqlite *db = calloc(1, sizeof(*db));

	if (db != NULL)
		db->handle = handle;
	return db;
}

void rama_store_sqlite_return(struct rama_store_sqlite *db)
{
	if (db != NULL)
		rama_store_sqlite_fini(db);
	free(db);
}

/* Only the pages that hold the beginning are read. */
static int64_t block_begin(void *handle, int64_t number, unsigned char *to, size_t room)
{
	struct rama_store_sqlite *db = handle;
	sqlite3_blob *blob = NULL;
	int64_t n = -1;

	if (sqlite3_blob_open(db->handle, "main", "blocks", "body", number, 0, &blob) ==
	    SQLITE_OK) {
		n = sqlite3_blob_bytes(blob);
		n = n < (int64_t)room ? n : (int64_t)room;
		if (sqlite3_blob_read(blob, to, (int)n, 0) != SQLITE_OK)
			n = -1;
	}
	sqlite3_blob_close(blob);
	return n;
}

const struct rama_store_db_ops rama_store_db_sqlite = {
	.name = "sqlite",
	.open = rama_store_sqlite_open,
	.close = rama_store_sqlite_close,
	.script = script,
	.run = run,
	.begin = begin,
	.commit = commit,
	.rollback = rollback,
	.temporary = temporary,
	.schema = rama_store_sqlite_schema,
	.version = version,
	.wait = wait_for,
	.limit = limit,
	.int_type = "INTEGER",
	.real_type = "REAL",
	.text_type = "TEXT",
	.table_end = " STRICT, WITHOUT ROWID",
	.put_block = put_block,
	.get_block = get_block,
	.block_sql = "SELECT body FROM blocks WHERE number = $1",
	.block_begin = block_begin,
	.size = size,
	.shrink = shrink,
	.check = check,
};
