/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/code/follow.h"
#include "base/now.h"

#define SECOND 1000000000 /* ns */

/* Signals that would end or stop this process, or that the command may be waiting for. They stay
 * blocked and are taken one by one. */
static const int passed[] = { SIGINT,  SIGTERM, SIGHUP,	  SIGQUIT, SIGUSR1, SIGUSR2,
			      SIGCONT, SIGTSTP, SIGWINCH, SIGALRM, SIGTTIN, SIGTTOU };

/* our own words may find no reader, our own files no room */
static const int ignored[] = { SIGPIPE, SIGXFSZ };

static void block(struct rama_launch_child *c, sigset_t *set)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigemptyset(set);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		sigaddset(set, passed[i]);
	sigaddset(set, SIGCHLD);
	sigprocmask(SIG_BLOCK, set, &c->mask);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		sigaction(ignored[i], &ignore, &c->before[i]);
}

static void become(struct rama_launch_child *c, int tell, char *const *argv, char *const *envp)
{
	ssize_t told;
	int why;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		sigaction(ignored[i], &c->before[i], NULL);
	if (c->follow != NULL) /* if that fails it runs all the same */
		rama_follow_ask(c->follow, RAMA_FOLLOW_ME);
	sigprocmask(SIG_SETMASK, &c->mask, NULL);
	execvpe(argv[0], argv, envp);
	why = errno;
	told = write(tell, &why, sizeof(why));
	(void)told;
	_exit(127);
}

/* What the terminal sends reaches the whole process group, so the child has it already; what a
 * process sent was meant for the command. */
static void pass_on(const struct rama_launch_child *c, const siginfo_t *info)
{
	if (info->si_code <= 0)
		kill(c->pid, info->si_signo);
}

static void ended(struct rama_launch_child *c, int status)
{
	if (WIFSIGNALED(status)) {
		c->signal = WTERMSIG(status);
		c->status = 128 + c->signal;
	} else {
		c->status = WEXITSTATUS(status);
	}
}

/* true: the command has ended. All other children are orphans of it. */
static bool reap(struct rama_launch_child *c)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (pid != c->pid)
			continue;
		if (!WIFSTOPPED(status)) {
			ended(c, status);
			return true;
		}
		/* stopped from the terminal: the shell waits for us to stop too */
		if (WSTOPSIG(status) == SIGTSTP || WSTOPSIG(status) == SIGTTIN ||
		    WSTOPSIG(status) == SIGTTOU) {
			if (c->pause != NULL)
				c->pause(c->ctx);
			raise(SIGSTOP);
		}
	}
	return pid < 0 && errno == ECHILD;
}

/* The next signal, or 0 when a second is over. */
static int next_signal(const struct rama_launch_child *c, const sigset_t *set, siginfo_t *info,
		       int64_t *due)
{
	int64_t left;
	int rc;

	if (c->second == NULL)
		return sigwaitinfo(set, info);
	left = *due - rama_now_ns();
	if (left >= 0) {
		const struct timespec t = { left / SECOND, left % SECOND };

		rc = sigtimedwait(set, info, &t);
		if (rc > 0 || errno != EAGAIN)
			return rc;
	}
	*due = rama_now_ns() + SECOND;
	return 0;
}

static void wait_for(struct rama_launch_child *c, const sigset_t *set)
{
	int64_t due = rama_now_ns() + SECOND;
	siginfo_t info;

	while (!reap(c)) {
		int rc = next_signal(c, set, &info, &due);

		if (rc == 0)
			c->second(c->ctx);
		else if (rc > 0 && info.si_signo != SIGCHLD)
			pass_on(c, &info);
	}
}

/* A signal to the whole group ends the command's own children a moment after it, and launchers
 * end before the last of their ranks, long before on a machine with much to do: those that are
 * about to end are waited for, so that they do not look as if they went on. */
static void wait_for_orphans(const struct rama_launch_child *c)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	for (int i = c->parallel ? 2500 : c->signal != 0 ? 500 : 150; i > 0; i--) {
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			continue;
		if (pid < 0)
			return; /* there are none */
		nanosleep(&pause, NULL);
	}
}

int rama_launch_child_run(struct rama_launch_child *c, char *const *argv, char *const *envp)
{
	sigset_t set;
	int tell[2];

	*c = (struct rama_launch_child){ .parallel = c->parallel,
					 .follow = c->follow,
					 .second = c->second,
					 .pause = c->pause,
					 .ctx = c->ctx };
	if (pipe2(tell, O_CLOEXEC) != 0)
		return -1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	block(c, &set);
	c->pid = fork();
	if (c->pid == 0) {
		close(tell[0]);
		become(c, tell[1], argv, envp);
	}
	close(tell[1]);
	if (c->pid > 0) {
		while (read(tell[0], &c->error, sizeof(c->error)) < 0 && errno == EINTR)
			continue;
		wait_for(c, &set);
		wait_for_orphans(c);
	}
	close(tell[0]);
	return c->pid > 0 ? 0 : -1;
}

/* ---- what is left --------------------------------------------------------------------------- */

#define LEFT_MOST 1024

/* Is it more than a dead process that nobody has waited for? */
static bool runs(pid_t pid)
{
	char path[64], line[512], *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	p = fgets(line, sizeof(line), f) != NULL ? strrchr(line, ')') : NULL;
	fclose(f);
	return p != NULL && p[1] == ' ' && p[2] != 'Z' && p[2] != 'X';
}

/* adds the children of a process to the list */
static size_t add_children(pid_t *list, size_t n, pid_t parent)
{
	char path[64], *text = NULL;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", (long)parent, (long)parent);
	f = fopen(path, "re");
	if (f == NULL)
		return n;
	while (n < LEFT_MOST && getdelim(&text, &room, ' ', f) > 0) {
		pid_t pid = (pid_t)strtol(text, NULL, 10);

		if (pid > 0 && runs(pid))
			list[n++] = pid;
	}
	free(text);
	fclose(f);
	return n;
}

size_t rama_launch_child_left(void)
{
	pid_t list[LEFT_MOST];
	size_t n = add_children(list, 0, getpid());

	for (size_t i = 0; i < n; i++)
		n = add_children(list, n, list[i]);
	return n;
}
