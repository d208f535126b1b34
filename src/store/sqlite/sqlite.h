/* SPDX-License-Identifier: BSD-3-Clause */
/* sqlite.h: what the files of the SQLite part share. They are compiled twice: into the program,
 * and into the extension that others load into their SQLite (RAMA_SQLITE_EXTENSION), where all
 * calls go through a table of the host. */
#ifndef RAMA_STORE_SQLITE_SQLITE_H
#define RAMA_STORE_SQLITE_SQLITE_H

#ifdef RAMA_SQLITE_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#include "store/db.h"

extern const char *const *const rama_store_sqlite_schema[];

/* a connection that somebody else has opened and closes */
struct rama_store_sqlite *rama_store_sqlite_borrow(sqlite3 *handle);
void rama_store_sqlite_return(struct rama_store_sqlite *db);
/* the table `events`, which reads blocks; in all connections of ours and by the extension */
int rama_store_sqlite_events(sqlite3 *handle);

#endif
