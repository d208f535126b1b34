/* SPDX-License-Identifier: BSD-3-Clause */
#include "gather/place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool rama_place_candidate(unsigned i, char *buf, size_t size)
{
	const char *tmp = getenv("TMPDIR");
	const char *const base[] = { "/dev/shm", tmp != NULL && *tmp == '/' ? tmp : "/tmp",
				     "/tmp" };

	if (i >= sizeof(base) / sizeof(base[0]) || (i == 2 && strcmp(base[1], base[2]) == 0))
		return false;
	return (size_t)snprintf(buf, size, "%s/iorama-%u", base[i], (unsigned)geteuid()) < size;
}

int rama_place_check(const char *dir, struct rama_err *e)
{
	struct stat st;

	if (lstat(dir, &st) != 0)
		return rama_err_set(e, RAMA_EIO, "%s", strerror(errno));
	if (S_ISLNK(st.st_mode))
		return rama_err_set(e, RAMA_EIO,
				    "is a link; segments go only into a real directory");
	if (!S_ISDIR(st.st_mode))
		return rama_err_set(e, RAMA_EIO, "is no directory");
	if (st.st_uid != geteuid())
		return rama_err_set(e, RAMA_EIO, "belongs to user %u, not to you",
				    (unsigned)st.st_uid);
	if (st.st_mode & 022)
		return rama_err_set(e, RAMA_EIO, "others may write into it; chmod 700 it");
	if (access(dir, W_OK | X_OK) != 0)
		return rama_err_set(e, RAMA_EIO, "%s", strerror(errno));
	return 0;
}

static int open_lock(const char *dir, int how)
{
	char path[PATH_MAX + sizeof(RAMA_PLACE_LOCK) + 1];

	snprintf(path, sizeof(path), "%s/" RAMA_PLACE_LOCK, dir);
	return open(path, how | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int rama_place_lock(const char *dir)
{
	int fd = open_lock(dir, O_CREAT | O_RDWR);

	if (fd < 0)
		return -2;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	close(fd);
	return -1;
}

bool rama_place_locked(const char *dir)
{
	int fd = open_lock(dir, O_RDONLY);
	bool held;

	if (fd < 0)
		return false;
	held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	close(fd); /* gives it back */
	return held;
}

static bool is_mine(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

bool rama_place_remove(const char *dir, const struct rama_gather_list *s, const bool *keep,
		       bool stay)
{
	char path[PATH_MAX + sizeof(RAMA_PLACE_LOCK) + 1];
	bool all = !stay;

	for (size_t i = 0; i < s->n; i++) {
		if (keep != NULL && keep[i])
			all = false;
		else if (!is_mine(s->path[i]) || unlink(s->path[i]) != 0)
			all = false;
	}
	if (!all)
		return false;
	snprintf(path, sizeof(path), "%s/" RAMA_PLACE_LOCK, dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/" RAMA_PLACE_AGENT, dir);
	unlink(path); /* of one that was killed */
	return rmdir(dir) == 0;
}
