/* SPDX-License-Identifier: BSD-3-Clause */
/* clone.c: children made by clone(), with and without the memory of their parent. */
#include "truth.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static char buf[100], stack[2][256 << 10];

static int separate(void *arg)
{
	(void)arg;
	t_child(true);
	int fd = t_open("separate", O_WRONLY | O_CREAT, 0644);
	MUST(t_write(fd, buf, 10) == 10);
	t_close(fd);
	t_done();
	return 0;
}

/* another process in our memory: what it does must harm nobody; whether it is counted is open */
static int together(void *arg)
{
	(void)arg;
	int fd = open("/dev/null", O_WRONLY);
	MUST(write(fd, buf, 10) == 10);
	close(fd);
	return 0;
}

/* ... and its end is not that of its parent */
static int leaves(void *arg)
{
	(void)arg;
	_exit(0);
}

static void reap(pid_t pid)
{
	int status;
	MUST(pid > 0 && waitpid(pid, &status, __WALL) == pid && status == 0);
}

int main(void)
{
	int fd = t_open("mine", O_WRONLY | O_CREAT, 0644);
	MUST(t_write(fd, buf, 20) == 20);
	reap(clone(separate, stack[0] + sizeof stack[0], SIGCHLD, NULL));
	reap(clone(together, stack[1] + sizeof stack[1], CLONE_VM | SIGCHLD, NULL));
	reap(clone(leaves, stack[1] + sizeof stack[1], CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
	MUST(t_write(fd, buf, 30) == 30);
	t_close(fd);
	t_done();
	return 0;
}
