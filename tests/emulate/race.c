/* SPDX-License-Identifier: BSD-3-Clause */
/* race.c: preloaded into emulate: somebody else puts something under the name $RACE_NAME at the
 * worst of moments. $RACE_HOW: rename, when a file is about to take that name; exchange, when it is
 * about to replace what has it; take, when what has it is about to go; open, when it is about to be
 * opened for writing: another file; link: a link to it. The file is $RACE_FILE, if there is one. If
 * there is a $RACE_FOLDER, that one goes elsewhere instead, and a link to $RACE_ELSE has its name.
 * Once; $RACE_DIES: the call is the last one. $RACE_OLD: 1, the system knows no renameat2, 2, no
 * second names of a file either. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int old(void)
{
	const char *is = getenv("RACE_OLD");

	return is != NULL ? is[0] - '0' : 0;
}

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

static int real_linkat(int from_at, const char *from, int at, const char *name, int flags)
{
	int (*real)(int, const char *, int, const char *, int) = dlsym(RTLD_NEXT, "linkat");

	return real(from_at, from, at, name, flags);
}

static void put(int at, const char *name)
{
	const char *file = getenv("RACE_FILE"), *folder = getenv("RACE_FOLDER");
	char gone[4096];

	if (folder != NULL) {
		snprintf(gone, sizeof(gone), "%s.gone", folder);
		if (rename(folder, gone) != 0 || symlink(getenv("RACE_ELSE"), folder) != 0)
			perror("race");
		return;
	}
	if (file == NULL)
		return;
	unlinkat(at, name, 0);
	if (strcmp(getenv("RACE_HOW"), "link") == 0
		    ? symlinkat(file, at, name) != 0
		    : real_linkat(AT_FDCWD, file, at, name, 0) != 0 || unlink(file) != 0)
		perror("race");
}

static void die(void)
{
	if (getenv("RACE_DIES") != NULL)
		raise(SIGKILL);
}

/* Before a file is given another name: is it now, and if so to whom is it done? */
static int meets(int at, const char *from, const char *name, unsigned flags)
{
	if (is_time(flags & RENAME_EXCHANGE ? "exchange" : "rename", name))
		put(at, name);
	else if (is_time("take", from))
		put(at, from);
	else
		return 0;
	return 1;
}

long syscall(long n, ...)
{
	long (*real)(long, long, long, long, long, long, long) = dlsym(RTLD_NEXT, "syscall");
	long a[6], rc;
	va_list args;
	int met = 0;

	va_start(args, n);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (n == SYS_renameat2 && old()) {
		errno = EINVAL;
		return -1;
	}
	if (n == SYS_renameat2)
		met = meets((int)a[0], (const char *)a[1], (const char *)a[3], (unsigned)a[4]);
	rc = real(n, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (met)
		die();
	return rc;
}

int linkat(int from_at, const char *from, int at, const char *name, int flags)
{
	int met, rc;

	if (old() == 2) {
		errno = EPERM;
		return -1;
	}
	met = meets(at, from, name, 0);
	rc = real_linkat(from_at, from, at, name, flags);
	if (met)
		die();
	return rc;
}

int renameat2(int from_at, const char *from, int at, const char *name, unsigned flags)
{
	int (*real)(int, const char *, int, const char *, unsigned) = dlsym(RTLD_NEXT, "renameat2");

	if (old()) {
		errno = EINVAL;
		return -1;
	}
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

/* Libraries of MPI open by the whole name: $RACE_HOW create, before they make a file. */
static int by_name(const char *call, const char *path, int flags, mode_t mode)
{
	int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, call);

	if (flags & O_CREAT && is_time("create", path))
		put(AT_FDCWD, path);
	return real(path, flags, mode);
}

#define OPEN(name)                                                 \
	int name(const char *path, int flags, ...)                 \
	{                                                          \
		va_list args;                                      \
		mode_t mode;                                       \
		va_start(args, flags);                             \
		mode = flags & O_CREAT ? va_arg(args, mode_t) : 0; \
		va_end(args);                                      \
		return by_name(#name, path, flags, mode);          \
	}
OPEN(open)
OPEN(open64)
