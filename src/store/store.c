/* SPDX-License-Identifier: BSD-3-Clause */
/* store.c: opening a store, its schema, batches, plain statements; texts as databases take them;
 * jobs found by what people call them, their logs, their events. */
#include "store/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/home.h"
#include "base/without.h"
#include "store/blocks/far.h"
#include "store/walk/walk.h"

/* ---- statements ------------------------------------------------------------------------------ */

int rama_store_rows(struct rama_store *s, const char *sql, const struct rama_store_cell *args,
		    unsigned n, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	return s->ops->run(s->db, sql, RAMA_STORE_DB_KEPT, args, n, fn, ctx, NULL, e);
}

int rama_store_do(struct rama_store *s, const char *sql, const struct rama_store_cell *args,
		  unsigned n, struct rama_err *e)
{
	return s->ops->run(s->db, sql, RAMA_STORE_DB_KEPT, args, n, NULL, NULL, NULL, e);
}

int rama_store_count(struct rama_store *s, const char *sql, const struct rama_store_cell *args,
		     unsigned n, int64_t *changed, struct rama_err *e)
{
	return s->ops->run(s->db, sql, RAMA_STORE_DB_KEPT, args, n, NULL, NULL, changed, e);
}

struct ints {
	int64_t *v;
	unsigned n;
	int found;
};

static int take_ints(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct ints *in = ctx;

	(void)e;
	in->found = 1;
	for (unsigned i = 0; i < in->n && i < row->n; i++)
		if (row->cell[i].type == RAMA_STORE_CELL_INT)
			in->v[i] = row->cell[i].i;
	return 1;
}

int rama_store_ints(struct rama_store *s, const char *sql, const struct rama_store_cell *args,
		    unsigned n, int64_t *v, unsigned n_v, struct rama_err *e)
{
	struct ints in = { v, n_v, 0 };
	int rc = rama_store_rows(s, sql, args, n, take_ints, &in, e);

	return rc < 0 ? rc : in.found;
}

int rama_store_select(struct rama_store *s, const char *sql, const struct rama_store_cell *args,
		      unsigned n_args, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	return s->ops->run(s->db, sql, RAMA_STORE_DB_READ, args, n_args, fn, ctx, NULL, e);
}

/* ---- the schema ------------------------------------------------------------------------------ */

static int newest(const struct rama_store *s)
{
	int n = 0;

	while (s->ops->schema[n] != NULL)
		n++;
	return n;
}

static int set_meta(struct rama_store *s, const char *key, const char *value, struct rama_err *e)
{
	static const char sql[] = "INSERT INTO meta (key, value) VALUES ($1, $2)"
				  " ON CONFLICT (key) DO UPDATE SET value = excluded.value";

	return rama_store_do(s, sql, ARGS(rama_store_cell_t(key), rama_store_cell_t(value)), e);
}

static int take_text(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	if (row->n > 0 && row->cell[0].type == RAMA_STORE_CELL_TEXT)
		snprintf(ctx, 20, "%s", row->cell[0].text);
	return 1;
}

/* are the tables of counters those of this program? */
static int tables_differ(struct rama_store *s, bool *differ, struct rama_err *e)
{
	static const char sql[] = "SELECT value FROM meta WHERE key = 'tables'";
	char there[20] = "", mine[20];
	int rc = rama_store_rows(s, sql, NULL, 0, take_text, there, e);

	rama_store_tables_mark(s, mine);
	*differ = strcmp(there, mine) != 0;
	return rc;
}

static int run_scripts(struct rama_store *s, int from, struct rama_err *e)
{
	char text[20];
	int rc = 0;

	for (int v = from; rc == 0 && s->ops->schema[v] != NULL; v++)
		for (const char *const *part = s->ops->schema[v]; rc == 0 && *part != NULL; part++)
			rc = s->ops->script(s->db, *part, e);
	snprintf(text, sizeof(text), "%d", newest(s));
	/* of what is there already: what the fourth version sums up, by ten seconds the seventh */
	if (rc == 0 && from > 0 && from < 7)
		rc = rama_store_series_fill(s, e);
	if (rc == 0 && from > 0 && from < 4)
		rc = rama_store_days_fill(s, e);
	if (rc == 0 && from > 0 && from < 7)
		rc = rama_store_totals_fill(s, e);
	if (rc == 0)
		rc = set_meta(s, "schema", text, e);
	return rc;
}

static int bring_up(struct rama_store *s, struct rama_err *e)
{
	char mark[20];
	int v, rc = s->ops->begin(s->db, e);

	if (rc != 0)
		return rc;
	rc = s->ops->version(s->db, &v, e); /* somebody may have been faster */
	if (rc == 0 && v < newest(s))
		rc = run_scripts(s, v, e);
	if (rc == 0)
		rc = rama_store_tables_make(s, e);
	rama_store_tables_mark(s, mark);
	if (rc == 0)
		rc = set_meta(s, "tables", mark, e);
	if (rc == 0)
		rc = s->ops->commit(s->db, e);
	if (rc != 0)
		s->ops->rollback(s->db);
	return rc;
}

static int check_schema(struct rama_store *s, struct rama_err *e)
{
	bool write = (s->flags & RAMA_STORE_WRITE) != 0, differ = false;
	int v, rc = s->ops->version(s->db, &v, e);

	if (rc != 0)
		return rc;
	if (v > newest(s))
		return rama_err_set(
			e, RAMA_EVERSION,
			"schema version %d, made by a newer iorama; this one knows up to %d", v,
			newest(s));
	if (v == 0 && !(s->flags & RAMA_STORE_CREATE))
		return rama_err_set(e, RAMA_EMISSING, "an empty database, not a store yet");
	if (v < newest(s) && !write)
		return rama_err_set(e, RAMA_EVERSION,
				    "schema version %d, this iorama needs %d: iorama store upgrade",
				    v, newest(s));
	if (v == newest(s))
		rc = tables_differ(s, &differ, e);
	return rc == 0 && write && (v < newest(s) || differ) ? bring_up(s, e) : rc;
}

/* ---- open, close ----------------------------------------------------------------------------- */

#if defined(RAMA_WITHOUT_LIBPQ) || defined(RAMA_WITHOUT_SQLITE3)
static void nothing(void *db)
{
	(void)db;
}
#endif

#ifdef RAMA_WITHOUT_LIBPQ
static int no_postgres(void **db, const char *where, unsigned flags, struct rama_err *e)
{
	(void)db;
	(void)where;
	(void)flags;
	return rama_err_without(e, "PostgreSQL (libpq)");
}

const struct rama_store_db_ops rama_store_db_postgres = { .name = "postgresql",
							  .open = no_postgres,
							  .close = nothing };
#endif

#ifdef RAMA_WITHOUT_SQLITE3
static int no_sqlite(void **db, const char *where, unsigned flags, struct rama_err *e)
{
	(void)db;
	(void)where;
	(void)flags;
	return rama_err_without(e, "SQLite (sqlite3); stores can be in PostgreSQL");
}

const struct rama_store_db_ops rama_store_db_sqlite = { .name = "sqlite",
							.open = no_sqlite,
							.close = nothing };
#endif

static bool is_url(const char *where)
{
	return strncmp(where, "postgresql://", 13) == 0 || strncmp(where, "postgres://", 11) == 0;
}

int rama_store_open(struct rama_store **to, const char *where, unsigned flags, struct rama_err *e)
{
	struct rama_store *s = calloc(1, sizeof(*s));
	int rc;

	if (s == NULL)
		return rama_err_no_memory(e);
	s->ops = is_url(where) ? &rama_store_db_postgres : &rama_store_db_sqlite;
	s->flags = flags;
	s->block = malloc(sizeof(*s->block));
	s->cut = malloc(sizeof(*s->cut));
	rc = s->block != NULL && s->cut != NULL ? 0 : rama_err_no_memory(e);
	if (rc == 0)
		rc = s->ops->open(&s->db, where, flags, e);
	if (rc == 0)
		rc = rama_store_tables_init(s, e);
	if (rc == 0)
		rc = check_schema(s, e);
	s->near = (struct rama_store_near){ s->ops, s->db, &s->packer };
	if (rc == 0)
		rc = rama_store_far_open(s, e);
	if (rc != 0) {
		rama_store_close(s);
		return rc;
	}
	*to = s;
	return 0;
}

void rama_store_close(struct rama_store *s)
{
	if (s == NULL)
		return;
	if (s->open)
		rama_store_rollback(s);
	rama_store_far_close(s);
	if (s->db != NULL)
		s->ops->close(s->db);
	rama_store_tables_fini(s);
	rama_store_batch_fini(&s->batch);
	rama_store_names_fini(&s->figures);
	rama_store_names_fini(&s->series);
	rama_wire_block_packer_fini(&s->packer);
	rama_arena_fini(&s->text);
	free(s->block);
	free(s->cut);
	free(s);
}

const char *rama_store_kind(const struct rama_store *s)
{
	return s->ops->name;
}

bool rama_store_default(char *to, size_t room)
{
	const char *own = getenv("IORAMA_STORE"), *data = getenv("XDG_DATA_HOME");
	char home[PATH_MAX];
	int n;

	if (own != NULL && *own != '\0')
		n = snprintf(to, room, "%s", own);
	else if (data != NULL && *data == '/')
		n = snprintf(to, room, "%s/iorama/store.db", data);
	else if (rama_home(home, sizeof(home)))
		n = snprintf(to, room, "%s/.local/share/iorama/store.db", home);
	else
		return false;
	return n >= 0 && (size_t)n < room;
}

void rama_store_wait(struct rama_store *s, int ms)
{
	s->ops->wait(s->db, ms);
}

void rama_store_limit(struct rama_store *s, int ms)
{
	s->ops->limit(s->db, ms);
}

/* ---- batches --------------------------------------------------------------------------------- */

int rama_store_begin(struct rama_store *s, struct rama_err *e)
{
	int rc;

	if (s->open)
		return rama_err_set(e, RAMA_EUSAGE, "a batch is open already");
	rama_store_batch_clear(&s->batch);
	rama_store_far_forget(s);
	s->far.passing = false;
	rc = s->ops->begin(s->db, e);
	s->open = rc == 0;
	return rc;
}

int rama_store_commit(struct rama_store *s, struct rama_err *e)
{
	int rc = rama_store_batch_flush(s, e);

	/* what is told of below has to be there */
	if (rc == 0)
		rc = rama_store_far_flush(s, e);
	if (rc == 0)
		rc = s->ops->commit(s->db, e);
	if (rc == 0) {
		s->open = false;
		rama_store_batch_clear(&s->batch);
	}
	return rc;
}

void rama_store_rollback(struct rama_store *s)
{
	s->ops->rollback(s->db);
	s->open = false;
	rama_store_far_forget(s);
	rama_store_batch_clear(&s->batch);
	/* numbers that were given in this batch are not there any more */
	rama_store_names_fini(&s->figures);
	rama_store_names_fini(&s->series);
}

bool rama_store_temporary(const struct rama_store *s)
{
	return s->far.passing || s->ops->temporary(s->db);
}

/* ---- texts: names of files are bytes, text in a database is UTF-8 ---------------------------- */

/* length of the character at s, 0: it is none (overlong forms, surrogates and NUL are none) */
static unsigned length_of(const unsigned char *s, size_t n)
{
	unsigned c = s[0], len = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

	if (c == 0 || (c >= 0x80 && c < 0xc2) || c > 0xf4 || len > n)
		return 0;
	for (unsigned i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((c == 0xe0 && s[1] < 0xa0) || (c == 0xed && s[1] > 0x9f) ||
	    (c == 0xf0 && s[1] < 0x90) || (c == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

static bool utf8_clean(const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		unsigned len = length_of((const unsigned char *)s + i, n - i);

		if (len == 0)
			return false;
		i += len;
	}
	return true;
}

/* room for 3 * n */
static size_t utf8_copy(char *to, const char *s, size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < n;) {
		unsigned len = length_of((const unsigned char *)s + i, n - i);

		if (len == 0) {
			memcpy(to + at, "\xef\xbf\xbd", 3);
			at += 3;
			i++;
		} else {
			memcpy(to + at, s + i, len);
			at += len;
			i += len;
		}
	}
	return at;
}

struct rama_store_cell rama_store_cell_clean(struct rama_store *s, const char *text, size_t n)
{
	char *copy;

	if (utf8_clean(text, n))
		return (struct rama_store_cell){ .type = RAMA_STORE_CELL_TEXT,
						 .text = text,
						 .len = n };
	copy = n < SIZE_MAX / 4 ? rama_arena_alloc(&s->text, 3 * n + 1) : NULL;
	if (copy == NULL) /* a name that cannot be kept; the record's number stays */
		return rama_store_cell_t("");
	n = utf8_copy(copy, text, n);
	copy[n] = '\0';
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_TEXT, .text = copy, .len = n };
}

/* ---- reading --------------------------------------------------------------------------------- */

int rama_store_events(struct rama_store *s, const struct rama_store_event_filter *f,
		      rama_store_event_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_stored_event ev;
	struct rama_store_event_walk *w = NULL;
	int rc = rama_store_event_walk_open(&w, s->ops, s->db, &s->far.place, f, e);

	while (rc == 0 && (rc = rama_store_event_walk_next(w, &ev, e)) > 0)
		rc = fn(ctx, &ev, e);
	rama_store_event_walk_close(w);
	return rc < 0 ? rc : 0;
}

/* all digits: a number of the store, else of the batch system */
static bool number_of(const char *word, int64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoll(word, &end, 10);
	return word[0] >= '0' && word[0] <= '9' && *end == '\0' && errno == 0;
}

int rama_store_find_job(struct rama_store *s, const char *word, int64_t *job, struct rama_err *e)
{
	static const char last[] = "SELECT number FROM jobs WHERE start_ns IS NOT NULL ORDER BY "
				   "start_ns DESC, number DESC LIMIT 1";
	static const char by_key[] = "SELECT number FROM jobs WHERE key = $1";
	static const char by_number[] = "SELECT number FROM jobs WHERE number = $1";
	static const char by_jobid[] = "SELECT number FROM jobs WHERE jobid = $1 ORDER BY start_ns "
				       "DESC, number DESC LIMIT 1";
	int64_t v;
	int rc = 0;

	if (strcmp(word, "last") == 0) {
		rc = rama_store_ints(s, last, NULL, 0, job, 1, e);
		if (rc == 0)
			return rama_err_set(e, RAMA_EMISSING, "the store has no jobs yet");
	} else if (number_of(word, &v)) {
		rc = rama_store_ints(s, by_number, ARGS(I(v)), job, 1, e);
		if (rc == 0)
			rc = rama_store_ints(s, by_jobid, ARGS(I(v)), job, 1, e);
	} else if (utf8_clean(word, strlen(word))) {
		rc = rama_store_ints(s, by_key, ARGS(rama_store_cell_t(word)), job, 1, e);
	}
	if (rc == 0)
		return rama_err_set(e, RAMA_EMISSING,
				    "no job %.200s in the store; iorama jobs lists them", word);
	return rc < 0 ? rc : 0;
}

struct bytes {
	unsigned char *b;
	size_t n;
};

static int take_bytes(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *c = &row->cell[0];
	struct bytes *to = ctx;

	if (c->type != RAMA_STORE_CELL_BYTES)
		return 1;
	to->b = malloc(c->len + 1);
	if (to->b == NULL)
		return rama_err_no_memory(e);
	memcpy(to->b, c->text, c->len);
	to->n = c->len;
	return 1;
}

int rama_store_log_bytes(struct rama_store *s, int64_t job, unsigned char **bytes, size_t *n,
			 struct rama_err *e)
{
	static const char sql[] = "SELECT body FROM logs WHERE job = $1";
	struct bytes to = { 0 };
	int rc = rama_store_rows(s, sql, ARGS(I(job)), take_bytes, &to, e);

	if (rc == 0 && to.b == NULL)
		return rama_err_set(e, RAMA_EMISSING, "the store has no log of job %lld",
				    (long long)job);
	*bytes = to.b;
	*n = to.n;
	return rc;
}
