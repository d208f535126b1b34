/* SPDX-License-Identifier: BSD-3-Clause */
/* files that are no stores, older and newer ones, others that use the store at the same time,
 * disks that are full */
#include "help.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/db.h"
#include "store/sqlite/sqlite.h"

static void write_file(const char *path, const void *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), n);
	close(fd);
}

static char *sibling(const char *name)
{
	static char path[300];

	snprintf(path, sizeof(path), "%s-%s", where(), name);
	return path;
}

/* the error is this one, in one line that says so */
static void refused(const char *path, unsigned flags, int code, const char *words)
{
	struct rama_err e = { 0 };
	struct rama_store *s = NULL;

	assert_int_equal(rama_store_open(&s, path, flags, &e), code);
	assert_null(strchr(e.text, '\n'));
	if (strstr(e.text, words) == NULL)
		fail_msg("'%s' does not say '%s'", e.text, words);
}

static void execute(const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_close(db);
}

#define ALL (RAMA_STORE_WRITE | RAMA_STORE_CREATE)

static void private_and_made(void **state)
{
	struct rama_store *s;
	struct stat st;
	char dir[300];

	(void)state;
	if (!is_sqlite())
		skip();
	s = fresh();
	assert_int_equal(stat(where(), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(sibling("wal"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	snprintf(dir, sizeof(dir), "%s", where());
	*strrchr(dir, '/') = '\0';
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	rama_store_close(s);
	refused(sibling("not/there"), RAMA_STORE_READ, RAMA_EMISSING, "no store here yet");
	refused(sibling("absent"), RAMA_STORE_WRITE, RAMA_EMISSING, "no store here yet");
	assert_int_equal(access(sibling("absent"), F_OK), -1);
	assert_int_equal(symlink(where(), sibling("link")), 0);
	refused(sibling("link"), RAMA_STORE_READ, RAMA_EIO, "a link");
	refused(sibling("link"), ALL, RAMA_EIO, "a link");
	assert_int_equal(mkfifo(sibling("fifo"), 0600), 0);
	refused(sibling("fifo"), RAMA_STORE_READ, RAMA_EFORMAT, "not a file");
	refused(dir, RAMA_STORE_READ, RAMA_EFORMAT, "not a file");
	refused("/", RAMA_STORE_READ, RAMA_EUSAGE, "no name");
}

/* Is the file locked by this process, as another one sees it? */
static bool is_locked(const char *path)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int status, fd;
	pid_t pid = fork();

	if (pid == 0) {
		fd = open(path, O_RDWR);
		_exit(fd < 0 || fcntl(fd, F_GETLK, &l) != 0 ? 2 : l.l_type != F_UNLCK);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
	return WEXITSTATUS(status) == 1;
}

/* One connection of a process comes and goes: the others keep their locks, without which another
 * program would take away the log of writes that they still use. */
static void locks_are_kept(void **state)
{
	struct rama_store *s = fresh(), *other;

	(void)state;
	if (!is_sqlite()) {
		rama_store_close(s);
		skip();
	}
	assert_int_equal(number(s, "SELECT count(*) FROM jobs"), 0);
	assert_true(is_locked(where()));
	other = reopen(RAMA_STORE_WRITE);
	assert_true(is_locked(where()));
	rama_store_close(other);
	other = reopen_at(where(), ALL);
	rama_store_close(other);
	assert_true(is_locked(where()));
	rama_store_close(s);
	assert_false(is_locked(where()));
}

static void not_a_store(void **state)
{
	unsigned char junk[100000];
	struct rng r = { 4 };

	(void)state;
	if (!is_sqlite())
		skip();
	rama_store_close(fresh());
	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (unsigned char)rng_u64(&r);
	write_file(sibling("junk"), junk, sizeof(junk));
	refused(sibling("junk"), RAMA_STORE_READ, RAMA_EFORMAT, "not a database");
	refused(sibling("junk"), ALL, RAMA_EFORMAT, "not a database");
	write_file(sibling("text"), "hello\n", 6);
	refused(sibling("text"), ALL, RAMA_EFORMAT, "not a database");
	execute(sibling("other"), "CREATE TABLE meta (a); CREATE TABLE mine (b)");
	refused(sibling("other"), ALL, RAMA_EFORMAT, "something else");
	execute(sibling("odd"), "CREATE TABLE meta (key, value); CREATE TABLE jobs (number)");
	refused(sibling("odd"), ALL, RAMA_EFORMAT, "without a version");
	write_file(sibling("empty"), "", 0);
	refused(sibling("empty"), RAMA_STORE_READ, RAMA_EMISSING, "empty");
	rama_store_close(reopen_at(sibling("empty"), ALL)); /* as good as none */
}

static int count_events(void *ctx, const struct rama_store_stored_event *ev, struct rama_err *e)
{
	(void)ev, (void)e;
	++*(uint64_t *)ctx;
	return 0;
}

/* A store that was cut, or has other bytes here and there: an error or an answer, no crash, and
 * one line. */
static void damaged_files(void **state)
{
	struct rama_store *s;
	unsigned char *bytes;
	struct stat st;
	struct rng r = { 8 };
	unsigned refusals = 0;
	int fd;

	(void)state;
	if (!is_sqlite())
		skip();
	s = fresh();
	begin(s);
	for (unsigned p = 0; p < 4; p++) {
		struct rama_wire_message m = process_of("7/run", p, 1, p);

		put(s, &m);
		m = block_of("7/run", p, 0, 0, 3000);
		put(s, &m);
	}
	commit(s);
	rama_store_close(s);
	assert_int_equal(stat(where(), &st), 0);
	bytes = malloc((size_t)st.st_size);
	fd = open(where(), O_RDONLY);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	for (int i = 0; i < 60; i++) {
		size_t n = (size_t)st.st_size, at = rng_below(&r, n - 4096);
		unsigned char kept[4096];
		struct rama_err e = { 0 };

		memcpy(kept, bytes + at, sizeof(kept));
		if (i % 3 == 0)
			n = at;
		else
			for (size_t k = 0; k < (i % 3 == 1 ? 1 : sizeof(kept)); k++)
				bytes[at + k] ^= (unsigned char)(1 + rng_below(&r, 255));
		write_file(sibling("damaged"), bytes, n);
		memcpy(bytes + at, kept, sizeof(kept));
		if (rama_store_open(&s, sibling("damaged"), RAMA_STORE_READ, &e) == 0) {
			struct rama_store_event_filter f = {
				.order = RAMA_STORE_ORDER_TIME_JOB_RANK, .job = -1, .rank = -1
			};
			struct rama_store_counts c;
			uint64_t n_events = 0;

			refusals += rama_store_events(s, &f, count_events, &n_events, &e) != 0;
			rama_store_stats(s, &c, &e);
			rama_store_close(s);
		} else {
			refusals++;
		}
		assert_null(strchr(e.text, '\n'));
		unlink(sibling("damaged-wal"));
		unlink(sibling("damaged-shm"));
	}
	assert_in_range(refusals, 20, 60);
	free(bytes);
}

/* random bytes where a block was: said with its number, others can be read */
static void damaged_block(void **state)
{
	struct rama_store_event_filter f = { .job = 1, .rank = 0 };
	struct rama_wire_message m;
	struct rama_err e = { 0 };
	struct rama_store *s;
	uint64_t n = 0;

	(void)state;
	if (!is_sqlite())
		skip();
	s = fresh();
	for (unsigned p = 0; p < 2; p++) {
		m = process_of("7/run", p, 1, p);
		put_one(s, &m);
		m = block_of("7/run", p, 0, 0, 3000);
		put_one(s, &m);
	}
	execute(where(), "UPDATE blocks SET body = randomblob(5000) WHERE number = 1");
	assert_int_equal(rama_store_events(s, &f, count_events, &n, &e), RAMA_ECORRUPT);
	assert_non_null(strstr(e.text, "block 1: "));
	f.rank = 1;
	assert_int_equal(rama_store_events(s, &f, count_events, &n, &e), 0);
	assert_int_equal(n, 3000);
	rama_store_close(s);
}

/* ---- versions -------------------------------------------------------------------------------- */

/* a store as the first version made it, with a job, and with counters of a program that knew
 * fewer */
static void make_old(const char *path)
{
	sqlite3 *db;

	unlink(path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	for (const char *const *part = rama_store_sqlite_schema[0]; *part != NULL; part++)
		assert_int_equal(sqlite3_exec(db, *part, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	execute(path, "INSERT INTO meta VALUES ('schema', '1'), ('tables', 'abc'),"
		      " ('counters_posix', ' posix_opens posix_reads ');"
		      "CREATE TABLE counters_posix (job INTEGER NOT NULL, number INTEGER NOT NULL, "
		      "rank INTEGER NOT NULL,"
		      " record INTEGER NOT NULL, posix_opens INTEGER, posix_reads INTEGER, PRIMARY "
		      "KEY (job, number))"
		      " STRICT, WITHOUT ROWID;"
		      "INSERT INTO jobs (key, name, start_ns, end_ns, state) VALUES ('7/old', "
		      "'sim', 5000000000, 6000000000, 'done');"
		      "INSERT INTO findings VALUES (1, 0, 'W01', 'HIGH', '', '', '', 2.5, 0),"
		      " (1, 1, 'M01', 'WARN', '', '', '', 0.5, 0),"
		      " (1, 2, 'X01', 'INFO', '', '', '', 9, 0);"
		      "INSERT INTO counters_posix VALUES (1, 0, 0, 77, 5, 6)");
}

static void older_is_brought_up(void **state)
{
	struct rama_store *s;

	(void)state;
	if (!is_sqlite())
		skip();
	rama_store_close(fresh());
	make_old(sibling("old"));
	refused(sibling("old"), RAMA_STORE_READ, RAMA_EVERSION, "iorama store upgrade");
	s = reopen_at(sibling("old"), RAMA_STORE_WRITE);
	assert_string_equal(text(s, "SELECT start_text FROM job_times"), "1970-01-01T00:00:05Z");
	assert_int_equal(number(s, "SELECT posix_reads FROM counters_posix WHERE job = 1"), 6);
	assert_string_equal(text(s, "SELECT posix_writes FROM counters_posix WHERE job = 1"),
			    "null");
	assert_string_equal(text(s, "SELECT value FROM meta WHERE key = 'schema'"), "8");
	assert_int_equal(number(s, "SELECT value FROM totals WHERE name = 'findings' AND a = "
				   "'W01' AND b = 'HIGH'"),
			 1);
	assert_int_equal(number(s, "SELECT count(*) FROM totals WHERE name = 'findings'"), 3);
	assert_int_equal(number(s, "SELECT count(*) FROM notices"), 0);
	assert_string_equal(text(s, "SELECT batch_account || batch_nodes FROM jobs"), "");
	assert_int_equal(number(s, "SELECT CAST(10 * cost AS INTEGER) FROM jobs"), 30);
	rama_store_close(s);
	s = reopen_at(sibling("old"), RAMA_STORE_READ);
	assert_int_equal(number(s, "SELECT count(*) FROM jobs"), 1);
	rama_store_close(s);
}

static void newer_is_refused(void **state)
{
	(void)state;
	if (!is_sqlite())
		skip();
	rama_store_close(fresh());
	execute(where(), "UPDATE meta SET value = '99' WHERE key = 'schema'");
	refused(where(), RAMA_STORE_READ, RAMA_EVERSION, "newer iorama");
	refused(where(), ALL, RAMA_EVERSION, "newer iorama");
}

/* ---- others ---------------------------------------------------------------------------------- */

static void locked_for_a_while(void **state)
{
	struct rama_store *s = fresh(), *other = reopen(RAMA_STORE_WRITE);
	struct rama_wire_message m = block_of("7/run", 1, 0, 0, 100);
	struct rama_err e = { 0 };

	(void)state;
	if (!is_sqlite()) { /* rows are locked there, not the whole */
		rama_store_close(s);
		rama_store_close(other);
		skip();
	}
	begin(other);
	rama_store_wait(s, 10);
	assert_int_equal(rama_store_begin(s, &e), RAMA_EIO);
	assert_true(rama_store_temporary(s));
	assert_string_equal(e.text, "another program holds the store");
	commit(other);
	assert_int_equal(put_one(s, &m), 100);
	rama_store_close(s);
	rama_store_close(other);
}

static void reader_sees_what_is_committed(void **state)
{
	struct rama_store *s = fresh(), *r;
	struct rama_wire_message m = block_of("7/run", 1, 0, 0, 100);

	(void)state;
	put_one(s, &m);
	r = reopen(RAMA_STORE_READ);
	begin(s);
	m = block_of("7/run", 1, 0, 100, 50);
	put(s, &m);
	assert_int_equal(number(r, "SELECT CAST(sum(n) AS BIGINT) FROM blocks"), 100);
	commit(s);
	assert_int_equal(number(r, "SELECT CAST(sum(n) AS BIGINT) FROM blocks"), 150);
	assert_int_equal(number(r, "SELECT events FROM jobs"), 150);
	rama_store_close(r);
	rama_store_close(s);
}

static void only_reads(void **state)
{
	static const char *const wrong[] = {
		"DELETE FROM jobs",
		"INSERT INTO jobs (key) VALUES ('x')",
		"DROP TABLE jobs",
		"CREATE TABLE t (a INTEGER)",
		"UPDATE jobs SET key = 'y'",
		"SELECT 1; DELETE FROM jobs",
		"",
	};
	struct rama_store *s = fresh();
	struct rama_wire_message m = block_of("7/run", 1, 0, 0, 10);
	uint64_t n = 0;

	(void)state;
	put_one(s, &m);
	for (size_t i = 0; i < LENGTH(wrong); i++) {
		struct rama_err e = { 0 };

		assert_int_not_equal(rama_store_select(s, wrong[i], NULL, 0, NULL, &n, &e), 0);
		assert_string_not_equal(e.text, "");
	}
	if (is_sqlite()) {
		struct rama_err e = { 0 };

		assert_int_not_equal(rama_store_select(s, "ATTACH 'x' AS x", NULL, 0, NULL, &n, &e),
				     0);
		assert_int_not_equal(rama_store_select(s, "PRAGMA journal_mode = DELETE", NULL, 0,
						       NULL, &n, &e),
				     0);
	}
	assert_int_equal(number(s, "SELECT count(*) FROM jobs"), 1);
	rama_store_close(s);
}

/* two processes put the same messages at the same time: what one leaves out the other has
 * brought */
static void writer(unsigned who)
{
	struct rama_store *s = reopen(RAMA_STORE_WRITE);
	struct rng r = { who };

	rama_store_wait(s, 60000);
	for (unsigned i = 0; i < 60; i++) {
		uint64_t first = i < 3 ? 0 : (i / 3) * 400 + rng_below(&r, 200);
		struct rama_wire_message m = block_of("7/run", i % 3, 0, first, 600);
		struct rama_err e = { 0 };
		int rc = -1;

		while (rc != 0) {
			rc = rama_store_begin(s, &e);
			if (rc == 0)
				rc = rama_store_put(s, &m, NULL, &e);
			if (rc == 0)
				rc = rama_store_commit(s, &e);
			if (rc != 0 && !rama_store_temporary(s))
				_exit(2);
			if (rc != 0)
				rama_store_rollback(s);
		}
	}
	rama_store_close(s);
	_exit(0);
}

static void ignore_flaw(void *ctx, const char *line)
{
	if (strstr(line, "have no name") == NULL)
		print_message("%s\n", line);
	*(int *)ctx += strstr(line, "have no name") == NULL;
}

static void two_writers(void **state)
{
	struct rama_store *s;
	struct rama_err e = { 0 };
	pid_t child[2];
	int flaws = 0;

	(void)state;
	rama_store_close(fresh());
	for (unsigned i = 0; i < 2; i++) {
		child[i] = fork();
		if (child[i] == 0)
			writer(i);
	}
	for (unsigned i = 0; i < 2; i++) {
		int status;

		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
	s = reopen(RAMA_STORE_READ);
	if (rama_store_verify(s, ignore_flaw, &flaws, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(flaws, 0);
	assert_int_equal(number(s, "SELECT count(*) FROM jobs"), 1);
	assert_int_equal(number(s, "SELECT count(*) FROM processes"), 3);
	rama_store_close(s);
}

/* ---- disks ----------------------------------------------------------------------------------- */

static void full_disk(void **state)
{
	struct rama_store *s;
	struct rlimit old, small = { 2 << 20, RLIM_INFINITY };
	struct rama_err e = { 0 };
	uint64_t committed = 0;
	int rc = 0;

	(void)state;
	if (!is_sqlite())
		skip();
	s = fresh();
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	for (unsigned i = 0; rc == 0 && i < 400; i++) {
		struct rama_wire_message m = block_of("7/run", i, 0, 0, 4000);
		uint64_t stored = 0;

		rc = rama_store_begin(s, &e);
		if (rc == 0)
			rc = rama_store_put(s, &m, &stored, &e);
		if (rc == 0)
			rc = rama_store_commit(s, &e);
		if (rc == 0)
			committed += stored;
	}
	assert_int_equal(rc, RAMA_EIO);
	assert_true(rama_store_temporary(s));
	rama_store_rollback(s);
	assert_int_equal(number(s, "SELECT CAST(sum(events) AS BIGINT) FROM jobs"), committed);
	setrlimit(RLIMIT_FSIZE, &old); /* somebody has made room */
	for (unsigned i = 0; i < 2; i++) {
		struct rama_wire_message m = block_of("7/run", 1000 + i, 0, 0, 4000);

		committed += put_one(s, &m);
	}
	rama_store_close(s);
	s = reopen(RAMA_STORE_READ);
	assert_int_equal(number(s, "SELECT CAST(sum(n) AS BIGINT) FROM blocks"), committed);
	rama_store_close(s);
}

UNIT_GROUP(open, test(private_and_made), test(locks_are_kept), test(not_a_store),
	   test(damaged_files), test(damaged_block), test(older_is_brought_up),
	   test(newer_is_refused), test(locked_for_a_while), test(reader_sees_what_is_committed),
	   test(only_reads), test(two_writers), test(full_disk))
