/* SPDX-License-Identifier: BSD-3-Clause */
/* spawnmany.c: threads that start programs in every way, while others write. */
#include "truth.h"

#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/wait.h>

extern char **environ;
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
	}
	return NULL;
}

static void *starter(void *arg)
{
	char *args[] = { "true", NULL };
	int status;
	pid_t pid;
	for (int i = 0; i < 5; i++) {
		posix_spawn_file_actions_t to;
		posix_spawn_file_actions_init(&to);
		posix_spawn_file_actions_addclose(&to, shared_fd);
		posix_spawn_file_actions_addopen(&to, 0, "/dev/null", O_RDONLY, 0);
		MUST(posix_spawnp(&pid, "true", &to, NULL, args, environ) == 0);
		MUST(waitpid(pid, &status, 0) == pid && status == 0);
		posix_spawn_file_actions_destroy(&to);
		if (!arg)
			MUST(system("true") == 0);
		pid = vfork();
		if (!pid) {
			close(shared_fd);
			execvp("true", args);
			_exit(1);
		}
		MUST(waitpid(pid, &status, 0) == pid && status == 0);
	}
	return NULL;
}

int main(void)
{
	pthread_t id[4];
	shared_fd = open("shared", O_RDWR | O_CREAT, 0644);
	for (long i = 0; i < 4; i++)
		MUST(pthread_create(&id[i], NULL, i < 2 ? writer : starter, (void *)(i - 2)) == 0);
	for (int i = 2; i < 4; i++)
		MUST(pthread_join(id[i], NULL) == 0);
	stop = true;
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(id[i], NULL) == 0);
	MUST(pwrite(shared_fd, buf, 8, 0) == 8 && close(shared_fd) == 0);
	t_total("POSIX", "WRITES", writes + 1);
	t_total("POSIX", "BYTES_WRITTEN", 8 * (writes + 1));
	t_total("POSIX", "OPENS", 1);
	t_done();
	return 0;
}
