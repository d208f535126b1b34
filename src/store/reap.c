/* SPDX-License-Identifier: BSD-3-Clause */
/* reap.c: processes of which nobody says anything any more: their agent was killed, or their
 * node is gone. They are lost, and their jobs with them, as of the moment when they were seen
 * last; whoever reports again is back. */
#include <stdlib.h>
#include <time.h>

#include "base/grow.h"
#include "store/parts.h"

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

/* ---- what is due ----------------------------------------------------------------------------- */

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
