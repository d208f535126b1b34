/* SPDX-License-Identifier: BSD-3-Clause */
/* stat.c: looking at files. */
#include "truth.h"

static struct stat st;
static struct stat64 st64;
static struct statx stx;
#define FILE_ S_IFREG
#define DIR_ S_IFDIR

static void regular(int fd)
{
	MUST(m_stat(AT_FDCWD, "file", FILE_, stat("file", &st)) == 0);
	MUST(m_stat(AT_FDCWD, "file", FILE_, lstat("./file", &st)) == 0);
	MUST(m_fstat(fd, FILE_, fstat(fd, &st)) == 0 && st.st_size == 10);
	MUST(m_stat(AT_FDCWD, "file", FILE_, stat64("file", &st64)) == 0);
	MUST(m_stat(AT_FDCWD, "file", FILE_, lstat64("file", &st64)) == 0);
	MUST(m_fstat(fd, FILE_, fstat64(fd, &st64)) == 0);
	MUST(m_stat(AT_FDCWD, "file", FILE_, fstatat(AT_FDCWD, "file", &st, 0)) == 0);
	MUST(m_stat(AT_FDCWD, "file", FILE_, fstatat64(AT_FDCWD, "file", &st64, 0)) == 0);
	MUST(m_stat(AT_FDCWD, "file", FILE_, statx(AT_FDCWD, "file", 0, STATX_ALL, &stx)) == 0);
	MUST(m_fstat(fd, FILE_, statx(fd, "", AT_EMPTY_PATH, STATX_ALL, &stx)) == 0);
	MUST(m_fstat(fd, FILE_, fstatat(fd, "", &st, AT_EMPTY_PATH)) == 0);
	/* a record of its own comes from stat alone */
	MUST(m_stat(AT_FDCWD, "other", FILE_, stat("other", &st)) == 0);
}

static void others(void)
{
	MUST(m_stat(AT_FDCWD, "sub", DIR_, stat("sub", &st)) == 0);
	MUST(m_stat(AT_FDCWD, "link", S_IFLNK, lstat("link", &st)) == 0);
	MUST(m_stat(AT_FDCWD, "link", FILE_, stat("link", &st)) == 0);
	MUST(m_stat(AT_FDCWD, "gone", 0, stat("gone", &st)) < 0 && errno == ENOENT);
	int dir = t_open("sub", O_RDONLY | O_DIRECTORY);
	MUST(m_fstat(dir, DIR_, fstat(dir, &st)) == 0);
	MUST(m_stat(dir, "in", FILE_, fstatat(dir, "in", &st, 0)) == 0);
	MUST(m_stat(dir, "in", FILE_, statx(dir, "in", 0, STATX_SIZE, &stx)) == 0);
	t_close(dir);
	MUST(stat("/etc/passwd", &st) == 0 && stat("/proc/self/stat", &st) == 0);
	MUST(fstat(0, &st) == 0);
	MUST(fstat(999, &st) < 0 && errno == EBADF);
}

int main(void)
{
	int fd = t_open("file", O_RDWR | O_CREAT, 0644);
	MUST(t_write(fd, "0123456789", 10) == 10);
	MUST(m_extra(AT_FDCWD, "sub", "MKDIRS", mkdir("sub", 0700)) == 0);
	MUST(m_extra(AT_FDCWD, "link", "LINKS", symlink("file", "link")) == 0);
	t_close(t_open("sub/in", O_WRONLY | O_CREAT, 0600));
	MUST(m_extra(AT_FDCWD, "file", "LINKS", link("file", "other")) == 0);
	regular(fd);
	others();
	t_close(fd);
	t_done();
	return 0;
}
