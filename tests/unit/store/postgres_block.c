/* SPDX-License-Identifier: BSD-3-Clause */
/* postgres_block.c: blocks as rows of PostgreSQL: what went in comes out, by our own reader and
 * by SQL alone. Needs IORAMA_TEST_POSTGRES, as postgres.c does. */
#include "unit.h"

#include "store/postgres/postgres.h"

static const struct rama_store_db_ops *const pg = &rama_store_db_postgres;
static struct rama_wire_block in, out;
static struct rama_err e;

static void *store_at(const char *name)
{
	const char *where = getenv("IORAMA_TEST_POSTGRES");
	struct rama_store *s;
	void *db;
	char url[600], sql[200];

	if (where == NULL)
		skip();
	snprintf(url, sizeof(url), "%s?options=-csearch_path%%3Dunit_%s", where, name);
	assert_int_equal(pg->open(&db, where, RAMA_STORE_WRITE, &e), 0);
	snprintf(sql, sizeof(sql), "DROP SCHEMA IF EXISTS unit_%s CASCADE", name);
	assert_int_equal(pg->script(db, sql, &e), 0);
	pg->close(db);
	/* the schema is made with the tables */
	if (rama_store_open(&s, url, RAMA_STORE_WRITE | RAMA_STORE_CREATE, &e) != 0)
		fail_msg("%s", e.text);
	rama_store_close(s);
	assert_int_equal(pg->open(&db, url, RAMA_STORE_WRITE, &e), 0);
	return db;
}

static void begin(uint32_t n, uint32_t calls)
{
	memset(&in, 0, sizeof(in));
	in.n = n;
	in.n_whats = calls;
	in.lane = 3;
	in.tid = 4711;
	in.first = 1000;
	in.lost = 5;
	for (uint32_t i = 0; i < calls; i++) {
		snprintf(in.what[i].layer, sizeof(in.what[i].layer), i % 2 ? "POSIX" : "MPI-IO");
		snprintf(in.what[i].op, sizeof(in.what[i].op), i % 3 ? "read" : "write");
		snprintf(in.what[i].fn, sizeof(in.what[i].fn), "function_%u", i);
	}
}

static void set_times(void)
{
	in.t0 = INT64_MAX, in.t1 = INT64_MIN;
	for (uint32_t i = 0; i < in.n; i++) {
		in.t0 = in.event[i].end < in.t0 ? in.event[i].end : in.t0;
		in.t1 = in.event[i].end > in.t1 ? in.event[i].end : in.t1;
	}
}

static int take_block(void *ctx, const struct rama_store_row *row, struct rama_err *err)
{
	assert_int_equal(pg->get_block(ctx, row->cell, row->n, &out, NULL, err), 0);
	return 0;
}

static int take_number(void *ctx, const struct rama_store_row *row, struct rama_err *err)
{
	(void)err;
	*(struct rama_store_cell *)ctx = row->cell[0];
	return 0;
}

static void put(void *db, int64_t process)
{
	set_times();
	if (pg->put_block(db, 1, process, 2, &in, NULL, 0, NULL, &e) != 0)
		fail_msg("%s", e.text);
}

static void get(void *db, int64_t process)
{
	struct rama_store_cell number = { 0 }, arg = { .type = RAMA_STORE_CELL_INT, .i = process };

	assert_int_equal(pg->run(db, "SELECT number FROM blocks WHERE process = $1",
				 RAMA_STORE_DB_ONCE, &arg, 1, take_number, &number, NULL, &e),
			 0);
	memset(&out, 0x55, sizeof(out));
	if (pg->run(db, pg->block_sql, RAMA_STORE_DB_KEPT, &number, 1, take_block, db, NULL, &e) !=
	    0)
		fail_msg("%s", e.text);
}

static void assert_same(void)
{
	assert_int_equal(in.n, out.n);
	assert_true(in.t0 == out.t0 && in.t1 == out.t1);
	for (uint32_t i = 0; i < in.n; i++) {
		const struct rama_wire_event *a = &in.event[i], *b = &out.event[i];

		if (a->end != b->end || a->dur != b->dur || a->off != b->off ||
		    a->bytes != b->bytes || a->record != b->record || a->call != b->call ||
		    a->parent != b->parent || a->failed != b->failed ||
		    strcmp(in.what[a->what].fn, out.what[b->what].fn) != 0 ||
		    strcmp(in.what[a->what].op, out.what[b->what].op) != 0 ||
		    strcmp(in.what[a->what].layer, out.what[b->what].layer) != 0)
			fail_msg("event %u of %u differs", i, in.n);
	}
}

/* ---- what goes in: kind 0 plain, 1 mixed, 2 anything at all ---------------------------------- */

static int64_t any(struct rng *r)
{
	static const int64_t edges[] = { INT64_MIN, INT64_MAX, INT64_MIN + 1, -1,
					 0,	    1,	       65535,	      65536,
					 -65536,    INT32_MAX, INT32_MIN,     (int64_t)1 << 32 };
	uint64_t v = rng_u64(r);

	return rng_below(r, 3) == 0 ? edges[rng_below(r, LENGTH(edges))]
				    : (int64_t)(v >> rng_below(r, 64));
}

static void fill(int kind, struct rng *r)
{
	int64_t now = 1700000000123456789, at = 0;

	for (uint32_t i = 0; i < in.n; i++) {
		struct rama_wire_event *ev = &in.event[i];

		now += 1000 + (int64_t)rng_below(r, 60000);
		*ev = (struct rama_wire_event){ .end = now,
						.dur = 500 + (int64_t)rng_below(r, 20000),
						.off = at,
						.bytes = 4096,
						.record = 0xfedcba9876543210,
						.call = i + 1 };
		at += 4096;
		if (kind == 0)
			continue;
		ev->what = (uint16_t)rng_below(r, in.n_whats);
		ev->record = rng_below(r, 4) == 0 ? 0 : 0x8000000000000000u + rng_below(r, 9);
		ev->off = rng_below(r, 5) == 0 ? -1 : (int64_t)rng_below(r, (uint64_t)1 << 40);
		ev->bytes = rng_below(r, 5) == 0 ? -1 : (int64_t)rng_below(r, 1 << 20);
		ev->dur = (int64_t)(rng_u64(r) >> (24 + rng_below(r, 40)));
		ev->parent = rng_below(r, 3) == 0 ? ev->call - (uint32_t)rng_below(r, i + 1) : 0;
		ev->failed = rng_below(r, 7) == 0;
		if (kind == 1)
			continue;
		ev->end = any(r), ev->dur = any(r), ev->off = any(r), ev->bytes = any(r);
		ev->record = (uint64_t)any(r), ev->call = (uint32_t)any(r),
		ev->parent = (uint32_t)any(r);
	}
}

static void there_and_back(void **st)
{
	static const struct {
		uint32_t n, calls;
		int kind;
	} rows[] = {
		{ 1, 1, 0 },	  { 1, 1, 2 },	   { 2, 1, 0 },	    { 2, 2, 2 },
		{ 7, 3, 1 },	  { 8192, 1, 0 },  { 8192, 5, 1 },  { 8191, 256, 1 },
		{ 8192, 256, 2 }, { 100, 100, 2 }, { 300, 256, 2 }, { 3, 1, 2 },
	};
	void *db = store_at("block");
	struct rng r = { 11 };

	(void)st;
	for (int batch = 0; batch < 2; batch++)
		for (size_t i = 0; i < LENGTH(rows); i++) {
			int64_t process = 1 + (int64_t)i + batch * 100;

			begin(rows[i].n, rows[i].calls);
			fill(rows[i].kind, &r);
			if (batch)
				assert_int_equal(pg->begin(db, &e), 0);
			put(db, process);
			get(db, process);
			assert_same();
			if (!batch)
				continue;
			/* calls that a batch made known are forgotten with it */
			pg->rollback(db);
			assert_int_equal(pg->begin(db, &e), 0);
			put(db, process);
			assert_int_equal(pg->commit(db, &e), 0);
			get(db, process);
			assert_same();
		}
	pg->close(db);
}

/* ---- the same by SQL ------------------------------------------------------------------------- */

struct check {
	uint32_t at;
	bool named; /* file and host are known */
};

static int check_event(void *ctx, const struct rama_store_row *row, struct rama_err *err)
{
	static const char *const names[] = { "job",  "rank",   "end_ns", "start_ns", "dur_ns",
					     "off",  "len",    "record", "file",     "layer",
					     "op",   "fn",     "tid",	 "lane",     "seq",
					     "call", "parent", "failed", "host",     "process" };
	struct check *c = ctx;
	const struct rama_wire_event *ev = &in.event[c->at];
	const struct rama_wire_what *w = &in.what[ev->what];
	const int64_t want[] = { 1,	  2,	   ev->end,   ev->end - ev->dur,
				 ev->dur, ev->off, ev->bytes, (int64_t)ev->record };

	(void)err;
	assert_int_equal(row->n, LENGTH(names));
	for (unsigned i = 0; i < row->n; i++)
		assert_string_equal(row->name[i], names[i]);
	for (unsigned i = 0; i < LENGTH(want); i++)
		if ((i == 5 || i == 6) && want[i] == -1) /* no offset, no length */
			assert_int_equal(row->cell[i].type, RAMA_STORE_CELL_NULL);
		else
			assert_true(row->cell[i].type == RAMA_STORE_CELL_INT &&
				    row->cell[i].i == want[i]);
	assert_int_equal(row->cell[8].type, ev->record == 0x8000000000000001u
						    ? RAMA_STORE_CELL_TEXT
						    : RAMA_STORE_CELL_NULL);
	assert_string_equal(row->cell[9].text, w->layer);
	assert_string_equal(row->cell[10].text, w->op);
	assert_string_equal(row->cell[11].text, w->fn);
	assert_true(row->cell[12].i == 4711 && row->cell[13].i == 3 &&
		    row->cell[14].i == 1000 + c->at);
	assert_true(row->cell[15].i == ev->call && row->cell[16].i == ev->parent &&
		    row->cell[17].i == ev->failed);
	assert_int_equal(row->cell[18].type, RAMA_STORE_CELL_NULL);
	c->at++;
	return 0;
}

static void by_sql_alone(void **st)
{
	static const char view[] = "SELECT * FROM events WHERE process = $1 ORDER BY seq";
	static const char function[] =
		"SELECT * FROM iorama_events(1, 2) WHERE process = $1 ORDER BY seq";
	static const char part[] =
		"SELECT * FROM iorama_events(1, 2, $2, $3) WHERE process = $1 ORDER BY seq";
	void *db = store_at("sql");
	struct rng r = { 12 };

	(void)st;
	assert_int_equal(
		pg->script(db,
			   "INSERT INTO jobs (number, key, max_span) VALUES (1, 'k', 1000000000);"
			   "INSERT INTO files VALUES (1, -9223372036854775807, 'name')",
			   &e),
		0);
	for (int kind = 0; kind < 2; kind++)
		for (uint32_t n = 1; n <= 8192; n = n * 7 + 3) {
			struct rama_store_cell args[3] = { { .type = RAMA_STORE_CELL_INT,
							     .i = kind * 10000 + (int64_t)n } };
			struct check c = { 0 };
			uint32_t from = n / 3, to = n - n / 4;

			begin(n, kind ? 9 : 1);
			fill(kind, &r);
			put(db, args[0].i);
			assert_int_equal(pg->run(db, view, RAMA_STORE_DB_KEPT, args, 1, check_event,
						 &c, NULL, &e),
					 0);
			assert_int_equal(c.at, n);
			c.at = 0;
			assert_int_equal(pg->run(db, function, RAMA_STORE_DB_READ, args, 1,
						 check_event, &c, NULL, &e),
					 0);
			assert_int_equal(c.at, n);
			c.at = from;
			args[1] = (struct rama_store_cell){ .type = RAMA_STORE_CELL_INT,
							    .i = in.event[from].end };
			args[2] = (struct rama_store_cell){ .type = RAMA_STORE_CELL_INT,
							    .i = to < n ? in.event[to].end
									: in.event[n - 1].end + 1 };
			assert_int_equal(pg->run(db, part, RAMA_STORE_DB_READ, args, 3, check_event,
						 &c, NULL, &e),
					 0);
			assert_int_equal(c.at, to);
		}
	pg->close(db);
}

/* ---- damaged rows ---------------------------------------------------------------------------- */

static int take_damaged(void *ctx, const struct rama_store_row *row, struct rama_err *err)
{
	return pg->get_block(ctx, row->cell, row->n, &out, NULL, err);
}

static void damaged(void **st)
{
	static const char *const how[] = {
		"end_bytes = '\\x010203'",
		"dur_bytes = ''",
		"len_bytes = '\\x0102030405'",
		"what_base = 99999999",
		"n = 0",
		"n = 8193",
		"n = 3",
		"records = '{}'",
		"records = '{NULL}'",
		"records = '{{1},{2}}'",
		"record_base = 1",
		"record_base = -1",
		"end_base = end_base + 10000000000",
		"off_bytes = decode(repeat('00', 36), 'hex')",
	};
	void *db = store_at("damaged");
	struct rama_store_cell number = { .type = RAMA_STORE_CELL_INT };
	struct rng r = { 13 };

	(void)st;
	for (size_t i = 0; i < LENGTH(how); i++) {
		char sql[200];

		begin(4, 1);
		fill(0, &r);
		assert_int_equal(pg->script(db, "DELETE FROM blocks", &e), 0);
		put(db, 1);
		snprintf(sql, sizeof(sql), "UPDATE blocks SET %s RETURNING number", how[i]);
		assert_int_equal(pg->run(db, sql, RAMA_STORE_DB_ONCE, NULL, 0, take_number, &number,
					 NULL, &e),
				 0);
		if (pg->run(db, pg->block_sql, RAMA_STORE_DB_KEPT, &number, 1, take_damaged, db,
			    NULL, &e) != RAMA_ECORRUPT)
			fail_msg("taken: %s", how[i]);
	}
	pg->close(db);
}

UNIT_GROUP(postgres_block, test(there_and_back), test(by_sql_alone), test(damaged))
