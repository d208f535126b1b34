/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/run/repeat.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* a terminal sends the first two to all of its group; the others are for us alone */
static const int from_terminal[] = { SIGINT, SIGQUIT }, to_us[] = { SIGTERM, SIGHUP };
static volatile pid_t at_work;

static void pass_on(int sig)
{
	int saved = errno;

	if (at_work > 0)
		kill(at_work, sig);
	errno = saved;
}

/* before: what signals did until now, so that a run finds them so */
static void take_signals(struct sigaction before[4])
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction forward = { .sa_handler = pass_on, .sa_flags = SA_RESTART };

	for (unsigned i = 0; i < 2; i++) {
		sigaction(from_terminal[i], &ignore, &before[i]);
		sigaction(to_us[i], NULL, &before[2 + i]);
		if (before[2 + i].sa_handler != SIG_IGN)
			sigaction(to_us[i], &forward, NULL);
	}
}

static void give_back(const struct sigaction before[4])
{
	for (unsigned i = 0; i < 2; i++) {
		sigaction(from_terminal[i], &before[i], NULL);
		sigaction(to_us[i], &before[2 + i], NULL);
	}
}

static int wait_for(pid_t pid)
{
	int how;

	while (waitpid(pid, &how, 0) < 0)
		if (errno != EINTR)
			return 4;
	return WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
}

int rama_launch_repeat(unsigned times, int *status, struct rama_err *e)
{
	struct sigaction before[4];
	sigset_t all, mask;
	int rc = 0;

	*status = 0;
	sigfillset(&all);
	take_signals(before);
	for (unsigned i = 1; i <= times && *status == 0 && rc == 0; i++) {
		pid_t pid;

		/* no signal comes between the fork and its being known */
		sigprocmask(SIG_SETMASK, &all, &mask);
		pid = fork();
		if (pid == 0)
			give_back(before);
		else
			at_work = pid;
		sigprocmask(SIG_SETMASK, &mask, NULL);
		if (pid == 0)
			return (int)i;
		if (pid > 0)
			*status = wait_for(pid);
		else
			rc = rama_err_set(e, RAMA_EIO, "no process can be made: %s",
					  strerror(errno));
		at_work = 0;
	}
	give_back(before);
	return rc;
}
