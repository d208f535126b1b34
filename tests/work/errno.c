/* SPDX-License-Identifier: BSD-3-Clause */
/* errno.c: a call that succeeds leaves errno alone, one that fails sets the right one. */
#include "truth.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#define STAYS(call) ((errno = 1234), (void)!(call), t_must(errno == 1234, #call, __LINE__))
#define GIVES(code, call) ((errno = 1234), (void)!(call), t_must(errno == (code), #call, __LINE__))

static char buf[100];
static struct stat st;
static volatile int too_few = -1;
static void *volatile nowhere = (void *)16;

static void good(void)
{
	int fd = -1, d = -1;
	FILE *f = NULL;
	DIR *dir = NULL;
	for (int i = 0; i < 2; i++) {
		STAYS(fd = open("file", O_RDWR | O_CREAT, 0644));
		STAYS(write(fd, buf, 10));
		STAYS(pread(fd, buf, 5, 0));
		STAYS(lseek(fd, 0, SEEK_SET));
		STAYS(read(fd, buf, 5));
		STAYS(fstat(fd, &st));
		STAYS(stat("file", &st));
		STAYS(access("file", R_OK));
		STAYS(fsync(fd));
		STAYS(ftruncate(fd, 100));
		STAYS(d = dup(fd));
		STAYS(close(d));
		STAYS(close(fd));
		STAYS(mkdir("dir", 0755));
		STAYS(dir = opendir("dir"));
		STAYS(readdir(dir));
		STAYS(readdir(dir));
		STAYS(readdir(dir)); /* the end */
		STAYS(closedir(dir));
		STAYS(rename("dir", "dir2"));
		STAYS(rmdir("dir2"));
		STAYS(f = fopen("stream", "w+"));
		fputc('x', f), fflush(f); /* the first write asks whether it is a terminal */
		STAYS(fwrite(buf, 1, 10, f));
		STAYS(fprintf(f, "%d", 5));
		STAYS(fseek(f, 0, SEEK_SET));
		STAYS(fread(buf, 1, 5, f));
		STAYS(fileno(f));
		STAYS(fclose(f));
		STAYS(chdir("."));
		STAYS(unlink("stream"));
	}
}

static void bad(void)
{
	GIVES(ENOENT, open("none", O_RDONLY));
	GIVES(ENOENT, open("no/file", O_WRONLY | O_CREAT, 0644));
	GIVES(EEXIST, open("file", O_WRONLY | O_CREAT | O_EXCL, 0644));
	GIVES(EISDIR, open(".", O_WRONLY));
	GIVES(EBADF, read(999, buf, 1));
	GIVES(EBADF, write(-1, buf, 1));
	GIVES(EBADF, close(999));
	GIVES(EBADF, close(-1));
	GIVES(EBADF, lseek(999, 0, SEEK_SET));
	GIVES(EBADF, dup(999));
	GIVES(EBADF, fsync(999));
	GIVES(ENOENT, stat("none", &st));
	GIVES(EBADF, fstat(999, &st));
	GIVES(ENOENT, rename("none", "other"));
	GIVES(ENOENT, unlink("none"));
	GIVES(ENOENT, mkdir("no/dir", 0755));
	GIVES(ENOENT, chdir("none"));
	GIVES(EINVAL, fopen("file", "x"));
	GIVES(ENOENT, fopen("none", "r"));
	GIVES(EBADF, fdopen(999, "r"));
	GIVES(ENOENT, opendir("none"));
	GIVES(EBADF, mmap(NULL, 4096, PROT_READ, MAP_SHARED, 999, 0));
	GIVES(ENOENT, truncate("none", 5));
	int fd = open("file", O_WRONLY);
	GIVES(EFAULT, write(fd, nowhere, 5));
	close(fd);
	fd = open("file", O_RDONLY);
	GIVES(EBADF, write(fd, buf, 1));
	GIVES(EINVAL, lseek(fd, -1, SEEK_SET));
	GIVES(EFAULT, read(fd, nowhere, 5));
	GIVES(EINVAL, pread(fd, buf, 5, -1));
	GIVES(EINVAL, ftruncate(fd, 5));
	GIVES(EFAULT, readv(fd, nowhere, 1));
	GIVES(EFAULT, preadv(fd, nowhere, 2, 0));
	GIVES(EINVAL, readv(fd, nowhere, too_few));
	GIVES(EFAULT, sendfile(fd, fd, nowhere, 5));
	GIVES(EFAULT, fstat(fd, nowhere));
	GIVES(EFAULT, open(nowhere, O_RDONLY));
	GIVES(EFAULT, rename(nowhere, "x"));
	GIVES(EFAULT, unlink(nowhere));
	GIVES(EFAULT, chdir(nowhere));
	close(fd);
}

int main(void)
{
	good();
	bad();
	t_note("counters", "any");
	t_done();
	return 0;
}
