/* SPDX-License-Identifier: BSD-3-Clause */
/* what goes, what moves to another store, and whether all is there */
#include "help.h"

#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOUR 3600000000000ll
#define EACH 5000

static void execute(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(where(), &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void name_files(struct rama_store *s, const char *job)
{
	struct rama_wire_msg_name name[7];

	for (unsigned i = 0; i < 7; i++)
		name[i] = (struct rama_wire_msg_name){ 0xf000000000000000u + i, "/data/file", 10 };
	put(s,
	    &(struct rama_wire_message){ .kind = RAMA_WIRE_MSG_NAMES, .names = { job, 7, name } });
}

/* Jobs 0..n-1 of two processes; job i ended i hours after T0, the last one runs. */
static void fill(struct rama_store *s, unsigned n)
{
	struct rama_wire_msg_gain gain = { "POSIX", 10, 20, 3, 1000, 2000, 100, 200, 30 };
	struct rama_wire_msg_figure f = { "load", 3 };

	for (unsigned i = 0; i < n; i++) {
		char key[16];

		snprintf(key, sizeof(key), "7/job%u", i);
		begin(s);
		for (unsigned p = 10 * i; p < 10 * i + 2; p++) {
			struct rama_wire_message m = block_of(key, p, 0, 0, EACH);

			put(s, &m);
			m = process_of(key, p, 1, p % 10);
			m.process.made = EACH + (p % 10 == 1 ? 50 : 0);
			if (i + 1 < n) {
				m.process.end = T0 + (int64_t)i * HOUR;
				m.process.state = RAMA_WIRE_STATE_ENDED;
			}
			put(s, &m);
			m = (struct rama_wire_message){ .kind = RAMA_WIRE_MSG_ACTIVITY,
							.activity = { .job = key,
								      .t = T0,
								      .width = 1,
								      .n = 1,
								      .gain = &gain } };
			m.activity.segment = key_of(p);
			put(s, &m);
		}
		put(s, &(struct rama_wire_message){ .kind = RAMA_WIRE_MSG_LOSS,
						    .loss = { "agent", i, key, "full", 50, 1 } });
		put(s, &(struct rama_wire_message){
			       .kind = RAMA_WIRE_MSG_SAMPLE,
			       .sample = { "node1", T0 + (int64_t)i * HOUR, 1, &f } });
		name_files(s, key);
		commit(s);
	}
}

static char lines[4000];

static void add_line(void *ctx, const char *line)
{
	size_t n = strlen(lines);

	(void)ctx;
	snprintf(lines + n, sizeof(lines) - n, "%s\n", line);
}

/* flaws it finds; the lines are in `lines` */
static int64_t verify(void)
{
	struct rama_store *s = reopen(RAMA_STORE_READ);
	struct rama_err e = { 0 };
	int64_t n;

	lines[0] = '\0';
	n = rama_store_verify(s, add_line, NULL, &e);
	if (n < 0)
		fail_msg("%s", e.text);
	rama_store_close(s);
	return n;
}

static void whole(void)
{
	if (verify() != 0)
		fail_msg("%s", lines);
}

static void pruned(void **state)
{
	struct rama_store *s = fresh();
	struct rama_store_counts before, c;
	struct rama_err e = { 0 };
	int64_t jobs;

	(void)state;
	fill(s, 5);
	assert_int_equal(rama_store_stats(s, &before, &e), 0);
	assert_int_equal(before.jobs, 5);
	assert_int_equal(before.events, 5 * 2 * EACH);
	assert_int_equal(before.lost, 250);
	assert_int_equal(before.samples, 5);
	assert_int_equal(before.files, 35);
	assert_int_equal(rama_store_prune(s, T0 + HOUR + 1, true, &jobs, &e), 0);
	assert_int_equal(jobs, 2);
	assert_int_equal(rama_store_prune(s, T0 + HOUR + 1, true, &jobs, &e), 0);
	assert_int_equal(jobs, 0); /* done already */
	assert_int_equal(rama_store_stats(s, &c, &e), 0);
	assert_int_equal(c.jobs, 5);
	assert_int_equal(c.events, 3 * 2 * EACH);
	assert_int_equal(c.samples, 5);
	if (is_sqlite())
		assert_true(c.bytes < before.bytes);
	assert_int_equal(number(s, "SELECT count(*) FROM rollups r JOIN jobs j ON j.number = r.job "
				   "WHERE j.pruned = 1"),
			 0);
	assert_int_equal(number(s, "SELECT events FROM jobs WHERE key = '7/job0'"),
			 2 * EACH); /* so many there were */
	whole();
	assert_int_equal(rama_store_prune(s, T0 + HOUR + 1, false, &jobs, &e), 0);
	assert_int_equal(jobs, 2);
	assert_int_equal(rama_store_prune(s, T0 + 100 * HOUR, false, &jobs, &e), 0);
	assert_int_equal(jobs, 2); /* the last one runs */
	assert_int_equal(number(s, "SELECT count(*) FROM jobs"), 1);
	assert_int_equal(number(s, "SELECT count(*) FROM processes"), 2);
	assert_int_equal(number(s, "SELECT count(*) FROM files"), 7);
	assert_int_equal(number(s, "SELECT count(*) FROM losses"), 1);
	assert_int_equal(number(s, "SELECT count(*) FROM samples"), 0);
	assert_int_equal(rama_store_stats(s, &c, &e), 0);
	if (is_sqlite())
		assert_true(c.bytes < before.bytes - 4 * 2 * EACH);
	whole();
	rama_store_close(s);
}

static const char *other(void)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s-archive", is_sqlite() ? where() : "/tmp/iorama-test");
	return path;
}

static void clean_other(void)
{
	char path[320];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", other(),
			 i == 0	  ? ""
			 : i == 1 ? "-wal"
				  : "-shm");
		unlink(path);
	}
}

/* what a store has, without the jobs that are told */
static char *content_of(const char *path)
{
	struct rama_store *s = reopen_at(path, RAMA_STORE_READ);
	char *c = content(s);

	rama_store_close(s);
	return c;
}

static void archived(void **state)
{
	struct rama_store *s = fresh();
	struct rama_wire_message m;
	struct rama_err e = { 0 };
	int64_t jobs;
	char *before, *after;

	(void)state;
	clean_other();
	fill(s, 3); /* two ended, one runs */
	rama_store_close(s);
	before = content_of(where());
	s = reopen(RAMA_STORE_WRITE);
	if (rama_store_archive(s, other(), T0 + 100 * HOUR, &jobs, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(jobs, 2);
	assert_int_equal(number(s, "SELECT count(*) FROM jobs"), 1);
	assert_int_equal(number(s, "SELECT count(*) FROM blocks"), 2);
	rama_store_close(s);
	/* every line that was here is here or there */
	after = content_of(other());
	for (char *line = strtok(after, "\n"); line != NULL; line = strtok(NULL, "\n"))
		assert_non_null(strstr(before, line));
	free(after);
	s = reopen_at(other(), RAMA_STORE_READ);
	assert_int_equal(number(s, "SELECT CAST(sum(events) AS BIGINT) FROM jobs"), 4 * EACH);
	assert_int_equal(number(s, "SELECT CAST(sum(ops) AS BIGINT) FROM rollups"), 4 * EACH);
	assert_int_equal(number(s, "SELECT count(*) FROM activity"), 4);
	assert_int_equal(number(s, "SELECT reads FROM jobs WHERE key = '7/job1'"), 20);
	assert_int_equal(number(s, "SELECT files FROM jobs WHERE key = '7/job1'"), 7);
	lines[0] = '\0';
	assert_int_equal(rama_store_verify(s, add_line, NULL, &e), 0);
	rama_store_close(s);
	/* late messages, of a job that is there already, join it */
	s = reopen(RAMA_STORE_WRITE);
	m = process_of("7/job0", 0, 2, 0);
	m.process.made = EACH + 10;
	m.process.end = T0;
	m.process.state = RAMA_WIRE_STATE_ENDED;
	put_one(s, &m);
	m = block_of("7/job0", 0, 0, EACH - 100, 110);
	assert_int_equal(put_one(s, &m), 110);
	if (rama_store_archive(s, other(), T0 + 100 * HOUR, &jobs, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(jobs, 1);
	rama_store_close(s);
	s = reopen_at(other(), RAMA_STORE_READ);
	assert_int_equal(number(s, "SELECT events FROM jobs WHERE key = '7/job0'"), 2 * EACH + 10);
	assert_int_equal(rama_store_verify(s, add_line, NULL, &e), 0);
	rama_store_close(s);
	free(before);
	clean_other();
}

static void not_into_itself(void **state)
{
	struct rama_store *s = fresh();
	struct rama_err e = { 0 };
	int64_t jobs;

	(void)state;
	fill(s, 3);
	assert_int_equal(rama_store_archive(s, where(), T0 + 100 * HOUR, &jobs, &e), RAMA_EUSAGE);
	assert_int_equal(number(s, "SELECT count(*) FROM jobs"), 3);
	assert_int_equal(number(s, "SELECT count(*) FROM meta WHERE key LIKE 'archive%'"), 0);
	rama_store_close(s);
}

/* Killed at any moment, started again until it is done: every job is in one of the two, whole. */
static void killed_while_it_moves(void **state)
{
	struct rama_store *s = fresh();
	struct rama_err e = { 0 };
	struct rng r = { 21 };
	int64_t jobs;
	unsigned kills = 0;
	int status = -1;

	(void)state;
	clean_other();
	fill(s, 9);
	rama_store_close(s);
	while (status != 0) {
		pid_t child = fork();

		if (child == 0) {
			s = reopen(RAMA_STORE_WRITE);
			_exit(rama_store_archive(s, other(), T0 + 100 * HOUR, &jobs, &e) == 0 ? 0
											      : 1);
		}
		if (kills < 25) { /* a little later each time */
			usleep((useconds_t)(kills * 1500 + rng_below(&r, 3000)));
			kill(child, SIGKILL);
			kills++;
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(status == 0 || WIFSIGNALED(status));
		if (status != 0 && access(other(), F_OK) == 0 && kills % 5 == 0) {
			struct rama_store *a = NULL, *b = reopen(RAMA_STORE_READ);
			int64_t here = number(b, "SELECT count(*) FROM jobs"), there = 0;

			if (rama_store_open(&a, other(), RAMA_STORE_READ, &e) == 0)
				there = number(a, "SELECT count(*) FROM jobs WHERE events = 10000");
			assert_true(here + there >= 9);
			rama_store_close(a);
			rama_store_close(b);
		}
	}
	whole();
	s = reopen_at(other(), RAMA_STORE_READ);
	assert_int_equal(number(s, "SELECT count(*) FROM jobs"), 8);
	assert_int_equal(number(s, "SELECT CAST(sum(n) AS BIGINT) FROM blocks"), 8 * 2 * EACH);
	lines[0] = '\0';
	if (rama_store_verify(s, add_line, NULL, &e) != 0)
		fail_msg("%s", lines);
	rama_store_close(s);
	clean_other();
}

/* each flaw is found, and told as what it is */
static void flaws(void **state)
{
	static const struct {
		const char *sql, *says;
	} cases[] = {
		{ "UPDATE blocks SET body = CAST(substr(body, 1, 200) || x'0102030405060708' || "
		  "substr(body, 209) AS BLOB) WHERE number = 2",
		  "job 7/job0: rank 1: block 2: " },
		{ "DELETE FROM blocks WHERE number = 2", "rank 1: 0 events, its row says 5000" },
		{ "DELETE FROM blocks WHERE number = 2; UPDATE processes SET stored = 0 WHERE "
		  "number = 2;UPDATE jobs SET events = 5000 WHERE number = 1; DELETE FROM rollups"
		  " WHERE process = 2",
		  "job 7/job0: 5050 events are missing, 50 were told as lost" },
		{ "UPDATE losses SET events = 49 WHERE job = 1",
		  "50 events are missing, 49 were told" },
		{ "UPDATE rollups SET bytes = bytes + 1 WHERE process = 1 AND kind = 'read' AND "
		  "layer = 'POSIX' AND"
		  " second = (SELECT min(second) FROM rollups)",
		  "rank 0: 1 sums per second are not those of the events; second 1700000000, POSIX "
		  "read" },
		{ "DELETE FROM rollups WHERE process = 1 AND kind = 'meta' AND layer = 'STDIO'",
		  "rank 0: 5 sums per second are not those of the events; second 1700000000, STDIO "
		  "meta: not there" },
		{ "DELETE FROM files WHERE job = 1 AND record = -1152921504606846974",
		  "job 7/job0: 1 files that its events are about have no name, one is record "
		  "-1152921504606846974" },
		{ "UPDATE blocks SET t0 = t0 - 1 WHERE number = 1",
		  "block 1: times in its row are not those" },
		{ "UPDATE blocks SET n = 4999 WHERE number = 1",
		  "it has 5000 events, its row says 4999" },
		{ "UPDATE blocks SET first = first + 5 WHERE number = 1", "events are missing" },
		{ "INSERT INTO blocks SELECT 99, process, lane, 1, n, job, rank, t0, t1, tid, "
		  "lost, body FROM blocks"
		  " WHERE number = 1",
		  "are there twice" },
		{ "UPDATE blocks SET rank = 7 WHERE number = 1",
		  "block 1 is kept under job 1, rank 7" },
		{ "UPDATE jobs SET events = 1 WHERE number = 1",
		  "job 7/job0: 1 events, its processes have 10000" },
		{ "DELETE FROM jobs WHERE number = 1", "2 processes of no job" },
		{ "DELETE FROM processes WHERE number = 1", "1 blocks of no process" },
	};

	(void)state;
	if (!is_sqlite())
		skip();
	for (size_t i = 0; i < LENGTH(cases); i++) {
		struct rama_store *s = fresh();

		fill(s, 2);
		rama_store_close(s);
		whole();
		execute(cases[i].sql);
		assert_true(verify() > 0);
		if (strstr(lines, cases[i].says) == NULL)
			fail_msg("%s:\n%s", cases[i].sql, lines);
	}
}

UNIT_GROUP(upkeep, test(pruned), test(archived), test(not_into_itself), test(killed_while_it_moves),
	   test(flaws))
