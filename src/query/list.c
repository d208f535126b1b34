/* SPDX-License-Identifier: BSD-3-Clause */
/* list.c: a page of a list of jobs.
 *
 * A page is found in two steps. First the numbers of its jobs, with the keys that they are
 * sorted by, from indices: the order consists of parts (order.h), and within a part what has the
 * key of the page before comes first, by number, then what follows by key. Then the columns of
 * just these jobs. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "query/list.h"

#define AT_ONCE 500	      /* jobs whose columns are asked for at once */
#define COUNTED 300	      /* jobs after a page that are counted ... */
#define COUNTED_BY_LOOKING 10 /* ... where each has to be looked at */

/* ---- numbers and keys ------------------------------------------------------------------------ */

/* what of a part is asked for, beside the conditions */
struct slice {
	const char *op[2]; /* of the key, NULL: any */
	const struct rama_store_cell *value[2];
	int64_t below;	   /* numbers below this; 0: all */
	const char *order; /* of the key: " DESC", "" or NULL: they are alike */
	bool alone;	   /* the key at `skip`, nothing else */
	uint64_t skip;
};

/* which of the rows, and in which order; key and number: as the statement names them */
static void add_slice(struct rama_query_sql *sql, const struct slice *w, const char *key,
		      const char *number)
{
	for (unsigned i = 0; i < 2 && w->op[i] != NULL; i++) {
		rama_query_sql_add(sql, " AND ", NULL);
		rama_query_sql_add(sql, key, NULL);
		rama_query_sql_add(sql, w->op[i], w->value[i]);
	}
	if (w->below != 0) {
		rama_query_sql_add(sql, " AND ", NULL);
		rama_query_sql_add(sql, number, NULL);
		rama_query_sql_add(sql, " < ", NULL);
		rama_query_sql_number(sql, w->below);
	}
	rama_query_sql_add(sql, " ORDER BY ", NULL);
	if (w->order != NULL) {
		rama_query_sql_add(sql, key, NULL);
		rama_query_sql_add(sql, w->order, NULL);
	}
	if (!w->alone) {
		rama_query_sql_add(sql, w->order != NULL ? ", " : "", NULL);
		rama_query_sql_add(sql, number, NULL);
		rama_query_sql_add(sql, " DESC", NULL);
	}
}

static void add_rows(struct rama_query_sql *sql, const struct rama_query_list *l,
		     const struct rama_query_part *p, const struct slice *w)
{
	rama_query_sql_add(sql, "SELECT ", NULL);
	rama_query_sql_add(sql, p->number, NULL);
	rama_query_sql_add(sql, " AS n, ", NULL);
	rama_query_sql_add(sql, *p->key != '\0' ? p->key : "0", NULL);
	rama_query_sql_add(sql, " AS k FROM ", NULL);
	rama_query_sql_add(sql, p->from, NULL);
	rama_query_sql_add(sql, " WHERE ", NULL);
	rama_query_sql_add(sql, p->where, NULL);
	rama_query_list_conditions(sql, l);
	if (p->sign != NULL && (w->op[0] == NULL || w->op[0][1] != '=')) {
		rama_query_sql_add(sql, " AND ", NULL);
		rama_query_sql_add(sql, p->key, NULL);
		rama_query_sql_add(sql, p->sign, NULL);
	}
	add_slice(sql, w, p->key, p->number);
}

/* The others; LIMIT keeps the database from computing a key more than once. */
static void add_rest(struct rama_query_sql *sql, const struct rama_query_list *l,
		     const struct rama_query_part *p, const struct slice *w)
{
	rama_query_sql_add(sql, "SELECT n, k FROM (SELECT j.number AS n, ", NULL);
	rama_query_sql_add(sql, p->rest, NULL);
	rama_query_sql_add(sql, " AS k FROM jobs j WHERE ", NULL);
	rama_query_sql_add(sql, p->rest_where, NULL);
	rama_query_list_conditions(sql, l);
	rama_query_sql_add(sql, " LIMIT 1000000000) r WHERE k IS NOT NULL", NULL);
	add_slice(sql, w, "k", "n");
}

static void add_limit(struct rama_query_sql *sql, uint64_t n, uint64_t skip)
{
	rama_query_sql_add(sql, " LIMIT ", NULL);
	rama_query_sql_number(sql, (int64_t)n);
	if (skip > 0) {
		rama_query_sql_add(sql, " OFFSET ", NULL);
		rama_query_sql_number(sql, (int64_t)skip);
	}
}

/* Rows whose key an index has, and the few others: the first of both are sorted once more. */
static void add_both(struct rama_query_sql *sql, const struct rama_query_list *l,
		     const struct rama_query_part *p, const struct slice *w, uint64_t n)
{
	rama_query_sql_add(sql, "SELECT n, k FROM (SELECT * FROM (", NULL);
	add_rows(sql, l, p, w);
	add_limit(sql, n + w->skip, 0);
	rama_query_sql_add(sql, ") a UNION ALL SELECT * FROM (", NULL);
	add_rest(sql, l, p, w);
	add_limit(sql, n + w->skip, 0);
	rama_query_sql_add(sql, ") b) c WHERE 1 = 1", NULL);
	add_slice(sql, &(struct slice){ .order = w->order, .alone = w->alone }, "k", "n");
}

static int take_entry(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_query_list *l = ctx;
	struct rama_query_entry *to;

	if (row->n < 2 || row->cell[0].type != RAMA_STORE_CELL_INT)
		return rama_err_set(e, RAMA_ECORRUPT, "the store answers with other columns");
	if (!RAMA_GROW(l->entry, l->room, l->n + 1))
		return rama_err_no_memory(e);
	to = &l->entry[l->n++];
	*to = (struct rama_query_entry){ row->cell[0].i,
					 l->same != NULL ? *l->same : row->cell[1] };
	if (to->key.type != RAMA_STORE_CELL_TEXT)
		return 0;
	to->key.text = rama_arena_text(&l->q->arena, to->key.text, to->key.len);
	return to->key.text != NULL ? 0 : rama_err_no_memory(e);
}

/* the key that is asked for alone is put behind the entries, which do not count it */
static int take_slice(struct rama_query_list *l, const struct rama_query_part *p,
		      const struct slice *w, uint64_t most, struct rama_err *e)
{
	struct rama_query_sql sql;
	int rc;

	if (most == 0)
		return 0;
	rama_query_sql_init(&sql);
	if (*p->rest != '\0')
		add_both(&sql, l, p, w, most);
	else
		add_rows(&sql, l, p, w);
	add_limit(&sql, most, w->skip);
	l->same = *p->key != '\0' ? NULL : &p->same;
	rc = rama_query_sql_run(&sql, l->store, take_entry, l, e);
	rama_query_sql_fini(&sql);
	return rc;
}

/* ---- a part ---------------------------------------------------------------------------------- */

/* The smallest first, but the greatest number first among equals, which no index gives: all up
 * to the key of the last one, then the first of those that share it. */
static int take_upwards(struct rama_query_list *l, const struct rama_query_part *p,
			const struct rama_store_cell *after, struct rama_err *e)
{
	struct slice w = { .order = "", .alone = true, .skip = l->want - l->n - 1 };
	struct rama_store_cell last;
	size_t n = l->n;
	int rc;

	if (after != NULL) {
		w.op[0] = " > ?";
		w.value[0] = after;
	}
	rc = take_slice(l, p, &w, 1, e);
	if (rc != 0)
		return rc;
	w.alone = false;
	w.skip = 0;
	if (l->n == n) /* all of them fit */
		return take_slice(l, p, &w, l->want - n, e);
	last = l->entry[l->n = n].key;
	w.op[after != NULL ? 1 : 0] = " < ?";
	w.value[after != NULL ? 1 : 0] = &last;
	rc = take_slice(l, p, &w, l->want - n, e);
	w = (struct slice){ .op = { " = ?" }, .value = { &last } };
	return rc != 0 ? rc : take_slice(l, p, &w, l->want - l->n, e);
}

static int take_part(struct rama_query_list *l, const struct rama_query_part *p,
		     const struct rama_query_place *after, struct rama_err *e)
{
	const struct rama_store_cell *key = after != NULL ? &after->key : NULL;
	struct slice w = { .below = after != NULL ? after->job : 0 };
	int rc = 0;

	if (*p->key == '\0')
		return take_slice(l, p, &w, l->want - l->n, e);
	if (after != NULL) {
		w.op[0] = " = ?";
		w.value[0] = key;
		rc = take_slice(l, p, &w, l->want - l->n, e);
	}
	if (rc != 0 || l->n == l->want)
		return rc;
	if (l->order->up)
		return take_upwards(l, p, key, e);
	w = (struct slice){ .order = " DESC" };
	if (after != NULL) {
		w.op[0] = " < ?";
		w.value[0] = key;
	}
	return take_slice(l, p, &w, l->want - l->n, e);
}

static int take_page(struct rama_query_list *l, struct rama_err *e)
{
	unsigned first = l->after.set ? rama_query_order_part(l->order, &l->after.key) : 0;
	int rc = 0;

	for (unsigned i = first; rc == 0 && i < l->order->n && l->n < l->want; i++)
		rc = take_part(l, &l->order->part[i], l->after.set && i == first ? &l->after : NULL,
			       e);
	return rc;
}

/* ---- a page of a few ------------------------------------------------------------------------- */

static void add_after(struct rama_query_sql *sql, const struct rama_query_list *l)
{
	const struct rama_store_cell two[] = { l->after.key, l->after.key };
	const char *key = l->order->key;

	if (!l->after.set)
		return;
	rama_query_sql_add(sql, " AND (", NULL);
	rama_query_sql_add(sql, key, NULL);
	if (l->after.key.type != RAMA_STORE_CELL_NULL) {
		rama_query_sql_add(sql, " IS NULL OR ", NULL);
		rama_query_sql_add(sql, key, NULL);
		rama_query_sql_add(sql, l->order->up ? " > ? OR (" : " < ? OR (", &two[0]);
		rama_query_sql_add(sql, key, NULL);
		rama_query_sql_add(sql, " = ?", &two[1]);
	} else {
		rama_query_sql_add(sql, " IS NULL AND (1 = 1", NULL);
	}
	rama_query_sql_add(sql, " AND j.number < ", NULL);
	rama_query_sql_number(sql, l->after.job);
	rama_query_sql_add(sql, "))", NULL);
}

/* in the order of the list, whatever it is: they are sorted */
static void add_order(struct rama_query_sql *sql, const struct rama_query_list *l)
{
	const char *key = l->order->key;

	rama_query_sql_add(sql, " ORDER BY ", NULL);
	rama_query_sql_add(sql, key, NULL);
	rama_query_sql_add(sql, " IS NULL, ", NULL);
	rama_query_sql_add(sql, key, NULL);
	rama_query_sql_add(sql, l->order->up ? ", j.number DESC" : " DESC, j.number DESC", NULL);
}

static int take_of_few(struct rama_query_list *l, struct rama_err *e)
{
	struct rama_query_sql sql;
	int rc;

	if (l->n_few == 0)
		return 0;
	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, "SELECT j.number, ", NULL);
	rama_query_sql_add(&sql, l->order->key, NULL);
	/* LIMIT keeps the database from reading them in another way */
	rama_query_sql_add(&sql, " FROM (SELECT * FROM jobs WHERE number IN (", NULL);
	for (size_t i = 0; i < l->n_few; i++) {
		rama_query_sql_add(&sql, i > 0 ? "," : "", NULL);
		rama_query_sql_number(&sql, l->few[i]);
	}
	rama_query_sql_add(&sql, ") LIMIT 1000000) j WHERE 1 = 1", NULL);
	rama_query_list_conditions(&sql, l);
	add_after(&sql, l);
	add_order(&sql, l);
	add_limit(&sql, l->want, 0);
	l->same = NULL;
	rc = rama_query_sql_run(&sql, l->store, take_entry, l, e);
	rama_query_sql_fini(&sql);
	return rc;
}

/* ---- columns --------------------------------------------------------------------------------- */

static void add_columns(struct rama_query_sql *sql, const struct rama_query_jobs *q)
{
	for (unsigned i = 0; i < q->n_columns; i++) {
		rama_query_sql_add(sql, i > 0 ? ", " : "", NULL);
		rama_query_sql_add(sql, q->column[i].sql, NULL);
	}
}

static int give_row(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_query_list *l = ctx;
	int rc;

	if (row->n < l->q->n_columns)
		return rama_err_set(e, RAMA_ECORRUPT, "the store answers with too few columns");
	rc = l->fn(l->ctx, row, e);
	l->enough = rc > 0;
	return rc;
}

static int give_columns(struct rama_query_list *l, size_t from, size_t n, struct rama_err *e)
{
	struct rama_query_sql sql;
	int rc;

	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, "WITH o(place, number) AS (VALUES ", NULL);
	for (size_t i = 0; i < n; i++) {
		rama_query_sql_add(&sql, i > 0 ? ", (" : "(", NULL);
		rama_query_sql_number(&sql, (int64_t)i);
		rama_query_sql_add(&sql, ", ", NULL);
		rama_query_sql_number(&sql, l->entry[from + i].job);
		rama_query_sql_add(&sql, ")", NULL);
	}
	rama_query_sql_add(&sql, ") SELECT ", NULL);
	add_columns(&sql, l->q);
	rama_query_sql_add(&sql, " FROM o JOIN jobs j ON j.number = o.number ORDER BY o.place",
			   NULL);
	rc = rama_query_sql_run(&sql, l->store, give_row, l, e);
	rama_query_sql_fini(&sql);
	return rc;
}

/* ---- a page ---------------------------------------------------------------------------------- */

static int give_page(struct rama_query_list *l, struct rama_err *e)
{
	struct rama_query_jobs *q = l->q;
	bool looks = !l->is_few && (q->n_conditions + q->n_words > 0 || q->name != NULL ||
				    q->of_users || q->order.kind == RAMA_QUERY_METRIC_FIGURE);
	uint64_t counted = looks ? COUNTED_BY_LOOKING : COUNTED;
	size_t n;
	int rc;

	l->want = (size_t)(q->limit + counted + 1);
	rc = l->is_few ? take_of_few(l, e) : take_page(l, e);
	n = l->n < q->limit ? l->n : (size_t)q->limit;
	for (size_t at = 0; rc == 0 && !l->enough && at < n; at += AT_ONCE)
		rc = give_columns(l, at, n - at < AT_ONCE ? n - at : AT_ONCE, e);
	q->more = l->n - n < counted ? l->n - n : counted;
	q->more_uncounted = l->n - n > counted;
	if (rc == 0 && l->n > n) {
		q->next = rama_query_place_text(q, &l->entry[n - 1].key, l->entry[n - 1].job);
		rc = q->next != NULL ? 0 : rama_err_no_memory(e);
	}
	return rc;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* with the key, the number and the name of the program behind the columns */
static int take_streamed(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_query_list *l = ctx;
	struct rama_query_jobs *q = l->q;
	const struct rama_store_cell *extra = &row->cell[q->n_columns];
	int rc;

	if (row->n < q->n_columns + 3)
		return rama_err_set(e, RAMA_ECORRUPT, "the store answers with too few columns");
	if (q->name != NULL && !l->by_name &&
	    (extra[2].type != RAMA_STORE_CELL_TEXT || fnmatch(q->name, extra[2].text, 0) != 0))
		return 0;
	if (q->limit > 0 && l->given == q->limit) {
		q->more = 0;
		q->more_uncounted = true;
		return 1;
	}
	rc = l->fn(l->ctx, row, e);
	if (rc == 0 && ++l->given == q->limit) {
		q->next = rama_query_place_text(q, &extra[0], extra[1].i);
		rc = q->next != NULL ? 0 : rama_err_no_memory(e);
	}
	return rc;
}

static int stream(struct rama_query_list *l, struct rama_err *e)
{
	const char *key = l->order->key;
	struct rama_query_sql sql;
	int rc;

	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, "SELECT ", NULL);
	add_columns(&sql, l->q);
	rama_query_sql_add(&sql, ", ", NULL);
	rama_query_sql_add(&sql, key, NULL);
	rama_query_sql_add(&sql, ", j.number, j.name FROM jobs j WHERE 1 = 1", NULL);
	rama_query_list_conditions(&sql, l);
	add_after(&sql, l);
	add_order(&sql, l);
	rc = rama_query_sql_run(&sql, l->store, take_streamed, l, e);
	rama_query_sql_fini(&sql);
	if (!l->q->more_uncounted)
		l->q->next = NULL;
	return rc;
}

int rama_query_jobs_list(struct rama_store *s, struct rama_query_jobs *q, rama_store_row_fn fn,
			 void *ctx, struct rama_err *e)
{
	struct rama_query_order *order = malloc(sizeof(*order));
	struct rama_query_list l = { .store = s, .q = q, .order = order, .fn = fn, .ctx = ctx };
	bool whole;
	int rc = 0;

	if (order == NULL)
		return rama_err_no_memory(e);
	rama_query_order_init(order, q);
	q->next = NULL;
	q->more = 0;
	q->more_uncounted = false;
	if (q->after != NULL)
		rc = rama_query_place_parse(q, q->after, &l.after, e);
	if (rc == 0 && q->name != NULL)
		rc = rama_query_list_names(&l, e);
	whole = q->limit == 0 || q->limit > INT32_MAX || (q->name != NULL && !l.by_name);
	if (rc == 0 && !whole)
		rc = rama_query_list_few(&l, e);
	if (rc == 0)
		rc = whole ? stream(&l, e) : give_page(&l, e);
	free(order);
	free(l.few);
	free(l.names);
	free(l.entry);
	return rc > 0 ? 0 : rc;
}
