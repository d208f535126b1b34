/* SPDX-License-Identifier: BSD-3-Clause */
/* mail.c: a mail is handed to a program that takes it as sendmail -t does (postfix, opensmtpd,
 * msmtp, exim have one). It reads a file in memory, never a pipe: a pipe whose writer is killed
 * ends early, and half a mail would be sent. It has a session of its own, so that what ends us
 * lets it finish. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alert/inside.h"

#define PATIENCE_MS 120000

extern char **environ;

static int file_of(const char *text, size_t n)
{
	int fd = memfd_create("mail", MFD_CLOEXEC);
	ssize_t done;

	for (size_t at = 0; fd >= 0 && at < n; at += (size_t)done) {
		done = write(fd, text + at, n - at);
		if (done <= 0) {
			close(fd);
			return -1;
		}
	}
	if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int start(const char *program, int in, pid_t *pid)
{
	char *const words[] = { (char *)(uintptr_t)program, (char *)(uintptr_t) "-t",
				(char *)(uintptr_t) "-oi", NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t none;
	int rc;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&how);
	rc = posix_spawn_file_actions_adddup2(&files, in, 0);
	for (int fd = 1; rc == 0 && fd <= 2; fd++)
		rc = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_WRONLY, 0);
	if (rc == 0)
		rc = posix_spawnattr_setsigmask(&how, &none);
	if (rc == 0)
		rc = posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
	if (rc == 0)
		rc = posix_spawn(pid, program, &files, &how, words, environ);
	posix_spawnattr_destroy(&how);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/* false: it does not end, and was killed */
static bool await(pid_t pid, int *status)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool ended = true;

	if (fd >= 0) {
		int n;

		do
			n = poll(&p, 1, PATIENCE_MS);
		while (n < 0 && errno == EINTR);
		ended = n > 0;
		close(fd);
	}
	if (!ended)
		kill(pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	return ended;
}

enum rama_alert_fate rama_alert_mail_send(const struct rama_alert_site *site, const char *text,
					  size_t n, struct rama_err *why)
{
	int in = file_of(text, n), status = 0, rc;
	pid_t pid;

	if (in < 0) {
		rama_err_no_memory(why);
		return RAMA_ALERT_FAILED;
	}
	rc = start(site->sendmail, in, &pid);
	close(in);
	if (rc != 0) {
		rama_err_set(why, RAMA_EIO, "%.200s: %s", site->sendmail, strerror(rc));
		return RAMA_ALERT_FAILED;
	}
	if (!await(pid, &status)) {
		rama_err_set(why, RAMA_EIO, "%.200s: does not end", site->sendmail);
		return RAMA_ALERT_UNSURE;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return RAMA_ALERT_SENT;
	if (WIFEXITED(status))
		rama_err_set(why, RAMA_EIO, "%.200s: exit status %d", site->sendmail,
			     WEXITSTATUS(status));
	else
		rama_err_set(why, RAMA_EIO, "%.200s: killed by signal %d", site->sendmail,
			     WTERMSIG(status));
	return WIFEXITED(status) ? RAMA_ALERT_FAILED : RAMA_ALERT_UNSURE;
}
