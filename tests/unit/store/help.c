/* SPDX-License-Identifier: BSD-3-Clause */
#include "help.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/out.h"
#include "store/db.h"

static char folder[64], place[128];

static void remove_folder(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (folder[0] != '\0' && system(command) != 0)
		fprintf(stderr, "%s stays\n", folder);
}

bool is_sqlite(void)
{
	const char *url = getenv("IORAMA_TEST_STORE");

	return url == NULL || *url == '\0';
}

const char *where(void)
{
	return is_sqlite() ? place : getenv("IORAMA_TEST_STORE");
}

/* made anew for the first test, emptied for the others: that is faster */
static void empty_database(const char *url)
{
	static const char *sql = "DROP SCHEMA public CASCADE; CREATE SCHEMA public";
	struct rama_err e = { 0 };
	void *db;

	if (rama_store_db_postgres.open(&db, url, RAMA_STORE_WRITE | RAMA_STORE_CREATE, &e) != 0 ||
	    rama_store_db_postgres.script(db, sql, &e) != 0)
		fail_msg("%s", e.text);
	rama_store_db_postgres.close(db);
	sql = "DO $$ DECLARE t name; k \"char\"; BEGIN FOR t, k IN SELECT relname, relkind FROM "
	      "pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'S') AND"
	      " relname <> 'meta' LOOP EXECUTE format(CASE k WHEN 'r' THEN 'DELETE FROM %I' ELSE"
	      " 'ALTER SEQUENCE %I RESTART' END, t); END LOOP; END $$";
}

struct rama_store *reopen_at(const char *path, unsigned flags)
{
	struct rama_err e = { 0 };
	struct rama_store *s;

	if (rama_store_open(&s, path, flags, &e) != 0)
		fail_msg("%s", e.text);
	rama_store_clock(s, T0 + 30000000000); /* nobody of these tests is gone for a minute */
	return s;
}

struct rama_store *reopen(unsigned flags)
{
	return reopen_at(where(), flags);
}

bool is_elsewhere(void)
{
	const char *servers = getenv("IORAMA_TEST_EVENTS");

	return servers != NULL && *servers != '\0';
}

/* Blocks go to ClickHouse if IORAMA_TEST_EVENTS names one: each time to another database. */
static struct rama_store *elsewhere(struct rama_store *s, unsigned n)
{
	struct rama_err e = { 0 };
	char url[1024];

	if (!is_elsewhere())
		return s;
	snprintf(url, sizeof(url), "%s_%u", getenv("IORAMA_TEST_EVENTS"), n);
	if (rama_store_events_at(s, url, true, &e) != 0)
		fail_msg("%s", e.text);
	return s;
}

struct rama_store *fresh(void)
{
	static unsigned n;

	if (!is_sqlite()) {
		empty_database(where());
		return elsewhere(reopen(RAMA_STORE_WRITE | RAMA_STORE_CREATE), ++n);
	}
	if (folder[0] == '\0') {
		snprintf(folder, sizeof(folder), "/tmp/iorama-store-XXXXXX");
		assert_non_null(mkdtemp(folder));
		atexit(remove_folder);
	}
	snprintf(place, sizeof(place), "%s/%u/new/store.db", folder, ++n);
	return reopen(RAMA_STORE_WRITE | RAMA_STORE_CREATE);
}

/* ---- events ---------------------------------------------------------------------------------- */

static const struct rama_wire_what calls[] = {
	{ "POSIX", "write", "pwrite64" }, { "POSIX", "read", "read" },
	{ "POSIX", "open", "open64" },	  { "MPI-IO", "write", "MPI_File_write_at" },
	{ "STDIO", "close", "fclose" },
};

struct rama_wire_segment_key key_of(unsigned process)
{
	struct rama_wire_segment_key k;
	struct rng r = { process };

	for (unsigned i = 0; i < sizeof(k.b); i++)
		k.b[i] = (uint8_t)rng_u64(&r);
	return k;
}

struct rama_wire_event truth(unsigned process, unsigned lane, uint64_t seq)
{
	struct rng r = { (uint64_t)process << 48 ^ (uint64_t)lane << 40 ^ seq };
	uint16_t what = (uint16_t)rng_below(&r, LENGTH(calls));

	/* process and lane in the last digits: all ends differ */
	return (struct rama_wire_event){
		.end = T0 + (int64_t)seq * STEP + process * 100 + lane,
		.dur = (int64_t)rng_below(&r, 100000),
		.off = what < 2 || what == 3 ? (int64_t)rng_below(&r, 1u << 30) : -1,
		.bytes = what < 2 || what == 3 ? (int64_t)rng_below(&r, 9000) : -1,
		.record = 0xf000000000000000u + rng_below(&r, 7),
		.call = (uint32_t)seq + 1,
		.parent = rng_below(&r, 5) == 0 ? (uint32_t)seq : 0,
		.what = what,
		.failed = rng_below(&r, 20) == 0
	};
}

const struct rama_wire_what *what_of(const struct rama_wire_event *ev)
{
	return &calls[ev->what];
}

struct rama_wire_message block_of(const char *job, unsigned process, unsigned lane, uint64_t first,
				  uint32_t n)
{
	static struct rama_wire_block b;
	static struct rama_wire_block_packer packer;
	static unsigned char *bytes;
	struct rama_err e = { 0 };
	int64_t len;

	memset(&b, 0, sizeof(b));
	snprintf(b.job, sizeof(b.job), "%s", job);
	b.segment = key_of(process);
	b.rank = -1;
	b.lane = lane;
	b.tid = process * 1000 + lane;
	b.first = first;
	b.n = n;
	b.n_whats = LENGTH(calls);
	memcpy(b.what, calls, sizeof(calls));
	for (uint32_t i = 0; i < n; i++)
		b.event[i] = truth(process, lane, first + i);
	bytes = realloc(bytes, rama_wire_block_room(&b));
	len = rama_wire_block_pack(&packer, &b, bytes, rama_wire_block_room(&b), &e);
	if (len < 0)
		fail_msg("%s", e.text);
	return (struct rama_wire_message){ .kind = RAMA_WIRE_MSG_BLOCK,
					   .block = { bytes, (size_t)len } };
}

struct rama_wire_message process_of(const char *job, unsigned process, uint64_t version,
				    int64_t rank)
{
	static char host[32];

	snprintf(host, sizeof(host), "node%u", process % 3);
	return (struct rama_wire_message){ .kind = RAMA_WIRE_MSG_PROCESS,
					   .process = { .segment = key_of(process),
							.version = version,
							.job = job,
							.user = "ada",
							.host = host,
							.exe = "/opt/bin/solver",
							.command = "solver -n 4",
							.tag = "",
							.uid = 1000,
							.jobid = 4711,
							.pid = 100 + process,
							.rank = rank,
							.start = T0 - 1000000000 + process,
							.seen_at = T0,
							.state = RAMA_WIRE_STATE_RUNNING,
							.lanes = 2 } };
}

/* ---- the store ------------------------------------------------------------------------------- */

uint64_t put(struct rama_store *s, const struct rama_wire_message *m)
{
	struct rama_err e = { 0 };
	uint64_t stored = 0;

	if (rama_store_put(s, m, &stored, &e) != 0)
		fail_msg("%s", e.text);
	return stored;
}

void begin(struct rama_store *s)
{
	struct rama_err e = { 0 };

	if (rama_store_begin(s, &e) != 0)
		fail_msg("%s", e.text);
}

void commit(struct rama_store *s)
{
	struct rama_err e = { 0 };

	if (rama_store_commit(s, &e) != 0)
		fail_msg("%s", e.text);
}

uint64_t put_one(struct rama_store *s, const struct rama_wire_message *m)
{
	uint64_t stored;

	begin(s);
	stored = put(s, m);
	commit(s);
	return stored;
}

static int first_cell(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	const struct rama_store_cell *c = &row->cell[0];
	char *to = ctx;

	(void)e;
	if (c->type == RAMA_STORE_CELL_INT)
		snprintf(to, 4096, "%lld", (long long)c->i);
	else if (c->type == RAMA_STORE_CELL_REAL)
		snprintf(to, 4096, "%.6f", c->f);
	else if (c->type == RAMA_STORE_CELL_NULL)
		snprintf(to, 4096, "null");
	else
		snprintf(to, 4096, "%.*s", (int)c->len, c->text);
	return 1;
}

const char *text(struct rama_store *s, const char *sql)
{
	static char to[4096];
	struct rama_err e = { 0 };

	snprintf(to, sizeof(to), "nothing");
	if (rama_store_select(s, sql, NULL, 0, first_cell, to, &e) != 0)
		fail_msg("%s: %s", sql, e.text);
	return to;
}

int64_t number(struct rama_store *s, const char *sql)
{
	return strtoll(text(s, sql), NULL, 10);
}

int64_t job_number(struct rama_store *s, const char *key)
{
	struct rama_err e = { 0 };
	int64_t job;

	if (rama_store_find_job(s, key, &job, &e) != 0)
		fail_msg("%s", e.text);
	return job;
}

/* ---- content --------------------------------------------------------------------------------- */

static void add_cell(struct rama_out *o, const struct rama_store_cell *c)
{
	if (c->type == RAMA_STORE_CELL_INT)
		rama_out_i64(o, c->i);
	else if (c->type == RAMA_STORE_CELL_REAL)
		rama_out_fmt(o, "%.9g", c->f);
	else if (c->type == RAMA_STORE_CELL_TEXT)
		rama_out_bytes(o, c->text, c->len);
	else if (c->type == RAMA_STORE_CELL_BYTES)
		for (size_t i = 0; i < c->len; i++)
			rama_out_fmt(o, "%02x", (unsigned char)c->text[i]);
	rama_out_char(o, '|');
}

static int add_row(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	(void)e;
	for (unsigned i = 0; i < row->n; i++)
		add_cell(ctx, &row->cell[i]);
	rama_out_char(ctx, '\n');
	return 0;
}

struct listing {
	struct rama_out *out;
	const char *key;
};

static int add_event(void *ctx, const struct rama_store_stored_event *ev, struct rama_err *e)
{
	struct listing *l = ctx;
	const struct rama_wire_event *w = ev->event;

	(void)e;
	rama_out_fmt(l->out, "%s|%lld|%lld|%u|%u|%llu|%lld|%lld|%lld|%llx|%s|%s|%s|%u|%u|%d\n",
		     l->key, (long long)ev->rank, (long long)w->end, ev->lane, ev->tid,
		     (unsigned long long)ev->seq, (long long)w->dur, (long long)w->off,
		     (long long)w->bytes, (unsigned long long)w->record, ev->what->layer,
		     ev->what->op, ev->what->fn, w->call, w->parent, w->failed);
	return 0;
}

struct job_list {
	struct {
		int64_t job;
		char key[RAMA_WIRE_JOB];
	} row[64];
	unsigned n;
};

static int add_job(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct job_list *l = ctx;

	(void)e;
	assert_true(l->n < LENGTH(l->row));
	l->row[l->n].job = row->cell[0].i;
	snprintf(l->row[l->n++].key, RAMA_WIRE_JOB, "%s", row->cell[1].text);
	return 0;
}

char *content(struct rama_store *s)
{
	static const char *const tables[] = {
		"SELECT key, name, username, uid, jobid, command, tag, start_ns, end_ns,"
		" run_time, nprocs, nodes, state, source, logged, pruned, bytes_read,"
		" bytes_written, reads, writes, metas, files, io_time, meta_time, verdict,"
		" complete, processes, made, events, dropped, lost, missed FROM jobs ORDER BY key",
		"SELECT p.segment, j.key, p.rank, p.host, p.pid, p.exe, p.command, p.start_ns,"
		" p.end_ns, p.state, p.version, p.made, p.dropped, p.missed, p.lanes, p.stored"
		" FROM processes p JOIN jobs j ON j.number = p.job ORDER BY p.segment",
		"SELECT j.key, f.record, f.path FROM files f JOIN jobs j ON j.number = f.job"
		" ORDER BY j.key, f.record",
		"SELECT j.key, p.segment, a.t_ns, a.layer, a.rank, a.width_ns, a.reads, a.writes,"
		" a.metas, a.bytes_read, a.bytes_written, a.read_ns, a.write_ns, a.meta_ns FROM"
		" activity a JOIN jobs j ON j.number = a.job JOIN processes p ON p.number ="
		" a.process ORDER BY j.key, p.segment, a.t_ns, a.layer",
		"SELECT j.key, p.segment, r.second, r.layer, r.kind, r.rank, r.ops, r.failed,"
		" r.bytes, r.ns, r.longest FROM rollups r JOIN jobs j ON j.number = r.job JOIN"
		" processes p ON p.number = r.process ORDER BY j.key, p.segment, r.second,"
		" r.layer, r.kind",
		"SELECT host, metric, t_ns, value FROM samples ORDER BY host, metric, t_ns",
		"SELECT l.agent, l.number, j.key, l.why, l.events, l.messages FROM losses l"
		" JOIN jobs j ON j.number = l.job ORDER BY l.agent, l.number",
		"SELECT j.key, f.name, f.value FROM figures f JOIN jobs j ON j.number = f.job"
		" ORDER BY j.key, f.name",
		"SELECT j.key, f.number, f.rule, f.level, f.title, f.cost FROM findings f"
		" JOIN jobs j ON j.number = f.job ORDER BY j.key, f.number",
		"SELECT j.key, l.key, l.path, l.size, l.body FROM logs l JOIN jobs j ON j.number"
		" = l.job ORDER BY j.key",
	};
	struct job_list *jobs = calloc(1, sizeof(*jobs));
	struct rama_err e = { 0 };
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	for (size_t i = 0; i < LENGTH(tables); i++)
		if (rama_store_select(s, tables[i], NULL, 0, add_row, &o, &e) != 0)
			fail_msg("%s: %s", tables[i], e.text);
	if (rama_store_select(s, "SELECT number, key FROM jobs ORDER BY key", NULL, 0, add_job,
			      jobs, &e) != 0)
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < jobs->n; i++) {
		struct rama_store_event_filter f = { .job = jobs->row[i].job, .rank = -1 };
		struct listing l = { &o, jobs->row[i].key };

		if (rama_store_events(s, &f, add_event, &l, &e) != 0)
			fail_msg("%s", e.text);
	}
	free(jobs);
	rama_out_char(&o, '\0');
	assert_int_equal(o.error, 0);
	return o.buf;
}
