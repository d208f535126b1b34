/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/run_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/opts.h"

#define TRIES 100

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

static int make_in(struct rama_job_place *p, struct rama_err *e)
{
	if (mkdir(p->root, 0700) != 0 && errno != EEXIST)
		return rama_err_set(e, RAMA_EIO, "%s: cannot be made: %s", p->root,
				    strerror(errno));
	if (rama_place_check(p->root, e) != 0)
		return rama_err_prefix(e, "%s", p->root);
	for (unsigned i = 0; i < TRIES; i++) {
		int n = snprintf(p->dir, sizeof(p->dir), "%s/run-%ld-%llx", p->root, (long)getpid(),
				 (unsigned long long)time(NULL) + i);

		if (n < 0 || (size_t)n >= sizeof(p->dir))
			return rama_err_set(e, RAMA_EIO, "%s: the path is too long", p->root);
		if (mkdir(p->dir, 0700) == 0) {
			p->job = strrchr(p->dir, '/') + 1;
			p->lock = rama_place_lock(p->dir);
			if (p->lock >= 0)
				return 0;
			break;
		}
		if (errno != EEXIST)
			break;
	}
	return rama_err_set(e, RAMA_EIO, "%s: cannot be made: %s", p->dir, strerror(errno));
}

int rama_place_make(struct rama_job_place *p, struct rama_err *e)
{
	const char *chosen = rama_opts_setting(RAMA_SET_DIR);
	int rc = RAMA_EIO;

	*p = (struct rama_job_place){ .lock = -1 };
	if (*chosen != '\0') {
		char *real = NULL;

		if (mkdir(chosen, 0700) != 0 && errno != EEXIST)
			return rama_err_set(e, RAMA_EIO, "IORAMA_DIR=%s: cannot be made: %s",
					    chosen, strerror(errno));
		if (rama_place_check(chosen, e) != 0)
			return rama_err_prefix(e, "IORAMA_DIR=%s", chosen);
		real = realpath(chosen, NULL); /* the command may change its directory */
		if (real == NULL || strlen(real) >= sizeof(p->root)) {
			free(real);
			return rama_err_set(e, RAMA_EIO, "IORAMA_DIR=%s: the path is too long",
					    chosen);
		}
		memcpy(p->root, real, strlen(real) + 1);
		free(real);
		return make_in(p, e);
	}
	for (unsigned i = 0; rc != 0 && rama_place_candidate(i, p->root, sizeof(p->root)); i++)
		rc = make_in(p, e);
	return rc;
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
	return rmdir(dir) == 0;
}
