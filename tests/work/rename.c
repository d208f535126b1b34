/* SPDX-License-Identifier: BSD-3-Clause */
/* rename.c: files get other names. */
#include "truth.h"

#define NOW AT_FDCWD

static void make(const char *name, size_t n)
{
	static char buf[100];
	int fd = t_open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	MUST(fd >= 0 && t_write(fd, buf, n) == (ssize_t)n);
	t_close(fd);
}

int main(void)
{
	make("a", 1);
	MUST(m_rename(NOW, "a", NOW, "b", rename("a", "b")) == 0);
	make("c", 2);
	MUST(m_rename(NOW, "c", NOW, "./b", rename("c", "./b")) == 0);
	make("a", 3);
	MUST(m_rename(NOW, "a", NOW, "e", renameat(NOW, "a", NOW, "e")) == 0);
	MUST(m_extra(NOW, "sub", "MKDIRS", mkdir("sub", 0755)) == 0);
	int dir = t_open("sub", O_RDONLY | O_DIRECTORY);
	MUST(m_rename(NOW, "e", dir, "f", renameat(NOW, "e", dir, "f")) == 0);
	MUST(m_rename(dir, "f", NOW, "g", renameat2(dir, "f", NOW, "g", 0)) == 0);
	t_close(dir);
	MUST(m_rename(NOW, "none", NOW, "h", rename("none", "h")) < 0 && errno == ENOENT);
	MUST(m_rename(NOW, "g", NOW, "no/such", rename("g", "no/such")) < 0 && errno == ENOENT);
	t_done();
	return 0;
}
