/* SPDX-License-Identifier: BSD-3-Clause */
/* late.c: threads that do I/O at unusual moments: cancelled in a read, in a cleanup handler,
 * while the memory of the thread is being given back. */
#include "truth.h"

#include <pthread.h>

static pthread_key_t key;
static int fd, pipes[2];
static char buf[64] __attribute__((aligned(8)));

/* runs again as long as it sets a value: also after everybody else's */
static void leaving(void *value)
{
	long left = (long)value;
	MUST(t_pwrite(fd, buf, 3, 0) == 3);
	if (left > 1)
		pthread_setspecific(key, (void *)(left - 1));
}

static void cleanup(void *arg)
{
	(void)arg;
	MUST(t_pwrite(fd, buf, 2, 0) == 2);
}

static void *cancelled(void *arg)
{
	(void)arg;
	pthread_cleanup_push(cleanup, NULL);
	MUST(t_pwrite(fd, buf, 1, 0) == 1);
	pthread_setspecific(key, (void *)3L);
	(void)!read(pipes[0], buf, 1);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *plain(void *arg)
{
	(void)arg;
	pthread_setspecific(key, (void *)4L);
	pthread_exit(NULL);
}

int main(void)
{
	pthread_t id;
	void *result;
	MUST(pipe(pipes) == 0 && pthread_key_create(&key, leaving) == 0);
	fd = t_open("late", O_RDWR | O_CREAT, 0644);
	for (int i = 0; i < 20; i++) {
		MUST(pthread_create(&id, NULL, cancelled, NULL) == 0);
		usleep(1000);
		MUST(pthread_cancel(id) == 0 && pthread_join(id, &result) == 0);
		MUST(result == PTHREAD_CANCELED);
		MUST(pthread_create(&id, NULL, plain, NULL) == 0 && pthread_join(id, NULL) == 0);
	}
	t_close(fd);
	t_done();
	return 0;
}
