/* SPDX-License-Identifier: BSD-3-Clause */
/* spool.c: messages on disk. What message number n holds follows from n, so that every reader
 * can check it. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <pthread.h>
#include <dirent.h>
#include <unistd.h>

#include "agent/spool.h"

#define LIMIT (64ull << 20)
#define BIG 300000

static char dir[64];
static unsigned told;

static void tell(void *ctx, const char *line)
{
	(void)ctx;
	(void)line;
	told++;
}

static void make_dir(void)
{
	/* in memory where that can be had: not the disk is tried here */
	snprintf(dir, sizeof(dir), "%s/iorama-spool-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(dir));
	told = 0;
}

static void remove_dir(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

static struct rama_agent_spool *open_spool(uint64_t limit)
{
	struct rama_agent_spool *s;
	struct rama_err e = { 0 };

	if (rama_agent_spool_open(&s, dir, limit, tell, NULL, &e) != 0)
		fail_msg("%s", e.text);
	return s;
}

static size_t size_of(uint64_t number)
{
	struct rng r = { .state = number };
	uint64_t x = rng_u64(&r);

	return x % 10 == 0 ? x / 10 % BIG : x / 10 % 2000;
}

static void fill(unsigned char *to, uint64_t number)
{
	for (size_t i = 0; i < size_of(number); i++)
		to[i] = (unsigned char)(number * 31 + i + (i >> 8));
}

static int append(struct rama_agent_spool *s, uint64_t number)
{
	static unsigned char bytes[BIG], copy[BIG];
	struct rama_err e = { 0 };
	uint64_t got = 0;
	int rc;

	fill(bytes, number);
	memcpy(copy, bytes, sizeof(copy));
	rc = rama_agent_spool_append(s, bytes, size_of(number), &got, &e);
	if (rc == 0)
		assert_int_equal(got, number);
	assert_memory_equal(bytes, copy, sizeof(copy));
	return rc;
}

static void check(const struct rama_bus_parcel *p)
{
	static unsigned char bytes[BIG];

	assert_int_equal(p->len, size_of(p->number));
	fill(bytes, p->number);
	assert_memory_equal(p->bytes, bytes, p->len);
}

/* reads [from, to) and finds all of them */
static void read_all(struct rama_agent_spool *s, uint64_t from, uint64_t to)
{
	struct rama_bus_parcel p[100];
	struct rama_err e = { 0 };

	while (from < to) {
		int n = rama_agent_spool_read(s, from, p, 1 + from % 100, &e);

		if (n <= 0)
			fail_msg("message %llu: %d %s", (unsigned long long)from, n, e.text);
		for (int i = 0; i < n; i++, from++) {
			assert_int_equal(p[i].number, from);
			check(&p[i]);
		}
	}
	assert_int_equal(from, to);
	assert_int_equal(rama_agent_spool_read(s, to, p, 100, &e), 0);
}

static unsigned files(void)
{
	struct dirent *entry;
	DIR *d = opendir(dir);
	unsigned n = 0;

	while ((entry = readdir(d)) != NULL)
		n += strstr(entry->d_name, ".spool") != NULL;
	closedir(d);
	return n;
}

static void what_is_appended_is_read_and_goes_when_committed(void **state)
{
	struct rama_agent_spool_state st;
	struct rama_agent_spool *s;
	struct rama_err e;

	(void)state;
	make_dir();
	s = open_spool(LIMIT);
	for (uint64_t i = 1; i <= 1000; i++)
		assert_int_equal(append(s, i), 0);
	read_all(s, 1, 1001);
	read_all(s, 400, 1001); /* once more, from the middle */
	rama_agent_spool_state(s, &st);
	assert_true(st.next == 1001 && st.committed == 0 && st.messages == 1000 && !st.full);
	assert_true(files() > 2);
	assert_int_equal(rama_agent_spool_commit(s, 600, &e), 0);
	read_all(s, 601, 1001);
	rama_agent_spool_close(s);

	s = open_spool(LIMIT);
	read_all(s, 601, 1001);
	assert_int_equal(append(s, 1001), 0);
	read_all(s, 601, 1002);
	assert_int_equal(rama_agent_spool_commit(s, 1001, &e), 0);
	rama_agent_spool_state(s, &st);
	assert_true(st.messages == 0 && st.bytes < 70000);
	assert_true(files() <= 1);
	rama_agent_spool_close(s);

	s = open_spool(LIMIT); /* numbers go on though all is gone */
	assert_int_equal(append(s, 1002), 0);
	read_all(s, 1002, 1003);
	rama_agent_spool_close(s);
	assert_int_equal(told, 0);
	remove_dir();
}

static void a_full_spool_says_so_and_has_room_again(void **state)
{
	struct rama_agent_spool_state st;
	struct rama_agent_spool *s;
	struct rama_err e = { 0 };
	uint64_t n = 1;

	(void)state;
	make_dir();
	s = open_spool(1 << 20);
	while (rama_agent_spool_has_room(s, size_of(n))) {
		assert_int_equal(append(s, n), 0);
		n++;
	}
	rama_agent_spool_state(s, &st);
	assert_true(st.full && st.bytes <= 1 << 20);
	assert_int_equal(rama_agent_spool_append(s, (const unsigned char *)"lost", 4, &st.next, &e),
			 0); /* small ones fit still */
	while (rama_agent_spool_append(s, (const unsigned char *)dir, sizeof(dir), &st.next, &e) ==
	       0)
		;
	rama_agent_spool_state(s, &st);
	assert_true(st.full && st.bytes <= 1 << 20);
	assert_int_equal(e.code, RAMA_ELIMIT);
	assert_int_equal(rama_agent_spool_commit(s, n - 1, &e), 0);
	assert_true(rama_agent_spool_has_room(s, 1000));
	rama_agent_spool_close(s);
	remove_dir();
}

/* A file may not grow: as on a disk that is full. What was there stays, and nothing is half
 * there. */
static void a_disk_that_takes_no_more(void **state)
{
	struct rlimit before, small = { 150000, RLIM_INFINITY };
	struct rama_agent_spool *s;
	struct rama_err e = { 0 };
	uint64_t n = 1;

	(void)state;
	make_dir();
	signal(SIGXFSZ, SIG_IGN);
	s = open_spool(LIMIT);
	getrlimit(RLIMIT_FSIZE, &before);
	small.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	while (append(s, n) == 0)
		n++;
	assert_int_equal(append(s, n), RAMA_EIO);
	read_all(s, 1, n);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(append(s, n), 0);
	read_all(s, 1, n + 1);
	rama_agent_spool_close(s);
	s = open_spool(LIMIT);
	read_all(s, 1, n + 1);
	assert_int_equal(rama_agent_spool_commit(s, n, &e), 0);
	rama_agent_spool_close(s);
	assert_int_equal(told, 0);
	remove_dir();
}

static void only_one_may_have_it(void **state)
{
	struct rama_agent_spool *s, *other;
	struct rama_err e = { 0 };
	char pid[32];

	(void)state;
	make_dir();
	s = open_spool(LIMIT);
	assert_int_equal(rama_agent_spool_open(&other, dir, LIMIT, tell, NULL, &e), RAMA_EBUSY);
	snprintf(pid, sizeof(pid), "process %ld ", (long)getpid());
	assert_non_null(strstr(e.text, pid));
	assert_non_null(strstr(e.text, dir));
	rama_agent_spool_close(s);
	s = open_spool(LIMIT);
	rama_agent_spool_close(s);
	remove_dir();
}

static void places_that_are_not_safe_are_refused(void **state)
{
	struct rama_agent_spool *s;
	struct rama_err e = { 0 };
	char path[128], to[128];

	(void)state;
	make_dir();
	snprintf(path, sizeof(path), "%s/link", dir);
	snprintf(to, sizeof(to), "%s/a/b/c", dir);
	assert_int_equal(rama_agent_spool_open(&s, to, LIMIT, tell, NULL, &e),
			 0); /* folders on the way are made */
	rama_agent_spool_close(s);
	assert_int_equal(symlink(to, path), 0);
	assert_int_equal(rama_agent_spool_open(&s, path, LIMIT, tell, NULL, &e), RAMA_EIO);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(chmod(to, (mode_t[]){ 0777, 0720, 0702 }[i]), 0);
		assert_int_equal(rama_agent_spool_open(&s, to, LIMIT, tell, NULL, &e), RAMA_EIO);
	}
	remove_dir();
}

/* the path of the file that begins with this message */
static const char *file_of(uint64_t first)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%020llu.spool", dir, (unsigned long long)first);
	return path;
}

/* whatever a power cut left behind the last whole message */
static void torn_ends_are_cut_off(void **state)
{
	enum { N = 20 };

	(void)state;
	for (unsigned how = 0; how < 60; how++) {
		struct rng r = { .state = how };
		struct rama_bus_parcel p[2 * N];
		struct rama_err e = { 0 };
		struct rama_agent_spool *s;
		struct stat st;
		int fd, n;

		make_dir();
		s = open_spool(LIMIT);
		for (uint64_t i = 1; i <= N; i++)
			assert_int_equal(append(s, i), 0);
		rama_agent_spool_close(s);
		fd = open(file_of(1), O_RDWR);
		assert_int_equal(fstat(fd, &st), 0);
		if (how % 3 == 0) { /* cut */
			assert_int_equal(ftruncate(fd, (off_t)rng_below(&r, (uint64_t)st.st_size)),
					 0);
		} else if (how % 3 == 1) { /* a hole */
			char zero[4096] = { 0 };

			assert_true(pwrite(fd, zero, 4096,
					   (off_t)rng_below(&r, (uint64_t)st.st_size)) == 4096);
		} else { /* one wrong bit, or some bytes more */
			off_t at = (off_t)rng_below(&r, (uint64_t)st.st_size + 20);
			char c = 0;

			(void)!pread(fd, &c, 1, at);
			c ^= (char)(1 << how % 8);
			assert_true(pwrite(fd, &c, 1, at) == 1);
		}
		close(fd);
		s = open_spool(LIMIT);
		n = rama_agent_spool_read(s, 1, p, 2 * N, &e);
		assert_true(n >= 0 && n <= N);
		for (int i = 0; i < n; i++) {
			assert_int_equal(p[i].number, i + 1);
			check(&p[i]);
		}
		assert_int_equal(append(s, (uint64_t)n + 1), 0);
		read_all(s, 1, (uint64_t)n + 2);
		rama_agent_spool_close(s);
		told = 0;
		s = open_spool(LIMIT); /* once and for all */
		assert_int_equal(told, 0);
		read_all(s, 1, (uint64_t)n + 2);
		rama_agent_spool_close(s);
		remove_dir();
	}
}

/* what the bytes say of themselves is not believed: the head has a sum of its own */
static void heads_are_checked(void **state)
{
	struct rama_agent_spool_record r;
	unsigned char bytes[8] = "1234567";

	(void)state;
	rama_agent_spool_record_make(&r, bytes, sizeof(bytes), 7);
	assert_true(rama_agent_spool_record_good(&r, 8));
	assert_false(rama_agent_spool_record_good(&r, 7));
	for (size_t i = 0; i < sizeof(r); i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			struct rama_agent_spool_record x = r;

			((unsigned char *)&x)[i] ^= (unsigned char)(1 << bit);
			if (rama_agent_spool_record_good(&x, UINT32_MAX))
				fail_msg("bit %u of byte %zu is of no concern", bit, i);
		}
}

/* ---- killed ---------------------------------------------------------------------------------- */

struct shared {
	_Atomic uint64_t appended, committed; /* numbers for which the call has returned */
	_Atomic uint64_t tried;		      /* for which commit was called */
};

/* goes on with what there is: appends, reads, commits, until it is killed */
static void write_for_ever(struct shared *sh, unsigned seed)
{
	struct rama_agent_spool *s = open_spool(1ull << 30);
	struct rng r = { .state = seed };
	struct rama_agent_spool_state st;
	struct rama_bus_parcel p[64];
	struct rama_err e;

	rama_agent_spool_state(s, &st);
	for (uint64_t n = st.next, done = st.committed;; n++) {
		if (append(s, n) != 0)
			_exit(1);
		sh->appended = n;
		if (rng_below(&r, 20) == 0) {
			int k = rama_agent_spool_read(s, done + 1, p, 64, &e);

			if (k <= 0)
				_exit(2);
			done = p[k - 1].number;
			sh->tried = done;
			if (rama_agent_spool_commit(s, done, &e) != 0)
				_exit(3);
			sh->committed = done;
		}
	}
}

static void a_writer_that_is_killed_loses_nothing(void **state)
{
	struct shared *sh =
		mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct rng r = { .state = 42 };

	(void)state;
	make_dir();
	for (unsigned round = 0; round < 100; round++) {
		uint64_t until = sh->appended + rng_below(&r, 60);
		struct rama_agent_spool_state st;
		struct rama_agent_spool *s;
		pid_t pid = fork();
		int status;

		if (pid == 0)
			write_for_ever(sh, round);
		while (sh->appended < until && waitpid(pid, &status, WNOHANG) == 0)
			usleep(20);
		for (volatile unsigned spin = (unsigned)rng_below(&r, 100000); spin > 0; spin--)
			;
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		assert_true(WIFSIGNALED(status));
		s = open_spool(1ull << 30);
		rama_agent_spool_state(s, &st);
		assert_true(st.next > sh->appended && st.next <= sh->appended + 2);
		assert_true(st.committed >= sh->committed && st.committed <= sh->tried);
		read_all(s, st.committed + 1, st.next);
		rama_agent_spool_close(s);
	}
	assert_true(sh->committed > 100);
	munmap(sh, sizeof(*sh));
	remove_dir();
}

/* ---- two threads ----------------------------------------------------------------------------- */

enum { MANY = 5000 };

static void *append_many(void *arg)
{
	for (uint64_t n = 1; n <= MANY; n++)
		while (append(arg, n) != 0)
			usleep(20); /* full: the other one makes room */
	return NULL;
}

static void one_appends_while_the_other_reads_and_commits(void **state)
{
	struct rama_agent_spool *s;
	struct rama_err e = { 0 };
	pthread_t t;

	(void)state;
	make_dir();
	s = open_spool(4 << 20);
	pthread_create(&t, NULL, append_many, s);
	for (uint64_t n = 1; n <= MANY;) {
		struct rama_bus_parcel p[50];
		int k = rama_agent_spool_read(s, n, p, 50, &e);

		if (k < 0)
			fail_msg("%s", e.text);
		for (int i = 0; i < k; i++, n++)
			assert_int_equal(p[i].number, n);
		if (k > 0)
			assert_int_equal(rama_agent_spool_commit(s, n - 1, &e), 0);
		else
			usleep(20);
	}
	pthread_join(t, NULL);
	rama_agent_spool_close(s);
	remove_dir();
}

UNIT_GROUP(spool, test(what_is_appended_is_read_and_goes_when_committed),
	   test(a_full_spool_says_so_and_has_room_again), test(a_disk_that_takes_no_more),
	   test(only_one_may_have_it), test(places_that_are_not_safe_are_refused),
	   test(torn_ends_are_cut_off), test(heads_are_checked),
	   test(a_writer_that_is_killed_loses_nothing),
	   test(one_appends_while_the_other_reads_and_commits))
