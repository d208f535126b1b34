/* SPDX-License-Identifier: BSD-3-Clause */
/* how long what is kept: the setting, and what goes when the clock has gone on */
#include "help.h"

#include <unistd.h>

#define DAY 86400000000000ll

static int read_words(struct rama_store_keep *k, const char *a, const char *b)
{
	const char *word[2] = { a, b };
	struct rama_err e = { 0 };

	return rama_store_keep_read(k, word, b != NULL ? 2 : 1, &e);
}

static void setting(void **state)
{
	struct rama_store *s = fresh();
	struct rama_store_keep k, got;
	struct rama_err e = { 0 };
	char text[RAMA_STORE_KEEP_TEXT];

	(void)state;
	assert_int_equal(rama_store_keep_get(s, &got, &e), 0);
	assert_int_equal(read_words(&k, "events=36h", "series=2y"), 0);
	assert_int_equal(k.span[RAMA_STORE_KEEP_EVENTS], DAY * 3 / 2);
	assert_int_equal(k.span[RAMA_STORE_KEEP_SERIES], 730 * DAY);
	assert_int_equal(k.span[RAMA_STORE_KEEP_JOBS], RAMA_STORE_FOREVER);
	assert_string_equal(rama_store_keep_text(text, &k),
			    "events=36h series=2y samples=forever jobs=forever");
	assert_int_equal(rama_store_keep_set(s, &k, &e), 0);
	rama_store_close(s);
	s = reopen(RAMA_STORE_WRITE); /* it is in the store */
	assert_int_equal(rama_store_keep_get(s, &got, &e), 1);
	assert_memory_equal(&got, &k, sizeof(k));
	assert_int_equal(read_words(&k, "jobs=90s", NULL), 0);
	assert_int_equal(rama_store_keep_set(s, &k, &e), 0);
	assert_int_equal(rama_store_keep_get(s, &got, &e), 1);
	assert_int_equal(got.span[RAMA_STORE_KEEP_JOBS], 90000000000ll);
	assert_int_equal(rama_store_keep_set(s, NULL, &e), 0);
	assert_int_equal(rama_store_keep_get(s, &got, &e), 0);
	assert_int_equal(read_words(&k, "events=2d", "jobs=1d"), RAMA_EUSAGE);
	assert_int_equal(read_words(&k, "samples=2d", "jobs=1d"), 0); /* by themselves */
	rama_store_close(s);
}

/* Job i of one process ended i days after T0 and made 100 events over 200 s; a sample with each.
 * The last one runs. */
static void fill(struct rama_store *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct rama_wire_msg_figure f = { "load", i };
		struct rama_wire_msg_name name[7];
		struct rama_wire_message m;
		char key[16];

		snprintf(key, sizeof(key), "7/job%u", i);
		begin(s);
		m = block_of(key, i, 0, 0, 100);
		put(s, &m);
		for (unsigned k = 0; k < 7; k++)
			name[k] = (struct rama_wire_msg_name){ 0xf000000000000000u + k, "/a", 2 };
		put(s, &(struct rama_wire_message){ .kind = RAMA_WIRE_MSG_NAMES,
						    .names = { key, 7, name } });
		for (unsigned second = 1; second <= 200; second += 20) {
			struct rama_wire_msg_gain gain = { "POSIX", 10,	 20,  3, 1000,
							   2000,    100, 200, 30 };

			m = (struct rama_wire_message){ .kind = RAMA_WIRE_MSG_ACTIVITY,
							.activity = { .job = key,
								      .t = T0 + i * DAY +
									   second * 1000000000ll,
								      .width = 1000000000,
								      .n = 1,
								      .gain = &gain } };
			m.activity.segment = key_of(i);
			put(s, &m);
		}
		m = process_of(key, i, 1, 0);
		m.process.made = 100;
		m.process.start = T0;
		if (i + 1 < n) {
			m.process.end = T0 + i * DAY;
			m.process.state = RAMA_WIRE_STATE_ENDED;
		}
		m.process.seen_at = T0 + i * DAY;
		put(s, &m);
		put(s, &(struct rama_wire_message){ .kind = RAMA_WIRE_MSG_SAMPLE,
						    .sample = { "node1", T0 + i * DAY, 1, &f } });
		commit(s);
	}
}

static void tell_flaw(void *ctx, const char *line)
{
	(void)ctx;
	print_message("%s\n", line);
}

static void whole(struct rama_store *s)
{
	struct rama_err e = { 0 };

	assert_int_equal(rama_store_verify(s, tell_flaw, NULL, &e), 0);
}

/* what goes when it is `day` days after T0, dry first: both count the same */
static struct rama_store_keep_gone apply(struct rama_store *s, const struct rama_store_keep *k,
				    int64_t day)
{
	struct rama_store_keep_gone dry, gone;
	struct rama_err e = { 0 };

	rama_store_clock(s, T0 + day * DAY + 1);
	assert_int_equal(rama_store_keep_apply(s, k, true, &dry, &e), 0);
	assert_int_equal(rama_store_keep_apply(s, k, false, &gone, &e), 0);
	assert_memory_equal(&dry, &gone, sizeof(dry));
	return gone;
}

static void is_gone(struct rama_store_keep_gone g, int64_t events, int64_t series, int64_t samples,
		    int64_t jobs)
{
	assert_int_equal(g.n[RAMA_STORE_KEEP_EVENTS], events);
	assert_int_equal(g.n[RAMA_STORE_KEEP_SERIES], series);
	assert_int_equal(g.n[RAMA_STORE_KEEP_SAMPLES], samples);
	assert_int_equal(g.n[RAMA_STORE_KEEP_JOBS], jobs);
}

#define COUNT(what) number(s, "SELECT count(*) FROM " what)

static void goes(void **state)
{
	struct rama_store *s = fresh();
	struct rama_store_keep k = { { 2 * DAY, 5 * DAY, 4 * DAY, 8 * DAY } };
	int64_t minutes, ops;

	(void)state;
	rama_store_clock(s, T0 + 9 * DAY);
	fill(s, 10);
	minutes = COUNT("series_minute");
	ops = number(s, "SELECT sum(ops) FROM series_minute");
	assert_true(minutes > 10 && COUNT("series") > minutes);
	is_gone(apply(s, &k, 1), 0, 0, 0, 0);
	is_gone(apply(s, &k, 2), 1, 0, 0, 0); /* job 0, just after two days */
	is_gone(apply(s, &k, 4), 2, 0, 1, 0);
	assert_int_equal(COUNT("blocks"), 7);
	assert_int_equal(COUNT("series WHERE job = 1") > 0, 1);
	whole(s);
	is_gone(apply(s, &k, 6), 2, 2, 2, 0);
	assert_int_equal(COUNT("series WHERE job <= 2"), 0);
	assert_int_equal(COUNT("series_ten WHERE job <= 2"), 0);
	assert_true(COUNT("series WHERE job = 3") > 0);
	assert_int_equal(COUNT("series_minute"), minutes); /* coarser ones stay */
	assert_int_equal(number(s, "SELECT sum(ops) FROM series_minute"), ops);
	assert_int_equal(COUNT("jobs"), 10);
	whole(s);
	is_gone(apply(s, &k, 6), 0, 0, 0, 0); /* nothing twice */
	/* the running one is lost by then, and was seen at day 9; events of those that go are not
	 * told once more */
	is_gone(apply(s, &k, 9), 3, 3, 3, 2);
	assert_int_equal(COUNT("jobs"), 8);
	assert_int_equal(COUNT("series_minute WHERE job <= 2"), 0);
	whole(s);
	rama_store_close(s);
}

/* what is not told to go stays */
static void stays(void **state)
{
	struct rama_store *s = fresh();
	struct rama_store_keep k = { { RAMA_STORE_FOREVER, RAMA_STORE_FOREVER, RAMA_STORE_FOREVER,
				       RAMA_STORE_FOREVER } };

	(void)state;
	rama_store_clock(s, T0 + 3 * DAY);
	fill(s, 3);
	is_gone(apply(s, &k, 10000), 0, 0, 0, 0);
	k.span[RAMA_STORE_KEEP_SAMPLES] = 1000 * DAY;
	is_gone(apply(s, &k, 10000), 0, 0, 3, 0);
	k.span[RAMA_STORE_KEEP_SAMPLES] = INT64_MAX - 1; /* longer than time */
	is_gone(apply(s, &k, 10000), 0, 0, 0, 0);
	assert_int_equal(COUNT("jobs"), 3);
	assert_int_equal(COUNT("blocks"), 3);
	rama_store_close(s);
}

static const char *other(void)
{
	static char path[320];

	snprintf(path, sizeof(path), "%s-kept", is_sqlite() ? where() : "/tmp/iorama-test");
	return path;
}

static void clean_other(void)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char path[340];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", other(), ends[i]);
		unlink(path);
	}
}

/* samples move with the jobs, and what is known of a job to be gone stays known */
static void moves(void **state)
{
	struct rama_store *s = fresh(), *to;
	struct rama_store_keep k = { { DAY, DAY, RAMA_STORE_FOREVER, RAMA_STORE_FOREVER } };
	struct rama_err e = { 0 };
	int64_t jobs, sum;

	(void)state;
	clean_other();
	rama_store_clock(s, T0 + 3 * DAY);
	fill(s, 4);
	sum = number(s, "SELECT sum(ops) FROM series_minute WHERE job = 1");
	is_gone(apply(s, &k, 1), 1, 1, 0, 0);
	assert_int_equal(rama_store_archive(s, other(), T0 + DAY + 1, &jobs, &e), 0);
	assert_int_equal(jobs, 2);
	assert_int_equal(COUNT("samples"), 2);
	assert_int_equal(number(s, "SELECT CAST(min(value) AS BIGINT) FROM samples"), 2);
	to = reopen_at(other(), RAMA_STORE_READ);
	assert_int_equal(number(to, "SELECT count(*) FROM samples"), 2);
	assert_int_equal(number(to, "SELECT count(*) FROM samples WHERE host = 'node1' AND metric ="
				    " 'load' AND t_ns = 1700086400000000000 AND value = 1"),
			 1);
	assert_int_equal(number(to, "SELECT pruned FROM jobs WHERE key = '7/job0'"), 2);
	assert_int_equal(number(to, "SELECT pruned FROM jobs WHERE key = '7/job1'"), 0);
	assert_int_equal(number(to, "SELECT sum(ops) FROM series_minute s JOIN jobs j ON j.number ="
				    " s.job WHERE j.key = '7/job0'"),
			 sum);
	whole(to);
	whole(s);
	/* once more, with what is there already */
	assert_int_equal(rama_store_archive(s, other(), T0 + 2 * DAY + 1, &jobs, &e), 0);
	assert_int_equal(jobs, 1);
	assert_int_equal(COUNT("samples"), 1);
	rama_store_close(to);
	rama_store_close(s);
	clean_other();
}

UNIT_GROUP(keep, test(setting), test(goes), test(stays), test(moves))
