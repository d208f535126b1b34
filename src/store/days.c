/* SPDX-License-Identifier: BSD-3-Clause */
/* days.c: what users and programs did, day by day: sums over the jobs in the store that have
 * ended. `day_jobs` says what each job counts for, so that one that is settled again, comes
 * back, moves or goes is counted as what it is, and once. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "store/handle.h"

/* clang-format off */
/* What a job counts for: integers, which add up without a rest. Numbers that cannot be, of
 * hostile logs, are 0. */
#define MS(x) "CASE WHEN " x " >= 0 AND " x " < 1e12 THEN round(" x " * 1000) ELSE 0 END"
#define LEVEL(l) "(SELECT count(*) FROM findings f WHERE f.job = j.number AND f.level = '" l "')"
#define NODES "CASE WHEN j.nodes > 0 THEN j.nodes ELSE 1 END"
#define WORTH \
	"SELECT j.number, j.end_ns / 86400000000000, substr(j.username, 1, 128)," \
	" substr(j.name, 1, 128), CASE WHEN j.state = 'done' THEN 0 ELSE 1 END," \
	" CAST(j.bytes_read AS DOUBLE PRECISION), CAST(j.bytes_written AS DOUBLE PRECISION), " \
	MS("coalesce(j.io_time, 0)") ", " MS("coalesce(j.run_time, 0)") ", " \
	MS("(coalesce(j.run_time, 0) * " NODES ")") ", " MS("coalesce(j.cost, 0)") ", " \
	LEVEL("HIGH") ", " LEVEL("WARN") " FROM jobs j" \
	" WHERE j.state <> 'running' AND j.end_ns >= 0"
#define COLUMNS \
	"day, username, name, broken, bytes_read, bytes_written, io_ms, run_ms, node_ms, cost_ms," \
	" high, warn"
/* clang-format on */

struct worth {
	bool there;
	int64_t day;
	const char *user, *name;
	double v[RAMA_STORE_DAY_SUMS]; /* from `broken` on, as COLUMNS has them */
};

static double number_of(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_INT	 ? (double)c->i
	       : c->type == RAMA_STORE_CELL_REAL ? c->f
						 : 0;
}

struct taking {
	struct rama_store *s;
	struct worth *w;
};

static int take_worth(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct taking *t = ctx;
	struct rama_arena *a = &t->s->batch.days.text;
	const struct rama_store_cell *c = row->cell;

	t->w->there = true;
	t->w->day = c[1].i;
	t->w->user = rama_arena_text(a, c[2].text, c[2].len);
	t->w->name = rama_arena_text(a, c[3].text, c[3].len);
	for (unsigned i = 0; i < RAMA_STORE_DAY_SUMS; i++)
		t->w->v[i] = number_of(&c[4 + i]);
	return t->w->user != NULL && t->w->name != NULL ? 1 : rama_err_no_memory(e);
}

static bool is_same(const struct worth *a, const struct worth *b)
{
	if (a->there != b->there || !a->there)
		return a->there == b->there;
	for (unsigned i = 0; i < RAMA_STORE_DAY_SUMS; i++)
		if (a->v[i] < b->v[i] || a->v[i] > b->v[i])
			return false;
	return a->day == b->day && strcmp(a->user, b->user) == 0 && strcmp(a->name, b->name) == 0;
}

static int book(struct rama_store *s, const struct worth *w, int sign)
{
	struct rama_store_days *d = &s->batch.days;
	struct rama_store_day *to = NULL;

	if (!w->there)
		return 0;
	for (size_t i = d->n; to == NULL && i > 0 && i + 64 > d->n; i--) /* a neighbour? */
		if (d->day[i - 1].day == w->day && strcmp(d->day[i - 1].user, w->user) == 0 &&
		    strcmp(d->day[i - 1].name, w->name) == 0)
			to = &d->day[i - 1];
	if (to == NULL) {
		if (!RAMA_GROW(d->day, d->room, d->n + 1))
			return RAMA_EMEMORY;
		to = &d->day[d->n++];
		*to = (struct rama_store_day){ .day = w->day, .user = w->user, .name = w->name };
	}
	to->jobs += sign;
	for (unsigned i = 0; i < RAMA_STORE_DAY_SUMS; i++)
		to->v[i] += sign * w->v[i];
	return 0;
}

static int keep(struct rama_store *s, int64_t job, const struct worth *w, struct rama_err *e)
{
	static const char remove[] = "DELETE FROM day_jobs WHERE job = $1";
	static const char put[] = "INSERT INTO day_jobs (job, " COLUMNS ") VALUES ($1, $2, $3, $4,"
				  " $5, $6, $7, $8, $9, $10, $11, $12, $13)";
	struct rama_store_cell cell[4 + RAMA_STORE_DAY_SUMS] = { I(job) };
	int rc = rama_store_do(s, remove, cell, 1, e);

	if (rc != 0 || !w->there)
		return rc;
	cell[1] = I(w->day);
	cell[2] = rama_store_cell_t(w->user);
	cell[3] = rama_store_cell_t(w->name);
	for (unsigned i = 0; i < RAMA_STORE_DAY_SUMS; i++)
		cell[4 + i] = rama_store_cell_f(w->v[i]);
	cell[4] = I(w->v[0]);
	cell[4 + RAMA_STORE_DAY_SUMS - 2] = I(w->v[RAMA_STORE_DAY_SUMS - 2]);
	cell[4 + RAMA_STORE_DAY_SUMS - 1] = I(w->v[RAMA_STORE_DAY_SUMS - 1]);
	return rama_store_do(s, put, cell, 4 + RAMA_STORE_DAY_SUMS, e);
}

int rama_store_days_settle(struct rama_store *s, int64_t job, bool gone, struct rama_err *e)
{
	static const char before[] = "SELECT job, " COLUMNS " FROM day_jobs WHERE job = $1";
	static const char after[] = WORTH " AND j.number = $1";
	struct worth old = { 0 }, now = { 0 };
	struct taking t = { s, &old };
	int rc = rama_store_rows(s, before, ARGS(I(job)), take_worth, &t, e);

	t.w = &now;
	if (rc == 0 && !gone)
		rc = rama_store_rows(s, after, ARGS(I(job)), take_worth, &t, e);
	if (rc != 0 || is_same(&old, &now))
		return rc;
	if (book(s, &old, -1) != 0 || book(s, &now, 1) != 0)
		return rama_err_no_memory(e);
	return keep(s, job, &now, e);
}

/* ---- written --------------------------------------------------------------------------------- */

void rama_store_days_clear(struct rama_store_days *d)
{
	d->n = 0;
	rama_arena_fini(&d->text);
	d->text = (struct rama_arena){ 0 };
}

void rama_store_days_fini(struct rama_store_days *d)
{
	rama_store_days_clear(d);
	free(d->day);
	*d = (struct rama_store_days){ 0 };
}

/* one order for all writers, so that none waits for another in a circle */
static int in_order(const void *x, const void *y)
{
	const struct rama_store_day *a = x, *b = y;
	int n = a->day != b->day ? (a->day < b->day ? -1 : 1) : strcmp(a->user, b->user);

	return n != 0 ? n : strcmp(a->name, b->name);
}

int rama_store_days_flush(struct rama_store *s, struct rama_err *e)
{
	static const char add[] =
		"INSERT INTO days AS t (" COLUMNS ", jobs) VALUES ($1, $2, $3, $4, $5, $6, $7, $8,"
		" $9, $10, $11, $12, $13) ON CONFLICT (day, username, name) DO UPDATE SET"
		" jobs = t.jobs + excluded.jobs, broken = t.broken + excluded.broken,"
		" bytes_read = t.bytes_read + excluded.bytes_read,"
		" bytes_written = t.bytes_written + excluded.bytes_written,"
		" io_ms = t.io_ms + excluded.io_ms, run_ms = t.run_ms + excluded.run_ms,"
		" node_ms = t.node_ms + excluded.node_ms, cost_ms = t.cost_ms + excluded.cost_ms,"
		" high = t.high + excluded.high, warn = t.warn + excluded.warn";
	static const char none[] =
		"DELETE FROM days WHERE day = $1 AND username = $2 AND name = $3 AND jobs <= 0";
	struct rama_store_days *d = &s->batch.days;
	int rc = 0;

	if (d->n > 1)
		qsort(d->day, d->n, sizeof(d->day[0]), in_order);
	for (size_t i = 0; rc == 0 && i < d->n; i++) {
		const struct rama_store_day *x = &d->day[i];
		const double *v = x->v;

		rc = rama_store_do(s, add,
				   ARGS(I(x->day), rama_store_cell_t(x->user),
					rama_store_cell_t(x->name), I(v[0]),
					rama_store_cell_f(v[1]), rama_store_cell_f(v[2]),
					rama_store_cell_f(v[3]), rama_store_cell_f(v[4]),
					rama_store_cell_f(v[5]), rama_store_cell_f(v[6]), I(v[7]),
					I(v[8]), I(x->jobs)),
				   e);
		if (rc == 0 && x->jobs <= 0)
			rc = rama_store_do(s, none,
					   ARGS(I(x->day), rama_store_cell_t(x->user),
						rama_store_cell_t(x->name)),
					   e);
	}
	rama_store_days_clear(d);
	return rc;
}

int rama_store_days_fill(struct rama_store *s, struct rama_err *e)
{
	static const char jobs[] = "INSERT INTO day_jobs (job, " COLUMNS ") " WORTH;
	static const char days[] =
		"INSERT INTO days (" COLUMNS ", jobs) SELECT day, username, name,"
		" CAST(sum(broken) AS BIGINT), sum(bytes_read), sum(bytes_written), sum(io_ms),"
		" sum(run_ms), sum(node_ms), sum(cost_ms), CAST(sum(high) AS BIGINT),"
		" CAST(sum(warn) AS BIGINT), count(*) FROM day_jobs GROUP BY day, username, name";
	int rc = rama_store_do(s, jobs, NULL, 0, e);

	return rc == 0 ? rama_store_do(s, days, NULL, 0, e) : rc;
}
