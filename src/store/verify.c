/* SPDX-License-Identifier: BSD-3-Clause */
/* verify.c: reads everything and compares what must agree: events with the rows of their blocks,
 * numbers of events with each other and with what was made and lost, sums per second with the
 * events, names with the files that events are about. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "store/handle.h"

struct verify {
	struct rama_store *s;
	void (*flaw)(void *ctx, const char *line);
	void *ctx;
	int64_t flaws;
	/* of the job at hand */
	char key[RAMA_WIRE_JOB];
	int64_t job, missing;
	struct rama_map records; /* that its events are about */
	/* of the process at hand */
	int64_t process, rank, stored;
	char expected[160]; /* the first sum that differs */
	int64_t sums, differ;
	struct rama_map sum; /* see sum_key */
	struct expect *expect;
	size_t n_expect, room_expect;
	bool damaged; /* some of its events cannot be read */
};

/* what the rollups of a process should say */
struct expect {
	int64_t second;
	char layer[16];
	const char *kind;
	int64_t ops, failed, bytes, ns, longest;
	bool seen;
};

__attribute__((format(printf, 2, 3))) static void tell(struct verify *v, const char *fmt, ...)
{
	char line[600];
	va_list ap;
	int n = snprintf(line, sizeof(line), "job %s: ", v->key);

	va_start(ap, fmt);
	vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, ap);
	va_end(ap);
	v->flaws++;
	v->flaw(v->ctx, line);
}

/* ---- sums per second ------------------------------------------------------------------------- */

static const char *kind_of(const char *op)
{
	return strcmp(op, "read") == 0 ? "read" : strcmp(op, "write") == 0 ? "write" : "meta";
}

static uint64_t sum_key(int64_t second, const char *layer, const char *kind)
{
	uint64_t h = (uint64_t)second * 0x9e3779b97f4a7c15u;

	for (; *layer != '\0'; layer++)
		h = (h ^ (unsigned char)*layer) * 0x100000001b3u;
	return (h ^ (unsigned char)*kind) * 0x100000001b3u;
}

static struct expect *find_sum(struct verify *v, int64_t second, const char *layer,
			       const char *kind, bool make)
{
	uint64_t key = sum_key(second, layer, kind), *at;
	struct expect *x;

	for (;; key++) { /* the next place, should two have the same key */
		at = make ? rama_map_put(&v->sum, key, NULL) : rama_map_get(&v->sum, key);
		if (at == NULL)
			return NULL;
		if (*at == 0)
			break;
		x = &v->expect[*at - 1];
		if (x->second == second && x->kind[0] == kind[0] && strcmp(x->layer, layer) == 0)
			return x;
	}
	if (!RAMA_GROW(v->expect, v->room_expect, v->n_expect + 1))
		return NULL;
	x = &v->expect[v->n_expect];
	*x = (struct expect){ .second = second, .kind = kind };
	snprintf(x->layer, sizeof(x->layer), "%s", layer);
	*at = ++v->n_expect;
	return x;
}

static int add_event(struct verify *v, const struct rama_wire_block *b,
		     const struct rama_wire_event *ev)
{
	const struct rama_wire_what *w = &b->what[ev->what];
	struct expect *x =
		find_sum(v, rama_store_second_of(ev->end), w->layer, kind_of(w->op), true);

	if (x == NULL || (ev->record != 0 && rama_map_put(&v->records, ev->record, NULL) == NULL))
		return RAMA_EMEMORY;
	x->ops++;
	x->failed += ev->failed;
	x->bytes = rama_store_sum(x->bytes, ev->bytes);
	x->ns = rama_store_sum(x->ns, ev->dur);
	x->longest = ev->dur > x->longest ? ev->dur : x->longest;
	return 0;
}

static int compare_sum(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct verify *v = ctx;
	const struct rama_store_cell *c = row->cell;
	const char *layer = c[1].type == RAMA_STORE_CELL_TEXT ? c[1].text : "";
	const char *kind = c[2].type == RAMA_STORE_CELL_TEXT ? c[2].text : "";
	struct expect *x = find_sum(v, c[0].i, layer, kind, false);

	(void)e;
	v->sums++;
	if (x != NULL)
		x->seen = true;
	if (x == NULL || x->ops != c[3].i || x->failed != c[4].i || x->bytes != c[5].i ||
	    x->ns != c[6].i || x->longest != c[7].i) {
		if (v->differ++ == 0)
			snprintf(v->expected, sizeof(v->expected),
				 "second %lld, %.16s %.8s: %lld calls, events say %lld",
				 (long long)c[0].i, layer, kind, (long long)c[3].i,
				 (long long)(x != NULL ? x->ops : 0));
	}
	return 0;
}

static int check_sums(struct verify *v, struct rama_err *e)
{
	static const char sql[] =
		"SELECT second, layer, kind, ops, failed, bytes, ns, longest FROM rollups"
		" WHERE job = $1 AND process = $2";
	int rc;

	v->sums = v->differ = 0;
	rc = rama_store_rows(v->s, sql, ARGS(I(v->job), I(v->process)), compare_sum, v, e);
	for (size_t i = 0; rc == 0 && i < v->n_expect; i++)
		if (!v->expect[i].seen && v->differ++ == 0)
			snprintf(v->expected, sizeof(v->expected),
				 "second %lld, %.16s %s: not there, events say %lld calls",
				 (long long)v->expect[i].second, v->expect[i].layer,
				 v->expect[i].kind, (long long)v->expect[i].ops);
	if (rc == 0 && v->differ > 0 && !v->damaged)
		tell(v, "rank %lld: %lld sums per second are not those of the events; %s",
		     (long long)v->rank, (long long)v->differ, v->expected);
	return rc;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

struct lane {
	int64_t lane, next; /* number of the event that should come */
	int64_t gap;	    /* of this process */
};

static void check_row(struct verify *v, const struct rama_store_block_row *r, struct lane *l)
{
	const struct rama_wire_block *b = v->s->block;

	if (r->lane != l->lane)
		*l = (struct lane){ .lane = r->lane, .gap = l->gap };
	if (r->first < l->next)
		tell(v, "rank %lld, lane %lld: events %lld to %lld are there twice",
		     (long long)v->rank, (long long)r->lane, (long long)r->first,
		     (long long)l->next - 1);
	if (r->first > l->next)
		l->gap = rama_store_sum(l->gap, rama_core_add(r->first, -l->next));
	l->next = rama_core_add(r->first, r->n);
	if (r->job != v->job || r->rank != v->rank)
		tell(v, "block %lld is kept under job %lld, rank %lld, and belongs to rank %lld",
		     (long long)r->number, (long long)r->job, (long long)r->rank,
		     (long long)v->rank);
	if (!v->damaged && b->n > 0 && (b->t0 != r->t0 || b->t1 != r->t1))
		tell(v, "block %lld: times in its row are not those of its events",
		     (long long)r->number);
}

static int check_blocks(struct verify *v, struct rama_store_blocks *bs, struct lane *l,
			struct rama_err *e)
{
	const struct rama_wire_block *b = v->s->block;
	const struct rama_store_block_row *r;
	int rc;

	while ((rc = rama_store_blocks_next(bs, &r, e)) != 0) {
		if (rc == RAMA_EMEMORY || r == NULL)
			return rc;
		v->stored = rama_core_add(v->stored, r->n);
		if (rc < 0) {
			tell(v, "rank %lld: block %lld: %s", (long long)v->rank,
			     (long long)r->number, e->text);
			*e = (struct rama_err){ 0 };
			v->damaged = true;
		}
		check_row(v, r, l);
		for (uint32_t i = 0; rc == 1 && i < b->n; i++)
			if (add_event(v, b, &b->event[i]) != 0)
				return rama_err_no_memory(e);
	}
	return 0;
}

/* ---- processes, jobs ------------------------------------------------------------------------- */

enum { JOB, RANK, MADE, STORED, ENDED, VERSION, SEEN };

static void count_missing(struct verify *v, const int64_t *p, const struct lane *l)
{
	int64_t tail = p[ENDED] && p[VERSION] >= 0 ? rama_core_add(p[MADE], -p[STORED]) : l->gap;

	if (tail < 0)
		tell(v, "rank %lld: %lld events, and it made %lld", (long long)v->rank,
		     (long long)p[STORED], (long long)p[MADE]);
	v->missing = rama_store_sum(v->missing, tail > l->gap ? tail : l->gap);
}

static int check_process(struct verify *v, int64_t process, struct rama_err *e)
{
	static const char sql[] = "SELECT job, rank, made, stored, CASE WHEN state IN "
				  "('running', 'lost') THEN 0 ELSE 1 END, version"
				  " FROM processes WHERE number = $1";
	struct rama_store_blocks *bs = rama_store_blocks_new(v->s, process);
	struct lane l = { .lane = -1 };
	int64_t p[SEEN] = { 0 };
	int rc = bs != NULL ? rama_store_ints(v->s, sql, ARGS(I(process)), p, SEEN, e)
			    : rama_err_no_memory(e);

	v->process = process;
	v->rank = p[RANK];
	v->stored = 0;
	v->n_expect = 0;
	v->damaged = false;
	rama_map_fini(&v->sum);
	v->sum = (struct rama_map){ 0 };
	if (rc == 1) {
		rc = check_blocks(v, bs, &l, e);
		if (rc == 0 && v->stored != p[STORED])
			tell(v, "rank %lld: %lld events, its row says %lld", (long long)v->rank,
			     (long long)v->stored, (long long)p[STORED]);
		if (rc == 0)
			count_missing(v, p, &l);
		if (rc == 0)
			rc = check_sums(v, e);
	}
	rama_store_blocks_free(bs);
	return rc < 0 ? rc : 0;
}

static int strike_out(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	uint64_t *at = rama_map_get(ctx, (uint64_t)row->cell[0].i);

	(void)e;
	if (at != NULL)
		*at = 1;
	return 0;
}

static int check_names(struct verify *v, struct rama_err *e)
{
	static const char sql[] = "SELECT record FROM files WHERE job = $1";
	struct rama_map_slot slot;
	uint64_t example = 0;
	int64_t n = 0;
	int rc = rama_store_rows(v->s, sql, ARGS(I(v->job)), strike_out, &v->records, e);

	for (size_t at = 0; rc == 0 && rama_map_next(&v->records, &at, &slot);)
		if (slot.value == 0 && n++ == 0)
			example = slot.key;
	if (n > 0)
		tell(v, "%lld files that its events are about have no name, one is record %lld",
		     (long long)n, (long long)example);
	rama_map_fini(&v->records);
	v->records = (struct rama_map){ 0 };
	return rc;
}

static int check_job(struct verify *v, struct rama_err *e)
{
	static const char list[] = "SELECT number FROM processes WHERE job = $1 ORDER BY number";
	static const char lost[] = "SELECT CAST(sum(events) AS BIGINT) FROM losses WHERE job = $1";
	static const char sums[] = "SELECT j.events, j.pruned, CAST((SELECT sum(p.stored) FROM "
				   "processes p WHERE p.job = j.number)"
				   " AS BIGINT) FROM jobs j WHERE j.number = $1";
	struct rama_store_list l = { 0 };
	int64_t losses = 0, has[3] = { 0 };
	int rc = rama_store_ints(v->s, sums, ARGS(I(v->job)), has, 3, e);

	v->missing = 0;
	if (rc < 0 || has[1])
		return rc < 0 ? rc : 0; /* its events were removed on purpose */
	if (has[0] != has[2])
		tell(v, "%lld events, its processes have %lld", (long long)has[0],
		     (long long)has[2]);
	rc = rama_store_list(v->s, list, ARGS(I(v->job)), &l, e);
	for (size_t i = 0; rc == 0 && i < l.n; i++)
		rc = check_process(v, l.number[i], e);
	free(l.number);
	if (rc == 0)
		rc = rama_store_ints(v->s, lost, ARGS(I(v->job)), &losses, 1, e);
	if (rc >= 0 && v->missing > losses)
		tell(v, "%lld events are missing, %lld were told as lost", (long long)v->missing,
		     (long long)losses);
	return rc < 0 ? rc : check_names(v, e);
}

static int take_key(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	snprintf(ctx, RAMA_WIRE_JOB, "%s",
		 row->cell[0].type == RAMA_STORE_CELL_TEXT ? row->cell[0].text : "");
	return 1;
}

/* what should not be there: rows of jobs and processes that are gone, sums that are others */
static const struct {
	const char *what, *sql;
} strays[] = {
	{ "processes of no job",
	  "SELECT count(*) FROM processes WHERE job NOT IN (SELECT number FROM jobs)" },
	{ "blocks of no process", "SELECT count(*) FROM blocks WHERE process NOT IN "
				  "(SELECT number FROM processes)" },
	{ "spans of events of no process", "SELECT count(*) FROM spans WHERE process NOT IN "
					   "(SELECT number FROM processes)" },
	{ "sums per second of no process", "SELECT count(*) FROM rollups WHERE process NOT "
					   "IN (SELECT number FROM processes)" },
	{ "rows of activity of no process", "SELECT count(*) FROM activity WHERE process "
					    "NOT IN (SELECT number FROM processes)" },
	{ "counters of no process", "SELECT count(*) FROM counted WHERE process NOT IN "
				    "(SELECT number FROM processes)" },
	{ "counters whose gains are others",
	  "SELECT count(*) FROM counted c JOIN jobs j ON j.number = c.job JOIN (SELECT "
	  "process,"
	  " layer, sum(bytes_read + bytes_written + reads + writes) AS all_of FROM activity"
	  " GROUP BY process, layer) a ON a.process = c.process AND a.layer = c.layer WHERE"
	  " j.pruned = 0 AND c.bytes_read + c.bytes_written + c.reads + c.writes <> "
	  "a.all_of" },
	{ "sums of jobs by time that are others",
	  "SELECT count(*) FROM (SELECT job, layer, sum(ops) AS ops, sum(bytes) AS bytes "
	  "FROM"
	  " series GROUP BY job, layer) t JOIN jobs j ON j.number = t.job JOIN (SELECT job,"
	  " layer, sum(reads + writes + metas) AS ops, sum(bytes_read + bytes_written) AS"
	  " bytes FROM activity GROUP BY job, layer) a ON a.job = t.job AND a.layer = "
	  "t.layer"
	  " WHERE j.pruned = 0 AND (t.ops <> a.ops OR t.bytes <> a.bytes)" },
	{ "sums of jobs by ten seconds, minute or hour that are others",
	  "SELECT count(*) FROM (SELECT job, sum(ops) AS ops FROM series GROUP BY job) s "
	  "JOIN"
	  " (SELECT job, sum(ops) AS ops FROM series_minute GROUP BY job) m ON m.job = "
	  "s.job"
	  " JOIN (SELECT job, sum(ops) AS ops FROM series_hour GROUP BY job) h ON h.job ="
	  " s.job JOIN (SELECT job, sum(ops) AS ops FROM series_ten GROUP BY job) t ON"
	  " t.job = s.job WHERE s.ops <> m.ops OR s.ops <> h.ops OR s.ops <> t.ops" },
	{ "days whose jobs are others",
	  "SELECT count(*) FROM days d LEFT JOIN (SELECT day, username, name, count(*) AS "
	  "jobs,"
	  " sum(run_ms) AS run_ms FROM day_jobs GROUP BY day, username, name) j ON j.day ="
	  " d.day AND j.username = d.username AND j.name = d.name WHERE j.jobs IS NULL OR"
	  " j.jobs <> d.jobs OR j.run_ms <> d.run_ms" },
	{ "jobs that have ended and count for no day",
	  "SELECT count(*) FROM jobs WHERE state <> 'running' AND end_ns >= 0 AND number "
	  "NOT IN"
	  " (SELECT job FROM day_jobs)" },
	{ "files of no job",
	  "SELECT count(*) FROM files WHERE job NOT IN (SELECT number FROM jobs)" },
	{ "logs of no job",
	  "SELECT count(*) FROM logs WHERE job NOT IN (SELECT number FROM jobs)" },
};
static int check_strays(struct verify *v, struct rama_err *e)
{
	int rc = 0;

	snprintf(v->key, sizeof(v->key), "(none)");
	for (size_t i = 0; rc >= 0 && i < sizeof(strays) / sizeof(strays[0]); i++) {
		int64_t n = 0;

		rc = rama_store_ints(v->s, strays[i].sql, NULL, 0, &n, 1, e);
		if (rc >= 0 && n > 0)
			tell(v, "%lld %s", (long long)n, strays[i].what);
	}
	return rc < 0 ? rc : 0;
}

static int check_jobs(struct verify *v, struct rama_err *e)
{
	static const char list[] = "SELECT number FROM jobs ORDER BY number";
	static const char key[] = "SELECT key FROM jobs WHERE number = $1";
	struct rama_store_list l = { 0 };
	int rc = rama_store_list(v->s, list, NULL, 0, &l, e);

	for (size_t i = 0; rc == 0 && i < l.n; i++) {
		v->job = l.number[i];
		rc = rama_store_rows(v->s, key, ARGS(I(v->job)), take_key, v->key, e);
		if (rc == 0)
			rc = check_job(v, e);
	}
	free(l.number);
	return rc;
}

int64_t rama_store_verify(struct rama_store *s, void (*flaw)(void *ctx, const char *line),
			  void *ctx, struct rama_err *e)
{
	struct verify v = { .s = s, .flaw = flaw, .ctx = ctx };
	int64_t damage = rama_store_blocks_sql.check(&s->near, flaw, ctx, e), more = 0;
	int rc;

	if (damage >= 0 && s->far.place.ops != NULL)
		more = s->far.place.ops->check(s->far.place.h, flaw, ctx, e);
	rc = damage < 0 ? (int)damage : more < 0 ? (int)more : 0;
	if (rc == 0)
		rc = s->ops->begin(s->db, e); /* all as of one moment */
	if (rc < 0)
		return rc;
	v.flaws = damage + more;
	rc = check_jobs(&v, e);
	if (rc == 0)
		rc = check_strays(&v, e);
	s->ops->rollback(s->db);
	rama_map_fini(&v.sum);
	rama_map_fini(&v.records);
	free(v.expect);
	return rc < 0 ? rc : v.flaws;
}
