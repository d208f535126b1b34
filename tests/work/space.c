/* SPDX-License-Identifier: BSD-3-Clause */
/* space.c: how much room a process has beside its observer. What it finds goes to standard
 * output, key and value; sizes in KiB.
 *
 *   room [BYTES [N]] its size and peak; then maps until nothing more fits
 *                    (BYTES: lowers RLIMIT_AS to that first, and opens N files)
 *   lock FLAGS N     mlockall(FLAGS), then N files and a thread; N < 0: -N files before it, too
 *   files N          N files, one after the other
 *   grow TALLY       files until it is killed; TALLY, a file of 8 bytes, says how many are done */
#include "truth.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

static long status_of(const char *key)
{
	char line[256];
	long found = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof line, f))
		if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':')
			found = strtol(line + strlen(key) + 1, NULL, 10);
	if (f)
		fclose(f);
	return found;
}

static void say(const char *key, long value)
{
	char line[128];
	int n = snprintf(line, sizeof line, "%s %ld\n", key, value);

	MUST(write(1, line, (size_t)n) == n);
}

static void touch(long i)
{
	char name[40];
	int fd;

	snprintf(name, sizeof name, "many/file%ld", i);
	fd = open(name, O_RDWR | O_CREAT, 0600);
	MUST(fd >= 0 && write(fd, name, 10) == 10 && close(fd) == 0);
}

static void *touch_one(void *arg)
{
	touch((long)(intptr_t)arg);
	return NULL;
}

static int room(const char *bytes, long files)
{
	enum { PIECE = 256 << 10, MOST = 1 << 15 };
	static void *piece[MOST];
	long n = 0;

	touch(0);
	say("size", status_of("VmSize"));
	say("peak", status_of("VmPeak"));
	if (bytes) {
		struct rlimit limit = { strtoul(bytes, NULL, 10), RLIM_INFINITY };
		MUST(getrlimit(RLIMIT_AS, &limit) == 0);
		limit.rlim_cur = strtoul(bytes, NULL, 10);
		MUST(setrlimit(RLIMIT_AS, &limit) == 0);
	}
	for (long i = 0; i < files; i++)
		touch(i);
	struct rlimit is;
	MUST(getrlimit(RLIMIT_AS, &is) == 0);
	while (is.rlim_cur != RLIM_INFINITY && n < MOST &&
	       (piece[n] = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0)) != MAP_FAILED)
		n++;
	say("room", n * (PIECE >> 10));
	touch(1);
	/* a process that has no room at all cannot write a log of its own */
	for (long i = 0; i < n; i++)
		MUST(munmap(piece[i], PIECE) == 0);
	return 0;
}

/* pages of a new mapping that are in memory though nobody has touched them */
static long present(void)
{
	enum { PAGES = 64, PAGE = 4096 };
	unsigned char in[PAGES];
	long n = 0;
	void *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		return -1;
	MUST(mincore(p, PAGES * PAGE, in) == 0);
	for (int i = 0; i < PAGES; i++)
		n += in[i] & 1;
	MUST(munmap(p, PAGES * PAGE) == 0);
	return n;
}

static int lock(int flags, long n)
{
	pthread_t thread;

	for (long i = 0; i < -n; i++)
		touch(i);
	n = n < 0 ? -n : n;
	say("before", status_of("VmSize"));
	errno = 0;
	int rc = mlockall(flags), why = errno;
	say("result", rc);
	say("errno", why);
	say("locked", status_of("VmLck"));
	say("present", present());
	/* what may have to be mapped after it: beside the observer's the stack of one thread,
	 * which is gone when it is looked at */
	for (long i = 0; i < n; i++)
		touch(n + i);
	bool thread_ok = pthread_create(&thread, NULL, touch_one, (void *)0) == 0;
	if (thread_ok)
		MUST(pthread_join(thread, NULL) == 0);
	MUST(munlockall() == 0);
	say("unlocked", status_of("VmLck"));
	errno = 0;
	rc = mlockall(flags);
	say("again", rc);
	say("later", status_of("VmLck"));
	return 0;
}

static int grow(const char *path)
{
	int fd = open(path, O_RDWR);
	long *done = mmap(NULL, sizeof(*done), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	MUST(fd >= 0 && done != MAP_FAILED);
	for (long i = 0; i < 1000000; i++) {
		touch(i);
		__atomic_store_n(done, i + 1, __ATOMIC_RELEASE);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	MUST(mkdir("many", 0755) == 0);
	if (!strcmp(argv[1], "room"))
		return room(argc > 2 ? argv[2] : NULL, argc > 3 ? atol(argv[3]) : 0);
	if (!strcmp(argv[1], "lock") && argc > 3)
		return lock(atoi(argv[2]), atol(argv[3]));
	if (!strcmp(argv[1], "grow") && argc > 2)
		return grow(argv[2]);
	for (long i = 0; !strcmp(argv[1], "files") && argc > 2 && i < atol(argv[2]); i++)
		touch(i);
	return 0;
}
