/* SPDX-License-Identifier: BSD-3-Clause */
#include "study/newest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct newest {
	struct timespec when;
	char name[NAME_MAX + 1];
};

static bool is_log(const char *name)
{
	static const char end[] = ".darshan";
	size_t n = strlen(name);

	return name[0] != '.' && n >= sizeof(end) && strcmp(name + n - (sizeof(end) - 1), end) == 0;
}

static bool is_newer(const struct newest *n, const struct stat *st, const char *name)
{
	if (n->name[0] == '\0')
		return true;
	if (st->st_mtim.tv_sec != n->when.tv_sec)
		return st->st_mtim.tv_sec > n->when.tv_sec;
	if (st->st_mtim.tv_nsec != n->when.tv_nsec)
		return st->st_mtim.tv_nsec > n->when.tv_nsec;
	return strcmp(name, n->name) > 0;
}

int rama_study_newest(const char *dir, char *path, size_t room, struct rama_err *e)
{
	struct newest newest = { 0 };
	const struct dirent *d;
	struct stat st;
	DIR *all = opendir(dir);
	int n;

	if (all == NULL)
		return rama_err_set(e, RAMA_EIO, "%s: %s", dir, strerror(errno));
	while ((d = readdir(all)) != NULL) {
		if (!is_log(d->d_name) || fstatat(dirfd(all), d->d_name, &st, 0) != 0 ||
		    !S_ISREG(st.st_mode) || !is_newer(&newest, &st, d->d_name))
			continue;
		newest.when = st.st_mtim;
		snprintf(newest.name, sizeof(newest.name), "%s", d->d_name);
	}
	closedir(all);
	if (newest.name[0] == '\0')
		return rama_err_set(e, RAMA_EMISSING, "there is no log in %s", dir);
	n = snprintf(path, room, "%s%s%s", strcmp(dir, ".") == 0 ? "" : dir,
		     strcmp(dir, ".") == 0 ? "" : "/", newest.name);
	return n < 0 || (size_t)n >= room ? rama_err_set(e, RAMA_EIO, "the path is too long") : 0;
}
