/* SPDX-License-Identifier: BSD-3-Clause */
/* race.c: preloaded into emulate: somebody else puts something under the name $RACE_NAME at the
 * worst of moments. $RACE_HOW: rename, when a file is about to take that name; open, when it is
 * about to be opened for writing: another file; link: a link to it. The file is $RACE_FILE.
 * Once. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_time(const char *how, const char *path)
{
	static int done;
	const char *want = getenv("RACE_HOW"), *name = getenv("RACE_NAME");
	const char *slash = strrchr(path, '/');

	if (done || want == NULL || name == NULL || strstr(how, want) == NULL ||
	    strcmp(slash != NULL ? slash + 1 : path, name) != 0)
		return 0;
	return done = 1;
}

static void put(int at, const char *name)
{
	const char *file = getenv("RACE_FILE");

	unlinkat(at, name, 0);
	if (strcmp(getenv("RACE_HOW"), "link") == 0
		    ? symlinkat(file, at, name) != 0
		    : linkat(AT_FDCWD, file, at, name, 0) != 0 || unlink(file) != 0)
		perror("race");
}

int renameat2(int from_at, const char *from, int at, const char *name, unsigned flags)
{
	int (*real)(int, const char *, int, const char *, unsigned) = dlsym(RTLD_NEXT, "renameat2");

	if (is_time("rename", name))
		put(at, name);
	return real(from_at, from, at, name, flags);
}

int renameat(int from_at, const char *from, int at, const char *name)
{
	int (*real)(int, const char *, int, const char *) = dlsym(RTLD_NEXT, "renameat");

	if (is_time("rename", name))
		put(at, name);
	return real(from_at, from, at, name);
}

int openat(int at, const char *path, int flags, ...)
{
	int (*real)(int, const char *, int, mode_t) = dlsym(RTLD_NEXT, "openat");
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	if ((flags & O_ACCMODE) != O_RDONLY && is_time("open link", path))
		put(at, path);
	return real(at, path, flags, mode);
}
