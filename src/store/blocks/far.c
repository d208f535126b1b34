/* SPDX-License-Identifier: BSD-3-Clause */
/* far.c: blocks that lie elsewhere than in the tables (blocks.h). They are there for good before
 * the transaction that tells of them is: a writer that dies in between leaves blocks that come
 * again, and readers give every event once. Which events there are is in the table `spans`, under
 * which older keys and ranks blocks of a process were put in `placed`, and what is to be removed
 * in `removals`: all of it part of the transaction. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/without.h"
#include "store/blocks/far.h"

#define AT_ONCE (32 << 20) /* bytes of a batch that are kept; then they are put */

/* ---- which place ----------------------------------------------------------------------------- */

static int take_url(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	char *to = ctx;

	(void)e;
	if (row->cell[0].type == RAMA_STORE_CELL_TEXT && row->cell[0].len < RAMA_STORE_EVENTS_URL)
		memcpy(to, row->cell[0].text, row->cell[0].len + 1);
	return 1;
}

static int known_url(struct rama_store *s, char url[RAMA_STORE_EVENTS_URL], struct rama_err *e)
{
	static const char sql[] = "SELECT value FROM meta WHERE key = 'events'";

	*url = '\0';
	return rama_store_rows(s, sql, NULL, 0, take_url, url, e);
}

static int use(struct rama_store *s, const char *url, struct rama_err *e)
{
#ifdef RAMA_WITHOUT_LIBCURL
	(void)s, (void)url;
	return rama_err_without(e, "libcurl, and the events of this store are in ClickHouse");
#else
	int rc;

	if (s->far.place.ops != NULL)
		s->far.place.ops->close(s->far.place.h);
	s->far.place = (struct rama_store_place){ 0 };
	rc = rama_store_clickhouse_open(&s->far.place.h, url, e);
	if (rc == 0)
		s->far.place.ops = &rama_store_blocks_clickhouse;
	return rc;
#endif
}

/* Of a file nobody is asked elsewhere: it may be anybody's, and name any host. */
int rama_store_far_open(struct rama_store *s, struct rama_err *e)
{
	char url[RAMA_STORE_EVENTS_URL];
	int rc;

	if (!s->ops->many_readers)
		return 0;
	rc = known_url(s, url, e);
	return rc == 0 && *url != '\0' ? use(s, url, e) : rc;
}

static int make(struct rama_store *s, struct rama_err *e)
{
#ifdef RAMA_WITHOUT_LIBCURL
	(void)s, (void)e;
	return 0;
#else
	return rama_store_clickhouse_make(s->far.place.h, e);
#endif
}

int rama_store_events_at(struct rama_store *s, const char *url, bool change, struct rama_err *e)
{
	static const char sql[] = "INSERT INTO meta (key, value) VALUES ('events', $1)"
				  " ON CONFLICT (key) DO UPDATE SET value = excluded.value";
	char known[RAMA_STORE_EVENTS_URL];
	int rc;

	if (!s->ops->many_readers)
		return rama_err_set(e, RAMA_EUSAGE,
				    "events can be in ClickHouse if the store is in PostgreSQL");
	if (strlen(url) >= sizeof(known))
		return rama_err_set(e, RAMA_EUSAGE, "--events: too long a URL");
	rc = known_url(s, known, e);
	if (rc != 0 || strcmp(known, url) == 0)
		return rc;
	if (*known != '\0' && !change)
		return rama_err_set(e, RAMA_EUSAGE,
				    "events of this store are at %.200s; iorama store upgrade"
				    " --events changes that",
				    known);
	rc = use(s, url, e);
	if (rc == 0)
		rc = make(s, e);
	return rc == 0 ? rama_store_do(s, sql, ARGS(rama_store_cell_t(url)), e) : rc;
}

void rama_store_far_close(struct rama_store *s)
{
	struct rama_store_far *f = &s->far;

	if (f->place.ops != NULL)
		f->place.ops->close(f->place.h);
	rama_arena_fini(&f->memory);
	free(f->kept);
	*f = (struct rama_store_far){ 0 };
}

/* ---- a batch --------------------------------------------------------------------------------- */

void rama_store_far_forget(struct rama_store *s)
{
	struct rama_store_far *f = &s->far;

	rama_arena_fini(&f->memory);
	f->memory = (struct rama_arena){ 0 };
	f->n = 0;
	f->bytes = 0;
	f->job = 0;
}

int rama_store_far_flush(struct rama_store *s, struct rama_err *e)
{
	struct rama_store_far *f = &s->far;
	int rc;

	if (f->n == 0)
		return 0;
	rc = f->place.ops->put(f->place.h, f->kept, f->n, e);
	f->passing = rc == RAMA_EIO;
	if (rc == 0)
		rama_store_far_forget(s);
	return rc;
}

static int take_key(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	if (row->cell[0].type == RAMA_STORE_CELL_TEXT && row->cell[0].len < RAMA_WIRE_JOB)
		memcpy(ctx, row->cell[0].text, row->cell[0].len + 1);
	return 1;
}

static int find_key(struct rama_store *s, int64_t job, struct rama_err *e)
{
	static const char sql[] = "SELECT key FROM jobs WHERE number = $1";
	int rc;

	if (s->far.job == job)
		return 0;
	s->far.key[0] = '\0';
	rc = rama_store_rows(s, sql, ARGS(I(job)), take_key, s->far.key, e);
	s->far.job = rc == 0 ? job : 0;
	return rc;
}

/* the bytes of a block, in memory of the batch */
static int keep_body(struct rama_store *s, struct rama_store_kept *k, struct rama_wire_block *b,
		     const unsigned char *bytes, size_t n, struct rama_err *e)
{
	size_t room = bytes != NULL ? n : rama_wire_block_room(b);
	unsigned char *to = rama_arena_alloc(&s->far.memory, room);
	int64_t len = (int64_t)n;

	if (to == NULL)
		return rama_err_no_memory(e);
	if (bytes != NULL)
		memcpy(to, bytes, n);
	else
		len = rama_wire_block_pack(&s->packer, b, to, room, e);
	k->body = to;
	k->len = len > 0 ? (size_t)len : 0;
	return len < 0 ? (int)len : 0;
}

static int keep_sums(struct rama_store *s, struct rama_store_kept *k, struct rama_err *e)
{
	size_t size = k->n_seconds * sizeof(*k->second);
	struct rama_store_second *copy = rama_arena_alloc(&s->far.memory, size);

	if (copy == NULL)
		return rama_err_no_memory(e);
	for (unsigned i = 0; i < k->n_seconds; i++) {
		size_t bytes = strlen(k->second[i].layer) + 1;
		char *layer = rama_arena_alloc(&s->far.memory, bytes);

		if (layer == NULL)
			return rama_err_no_memory(e);
		memcpy(layer, k->second[i].layer, bytes);
		copy[i] = k->second[i];
		copy[i].layer = layer;
	}
	k->second = copy;
	return 0;
}

/* These events of the process are in the store. */
static int span_put(struct rama_store *s, int64_t process, const struct rama_wire_block *b,
		    struct rama_err *e)
{
	static const char longer[] = "UPDATE spans SET n = n + $4 WHERE process = $1 AND lane = $2"
				     " AND first + n = $3";
	static const char more[] =
		"INSERT INTO spans (process, lane, first, n) VALUES ($1, $2, $3, $4)";
	const struct rama_store_cell args[] = { I(process), I(b->lane), I(b->first), I(b->n) };
	int64_t changed = 0;
	int rc = rama_store_count(s, longer, args, 4, &changed, e);

	return rc == 0 && changed == 0 ? rama_store_do(s, more, args, 4, e) : rc;
}

int rama_store_far_put(struct rama_store *s, const struct rama_store_process *p,
		       struct rama_wire_block *b, struct rama_store_kept *k, struct rama_err *e)
{
	struct rama_store_far *f = &s->far;
	int rc = find_key(s, p->job, e);

	if (rc == 0 && !RAMA_GROW(f->kept, f->room, f->n + 1))
		rc = rama_err_no_memory(e);
	if (rc != 0)
		return rc;
	k->segment = p->segment;
	k->rank = p->rank;
	k->t0 = b->t0, k->t1 = b->t1;
	k->first = b->first, k->lost = b->lost;
	k->lane = b->lane, k->tid = b->tid, k->n = b->n;
	memcpy(k->key, f->key, sizeof(k->key));
	rc = keep_body(s, k, b, k->body, k->len, e);
	if (rc == 0)
		rc = keep_sums(s, k, e);
	if (rc == 0)
		rc = span_put(s, p->number, b, e);
	if (rc != 0)
		return rc;
	f->kept[f->n++] = *k;
	f->bytes += k->len;
	return f->bytes > AT_ONCE ? rama_store_far_flush(s, e) : 0;
}

/* ---- a process that is of another job or rank now -------------------------------------------- */

int rama_store_far_moved(struct rama_store *s, const struct rama_store_process *p, int64_t old_job,
			 int64_t old_rank, struct rama_err *e)
{
	static const char lie[] =
		"INSERT INTO placed (process, key, rank) SELECT p.number, j.key, CAST($3 AS BIGINT)"
		" FROM processes p, jobs j WHERE p.number = $1 AND j.number = $2 AND EXISTS (SELECT"
		" 1 FROM spans s WHERE s.process = p.number) ON CONFLICT (process, key, rank) DO"
		" NOTHING";
	static const char span[] = "SELECT max_span FROM jobs WHERE number = $1";
	struct rama_store_change *c = rama_store_batch_change(s, old_job);
	int64_t longest = c != NULL ? c->span : 0, known = 0;
	int rc = rama_store_do(s, lie, ARGS(I(p->number), I(old_job), I(old_rank)), e);

	if (rc == 0)
		rc = rama_store_ints(s, span, ARGS(I(old_job)), &known, 1, e);
	c = rc >= 0 ? rama_store_batch_change(s, p->job) : NULL;
	if (rc >= 0 && c == NULL)
		return rama_err_no_memory(e);
	longest = known > longest ? known : longest;
	if (c != NULL && longest > c->span)
		c->span = longest;
	return rc < 0 ? rc : 0;
}

/* ---- removing -------------------------------------------------------------------------------- */

int rama_store_far_removed(struct rama_store *s, int64_t job, struct rama_err *e)
{
	static const char gone[] =
		"INSERT INTO removals (key, at_ns, end_ns) SELECT key, CAST($2 AS BIGINT),"
		" coalesce(end_ns, $2) FROM jobs WHERE number = $1 ON CONFLICT (key) DO UPDATE"
		" SET at_ns = excluded.at_ns, end_ns = excluded.end_ns";
	static const char spans[] = "DELETE FROM spans WHERE process IN (SELECT number FROM"
				    " processes WHERE job = $1)";
	static const char placed[] = "DELETE FROM placed WHERE process IN (SELECT number FROM"
				     " processes WHERE job = $1)";
	int rc;

	if (s->far.place.ops == NULL)
		return 0;
	rc = rama_store_do(s, gone, ARGS(I(job), I(rama_store_now(s))), e);
	if (rc == 0)
		rc = rama_store_do(s, spans, ARGS(I(job)), e);
	return rc == 0 ? rama_store_do(s, placed, ARGS(I(job)), e) : rc;
}

struct goners {
	struct rama_store_gone *gone;
	size_t n, room;
};

static int take_gone(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct goners *g = ctx;
	struct rama_store_gone *to;

	if (!RAMA_GROW(g->gone, g->room, g->n + 1))
		return rama_err_no_memory(e);
	to = &g->gone[g->n++];
	*to = (struct rama_store_gone){ .at = row->cell[1].i, .end = row->cell[2].i };
	return take_key(to->key, row, e) < 0 ? RAMA_EIO : 0;
}

/* Before this no job has events that stays. A job whose beginning is not known may have any. A
 * clock may have been set back by a day. */
static int find_since(struct rama_store *s, int64_t *since, struct rama_err *e)
{
	static const char sql[] = "SELECT min(coalesce(start_ns, 0)) FROM jobs WHERE pruned = 0"
				  " AND (processes > 0 OR state = 'running')";
	int rc;

	*since = rama_store_now(s);
	rc = rama_store_ints(s, sql, NULL, 0, since, 1, e);
	*since -= 86400000000000ll;
	return rc < 0 ? rc : 0;
}

/* Not those of a key that has come back, or under which blocks of other jobs lie. */
int rama_store_far_sweep(struct rama_store *s, struct rama_err *e)
{
	static const char list[] =
		"SELECT r.key, r.at_ns, r.end_ns FROM removals r WHERE NOT EXISTS (SELECT 1 FROM"
		" jobs j WHERE j.key = r.key AND j.pruned = 0) AND NOT EXISTS (SELECT 1 FROM placed"
		" l WHERE l.key = r.key) ORDER BY r.at_ns, r.key";
	static const char forget[] = "DELETE FROM removals WHERE key = $1 AND at_ns = $2";
	struct goners g = { 0 };
	int64_t since;
	int rc;

	if (s->far.place.ops == NULL)
		return 0;
	rc = find_since(s, &since, e);
	if (rc == 0)
		rc = rama_store_rows(s, list, NULL, 0, take_gone, &g, e);
	if (rc == 0)
		rc = s->far.place.ops->remove(s->far.place.h, g.gone, g.n, since, e);
	for (size_t i = 0; rc == 0 && i < g.n; i++)
		if (g.gone[i].done)
			rc = rama_store_do(s, forget,
					   ARGS(rama_store_cell_t(g.gone[i].key), I(g.gone[i].at)),
					   e);
	free(g.gone);
	return rc;
}
