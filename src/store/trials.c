/* SPDX-License-Identifier: BSD-3-Clause */
/* trials.c: what trials of `iorama emulate try` showed of a job, beside what its findings are said
 * to cost. */
#include "store/handle.h"

int rama_store_put_trial(struct rama_store *s, int64_t job, const struct rama_store_trial *t,
			 struct rama_err *e)
{
	/* one after the other, so that each has its number */
	static const char lock[] = "SELECT number FROM jobs WHERE number = $1 /*lock*/";
	int64_t there;
	int rc = rama_store_ints(s, lock, ARGS(I(job)), &there, 1, e);

	if (rc == 0)
		return rama_err_set(e, RAMA_EMISSING, "job %lld is no longer in the store",
				    (long long)job);
#define TEXT(t) rama_store_cell_clean(s, t, strlen(t))
	if (rc > 0)
		rc = rama_store_do(s, RAMA_STORE_TRIAL_PUT,
				   ARGS(I(job), I(t->t_ns), TEXT(t->host), TEXT(t->change),
					TEXT(t->rule), rama_store_cell_f(t->cost), I(t->ranks),
					I(t->rounds), rama_store_cell_f(t->before),
					rama_store_cell_f(t->after), rama_store_cell_f(t->low),
					rama_store_cell_f(t->high),
					rama_store_cell_f(t->confidence), TEXT(t->verdict),
					rama_store_cell_f(t->before - t->after)),
				   e);
#undef TEXT
	return rc < 0 ? rc : 0;
}

int rama_store_find_log(struct rama_store *s, uint64_t hash, int64_t *job, struct rama_err *e)
{
	static const char sql[] = "SELECT job FROM logs WHERE hash = $1";
	int rc = rama_store_ints(s, sql, ARGS(I(hash)), job, 1, e);

	if (rc == 0)
		return rama_err_set(e, RAMA_EMISSING, "the store does not know this log");
	return rc < 0 ? rc : 0;
}
