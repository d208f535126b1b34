/* SPDX-License-Identifier: BSD-3-Clause */
/* wait.c: waiting for a file that another program makes, without using the processor for it. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emulate/work.h"

/* Changes made on other hosts are not told by inotify: looked for at these intervals, which
 * grow. */
#define LOOK_FIRST 0.02
#define LOOK_LAST 0.25

static bool complete(const char *path, int64_t size)
{
	struct stat st;

	return stat(path, &st) == 0 && (size < 0 || st.st_size == size);
}

static int watch_folder(const char *path)
{
	char folder[PATH_MAX];
	size_t n = strlen(path) + 1;
	int fd;

	if (n > sizeof(folder))
		return -1;
	memcpy(folder, path, n);
	fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (fd >= 0 && inotify_add_watch(fd, dirname(folder), IN_MOVED_TO | IN_CLOSE_WRITE) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void drain(int fd)
{
	char events[4096];

	while (fd >= 0 && read(fd, events, sizeof(events)) > 0)
		;
}

int rama_emu_wait_file(const char *path, int64_t size, double seconds, struct rama_err *e)
{
	double until = rama_now() + seconds, look = LOOK_FIRST;
	int fd, done;

	if (complete(path, size))
		return 1;
	fd = watch_folder(path); /* before looking again: nothing falls between */
	while (!(done = complete(path, size))) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		double left = until - rama_now();

		if (left <= 0)
			break;
		if (poll(&p, 1, (int)ceil(1000 * fmin(left, look))) < 0 && errno != EINTR) {
			rama_err_set(e, RAMA_EIO, "poll: %s", strerror(errno));
			done = RAMA_EIO;
			break;
		}
		drain(fd);
		look = fmin(look * 1.5, LOOK_LAST);
	}
	if (fd >= 0)
		close(fd);
	return done;
}
