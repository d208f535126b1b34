/* SPDX-License-Identifier: BSD-3-Clause */
/* guest.c: prints what a program sees of its own process: descriptors, environment, signals,
 * limits. It must be the same whether it is observed or not. */
#include "truth.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

extern char **environ;

int main(int argc, char **argv)
{
	sigset_t mask;
	struct sigaction sa;
	struct rlimit limit;
	char cwd[4096];
	(void)argv;
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *e;
	printf("descriptors:");
	while ((e = readdir(dir)))
		if (e->d_name[0] != '.')
			printf(" %s", e->d_name);
	printf("\n");
	closedir(dir);
	printf("first free: %d\n", dup(0));
	for (int i = 0; environ[i]; i++)
		if (strncmp(environ[i], "IORAMA_", 7) && strncmp(environ[i], "LD_PRELOAD=", 11))
			printf("%s\n", environ[i]);
	sigprocmask(SIG_BLOCK, NULL, &mask);
	for (int i = 1; i < 65; i++) {
		if (sigaction(i, NULL, &sa) == 0 && sa.sa_handler != SIG_DFL)
			printf("signal %d has a handler\n", i);
		if (sigismember(&mask, i) == 1)
			printf("signal %d is blocked\n", i);
	}
	mode_t old = umask(0);
	printf("umask %o, argc %d, cwd %s\n", (unsigned)old, argc,
	       getcwd(cwd, sizeof cwd) ? "ok" : "");
	for (int i = 0; i < RLIM_NLIMITS; i++)
		if (getrlimit(i, &limit) == 0)
			printf("limit %d: %ld %ld\n", i, (long)limit.rlim_cur,
			       (long)limit.rlim_max);
	return 0;
}
