/* SPDX-License-Identifier: BSD-3-Clause */
/* crowdfork.c: forks while other threads write: a child must not inherit a lock that nobody will
 * ever let go. */
#include "truth.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_bool stop;
static atomic_long writes;
static int shared_fd;
static char buf[64] __attribute__((aligned(8)));

static void *writer(void *arg)
{
	(void)arg;
	while (!stop) {
		MUST(pwrite(shared_fd, buf, 8, 0) == 8);
		writes++;
		int fd = open("other", O_WRONLY | O_CREAT, 0644);
		MUST(fd >= 0 && close(fd) == 0);
	}
	return NULL;
}

static void child(int i)
{
	char name[20];
	t_child(true);
	snprintf(name, sizeof name, "child%d", i);
	int fd = t_open(name, O_RDWR | O_CREAT, 0644);
	for (int k = 0; k < 5; k++)
		MUST(t_write(fd, buf, 10) == 10);
	MUST(t_pwrite(shared_fd, buf, 16, 0) == 16);
	t_close(fd);
	t_done();
	_exit(0);
}

int main(void)
{
	pthread_t id[4];
	t_untraced();
	shared_fd = t_open("shared", O_RDWR | O_CREAT, 0644);
	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&id[i], NULL, writer, NULL) == 0);
	for (int i = 0; i < 20; i++) {
		int status;
		pid_t pid = fork();
		MUST(pid >= 0);
		if (!pid)
			child(i);
		MUST(waitpid(pid, &status, 0) == pid && status == 0);
	}
	stop = true;
	for (int i = 0; i < 4; i++)
		MUST(pthread_join(id[i], NULL) == 0);
	close(shared_fd);
	t_total("POSIX", "WRITES", writes);
	t_total("POSIX", "BYTES_WRITTEN", 8 * writes);
	t_total("POSIX", "OPENS", writes + 1);
	t_done();
	return 0;
}
