/* SPDX-License-Identifier: BSD-3-Clause */
/* db.h: the little that the store needs of a database, so that most of its SQL is written once.
 * SQL has $1, $2, … for arguments. What differs (types, upkeep, how events lie) is in
 * store/sqlite*.c and store/postgres*.c. */
#ifndef RAMA_STORE_DB_H
#define RAMA_STORE_DB_H

#include "store/store.h"

enum { RAMA_STORE_DB_KEPT, RAMA_STORE_DB_ONCE, RAMA_STORE_DB_READ };

struct rama_store_db_ops {
	const char *name;  /* "sqlite", "postgresql" */
	bool many_readers; /* with rights of their own */
	int (*open)(void **db, const char *where, unsigned flags, struct rama_err *e);
	void (*close)(void *db);
	/* several statements, no arguments, no rows */
	int (*script)(void *db, const char *sql, struct rama_err *e);
	/* One statement; rows go to fn (may be NULL). Statements are prepared once: `sql` is a
	 * constant whose address is its identity; once != 0: it is text made for this call,
	 * prepared and forgotten; RAMA_STORE_DB_READ: and it must be one that only reads
	 * (RAMA_EUSAGE). changed: rows that it changed, may be NULL. A SELECT that ends in a
	 * comment "lock" holds its rows until the end of the transaction: others that write them
	 * wait; in a comment "hold": they are only kept from being removed; "free": as "lock",
	 * without those that others hold. */
	int (*run)(void *db, const char *sql, int once, const struct rama_store_cell *args,
		   unsigned n_args, rama_store_row_fn fn, void *ctx, int64_t *changed,
		   struct rama_err *e);
	int (*begin)(void *db, struct rama_err *e);
	int (*commit)(void *db, struct rama_err *e);
	void (*rollback)(void *db);
	/* of the last error: may the same succeed later? */
	bool (*temporary)(const void *db);
	/* Schema of this database: scripts that bring version i to i + 1, each in parts that end
	 * with NULL. Ends with NULL. */
	const char *const *const *schema;
	/* Version of the schema that is there, 0: the database is empty. RAMA_EFORMAT: it is
	 * something else's. Is asked once more in the transaction that changes the schema:
	 * several programs may start at once. */
	int (*version)(void *db, int *version, struct rama_err *e);
	void (*wait)(void *db, int ms);	 /* how long to wait for locks of others */
	void (*limit)(void *db, int ms); /* how long a statement may take; 0: for ever */
	/* Names of types, and what ends a CREATE TABLE with a primary key: for the tables of
	 * counters, made from rows. */
	const char *int_type, *real_type, *text_type, *table_end;
	/* Events of one block, dedup already done: `b` unpacked (some may have been cut off),
	 * `bytes` its packed form, or NULL if it was cut and has to be packed again. Inserts the
	 * row of the block. */
	int (*put_block)(void *db, int64_t job, int64_t process, int64_t rank,
			 struct rama_wire_block *b, const unsigned char *bytes, size_t n,
			 struct rama_wire_block_packer *p, struct rama_err *e);
	/* Cells of a row of block_sql; fills b: n, t0, t1, the calls and the events. */
	int (*get_block)(void *db, const struct rama_store_cell *cells, unsigned n,
			 struct rama_wire_block *b, struct rama_wire_block_packer *p,
			 struct rama_err *e);
	/* the block of a number ($1): "SELECT body FROM blocks WHERE number = $1" */
	const char *block_sql;
	/* The first bytes of a packed block, at most `room`: how many, negative: none can be had.
	 * NULL: blocks do not lie packed; then has_record is what a condition on `blocks b` adds to
	 * find those with events of the file $8. */
	int64_t (*block_begin)(void *db, int64_t number, unsigned char *to, size_t room);
	const char *has_record;
	int64_t (*size)(void *db); /* bytes on disk, about */
	/* give free space back, and see that all is on the disk */
	int (*shrink)(void *db, struct rama_err *e);
	/* looks for damage of the database itself, one line each to `flaw`; how many, or
	 * negative. NULL: it needs none */
	int64_t (*check)(void *db, void (*flaw)(void *ctx, const char *line), void *ctx,
			 struct rama_err *e);
};
extern const struct rama_store_db_ops rama_store_db_sqlite;
extern const struct rama_store_db_ops rama_store_db_postgres;

#endif
