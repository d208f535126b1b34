/* SPDX-License-Identifier: BSD-3-Clause */
/* put.c: messages of agents become rows. Each may come twice and in any order: what is there
 * already stays. */
#include <string.h>

#include "store/parts.h"

/* ---- names ----------------------------------------------------------------------------------- */

#define MOST_ALIASES 64
struct jobs {
	int64_t job[MOST_ALIASES];
	unsigned n;
};

static int take_job(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct jobs *j = ctx;

	(void)e;
	if (j->n < MOST_ALIASES)
		j->job[j->n++] = row->cell[0].i;
	return 0;
}

/* a message about a job's key is for the job of that name, or for those that took its processes
 * over */
static int jobs_of(struct rama_store *s, const char *key, struct jobs *j, struct rama_err *e)
{
	static const char find[] = "SELECT number FROM jobs WHERE key = $1 /*hold*/";
	static const char alias[] = "SELECT job FROM aliases WHERE key = $1 ORDER BY job";
	int rc = rama_store_rows(s, find, ARGS(rama_store_cell_t(key)), take_job, j, e);

	if (rc == 0)
		rc = rama_store_rows(s, alias, ARGS(rama_store_cell_t(key)), take_job, j, e);
	if (rc == 0 && j->n == 0)
		rc = rama_store_job_get(s, key, "live", &j->job[j->n++], e);
	return rc;
}

static int put_names(struct rama_store *s, const struct rama_wire_msg_names *m, struct rama_err *e)
{
	struct jobs j = { .n = 0 };
	int rc = jobs_of(s, m->job, &j, e);

	for (unsigned i = 0; rc == 0 && i < j.n; i++)
		rc = rama_store_names_put(s, j.job[i], m->name, m->n, e);
	return rc;
}

/* part of keys, which have limits in databases */
#define LONGEST_NAME 255

static int check_name(const char *what, const char *name, struct rama_err *e)
{
	return strlen(name) <= LONGEST_NAME
		       ? 0
		       : rama_err_set(e, RAMA_ECORRUPT, "the name of %s is too long", what);
}

/* ---- samples, losses ------------------------------------------------------------------------- */

static int put_sample(struct rama_store *s, const struct rama_wire_msg_sample *m,
		      struct rama_err *e)
{
	static const char find[] =
		"SELECT number FROM sample_series WHERE host = $1 AND metric = $2";
	static const char make[] = "INSERT INTO sample_series (host, metric) VALUES ($1, $2)"
				   " ON CONFLICT (host, metric) DO NOTHING RETURNING number";
	static const char value[] = "INSERT INTO sample_values (series, t_ns, value)"
				    " VALUES ($1, $2, $3) ON CONFLICT (series, t_ns) DO NOTHING";
	static const char *const sql[2] = { find, make };
	int rc = check_name("a host", m->host, e);

	for (uint32_t i = 0; rc == 0 && i < m->n; i++) {
		const char *const name[2] = { m->host, m->figure[i].metric };
		int64_t series;

		rc = rama_store_number(s, &s->series, name, sql, &series, e);
		if (rc == 0)
			rc = rama_store_do(
				s, value,
				ARGS(I(series), I(m->t), rama_store_cell_f(m->figure[i].value)), e);
	}
	return rc;
}

static int put_loss(struct rama_store *s, const struct rama_wire_msg_loss *m, struct rama_err *e)
{
	static const char sql[] =
		"INSERT INTO losses (agent, number, job, why, events, messages)"
		" VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (agent, number) DO NOTHING";
	struct rama_store_change *c;
	struct jobs j = { .n = 1 }; /* 0: of no job in particular */
	int64_t changed = 0;
	int rc = check_name("an agent", m->agent, e);

	if (rc == 0 && m->job[0] != '\0') {
		j.n = 0;
		rc = jobs_of(s, m->job, &j, e);
	}
	if (rc == 0)
		rc = rama_store_count(s, sql,
				      ARGS(rama_store_cell_clean(s, m->agent, strlen(m->agent)),
					   I(m->number), I(j.job[0]),
					   rama_store_cell_clean(s, m->why, strlen(m->why)),
					   I(rama_store_told(m->events, RAMA_STORE_TOLD_MOST)),
					   I(rama_store_told(m->messages, RAMA_STORE_TOLD_MOST))),
				      &changed, e);
	if (rc != 0 || changed == 0 || j.job[0] == 0)
		return rc;
	c = rama_store_batch_change(s, j.job[0]);
	if (c == NULL)
		return rama_err_no_memory(e);
	c->settle = true;
	return 0;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static int put_block(struct rama_store *s, const unsigned char *bytes, size_t n, uint64_t *stored,
		     struct rama_err *e)
{
	int rc = rama_wire_block_unpack(&s->packer, s->block, bytes, n, e);

	return rc == 0 ? rama_store_events_put(s, s->block, bytes, n, stored, e) : rc;
}

int rama_store_put(struct rama_store *s, const struct rama_wire_message *m, uint64_t *stored,
		   struct rama_err *e)
{
	uint64_t none;

	if (stored == NULL)
		stored = &none;
	*stored = 0;
	if (!s->open)
		return rama_err_set(e, RAMA_EUSAGE, "no batch is open");
	if (s->text.total > 0) {
		rama_arena_fini(&s->text);
		s->text = (struct rama_arena){ 0 };
	}
	switch (m->kind) {
	case RAMA_WIRE_MSG_PROCESS:
		return rama_store_process_put(s, &m->process, e);
	case RAMA_WIRE_MSG_NAMES:
		return put_names(s, &m->names, e);
	case RAMA_WIRE_MSG_BLOCK:
		return put_block(s, m->block.bytes, m->block.len, stored, e);
	case RAMA_WIRE_MSG_ACTIVITY:
		return rama_store_activity_put(s, &m->activity, e);
	case RAMA_WIRE_MSG_COUNTERS:
		return rama_store_counters_take(s, &m->counters, e);
	case RAMA_WIRE_MSG_SAMPLE:
		return put_sample(s, &m->sample, e);
	case RAMA_WIRE_MSG_LOSS:
		return put_loss(s, &m->loss, e);
	default:
		return rama_err_set(e, RAMA_EUSAGE, "not a message that a store takes by itself");
	}
}
