/* SPDX-License-Identifier: BSD-3-Clause */
/* events in the three orders, by keys; compared with a list of all that was put in */
#include "help.h"

#include "store/walk/walk.h"

#define JOBS 3
#define PROCESSES 4 /* of each job */
#define LANES 2
#define EACH 900

struct fact {
	int64_t job, rank, process;
	uint32_t lane;
	uint64_t seq;
	struct rama_wire_event ev;
};

static struct fact facts[JOBS * PROCESSES * LANES * EACH];
static size_t n_facts;
static enum rama_store_order by;

static int compare(const void *x, const void *y)
{
	const struct fact *a = x, *b = y;

#define BY(field)                 \
	if (a->field != b->field) \
	return a->field < b->field ? -1 : 1
	if (by == RAMA_STORE_ORDER_TIME_JOB_RANK)
		BY(ev.end);
	BY(job);
	if (by == RAMA_STORE_ORDER_JOB_TIME_RANK)
		BY(ev.end);
	BY(rank);
	BY(ev.end);
	BY(process);
	BY(lane);
	BY(seq);
#undef BY
	return 0;
}

/* jobs one after the other, overlapping; pieces of uneven length; process 3 has no rank */
static struct rama_store *filled(void)
{
	struct rama_store *s = fresh();
	struct rng r = { 3 };

	n_facts = 0;
	begin(s);
	for (unsigned j = 0; j < JOBS; j++)
		for (unsigned p = 0; p < PROCESSES; p++) {
			unsigned process = j * 10 + p;
			char key[16];
			struct rama_wire_message m;

			snprintf(key, sizeof(key), "7/job%u", j);
			m = process_of(key, process, 1, p == 3 ? -1 : (int64_t)(PROCESSES - p));
			put(s, &m);
			for (unsigned lane = 0; lane < LANES; lane++)
				for (uint64_t at = j * 300; at < j * 300 + EACH;) {
					uint32_t n = 1 + (uint32_t)rng_below(&r, 200);

					n = at + n > j * 300 + EACH
						    ? (uint32_t)(j * 300 + EACH - at)
						    : n;
					m = block_of(key, process, lane, at, n);
					put(s, &m);
					for (uint32_t i = 0; i < n; i++)
						facts[n_facts++] = (struct fact){
							.job = j + 1,
							.rank = p == 3 ? -1
								       : (int64_t)(PROCESSES - p),
							.process = process,
							.lane = lane,
							.seq = at + i,
							.ev = truth(process, lane, at + i)
						};
					at += n;
				}
		}
	commit(s);
	return s;
}

struct walk {
	const struct rama_store_event_filter *f;
	size_t at;
	uint64_t n;
};

static bool matches(const struct rama_store_event_filter *f, const struct fact *x)
{
	return (f->job < 0 || f->job == x->job) && (f->rank < 0 || f->rank == x->rank) &&
	       (f->from == 0 || x->ev.end >= f->from) && (f->to == 0 || x->ev.end < f->to) &&
	       (f->record == 0 || f->record == x->ev.record) &&
	       (f->layer == NULL || strcmp(f->layer, what_of(&x->ev)->layer) == 0) &&
	       (f->op == NULL || strcmp(f->op, what_of(&x->ev)->op) == 0);
}

static int next(void *ctx, const struct rama_store_stored_event *ev, struct rama_err *e)
{
	struct walk *w = ctx;
	const struct fact *x;

	(void)e;
	while (w->at < n_facts && !matches(w->f, &facts[w->at]))
		w->at++;
	assert_true(w->at < n_facts);
	x = &facts[w->at++];
	w->n++;
	assert_int_equal(ev->job, x->job);
	assert_int_equal(ev->rank, x->rank);
	assert_int_equal(ev->lane, x->lane);
	assert_int_equal(ev->seq, x->seq);
	assert_int_equal(ev->event->end, x->ev.end);
	assert_int_equal(ev->event->record, x->ev.record);
	assert_string_equal(ev->what->fn, what_of(&x->ev)->fn);
	return 0;
}

static uint64_t check(struct rama_store *s, const struct rama_store_event_filter *f)
{
	struct walk w = { f, 0, 0 };
	struct rama_err e = { 0 };

	by = f->order;
	qsort(facts, n_facts, sizeof(facts[0]), compare);
	if (rama_store_events(s, f, next, &w, &e) != 0)
		fail_msg("%s", e.text);
	while (w.at < n_facts && !matches(f, &facts[w.at]))
		w.at++;
	if (f->limit == 0 || w.n < f->limit)
		assert_int_equal(w.at, n_facts); /* none is left out */
	return w.n;
}

static void three_orders(void **state)
{
	struct rama_store *s = filled();
	struct rama_store_event_filter f = { .order = RAMA_STORE_ORDER_TIME_JOB_RANK,
					     .job = -1,
					     .rank = -1 };

	(void)state;
	assert_int_equal(check(s, &f), n_facts);
	f.job = 2;
	assert_int_equal(check(s, &f), n_facts / JOBS);
	f.order = RAMA_STORE_ORDER_JOB_TIME_RANK;
	assert_int_equal(check(s, &f), n_facts / JOBS);
	f.order = RAMA_STORE_ORDER_JOB_RANK_TIME;
	assert_int_equal(check(s, &f), n_facts / JOBS);
	f.rank = 3;
	assert_int_equal(check(s, &f), LANES * EACH);
	f.order = RAMA_STORE_ORDER_JOB_TIME_RANK;
	assert_int_equal(check(s, &f), LANES * EACH);
	f.rank = 77;
	assert_int_equal(check(s, &f), 0);
	f.rank = -1;
	f.job = 77;
	assert_int_equal(check(s, &f), 0);
	rama_store_close(s);
}

static void parts_of_it(void **state)
{
	static const char *const layers[] = { NULL, "POSIX", "MPI-IO", "H5D",
					      "a name that no layer has" };
	static const char *const ops[] = { NULL, "write", "close", "mkdir" };
	struct rama_store *s = filled();
	struct rng r = { 9 };
	unsigned some = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		struct rama_store_event_filter f = {
			.order = (enum rama_store_order)rng_below(&r, 3),
			.job = (int64_t)rng_below(&r, 4),
			.rank = (int64_t)rng_below(&r, 6) - 1,
			.limit = rng_below(&r, 3) * rng_below(&r, 500)
		};

		if (f.job == 0) {
			f.job = -1;
			f.rank = -1;
			f.order = RAMA_STORE_ORDER_TIME_JOB_RANK;
		}
		if (rng_below(&r, 2))
			f.from = T0 + (int64_t)rng_below(&r, 1600 * STEP);
		if (rng_below(&r, 2))
			f.to = T0 + (int64_t)rng_below(&r, 1600 * STEP);
		if (rng_below(&r, 4) == 0)
			f.record = 0xf000000000000000u + rng_below(&r, 8);
		if (rng_below(&r, 4) == 0)
			f.layer = layers[rng_below(&r, LENGTH(layers))];
		if (rng_below(&r, 4) == 0)
			f.op = ops[rng_below(&r, LENGTH(ops))];
		some += check(s, &f) > 0;
	}
	assert_in_range(some, 100, 300);
	rama_store_close(s);
}

static void wrong_questions(void **state)
{
	struct rama_store *s = filled();
	struct rama_store_event_filter f = { .order = RAMA_STORE_ORDER_JOB_RANK_TIME,
					     .job = -1,
					     .rank = -1 };
	struct walk w = { &f, 0, 0 };
	struct rama_err e = { 0 };

	(void)state;
	assert_int_equal(rama_store_events(s, &f, next, &w, &e), RAMA_EUSAGE);
	f.order = RAMA_STORE_ORDER_TIME_JOB_RANK;
	f.rank = 3;
	assert_int_equal(rama_store_events(s, &f, next, &w, &e), RAMA_EUSAGE);
	rama_store_close(s);
}

/* ---- clocks that were set back, many lanes at once ------------------------------------------- */

static uint64_t put_events(struct rama_store *s, unsigned process, unsigned lane, uint64_t first,
			   const int64_t *end, uint32_t n)
{
	static struct rama_wire_block b;
	static struct rama_wire_block_packer packer;
	static unsigned char bytes[sizeof(b)];
	struct rama_err e = { 0 };
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_BLOCK };
	int64_t len;

	memset(&b, 0, sizeof(b));
	snprintf(b.job, sizeof(b.job), "7/many");
	b.segment = key_of(process);
	b.rank = process;
	b.lane = lane;
	b.first = first;
	b.n = n;
	b.n_whats = 1;
	b.what[0] = (struct rama_wire_what){ "POSIX", "read", "read" };
	for (uint32_t i = 0; i < n; i++)
		b.event[i] = (struct rama_wire_event){ .end = end[i], .dur = 1, .record = 1 };
	len = rama_wire_block_pack(&packer, &b, bytes, sizeof(bytes), &e);
	assert_true(len > 0);
	m.block.bytes = bytes;
	m.block.len = (size_t)len;
	return put(s, &m);
}

struct sorted {
	struct {
		int64_t end;
		unsigned process;
		uint64_t seq;
	} * all;
	size_t n, at;
};

static int by_end(const void *x, const void *y)
{
	const int64_t *a = x, *b = y;

	return a[0] < b[0] ? -1 : a[0] > b[0];
}

static int in_order(void *ctx, const struct rama_store_stored_event *ev, struct rama_err *e)
{
	struct sorted *l = ctx;

	(void)e;
	assert_true(l->at < l->n);
	assert_int_equal(ev->event->end, l->all[l->at].end);
	assert_int_equal(ev->seq, l->all[l->at].seq);
	assert_int_equal(ev->rank, l->all[l->at].process);
	l->at++;
	return 0;
}

static void many_lanes(unsigned processes, uint32_t per_block, unsigned blocks, bool shuffled)
{
	struct rama_store *s = fresh();
	struct sorted l = { .all = calloc((size_t)processes * per_block * blocks, sizeof(*l.all)) };
	int64_t *end = calloc(per_block, sizeof(*end));
	struct rama_store_event_filter f = { .order = RAMA_STORE_ORDER_JOB_TIME_RANK,
					     .job = 1,
					     .rank = -1 };
	struct rama_err e = { 0 };
	struct rng r = { processes };

	begin(s);
	for (unsigned p = 0; p < processes; p++)
		for (unsigned k = 0; k < blocks; k++) {
			for (uint32_t i = 0; i < per_block; i++) {
				uint64_t at = shuffled ? rng_below(&r, 1 << 20)
						       : (uint64_t)k * per_block + i;

				end[i] = T0 + (int64_t)(at * processes + p) * 1024 +
					 (int64_t)(k * per_block + i) % 1024;
				l.all[l.n].end = end[i];
				l.all[l.n].process = p;
				l.all[l.n++].seq = (uint64_t)k * per_block + i;
			}
			assert_int_equal(put_events(s, p, 0, (uint64_t)k * per_block, end,
						    per_block),
					 per_block);
		}
	commit(s);
	qsort(l.all, l.n, sizeof(l.all[0]), by_end);
	if (rama_store_events(s, &f, in_order, &l, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(l.at, l.n);
	free(l.all);
	free(end);
	rama_store_close(s);
}

static void all_at_once(void **state)
{
	(void)state;
	many_lanes(3, 1000, 3, false);
	many_lanes(100, 2500, 2,
		   false); /* more blocks open than are kept whole: some are read again */
	many_lanes(1100, 300, 1, false);
}

static void clock_set_back(void **state)
{
	(void)state;
	many_lanes(3, 1000, 4, true);
	many_lanes(90, 1500, 1, true);
}

/* ---- by keys --------------------------------------------------------------------------------- */

static int add_line(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	char *to = ctx;
	size_t n = strlen(to);

	(void)e;
	snprintf(to + n, 1000 - n, "%s\n", row->cell[row->n - 1].text);
	return 0;
}

static void plan(struct rama_store *s, const char *sql, char to[1000])
{
	char text[2000];
	struct rama_err e = { 0 };

	*to = '\0';
	snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", sql);
	if (rama_store_select(s, text, NULL, 0, add_line, to, &e) != 0)
		fail_msg("%s", e.text);
}

static void found_by_keys(void **state)
{
	static const char *const want[] = {
		"SEARCH b USING INDEX blocks_job_rank_time (job=? AND rank=? AND t0>? AND t0<?)\n",
		"SEARCH b USING INDEX blocks_job_time_rank (job=? AND t0>? AND t0<?)\n",
		"SEARCH b USING INDEX blocks_time_job_rank (t0>? AND t0<?)\n",
	};
	struct rama_store *s;
	char got[1000];

	(void)state;
	if (!is_sqlite())
		skip();
	s = filled();
	for (int i = 0; i < RAMA_STORE_EVENT_WALK_WAYS; i++) {
		plan(s, rama_store_event_walk_sql[i], got);
		assert_string_equal(got, want[i]); /* no sorting either */
	}
	plan(s, rama_store_db_sqlite.block_sql, got);
	assert_string_equal(got, "SEARCH blocks USING INTEGER PRIMARY KEY (rowid=?)\n");
	/* lists ask this of one job after the other: never by the index of all costs */
	plan(s,
	     "SELECT j.number FROM jobs j WHERE (SELECT 1 FROM findings f WHERE f.job = j.number "
	     "AND f.level = 'HIGH' LIMIT 1) = 1",
	     got);
	assert_non_null(strstr(got, "(job=?"));
	rama_store_close(s);
}

/* the virtual table: what it is asked for, and that the plan uses it */
static void table_of_events(void **state)
{
	static const struct {
		const char *what, *plan;
	} cases[] = {
		{ "job = 2 AND rank = 3", "jr:job_time_rank" },
		{ "job = 2 AND rank = 3 AND end_ns >= 1700000000200000000 AND end_ns < "
		  "1700000000700000000",
		  "jrg<:job_time_rank" },
		{ "job = 2 ORDER BY job, rank, end_ns", "j:job_rank_time" },
		{ "job = 2 ORDER BY end_ns, rank", "j:job_time_rank" },
		{ "end_ns > 1700000000500000000 ORDER BY end_ns, job, rank", ">:time_job_rank" },
		{ "end_ns BETWEEN 1700000000500000000 AND 1700000000600000000",
		  "gL:time_job_rank" },
		{ "job = 1 AND op = 'write' AND layer = 'POSIX'", "jol:job_time_rank" },
		{ "job = 1 AND record = -1152921504606846973", "jf:job_time_rank" },
		{ "rank = 2", "r:time_job_rank" },
		{ "job = 1 AND rank = -1", "jr:job_time_rank" },
		{ "job = '1' AND failed = 1", "j:job_time_rank" },
		{ "job = 'x'", "j:job_time_rank" },
		{ "job = NULL", "j:job_time_rank" },
		{ "job IN (1, 3) AND rank = 2", "jr:job_time_rank" },
		{ "end_ns > 1700000000500000000.5 AND end_ns < 1.7000000009e18",
		  "><:time_job_rank" },
		{ "job = 1 AND rank > 2 ORDER BY end_ns DESC", "j:job_time_rank" },
	};
	struct rama_store *s;
	char sql[400], got[1000];

	(void)state;
	if (!is_sqlite())
		skip();
	s = filled();
	for (size_t i = 0; i < LENGTH(cases); i++) {
		int64_t all, some;

		/* the same question to a plain copy of all rows */
		snprintf(sql, sizeof(sql),
			 "SELECT count(*) * 1000 + coalesce(sum(seq), 0) FROM events WHERE %s",
			 cases[i].what);
		some = number(s, sql);
		snprintf(sql, sizeof(sql),
			 "WITH e AS MATERIALIZED (SELECT * FROM events) SELECT count(*) * 1000 + "
			 "coalesce(sum(seq), 0)"
			 " FROM e WHERE %s",
			 cases[i].what);
		all = number(s, sql);
		assert_int_equal(some, all);
		assert_true(some > 0 || strstr(cases[i].what, "'x'") != NULL ||
			    strstr(cases[i].what, "NULL") != NULL);
		snprintf(sql, sizeof(sql), "SELECT * FROM events WHERE %s", cases[i].what);
		plan(s, sql, got);
		if (strstr(got, cases[i].plan) == NULL)
			fail_msg("%s: %s", cases[i].what, got);
		if (strstr(cases[i].what, "ORDER BY") != NULL &&
		    strstr(cases[i].what, "DESC") == NULL)
			assert_null(strstr(got, "TEMP B-TREE"));
	}
	rama_store_close(s);
}

static void columns_of_events(void **state)
{
	struct rama_wire_event t = truth(11, 1, 400);
	struct rama_wire_msg_name name = { t.record, "/data/a \"file\"\nof two lines", 27 };
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_NAMES,
				       .names = { "7/job1", 1, &name } };
	struct rama_store *s;
	char want[500];

	(void)state;
	if (!is_sqlite())
		skip();
	s = filled();
	put_one(s, &m);
	snprintf(want, sizeof(want),
		 "2|3|%lld|%lld|%lld|%lld|%lld|%lld|%s|%s|%s|%s|11001|1|400|401|%u|%d|node2",
		 (long long)t.end, (long long)(t.end - t.dur), (long long)t.dur, (long long)t.off,
		 (long long)t.bytes, (long long)t.record, name.path, what_of(&t)->layer,
		 what_of(&t)->op, what_of(&t)->fn, t.parent, t.failed);
	assert_string_equal(text(s, "SELECT concat FROM (SELECT job || '|' || rank || '|' || "
				    "end_ns || '|' || start_ns || '|' ||"
				    " dur_ns || '|' || coalesce(off, -1) || '|' || coalesce(len, "
				    "-1) || '|' || record || '|' ||"
				    " file || '|' || layer || '|' || op || '|' || fn || '|' || tid "
				    "|| '|' || lane || '|' || seq"
				    " || '|' || call || '|' || parent || '|' || failed || '|' || "
				    "host AS concat FROM events"
				    " WHERE job = 2 AND rank = 3 AND lane = 1 AND seq = 400)"),
			    want);
	/* a join of the table with itself: two walks at once */
	assert_int_equal(number(s, "SELECT count(*) FROM events a JOIN events b ON b.job = a.job "
				   "AND b.rank = a.rank"
				   " AND b.end_ns = a.end_ns AND b.lane = a.lane WHERE a.job = 3 "
				   "AND a.rank = 2"),
			 LANES * EACH);
	rama_store_close(s);
}

UNIT_GROUP(walk, test(three_orders), test(parts_of_it), test(wrong_questions), test(all_at_once),
	   test(clock_set_back), test(found_by_keys), test(table_of_events),
	   test(columns_of_events))
