/* SPDX-License-Identifier: BSD-3-Clause */
/* loop KIND COUNT FILE [THREADS]: does COUNT operations of one kind, 1 byte each, in every
 * thread, each on a file of its own (FILE, FILE.1, ...), and prints "wall cpu rss": nanoseconds
 * per operation from start to end (of a core, if there are more threads than cores) and of CPU
 * time, and the resident memory in KiB afterwards. Kinds that end in 4k do 4 KiB each. The kind
 * "files" opens COUNT different files FILE.0, FILE.1, ... once and writes a byte to each;
 * "nothing" does none of it. */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_THREADS 64

struct job {
	const struct kind *kind;
	long count;
	char path[PATH_MAX];
	int fd;
	FILE *stream;
	double cpu; /* ns */
	int failed;
};

struct kind {
	const char *name;
	int (*run)(struct job *j); /* 0: every operation worked */
};

static pthread_barrier_t barrier;

static int loop_pread(struct job *j)
{
	char byte;

	for (long i = 0; i < j->count; i++)
		if (pread(j->fd, &byte, 1, i) != 1)
			return 1;
	return 0;
}

static int loop_pwrite(struct job *j)
{
	for (long i = 0; i < j->count; i++)
		if (pwrite(j->fd, "x", 1, i) != 1)
			return 1;
	return 0;
}

/* 4 KiB each, over and over the same MiB */
enum { PAGE = 4096, PAGES = 256 };

static int loop_pread4k(struct job *j)
{
	char page[PAGE];

	for (long i = 0; i < j->count; i++)
		if (pread(j->fd, page, PAGE, i % PAGES * PAGE) != PAGE)
			return 1;
	return 0;
}

static int loop_pwrite4k(struct job *j)
{
	char page[PAGE] = "";

	for (long i = 0; i < j->count; i++)
		if (pwrite(j->fd, page, PAGE, i % PAGES * PAGE) != PAGE)
			return 1;
	return 0;
}

static int loop_read(struct job *j)
{
	char byte;

	for (long i = 0; i < j->count; i++)
		if (read(j->fd, &byte, 1) != 1)
			return 1;
	return 0;
}

static int loop_write(struct job *j)
{
	for (long i = 0; i < j->count; i++)
		if (write(j->fd, "x", 1) != 1)
			return 1;
	return 0;
}

static int loop_fread(struct job *j)
{
	char byte;

	for (long i = 0; i < j->count; i++)
		if (fread(&byte, 1, 1, j->stream) != 1)
			return 1;
	return 0;
}

static int loop_fwrite(struct job *j)
{
	for (long i = 0; i < j->count; i++)
		if (fwrite("x", 1, 1, j->stream) != 1)
			return 1;
	return 0;
}

static int loop_lseek(struct job *j)
{
	for (long i = 0; i < j->count; i++)
		if (lseek(j->fd, i, SEEK_SET) != i)
			return 1;
	return 0;
}

static int loop_openclose(struct job *j)
{
	for (long i = 0; i < j->count; i++) {
		int fd = open(j->path, O_RDWR);

		if (fd < 0 || close(fd) != 0)
			return 1;
	}
	return 0;
}

static int loop_files(struct job *j)
{
	char name[PATH_MAX + 24];

	for (long i = 0; i < j->count; i++) {
		int fd;

		snprintf(name, sizeof(name), "%s.%ld", j->path, i);
		fd = open(name, O_RDWR | O_CREAT, 0600);
		if (fd < 0 || write(fd, "x", 1) != 1 || close(fd) != 0)
			return 1;
	}
	return 0;
}

static int loop_nothing(struct job *j)
{
	(void)j;
	return 0;
}

static const struct kind kinds[] = {
	{ "pread", loop_pread },     { "pwrite", loop_pwrite },	      { "read", loop_read },
	{ "write", loop_write },     { "fread", loop_fread },	      { "fwrite", loop_fwrite },
	{ "lseek", loop_lseek },     { "openclose", loop_openclose }, { "files", loop_files },
	{ "pread4k", loop_pread4k }, { "pwrite4k", loop_pwrite4k },   { "nothing", loop_nothing },
};

static double now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static long resident_kib(void)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *line;

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return -1;
	text[n] = '\0';
	line = strstr(text, "VmRSS:");
	return line ? strtol(line + 6, NULL, 10) : -1;
}

/* one file of as many bytes as there will be operations, so that reads never meet its end */
static int prepare(struct job *j)
{
	j->fd = open(j->path, O_RDWR | O_CREAT, 0600);
	if (j->fd < 0 || ftruncate(j->fd, j->count > PAGES * PAGE ? j->count : PAGES * PAGE) != 0)
		return 1;
	j->stream = fopen(j->path, "r+");
	return j->stream == NULL;
}

static void run_job(struct job *j)
{
	double began = now_ns(CLOCK_THREAD_CPUTIME_ID);

	j->failed = j->kind->run(j);
	j->cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - began;
}

static void *work(void *arg)
{
	pthread_barrier_wait(&barrier);
	run_job(arg);
	pthread_barrier_wait(&barrier);
	return NULL;
}

/* wall time from the moment all threads are ready to the end of the last */
static double run_threads(struct job *jobs, int threads)
{
	pthread_t ids[MOST_THREADS];
	double began;

	pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, work, &jobs[i]) != 0)
			exit(4);
	pthread_barrier_wait(&barrier);
	began = now_ns(CLOCK_MONOTONIC);
	pthread_barrier_wait(&barrier);
	began = now_ns(CLOCK_MONOTONIC) - began;
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	return began;
}

static int run(const struct kind *kind, long count, const char *path, int threads)
{
	static struct job jobs[MOST_THREADS];
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	double wall, cpu = 0;

	for (int i = 0; i < threads; i++) {
		jobs[i] = (struct job){ .kind = kind, .count = count };
		snprintf(jobs[i].path, PATH_MAX, i ? "%s.%d" : "%s", path, i);
		if (kind->run != loop_files && kind->run != loop_nothing &&
		    prepare(&jobs[i]) != 0) {
			perror(jobs[i].path);
			return 4;
		}
	}
	if (threads == 1) {
		double began = now_ns(CLOCK_MONOTONIC);

		run_job(&jobs[0]);
		wall = now_ns(CLOCK_MONOTONIC) - began;
	} else {
		wall = run_threads(jobs, threads);
	}
	for (int i = 0; i < threads; i++) {
		cpu += jobs[i].cpu / threads;
		if (jobs[i].failed) {
			fprintf(stderr, "loop: %s failed on %s\n", kind->name, jobs[i].path);
			return 1;
		}
	}
	if (cores < threads)
		wall = wall * (double)cores / threads;
	printf("%.2f %.2f %ld\n", wall / (double)count, cpu / (double)count, resident_kib());
	return 0;
}

int main(int argc, char **argv)
{
	long count = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
	long threads = argc > 4 ? strtol(argv[4], NULL, 10) : 1;

	for (size_t i = 0; argc > 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].name, argv[1]) == 0 && count > 0 && threads > 0 &&
		    threads <= MOST_THREADS)
			return run(&kinds[i], count, argv[3], (int)threads);
	fprintf(stderr, "Usage: loop KIND COUNT FILE [THREADS]\n");
	return 2;
}
