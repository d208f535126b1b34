/* SPDX-License-Identifier: BSD-3-Clause */
/* prune.c: old jobs leave the store. */
#include <stdlib.h>

#include "base/grow.h"
#include "store/parts.h"

static int take_number(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_list *l = ctx;

	if (!RAMA_GROW(l->number, l->room, l->n + 1))
		return rama_err_no_memory(e);
	l->number[l->n++] = row->cell[0].i;
	return 0;
}

int rama_store_list(struct rama_store *s, const char *sql, const struct rama_store_cell *args,
		    unsigned n, struct rama_store_list *l, struct rama_err *e)
{
	*l = (struct rama_store_list){ 0 };
	return rama_store_rows(s, sql, args, n, take_number, l, e);
}

int rama_store_jobs_ended(struct rama_store *s, int64_t before, bool with_events,
			  struct rama_store_list *l, struct rama_err *e)
{
	static const char all[] = "SELECT number FROM jobs WHERE end_ns < $1 AND state <> 'running'"
				  " ORDER BY number";
	static const char events[] =
		"SELECT number FROM jobs WHERE end_ns < $1 AND state <> 'running'"
		" AND pruned = 0 AND processes > 0 ORDER BY number";

	return rama_store_list(s, with_events ? events : all, ARGS(I(before)), l, e);
}

#define TOGETHER 64 /* jobs in one transaction: others may write in between */

int rama_store_jobs_remove(struct rama_store *s, const int64_t *job, size_t n, bool events,
			   struct rama_err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n;) {
		rc = rama_store_begin(s, e);
		if (rc != 0)
			return rc;
		for (size_t k = 0; rc == 0 && i < n && k < TOGETHER; k++, i++)
			rc = rama_store_job_remove(s, job[i], events, e);
		if (rc == 0)
			rc = rama_store_commit(s, e);
		if (rc != 0)
			rama_store_rollback(s);
	}
	return rc;
}

static int prune_samples(struct rama_store *s, int64_t before, struct rama_err *e)
{
	static const char sql[] = "DELETE FROM sample_values WHERE series IN (SELECT number FROM "
				  "sample_series) AND t_ns < $1";
	int rc = rama_store_begin(s, e);

	if (rc == 0)
		rc = rama_store_do(s, sql, ARGS(I(before)), e);
	if (rc == 0)
		rc = rama_store_commit(s, e);
	if (rc != 0)
		rama_store_rollback(s);
	return rc;
}

int rama_store_prune(struct rama_store *s, int64_t before, bool events_only, int64_t *jobs,
		     struct rama_err *e)
{
	struct rama_store_list l = { 0 };
	int rc = rama_store_reap(s, rama_store_now(s), e);

	if (rc == 0)
		rc = rama_store_jobs_ended(s, before, events_only, &l, e);
	*jobs = 0;
	if (rc == 0)
		rc = rama_store_jobs_remove(s, l.number, l.n, events_only, e);
	if (rc == 0)
		*jobs = (int64_t)l.n;
	if (rc == 0 && !events_only)
		rc = prune_samples(s, before, e);
	if (rc == 0)
		rc = s->ops->shrink(s->db, e);
	free(l.number);
	return rc;
}
