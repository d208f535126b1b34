/* SPDX-License-Identifier: BSD-3-Clause */
/* end.c HOW: the ways a process can end. */
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

static char buf[100];
static volatile int stop;

static void *writer(void *arg)
{
	int fd = open("endless", O_WRONLY | O_CREAT, 0644);
	(void)arg;
	while (!stop)
		(void)!pwrite(fd, buf, 10, 0);
	return NULL;
}

static void *leaver(void *arg)
{
	(void)arg;
	usleep(20000);
	exit(0);
}

static void quickly(void)
{
	/* the last to be heard of */
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t id;
	int fd = t_open("file", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < 25; i++)
		MUST(t_write(fd, buf, 40) == 40);
	FILE *f = t_fopen("stream", "w");
	t_fwrite(buf, 1, 30, f);
	t_done();
	if (!strcmp(how, "exit"))
		exit(5);
	if (!strcmp(how, "_exit"))
		_exit(5);
	if (!strcmp(how, "_Exit"))
		_Exit(5);
	if (!strcmp(how, "quick_exit")) {
		at_quick_exit(quickly);
		quick_exit(5);
	}
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "segv"))
		raise(SIGSEGV);
	if (!strcmp(how, "syscall"))
		syscall(SYS_exit_group, 5);
	if (!strcmp(how, "thread")) { /* exit from a thread, others still at work */
		for (int i = 0; i < 4; i++) {
			MUST(pthread_create(&id, NULL, writer, NULL) == 0);
			pthread_detach(id);
		}
		MUST(pthread_create(&id, NULL, leaver, NULL) == 0);
		pthread_exit(NULL);
	}
	return 5;
}
