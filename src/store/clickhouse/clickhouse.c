/* SPDX-License-Identifier: BSD-3-Clause */
/* clickhouse.c: blocks in ClickHouse. A row is a block as it came, packed, with its head in columns
 * by which it is found; what is there twice is the same, and merged by the server some day. A
 * second table has sums per second of each block, for dashboards: nothing here reads it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "store/clickhouse/clickhouse.h"

/* rows of an index mark: bodies are large, and each mark is read whole */
#define GRANULARITY 32

#define READ_MS 60000
#define WRITE_MS 30000
#define AGAIN_MS 30000	     /* for servers to agree who leads them */
#define QUORUM_MS 10000	     /* for the second copy */
#define ASIDE 600000000000ll /* ns: months that somebody wrote to so lately stay */
#define DELETE_AT_ONCE 1000  /* jobs of one mutation, */
#define DELETIONS 10	     /* and how many there are in one go: each rewrites much */

struct clickhouse {
	struct rama_store_ch_url url;
	struct rama_store_ch_http *http;
	int version; /* of the servers: the year; 0: not asked yet */
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* the statement is in o; it is freed here */
static int ask(struct clickhouse *c, unsigned shard, struct rama_out *o, const char *settings,
	       int patience_ms, struct rama_err *e)
{
	struct rama_store_ch_question q = { .settings = settings,
					    .patience_ms = patience_ms,
					    .again_ms = AGAIN_MS };
	int rc;

	rama_out_char(o, '\0');
	q.sql = o->buf;
	rc = o->error != 0 ? rama_err_no_memory(e) : rama_store_ch_ask(c->http, shard, &q, e);
	rama_out_fini(o);
	return rc;
}

static int take_version(void *ctx, const int64_t *v)
{
	*(int *)ctx = (int)v[0];
	return 1;
}

/* Until 20 quorums are one after the other, and readers can ask for all that had one; since then
 * they are beside each other, and readers cannot. */
static int find_version(struct clickhouse *c, unsigned shard, struct rama_err *e)
{
	struct rama_store_ch_question q = {
		.sql = "SELECT toInt64(splitByChar('.', version())[1]) FORMAT RowBinary",
		.settings = "",
		.patience_ms = READ_MS,
		.again_ms = AGAIN_MS
	};
	const unsigned char *bytes;
	size_t n;
	int rc;

	if (c->version != 0)
		return 0;
	rc = rama_store_ch_ask(c->http, shard, &q, e);
	bytes = rama_store_ch_answer(c->http, &n);
	return rc == 0 ? rama_store_ch_ints(bytes, n, 1, take_version, &c->version, e) < 0 : rc;
}

static bool is_old(const struct clickhouse *c)
{
	return c->version != 0 && c->version < 21;
}

/* ---- put ------------------------------------------------------------------------------------- */

static unsigned shard_of(const struct clickhouse *c, const struct rama_wire_segment_key *k)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < sizeof(k->b); i++)
		h = (h ^ k->b[i]) * 16777619u;
	return h % c->url.n_shards;
}

/* A row has two copies when this returns, where there are several servers. Of an INSERT that
 * comes again after an error all rows may be there twice: that is no harm, and an old server says
 * of one that it knows already "done" before it has its copies. */
static int insert(struct clickhouse *c, unsigned shard, const char *table, const char *names,
		  const struct rama_out *rows, struct rama_err *e)
{
	struct rama_store_ch_question q = {
		.data = rows->buf, .n = rows->used, .settings = "", .patience_ms = WRITE_MS
	};
	char sql[512], settings[120];

	snprintf(sql, sizeof(sql), "INSERT INTO %s.%s (%s, month, put) FORMAT RowBinary",
		 c->url.database, table, names);
	snprintf(settings, sizeof(settings),
		 "&insert_deduplicate=0&insert_quorum=2&insert_quorum_timeout=%d", QUORUM_MS);
	q.sql = sql;
	if (rama_store_ch_copies(&c->url, shard) > 1)
		q.settings = settings;
	return rama_store_ch_ask(c->http, shard, &q, e);
}

static int put_shard(struct clickhouse *c, unsigned shard, const struct rama_store_kept *k,
		     size_t n, struct rama_err *e)
{
	struct rama_out blocks, seconds;
	int64_t now = now_ns();
	size_t rows = 0;
	int rc = 0;

	rama_out_init(&blocks, NULL, NULL);
	rama_out_init(&seconds, NULL, NULL);
	for (; n > 0; n--, k++) {
		uint32_t month = rama_store_ch_month(k->t0, now);

		if (shard_of(c, &k->segment) != shard)
			continue;
		rama_store_ch_put_block(&blocks, k, month, now);
		rama_store_ch_put_seconds(&seconds, k, month, now);
		rows++;
	}
	if (blocks.error != 0 || seconds.error != 0)
		rc = rama_err_no_memory(e);
	if (rc == 0 && rows > 0)
		rc = insert(c, shard, "iorama_blocks", rama_store_ch_block_names, &blocks, e);
	if (rc == 0 && seconds.used > 0)
		rc = insert(c, shard, "iorama_seconds", rama_store_ch_second_names, &seconds, e);
	rama_out_fini(&blocks);
	rama_out_fini(&seconds);
	return rc;
}

static int put(void *h, const struct rama_store_kept *k, size_t n, struct rama_err *e)
{
	struct clickhouse *c = h;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && n > 0 && i < c->url.n_shards; i++)
		rc = put_shard(c, i, k, n, e);
	return rc;
}

/* ---- walk ------------------------------------------------------------------------------------ */

static void put_segment(struct rama_out *o, const struct rama_wire_segment_key *k)
{
	rama_out_text(o, "toFixedString(unhex('");
	for (size_t i = 0; i < sizeof(k->b); i++)
		rama_out_fmt(o, "%02X", k->b[i]);
	rama_out_text(o, "'), 16)");
}

static void put_number(struct rama_out *o, int64_t v)
{
	/* the least one is no number that can be written */
	if (v == INT64_MIN)
		rama_out_text(o, "(-9223372036854775807 - 1)");
	else
		rama_out_i64(o, v);
}

static void where_lies(struct rama_out *o, const struct rama_store_ask *a)
{
	rama_out_char(o, '(');
	for (unsigned i = 0; i < a->n_lies; i++) {
		const struct rama_store_lie *l = &a->lie[i];

		rama_out_text(o, i > 0 ? " OR (job = " : "(job = ");
		rama_store_ch_quote(o, l->key);
		if (l->rank != RAMA_STORE_RANK_ANY)
			rama_out_fmt(o, " AND rank = %lld", (long long)l->rank);
		if (l->of_one) {
			rama_out_text(o, " AND segment = ");
			put_segment(o, &l->segment);
		}
		rama_out_char(o, ')');
	}
	rama_out_text(o, a->n_lies > 0 ? ")" : "1)");
}

/* what stands behind `after` in the order of the question */
static void where_after(struct rama_out *o, const struct rama_store_ask *a)
{
	const struct rama_store_kept *k = a->after;

	if (k == NULL)
		return;
	if (a->process != 0) {
		rama_out_fmt(o, " AND (lane, first, n) > (%u, %llu, %u)", k->lane,
			     (unsigned long long)k->first, k->n);
		return;
	}
	rama_out_text(o, " AND (t0 > ");
	put_number(o, k->t0);
	rama_out_text(o, " OR (t0 = ");
	put_number(o, k->t0);
	rama_out_text(o, " AND (segment, lane, first, n) > (");
	put_segment(o, &k->segment);
	rama_out_fmt(o, ", %u, %llu, %u)))", k->lane, (unsigned long long)k->first, k->n);
}

static void select_heads(struct rama_out *o, const struct clickhouse *c,
			 const struct rama_store_ask *a)
{
	const struct rama_store_kept *k = a->after;

	rama_out_fmt(o, "SELECT DISTINCT %s FROM %s.iorama_blocks PREWHERE ",
		     rama_store_ch_head_names, c->url.database);
	where_lies(o, a);
	if (a->process == 0) {
		rama_out_text(o, " AND t0 >= ");
		put_number(o, k != NULL ? k->t0 : a->from);
		rama_out_text(o, " AND t0 < ");
		put_number(o, a->to);
	}
	where_after(o, a);
	rama_out_fmt(o, " ORDER BY %s LIMIT %u FORMAT RowBinary",
		     a->process != 0 ? "lane, first, n" : "t0, segment, lane, first, n", a->limit);
}

static void select_blocks(struct rama_out *o, const struct clickhouse *c,
			  const struct rama_store_ask *a)
{
	bool any = false;

	rama_out_fmt(o, "SELECT %s FROM %s.iorama_blocks PREWHERE ", rama_store_ch_block_names,
		     c->url.database);
	for (unsigned i = 0; i < a->n_only; i++) {
		const struct rama_store_kept *k = &a->only[i];

		rama_out_text(o, any ? " OR (job = " : "(job = ");
		rama_store_ch_quote(o, k->key);
		rama_out_text(o, " AND rank = ");
		put_number(o, k->put_rank);
		rama_out_text(o, " AND t0 = ");
		put_number(o, k->t0);
		rama_out_text(o, " AND segment = ");
		put_segment(o, &k->segment);
		rama_out_fmt(o, " AND lane = %u AND first = %llu AND n = %u)", k->lane,
			     (unsigned long long)k->first, k->n);
		any = true;
	}
	rama_out_text(o, any ? "" : "0");
	rama_out_fmt(o, " LIMIT 1 BY job, rank, t0, segment, lane, first, n FORMAT RowBinary");
}

static const char *read_settings(const struct clickhouse *c, unsigned shard)
{
	return is_old(c) && rama_store_ch_copies(&c->url, shard) > 1
		       ? "&max_query_size=1048576&select_sequential_consistency=1"
		       : "&max_query_size=1048576";
}

/* heads of all shards, in order */
struct heads {
	struct rama_store_kept *k;
	size_t n, room;
};

static int add_head(void *ctx, const struct rama_store_kept *k, struct rama_err *e)
{
	struct heads *h = ctx;

	if (!RAMA_GROW(h->k, h->room, h->n + 1))
		return rama_err_no_memory(e);
	h->k[h->n++] = *k;
	return 0;
}

#define BY(a, b)        \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

static int by_place(const struct rama_store_kept *a, const struct rama_store_kept *b)
{
	BY(a->lane, b->lane);
	BY(a->first, b->first);
	BY(a->n, b->n);
	return 0;
}

static int by_lane(const void *x, const void *y)
{
	return by_place(x, y);
}

static int by_time(const void *x, const void *y)
{
	const struct rama_store_kept *a = x, *b = y;
	int order = memcmp(&a->segment, &b->segment, sizeof(a->segment));

	BY(a->t0, b->t0);
	return order != 0 ? order : by_place(a, b);
}

static int read_heads(struct clickhouse *c, unsigned shard, const struct rama_store_ask *a,
		      struct heads *h, struct rama_err *e)
{
	const unsigned char *bytes;
	struct rama_out o;
	size_t n;
	int rc = find_version(c, shard, e);

	if (rc != 0)
		return rc;
	rama_out_init(&o, NULL, NULL);
	select_heads(&o, c, a);
	rc = ask(c, shard, &o, read_settings(c, shard), READ_MS, e);
	bytes = rama_store_ch_answer(c->http, &n);
	return rc == 0 ? rama_store_ch_rows(bytes, n, false, add_head, h, e) : rc;
}

static int walk_heads(struct clickhouse *c, const struct rama_store_ask *a, rama_store_kept_fn fn,
		      void *ctx, struct rama_err *e)
{
	struct heads h = { 0 };
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < c->url.n_shards; i++)
		rc = read_heads(c, i, a, &h, e);
	if (c->url.n_shards > 1 && h.n > 1)
		qsort(h.k, h.n, sizeof(*h.k), a->process != 0 ? by_lane : by_time);
	for (size_t i = 0; rc == 0 && i < h.n && i < a->limit; i++)
		rc = fn(ctx, &h.k[i], e);
	free(h.k);
	return rc < 0 ? rc : 0;
}

static int walk(void *h, const struct rama_store_ask *a, rama_store_kept_fn fn, void *ctx,
		struct rama_err *e)
{
	struct clickhouse *c = h;
	int rc = 0;

	if (a->n_only == 0)
		return walk_heads(c, a, fn, ctx, e);
	for (unsigned i = 0; rc == 0 && i < c->url.n_shards; i++) {
		const unsigned char *bytes;
		struct rama_out o;
		size_t n;

		rama_out_init(&o, NULL, NULL);
		select_blocks(&o, c, a);
		rc = ask(c, i, &o, read_settings(c, i), READ_MS, e);
		bytes = rama_store_ch_answer(c->http, &n);
		if (rc == 0)
			rc = rama_store_ch_rows(bytes, n, true, fn, ctx, e);
	}
	return rc < 0 ? rc : 0;
}

/* ---- remove ---------------------------------------------------------------------------------- */

static const char *const tables[] = { "iorama_blocks", "iorama_seconds" };

struct months {
	uint32_t old[1200]; /* that go */
	unsigned n;
	uint32_t stays; /* the first that does, 0: none */
	bool odd;	/* there are blocks of no month */
	int64_t since, quiet;
};

/* month, when it was written to last */
static int take_month(void *ctx, const int64_t *v)
{
	struct months *m = ctx;
	uint32_t month = (uint32_t)v[0];

	m->odd = m->odd || month == 0;
	if (month < 197001 || month > 240012 || month % 100 == 0 || month % 100 > 12)
		return 0;
	if (rama_store_ch_month_end(month) <= m->since && v[1] < m->quiet &&
	    m->n < sizeof(m->old) / sizeof(m->old[0]))
		m->old[m->n++] = month;
	else if (m->stays == 0 || month < m->stays)
		m->stays = month;
	return 0;
}

static int find_months(struct clickhouse *c, unsigned shard, struct months *m, struct rama_err *e)
{
	const unsigned char *bytes;
	struct rama_out o;
	size_t n;
	int rc;

	m->n = 0;
	rama_out_init(&o, NULL, NULL);
	rama_out_fmt(&o,
		     "SELECT toInt64(month), max(put) FROM %s.iorama_blocks GROUP BY month FORMAT"
		     " RowBinary",
		     c->url.database);
	rc = ask(c, shard, &o, "", READ_MS, e);
	bytes = rama_store_ch_answer(c->http, &n);
	return rc == 0 ? rama_store_ch_ints(bytes, n, 2, take_month, m, e) : rc;
}

static int drop_months(struct clickhouse *c, unsigned shard, const struct months *m,
		       struct rama_err *e)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < m->n; i++)
		for (unsigned t = 0; rc == 0 && t < 2; t++) {
			struct rama_out o;

			rama_out_init(&o, NULL, NULL);
			rama_out_fmt(&o, "ALTER TABLE %s.%s DROP PARTITION %u", c->url.database,
				     tables[t], m->old[i]);
			rc = ask(c, shard, &o, "", READ_MS, e);
		}
	return rc;
}

/* of these jobs what was put before they were removed */
static int delete_jobs(struct clickhouse *c, struct rama_store_gone *const *gone, size_t n,
		       struct rama_err *e)
{
	int64_t at = gone[0]->at;
	int rc = 0;

	for (size_t i = 1; i < n; i++)
		at = gone[i]->at < at ? gone[i]->at : at;
	for (unsigned shard = 0; rc == 0 && shard < c->url.n_shards; shard++)
		for (unsigned t = 0; rc == 0 && t < 2; t++) {
			struct rama_out o;

			rama_out_init(&o, NULL, NULL);
			rama_out_fmt(&o, "ALTER TABLE %s.%s DELETE WHERE put < %lld AND job IN (",
				     c->url.database, tables[t], (long long)at);
			for (size_t i = 0; i < n; i++) {
				rama_out_text(&o, i > 0 ? ", " : "");
				rama_store_ch_quote(&o, gone[i]->key);
			}
			rama_out_char(&o, ')');
			rc = ask(c, shard, &o, "&max_query_size=1048576", READ_MS, e);
		}
	for (size_t i = 0; rc == 0 && i < n; i++)
		gone[i]->done = true;
	return rc;
}

/* Whole months first, which costs nothing; what is left of jobs in months that stay is rewritten,
 * so much of it at a time. */
static int remove_jobs(void *h, struct rama_store_gone *gone, size_t n, int64_t since,
		       struct rama_err *e)
{
	struct months m = { .since = since, .quiet = now_ns() - ASIDE };
	struct rama_store_gone *some[DELETE_AT_ONCE];
	struct clickhouse *c = h;
	size_t n_some = 0;
	unsigned deletions = 0;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < c->url.n_shards; i++) {
		rc = find_months(c, i, &m, e);
		if (rc == 0)
			rc = drop_months(c, i, &m, e);
	}
	for (size_t i = 0; rc == 0 && i < n && deletions < DELETIONS; i++) {
		if (!m.odd && (m.stays == 0 || gone[i].end < rama_store_ch_month_begin(m.stays))) {
			gone[i].done = true;
			continue;
		}
		some[n_some++] = &gone[i];
		if (n_some < DELETE_AT_ONCE)
			continue;
		rc = delete_jobs(c, some, n_some, e);
		n_some = 0;
		deletions++;
	}
	return rc == 0 && n_some > 0 ? delete_jobs(c, some, n_some, e) : rc;
}

/* ---- count, check ---------------------------------------------------------------------------- */

static int add_counts(void *ctx, const int64_t *v)
{
	struct rama_store_block_counts *c = ctx;

	c->blocks += v[0];
	c->events += v[1];
	return 1;
}

static int add_bytes(void *ctx, const int64_t *v)
{
	struct rama_store_block_counts *c = ctx;

	c->bytes += v[0];
	return 1;
}

static int count(void *h, struct rama_store_block_counts *to, struct rama_err *e)
{
	static const char *const sql[] = {
		"SELECT toInt64(count()), toInt64(sum(n)) FROM %s.iorama_blocks FORMAT RowBinary",
		"SELECT toInt64(sum(bytes)) FROM system.parts WHERE active AND database = '%s' AND"
		" table IN ('iorama_blocks', 'iorama_seconds') FORMAT RowBinary",
	};
	struct clickhouse *c = h;
	int rc = 0;

	*to = (struct rama_store_block_counts){ 0 };
	for (unsigned i = 0; rc == 0 && i < 2 * c->url.n_shards; i++) {
		const unsigned char *bytes;
		struct rama_out o;
		size_t n;

		rama_out_init(&o, NULL, NULL);
		rama_out_fmt(&o, i % 2 == 0 ? sql[0] : sql[1], c->url.database);
		rc = ask(c, i / 2, &o, "", READ_MS, e);
		bytes = rama_store_ch_answer(c->http, &n);
		if (rc == 0)
			rc = rama_store_ch_ints(bytes, n, i % 2 == 0 ? 2 : 1,
						i % 2 == 0 ? add_counts : add_bytes, to, e);
		rc = rc > 0 ? 0 : rc;
	}
	return rc;
}

static int take_one(void *ctx, const int64_t *v)
{
	*(int64_t *)ctx = v[0];
	return 1;
}

/* Tables of servers that are to have copies of each other do so. */
static int64_t check(void *h, void (*flaw)(void *ctx, const char *line), void *ctx,
		     struct rama_err *e)
{
	struct clickhouse *c = h;
	int64_t flaws = 0, copied;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < c->url.n_shards; i++) {
		const unsigned char *bytes;
		struct rama_out o;
		char line[160];
		size_t n;

		if (rama_store_ch_copies(&c->url, i) < 2)
			continue;
		copied = 0;
		rama_out_init(&o, NULL, NULL);
		rama_out_fmt(&o,
			     "SELECT toInt64(count()) FROM system.tables WHERE database = '%s' AND"
			     " name IN ('iorama_blocks', 'iorama_seconds') AND engine ="
			     " 'ReplicatedReplacingMergeTree' FORMAT RowBinary",
			     c->url.database);
		rc = ask(c, i, &o, "", READ_MS, e);
		bytes = rama_store_ch_answer(c->http, &n);
		if (rc == 0)
			rc = rama_store_ch_ints(bytes, n, 1, take_one, &copied, e);
		if (rc < 0 || copied == 2)
			continue;
		snprintf(line, sizeof(line),
			 "clickhouse: blocks of shard %u are on one server only: its tables are not"
			 " replicated",
			 i + 1);
		flaw(ctx, line);
		flaws++;
		rc = 0;
	}
	return rc < 0 ? rc : flaws;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void put_engine(struct rama_out *o, const struct clickhouse *c, unsigned host,
		       const char *table)
{
	const struct rama_store_ch_host *at = &c->url.host[host];

	if (rama_store_ch_copies(&c->url, at->shard) < 2) {
		rama_out_text(o, "ReplacingMergeTree(put)");
		return;
	}
	rama_out_fmt(o, "ReplicatedReplacingMergeTree('/iorama/%s/%u/%s', '%s_%u', put)",
		     c->url.database, at->shard + 1u, table, at->name, at->port);
}

static int make_at(struct clickhouse *c, unsigned host, struct rama_err *e)
{
	static const char *const columns[2][2] = {
		{ "job String, rank Int64, t0 Int64, segment FixedString(16), lane UInt32, first"
		  " UInt64, n UInt32, t1 Int64, tid UInt32, lost UInt64, body String",
		  "job, rank, t0, segment, lane, first, n" },
		{ "job String, rank Int64, segment FixedString(16), lane UInt32, first UInt64, n"
		  " UInt32, second Int64, layer String, kind String, ops UInt64, failed UInt64,"
		  " bytes UInt64, ns UInt64, longest UInt64",
		  "job, rank, second, segment, lane, first, n, layer, kind" }
	};
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < 3; i++) {
		struct rama_store_ch_question q = { .settings = "", .patience_ms = WRITE_MS };
		unsigned t = i > 0 ? i - 1 : 0;
		struct rama_out o;

		rama_out_init(&o, NULL, NULL);
		if (i == 0) {
			rama_out_fmt(&o, "CREATE DATABASE IF NOT EXISTS %s", c->url.database);
		} else {
			rama_out_fmt(&o,
				     "CREATE TABLE IF NOT EXISTS %s.%s (%s, month UInt32, put"
				     " Int64) ENGINE = ",
				     c->url.database, tables[t], columns[t][0]);
			put_engine(&o, c, host, tables[t]);
			rama_out_fmt(&o, " PARTITION BY month ORDER BY (%s)", columns[t][1]);
			if (t == 0)
				rama_out_fmt(&o, " SETTINGS index_granularity = %d", GRANULARITY);
		}
		rama_out_char(&o, '\0');
		q.sql = o.buf;
		rc = o.error != 0 ? rama_err_no_memory(e)
				  : rama_store_ch_ask_host(c->http, host, &q, e);
		rama_out_fini(&o);
	}
	return rc;
}

int rama_store_clickhouse_make(void *h, struct rama_err *e)
{
	struct clickhouse *c = h;
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < c->url.n_hosts; i++)
		rc = make_at(c, i, e);
	return rc;
}

/* ---- open, close ----------------------------------------------------------------------------- */

static void close_it(void *h)
{
	struct clickhouse *c = h;

	if (c != NULL)
		rama_store_ch_http_close(c->http);
	free(c);
}

int rama_store_clickhouse_open(void **to, const char *url, struct rama_err *e)
{
	struct clickhouse *c = calloc(1, sizeof(*c));
	int rc = c != NULL ? rama_store_ch_url_parse(&c->url, url, e) : rama_err_no_memory(e);

	if (rc == 0)
		rc = rama_store_ch_http_open(&c->http, &c->url, e);
	if (rc != 0) {
		close_it(c);
		return rc;
	}
	*to = c;
	return 0;
}

const struct rama_store_block_ops rama_store_blocks_clickhouse = { .name = "clickhouse",
								   .put = put,
								   .walk = walk,
								   .remove = remove_jobs,
								   .count = count,
								   .check = check,
								   .close = close_it };
