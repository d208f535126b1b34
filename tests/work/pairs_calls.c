/* SPDX-License-Identifier: BSD-3-Clause */
/* pairs_calls MODE bad|fixed N: like pairs.c, of calls that move nothing: parts of files synced,
 * directories listed, sizes, attributes and links changed. Innocent modes have no mistake: what
 * they do need not be waited for. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static long n;
static int bad;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int made(const char *name)
{
	int fd = open(name, O_CREAT | O_TRUNC | O_RDWR, 0600);

	if (fd < 0)
		die(name);
	return fd;
}

static void must(int rc, const char *what)
{
	if (rc != 0)
		die(what);
}

static void put(int fd, const void *from, size_t size)
{
	if (write(fd, from, size) != (ssize_t)size)
		die("write");
}

/* ---- syncs ----------------------------------------------------------------------------------- */

static void map_sync(void)
{
	size_t bytes = (size_t)n * 4096;
	int fd = made("data");
	char *at;

	must(ftruncate(fd, (off_t)bytes), "ftruncate");
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		die("mmap");
	for (long i = 0; i < n; i++) {
		at[i * 4096] = 1;
		if (bad)
			must(msync(at + i * 4096, 4096, MS_SYNC), "msync");
	}
	must(msync(at, bytes, MS_SYNC), "msync");
	munmap(at, bytes);
	close(fd);
}

static void range_sync(void)
{
	int fd = made("data");

	for (long i = 0; i < n; i++) {
		put(fd, "a record", 8);
		if (bad)
			must(sync_file_range(fd, 8 * i, 8,
					     SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
						     SYNC_FILE_RANGE_WAIT_AFTER),
			     "sync_file_range");
	}
	must(fsync(fd), "fsync");
	close(fd);
}

/* ---- directories, sizes, attributes, links --------------------------------------------------- */

/* has something new come? */
static void list_again(void)
{
	char name[32];
	long seen = 0;

	must(mkdir("queue", 0700), "mkdir");
	for (int i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "queue/%d", i);
		close(made(name));
	}
	for (long i = 0; i < (bad ? n : 1); i++) {
		DIR *dir = opendir("queue");

		if (dir == NULL)
			die("queue");
		while (readdir(dir) != NULL)
			seen++;
		closedir(dir);
	}
	if (seen < 20)
		die("queue");
}

/* the newest state only, or each that there was in its place */
static void truncate_each(void)
{
	int fd = made("state");

	for (long i = bad ? 0 : n - 1; i < n; i++) {
		if (bad)
			must(ftruncate(fd, 0), "ftruncate");
		if (pwrite(fd, &i, sizeof(i), 0) != sizeof(i))
			die("pwrite");
	}
	close(fd);
}

/* room that is asked for piece by piece, and then not used */
static void allocate_each(void)
{
	int fd = made("data");

	for (long i = 0; i < n && bad; i++)
		if (posix_fallocate(fd, 4096 * i, 4096) != 0)
			die("posix_fallocate");
	if (!bad && posix_fallocate(fd, 0, 4096 * n) != 0)
		die("posix_fallocate");
	put(fd, "data", 4);
	close(fd);
}

static void attributes_each(void)
{
	int fd = made("data");

	for (long i = 0; i < n && bad; i++) {
		must(fchmod(fd, i & 1 ? 0600 : 0640), "fchmod");
		must(futimens(fd, NULL), "futimens");
	}
	put(fd, "data", 4);
	close(fd);
}

static void link_each(void)
{
	char name[32], to[32];

	close(made("newest"));
	for (long i = 0; i < n && bad; i++) {
		snprintf(name, sizeof(name), "link%ld", i);
		must(symlink("newest", name), "symlink");
		if (readlink(name, to, sizeof(to)) < 0)
			die("readlink");
	}
}

/* ---- innocent -------------------------------------------------------------------------------- */

static void compute(double seconds)
{
	struct timespec t;
	volatile double sum = 0;
	double end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = (double)t.tv_sec + 1e-9 * (double)t.tv_nsec + seconds;
	do {
		for (int i = 0; i < 5000; i++)
			sum = sum + 1.0 / (i + 1);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + 1e-9 * (double)t.tv_nsec < end);
}

static void *writes(void *done)
{
	int fd = made("background");

	while (!__atomic_load_n((int *)done, __ATOMIC_ACQUIRE))
		for (int i = 0; i < 200; i++)
			put(fd, "a record of a few bytes in a file that a thread writes", 54);
	close(fd);
	return NULL;
}

/* a thread writes as long as the program computes: its small writes hold up nobody */
static void background(void)
{
	pthread_t thread;
	int done = 0;

	if (pthread_create(&thread, NULL, writes, &done) != 0)
		die("thread");
	compute((double)n / 1000);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
}

#define MODE(name)          \
	{                   \
#name, name \
	}
static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
	MODE(map_sync),	     MODE(range_sync),	    MODE(list_again), MODE(truncate_each),
	MODE(allocate_each), MODE(attributes_each), MODE(link_each),  MODE(background),
};

int main(int argc, char **argv)
{
	struct timespec from, to;

	if (argc != 4)
		return 2;
	bad = strcmp(argv[2], "bad") == 0;
	n = strtol(argv[3], NULL, 10);
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, argv[1]) == 0) {
			modes[i].run();
			clock_gettime(CLOCK_MONOTONIC, &to);
			printf("%.6f\n", (double)(to.tv_sec - from.tv_sec) +
						 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
			return 0;
		}
	fprintf(stderr, "%s: no such mode\n", argv[1]);
	return 2;
}
