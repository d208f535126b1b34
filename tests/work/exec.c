/* SPDX-License-Identifier: BSD-3-Clause */
/* exec.c [HOW [STEP]]: programs that start programs: a chain of images in one process, vfork and
 * posix_spawn. STEP counts the images. */
#include "truth.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;
static char buf[100];

static void work(const char *prefix, int step)
{
	char name[40];
	snprintf(name, sizeof name, "%s%d", prefix, step);
	int fd = t_open(name, O_WRONLY | O_CREAT, 0644);
	MUST(t_write(fd, buf, 10 + (size_t)step) == 10 + step);
	t_close(fd);
}

static void reap(pid_t pid)
{
	int status;
	MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

/* every image replaces the one before by another function */
static void chain(const char *self, int step)
{
	char next[20];
	char *args[] = { (char *)self, "chain", next, NULL };
	snprintf(next, sizeof next, "%d", step + 1);
	work("image", step);
	if (step < 3)
		t_done();
	if (step == 0)
		execv(self, args);
	if (step == 1)
		execl(self, self, "chain", next, (char *)NULL);
	if (step == 2)
		execve(self, args, environ);
	MUST(step == 3);
}

/* the next program is started without our environment: it is not observed, this one was */
static void clean(void)
{
	char *none[] = { NULL };
	work("clean", 0);
	t_done();
	execle("/bin/true", "true", (char *)NULL, none);
	MUST(false);
}

/* an exec that fails leaves the process as it was */
static void failing(void)
{
	char *args[] = { "none", NULL };
	work("before", 0);
	MUST(execv("./no-such-program", args) < 0 && errno == ENOENT);
	MUST(execvp("no-such-program", args) < 0 && errno == ENOENT);
	work("after", 0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "chain";
	const char *volatile self = argv[0];
	int step = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
	char *args[] = { argv[0], "worker", "1", NULL };
	pid_t pid;
	if (!strcmp(how, "chain")) {
		chain(self, step);
	} else if (!strcmp(how, "clean")) {
		clean();
	} else if (!strcmp(how, "fail")) {
		failing();
	} else if (!strcmp(how, "vfork")) {
		work("parent", 1);
		int kept = t_open("kept", O_WRONLY | O_CREAT, 0644);
		pid = vfork();
		if (!pid) { /* it has our memory, but descriptors of its own */
			close(kept);
			int fd = open("/dev/null", O_RDWR);
			dup2(fd, 50);
			execv(self, args);
			_exit(1);
		}
		reap(pid);
		pid = vfork();
		if (!pid)
			_exit(0);
		reap(pid);
		MUST(t_write(kept, buf, 77) == 77);
		t_close(kept);
		work("parent", 2);
	} else if (!strcmp(how, "spawn")) {
		work("parent", 1);
		MUST(posix_spawn(&pid, self, NULL, NULL, args, environ) == 0);
		reap(pid);
		work("parent", 2);
	} else {
		work("worker", step);
	}
	t_done();
	return 0;
}
