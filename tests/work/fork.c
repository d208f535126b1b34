/* SPDX-License-Identifier: BSD-3-Clause */
/* fork.c: a child has a history of its own and knows the descriptors it got. */
#include "truth.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char buf[1000];

static void work(const char *name, size_t n)
{
	int fd = t_open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0);
	for (int i = 0; i < 10; i++)
		MUST(t_write(fd, buf, n) == (ssize_t)n);
	t_close(fd);
}

/* an inherited descriptor stands where its parent and brothers left it; asking the kernel itself
 * is not observed */
static void child(const char *name, int inherited, size_t n)
{
	t_child(true);
	m_at(inherited, syscall(SYS_lseek, inherited, 0, SEEK_CUR));
	MUST(t_write(inherited, buf, 20) == 20 && t_write(inherited, buf, 1) == 1);
	work(name, n);
	MUST(t_pwrite(inherited, buf, n, 5000) == (ssize_t)n);
	t_close(inherited);
}

static void reap(pid_t pid)
{
	int status;
	MUST(waitpid(pid, &status, 0) == pid && status == 0);
}

/* each the child of the one before, all with the descriptor of the first */
static void generations(int fd, int left)
{
	pid_t pid = fork();
	MUST(pid >= 0);
	if (pid) {
		reap(pid);
		return;
	}
	t_child(true);
	MUST(t_pwrite(fd, buf, (size_t)left, 10 * left) == left);
	if (left > 1)
		generations(fd, left - 1);
	MUST(t_pwrite(fd, buf, 1, 0) == 1);
	t_close(fd);
	t_done();
	exit(0);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "deep")) {
		int first = t_open("first", O_RDWR | O_CREAT, 0644);
		generations(first, 9);
		MUST(t_write(first, buf, 3) == 3);
		t_close(first);
		t_done();
		return 0;
	}
	bool early = argc > 1 && !strcmp(argv[1], "early"); /* the parent did nothing before */
	int fd = early ? -1 : t_open("common", O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (!early)
		MUST(t_write(fd, buf, 500) == 500);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		MUST(pid >= 0);
		if (!pid) {
			char name[20];
			snprintf(name, sizeof name, "child%d", i);
			if (early)
				t_child(true), work(name, 100 + (size_t)i);
			else
				child(name, fd, 100 + (size_t)i);
			if (i == 1 && !early) { /* and its child */
				pid = fork();
				if (!pid) {
					t_child(true);
					work("grandchild", 7);
					t_done();
					_exit(0);
				}
				reap(pid);
			}
			t_done();
			if (i == 2)
				_exit(0);
			exit(0);
		}
		reap(pid);
	}
	if (!early) {
		MUST(t_pwrite(fd, buf, 50, 0) == 50);
		t_close(fd);
	}
	work("parent", 33);
	/* a fork behind the back of the C library */
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	MUST(pid >= 0);
	if (!pid) {
		t_child(true);
		work("cloned", 12);
		t_done();
		_exit(0);
	}
	reap(pid);
	t_done();
	return 0;
}
