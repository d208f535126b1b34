/* SPDX-License-Identifier: BSD-3-Clause */
/* batch.c: what a batch has met, kept in memory until its end, so that a job's row is written
 * once and not for each of its messages. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/siphash.h"
#include "store/handle.h"

void rama_store_batch_clear(struct rama_store_batch *b)
{
	b->n_processes = b->n_changes = 0;
	rama_map_fini(&b->by_segment);
	rama_map_fini(&b->by_job);
	b->by_segment = b->by_job = (struct rama_map){ 0 };
	rama_store_series_clear(&b->series);
	rama_store_days_clear(&b->days);
	rama_store_totals_clear(&b->totals);
}

void rama_store_batch_fini(struct rama_store_batch *b)
{
	rama_store_batch_clear(b);
	free(b->process);
	free(b->change);
	rama_store_series_fini(&b->series);
	rama_store_days_fini(&b->days);
	rama_store_totals_fini(&b->totals);
	*b = (struct rama_store_batch){ 0 };
}

struct rama_store_change *rama_store_batch_change(struct rama_store *s, int64_t job)
{
	struct rama_store_batch *b = &s->batch;
	bool fresh;
	uint64_t *at = rama_map_put(&b->by_job, (uint64_t)job, &fresh);

	if (at == NULL)
		return NULL;
	if (*at != 0)
		return &b->change[*at - 1];
	if (!RAMA_GROW(b->change, b->room_changes, b->n_changes + 1))
		return NULL;
	b->change[b->n_changes] = (struct rama_store_change){ .job = job };
	*at = ++b->n_changes;
	return &b->change[b->n_changes - 1];
}

/* ---- processes that were met ----------------------------------------------------------------- */

static uint64_t half_of(const struct rama_wire_segment_key *k)
{
	uint64_t h;

	memcpy(&h, k->b, sizeof(h));
	return h;
}

static struct rama_store_process *remember(struct rama_store *s, const struct rama_store_process *p)
{
	struct rama_store_batch *b = &s->batch;
	bool fresh;
	uint64_t *at;

	if (!RAMA_GROW(b->process, b->room_processes, b->n_processes + 1))
		return NULL;
	at = rama_map_put(&b->by_segment, half_of(&p->segment), &fresh);
	if (at == NULL)
		return NULL;
	/* keys that share a half do not occur by chance; made ones take the place of each other,
	 * at the end of a list */
	b->process[b->n_processes] = *p;
	*at = ++b->n_processes;
	return &b->process[b->n_processes - 1];
}

static struct rama_store_process *met(struct rama_store *s, const struct rama_wire_segment_key *k)
{
	struct rama_store_batch *b = &s->batch;
	const uint64_t *at = rama_map_get(&b->by_segment, half_of(k));

	if (at == NULL)
		return NULL;
	if (memcmp(&b->process[*at - 1].segment, k, sizeof(*k)) == 0)
		return &b->process[*at - 1];
	for (size_t i = 0; i < b->n_processes; i++)
		if (memcmp(&b->process[i].segment, k, sizeof(*k)) == 0)
			return &b->process[i];
	return NULL;
}

static uint64_t owner_of(const char *key, size_t n)
{
	static const struct rama_sipkey fixed = { 0x6f776e6572u, 1 };
	const char *slash = memchr(key, '/', n);

	return rama_siphash(&fixed, key, slash != NULL ? (size_t)(slash - key) : n);
}

static int take_process(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_process *p = ctx;
	const struct rama_store_cell *v = row->cell;

	(void)e;
	p->number = v[0].i, p->job = v[1].i, p->rank = v[2].i, p->version = v[3].i;
	p->seen = p->was_seen = v[4].type == RAMA_STORE_CELL_INT ? v[4].i : 0;
	p->lost = v[5].i != 0;
	p->owner = v[6].type == RAMA_STORE_CELL_TEXT ? owner_of(v[6].text, v[6].len) : 0;
	return 1;
}

static int take_owner(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *key = row->cell;

	(void)e;
	*(uint64_t *)ctx = key->type == RAMA_STORE_CELL_TEXT ? owner_of(key->text, key->len) : 0;
	return 1;
}

/* A statement that waited for a lock has the row as it is then, and what else it reads as it was
 * when it began: the job to which another writer moved the process meanwhile is seen by the next
 * statement only. */
static int find_owner(struct rama_store *s, struct rama_store_process *p, struct rama_err *e)
{
	static const char sql[] = "SELECT key FROM jobs WHERE number = $1";

	return rama_store_rows(s, sql, ARGS(I(p->job)), take_owner, &p->owner, e);
}

static int find_process(struct rama_store *s, struct rama_store_process *p, struct rama_err *e)
{
	static const char sql[] =
		"SELECT p.number, p.job, p.rank, p.version, p.seen_ns, CASE WHEN p.state = 'lost'"
		" THEN 1 ELSE 0 END, (SELECT j.key FROM jobs j WHERE j.number = p.job)"
		" FROM processes p WHERE p.segment = $1 /*lock*/";
	struct rama_store_cell key = rama_store_cell_b(&p->segment, sizeof(p->segment));
	int rc = rama_store_rows(s, sql, &key, 1, take_process, p, e);

	if (rc >= 0 && p->number != 0 && p->owner == 0)
		rc = find_owner(s, p, e);
	return rc < 0 ? rc : p->number != 0;
}

static int make_process(struct rama_store *s, struct rama_store_process *p, const char *job,
			int64_t rank, struct rama_err *e)
{
	static const char sql[] = "INSERT INTO processes (segment, job, rank) VALUES ($1, $2, $3)"
				  " ON CONFLICT (segment) DO NOTHING RETURNING number";
	struct rama_store_cell key = rama_store_cell_b(&p->segment, sizeof(p->segment));
	struct rama_store_change *c;
	int rc = rama_store_job_get(s, job, "live", &p->job, e);

	if (rc == 0)
		rc = rama_store_ints(s, sql, ARGS(key, I(p->job), I(rank)), &p->number, 1, e);
	if (rc == 0) /* another writer was faster */
		return find_process(s, p, e);
	if (rc < 0)
		return rc;
	p->rank = rank;
	p->version = -1;
	p->owner = owner_of(job, strlen(job));
	c = rama_store_batch_change(s, p->job);
	if (c != NULL)
		c->settle = true;
	return 1;
}

/* A process goes from job to job when its MPI tells it where it belongs, but never to another
 * user's. */
static int check_owner(const struct rama_store_process *p, const char *job, struct rama_err *e)
{
	if (p->owner == owner_of(job, strlen(job)))
		return 0;
	return rama_err_set(e, RAMA_ECORRUPT, "job %.100s: the process is another user's", job);
}

int rama_store_process_get(struct rama_store *s, const struct rama_wire_segment_key *segment,
			   const char *job, int64_t rank, struct rama_store_process **to,
			   struct rama_err *e)
{
	struct rama_store_process p = { .segment = *segment };
	int rc;

	*to = met(s, segment);
	if (*to != NULL)
		return check_owner(*to, job, e);
	rc = find_process(s, &p, e);
	if (rc == 0)
		rc = make_process(s, &p, job, rank, e);
	if (rc <= 0)
		return rc < 0 ? rc : rama_err_set(e, RAMA_EIO, "a process got no number");
	rc = check_owner(&p, job, e);
	if (rc != 0)
		return rc;
	*to = remember(s, &p);
	return *to != NULL ? 0 : rama_err_no_memory(e);
}

/* ---- the end of a batch ---------------------------------------------------------------------- */

#define SEEN_EVERY 10000000000ll /* ns: no need to write more often that a process was seen */

/* One that is lost is back when there is news of it; what is only old and late leaves it lost. */
static int flush_process(struct rama_store *s, const struct rama_store_process *p,
			 struct rama_err *e)
{
	static const char sql[] =
		"UPDATE processes SET stored = stored + $2, seen_ns = $3 WHERE number = $1";
	static const char back[] = "UPDATE processes SET state = 'running', end_ns = NULL WHERE"
				   " number = $1 AND state = 'lost'";
	bool is_back = p->lost && p->seen > rama_store_now(s) - RAMA_STORE_LOST_AFTER;
	struct rama_store_change *c;
	int rc;

	if (p->stored == 0 && !is_back &&
	    (p->seen == p->was_seen || (p->was_seen != 0 && p->seen - p->was_seen < SEEN_EVERY)))
		return 0;
	rc = rama_store_do(s, sql, ARGS(I(p->number), I(p->stored), rama_store_cell_when(p->seen)),
			   e);
	if (rc == 0 && is_back)
		rc = rama_store_do(s, back, ARGS(I(p->number)), e);
	c = rc == 0 ? rama_store_batch_change(s, p->job) : NULL;
	if (rc == 0 && c == NULL)
		rc = rama_err_no_memory(e);
	if (c != NULL)
		c->settle = true;
	return rc;
}

static bool is_changed(const struct rama_store_change *c)
{
	return c->settle || c->recount || c->row || c->span != 0 || c->files != 0 ||
	       (c->reads | c->writes | c->metas | c->bytes_read | c->bytes_written | c->io_ns |
		c->meta_ns) != 0;
}

/* Settling one job may ask for another to be settled (once more). */
int rama_store_batch_flush(struct rama_store *s, struct rama_err *e)
{
	bool again = true;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < s->batch.n_processes; i++)
		rc = flush_process(s, &s->batch.process[i], e);
	while (rc == 0 && again) {
		again = false;
		for (size_t i = 0; rc == 0 && i < s->batch.n_changes; i++) {
			struct rama_store_change c = s->batch.change[i];

			if (!is_changed(&c))
				continue;
			again = true;
			s->batch.change[i] = (struct rama_store_change){ .job = c.job };
			rc = rama_store_job_settle(s, &c, e);
		}
	}
	if (rc == 0)
		rc = rama_store_series_flush(s, e);
	if (rc == 0)
		rc = rama_store_days_flush(s, e);
	return rc == 0 ? rama_store_totals_flush(s, e) : rc;
}
