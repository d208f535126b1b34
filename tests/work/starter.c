/* SPDX-License-Identifier: BSD-3-Clause */
/* starter.c WAY PROGRAM ARGUMENT...: starts a program in one of many ways and ends as it does.
 * "self-WAY" becomes it instead. Writes 30 bytes to the file "starter" before, so that it has a
 * segment itself; "bare-WAY" does not. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char line[4096];

static const char *name_of(const char *path)
{
	return strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
}

/* only comes back if it fails */
static void become(const char *way, char **argv)
{
	if (!strcmp(way, "execve"))
		execve(argv[0], argv, environ);
	else if (!strcmp(way, "execv"))
		execv(argv[0], argv);
	else if (!strcmp(way, "execvp"))
		execvp(name_of(argv[0]), argv);
	else if (!strcmp(way, "execvpe"))
		execvpe(name_of(argv[0]), argv, environ);
	else if (!strcmp(way, "execl"))
		execl(argv[0], argv[0], argv[1], argv[2], argv[3], NULL);
	else if (!strcmp(way, "execlp"))
		execlp(name_of(argv[0]), argv[0], argv[1], argv[2], argv[3], NULL);
	else if (!strcmp(way, "execle"))
		execle(argv[0], argv[0], argv[1], argv[2], argv[3], NULL, environ);
	else if (!strcmp(way, "fexecve"))
		fexecve(open(argv[0], O_RDONLY | O_CLOEXEC), argv, environ);
	else if (!strcmp(way, "execveat"))
		execveat(AT_FDCWD, argv[0], argv, environ, 0);
	else if (!strcmp(way, "execpath"))
		execveat(open(argv[0], O_PATH | O_CLOEXEC), "", argv, environ, AT_EMPTY_PATH);
	else if (!strcmp(way, "cleared"))
		execve(argv[0], argv, (char *[]){ "A=B", NULL });
}

static int ended(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 97;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 96;
}

static int start(const char *way, char **argv)
{
	pid_t pid = -1;

	if (!strcmp(way, "spawn"))
		return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) ? 95 : ended(pid);
	if (!strcmp(way, "spawnp"))
		return posix_spawnp(&pid, name_of(argv[0]), NULL, NULL, argv, environ) ? 95
										       : ended(pid);
	if (!strcmp(way, "spawnbad"))
		return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0;
	if (!strcmp(way, "system") || !strcmp(way, "popen")) {
		snprintf(line, sizeof(line), "%s %s %s %s", argv[0], argv[1], argv[2], argv[3]);
		if (!strcmp(way, "system"))
			return WEXITSTATUS(system(line));
		FILE *f = popen(line, "r");
		while (fgets(line, sizeof(line), f))
			fputs(line, stdout);
		return WEXITSTATUS(pclose(f));
	}
	if (!strncmp(way, "vfork-", 6)) {
		for (int i = 0; i < 3;
		     i++) { /* the memory that one time took is used the next time */
			pid = vfork();
			if (pid == 0) {
				become(way + 6, argv);
				_exit(94);
			}
			if (ended(pid) != atoi(argv[1]))
				return 93;
		}
		return atoi(argv[1]);
	}
	pid = fork();
	if (pid == 0) {
		become(way, argv);
		_exit(94);
	}
	return ended(pid);
}

int main(int argc, char **argv)
{
	const char *way = argv[1];
	static char path[8192];

	if (argc != 6)
		return 92;
	/* found along PATH behind a place where it is not */
	snprintf(path, sizeof(path), "/nonexistent:%.*s:/usr/bin:/bin",
		 (int)(name_of(argv[2]) - argv[2]), argv[2]);
	setenv("PATH", path, 1);
	if (!strncmp(way, "bare-", 5)) {
		way += 5;
	} else {
		int fd = open("starter", O_WRONLY | O_CREAT | O_TRUNC, 0666);
		for (int i = 0; i < 3; i++)
			if (write(fd, "0123456789", 10) != 10)
				return 91;
		close(fd);
	}
	fflush(stdout);
	if (!strncmp(way, "self-", 5)) {
		become(way + 5, argv + 2);
		return 90;
	}
	return start(way, argv + 2);
}
