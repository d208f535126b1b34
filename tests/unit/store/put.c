/* SPDX-License-Identifier: BSD-3-Clause */
/* messages that come in: each once, in any order */
#include "help.h"

struct check {
	unsigned process, lane;
	uint64_t next;
};

static int check_event(void *ctx, const struct rama_store_stored_event *ev, struct rama_err *e)
{
	struct check *c = ctx;
	struct rama_wire_event t = truth(c->process, c->lane, c->next);
	struct rama_wire_segment_key k = key_of(c->process);

	(void)e;
	if (ev->lane != c->lane)
		return 0;
	assert_int_equal(ev->seq, c->next++);
	assert_memory_equal(&ev->segment, &k, sizeof(k));
	assert_int_equal(ev->tid, c->process * 1000 + c->lane);
	assert_int_equal(ev->event->end, t.end);
	assert_int_equal(ev->event->dur, t.dur);
	assert_int_equal(ev->event->off, t.off);
	assert_int_equal(ev->event->bytes, t.bytes);
	assert_int_equal(ev->event->record, t.record);
	assert_int_equal(ev->event->call, t.call);
	assert_int_equal(ev->event->parent, t.parent);
	assert_int_equal(ev->event->failed, t.failed);
	assert_string_equal(ev->what->fn, what_of(&t)->fn);
	assert_string_equal(ev->what->op, what_of(&t)->op);
	assert_string_equal(ev->what->layer, what_of(&t)->layer);
	return 0;
}

/* lane 0 of the only process of the job has the events 0..n-1, each as it was */
static void check_lane(struct rama_store *s, const char *job, unsigned process, unsigned lane,
		       uint64_t n)
{
	struct check c = { process, lane, 0 };
	struct rama_store_event_filter f = { .job = job_number(s, job), .rank = -1 };
	struct rama_err e = { 0 };

	if (rama_store_events(s, &f, check_event, &c, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(c.next, n);
}

static void events_come_back(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = block_of("7/run", 1, 0, 0, 5000);

	(void)state;
	assert_int_equal(put_one(s, &m), 5000);
	m = block_of("7/run", 1, 0, 5000, 8192);
	assert_int_equal(put_one(s, &m), 8192);
	m = block_of("7/run", 1, 1, 0, 1);
	assert_int_equal(put_one(s, &m), 1);
	check_lane(s, "7/run", 1, 0, 13192);
	check_lane(s, "7/run", 1, 1, 1);
	rama_store_close(s);
	s = reopen(RAMA_STORE_READ);
	check_lane(s, "7/run", 1, 0, 13192);
	assert_int_equal(number(s, "SELECT events FROM jobs"), 13193);
	assert_int_equal(number(s, "SELECT stored FROM processes"), 13193);
	rama_store_close(s);
}

static void twice_is_once(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = block_of("7/run", 1, 0, 0, 100);
	char *a, *b;

	(void)state;
	assert_int_equal(put_one(s, &m), 100);
	a = content(s);
	assert_int_equal(put_one(s, &m), 0);
	begin(s);
	put(s, &m);
	put(s, &m);
	commit(s);
	b = content(s);
	assert_string_equal(a, b);
	free(a);
	free(b);
	rama_store_close(s);
}

/* every way a block of 10 can lie to blocks that are there */
static void all_overlaps(void **state)
{
	(void)state;
	for (unsigned mask = 1; mask < 1u << 5; mask++) {
		/* five places of 4 events; those in the mask come first, then one block over
		 * everything */
		struct rama_store *s = fresh();
		struct rama_wire_message m;
		uint64_t before = 0;

		begin(s);
		for (unsigned i = 0; i < 5; i++)
			if (mask >> i & 1) {
				m = block_of("7/run", 1, 0, 4 * i, 4);
				before += put(s, &m);
			}
		m = block_of("7/run", 1, 0, 2, 16);
		before += put(s, &m);
		m = block_of("7/run", 1, 0, 0, 20);
		before += put(s, &m);
		commit(s);
		assert_int_equal(before, 20);
		check_lane(s, "7/run", 1, 0, 20);
		assert_int_equal(number(s, "SELECT events FROM jobs"), 20);
		assert_int_equal(number(s, "SELECT CAST(sum(ops) AS BIGINT) FROM rollups"), 20);
		rama_store_close(s);
	}
}

static void large_overlaps(void **state)
{
	struct rama_store *s = fresh();
	struct rng r = { 5 };
	uint64_t all = 0;

	(void)state;
	begin(s);
	for (int i = 0; i < 60; i++) {
		uint64_t first = rng_below(&r, 20000);
		struct rama_wire_message m =
			block_of("7/run", 1, 0, first, 1 + (uint32_t)rng_below(&r, 8192));

		all += put(s, &m);
	}
	for (uint64_t first = 0; first < 28192; first += 8192) {
		struct rama_wire_message m =
			block_of("7/run", 1, 0, first,
				 first + 8192 < 28192 ? 8192 : 28192 - (uint32_t)first);

		all += put(s, &m);
	}
	commit(s);
	assert_int_equal(all, 28192);
	check_lane(s, "7/run", 1, 0, 28192);
	assert_int_equal(number(s, "SELECT events FROM jobs"), 28192);
	rama_store_close(s);
}

static void rollback_leaves_nothing(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = block_of("7/run", 1, 0, 0, 100);
	char *a, *b;

	(void)state;
	put_one(s, &m);
	a = content(s);
	begin(s);
	m = block_of("7/other", 2, 0, 0, 100);
	put(s, &m);
	m = process_of("7/other", 1, 3, 2);
	put(s, &m);
	rama_store_rollback(s);
	b = content(s);
	assert_string_equal(a, b);
	free(a);
	free(b);
	begin(s);
	m = block_of("7/run", 1, 0, 50, 100);
	assert_int_equal(put(s, &m), 50);
	commit(s);
	check_lane(s, "7/run", 1, 0, 150);
	rama_store_close(s);
}

static void damaged_block_is_refused(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = block_of("7/run", 1, 0, 0, 100);
	unsigned char *bytes = malloc(m.block.len);
	struct rama_err e = { 0 };

	(void)state;
	put_one(s, &m);
	begin(s);
	memcpy(bytes, m.block.bytes, m.block.len);
	bytes[m.block.len / 2] ^= 0x40;
	m.block.bytes = bytes;
	assert_int_equal(rama_store_put(s, &m, NULL, &e), RAMA_ECORRUPT);
	m = block_of("7/run", 1, 0, 100, 10);
	assert_int_equal(put(s, &m), 10); /* the batch is as it was */
	commit(s);
	check_lane(s, "7/run", 1, 0, 110);
	free(bytes);
	rama_store_close(s);
}

static void batches_are_asked_for(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = block_of("7/run", 1, 0, 0, 100);
	struct rama_err e = { 0 };

	(void)state;
	assert_int_equal(rama_store_put(s, &m, NULL, &e), RAMA_EUSAGE);
	begin(s);
	assert_int_equal(rama_store_begin(s, &e), RAMA_EUSAGE);
	m = (struct rama_wire_message){ .kind = RAMA_WIRE_MSG_LOG,
					.log = { "7/run", "", NULL, 0 } };
	assert_int_equal(rama_store_put(s, &m, NULL, &e), RAMA_EUSAGE);
	commit(s);
	rama_store_close(s);
}

/* Numbers that cannot be true are taken in or refused; what others send in the same batch comes
 * in. */
static uint64_t put_wild_block(struct rama_store *s, unsigned process, int64_t end, int64_t dur,
			       int64_t bytes)
{
	static struct rama_wire_block b;
	static unsigned char packed[sizeof(b)];
	struct rama_wire_block_packer packer = { 0 };
	struct rama_err e = { 0 };
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_BLOCK };
	uint64_t stored = 0;
	int64_t n;

	memset(&b, 0, sizeof(b));
	snprintf(b.job, sizeof(b.job), "7/wild");
	b.segment = key_of(process);
	b.n = 3;
	b.n_whats = 1;
	b.what[0] = (struct rama_wire_what){ "POSIX", "read", "read" };
	for (unsigned i = 0; i < 3; i++)
		b.event[i] = (struct rama_wire_event){ .end = i == 1 ? 0 : end,
						       .dur = dur,
						       .bytes = bytes };
	n = rama_wire_block_pack(&packer, &b, packed, sizeof(packed), &e);
	rama_wire_block_packer_fini(&packer);
	if (n < 0)
		return 0; /* it does not get this far */
	m.block.bytes = packed;
	m.block.len = (size_t)n;
	n = rama_store_put(s, &m, &stored, &e);
	assert_true(n == 0 || n == RAMA_ECORRUPT);
	return stored;
}

static void wild_numbers(void **state)
{
	static const int64_t wild[] = {
		INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX
	};
	struct rama_store *s = fresh();
	struct rama_wire_message m;
	uint64_t n = 0, stored = 0;
	unsigned process = 1;

	(void)state;
	for (size_t i = 0; i < LENGTH(wild); i++) {
		int64_t v = wild[i];
		struct rama_wire_msg_gain gain = { "POSIX", v, v, v, v, v, v, v, v };
		struct rama_wire_msg_figure f = { "load", (double)v };

		begin(s);
		for (unsigned k = 0; k < 3; k++) {
			m = process_of("7/wild", process, (uint64_t)v, v < -1 ? -1 : v);
			m.process.made = m.process.dropped = m.process.missed = (uint64_t)v;
			m.process.nprocs = m.process.pid = m.process.jobid = m.process.uid = v;
			m.process.start = v;
			m.process.end = wild[(i + k) % LENGTH(wild)];
			m.process.state = RAMA_WIRE_STATE_ENDED;
			put(s, &m);
			m = (struct rama_wire_message){ .kind = RAMA_WIRE_MSG_ACTIVITY,
							.activity = { .job = "7/wild",
								      .rank = 0,
								      .width = v,
								      .n = 1,
								      .gain = &gain } };
			m.activity.t = k == 0 ? v : (int64_t)k;
			m.activity.segment = key_of(process);
			put(s, &m);
			m = (struct rama_wire_message){ .kind = RAMA_WIRE_MSG_LOSS,
							.loss = { "agent", (uint64_t)v + k,
								  "7/wild", "", (uint64_t)v,
								  (uint64_t)v } };
			put(s, &m);
			m = (struct rama_wire_message){ .kind = RAMA_WIRE_MSG_SAMPLE,
							.sample = { "node", v, 1, &f } };
			put(s, &m);
			stored += put_wild_block(s, process++, v, wild[k],
						 wild[(i + k) % LENGTH(wild)]);
		}
		m = block_of("7/run", 500, 0, i * 10, 10);
		n += put(s, &m);
		commit(s);
	}
	/* once more, all moved to another job: sums are made again */
	begin(s);
	for (unsigned p = 1; p < process; p++) {
		m = process_of("7/other", p, INT64_MAX, 1);
		m.process.made = UINT64_MAX / 2;
		put(s, &m);
	}
	commit(s);
	assert_int_equal(n, 70);
	assert_true(stored > 30);
	assert_int_equal(number(s, "SELECT events FROM jobs WHERE key = '7/run'"), 70);
	rama_store_close(s);
}

UNIT_GROUP(put, test(wild_numbers), test(events_come_back), test(twice_is_once), test(all_overlaps),
	   test(large_overlaps), test(rollback_leaves_nothing), test(damaged_block_is_refused),
	   test(batches_are_asked_for))
