/* SPDX-License-Identifier: BSD-3-Clause */
#include "any/any.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "any/follow.h"

bool rama_any_mode_read(const char *text, enum rama_any_mode *mode)
{
	if (text != NULL && strcmp(text, "auto") != 0 && strcmp(text, "all") != 0)
		return false;
	*mode = text != NULL && strcmp(text, "auto") == 0 ? RAMA_ANY_AUTO : RAMA_ANY_ALL;
	return true;
}

/* nobody can take it before us who does not know the moment */
void rama_any_name(struct rama_any *a)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	snprintf(a->name, sizeof(a->name), "iorama-any-%ld-%ld-%lx%08lx", (long)getuid(),
		 (long)getpid(), (long)t.tv_sec, (long)t.tv_nsec);
}

/* Neither terminal nor files of ours: nobody is to wait for us who waits for their ends. */
static void leave_all(int listen, int life)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct rlimit files;
	int null = open("/dev/null", O_RDWR);

	setsid();
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	for (int fd = 3; fd < (listen > life ? listen : life); fd++)
		if (fd != listen && fd != life)
			close(fd);
	closefrom((listen > life ? listen : life) + 1);
	if (chdir("/") != 0)
		return;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	for (int sig = 1; sig < 32; sig++) /* those that others send are for the command */
		if (sig != SIGKILL && sig != SIGSTOP && sig != SIGCHLD && sig != SIGSEGV &&
		    sig != SIGBUS && sig != SIGABRT && sig != SIGFPE && sig != SIGILL)
			sigaction(sig, &ignore, NULL);
}

static _Noreturn void be_follower(const struct rama_any_how *how, int listen, int life, int ready)
{
	static struct rama_any_world world;
	static struct rama_any_asked asked;
	const char yes = 'y';

	if (rama_any_world_init(&world, how) != 0)
		_exit(0);
	(void)!write(ready, &yes, 1);
	close(ready);
	leave_all(listen, life);
	if (rama_any_asked_start(&asked, listen, life) == 0)
		rama_any_follow(&world, &asked);
	_exit(0);
}

int rama_any_start(struct rama_any *a, const struct rama_any_how *how, struct rama_err *e)
{
	int life[2], ready[2], listen;
	char answer = 0;
	pid_t pid;

	listen = rama_any_asked_listen(a->name);
	if (listen < 0 || pipe2(life, O_CLOEXEC) != 0 || pipe2(ready, O_CLOEXEC) != 0)
		return rama_err_set(e, RAMA_EIO, "--any: %s", strerror(errno));
	fflush(NULL);
	/* twice, so that it is nobody's child, and the command has no brother */
	pid = fork();
	if (pid == 0) {
		close(life[1]);
		close(ready[0]);
		if (fork() == 0)
			be_follower(how, listen, life[0], ready[1]);
		_exit(0);
	}
	close(listen);
	close(life[0]);
	close(ready[1]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	while (read(ready[0], &answer, 1) < 0 && errno == EINTR)
		continue;
	close(ready[0]);
	a->life = life[1];
	return answer == 'y' ? 0 : rama_err_set(e, RAMA_EIO, "--any: nobody can be followed");
}

void rama_any_end(struct rama_any *a)
{
	if (a->life < 0)
		return;
	rama_follow_ask(a->name, RAMA_FOLLOW_DONE);
	close(a->life);
	a->life = -1;
}
