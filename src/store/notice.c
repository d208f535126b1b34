/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/notice.h"

#include "store/handle.h"

/* 1 or 0 become the end of the transaction, an error its undoing */
static int end(struct rama_store *s, int rc, struct rama_err *e)
{
	int ended = rc >= 0 ? rama_store_commit(s, e) : 0;

	if (rc < 0 || ended != 0)
		rama_store_rollback(s);
	return ended != 0 ? ended : rc;
}

static int add_jobs(struct rama_store *s, const struct rama_store_notice *n, const int64_t *jobs,
		    size_t n_jobs, struct rama_err *e)
{
	static const char sql[] =
		"INSERT INTO notice_jobs (job, username, alert, period) VALUES ($1, $2, $3, $4)"
		" ON CONFLICT (job, username, alert) DO NOTHING";
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n_jobs; i++)
		rc = rama_store_do(s, sql,
				   ARGS(I(jobs[i]), rama_store_cell_t(n->user),
					rama_store_cell_t(n->alert), I(n->period)),
				   e);
	return rc;
}

int rama_store_notice_claim(struct rama_store *s, const struct rama_store_notice *n,
			    const char *owner, const int64_t *jobs, size_t n_jobs, int64_t now,
			    struct rama_err *e)
{
	static const char sql[] =
		"INSERT INTO notices (username, alert, period, channel, state, owner, changed_ns,"
		" tries, jobs) VALUES ($1, $2, $3, $4, 'claimed', $5, $6, 0, $7)"
		" ON CONFLICT (username, alert, period) DO NOTHING";
	int64_t made = 0;
	int rc = rama_store_begin(s, e);

	if (rc != 0)
		return rc;
	rc = rama_store_count(s, sql,
			      ARGS(rama_store_cell_t(n->user), rama_store_cell_t(n->alert),
				   I(n->period), rama_store_cell_t(n->channel),
				   rama_store_cell_t(owner), I(now), I(n_jobs)),
			      &made, e);
	if (rc == 0 && made == 1)
		rc = add_jobs(s, n, jobs, n_jobs, e);
	return end(s, rc == 0 ? made == 1 : rc, e);
}

int rama_store_notice_move(struct rama_store *s, const struct rama_store_notice *n,
			   const char *from_owner, const char *from, const char *owner,
			   const char *state, int64_t now, struct rama_err *e)
{
	static const char sql[] =
		"UPDATE notices SET state = $4, owner = $5, changed_ns = $6, tries = tries + CASE"
		" WHEN $4 = 'sending' THEN 1 ELSE 0 END WHERE username = $1 AND alert = $2 AND"
		" period = $3 AND owner = $7 AND state = $8";
	int64_t changed = 0;
	int rc = rama_store_begin(s, e);

	if (rc != 0)
		return rc;
	rc = rama_store_count(s, sql,
			      ARGS(rama_store_cell_t(n->user), rama_store_cell_t(n->alert),
				   I(n->period), rama_store_cell_t(state), rama_store_cell_t(owner),
				   I(now), rama_store_cell_t(from_owner), rama_store_cell_t(from)),
			      &changed, e);
	if (rc == 0 && changed == 1 && strcmp(state, "sending") != 0 &&
	    strcmp(state, "claimed") != 0 &&
	    rama_store_totals_add(s, "notices", n->channel, state, 1) != 0)
		rc = rama_err_no_memory(e);
	return end(s, rc == 0 ? changed == 1 : rc, e);
}

int rama_store_notice_off(struct rama_store *s, const char *user, const char *alert, bool off,
			  struct rama_err *e)
{
	static const char add[] = "INSERT INTO notice_off (username, alert) VALUES ($1, $2)"
				  " ON CONFLICT (username, alert) DO NOTHING";
	static const char remove[] = "DELETE FROM notice_off WHERE username = $1 AND alert = $2";
	int rc = rama_store_begin(s, e);

	if (rc != 0)
		return rc;
	rc = rama_store_do(s, off ? add : remove,
			   ARGS(rama_store_cell_t(user), rama_store_cell_t(alert)), e);
	return end(s, rc, e);
}
