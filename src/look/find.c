/* SPDX-License-Identifier: BSD-3-Clause */
#include "look/find.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/siphash.h"
#include "gather/place.h"
#include "segment/place.h"

uint64_t rama_look_find_id_hash(const struct rama_look_find_id *id)
{
	static const struct rama_sipkey key = { 0x66696e64u, 1 };

	return rama_siphash(&key, id, sizeof(*id));
}

bool rama_look_find_is_dir(const char *path, uint32_t uid, struct rama_look_find_id *id)
{
	struct stat st;

	if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != uid ||
	    (st.st_mode & 022) != 0)
		return false;
	if (id != NULL)
		*id = (struct rama_look_find_id){ st.st_dev, st.st_ino };
	return true;
}

bool rama_look_find_is_segment(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && name[0] != '.' && strcmp(name + n - 4, ".seg") == 0;
}

bool rama_look_find_user_of(const char *name, uint32_t *uid)
{
	bool usual;

	return rama_seg_place_read(name, uid, &usual);
}

/* all entries that `fits` likes; uid: of the directory as it was opened, whatever its name
 * stands for by then; NULL: anybody's */
static void walk(const char *dir, const uint32_t *uid, bool (*fits)(const char *name),
		 rama_look_find_fn fn, void *ctx)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *entry;
	struct stat st;
	DIR *d = NULL;

	if (fd >= 0 && (uid == NULL ||
			(fstat(fd, &st) == 0 && rama_seg_place_own(st.st_mode, st.st_uid, *uid))))
		d = fdopendir(fd);
	if (d == NULL && fd >= 0)
		close(fd);
	while (d != NULL && (entry = readdir(d)) != NULL) {
		char path[PATH_MAX];

		if (fits(entry->d_name) &&
		    snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name) < (int)sizeof(path))
			fn(ctx, path, entry->d_name);
	}
	if (d != NULL)
		closedir(d);
}

static bool is_job(const char *name)
{
	return name[0] != '.';
}

static bool is_user(const char *name)
{
	uint32_t uid;

	return rama_look_find_user_of(name, &uid);
}

void rama_look_find_jobs(const char *root, uint32_t uid, rama_look_find_fn fn, void *ctx)
{
	walk(root, &uid, is_job, fn, ctx);
}

void rama_look_find_segments(const char *dir, uint32_t uid, rama_look_find_fn fn, void *ctx)
{
	walk(dir, &uid, rama_look_find_is_segment, fn, ctx);
}

void rama_look_find_users(const char *base, rama_look_find_fn fn, void *ctx)
{
	walk(base, NULL, is_user, fn, ctx);
}

/* ---- who reads ------------------------------------------------------------------------------- */

static int open_claim(const char *dir, int flags)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/" RAMA_GATHER_PLACE_AGENT, dir) >= (int)sizeof(path))
		return -1;
	return open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
}

static void read_claim(int fd, int64_t *pid, char *spool, size_t room)
{
	char text[PATH_MAX + 32];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	char *end;

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (pid != NULL)
		*pid = strtoll(text, &end, 10);
	if (spool != NULL) {
		const char *blank = strchr(text, ' ');

		snprintf(spool, room, "%s", blank != NULL ? blank + 1 : "");
	}
}

int rama_look_agent_claim(const char *dir, const char *spool, struct rama_err *e)
{
	char text[PATH_MAX + 32];
	int fd = open_claim(dir, O_RDWR | O_CREAT), n;
	int64_t pid;

	if (fd < 0)
		return rama_err_set(e, RAMA_EIO, "%s/" RAMA_GATHER_PLACE_AGENT ": %s", dir,
				    strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		read_claim(fd, &pid, text, sizeof(text));
		close(fd);
		return rama_err_set(e, RAMA_EIO,
				    "%s: an agent reads here already: process %lld, spool %.300s",
				    dir, (long long)pid, text);
	}
	n = snprintf(text, sizeof(text), "%ld %s\n", (long)getpid(), spool);
	if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n) {
		close(fd);
		return rama_err_set(e, RAMA_EIO, "%s/" RAMA_GATHER_PLACE_AGENT ": %s", dir,
				    strerror(errno));
	}
	return fd;
}

void rama_look_agent_release(const char *dir, int fd)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/" RAMA_GATHER_PLACE_AGENT, dir) < (int)sizeof(path))
		unlink(path);
	close(fd);
}

bool rama_look_agent_at(const char *dir, int64_t *pid, char *spool, size_t room)
{
	int fd = open_claim(dir, O_RDONLY);
	bool held;

	if (fd < 0)
		return false;
	held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	if (held)
		read_claim(fd, pid, spool, room);
	close(fd);
	return held;
}
