/* SPDX-License-Identifier: BSD-3-Clause */
/* chdir.c: relative names while the working directory changes. */
#include "truth.h"

#include <sys/syscall.h>

static char buf[100];

static void put(const char *name, size_t n)
{
	int fd = t_open(name, O_WRONLY | O_CREAT, 0644);
	MUST(fd >= 0 && t_write(fd, buf, n) == (ssize_t)n);
	t_close(fd);
}

int main(void)
{
	int top = t_open(".", O_RDONLY | O_DIRECTORY);
	MUST(m_extra(AT_FDCWD, "a", "MKDIRS", mkdir("a", 0755)) == 0);
	MUST(m_extra(AT_FDCWD, "a/b", "MKDIRS", mkdir("a/b", 0755)) == 0);
	put("file", 1);
	MUST(chdir("a") == 0);
	put("file", 2);
	put("./b/../file2", 3); /* only what is said is known: ".." stays */
	put(".//b///file", 4);
	MUST(chdir("b") == 0);
	put("file", 5);
	MUST(fchdir(top) == 0);
	put("file", 6);
	MUST(chdir("none") < 0 && errno == ENOENT);
	put("file", 7);
	t_close(top);
	/* a directory that is gone has no name */
	MUST(m_extra(AT_FDCWD, "gone", "MKDIRS", mkdir("gone", 0755)) == 0);
	MUST(chdir("gone") == 0);
	char whole[4096];
	MUST(getcwd(whole, sizeof whole) != NULL);
	MUST(m_extra(AT_FDCWD, whole, "UNLINKS", rmdir(whole)) == 0);
	MUST(open("file", O_WRONLY | O_CREAT, 0644) < 0 && errno == ENOENT);
	t_note("skip", "nowhere");
	whole[strlen(whole) - strlen("gone")] = 0;
	MUST(chdir(whole) == 0);
	put("file", 8);
	t_done();
	return 0;
}
