/* SPDX-License-Identifier: BSD-3-Clause */
/* open.c: a file of SQLite, opened or made. The directory may be reached through links,
 * the file itself not; what is made is for its owner alone. */
#include "store/sqlite/db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS 10000

static int no_store(struct rama_err *e)
{
	return rama_err_set(
		e, RAMA_EMISSING,
		"there is no store here yet: iorama index or iorama run --live make one");
}

static int make_directories(char *dir, struct rama_err *e)
{
	for (char *p = dir + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(dir, 0700) != 0 && errno != EEXIST)
			return rama_err_set(e, RAMA_EIO, "%s: %s", dir, strerror(errno));
		*p = '/';
	}
	if (mkdir(dir, 0700) != 0 && errno != EEXIST)
		return rama_err_set(e, RAMA_EIO, "%s: %s", dir, strerror(errno));
	return 0;
}

/* the directory without links, and the name in it */
static int place(char *to, size_t room, const char *where, bool make, struct rama_err *e)
{
	const char *slash = strrchr(where, '/'), *name = slash != NULL ? slash + 1 : where;
	char dir[PATH_MAX], real[PATH_MAX];
	int n = slash == NULL ? snprintf(dir, sizeof(dir), ".")
			      : snprintf(dir, sizeof(dir), "%.*s",
					 slash == where ? 1 : (int)(slash - where), where);
	int rc;

	if (n < 0 || (size_t)n >= sizeof(dir) || *name == '\0')
		return rama_err_set(e, RAMA_EUSAGE, "no name of a file");
	if (make && (rc = make_directories(dir, e)) != 0)
		return rc;
	if (realpath(dir, real) == NULL && errno == ENOENT)
		return no_store(e);
	if (realpath(dir, real) == NULL)
		return rama_err_set(e, RAMA_EIO, "%s: %s", dir, strerror(errno));
	n = snprintf(to, room, "%s/%s", strcmp(real, "/") == 0 ? "" : real, name);
	if (n < 0 || (size_t)n >= room)
		return rama_err_set(e, RAMA_EUSAGE, "the path is too long");
	return 0;
}

/* The file itself is never opened here: closing it again would give up all locks that other
 * connections of this process have on it (POSIX), and what they write then may be lost when
 * another program takes itself for the last one and removes the log of writes. */
static int look_at(const char *path, unsigned flags, struct rama_err *e)
{
	bool make = (flags & RAMA_STORE_CREATE) != 0;
	struct stat st;

	if (make && mknod(path, S_IFREG | 0600, 0) != 0 && errno != EEXIST)
		return rama_err_set(e, RAMA_EIO, "%s", strerror(errno));
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? no_store(e)
				       : rama_err_set(e, RAMA_EIO, "%s", strerror(errno));
	if (S_ISLNK(st.st_mode))
		return rama_err_set(e, RAMA_EIO, "a link; stores are not reached through links");
	if (!S_ISREG(st.st_mode))
		return rama_err_set(e, RAMA_EFORMAT, "not a file");
	if (faccessat(AT_FDCWD, path, make ? R_OK | W_OK : R_OK, AT_EACCESS) != 0)
		return rama_err_set(e, RAMA_EIO, "%s", strerror(errno));
	return 0;
}

/* Page size and vacuum can be chosen for an empty file only; both are without effect on others. */
static int set_up(struct rama_store_sqlite *db, unsigned flags, struct rama_err *e)
{
	static const char to_write[] =
		"PRAGMA page_size = 8192; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode ="
		" WAL;PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 2000;";
	static const char always[] = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; "
				     "PRAGMA cache_size = -16000;"
				     "PRAGMA temp_store = MEMORY;";
	int rc;

	sqlite3_busy_timeout(db->handle, WAIT_MS);
	sqlite3_extended_result_codes(db->handle, 1);
	sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_limit(db->handle, SQLITE_LIMIT_LENGTH, 256 << 20);
	rc = rama_store_db_sqlite.script(db, always, e);
	if (rc == 0 && (flags & RAMA_STORE_SMALL))
		rc = rama_store_db_sqlite.script(db, "PRAGMA cache_size = -2000", e);
	if (rc == 0 && (flags & RAMA_STORE_WRITE))
		rc = rama_store_db_sqlite.script(db, to_write, e);
	else if (rc == 0)
		rc = rama_store_db_sqlite.script(db, "PRAGMA query_only = ON", e);
	if (rc == 0 && rama_store_sqlite_events(db->handle) != SQLITE_OK)
		rc = rama_store_sqlite_error(db, sqlite3_errcode(db->handle), e);
	return rc;
}

int rama_store_sqlite_open(void **to, const char *where, unsigned flags, struct rama_err *e)
{
	bool write = (flags & RAMA_STORE_WRITE) != 0;
	struct rama_store_sqlite *db = NULL;
	char path[PATH_MAX];
	int rc = place(path, sizeof(path), where, (flags & RAMA_STORE_CREATE) != 0, e);

	if (rc == 0)
		rc = look_at(path, flags, e);
	if (rc != 0)
		return rc;
	db = calloc(1, sizeof(*db));
	if (db == NULL)
		return rama_err_no_memory(e);
	db->writes = write;
	rc = sqlite3_open_v2(path, &db->handle,
			     (write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY) |
				     SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_NOMUTEX,
			     NULL);
	rc = rc != SQLITE_OK ? rama_store_sqlite_error(db, rc, e) : set_up(db, flags, e);
	if (rc != 0) {
		rama_store_sqlite_close(db);
		return rc;
	}
	*to = db;
	return 0;
}

void rama_store_sqlite_close(void *handle)
{
	struct rama_store_sqlite *db = handle;
	if (db == NULL)
		return;
	rama_store_sqlite_fini(db);
	sqlite3_close_v2(db->handle);
	free(db);
}
