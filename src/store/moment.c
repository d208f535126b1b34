/* SPDX-License-Identifier: BSD-3-Clause */
/* moment.c: what processes of running jobs are at, of each node the newest that its agent told. A
 * job that has ended has none. */
#include "store/handle.h"

/* No message is as late as this: the clock of the node was set back. */
#define SET_BACK "60000000000"

int rama_store_moment_put(struct rama_store *s, const struct rama_wire_message *m,
			  struct rama_err *e)
{
	static const char find[] = "SELECT number FROM jobs WHERE key = $1 AND state IN ('running',"
				   " 'lost') /*hold*/";
	static const char put[] =
		"INSERT INTO moments (job, host, t_ns, width_ns, processes, calls, body) VALUES"
		" ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (job, host) DO UPDATE SET t_ns ="
		" excluded.t_ns, width_ns = excluded.width_ns, processes = excluded.processes,"
		" calls = excluded.calls, body = excluded.body WHERE excluded.t_ns > moments.t_ns"
		" OR excluded.t_ns < moments.t_ns - " SET_BACK;
	const struct rama_wire_msg_moment *w = &m->moment;
	struct rama_wire_bytes body = { 0 };
	int64_t job = 0, calls = 0;
	int rc = rama_store_ints(s, find, ARGS(rama_store_cell_t(w->job)), &job, 1, e);

	if (rc <= 0) /* a moment of a job that is not known, or has ended, is of no use */
		return rc;
	for (uint32_t i = 0; i < w->n; i++)
		calls = rama_store_sum(calls,
				       rama_store_told(w->at[i].calls, RAMA_STORE_TOLD_MOST));
	rc = rama_wire_message_encode(m, &body, e);
	if (rc == 0)
		rc = rama_store_do(s, put,
				   ARGS(I(job), rama_store_cell_clean(s, w->host, strlen(w->host)),
					I(w->t), I(w->width),
					I(rama_store_told(w->processes, RAMA_STORE_TOLD_MOST)),
					I(calls), rama_store_cell_b(body.b, body.n)),
				   e);
	rama_wire_bytes_fini(&body);
	return rc;
}

int rama_store_moment_remove(struct rama_store *s, int64_t job, struct rama_err *e)
{
	return rama_store_do(s, "DELETE FROM moments WHERE job = $1", ARGS(I(job)), e);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct walk {
	rama_store_moment_fn fn;
	void *ctx;
};

static int unpack(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct walk *w = ctx;
	const struct rama_store_cell *body = &row->cell[0];
	struct rama_arena arena = { 0 };
	struct rama_wire_message m;
	int rc = rama_wire_message_decode(&m, (const unsigned char *)body->text, body->len, &arena,
					  e);

	if (rc == 0 && m.kind != RAMA_WIRE_MSG_MOMENT)
		rc = rama_err_set(e, RAMA_ECORRUPT, "moments: a message '%s'",
				  rama_wire_message_name(m.kind));
	if (rc == 0)
		rc = w->fn(w->ctx, &m.moment, e);
	rama_arena_fini(&arena);
	return rc;
}

int rama_store_moments(struct rama_store *s, int64_t job, int64_t since, rama_store_moment_fn fn,
		       void *ctx, struct rama_err *e)
{
	static const char sql[] =
		"SELECT body FROM moments WHERE job = $1 AND t_ns >= $2 ORDER BY host";
	struct walk w = { fn, ctx };

	return rama_store_select(s, sql, ARGS(I(job), I(since)), unpack, &w, e);
}
