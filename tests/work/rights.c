/* SPDX-License-Identifier: BSD-3-Clause */
/* rights.c WAY UID [PROGRAM ARGUMENT...]: a forked child gives up its rights in one of many ways
 * and then writes 50 bytes to the file "child", which is there for it; or starts the program.
 * The parent wrote 20 bytes to "parent" before. */
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void put(const char *name, int n)
{
	int fd = open(name, O_WRONLY | O_APPEND);

	for (; n > 0; n -= 10)
		if (write(fd, "0123456789", 10) != 10)
			_exit(91);
	close(fd);
}

static int drop(const char *way, unsigned id)
{
	if (!strcmp(way, "setuid"))
		return setuid(id);
	if (!strcmp(way, "seteuid"))
		return seteuid(id);
	if (!strcmp(way, "setreuid"))
		return setreuid(id, id);
	if (!strcmp(way, "setresuid"))
		return setresuid(id, id, id);
	if (!strcmp(way, "all"))
		return setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id);
	if (!strcmp(way, "setgid"))
		return setgid(id) || syscall(SYS_setresuid, id, id, id);
	if (!strcmp(way, "setegid"))
		return setegid(id) || syscall(SYS_setresuid, id, id, id);
	if (!strcmp(way, "setregid"))
		return setregid(id, id) || syscall(SYS_setresuid, id, id, id);
	if (!strcmp(way, "setresgid"))
		return setresgid(id, id, id) || syscall(SYS_setresuid, id, id, id);
	if (!strcmp(way, "setgroups"))
		return setgroups(0, NULL) || syscall(SYS_setresuid, id, id, id);
	if (!strcmp(way, "chroot")) /* where there is nothing but the files */
		return chroot(".") || syscall(SYS_setresuid, id, id, id);
	if (!strcmp(way, "unshare"))
		return unshare(CLONE_FS) || syscall(SYS_setresuid, id, id, id);
	if (!strcmp(way, "raw")) /* nobody sees it */
		return (int)syscall(SYS_setresuid, id, id, id);
	return strcmp(way, "none") != 0;
}

int main(int argc, char **argv)
{
	int status;

	if (argc < 3)
		return 99;
	put("parent", 20);
	if (fork() == 0) {
		if (drop(argv[1], (unsigned)atoi(argv[2])) != 0)
			_exit(92);
		if (argc > 3) {
			execv(argv[3], argv + 3);
			_exit(93);
		}
		put("child", 50);
		exit(0);
	}
	wait(&status);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 94;
}
