/* SPDX-License-Identifier: BSD-3-Clause */
/* measure RUNS [NAME=VALUE...] COMMAND...: runs the command that often with these variables, its
 * output thrown away, and prints a line per run: microseconds of CPU in user and system mode,
 * peak memory in KiB, microseconds from start to end, exit status. The peak of a process counts
 * from its fork on, so that a large parent would show in it: this one is small. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long microseconds(struct timeval t)
{
	return (long long)t.tv_sec * 1000000 + t.tv_usec;
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int run_once(char **command)
{
	long long began = now();
	struct rusage u;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		while (command[0] != NULL && strchr(command[0], '=') != NULL &&
		       putenv(command[0]) == 0)
			command++;
		execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid)
		return 1;
	printf("%lld %lld %ld %lld %d\n", microseconds(u.ru_utime), microseconds(u.ru_stime),
	       u.ru_maxrss, now() - began,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	long runs = argc > 2 ? strtol(argv[1], NULL, 10) : 0;

	if (runs < 1) {
		fprintf(stderr, "Usage: measure RUNS [NAME=VALUE...] COMMAND...\n");
		return 2;
	}
	while (runs-- > 0)
		if (run_once(argv + 2) != 0)
			return 4;
	return 0;
}
