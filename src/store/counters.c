/* SPDX-License-Identifier: BSD-3-Clause */
/* counters.c: one table per module, one column per counter, made from table/modules.def and the
 * rows of counters. Names are those of the counters in lower case, which both databases find in
 * any case. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/out.h"
#include "logfile/cursor.h"
#include "store/handle.h"

#define FIXED 4 /* columns before the counters: job, number, rank, record */

static bool has_table(const struct rama_tab_module *m)
{
	return m != NULL && m->id != RAMA_TAB_MOD_NULL &&
	       !(m->flags & (RAMA_TAB_TRACE | RAMA_TAB_LISTS));
}

/* counters, and texts; what says where something lies in the log is left out */
static bool has_column(const struct rama_tab_field *f)
{
	return f->word != RAMA_TAB_NO_WORD &&
	       (f->place != RAMA_TAB_HIDDEN || f->type == RAMA_TAB_TEXT ||
		f->type == RAMA_TAB_UUID);
}

static void lower(struct rama_out *o, const char *text)
{
	for (; *text != '\0'; text++)
		if (isalnum((unsigned char)*text) || *text == '_')
			rama_out_char(o, (char)tolower((unsigned char)*text));
}

static bool copy_lower(char *to, size_t room, const char *prefix, const char *text)
{
	size_t n = 0;

	for (; *prefix != '\0' && n + 1 < room; prefix++)
		to[n++] = *prefix;
	for (; *text != '\0' && n + 1 < room; text++)
		if (isalnum((unsigned char)*text) || *text == '_')
			to[n++] = (char)tolower((unsigned char)*text);
	to[n] = '\0';
	return *text == '\0';
}

bool rama_store_table_name(const struct rama_tab_module *mod, char *to, size_t room)
{
	return has_table(mod) && room > 0 && copy_lower(to, room, "counters_", mod->name);
}

bool rama_store_column_name(const struct rama_tab_field *field, char *to, size_t room)
{
	return has_column(field) && room > 0 && copy_lower(to, room, "", field->name);
}

static const char *type_of(const struct rama_store_db_ops *ops, const struct rama_tab_field *f)
{
	return f->type == RAMA_TAB_F64				      ? ops->real_type
	       : f->type == RAMA_TAB_TEXT || f->type == RAMA_TAB_UUID ? ops->text_type
								      : ops->int_type;
}

static const struct rama_tab_field *field_of(const struct rama_tab_module *m,
					     const struct rama_store_table *t, unsigned i)
{
	return &m->record->fields[t->field[i]];
}

/* the text of a statement, from now on the caller's */
static char *take(struct rama_out *o)
{
	char *text;

	rama_out_char(o, '\0');
	text = o->error == 0 ? strdup(o->buf) : NULL;
	rama_out_fini(o);
	return text;
}

static void name_columns(struct rama_out *o, const struct rama_store_table *t,
			 const struct rama_tab_module *m)
{
	rama_out_text(o, "job, number, rank, record");
	for (unsigned i = 0; i < t->n; i++) {
		rama_out_text(o, ", ");
		lower(o, field_of(m, t, i)->name);
	}
}

static int make_statements(struct rama_store_table *t, const struct rama_tab_module *m)
{
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	rama_out_fmt(&o, "INSERT INTO %s (", t->name);
	name_columns(&o, t, m);
	rama_out_text(&o, ") VALUES ($1");
	for (unsigned i = 1; i < t->n + FIXED; i++)
		rama_out_fmt(&o, ", $%u", i + 1);
	rama_out_char(&o, ')');
	t->insert = take(&o);
	rama_out_init(&o, NULL, NULL);
	rama_out_text(&o, "SELECT ");
	name_columns(&o, t, m);
	rama_out_fmt(&o, " FROM %s WHERE job = $1 ORDER BY number", t->name);
	t->select = take(&o);
	rama_out_init(&o, NULL, NULL);
	rama_out_fmt(&o, "DELETE FROM %s WHERE job = $1", t->name);
	t->remove = take(&o);
	rama_out_init(&o, NULL, NULL);
	rama_out_fmt(&o, "SELECT count(*) FROM %s", t->name);
	t->count = take(&o);
	return t->insert != NULL && t->remove != NULL && t->count != NULL && t->select != NULL
		       ? 0
		       : RAMA_EMEMORY;
}

static int init_one(struct rama_store_table *t, const struct rama_tab_module *m)
{
	unsigned n = *m->record->n_fields;

	t->field = calloc(n + 1, sizeof(*t->field));
	if (t->field == NULL)
		return RAMA_EMEMORY;
	for (unsigned i = 0; i < n; i++)
		if (has_column(&m->record->fields[i]))
			t->field[t->n++] = (uint16_t)i;
	rama_store_table_name(m, t->name, sizeof(t->name));
	return make_statements(t, m);
}

int rama_store_tables_init(struct rama_store *s, struct rama_err *e)
{
	unsigned widest = 0;

	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		const struct rama_tab_module *m = rama_tab_module_get(id);

		if (!has_table(m))
			continue;
		if (init_one(&s->table[id], m) != 0)
			return rama_err_no_memory(e);
		if (s->table[id].n > widest)
			widest = s->table[id].n;
	}
	s->cells = calloc(widest + FIXED, sizeof(*s->cells));
	return s->cells != NULL ? 0 : rama_err_no_memory(e);
}

void rama_store_tables_fini(struct rama_store *s)
{
	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++) {
		free(s->table[id].insert);
		free(s->table[id].remove);
		free(s->table[id].count);
		free(s->table[id].select);
		free(s->table[id].field);
	}
	free(s->cells);
}

/* the columns of a table in a row, as they are kept in `meta` */
static char *columns_of(const struct rama_store_table *t, const struct rama_tab_module *m)
{
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	rama_out_char(&o, ' ');
	for (unsigned i = 0; i < t->n; i++) {
		lower(&o, field_of(m, t, i)->name);
		rama_out_char(&o, ' ');
	}
	return take(&o);
}

void rama_store_tables_mark(const struct rama_store *s, char to[20])
{
	uint64_t h = 0xcbf29ce484222325u;

	for (unsigned id = 0; id < RAMA_TAB_MODULES_KNOWN; id++)
		for (const char *p = s->table[id].insert; p != NULL && *p != '\0'; p++)
			h = (h ^ (unsigned char)*p) * 0x100000001b3u;
	snprintf(to, 20, "%016llx", (unsigned long long)h);
}

static char *create_text(const struct rama_store *s, const struct rama_store_table *t,
			 const struct rama_tab_module *m)
{
	const struct rama_store_db_ops *ops = s->ops;
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	rama_out_fmt(&o,
		     "CREATE TABLE %s (job %s NOT NULL, number %s NOT NULL, rank %s NOT NULL, "
		     "record %s NOT NULL",
		     t->name, ops->int_type, ops->int_type, ops->int_type, ops->int_type);
	for (unsigned i = 0; i < t->n; i++) {
		rama_out_text(&o, ", ");
		lower(&o, field_of(m, t, i)->name);
		rama_out_fmt(&o, " %s", type_of(ops, field_of(m, t, i)));
	}
	rama_out_fmt(&o, ", PRIMARY KEY (job, number))%s", ops->table_end);
	return take(&o);
}

/* columns that a table made by an older program lacks */
static int add_columns(struct rama_store *s, const struct rama_store_table *t,
		       const struct rama_tab_module *m, const char *there, struct rama_err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < t->n; i++) {
		struct rama_out o;
		char *name;

		rama_out_init(&o, NULL, NULL);
		rama_out_char(&o, ' ');
		lower(&o, field_of(m, t, i)->name);
		rama_out_char(&o, ' ');
		name = take(&o);
		if (name != NULL && strstr(there, name) == NULL) {
			char sql[200];

			snprintf(sql, sizeof(sql), "ALTER TABLE %s ADD COLUMN %s %s", t->name, name,
				 type_of(s->ops, field_of(m, t, i)));
			rc = s->ops->script(s->db, sql, e);
		}
		if (name == NULL)
			rc = rama_err_no_memory(e);
		free(name);
	}
	return rc;
}

static int take_columns(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	char **text = ctx;

	(void)e;
	if (row->cell[0].type == RAMA_STORE_CELL_TEXT)
		*text = strdup(row->cell[0].text);
	return 1;
}

static int make_one(struct rama_store *s, const struct rama_store_table *t,
		    const struct rama_tab_module *m, struct rama_err *e)
{
	static const char get[] = "SELECT value FROM meta WHERE key = $1";
	static const char set[] = "INSERT INTO meta (key, value) VALUES ($1, $2)"
				  " ON CONFLICT (key) DO UPDATE SET value = excluded.value";
	char *there = NULL, *mine = columns_of(t, m), *create = create_text(s, t, m);
	int rc = RAMA_EMEMORY;

	if (mine != NULL && create != NULL) {
		rc = rama_store_rows(s, get, ARGS(rama_store_cell_t(t->name)), take_columns, &there,
				     e);
		if (rc == 0)
			rc = there == NULL ? s->ops->script(s->db, create, e)
					   : add_columns(s, t, m, there, e);
		if (rc == 0)
			rc = rama_store_do(
				s, set, ARGS(rama_store_cell_t(t->name), rama_store_cell_t(mine)),
				e);
	} else {
		rama_err_set(e, rc, "out of memory");
	}
	free(there);
	free(mine);
	free(create);
	return rc;
}

int rama_store_tables_make(struct rama_store *s, struct rama_err *e)
{
	int rc = 0;

	for (unsigned id = 0; rc == 0 && id < RAMA_TAB_MODULES_KNOWN; id++)
		if (s->table[id].insert != NULL)
			rc = make_one(s, &s->table[id], rama_tab_module_get(id), e);
	return rc;
}

/* ---- records --------------------------------------------------------------------------------- */

static struct rama_store_cell uuid_cell(struct rama_store *s, const unsigned char *b)
{
	char *text = rama_arena_alloc(&s->text, 40), *p = text;

	if (text == NULL)
		return rama_store_cell_t("");
	for (unsigned i = 0; i < 16; i++)
		p += snprintf(p, 6, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      b[i]);
	return rama_store_cell_t(text);
}

static struct rama_store_cell cell_of(struct rama_store *s, const struct rama_core_record *r,
				      const struct rama_tab_field *f)
{
	const char *raw = rama_core_record_raw(r, f->word);

	switch (f->type) {
	case RAMA_TAB_F64:
		return rama_store_cell_f(r->w[f->word].f);
	case RAMA_TAB_TEXT:
		return rama_store_cell_clean(s, raw, strnlen(raw, 8u * f->words));
	case RAMA_TAB_UUID:
		return uuid_cell(s, (const unsigned char *)raw);
	default:
		return rama_store_cell_i(r->w[f->word].i);
	}
}

static int put_record(struct rama_store *s, struct rama_store_cell *cells,
		      const struct rama_core_record *r, struct rama_err *e)
{
	const struct rama_store_table *t = &s->table[r->mod->id];

	cells[2] = rama_store_cell_i(r->w[RAMA_TAB_RANK].i);
	cells[3] = rama_store_cell_i(r->w[RAMA_TAB_ID].i);
	for (unsigned i = 0; i < t->n; i++)
		cells[FIXED + i] = cell_of(s, r, field_of(r->mod, t, i));
	return rama_store_do(s, t->insert, cells, FIXED + t->n, e);
}

static int put_module(struct rama_store *s, int64_t job, struct rama_log *log, unsigned id,
		      struct rama_err *e)
{
	struct rama_store_cell *cells = s->cells;
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&c, log, id), got;
	int64_t number = 0;

	if (rc > 0) {
		rc = 0;
		while (rc == 0 && (got = rama_log_cursor_next(&c, &r)) > 0) {
			if (r->schema != r->mod->record)
				continue; /* the header of its region */
			cells[0] = rama_store_cell_i(job);
			cells[1] = rama_store_cell_i(number++);
			rc = put_record(s, cells, r, e);
		}
		if (rc == 0 && got < 0)
			rc = rama_err_set(e, got, "%s", log->err.text);
	} else if (rc < 0) {
		rc = rama_err_set(e, rc, "%s", log->err.text);
	}
	rama_log_cursor_close(&c);
	return rc;
}

int rama_store_counters_put(struct rama_store *s, int64_t job, struct rama_log *log,
			    struct rama_err *e)
{
	int rc = 0;

	for (unsigned id = 0; rc == 0 && id < RAMA_TAB_MODULES_KNOWN; id++)
		if (s->table[id].insert != NULL && log->part[id].len > 0)
			rc = put_module(s, job, log, id, e);
	return rc;
}
