/* SPDX-License-Identifier: BSD-3-Clause */
/* dir.h: a directory of its own for a test, and what was told. */
#ifndef RAMA_TESTS_UNIT_LAUNCH_DIR_H
#define RAMA_TESTS_UNIT_LAUNCH_DIR_H

#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launch/told.h"

static inline void dir_make(char to[PATH_MAX])
{
	const char *tmp = getenv("TMPDIR");

	snprintf(to, PATH_MAX, "%s/iorama-unit-launch-XXXXXX", tmp != NULL ? tmp : "/tmp");
	assert_non_null(mkdtemp(to));
}

static inline int dir_unlink(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

static inline void dir_remove(const char *path)
{
	nftw(path, dir_unlink, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void file_make(const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX + NAME_MAX + 2];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* the last thing that was told */
struct heard {
	char about[PATH_MAX], line[1024];
	unsigned n;
};

static inline void hear(void *ctx, const char *about, const char *line)
{
	struct heard *h = ctx;

	snprintf(h->about, sizeof(h->about), "%s", about);
	snprintf(h->line, sizeof(h->line), "%s", line);
	h->n++;
}

#endif
