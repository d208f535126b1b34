/* SPDX-License-Identifier: BSD-3-Clause */
/* events.c: the table `events`: what is in the blocks, a row for each event. It is there
 * by itself in every connection of ours, and in others that have loaded the extension. Equal job
 * and rank, ranges of time, and the three joint orders are answered from the keys of the blocks. */
#include "store/sqlite/sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "store/walk/walk.h"

enum column {
#define EVENT(id, ...) COLUMN_##id,
#include "store/events.def"
};
static const char declaration[] = "CREATE TABLE events ("
#define EVENT_FIRST(id, name, lite, ...) #name " " #lite
#define EVENT(id, name, lite, ...) ", " #name " " #lite
#include "store/events.def"
				  ")";

struct table {
	sqlite3_vtab base;
	sqlite3 *handle;
};

struct cursor {
	sqlite3_vtab_cursor base;
	struct rama_store_sqlite *db;
	struct rama_store_event_walk *walk;
	struct rama_store_stored_event event;
	bool end;
	int64_t row;
	/* names asked for last */
	sqlite3_stmt *file, *host;
	int64_t file_job, file_record, host_process;
	char *file_text, *host_text;
};

static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **to,
		   char **e)
{
	struct table *t;
	int rc = sqlite3_declare_vtab(db, declaration);

	(void)aux, (void)argc, (void)argv, (void)e;
	if (rc != SQLITE_OK)
		return rc;
	t = sqlite3_malloc(sizeof(*t));
	if (t == NULL)
		return SQLITE_NOMEM;
	*t = (struct table){ .handle = db };
	*to = &t->base;
	return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *t)
{
	sqlite3_free(t);
	return SQLITE_OK;
}

/* ---- the plan -------------------------------------------------------------------------------- */

/* What the plan hands to filter(), one letter per argument: j job, r rank, f record, l layer, o
 * op, and times: > >= < <= */
#define MOST_ARGS 12
struct plan {
	char letters[MOST_ARGS + 1];
	unsigned n;
	bool job, rank, from, to;
};

static char letter_of(int column, unsigned char op)
{
	if (op == SQLITE_INDEX_CONSTRAINT_EQ)
		return column == COLUMN_JOB	 ? 'j'
		       : column == COLUMN_RANK	 ? 'r'
		       : column == COLUMN_RECORD ? 'f'
		       : column == COLUMN_LAYER	 ? 'l'
		       : column == COLUMN_OP	 ? 'o'
		       : column == COLUMN_END	 ? '='
						 : 0;
	if (column != COLUMN_END)
		return 0;
	return op == SQLITE_INDEX_CONSTRAINT_GT	  ? '>'
	       : op == SQLITE_INDEX_CONSTRAINT_GE ? 'g'
	       : op == SQLITE_INDEX_CONSTRAINT_LT ? '<'
	       : op == SQLITE_INDEX_CONSTRAINT_LE ? 'L'
						  : 0;
}

static void take_constraint(struct plan *p, sqlite3_index_info *info, int i)
{
	char c = letter_of(info->aConstraint[i].iColumn, info->aConstraint[i].op);

	if (c == 0 || !info->aConstraint[i].usable || p->n == MOST_ARGS ||
	    (c != '>' && c != '<' && c != 'g' && c != 'L' && memchr(p->letters, c, p->n) != NULL))
		return;
	p->letters[p->n++] = c;
	info->aConstraintUsage[i].argvIndex = (int)p->n;
	/* SQLite looks at each row once more: cheap, and right for texts and numbers of any type */
	info->aConstraintUsage[i].omit = 0;
	p->job = p->job || c == 'j';
	p->rank = p->rank || c == 'r';
	p->from = p->from || c == '>' || c == 'g' || c == '=';
	p->to = p->to || c == '<' || c == 'L' || c == '=';
}

/* columns of the order that are not fixed already: is it one of ours? -1: no */
static int order_of(const struct plan *p, const sqlite3_index_info *info)
{
	char asked[8] = "";
	size_t n = 0;

	for (int i = 0; i < info->nOrderBy; i++) {
		int column = info->aOrderBy[i].iColumn;
		char c = column == COLUMN_JOB	 ? 'j'
			 : column == COLUMN_RANK ? 'r'
			 : column == COLUMN_END	 ? 't'
						 : 0;

		if (c == 0 || info->aOrderBy[i].desc || n == 3)
			return -1;
		if ((c == 'j' && p->job) || (c == 'r' && p->rank && p->job))
			continue;
		asked[n++] = c;
	}
	if (n == 0)
		return p->job ? RAMA_STORE_ORDER_JOB_TIME_RANK : RAMA_STORE_ORDER_TIME_JOB_RANK;
	if (p->job && (strncmp("rt", asked, n) == 0))
		return RAMA_STORE_ORDER_JOB_RANK_TIME;
	if (p->job && (strncmp("tr", asked, n) == 0))
		return RAMA_STORE_ORDER_JOB_TIME_RANK;
	return !p->job && strncmp("tjr", asked, n) == 0 ? RAMA_STORE_ORDER_TIME_JOB_RANK : -1;
}

static int best_index(sqlite3_vtab *t, sqlite3_index_info *info)
{
	static const char *const names[] = { "job_rank_time", "job_time_rank", "time_job_rank" };
	struct plan p = { .n = 0 };
	int order;

	(void)t;
	for (int i = 0; i < info->nConstraint; i++)
		take_constraint(&p, info, i);
	order = order_of(&p, info);
	info->orderByConsumed = order >= 0 && info->nOrderBy > 0;
	if (order < 0)
		order = p.job ? RAMA_STORE_ORDER_JOB_TIME_RANK : RAMA_STORE_ORDER_TIME_JOB_RANK;
	info->idxNum = order;
	/* the name is for people who ask for the plan */
	info->idxStr = sqlite3_mprintf("%s:%s", p.letters, names[order]);
	info->needToFreeIdxStr = 1;
	if (info->idxStr == NULL)
		return SQLITE_NOMEM;
	info->estimatedCost = 1e9 / (p.job ? 1e3 : 1) / (p.job && p.rank ? 1e2 : 1) /
			      (p.from ? 10 : 1) / (p.to ? 10 : 1);
	info->estimatedRows = (sqlite3_int64)info->estimatedCost;
	return SQLITE_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int open_cursor(sqlite3_vtab *t, sqlite3_vtab_cursor **to)
{
	struct cursor *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return SQLITE_NOMEM;
	c->db = rama_store_sqlite_borrow(((struct table *)t)->handle);
	if (c->db == NULL) {
		free(c);
		return SQLITE_NOMEM;
	}
	*to = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	rama_store_event_walk_close(c->walk);
	rama_store_sqlite_return(c->db);
	sqlite3_finalize(c->file);
	sqlite3_finalize(c->host);
	sqlite3_free(c->file_text);
	sqlite3_free(c->host_text);
	free(c);
	return SQLITE_OK;
}

static int fail(struct cursor *c, const struct rama_err *e)
{
	sqlite3_free(c->base.pVtab->zErrMsg);
	c->base.pVtab->zErrMsg = sqlite3_mprintf("events: %s", e->text);
	return e->code == RAMA_EMEMORY ? SQLITE_NOMEM : SQLITE_ERROR;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	struct rama_err e = { 0 };
	int rc = c->walk != NULL ? rama_store_event_walk_next(c->walk, &c->event, &e) : 0;

	c->end = rc <= 0;
	c->row++;
	return rc < 0 ? fail(c, &e) : SQLITE_OK;
}

/* a time of any type as a whole number of ns; ranges may become larger by it, never smaller */
static int64_t time_of(sqlite3_value *v, int64_t if_none)
{
	double d;

	if (sqlite3_value_type(v) == SQLITE_INTEGER)
		return sqlite3_value_int64(v);
	if (sqlite3_value_type(v) != SQLITE_FLOAT)
		return if_none;
	d = sqlite3_value_double(v);
	return d <= -9.2e18 ? INT64_MIN : d >= 9.2e18 ? INT64_MAX : (int64_t)d;
}

struct asked {
	struct rama_store_event_filter f;
	int64_t from, to; /* to: included */
	bool nothing;
	char layer[64], op[64];
};

static void ask_number(struct asked *a, char letter, sqlite3_value *v)
{
	int64_t i = sqlite3_value_int64(v);

	if (sqlite3_value_numeric_type(v) != SQLITE_INTEGER) {
		a->nothing = true; /* no job has such a number */
		return;
	}
	if (letter == 'j') {
		a->f.job = i;
		a->nothing = a->nothing || i < 0;
	} else if (letter == 'r' && i >= 0) {
		a->f.rank = i;
	} else if (letter == 'f') {
		a->f.record = (uint64_t)i; /* 0 means all; SQLite looks at the rows */
	}
}

static void ask_text(struct asked *a, char letter, sqlite3_value *v)
{
	const char *s = (const char *)sqlite3_value_text(v);

	if (s == NULL)
		a->nothing = true;
	else if (letter == 'l')
		snprintf(a->layer, sizeof(a->layer), "%s", s);
	else
		snprintf(a->op, sizeof(a->op), "%s", s);
}

static void ask_time(struct asked *a, char letter, sqlite3_value *v)
{
	int64_t low, high;

	if (sqlite3_value_type(v) == SQLITE_NULL)
		a->nothing = true;
	low = time_of(v, INT64_MIN);
	high = time_of(v, INT64_MAX);
	if (sqlite3_value_type(v) == SQLITE_FLOAT) {
		low = low > INT64_MIN ? low - 1 : low;
		high = high < INT64_MAX ? high + 1 : high;
	}
	if ((letter == '>' || letter == 'g' || letter == '=') && low > a->from)
		a->from = low;
	if ((letter == '<' || letter == 'L' || letter == '=') && high < a->to)
		a->to = high;
}

static int filter(sqlite3_vtab_cursor *base, int order, const char *letters, int argc,
		  sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	struct asked a = { .f = { .order = (enum rama_store_order)order,
				  .job = -1,
				  .rank = RAMA_STORE_RANK_ALL },
			   .from = INT64_MIN,
			   .to = INT64_MAX };
	struct rama_err e = { 0 };

	for (int i = 0; i < argc && letters[i] != '\0'; i++) {
		if (strchr("jrf", letters[i]) != NULL)
			ask_number(&a, letters[i], argv[i]);
		else if (strchr("lo", letters[i]) != NULL)
			ask_text(&a, letters[i], argv[i]);
		else
			ask_time(&a, letters[i], argv[i]);
	}
	rama_store_event_walk_close(c->walk);
	c->walk = NULL;
	if (a.f.job < 0)
		a.f.rank = RAMA_STORE_RANK_ALL;
	a.f.from = a.from;
	a.f.to = a.to < INT64_MAX ? a.to + 1 : INT64_MAX;
	if (a.f.to == 0)
		a.f.to = 1; /* 0 means: no end */
	a.f.layer = a.layer[0] != '\0' ? a.layer : NULL;
	a.f.op = a.op[0] != '\0' ? a.op : NULL;
	if (!a.nothing && a.f.from < a.f.to &&
	    rama_store_event_walk_open(&c->walk, &rama_store_db_sqlite, c->db, NULL, &a.f, &e) != 0)
		return fail(c, &e);
	return next(base);
}

static int at_end(sqlite3_vtab_cursor *base)
{
	return ((struct cursor *)base)->end;
}

/* ---- columns --------------------------------------------------------------------------------- */

static void give_name(sqlite3_context *ctx, const char *text)
{
	if (text != NULL)
		sqlite3_result_text(ctx, text, -1, SQLITE_TRANSIENT);
	else
		sqlite3_result_null(ctx);
}

static char *look_up(struct cursor *c, sqlite3_stmt **st, const char *sql, int64_t a, int64_t b)
{
	char *text = NULL;

	if (*st == NULL && sqlite3_prepare_v2(((struct table *)c->base.pVtab)->handle, sql, -1, st,
					      NULL) != SQLITE_OK)
		return NULL;
	sqlite3_bind_int64(*st, 1, a);
	sqlite3_bind_int64(*st, 2, b);
	if (sqlite3_step(*st) == SQLITE_ROW)
		text = sqlite3_mprintf("%s", sqlite3_column_text(*st, 0));
	sqlite3_reset(*st);
	return text;
}

static void give_file(struct cursor *c, sqlite3_context *ctx)
{
	int64_t record = (int64_t)c->event.event->record;

	if (record != 0 && (record != c->file_record || c->event.job != c->file_job)) {
		sqlite3_free(c->file_text);
		c->file_text = look_up(c, &c->file,
				       "SELECT path FROM files WHERE job = ?1 AND record = ?2",
				       c->event.job, record);
		c->file_record = record;
		c->file_job = c->event.job;
	}
	give_name(ctx, record != 0 ? c->file_text : NULL);
}

static void give_host(struct cursor *c, sqlite3_context *ctx)
{
	if (c->event.process != c->host_process) {
		sqlite3_free(c->host_text);
		c->host_text = look_up(c, &c->host,
				       "SELECT host FROM processes WHERE number = ?1 AND ?2 = 0",
				       c->event.process, 0);
		c->host_process = c->event.process;
	}
	give_name(ctx, c->host_text);
}

/* what stands in a column, by the word that events.def has for it */
#define GIVE_NUMBER(v) sqlite3_result_int64(ctx, v)
#define GIVE_PLACE(v) ((v) >= 0 ? sqlite3_result_int64(ctx, v) : (void)0)
#define GIVE_RECORD(v) sqlite3_result_int64(ctx, v)
/* kept as long as the walk */
#define GIVE_WORD(v) sqlite3_result_text(ctx, v, -1, SQLITE_STATIC)
#define GIVE_FILE(v) give_file(c, ctx)
#define GIVE_HOST(v) give_host(c, ctx)

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	struct cursor *c = (struct cursor *)base;
	const struct rama_store_stored_event *ev = &c->event;

	switch (i) {
#define EVENT(id, name, lite, postgres, unit, is, value, sql) \
	case COLUMN_##id:                                     \
		GIVE_##is(value);                             \
		break;
#include "store/events.def"
	}
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	*id = ((struct cursor *)base)->row;
	return SQLITE_OK;
}

/* without xCreate it is there by itself, under its own name */
static sqlite3_module module = {
	.iVersion = 0,
	.xConnect = connect,
	.xBestIndex = best_index,
	.xDisconnect = disconnect,
	.xOpen = open_cursor,
	.xClose = close_cursor,
	.xFilter = filter,
	.xNext = next,
	.xEof = at_end,
	.xColumn = column,
	.xRowid = rowid,
};

int rama_store_sqlite_events(sqlite3 *handle)
{
	return sqlite3_create_module_v2(handle, "events", &module, NULL, NULL);
}

#ifdef RAMA_SQLITE_EXTENSION
#include "store/sqlite/db.h"

SQLITE_EXTENSION_INIT1

/* connections are opened by the host */
int rama_store_sqlite_open(void **db, const char *where, unsigned flags, struct rama_err *e)
{
	(void)db, (void)where, (void)flags;
	return rama_err_set(e, RAMA_EUSAGE, "not in an extension");
}

void rama_store_sqlite_close(void *handle)
{
	struct rama_store_sqlite *db = handle;
	rama_store_sqlite_return(db);
}

const char *const *const rama_store_sqlite_schema[] = { NULL };

__attribute__((visibility("default"))) int sqlite3_ioramasqlite_init(
	sqlite3 *db, char **e, const sqlite3_api_routines *api);
int sqlite3_ioramasqlite_init(sqlite3 *db, char **e, const sqlite3_api_routines *api)
{
	(void)e;
	SQLITE_EXTENSION_INIT2(api);
	return rama_store_sqlite_events(db);
}
#endif
