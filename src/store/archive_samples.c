/* SPDX-License-Identifier: BSD-3-Clause */
/* archive_samples.c: figures of nodes go to another store, as the messages that they came in.
 * What is there already stays as it is; only when all are safe there do they leave here. */
#include <math.h>
#include <stdio.h>

#include "store/handle.h"

#define TOGETHER 10000 /* in one transaction */

struct move {
	struct rama_store *to;
	int64_t n; /* written, of the transaction at work too */
};

static int copy_one(struct rama_store *to, const struct rama_store_cell *v, struct rama_err *e)
{
	/* one that is not a number is NULL in SQLite */
	double value = v[3].type == RAMA_STORE_CELL_REAL ? v[3].f : NAN;
	struct rama_wire_msg_figure f = { .value = value };
	struct rama_wire_message m = {
		.kind = RAMA_WIRE_MSG_SAMPLE,
		.sample = { .host = v[0].text, .t = v[2].i, .n = 1, .figure = &f }
	};
	uint64_t stored;

	snprintf(f.metric, sizeof(f.metric), "%s", v[1].text);
	return rama_store_put(to, &m, &stored, e);
}

static int copy(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct move *m = ctx;
	int rc;

	if (row->cell[0].type != RAMA_STORE_CELL_TEXT || row->cell[1].type != RAMA_STORE_CELL_TEXT)
		return 0;
	rc = m->n % TOGETHER == 0 ? rama_store_begin(m->to, e) : 0;
	if (rc == 0)
		rc = copy_one(m->to, row->cell, e);
	if (rc == 0 && ++m->n % TOGETHER == 0)
		rc = rama_store_commit(m->to, e);
	return rc;
}

/* as many there as here */
static int check(struct rama_store *from, struct rama_store *to, int64_t before, int64_t *n,
		 struct rama_err *e)
{
	static const char count[] = "SELECT count(*) FROM sample_values WHERE t_ns < $1";
	int64_t there = 0;
	int rc = rama_store_ints(from, count, ARGS(I(before)), n, 1, e);

	if (rc >= 0)
		rc = rama_store_ints(to, count, ARGS(I(before)), &there, 1, e);
	if (rc >= 0 && there < *n)
		return rama_err_set(e, RAMA_EIO,
				    "of %lld samples %lld arrived; they stay where they are",
				    (long long)*n, (long long)there);
	return rc < 0 ? rc : 0;
}

int rama_store_samples_archive(struct rama_store *from, struct rama_store *to, int64_t before,
			       struct rama_err *e)
{
	/* in the order of their key */
	static const char sql[] =
		"SELECT s.host, s.metric, v.t_ns, v.value FROM sample_series s JOIN sample_values v"
		" ON v.series = s.number WHERE v.t_ns < $1 ORDER BY v.series, v.t_ns";
	struct move m = { .to = to };
	int64_t n = 0;
	int rc = rama_store_rows(from, sql, ARGS(I(before)), copy, &m, e);

	if (rc == 0 && m.n % TOGETHER != 0)
		rc = rama_store_commit(to, e);
	if (rc != 0)
		rama_store_rollback(to);
	if (rc == 0)
		rc = check(from, to, before, &n, e);
	if (rc == 0 && n > 0)
		rc = to->ops->shrink(to->db, e);
	return rc == 0 && n > 0 ? rama_store_samples_remove(from, before, &n, e) : rc;
}
