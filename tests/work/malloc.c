/* SPDX-License-Identifier: BSD-3-Clause */
/* malloc.c: a program that brings a malloc of its own, which does I/O, too. */
#include "truth.h"

#include <pthread.h>

static char pool[8 << 20] __attribute__((aligned(16)));
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int inside;

/* an allocator that reports: a call from within a call would never come back */
void *malloc(size_t n)
{
	pthread_mutex_lock(&lock);
	if (inside++)
		abort();
	char c = 'm';
	if (write(1, &c, 1) < 0)
		abort();
	size_t at = used + 16;
	*(size_t *)(pool + used) = n;
	used = (at + n + 15) / 16 * 16;
	if (used > sizeof pool)
		abort();
	inside--;
	pthread_mutex_unlock(&lock);
	return pool + at;
}

void free(void *p)
{
	(void)p;
}

void *calloc(size_t n, size_t size)
{
	return malloc(n * size); /* the pool is zero and never used twice */
}

void *realloc(void *p, size_t n)
{
	void *to = malloc(n);
	if (p) {
		size_t old = *(size_t *)((char *)p - 16);
		memcpy(to, p, old < n ? old : n);
	}
	return to;
}

static void *worker(void *arg)
{
	(void)arg;
	char *p = malloc(100);
	int fd = t_open("thread", O_WRONLY | O_CREAT, 0644);
	MUST(t_write(fd, p, 100) == 100);
	t_close(fd);
	return NULL;
}

int main(void)
{
	pthread_t id;
	t_untraced();
	char *p = malloc(1000);
	int fd = t_open("file", O_WRONLY | O_CREAT, 0644);
	for (int i = 0; i < 10; i++)
		MUST(t_write(fd, p, 100) == 100);
	t_close(fd);
	MUST(pthread_create(&id, NULL, worker, NULL) == 0 && pthread_join(id, NULL) == 0);
	FILE *f = t_fopen("stream", "w");
	t_fwrite(p, 1, 10, f);
	t_fclose(f);
	t_done();
	return 0;
}
