/* SPDX-License-Identifier: BSD-3-Clause */
/* store.c: opening a store, its schema, batches, plain statements. */
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/parts.h"

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
	const char *own = getenv("IORAMA_STORE"), *data = getenv("XDG_DATA_HOME"),
		   *home = getenv("HOME");
	int n;

	if (own != NULL && *own != '\0')
		n = snprintf(to, room, "%s", own);
	else if (data != NULL && *data == '/')
		n = snprintf(to, room, "%s/iorama/store.db", data);
	else
		n = snprintf(to, room, "%s/.local/share/iorama/store.db", home != NULL ? home : "");
	return n >= 0 && (size_t)n < room;
}

void rama_store_wait(struct rama_store *s, int ms)
{
	s->ops->wait(s->db, ms);
}

/* ---- batches --------------------------------------------------------------------------------- */

int rama_store_begin(struct rama_store *s, struct rama_err *e)
{
	int rc;

	if (s->open)
		return rama_err_set(e, RAMA_EUSAGE, "a batch is open already");
	rama_store_batch_clear(&s->batch);
	rc = s->ops->begin(s->db, e);
	s->open = rc == 0;
	return rc;
}

int rama_store_commit(struct rama_store *s, struct rama_err *e)
{
	int rc = rama_store_batch_flush(s, e);

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
	rama_store_batch_clear(&s->batch);
	/* numbers that were given in this batch are not there any more */
	rama_store_names_fini(&s->figures);
	rama_store_names_fini(&s->series);
}

bool rama_store_temporary(const struct rama_store *s)
{
	return s->ops->temporary(s->db);
}
