/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.c own|shared|many|crowd|queue: threads at work at the same time. */
#include "truth.h"

#include <pthread.h>
#include <stdatomic.h>

#define LOOPS 500

static _Thread_local char buf[256] __attribute__((aligned(8)));
static int shared_fd;
static pthread_barrier_t all;

static void *own(void *arg)
{
	char name[32];
	snprintf(name, sizeof name, "own%ld", (long)arg);
	int fd = t_open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < LOOPS; i++) {
		MUST(t_write(fd, buf, 10 + (size_t)arg) == 10 + (ssize_t)arg);
		MUST(t_pread(fd, buf, 5, i) == 5);
	}
	FILE *f = t_fopen(name, "r");
	for (int i = 0; i < 50; i++)
		MUST(t_fread(buf, 1, 10, f) == 10);
	t_fclose(f);
	t_close(fd);
	return NULL;
}

/* the sums of all threads are certain, the order is not */
static void *shared(void *arg)
{
	long me = (long)arg;
	for (int i = 0; i < LOOPS; i++) {
		MUST(t_pwrite(shared_fd, buf, 64, (me * LOOPS + i) * 64) == 64);
		MUST(t_pread(shared_fd, buf, 32, (me * LOOPS + i) * 64) == 32);
	}
	return NULL;
}

static void *brief(void *arg)
{
	(void)arg;
	MUST(t_pwrite(shared_fd, buf, 7, 0) == 7);
	return NULL;
}

static void *crowd(void *arg)
{
	pthread_barrier_wait(&all);
	brief(arg);
	pthread_barrier_wait(&all);
	return NULL;
}

static void run(void *(*body)(void *), int n, int at_once)
{
	static pthread_t id[1024];
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (int i = 0; i < n; i += at_once) {
		for (int k = i; k < i + at_once; k++)
			MUST(pthread_create(&id[k], &attr, body, (void *)(long)k) == 0);
		for (int k = i; k < i + at_once; k++)
			MUST(pthread_join(id[k], NULL) == 0);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "own";
	if (!strcmp(how, "own")) {
		run(own, 8, 8);
		t_done();
		return 0;
	}
	shared_fd = t_open("shared", O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (!strcmp(how, "shared")) {
		run(shared, 8, 8);
		t_any_order("shared");
	} else if (!strcmp(how, "queue")) {
		run(brief, 200, 1);
	} else {
		pthread_barrier_init(&all, NULL, 600);
		run(crowd, 600, 600);
	}
	t_close(shared_fd);
	t_done();
	return 0;
}
