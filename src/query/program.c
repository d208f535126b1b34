/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "query/change.h"
#include "query/series.h"
#include "query/sql.h"

#define N(x) (sizeof(x) / sizeof(*(x)))

/* ---- runs ------------------------------------------------------------------------------------ */

enum { JOB, USER, START, RUN_TIME, IO_TIME, RANKS, NODES, READ, WRITTEN, COST, STATE, READS };
/* as the statement gives them, then what is worked out */
static const char *const names[] = {
	"job",	    "user",	  "start",	     "run_time",    "io_time",	      "ranks",
	"nodes",    "bytes_read", "bytes_written",   "cost",	    "state",	      "rate",
	"io_share", "like",	  "run_time_change", "rate_change", "io_share_change"
};
static const char *const units[] = { "id",    "text",  "when",	"s",  "s",    "count",
				     "count", "bytes", "bytes", "s",  "text", "bytes/s",
				     "share", "id",    NULL,	NULL, NULL };
const struct rama_query_columns rama_query_runs_columns = { N(names), names, units };

#define FIGURES 3 /* in which changes are looked for */

struct run {
	struct rama_store_cell cell[READS];
	char *user, *state;
	double figure[FIGURES]; /* run time, rate, share; NAN: not known */
	double p[FIGURES];
	bool like;
};

struct runs {
	struct run *run;
	size_t n;
};

static double number(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_INT	 ? (double)c->i
	       : c->type == RAMA_STORE_CELL_REAL ? c->f
						 : NAN;
}

static bool keep(struct rama_store_cell *c, char **text)
{
	if (c->type == RAMA_STORE_CELL_TEXT)
		c->text = *text = strdup(c->text);
	return c->type != RAMA_STORE_CELL_TEXT || *text != NULL;
}

static int take_run(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct runs *all = ctx;
	struct run *r = &all->run[all->n];
	double time, io, bytes;

	if (all->n == RAMA_QUERY_RUNS)
		return 1;
	memcpy(r->cell, row->cell, sizeof(r->cell));
	all->n++;
	if (!keep(&r->cell[USER], &r->user) || !keep(&r->cell[STATE], &r->state))
		return rama_err_no_memory(e);
	time = number(&r->cell[RUN_TIME]);
	io = number(&r->cell[IO_TIME]);
	bytes = number(&r->cell[READ]) + number(&r->cell[WRITTEN]);
	r->figure[0] = time > 0 ? time : NAN;
	r->figure[1] = io > 0 && bytes > 0 ? bytes / io : NAN;
	r->figure[2] = io >= 0 && time > 0 ? io / time : NAN;
	r->p[0] = r->p[1] = r->p[2] = NAN;
	return 0;
}

static bool ended_well(const struct run *r)
{
	return r->state != NULL && strcmp(r->state, "done") == 0;
}

/* The number of ranks that most runs have; of several the one of the newest run. Runs are in order
 * of time, the newest first. */
static void find_like(struct runs *all)
{
	size_t most = 0;
	int64_t ranks = 0;

	for (size_t i = 0; i < all->n; i++) {
		size_t same = 0;

		for (size_t k = 0; k < all->n; k++)
			same += ended_well(&all->run[k]) &&
				all->run[k].cell[RANKS].i == all->run[i].cell[RANKS].i;
		if (ended_well(&all->run[i]) && same > most) {
			most = same;
			ranks = all->run[i].cell[RANKS].i;
		}
	}
	for (size_t i = 0; i < all->n; i++)
		all->run[i].like = ended_well(&all->run[i]) && all->run[i].cell[RANKS].i == ranks;
}

/* runs are the newest first, a row of figures is the oldest first */
static int find_changes(struct runs *all, unsigned figure, struct rama_err *e)
{
	struct rama_query_change change[RAMA_QUERY_RUNS / RAMA_QUERY_CHANGE_LEAST];
	double v[RAMA_QUERY_RUNS];
	struct run *of[RAMA_QUERY_RUNS];
	size_t n = 0;
	int found;

	for (size_t i = all->n; i-- > 0;)
		if (all->run[i].like && !isnan(all->run[i].figure[figure])) {
			of[n] = &all->run[i];
			v[n++] = all->run[i].figure[figure];
		}
	found = rama_query_changes(v, n, RAMA_QUERY_CHANGE_ALPHA, RAMA_QUERY_CHANGE_SHARE, change,
				   N(change));
	for (int i = 0; i < found; i++)
		of[change[i].at]->p[figure] = change[i].p;
	return found < 0 ? rama_err_no_memory(e) : 0;
}

static struct rama_store_cell real_or_null(double v)
{
	return isnan(v) ? (struct rama_store_cell){ .type = RAMA_STORE_CELL_NULL }
			: rama_query_cell_real(v);
}

static int give_runs(const struct runs *all, rama_store_row_fn fn, void *ctx, struct rama_err *e)
{
	struct rama_store_cell cell[N(names)];
	struct rama_store_row row = { N(names), names, cell };
	int rc = 0;

	for (size_t i = all->n; rc == 0 && i-- > 0;) {
		const struct run *r = &all->run[i];

		memcpy(cell, r->cell, sizeof(r->cell));
		cell[READS] = real_or_null(r->figure[1]);
		cell[READS + 1] = real_or_null(r->figure[2]);
		cell[READS + 2] = rama_query_cell_int(r->like);
		for (unsigned f = 0; f < FIGURES; f++)
			cell[READS + 3 + f] = real_or_null(r->p[f]);
		rc = fn(ctx, &row, e);
	}
	return rc > 0 ? 0 : rc;
}

int rama_query_runs_list(struct rama_store *s, const struct rama_query_seen *seen,
			 const char *program, int64_t job, rama_store_row_fn fn, void *ctx,
			 struct rama_err *e)
{
	struct rama_store_cell name =
		program != NULL ? rama_query_cell_text(program) : rama_query_cell_int(job);
	struct runs all = { calloc(RAMA_QUERY_RUNS, sizeof(*all.run)), 0 };
	struct rama_query_sql sql;
	int rc;

	if (all.run == NULL)
		return rama_err_no_memory(e);
	rama_query_sql_init(&sql);
	rama_query_sql_add(&sql,
			   "SELECT number, username, start_ns, run_time, io_time, nprocs, nodes,"
			   " bytes_read, bytes_written, cost, state FROM jobs WHERE"
			   " start_ns IS NOT NULL AND state <> 'running'",
			   NULL);
	rama_query_sql_add(&sql,
			   program != NULL ? " AND name = ?"
					   : " AND name = (SELECT name FROM jobs WHERE number = ?)",
			   &name);
	rama_query_seen_add(&sql, "username", seen);
	rama_query_sql_add(&sql, " ORDER BY start_ns DESC, number DESC LIMIT ", NULL);
	rama_query_sql_number(&sql, RAMA_QUERY_RUNS);
	rc = rama_query_sql_run(&sql, s, take_run, &all, e);
	rama_query_sql_fini(&sql);
	find_like(&all);
	for (unsigned f = 0; rc == 0 && f < FIGURES; f++)
		rc = find_changes(&all, f, e);
	if (rc == 0)
		rc = give_runs(&all, fn, ctx, e);
	for (size_t i = 0; i < all.n; i++) {
		free(all.run[i].user);
		free(all.run[i].state);
	}
	free(all.run);
	return rc;
}

/* ---- small pictures -------------------------------------------------------------------------- */

static const char *const spark_names[] = { "job", "second", "step", "bytes_read", "bytes_written" };
static const char *const spark_units[] = { "id", "id", "id", "bytes", "bytes" };
const struct rama_query_columns rama_query_spark_columns = { N(spark_names), spark_names,
							     spark_units };

struct spark {
	struct rama_query_course course;
	int64_t second;
	double bytes[2]; /* read, written */
	bool any;
	rama_store_row_fn fn;
	void *ctx;
};

static int give_point(struct spark *k, struct rama_err *e)
{
	struct rama_store_cell cell[] = { rama_query_cell_int(k->course.job),
					  rama_query_cell_int(k->second),
					  rama_query_cell_int(k->course.step),
					  rama_query_cell_real(k->bytes[0]),
					  rama_query_cell_real(k->bytes[1]) };
	struct rama_store_row row = { N(cell), spark_names, cell };

	return k->any ? k->fn(k->ctx, &row, e) : 0;
}

/* rows of step, layer, kind: those of a step are added */
static int take_point(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const char *layer = row->cell[1].text, *kind = row->cell[2].text;
	struct spark *k = ctx;
	int rc = 0;

	if (k->any && k->second != row->cell[0].i) {
		rc = give_point(k, e);
		k->bytes[0] = k->bytes[1] = 0;
	}
	k->any = true;
	k->second = row->cell[0].i;
	if (strcmp(layer, "POSIX") != 0 && strcmp(layer, "STDIO") != 0 &&
	    strcmp(layer, "EXTRA") != 0)
		return rc;
	if (strcmp(kind, "read") == 0 || strcmp(kind, "write") == 0)
		k->bytes[kind[0] == 'w'] += number(&row->cell[4]);
	return rc;
}

int rama_query_spark_list(struct rama_store *s, int64_t job, unsigned points, rama_store_row_fn fn,
			  void *ctx, struct rama_err *e)
{
	struct spark k = { .course = { .job = job, .points = points }, .fn = fn, .ctx = ctx };
	int rc = rama_query_course_list(s, &k.course, take_point, &k, e);

	if (rc == 0)
		rc = give_point(&k, e);
	return rc > 0 ? 0 : rc;
}
