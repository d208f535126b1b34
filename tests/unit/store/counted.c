/* SPDX-License-Identifier: BSD-3-Clause */
/* what counters stand at, in any order; who is lost, and who is back; whose processes they are */
#include "help.h"

#define SECOND 1000000000ll
#define LATE (T0 + 600 * SECOND)

static struct rama_wire_message counters_of(const char *job, unsigned process, uint64_t version,
					    int64_t bytes)
{
	static struct rama_wire_msg_gain total[2];

	total[0] = (struct rama_wire_msg_gain){ "POSIX",   bytes / 10, bytes / 100, 7,	  bytes,
						2 * bytes, bytes,      bytes,	    bytes };
	total[1] = (struct rama_wire_msg_gain){ "MPI-IO", 1, 1, 1, bytes, bytes, 1, 1, 1 };
	return (struct rama_wire_message){ .kind = RAMA_WIRE_MSG_COUNTERS,
					   .counters = { .segment = key_of(process),
							 .version = version,
							 .job = job,
							 .rank = -1,
							 .t = T0 + (int64_t)version * SECOND,
							 .since = T0,
							 .n = 2,
							 .total = total } };
}

static void sums_are(struct rama_store *s, int64_t bytes)
{
	assert_int_equal(number(s, "SELECT bytes_read FROM jobs"), bytes);
	assert_int_equal(number(s, "SELECT bytes_written FROM jobs"), 2 * bytes);
	assert_int_equal(number(s, "SELECT CAST(sum(bytes_read) AS BIGINT) FROM activity WHERE"
				   " layer = 'POSIX'"),
			 bytes);
	assert_int_equal(number(s, "SELECT CAST(sum(bytes_read) AS BIGINT) FROM counted WHERE"
				   " layer = 'MPI-IO'"),
			 bytes);
}

/* Four messages in all orders, each of them twice, in one batch or in many: the newest counts,
 * and nothing twice. */
static void any_order(void **state)
{
	static const int64_t bytes[4] = { 100, 5000, 5000, 90000 };

	(void)state;
	for (unsigned order = 0; order < 24; order++) {
		struct rama_store *s = fresh();
		unsigned left[4] = { 0, 1, 2, 3 }, code = order;

		for (unsigned n = 4; n > 0; n--) {
			unsigned pick = code % n, which = left[pick];
			struct rama_wire_message m =
				counters_of("7/run", 1, which + 1, bytes[which]);

			code /= n;
			left[pick] = left[n - 1];
			put_one(s, &m);
			begin(s);
			put(s, &m);
			put(s, &m);
			commit(s);
		}
		sums_are(s, 90000);
		assert_int_equal(number(s, "SELECT count(*) FROM activity WHERE width_ns <= 0"), 0);
		rama_store_close(s);
	}
}

/* An agent that told gains before it was replaced by one that tells where they stand. */
static void after_gains(void **state)
{
	struct rama_wire_msg_gain gain = { "POSIX", 4, 1, 3, 40, 80, 1, 1, 1 };
	struct rama_store *s = fresh();
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_ACTIVITY,
				       .activity = { .segment = key_of(1),
						     .job = "7/run",
						     .t = T0,
						     .width = SECOND,
						     .n = 1,
						     .gain = &gain } };

	(void)state;
	put_one(s, &m);
	put_one(s, &m);
	m.activity.t++;
	put_one(s, &m);
	assert_int_equal(number(s, "SELECT bytes_read FROM jobs"), 80);
	m = counters_of("7/run", 1, 9, 1000);
	put_one(s, &m);
	sums_are(s, 1000);
	rama_store_close(s);
}

/* the same moment twice, a clock that was set back, counters that go back, numbers that cannot
 * be */
static void odd_ones(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = counters_of("7/run", 1, 1, 1000);

	(void)state;
	put_one(s, &m);
	m = counters_of("7/run", 1, 2, 3000);
	m.counters.t = T0 + SECOND;
	put_one(s, &m);
	m = counters_of("7/run", 1, 3, 4000);
	m.counters.t = T0 - 5 * SECOND;
	put_one(s, &m);
	m = counters_of("7/run", 1, 4, 10);
	put_one(s, &m);
	sums_are(s, 4000);
	for (unsigned i = 0; i < 4; i++) {
		static const int64_t wild[] = { INT64_MIN, -1, INT64_MAX, 0 };

		m = counters_of("7/run", 1, 5 + i, 4000);
		m.counters.t = wild[i];
		m.counters.since = -wild[i ^ 1];
		m.counters.total[1].bytes_read = wild[i];
		put_one(s, &m);
	}
	assert_int_equal(number(s, "SELECT bytes_read FROM jobs"), 4000);
	assert_int_equal(number(s, "SELECT count(*) FROM activity WHERE width_ns <= 0"), 0);
	rama_store_close(s);
}

static void moves_along(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = counters_of("7/bare", 1, 1, 1000);

	(void)state;
	put_one(s, &m);
	m = process_of("7/mpi-5", 1, 2, 0);
	put_one(s, &m);
	m = counters_of("7/bare", 1, 3, 5000); /* late, under the old name */
	put_one(s, &m);
	sums_are(s, 5000);
	assert_int_equal(number(s, "SELECT count(*) FROM counted c JOIN jobs j ON j.number = c.job"
				   " WHERE j.key = '7/mpi-5'"),
			 2);
	rama_store_close(s);
}

/* ---- lost ------------------------------------------------------------------------------------ */

static void reap(struct rama_store *s, int64_t now)
{
	struct rama_err e = { 0 };

	rama_store_clock(s, now);
	if (rama_store_reap(s, now, &e) != 0)
		fail_msg("%s", e.text);
}

static struct rama_wire_message running(unsigned process, uint64_t version, int64_t seen)
{
	struct rama_wire_message m = process_of("7/run", process, version, process);

	m.process.start = T0;
	m.process.end = 0;
	m.process.seen_at = seen;
	m.process.state = RAMA_WIRE_STATE_RUNNING;
	return m;
}

static void lost_and_back(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = running(1, 1, T0 + 5 * SECOND);
	struct rama_err e = { 0 };

	(void)state;
	put_one(s, &m);
	m = running(2, 1, T0 + 8 * SECOND);
	put_one(s, &m);
	reap(s, T0 + 65 * SECOND);
	assert_int_equal(rama_store_stale(s, T0 + 65 * SECOND, &e), 0);
	assert_string_equal(text(s, "SELECT state FROM jobs"), "running");
	/* one of two: the job goes on */
	assert_int_equal(rama_store_stale(s, T0 + 66 * SECOND, &e), 1);
	reap(s, T0 + 66 * SECOND);
	assert_string_equal(text(s, "SELECT state FROM processes WHERE rank = 1"), "lost");
	assert_string_equal(text(s, "SELECT state FROM jobs"), "running");
	reap(s, T0 + 69 * SECOND);
	assert_string_equal(text(s, "SELECT state FROM jobs"), "lost");
	assert_int_equal(number(s, "SELECT end_ns FROM jobs"), T0 + 8 * SECOND);
	assert_int_equal(number(s, "SELECT CAST(run_time AS BIGINT) FROM jobs"), 8);
	/* what is only late changes nothing */
	m = block_of("7/run", 1, 0, 0, 10);
	put_one(s, &m);
	assert_string_equal(text(s, "SELECT state FROM jobs"), "lost");
	/* events, counters or a word of the process itself */
	rama_store_clock(s, LATE);
	m = counters_of("7/run", 2, 2, 100);
	m.counters.t = LATE - SECOND;
	put_one(s, &m);
	assert_string_equal(text(s, "SELECT state FROM jobs"), "running");
	assert_int_equal(number(s, "SELECT count(*) FROM jobs WHERE end_ns IS NULL AND run_time IS"
				   " NULL"),
			 1);
	assert_string_equal(text(s, "SELECT state FROM processes WHERE rank = 1"), "lost");
	m = running(1, 2, LATE);
	put_one(s, &m);
	assert_int_equal(number(s, "SELECT count(*) FROM processes WHERE state = 'running'"), 2);
	reap(s, LATE + 30 * SECOND);
	assert_string_equal(text(s, "SELECT state FROM jobs"), "running");
	reap(s, LATE + 100 * SECOND);
	assert_string_equal(text(s, "SELECT state FROM jobs"), "lost");
	/* its end, told late */
	m = running(1, 3, LATE);
	m.process.state = RAMA_WIRE_STATE_ENDED;
	m.process.end = LATE;
	put_one(s, &m);
	m = running(2, 3, LATE);
	m.process.state = RAMA_WIRE_STATE_ENDED;
	m.process.end = LATE;
	put_one(s, &m);
	assert_string_equal(text(s, "SELECT state FROM jobs"), "done");
	rama_store_close(s);
}

/* A clock that is ahead keeps nobody alive; one that is before the start makes no time negative. */
static void odd_clocks(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = running(1, 1, LATE);

	(void)state;
	put_one(s, &m);
	m = running(2, 1, T0 - SECOND);
	put_one(s, &m);
	assert_int_equal(number(s, "SELECT count(*) FROM processes WHERE seen_ns < start_ns"), 0);
	reap(s, T0 + 300 * SECOND);
	assert_string_equal(text(s, "SELECT state FROM jobs"), "lost");
	assert_int_equal(number(s, "SELECT count(*) FROM jobs WHERE run_time >= 0"), 1);
	m = running(1, 2, LATE);
	m.process.state = RAMA_WIRE_STATE_ENDED;
	m.process.end = T0 - 7790000;
	put_one(s, &m);
	m = running(2, 2, LATE);
	m.process.state = RAMA_WIRE_STATE_KILLED;
	m.process.end = T0 - 1;
	put_one(s, &m);
	assert_string_equal(text(s, "SELECT state FROM jobs"), "incomplete");
	assert_int_equal(number(s, "SELECT count(*) FROM jobs WHERE run_time = 0 AND end_ns ="
				   " start_ns"),
			 1);
	rama_store_close(s);
}

/* Jobs of which no process ever told anything: only names, only events. */
static void nobody_there(void **state)
{
	struct rama_wire_msg_name name = { 1, "/x", 2 };
	struct rama_store *s = fresh();
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_NAMES,
				       .names = { "7/names", 1, &name } };
	struct rama_err e = { 0 };
	int64_t jobs = 0;

	(void)state;
	put_one(s, &m);
	m = block_of("7/events", 3, 0, 0, 10);
	put_one(s, &m);
	reap(s, T0 + 80 * SECOND);
	assert_int_equal(number(s, "SELECT count(*) FROM jobs WHERE state = 'running'"), 1);
	reap(s, T0 + 100 * SECOND);
	assert_int_equal(number(s, "SELECT count(*) FROM jobs WHERE state = 'lost' AND end_ns > 0"),
			 2);
	if (rama_store_prune(s, LATE, false, &jobs, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(jobs, 2);
	assert_int_equal(number(s, "SELECT count(*) FROM jobs"), 0);
	assert_int_equal(number(s, "SELECT count(*) FROM files"), 0);
	rama_store_close(s);
}

/* An archive keeps it as it is. */
static void lost_in_an_archive(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = running(1, 1, T0 + 5 * SECOND);
	struct rama_err e = { 0 };
	char path[300];
	int64_t jobs = 0;

	(void)state;
	if (!is_sqlite())
		skip();
	snprintf(path, sizeof(path), "%s-archive", where());
	put_one(s, &m);
	m = counters_of("7/run", 1, 2, 1000);
	put_one(s, &m);
	rama_store_clock(s, LATE);
	if (rama_store_archive(s, path, LATE, &jobs, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(jobs, 1);
	rama_store_close(s);
	s = reopen_at(path, RAMA_STORE_READ);
	assert_string_equal(text(s, "SELECT state FROM processes"), "lost");
	assert_string_equal(text(s, "SELECT state FROM jobs"), "lost");
	assert_int_equal(number(s, "SELECT end_ns FROM jobs"), T0 + 5 * SECOND);
	assert_int_equal(number(s, "SELECT CAST(run_time AS BIGINT) FROM jobs"), 5);
	sums_are(s, 1000);
	rama_store_close(s);
}

/* ---- whose ----------------------------------------------------------------------------------- */

static void refused(struct rama_store *s, const struct rama_wire_message *m)
{
	struct rama_err e = { 0 };
	uint64_t stored = 0;

	begin(s);
	assert_int_equal(rama_store_put(s, m, &stored, &e), RAMA_ECORRUPT);
	assert_non_null(strstr(e.text, "another user's"));
	assert_int_equal(stored, 0);
	commit(s);
}

/* Nobody gets a process of another user, or adds to it, by naming its segment. */
static void never_another_users(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m = process_of("7/run", 1, 1, 0);
	char *before, *after;

	(void)state;
	put_one(s, &m);
	m = counters_of("7/run", 1, 2, 1000);
	put_one(s, &m);
	m = block_of("7/run", 1, 0, 0, 10);
	put_one(s, &m);
	before = content(s);
	m = process_of("8/run", 1, 99, 0);
	refused(s, &m);
	m = counters_of("77/run", 1, 99, 5000);
	refused(s, &m);
	m = block_of("8/run", 1, 0, 10, 10);
	refused(s, &m);
	m = process_of("7", 1, 99, 0);
	put_one(s, &m); /* the same user, and a job without a name */
	m = process_of("7/run", 1, 100, 0);
	put_one(s, &m);
	m = block_of("8/run", 2, 0, 0, 10); /* what comes first says whose it is */
	put_one(s, &m);
	m = process_of("7/run", 2, 1, 0);
	refused(s, &m);
	after = content(s);
	assert_non_null(strstr(after, "8/run"));
	assert_null(strstr(before, "8/run"));
	assert_int_equal(number(s, "SELECT events FROM jobs WHERE key = '7/run'"), 10);
	assert_int_equal(number(s, "SELECT bytes_read FROM jobs WHERE key = '7/run'"), 1000);
	free(before);
	free(after);
	rama_store_close(s);
}

UNIT_GROUP(counted, test(any_order), test(after_gains), test(odd_ones), test(moves_along),
	   test(lost_and_back), test(odd_clocks), test(nobody_there), test(lost_in_an_archive),
	   test(never_another_users))
