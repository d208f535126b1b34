/* SPDX-License-Identifier: BSD-3-Clause */
#include "launch/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0';
}

static bool on_path(const char *program)
{
	const char *path = getenv("PATH");
	char file[4096];

	while (path != NULL && *path != '\0') {
		size_t n = strcspn(path, ":");

		if (n > 0 &&
		    snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, program) <
			    (int)sizeof(file) &&
		    access(file, X_OK) == 0)
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

bool rama_launch_browser_there(void)
{
	return (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY")) && !is_set("SSH_CONNECTION") &&
	       isatty(STDOUT_FILENO) && (is_set("BROWSER") || on_path("xdg-open"));
}

/* after fork: the first browser of $BROWSER, which may have words of its own */
static void become(const char *path)
{
	static const char script[] = "exec ${BROWSER%%:*} \"$1\"";
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	if (is_set("BROWSER"))
		execlp("sh", "sh", "-c", script, "sh", path, (char *)NULL);
	else
		execlp("xdg-open", "xdg-open", path, (char *)NULL);
	_exit(127);
}

static bool write_page(const char *path, const char *address)
{
	FILE *f;
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	f = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (f == NULL)
		return false;
	fprintf(f,
		"<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" "
		"content=\"no-referrer\"><meta http-equiv=\"refresh\" content=\"0; "
		"url=%s\"><title>iorama</title><a href=\"%s\">iorama</a>\n",
		address, address);
	return fclose(f) == 0;
}

bool rama_launch_browser_open(const char *path, const char *address)
{
	pid_t pid, child;

	if (!write_page(path, address))
		return false;
	pid = fork();
	if (pid == 0) { /* twice, so that it is nobody's to wait for */
		child = fork();
		if (child == 0)
			become(path);
		_exit(child < 0);
	}
	return pid > 0 && waitpid(pid, NULL, 0) == pid;
}
