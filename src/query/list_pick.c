/* SPDX-License-Identifier: BSD-3-Clause */
/* list_pick.c: which jobs are in a list.
 *
 * Conditions are of use in one of two ways. If one of them is met by a few jobs only, which an
 * index tells, these few are read and sorted. Else there are many that meet it, and going
 * through the jobs in order soon finds a page of them. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "query/list.h"

/* ---- conditions ------------------------------------------------------------------------------ */

static void add_word(struct rama_query_sql *sql, const struct rama_store *s, const char *word)
{
	static const char *const columns[] = { "j.name", "j.username", "j.command", "j.key" };
	struct rama_store_cell text = rama_query_cell_text(word);
	bool lite = strcmp(rama_store_kind(s), "sqlite") == 0;

	/* letters of ASCII only, in both */
	rama_query_sql_add(sql, " AND (CAST(j.jobid AS TEXT) = ?", &text);
	for (unsigned i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		rama_query_sql_add(sql, lite ? " OR instr(lower(" : " OR strpos(lower(", NULL);
		rama_query_sql_add(sql, columns[i], NULL);
		rama_query_sql_add(sql, lite ? "), ?) > 0" : " COLLATE \"C\"), ?) > 0", &text);
	}
	rama_query_sql_add(sql, ")", NULL);
}

/* walk: see struct rama_query_condition */
static void add_names(struct rama_query_sql *sql, const struct rama_query_list *l, bool walk)
{
	if (l->n_names == 0) {
		rama_query_sql_add(sql, " AND 1 = 0", NULL);
		return;
	}
	rama_query_sql_add(sql, walk ? " AND j.name || '' IN (" : " AND j.name IN (", NULL);
	for (size_t i = 0; i < l->n_names; i++)
		rama_query_sql_add(sql, i > 0 ? ", ?" : "?", &l->names[i]);
	rama_query_sql_add(sql, ")", NULL);
}

static void add_users(struct rama_query_sql *sql, const struct rama_query_jobs *q)
{
	rama_query_sql_add(sql, " AND j.username IN (NULL", NULL); /* which is nobody */
	for (size_t i = 0; i < q->n_users; i++) {
		struct rama_store_cell name = rama_query_cell_text(q->users[i]);

		rama_query_sql_add(sql, ", ?", &name);
	}
	rama_query_sql_add(sql, ")", NULL);
}

void rama_query_list_conditions(struct rama_query_sql *sql, const struct rama_query_list *l)
{
	const struct rama_query_jobs *q = l->q;
	const char *order = q->order.key;

	for (unsigned i = 0; i < q->n_conditions; i++) {
		const struct rama_query_condition *c = &q->condition[i];
		bool plain = c->walk == NULL || strcmp(order, "start") == 0 ||
			     (c->helps != NULL && strcmp(order, c->helps) == 0);

		rama_query_sql_add(sql, " AND ", NULL);
		rama_query_sql_add(sql, plain ? c->sql : c->walk, c->arg);
	}
	if (q->of_users)
		add_users(sql, q);
	for (size_t i = 0; i < q->n_words; i++)
		add_word(sql, l->store, q->words[i]);
	if (q->name != NULL && l->by_name)
		add_names(sql, l,
			  strcmp(order, "name") != 0 &&
				  (strcmp(order, "start") != 0 || l->n_names > 1));
}

/* The names that the glob matches: those of all programs are read, by leaps from one to the
 * next. */
static int take_name(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *c = &row->cell[0];
	struct rama_query_list *l = ctx;
	char *text;

	if (++l->given > l->q->names) {
		l->by_name = false;
		return 1;
	}
	if (c->type != RAMA_STORE_CELL_TEXT || fnmatch(l->q->name, c->text, 0) != 0)
		return 0;
	text = rama_arena_text(&l->q->arena, c->text, c->len);
	if (text == NULL)
		return rama_err_no_memory(e);
	l->names[l->n_names++] = (struct rama_store_cell){ .type = RAMA_STORE_CELL_TEXT,
							   .text = text,
							   .len = c->len };
	return 0;
}

int rama_query_list_names(struct rama_query_list *l, struct rama_err *e)
{
	static const char sql[] =
		"WITH RECURSIVE t(name) AS (SELECT min(name) FROM jobs UNION ALL SELECT (SELECT "
		"min(j.name) FROM jobs j WHERE j.name > t.name) FROM t WHERE t.name IS NOT NULL) "
		"SELECT name FROM t WHERE name IS NOT NULL";
	int rc;

	l->names = calloc(l->q->names + 1, sizeof(*l->names));
	if (l->names == NULL)
		return rama_err_no_memory(e);
	l->by_name = true;
	l->given = 0;
	rc = rama_store_select(l->store, sql, NULL, 0, take_name, l, e);
	l->given = 0;
	return rc < 0 ? rc : 0;
}

/* ---- a few jobs that may be the ones --------------------------------------------------------- */

struct few {
	int64_t *job;
	size_t n;
};

static int take_few(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct few *f = ctx;

	(void)e;
	f->job[f->n++] = row->cell[0].i;
	return 0;
}

/* sql gives jobs: if they are few, and fewer than those that are known, they are taken */
static int try_few(struct rama_query_list *l, struct rama_query_sql *sql, struct rama_err *e)
{
	size_t most = l->is_few ? l->n_few : l->q->few;
	struct few f = { .job = calloc(most + 1, sizeof(*f.job)) };
	int rc;

	rama_query_sql_add(sql, " LIMIT ", NULL);
	rama_query_sql_number(sql, (int64_t)most + 1);
	rc = f.job != NULL ? rama_query_sql_run(sql, l->store, take_few, &f, e)
			   : rama_err_no_memory(e);
	if (rc != 0 || f.n > most) {
		free(f.job);
		return rc;
	}
	free(l->few);
	l->few = f.job;
	l->n_few = f.n;
	l->is_few = true;
	return 0;
}

int rama_query_list_few(struct rama_query_list *l, struct rama_err *e)
{
	bool by_start = strcmp(l->q->order.key, "start") == 0;
	struct rama_query_sql sql;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < l->q->n_conditions; i++) {
		const struct rama_query_condition *c = &l->q->condition[i];

		if (c->jobs == NULL || (c->newest && by_start))
			continue;
		rama_query_sql_init(&sql);
		rama_query_sql_add(&sql, c->jobs, c->jobs_arg);
		rc = try_few(l, &sql, e);
		rama_query_sql_fini(&sql);
	}
	if (rc == 0 && l->q->name != NULL && l->by_name && !(by_start && l->n_names == 1)) {
		rama_query_sql_init(&sql);
		rama_query_sql_add(&sql, "SELECT j.number FROM jobs j WHERE 1 = 1", NULL);
		add_names(&sql, l, false);
		rc = try_few(l, &sql, e);
		rama_query_sql_fini(&sql);
	}
	return rc;
}
