/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* With nothing of ours but the pipe: its end, or a byte that all is done. */
static void keep(int until, void (*let_go)(void *arg), void *arg)
{
	int null = open("/dev/null", O_RDWR);
	char byte;
	ssize_t got;

	setsid();
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	dup2(until, 0);
	dup2(null, 1);
	dup2(null, 2);
	syscall(SYS_close_range, 3u, ~0u, 0u);
	do
		got = read(0, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		let_go(arg);
	_exit(0);
}

/* It is nobody's child, since ours may be those of a job. */
int rama_launch_keeper_start(void (*let_go)(void *arg), void *arg)
{
	int end[2];
	pid_t between;

	if (pipe2(end, O_CLOEXEC) != 0)
		return 0;
	between = fork();
	if (between == 0) {
		close(end[1]);
		if (fork() == 0)
			keep(end[0], let_go, arg);
		_exit(0);
	}
	while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
		;
	close(end[0]);
	return end[1];
}

void rama_launch_keeper_end(int keeper)
{
	if (keeper > 0 && write(keeper, "", 1) == 1)
		close(keeper);
}
