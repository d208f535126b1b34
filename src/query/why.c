/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/why.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "query/sql.h"

#define POINTS 4000

struct work {
	struct rama_query_why *w;
	int64_t start; /* s: of the first step */
	size_t n;
	double *bytes, *time, *v;
	size_t from, to; /* steps of the slow time */
	char *what;	 /* whose figures v has; NULL: nobody's yet */
};

static double number(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_INT	 ? (double)c->i
	       : c->type == RAMA_STORE_CELL_REAL ? c->f
						 : 0;
}

static bool place_of(const struct work *k, int64_t second, size_t *at)
{
	*at = second >= k->start ? (size_t)((second - k->start) / k->w->step) : k->n;
	return *at < k->n;
}

/* ---- its course ------------------------------------------------------------------------------ */

struct points {
	int64_t *second;
	double *bytes, *time;
	size_t n, room[3];
};

static int take_point(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct points *p = ctx;

	if (!RAMA_GROW(p->second, p->room[0], p->n + 1) ||
	    !RAMA_GROW(p->bytes, p->room[1], p->n + 1) || !RAMA_GROW(p->time, p->room[2], p->n + 1))
		return rama_err_no_memory(e);
	p->second[p->n] = row->cell[0].i;
	p->bytes[p->n] = number(&row->cell[1]);
	p->time[p->n++] = number(&row->cell[2]);
	return 0;
}

static int read_course(struct work *k, struct rama_store *s, int64_t job, struct rama_err *e)
{
	struct rama_query_course q = { .job = job, .points = POINTS };
	struct points p = { 0 };
	int rc = rama_query_pace_list(s, &q, take_point, &p, e);
	size_t at;

	k->start = q.from;
	k->w->step = q.step > 0 ? q.step : 1;
	k->n = q.to > q.from ? (size_t)((q.to - q.from + k->w->step - 1) / k->w->step) : 0;
	k->bytes = calloc(k->n + 1, sizeof(*k->bytes));
	k->time = calloc(k->n + 1, sizeof(*k->time));
	k->v = calloc(k->n + 1, sizeof(*k->v));
	if (rc == 0 && (k->bytes == NULL || k->time == NULL || k->v == NULL))
		rc = rama_err_no_memory(e);
	for (size_t i = 0; rc == 0 && i < p.n; i++)
		if (place_of(k, p.second[i], &at)) {
			k->bytes[at] += p.bytes[i];
			k->time[at] += p.time[i];
		}
	k->w->known = rc == 0 && p.n > 0;
	free(p.second);
	free(p.bytes);
	free(p.time);
	return rc;
}

static void choose(struct work *k)
{
	struct rama_query_why *w = k->w;
	double bytes = 0, time = 0;
	struct rama_query_slow slow;

	w->found = rama_query_slow_find(k->bytes, k->time, k->n, &slow);
	w->usual = slow.usual;
	w->rate = slow.rate;
	if (w->from == 0 && w->to == 0) {
		k->from = slow.from;
		k->to = slow.to;
		w->from = k->start + (int64_t)slow.from * w->step;
		w->to = k->start + (int64_t)slow.to * w->step;
		return;
	}
	w->found = place_of(k, w->from > k->start ? w->from : k->start, &k->from) &&
		   w->to > w->from && w->to > k->start;
	if (!w->found)
		return;
	k->to = k->n;
	if (place_of(k, w->to - 1, &k->to))
		k->to++;
	for (size_t i = k->from; i < k->to; i++) {
		bytes += k->bytes[i];
		time += k->time[i];
	}
	w->rate = time > 0 ? bytes / time : 0;
}

/* ---- what was beside it ---------------------------------------------------------------------- */

static int judge(struct work *k, struct rama_err *e)
{
	struct rama_query_why *w = k->w;
	struct rama_query_unusual u;

	if (k->what == NULL || !rama_query_unusual_is(k->v, k->n, k->from, k->to, &u)) {
		free(k->what);
		k->what = NULL;
		return 0;
	}
	if (!RAMA_GROW(w->row, w->room, w->n + 1))
		return rama_err_no_memory(e);
	w->row[w->n++] = (struct rama_query_why_row){ k->what, u };
	k->what = NULL;
	return 0;
}

static int begin(struct work *k, const char *what, double empty, struct rama_err *e)
{
	int rc = judge(k, e);

	k->what = rc == 0 ? strdup(what) : NULL;
	if (rc == 0 && k->what == NULL)
		return rama_err_no_memory(e);
	for (size_t i = 0; i < k->n; i++)
		k->v[i] = empty;
	return rc;
}

static int take_sample(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct work *k = ctx;
	size_t at;
	int rc = 0;

	if (k->what == NULL || strcmp(k->what, row->cell[0].text) != 0)
		rc = begin(k, row->cell[0].text, NAN, e);
	if (rc == 0 && place_of(k, row->cell[1].i, &at))
		k->v[at] = number(&row->cell[2]);
	return rc;
}

static int take_other(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct work *k = ctx;
	size_t at;

	(void)e;
	if (place_of(k, row->cell[0].i, &at))
		k->v[at] += number(&row->cell[1]);
	return 0;
}

static int read_others(struct work *k, struct rama_store *s, int64_t job, struct rama_err *e)
{
	int64_t end = k->start + (int64_t)k->n * k->w->step, week = 7 * 86400;
	struct rama_store_cell args[] = { rama_query_cell_int(job),
					  rama_query_cell_int((k->start - week) * 1000000000),
					  rama_query_cell_int(end * 1000000000),
					  rama_query_cell_int(k->start * 1000000000),
					  rama_query_cell_int(k->start),
					  rama_query_cell_int(end) };
	struct rama_query_sql sql;
	int rc = begin(k, "bytes of other jobs", 0, e);

	if (rc != 0)
		return rc;
	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql, "SELECT t.second - t.second % ", NULL);
	rama_query_sql_number(&sql, k->w->step);
	rama_query_sql_add(&sql, ", sum(CAST(t.bytes AS DOUBLE PRECISION)) FROM jobs j JOIN ",
			   NULL);
	rama_query_sql_add(&sql, k->w->step % 60 == 0 ? "series_minute" : "series", NULL);
	rama_query_sql_add(
		&sql,
		" t ON t.job = j.number WHERE j.number <> ? AND j.start_ns >= ? AND j.start_ns < ? "
		"AND (j.end_ns > ? OR j.state = 'running') AND t.second >= ? AND t.second < ? AND "
		"t.layer IN ('POSIX', 'STDIO', 'EXTRA')",
		args);
	rama_query_seen_add(&sql, "j.username", &k->w->seen);
	rama_query_sql_add(&sql, " GROUP BY 1", NULL);
	rc = rama_query_sql_run(&sql, s, take_other, k, e);
	rama_query_sql_fini(&sql);
	return rc == 0 ? judge(k, e) : rc;
}

static int by_chance(const void *a, const void *b)
{
	const struct rama_query_why_row *x = a, *y = b;

	if (x->u.p != y->u.p)
		return x->u.p < y->u.p ? -1 : 1;
	return strcmp(x->what, y->what);
}

int rama_query_why_get(struct rama_store *s, int64_t job, struct rama_query_why *w,
		       struct rama_err *e)
{
	struct work k = { .w = w };
	int rc = read_course(&k, s, job, e);

	if (rc == 0 && w->known)
		choose(&k);
	if (rc == 0 && w->known && w->found) {
		struct rama_query_samples q = { .from = k.start,
						.to = k.start + (int64_t)k.n * w->step,
						.step = w->step,
						.every = true };

		rc = rama_query_job_samples_list(s, &q, job, take_sample, &k, e);
		if (rc == 0)
			rc = read_others(&k, s, job, e);
		w->looked = w->n;
		if (w->n > 1)
			qsort(w->row, w->n, sizeof(*w->row), by_chance);
	}
	free(k.what);
	free(k.bytes);
	free(k.time);
	free(k.v);
	return rc;
}

static const char *const names[] = { "what", "then", "rest", "is", "others", "as_much", "p" };
static const char *const units[] = { "text", NULL, NULL, "text", "count", "count", NULL };
#define COLUMNS (sizeof(names) / sizeof(names[0]))
const struct rama_query_columns rama_query_why_columns = { COLUMNS, names, units };

int rama_query_why_rows(const struct rama_query_why *w, double p, rama_store_row_fn fn, void *ctx,
			struct rama_err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < w->n && w->row[i].u.p <= p; i++) {
		const struct rama_query_unusual *u = &w->row[i].u;
		const struct rama_store_cell cell[COLUMNS] = {
			rama_query_cell_text(w->row[i].what),
			rama_query_cell_real(u->inside),
			rama_query_cell_real(u->rest),
			rama_query_cell_text(u->more ? "more" : "less"),
			rama_query_cell_int((int64_t)u->others),
			rama_query_cell_int((int64_t)u->as_much),
			rama_query_cell_real(u->p),
		};

		rc = fn(ctx, &(struct rama_store_row){ COLUMNS, names, cell }, e);
	}
	return rc > 0 ? 0 : rc;
}

void rama_query_why_fini(struct rama_query_why *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->row[i].what);
	free(w->row);
	w->row = NULL;
	w->n = w->room = 0;
}
