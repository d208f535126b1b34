/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/code/program.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/sys.h"

#ifndef ST_NOSUID
#define ST_NOSUID 2
#endif
#define SCRIPTS 5  /* interpreters of interpreters, as many as the system follows */
#define LINE 256   /* of a script, as much as the system reads */
#define CAPABLE 64 /* bytes of capabilities */

static long read_file(void *ctx, uint64_t off, void *buf, size_t n)
{
	return rama_sys_always(SYS_pread64, *(int *)ctx, (long)buf, (long)n, (long)off, 0, 0);
}

/* ---- rights --------------------------------------------------------------------------------- */

/* Does the file give rights that its user does not have? Not if the system was told to give
 * none. */
static bool gives_rights(int fd)
{
	uint64_t euid = (uint64_t)rama_sys_always3(SYS_geteuid, 0, 0, 0);
	uint64_t egid = (uint64_t)rama_sys_always3(SYS_getegid, 0, 0, 0);
	char capable[CAPABLE];
	struct statfs fs;
	struct stat st;
	bool more;

	if (rama_sys_always3(SYS_fstat, fd, &st, 0) != 0)
		return false;
	more = ((st.st_mode & S_ISUID) != 0 && st.st_uid != euid) ||
	       ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != egid) ||
	       (euid != 0 && rama_sys_always(SYS_fgetxattr, fd, (long)"security.capability",
					     (long)capable, sizeof(capable), 0, 0) > 0);
	return more && rama_sys_always3(SYS_prctl, PR_GET_NO_NEW_PRIVS, 0, 0) != 1 &&
	       (rama_sys_always3(SYS_fstatfs, fd, &fs, 0) != 0 || (fs.f_flags & ST_NOSUID) == 0);
}

/* A process whose own rights differ starts nothing but programs that distrust their environment. */
static bool distrusted(void)
{
	return rama_sys_always3(SYS_getuid, 0, 0, 0) != rama_sys_always3(SYS_geteuid, 0, 0, 0) ||
	       rama_sys_always3(SYS_getgid, 0, 0, 0) != rama_sys_always3(SYS_getegid, 0, 0, 0);
}

/* ---- scripts -------------------------------------------------------------------------------- */

bool rama_program_script(const char *head, size_t n, char *to, size_t size)
{
	size_t at = 2, len = 0;

	if (n < 3 || memcmp(head, "#!", 2) != 0)
		return false;
	while (at < n && (head[at] == ' ' || head[at] == '\t'))
		at++;
	while (at + len < n && head[at + len] != '\0' && strchr(" \t\r\n", head[at + len]) == NULL)
		len++;
	if (len == 0 || len >= size || at + len == n) /* cut off: not what is meant */
		return false;
	memcpy(to, head + at, len);
	to[len] = '\0';
	return true;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int open_file(int dirfd, const char *path)
{
	char proc[40] = "/proc/self/fd/";
	size_t n = strlen(proc);
	unsigned v = (unsigned)dirfd, digits = 1;

	if (path[0] != '\0')
		return (int)rama_sys_always3(SYS_openat, dirfd, path,
					     O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	/* again: the descriptor may be for executing only */
	for (unsigned x = v; x >= 10; x /= 10)
		digits++;
	for (unsigned i = digits; i > 0; v /= 10)
		proc[n + --i] = (char)('0' + v % 10);
	proc[n + digits] = '\0';
	return (int)rama_sys_always3(SYS_openat, AT_FDCWD, proc, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* true: `next` is the interpreter that will run it */
static bool look_at_file(struct rama_program *to, int fd, const char *path, char next[LINE])
{
	struct rama_elf_bytes bytes = { read_file, &fd };
	char head[LINE];
	struct rama_elf elf;
	long n = read_file(&fd, 0, head, sizeof(head));

	if (n <= 0)
		return false;
	if (rama_program_script(head, (size_t)n, next, LINE))
		return true;
	rama_elf_look(&elf, &bytes, path);
	to->why = elf.why;
	memcpy(to->first, elf.first, sizeof(elf.first));
	to->rights = elf.is && gives_rights(fd);
	if (to->rights && elf.why != RAMA_UNSEEN_STATIC)
		to->why = RAMA_UNSEEN_RIGHTS;
	return false;
}

void rama_program_look(struct rama_program *to, int dirfd, const char *path)
{
	char line[2][LINE];

	memset(to, 0, sizeof(*to));
	for (unsigned i = 0; i < SCRIPTS; i++) {
		int fd = open_file(dirfd, path);
		bool script;

		if (fd < 0)
			break;
		to->there = true;
		script = look_at_file(to, fd, path, line[i % 2]);
		rama_sys_always3(SYS_close, fd, 0, 0);
		if (!script)
			break;
		path = line[i % 2];
		dirfd = AT_FDCWD;
	}
	if (to->there && to->why == RAMA_UNSEEN_NOT && distrusted())
		to->why = RAMA_UNSEEN_RIGHTS;
}

/* a file that the system would start, as far as names and rights go */
static bool is_program(const char *path)
{
	struct stat st;

	if (rama_sys_always(SYS_newfstatat, AT_FDCWD, (long)path, (long)&st, 0, 0, 0) != 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	return (st.st_mode & 0111) != 0 &&
	       rama_sys_always3(SYS_faccessat, AT_FDCWD, path, X_OK) == 0;
}

bool rama_program_find(const char *word, const char *list, char buf[RAMA_PROGRAM_PATH],
		       const char **path)
{
	size_t len = strlen(word);
	bool found = false;

	*path = word;
	if (memchr(word, '/', len) != NULL)
		return true;
	if (list == NULL)
		list = "/bin:/usr/bin"; /* as the C library has it */
	for (const char *p = list; len > 0 && !found; p++) {
		size_t n = strcspn(p, ":");

		if (n + len + 2 < RAMA_PROGRAM_PATH) {
			memcpy(buf, p, n);
			buf[n] = '/';
			memcpy(buf + n + (n > 0), word, len + 1);
			found = is_program(buf);
		}
		p += n;
		if (*p == '\0')
			break;
	}
	*path = buf;
	return found;
}
