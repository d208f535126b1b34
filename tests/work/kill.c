/* SPDX-License-Identifier: BSD-3-Clause */
/* kill TALLY FOLDER PROCESSES THREADS: reads and writes until it is killed. Every thread has a
 * file of its own and one that all threads of all processes share; after each call it counts the
 * call in its rows of TALLY, which is shared memory, so that the file tells later what was
 * finished in time. */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPENS, READS, WRITES, BYTES_READ, BYTES_WRITTEN, COLUMNS };

struct header {
	uint64_t group; /* process group of all processes; 0: not started yet */
	uint64_t pad[7];
};

struct row {
	uint64_t count[COLUMNS];
};

#define READ_SIZE 300
#define WRITE_SIZE 500
#define ROUNDS 8 /* between opening and closing a file */
#define REACH (1 << 20)
#define SECONDS 20 /* nobody killed us: give up */

struct worker {
	struct row *rows; /* own file, shared file */
	char path[2][PATH_MAX];
	uint64_t random;
};

static uint64_t next(struct worker *w)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return w->random >> 33;
}

/* the compiler must not move a count before its call, nor leave it in a register */
static void count(struct row *row, int column, uint64_t n)
{
	__atomic_store_n(&row->count[column], row->count[column] + n, __ATOMIC_RELEASE);
}

static void one_file(struct worker *w, int which)
{
	struct row *row = &w->rows[which];
	char data[WRITE_SIZE] = { 0 };
	int fd = open(w->path[which], O_RDWR | O_CREAT, 0600);

	if (fd < 0)
		_exit(4);
	count(row, OPENS, 1);
	for (int i = 0; i < ROUNDS; i++) {
		ssize_t n = pwrite(fd, data, WRITE_SIZE, (off_t)(next(w) % REACH));

		if (n >= 0) {
			count(row, WRITES, 1);
			count(row, BYTES_WRITTEN, (uint64_t)n);
		}
		n = pread(fd, data, READ_SIZE, (off_t)(next(w) % REACH));
		if (n >= 0) {
			count(row, READS, 1);
			count(row, BYTES_READ, (uint64_t)n);
		}
	}
	close(fd);
}

static void *work(void *arg)
{
	for (;;) {
		one_file(arg, 0);
		one_file(arg, 1);
	}
	return NULL;
}

static void run_process(struct row *rows, const char *folder, int process, int threads)
{
	struct worker *workers = calloc((size_t)threads, sizeof(*workers));
	pthread_t id;

	for (int t = 0; workers != NULL && t < threads; t++) {
		struct worker *w = &workers[t];

		w->rows = rows + ((ptrdiff_t)process * threads + t) * 2;
		w->random = (uint64_t)process * 1000 + (uint64_t)t;
		snprintf(w->path[0], PATH_MAX, "%s/own.%d.%d", folder, process, t);
		snprintf(w->path[1], PATH_MAX, "%s/shared", folder);
		if (t + 1 < threads && pthread_create(&id, NULL, work, w) != 0)
			_exit(4);
	}
	if (workers != NULL && threads > 0)
		work(&workers[threads - 1]);
	_exit(4);
}

int main(int argc, char **argv)
{
	int processes = argc > 4 ? (int)strtol(argv[3], NULL, 10) : 0;
	int threads = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 0;
	size_t rows = (size_t)processes * (size_t)threads * 2;
	size_t size = sizeof(struct header) + rows * sizeof(struct row);
	struct header *tally;
	int fd;

	if (processes < 1 || threads < 1)
		return fprintf(stderr, "Usage: kill TALLY FOLDER PROCESSES THREADS\n"), 2;
	fd = open(argv[1], O_RDWR);
	if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
		return perror(argv[1]), 4;
	tally = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (tally == MAP_FAILED)
		return perror(argv[1]), 4;
	close(fd);
	if (getenv("KILL_OWN_GROUP") != NULL && setpgid(0, 0) != 0)
		return perror("setpgid"), 4;
	__atomic_store_n(&tally->group, (uint64_t)getpgrp(), __ATOMIC_RELEASE);
	for (int p = 1; p < processes; p++) {
		pid_t pid = fork();

		if (pid == 0) {
			alarm(SECONDS);
			run_process((struct row *)(tally + 1), argv[2], p, threads);
		}
		if (pid < 0)
			return perror("fork"), 4;
	}
	alarm(SECONDS);
	run_process((struct row *)(tally + 1), argv[2], 0, threads);
	return 4;
}
