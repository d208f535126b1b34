/* SPDX-License-Identifier: BSD-3-Clause */
/* upkeep.c: old jobs leave the store, who is lost is found out, and how much there is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "store/blocks/far.h"

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

int rama_store_jobs_remove(struct rama_store *s, const int64_t *job, size_t n, bool events,
			   struct rama_err *e)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n;) {
		rc = rama_store_begin(s, e);
		if (rc != 0)
			return rc;
		for (size_t k = 0; rc == 0 && i < n && k < RAMA_STORE_TOGETHER; k++, i++)
			rc = rama_store_job_remove(s, job[i], events, e);
		if (rc == 0)
			rc = rama_store_commit(s, e);
		if (rc != 0)
			rama_store_rollback(s);
	}
	return rc;
}

int rama_store_samples_remove(struct rama_store *s, int64_t before, int64_t *n, struct rama_err *e)
{
	static const char sql[] = "DELETE FROM sample_values WHERE series IN (SELECT number FROM "
				  "sample_series) AND t_ns < $1";
	int rc = rama_store_begin(s, e);

	if (rc == 0)
		rc = rama_store_count(s, sql, ARGS(I(before)), n, e);
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
	int64_t samples;
	int rc = rama_store_reap(s, rama_store_now(s), e);

	if (rc == 0)
		rc = rama_store_jobs_ended(s, before, events_only, &l, e);
	*jobs = 0;
	if (rc == 0)
		rc = rama_store_jobs_remove(s, l.number, l.n, events_only, e);
	if (rc == 0)
		*jobs = (int64_t)l.n;
	if (rc == 0 && !events_only)
		rc = rama_store_samples_remove(s, before, &samples, e);
	if (rc == 0)
		rc = rama_store_far_sweep(s, e);
	if (rc == 0)
		rc = s->ops->shrink(s->db, e);
	free(l.number);
	return rc;
}

/* ---- who is lost ----------------------------------------------------------------------------- */

/* Processes of which nobody says anything any more: their agent was killed, or their node is
 * gone. They are lost, and their jobs with them, as of the moment when they were seen last;
 * whoever reports again is back. */

int64_t rama_store_now(const struct rama_store *s)
{
	struct timespec t;

	if (s->clock != 0)
		return s->clock;
	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void rama_store_clock(struct rama_store *s, int64_t ns)
{
	s->clock = ns;
}

void rama_store_process_seen(struct rama_store *s, struct rama_store_process *p, int64_t t)
{
	int64_t now = rama_store_now(s);

	/* a clock that is ahead does not keep anybody alive */
	t = t > now ? now : t;
	p->seen = t > p->seen ? t : p->seen;
}

struct due {
	struct rama_store_list process, job;
	int rc;
};

static bool add(struct rama_store_list *l, int64_t number)
{
	if (!RAMA_GROW(l->number, l->room, l->n + 1))
		return false;
	l->number[l->n++] = number;
	return true;
}

static int take_process(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct due *d = ctx;

	if (!add(&d->process, row->cell[0].i) || !add(&d->job, row->cell[1].i))
		return rama_err_no_memory(e);
	return 0;
}

static int take_job(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct due *d = ctx;

	return add(&d->job, row->cell[0].i) ? 0 : rama_err_no_memory(e);
}

#define PROCESSES "FROM processes WHERE state = 'running' AND (seen_ns < $1 OR seen_ns IS NULL)"
#define JOBS                                                                 \
	"FROM jobs WHERE state = 'running' AND processes = 0 AND logged = 0" \
	" AND (seen_ns < $1 OR seen_ns IS NULL)"

/* Those that somebody writes to at this moment are left out: they are not lost. */
static int find(struct rama_store *s, int64_t before, struct due *d, struct rama_err *e)
{
	static const char processes[] =
		"SELECT number, job " PROCESSES " ORDER BY number LIMIT 10000 /*free*/";
	static const char jobs[] = "SELECT number " JOBS " ORDER BY number LIMIT 10000 /*free*/";
	int rc = rama_store_rows(s, processes, ARGS(I(before)), take_process, d, e);

	return rc == 0 ? rama_store_rows(s, jobs, ARGS(I(before)), take_job, d, e) : rc;
}

static int lose(struct rama_store *s, const struct due *d, struct rama_err *e)
{
	/* one of which nothing was told but its events has no start either */
	static const char sql[] =
		"UPDATE processes SET state = 'lost', end_ns = CASE WHEN seen_ns IS NULL OR seen_ns"
		" < start_ns THEN start_ns ELSE seen_ns END WHERE number = $1";
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < d->process.n; i++)
		rc = rama_store_do(s, sql, ARGS(I(d->process.number[i])), e);
	for (size_t i = 0; rc == 0 && i < d->job.n; i++) {
		struct rama_store_change *c = rama_store_batch_change(s, d->job.number[i]);

		if (c == NULL)
			return rama_err_no_memory(e);
		c->settle = true;
	}
	return rc;
}

int rama_store_stale(struct rama_store *s, int64_t now, struct rama_err *e)
{
	static const char sql[] =
		"SELECT (SELECT count(*) " PROCESSES ") + (SELECT count(*) " JOBS ")";
	int64_t n = 0;
	int rc = rama_store_ints(s, sql, ARGS(I(now - RAMA_STORE_LOST_AFTER)), &n, 1, e);

	return rc < 0 ? rc : n > 0;
}

int rama_store_reap(struct rama_store *s, int64_t now, struct rama_err *e)
{
	struct due d = { 0 };
	int rc = rama_store_begin(s, e);

	if (rc != 0)
		return rc;
	s->reaping = now;
	rc = find(s, now - RAMA_STORE_LOST_AFTER, &d, e);
	if (rc == 0)
		rc = lose(s, &d, e);
	if (rc == 0)
		rc = rama_store_commit(s, e);
	s->reaping = 0;
	if (rc != 0)
		rama_store_rollback(s);
	free(d.process.number);
	free(d.job.number);
	return rc;
}

/* ---- how much there is ----------------------------------------------------------------------- */

static int count_records(struct rama_store *s, int64_t *n, struct rama_err *e)
{
	int rc = 0;

	for (unsigned id = 0; rc == 0 && id < RAMA_TAB_MODULES_KNOWN; id++) {
		int64_t rows = 0;

		if (s->table[id].count != NULL)
			rc = rama_store_ints(s, s->table[id].count, NULL, 0, &rows, 1, e);
		rc = rc < 0 ? rc : 0;
		*n += rows;
	}
	return rc;
}

/* Elsewhere what came twice may be counted twice. */
static int count_blocks(struct rama_store *s, struct rama_store_counts *c, struct rama_err *e)
{
	struct rama_store_block_counts near = { 0 }, far = { 0 };
	int rc = rama_store_blocks_sql.count(&s->near, &near, e);

	if (rc >= 0 && s->far.place.ops != NULL)
		rc = s->far.place.ops->count(s->far.place.h, &far, e);
	c->blocks = near.blocks + far.blocks;
	c->events = near.events + far.events;
	c->bytes = far.bytes;
	c->elsewhere = far.bytes;
	return rc;
}

int64_t rama_store_size(struct rama_store *s)
{
	return s->ops->size(s->db);
}

int rama_store_stats(struct rama_store *s, struct rama_store_counts *c, struct rama_err *e)
{
	static const char jobs[] = "SELECT count(*), CAST(sum(events) AS BIGINT), CAST(sum(lost) "
				   "AS BIGINT), min(start_ns),"
				   " max(end_ns) FROM jobs WHERE processes > 0 OR logged > 0";
	static const char *const counts[] = {
		"SELECT count(*) FROM processes", "SELECT count(*) FROM files",
		"SELECT count(*) FROM findings",  "SELECT count(*) FROM sample_values",
		"SELECT count(*) FROM logs",
	};
	int64_t v[5] = { 0 };
	int64_t *const to[] = { &c->processes, &c->files, &c->findings, &c->samples, &c->logs };
	int rc;

	*c = (struct rama_store_counts){ 0 };
	rc = rama_store_ints(s, jobs, NULL, 0, v, 5, e);
	c->jobs = v[0], c->lost = v[2], c->first = v[3], c->last = v[4];
	for (size_t i = 0; rc >= 0 && i < sizeof(to) / sizeof(to[0]); i++)
		rc = rama_store_ints(s, counts[i], NULL, 0, to[i], 1, e);
	if (rc >= 0)
		rc = count_blocks(s, c, e);
	if (rc >= 0)
		rc = count_records(s, &c->records, e);
	if (rc >= 0)
		rc = s->ops->version(s->db, &c->schema, e);
	c->bytes += s->ops->size(s->db);
	return rc < 0 ? rc : 0;
}
