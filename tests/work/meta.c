/* SPDX-License-Identifier: BSD-3-Clause */
/* meta.c: calls about files rather than on their content. */
#include "truth.h"

#include <dirent.h>
#include <ftw.h>
#include <sys/file.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

#define NOW AT_FDCWD
#define PATH(name, counter, call) m_extra(NOW, name, #counter, call)
#define FD(fd, counter, call) m_fextra(fd, #counter, call)

static void directories(void)
{
	char temp[] = "tempXXXXXX";
	MUST(PATH("d", MKDIRS, mkdir("d", 0755)) == 0);
	MUST(PATH("d/e", MKDIRS, mkdirat(NOW, "d/e", 0755)) == 0);
	MUST(PATH("d", MKDIRS, mkdir("d", 0755)) < 0 && errno == EEXIST);
	MUST(mkdtemp(temp) != NULL);
	PATH(temp, MKDIRS, 0);
	MUST(PATH("fifo", MKDIRS, mkfifo("fifo", 0600)) == 0);
	MUST(PATH("node", MKDIRS, mknod("node", S_IFREG | 0600, 0)) == 0);
	MUST(PATH("node2", MKDIRS, mknodat(NOW, "node2", S_IFREG | 0600, 0)) == 0);
	MUST(PATH("fifo2", MKDIRS, mkfifoat(NOW, "fifo2", 0600)) == 0);
	MUST(PATH("d/e", UNLINKS, rmdir("d/e")) == 0);
	MUST(PATH(temp, UNLINKS, unlinkat(NOW, temp, AT_REMOVEDIR)) == 0);
	MUST(PATH("fifo", UNLINKS, unlink("fifo")) == 0);
	MUST(PATH("node", UNLINKS, remove("node")) == 0);
	MUST(PATH("none", UNLINKS, unlink("none")) < 0 && errno == ENOENT);
}

static void lists(void)
{
	struct dirent **found;
	int n = 0;
	DIR *dir = opendir("d");
	MUST(dir != NULL);
	PATH("d", READDIRS, 0);
	while (readdir(dir))
		n++, PATH("d", READDIRS, 0);
	PATH("d", READDIRS, 0); /* the call that finds the end */
	MUST(n == 3 && closedir(dir) == 0);
	int count = scandir("d", &found, NULL, alphasort);
	MUST(count == 3);
	PATH("d", READDIRS, 0);
	for (int i = 0; i < count; i++)
		free(found[i]);
	free(found);
}

static void links(int fd)
{
	char to[100];
	MUST(PATH("file", LINKS, link("file", "hard")) == 0);
	MUST(PATH("file", LINKS, linkat(NOW, "file", NOW, "hard2", 0)) == 0);
	MUST(PATH("soft", LINKS, symlink("file", "soft")) == 0);
	MUST(PATH("soft2", LINKS, symlinkat("file", NOW, "soft2")) == 0);
	MUST(PATH("soft", LINKS, (int)readlink("soft", to, sizeof to)) == 4);
	MUST(PATH("soft", LINKS, (int)readlinkat(NOW, "soft", to, sizeof to)) == 4);
	MUST(PATH("file", ACCESSES, access("file", R_OK)) == 0);
	MUST(PATH("file", ACCESSES, faccessat(NOW, "file", R_OK, 0)) == 0);
	MUST(PATH("file", ACCESSES, euidaccess("file", R_OK)) == 0);
	MUST(PATH("file", ACCESSES, eaccess("file", R_OK)) == 0);
	MUST(PATH("none", ACCESSES, access("none", R_OK)) < 0 && errno == ENOENT);
	MUST(PATH("file", CHMODS, chmod("file", 0640)) == 0);
	MUST(FD(fd, CHMODS, fchmod(fd, 0644)) == 0);
	MUST(PATH("file", CHMODS, fchmodat(NOW, "file", 0640, 0)) == 0);
	MUST(PATH("file", CHMODS, chown("file", getuid(), getgid())) == 0);
	MUST(FD(fd, CHMODS, fchown(fd, getuid(), getgid())) == 0);
	MUST(PATH("soft", CHMODS, lchown("soft", getuid(), getgid())) == 0);
	MUST(PATH("file", CHMODS, fchownat(NOW, "file", getuid(), getgid(), 0)) == 0);
}

static void systems(int fd)
{
	struct statvfs v;
	struct statvfs64 v64;
	struct statfs s;
	struct statfs64 s64;
	MUST(PATH("file", STATS, statfs("file", &s)) == 0);
	MUST(PATH("file", STATS, statfs64("file", &s64)) == 0);
	MUST(PATH("d", STATS, statvfs("d", &v)) == 0 && v.f_bsize > 0);
	MUST(PATH("file", STATS, statvfs64("file", &v64)) == 0);
	MUST(FD(fd, STATS, fstatfs(fd, &s)) == 0);
	MUST(FD(fd, STATS, fstatfs64(fd, &s64)) == 0);
	MUST(FD(fd, STATS, fstatvfs(fd, &v)) == 0);
	MUST(FD(fd, STATS, fstatvfs64(fd, &v64)) == 0);
	MUST(PATH("none", STATS, statfs("none", &s)) < 0 && errno == ENOENT);
}

static void times(int fd)
{
	struct timeval tv[2] = { { 1, 2 }, { 3, 4 } };
	struct timespec ts[2] = { { 1, 2 }, { 3, 4 } };
	MUST(PATH("file", UTIMES, utime("file", NULL)) == 0);
	MUST(PATH("file", UTIMES, utimes("file", tv)) == 0);
	MUST(PATH("soft", UTIMES, lutimes("soft", tv)) == 0);
	MUST(FD(fd, UTIMES, futimes(fd, tv)) == 0);
	MUST(FD(fd, UTIMES, futimens(fd, ts)) == 0);
	MUST(PATH("file", UTIMES, utimensat(NOW, "file", ts, 0)) == 0);
	MUST(PATH("file", UTIMES, futimesat(NOW, "file", tv)) == 0);
}

static void space(int fd)
{
	struct flock fl = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10 };
	MUST(FD(fd, TRUNCATES, ftruncate(fd, 5000)) == 0);
	MUST(FD(fd, TRUNCATES, ftruncate64(fd, 6000)) == 0);
	MUST(PATH("file", TRUNCATES, truncate("file", 7000)) == 0);
	MUST(PATH("file", TRUNCATES, truncate64("file", 8000)) == 0);
	MUST(FD(fd, TRUNCATES, ftruncate(fd, -1)) < 0 && errno == EINVAL);
	MUST(FD(fd, ALLOCATES, fallocate(fd, 0, 0, 9000)) == 0);
	MUST(FD(fd, ALLOCATES, fallocate64(fd, 0, 0, 9000)) == 0);
	MUST(FD(fd, ALLOCATES, posix_fallocate(fd, 0, 9500)) == 0);
	MUST(FD(fd, ALLOCATES, posix_fallocate64(fd, 0, 9500)) == 0);
	MUST(FD(fd, ADVISES, posix_fadvise(fd, 0, 100, POSIX_FADV_SEQUENTIAL)) == 0);
	MUST(FD(fd, ADVISES, posix_fadvise64(fd, 0, 100, POSIX_FADV_NORMAL)) == 0);
	MUST(FD(fd, ADVISES, (int)readahead(fd, 0, 100)) == 0);
	MUST(FD(fd, RANGE_SYNCS, sync_file_range(fd, 0, 100, SYNC_FILE_RANGE_WRITE)) == 0);
	MUST(FD(fd, RANGE_SYNCS, syncfs(fd)) == 0);
	MUST(FD(fd, LOCKS, flock(fd, LOCK_EX)) == 0 && FD(fd, LOCKS, flock(fd, LOCK_UN)) == 0);
	MUST(FD(fd, LOCKS, lockf(fd, F_TLOCK, 10)) == 0);
	MUST(FD(fd, LOCKS, lockf64(fd, F_ULOCK, 10)) == 0);
	MUST(FD(fd, LOCKS, fcntl(fd, F_SETLK, &fl)) == 0);
	MUST(fcntl(fd, F_GETLK, &fl) == 0); /* only asks */
}

/* each call is counted, whether this file system has such attributes or not */
static void attributes(int fd)
{
	char v[100];
	PATH("file", XATTRS, setxattr("file", "user.a", "1", 1, 0));
	PATH("file", XATTRS, (int)getxattr("file", "user.a", v, sizeof v));
	PATH("file", XATTRS, (int)listxattr("file", v, sizeof v));
	FD(fd, XATTRS, fsetxattr(fd, "user.b", "1", 1, 0));
	FD(fd, XATTRS, (int)fgetxattr(fd, "user.b", v, sizeof v));
	FD(fd, XATTRS, (int)flistxattr(fd, v, sizeof v));
	FD(fd, XATTRS, fremovexattr(fd, "user.b"));
	PATH("file", XATTRS, removexattr("file", "user.a"));
	PATH("soft", XATTRS, (int)lgetxattr("soft", "user.a", v, sizeof v));
	PATH("soft", XATTRS, (int)llistxattr("soft", v, sizeof v));
}

int main(void)
{
	int fd = t_open("file", O_RDWR | O_CREAT, 0644);
	directories();
	t_close(t_open("d/one", O_WRONLY | O_CREAT, 0600));
	lists();
	links(fd);
	systems(fd);
	times(fd);
	space(fd);
	attributes(fd);
	t_close(fd);
	t_done();
	return 0;
}
