/* SPDX-License-Identifier: BSD-3-Clause */
/* db.h: a connection, for sqlite.c and open.c. */
#ifndef RAMA_STORE_SQLITE_DB_H
#define RAMA_STORE_SQLITE_DB_H

#include "store/sqlite/sqlite.h"

#define RAMA_STORE_SQLITE_KEPT 512

struct rama_store_sqlite_entry {
	const char *sql; /* its address is what it is known by */
	sqlite3_stmt *st;
	unsigned n_args, n_cells;
	int *arg; /* number of the argument for each place */
	const char **name;
	struct rama_store_cell *cell;
};

struct rama_store_sqlite {
	sqlite3 *handle;
	bool writes;
	int code;	  /* of the last error */
	int limit_ms;	  /* of a statement; 0: none */
	int64_t deadline; /* of the one at work, ns of the monotonic clock */
	bool late;
	struct rama_store_sqlite_entry kept[RAMA_STORE_SQLITE_KEPT];
};

int rama_store_sqlite_open(void **db, const char *where, unsigned flags, struct rama_err *e);
void rama_store_sqlite_close(void *handle);
void rama_store_sqlite_fini(struct rama_store_sqlite *db);
int rama_store_sqlite_error(struct rama_store_sqlite *db, int code, struct rama_err *e);

#endif
