/* SPDX-License-Identifier: BSD-3-Clause */
/* what is said to ClickHouse and what it answers, without a server: URLs, rows, months, quotes */
#include "unit.h"

#include "store/clickhouse/clickhouse.h"

#define SECOND 1000000000ll

static void servers(void **state)
{
	struct rama_store_ch_url u;
	struct rama_err e = { 0 };

	(void)state;
	assert_int_equal(rama_store_ch_url_parse(&u, "clickhouse://a,b:9000,c/iorama", &e), 0);
	assert_int_equal(u.n_hosts, 3);
	assert_int_equal(u.n_shards, 1);
	assert_int_equal(u.host[0].port, 8123);
	assert_int_equal(u.host[1].port, 9000);
	assert_int_equal(rama_store_ch_copies(&u, 0), 3);
	assert_string_equal(u.database, "iorama");
	assert_string_equal(u.user, "");
	assert_false(u.tls);
	assert_int_equal(rama_store_ch_url_parse(&u, "clickhouses://me@a-1.x,b;c.y,d,e/db_2", &e),
			 0);
	assert_int_equal(u.n_shards, 2);
	assert_int_equal(rama_store_ch_copies(&u, 0), 2);
	assert_int_equal(rama_store_ch_copies(&u, 1), 3);
	assert_int_equal(u.host[2].shard, 1);
	assert_int_equal(u.host[0].port, 8443);
	assert_string_equal(u.user, "me");
	assert_true(u.tls);
}

static void no_servers(void **state)
{
	static const char *const wrong[] = {
		"",
		"clickhouse:",
		"http://a/x",
		"clickhouse://a",
		"clickhouse://a/",
		"clickhouse:///x",
		"clickhouse://a/x y",
		"clickhouse://a/x/y",
		"clickhouse://a/x?z=1",
		"clickhouse://a,/x",
		"clickhouse://,a/x",
		"clickhouse://a;;b/x",
		"clickhouse://a;a/x",
		"clickhouse://a:/x",
		"clickhouse://a:0/x",
		"clickhouse://a:65536/x",
		"clickhouse://a:8123x/x",
		"clickhouse://a:123456/x",
		"clickhouse://@a/x",
		"clickhouse://u:p@a/x",
		"clickhouse://u'@a/x",
		"clickhouse://a`b/x",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(wrong); i++) {
		struct rama_store_ch_url u;
		struct rama_err e = { 0 };

		if (rama_store_ch_url_parse(&u, wrong[i], &e) != RAMA_EUSAGE)
			fail_msg("%s", wrong[i]);
		assert_non_null(strstr(e.text, "--events"));
	}
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct rama_store_kept block(const unsigned char *body, size_t len)
{
	struct rama_store_kept k = { .key = "1000/run-1",
				     .rank = -1,
				     .t0 = 1700000000 * SECOND,
				     .t1 = 1700000003 * SECOND,
				     .first = 77,
				     .lost = 5,
				     .lane = 3,
				     .tid = 4711,
				     .n = 8192,
				     .body = body,
				     .len = len };

	for (unsigned i = 0; i < sizeof(k.segment.b); i++)
		k.segment.b[i] = (uint8_t)(200 + i);
	return k;
}

static int same(void *ctx, const struct rama_store_kept *k, struct rama_err *e)
{
	const struct rama_store_kept *want = ctx;

	(void)e;
	assert_string_equal(k->key, want->key);
	assert_memory_equal(&k->segment, &want->segment, sizeof(k->segment));
	assert_int_equal(k->rank, want->rank);
	assert_int_equal(k->t0, want->t0);
	assert_int_equal(k->t1, want->t1);
	assert_int_equal(k->first, want->first);
	assert_int_equal(k->lost, want->lost);
	assert_int_equal(k->lane, want->lane);
	assert_int_equal(k->tid, want->tid);
	assert_int_equal(k->n, want->n);
	assert_int_equal(k->len, want->len);
	assert_memory_equal(k->body, want->body, want->len);
	return 1;
}

#define TAIL 12 /* month and time of putting, which nobody asks for */

static void rows(void **state)
{
	static unsigned char body[20000];
	static const size_t lens[] = { 1, 127, 128, 16383, 16384, sizeof(body) };

	(void)state;
	memset(body, 'x', sizeof(body));
	for (size_t i = 0; i < LENGTH(lens); i++) {
		struct rama_store_kept k = block(body, lens[i]);
		struct rama_err e = { 0 };
		struct rama_out o;

		rama_out_init(&o, NULL, NULL);
		rama_store_ch_put_block(&o, &k, 202311, 7);
		assert_int_equal(rama_store_ch_rows((unsigned char *)o.buf, o.used - TAIL, true,
						    same, &k, &e),
				 1);
		/* cut anywhere it is none */
		for (size_t n = 1; n < o.used - TAIL; n += n < 120 ? 1 : 997)
			assert_int_equal(rama_store_ch_rows((unsigned char *)o.buf, n, true, same,
							    &k, &e),
					 RAMA_ECORRUPT);
		rama_out_fini(&o);
	}
}

static int never(void *ctx, const struct rama_store_kept *k, struct rama_err *e)
{
	(void)ctx, (void)k, (void)e;
	fail();
	return 0;
}

/* what no block of ours says */
static void lies(void **state)
{
	const unsigned char body[] = "x";

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct rama_store_kept k = block(body, 1);
		struct rama_err e = { 0 };
		struct rama_out o;

		k.n = i == 0 ? 0 : i == 1 ? RAMA_WIRE_BLOCK_EVENTS + 1 : k.n;
		k.t1 = i == 2 ? k.t0 - 1 : k.t1;
		k.first = i == 3 ? (uint64_t)INT64_MAX : k.first;
		rama_out_init(&o, NULL, NULL);
		if (i == 4) /* a key that is too long */
			rama_out_text(&o, "\xff\xff\xff\xff\x0f");
		rama_store_ch_put_block(&o, &k, 0, 0);
		assert_int_equal(rama_store_ch_rows((unsigned char *)o.buf, o.used - TAIL, true,
						    never, NULL, &e),
				 RAMA_ECORRUPT);
		assert_non_null(strstr(e.text, "damaged at byte 0"));
		rama_out_fini(&o);
	}
}

static void seconds(void **state)
{
	const struct rama_store_second s[] = {
		{ "POSIX", "read", 1700000000, 3, 1, 4096, 12345, 9999 },
		{ "STDIO", "meta", 1700000001, 1, 0, 0, 5, 5 },
	};
	struct rama_store_kept k = block((const unsigned char *)"", 0);
	struct rama_out o;
	int64_t v;

	(void)state;
	k.second = s;
	k.n_seconds = 2;
	rama_out_init(&o, NULL, NULL);
	rama_store_ch_put_seconds(&o, &k, 202311, 7);
	/* key, rank, segment, lane, first, n, second, two words, five numbers, month, put */
	assert_int_equal(o.used, 2 * (11 + 8 + 16 + 4 + 8 + 4 + 8 + 6 + 5 + 5 * 8 + 4 + 8));
	memcpy(&v, o.buf + 11 + 8 + 16 + 4 + 8 + 4, sizeof(v));
	assert_int_equal(v, 1700000000);
	rama_out_fini(&o);
}

/* ---- months, statements ---------------------------------------------------------------------- */

static void months(void **state)
{
	const int64_t now = 1795046400 * SECOND; /* 2026-11-19 */

	(void)state;
	assert_int_equal(rama_store_ch_month(now, now), 202611);
	assert_int_equal(rama_store_ch_month(rama_store_ch_month_begin(202612) - 1, now), 202611);
	assert_int_equal(rama_store_ch_month(rama_store_ch_month_begin(202612), now), 202612);
	assert_int_equal(rama_store_ch_month_end(202612), rama_store_ch_month_begin(202701));
	assert_int_equal(rama_store_ch_month_end(202602) - rama_store_ch_month_begin(202602),
			 28 * 86400 * SECOND);
	/* of what a clock cannot mean there may be no partitions: a server has only so many */
	assert_int_equal(rama_store_ch_month(0, now), 0);
	assert_int_equal(rama_store_ch_month(-1, now), 0);
	assert_int_equal(rama_store_ch_month(INT64_MIN, now), 0);
	assert_int_equal(rama_store_ch_month(INT64_MAX, now), 0);
	assert_int_equal(rama_store_ch_month(now - 4 * 366 * 86400 * SECOND, now), 0);
	assert_int_not_equal(rama_store_ch_month(now - 2 * 366 * 86400 * SECOND, now), 0);
}

static void quotes(void **state)
{
	struct rama_out o;

	(void)state;
	rama_out_init(&o, NULL, NULL);
	rama_store_ch_quote(&o, "it's \\ not') OR (1");
	rama_out_char(&o, '\0');
	assert_string_equal(o.buf, "'it\\'s \\\\ not\\') OR (1'");
	rama_out_fini(&o);
}

UNIT_GROUP(clickhouse, test(servers), test(no_servers), test(rows), test(lies), test(seconds),
	   test(months), test(quotes))
