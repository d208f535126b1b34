/* SPDX-License-Identifier: BSD-3-Clause */
/* process.c: what is known of a process. Its newest message says which job and rank all belongs
 * to that it did; older ones, and what blocks say, count only until that comes. */
#include <string.h>

#include "store/parts.h"

/* The names of files that were told for a job are good for one that has taken over processes of
 * it, also those that are told later. */
static int name_again(struct rama_store *s, const char *key, int64_t old, int64_t job,
		      struct rama_err *e)
{
	static const char alias[] = "INSERT INTO aliases (key, job) VALUES ($1, $2)"
				    " ON CONFLICT (key, job) DO NOTHING";
	static const char inherit[] = "INSERT INTO aliases (key, job) SELECT key, CAST($2 AS "
				      "BIGINT) FROM aliases WHERE job = $1"
				      " ON CONFLICT (key, job) DO NOTHING";
	static const char files[] = "INSERT INTO files (job, record, path) SELECT CAST($2 AS "
				    "BIGINT), record, path FROM files"
				    " WHERE job = $1 ON CONFLICT (job, record) DO NOTHING";
	struct rama_store_change *c;
	int rc = rama_store_do(s, alias, ARGS(rama_store_cell_t(key), I(job)), e);

	if (rc == 0 && old > 0)
		rc = rama_store_do(s, inherit, ARGS(I(old), I(job)), e);
	if (rc == 0 && old > 0)
		rc = rama_store_do(s, files, ARGS(I(old), I(job)), e);
	for (int i = 0; rc == 0 && i < 2; i++) {
		if ((i == 0 ? job : old) <= 0)
			continue;
		c = rama_store_batch_change(s, i == 0 ? job : old);
		if (c == NULL)
			return rama_err_no_memory(e);
		c->settle = c->recount = true;
	}
	return rc;
}

struct key_of {
	char key[RAMA_WIRE_JOB];
};

static int take_key(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct key_of *k = ctx;
	size_t n = row->cell[0].len;

	(void)e;
	if (n < sizeof(k->key))
		memcpy(k->key, row->cell[0].text, n);
	return 1;
}

static int key_of_job(struct rama_store *s, int64_t job, struct key_of *k, struct rama_err *e)
{
	static const char sql[] = "SELECT key FROM jobs WHERE number = $1";

	*k = (struct key_of){ 0 };
	return rama_store_rows(s, sql, ARGS(I(job)), take_key, k, e);
}

int rama_store_process_move(struct rama_store *s, struct rama_store_process *p, int64_t job,
			    int64_t rank, struct rama_err *e)
{
	static const char blocks[] = "UPDATE blocks SET job = $2, rank = $3 WHERE process = $1";
	static const char rollups[] =
		"UPDATE rollups SET job = $2, rank = $3 WHERE process = $1 AND job = $4";
	static const char activity[] =
		"UPDATE activity SET job = $2, rank = $3 WHERE process = $1 AND job = $4";
	static const char counted[] = "UPDATE counted SET job = $2 WHERE process = $1";
	const struct rama_store_cell args[] = { I(p->number), I(job), I(rank), I(p->job) };
	int64_t old = p->job;
	struct key_of k;
	int rc;

	if (p->job == job && p->rank == rank)
		return 0;
	rc = rama_store_do(s, blocks, args, 3, e);
	if (rc == 0)
		rc = rama_store_do(s, rollups, args, 4, e);
	if (rc == 0)
		rc = rama_store_do(s, activity, args, 4, e);
	if (rc == 0)
		rc = rama_store_do(s, counted, args, 2, e);
	p->job = job;
	p->rank = rank;
	if (rc != 0 || old == job)
		return rc;
	rc = key_of_job(s, old, &k, e);
	return rc == 0 ? name_again(s, k.key, old, job, e) : rc;
}

/* a message that is older than what is known tells one thing still: the job had another key */
static int older(struct rama_store *s, const struct rama_store_process *p, const char *key,
		 struct rama_err *e)
{
	static const char find[] = "SELECT number FROM jobs WHERE key = $1";
	int64_t old = 0;
	struct key_of k;
	int rc = key_of_job(s, p->job, &k, e);

	if (rc != 0 || strcmp(k.key, key) == 0)
		return rc;
	rc = rama_store_ints(s, find, ARGS(rama_store_cell_t(key)), &old, 1, e);
	return rc < 0 ? rc : name_again(s, key, old, p->job, e);
}

static const char *state_of(uint32_t state)
{
	return state == RAMA_WIRE_STATE_ENDED	   ? "ended"
	       : state == RAMA_WIRE_STATE_REPLACED ? "replaced"
	       : state == RAMA_WIRE_STATE_KILLED   ? "killed"
						   : "running";
}

/* a time that is not before the start, whatever the clocks were; 0: none */
static int64_t after(int64_t start, int64_t t)
{
	return t != 0 && t < start ? start : t;
}

static int update(struct rama_store *s, const struct rama_store_process *p,
		  const struct rama_wire_msg_process *m, struct rama_err *e)
{
	static const char sql[] =
		"UPDATE processes SET job = $2, rank = $3, host = $4, pid = $5, uid = $6,"
		" username = $7, jobid = $8, nprocs = $9, exe = $10, command = $11, tag = $12,"
		" start_ns = $13, end_ns = $14, seen_ns = $15, state = $16, version = $17, made ="
		" $18, dropped = $19, missed = $20, lanes = $21 WHERE number = $1";
#define TEXT(t) rama_store_cell_clean(s, t, strlen(t))
	return rama_store_do(s, sql,
			     ARGS(I(p->number), I(p->job), I(p->rank), TEXT(m->host), I(m->pid),
				  I(m->uid), TEXT(m->user), I(m->jobid), I(m->nprocs), TEXT(m->exe),
				  TEXT(m->command), TEXT(m->tag), rama_store_cell_when(m->start),
				  rama_store_cell_when(after(m->start, m->end)),
				  rama_store_cell_when(p->seen),
				  rama_store_cell_t(state_of(m->state)), I(p->version),
				  I(rama_store_told(m->made, RAMA_STORE_TOLD_MOST)),
				  I(rama_store_told(m->dropped, RAMA_STORE_TOLD_MOST)),
				  I(rama_store_told(m->missed, RAMA_STORE_TOLD_MOST)), I(m->lanes)),
			     e);
#undef TEXT
}

int rama_store_process_put(struct rama_store *s, const struct rama_wire_msg_process *m,
			   struct rama_err *e)
{
	struct rama_store_process *p;
	struct rama_store_change *c;
	int64_t job;
	int rc = rama_store_process_get(s, &m->segment, m->job, m->rank, &p, e);

	if (rc != 0)
		return rc;
	if (rama_store_told(m->version, INT64_MAX) <= p->version)
		return older(s, p, m->job, e);
	rc = rama_store_job_get(s, m->job, "live", &job, e);
	if (rc == 0)
		rc = rama_store_process_move(s, p, job, m->rank, e);
	p->version = rama_store_told(m->version, INT64_MAX);
	p->lost = false;
	p->seen = 0; /* as this message says it, and no message before */
	rama_store_process_seen(s, p, after(m->start, m->seen_at));
	p->was_seen = p->seen;
	if (rc == 0)
		rc = update(s, p, m, e);
	c = rc == 0 ? rama_store_batch_change(s, job) : NULL;
	if (rc == 0 && c == NULL)
		rc = rama_err_no_memory(e);
	if (c != NULL)
		c->settle = true;
	return rc;
}
