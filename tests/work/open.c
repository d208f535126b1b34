/* SPDX-License-Identifier: BSD-3-Clause */
/* open.c: every way to open a file. */
#include "truth.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

static char buf[100];
static volatile int flags = O_RDWR; /* no constant: a fortified build then takes __open_2 */

static void use(int fd, size_t n)
{
	MUST(fd >= 0);
	MUST(t_write(fd, buf, n) == (ssize_t)n);
	t_close(fd);
}

static int temp(char *name, int ret)
{
	return m_open(AT_FDCWD, name, 0, ret);
}

static void temporary(void)
{
	char a[] = "tempXXXXXX", b[] = "tempXXXXXX", c[] = "tempXXXXXX.c", d[] = "tempXXXXXX.dd";
	use(temp(a, mkstemp(a)), 1);
	use(temp(b, mkostemp(b, O_APPEND)), 2);
	use(temp(c, mkstemps(c, 2)), 3);
	use(temp(d, mkostemps(d, 3, O_CLOEXEC)), 4);
	char e[] = "temp64XXXXXX", f[] = "temp64XXXXXX", g[] = "tempXXXXXX.c",
	     h[] = "tempXXXXXX.dd";
	use(temp(e, mkstemp64(e)), 5);
	use(temp(f, mkostemp64(f, O_APPEND)), 6);
	use(temp(g, mkstemps64(g, 2)), 7);
	use(temp(h, mkostemps64(h, 3, O_CLOEXEC)), 8);
}

static void by_directory(void)
{
	MUST(m_extra(AT_FDCWD, "sub", "MKDIRS", mkdir("sub", 0755)) == 0);
	int dir = t_open("sub", O_RDONLY | O_DIRECTORY);
	MUST(dir >= 0);
	use(t_openat(dir, "below", O_RDWR | O_CREAT, 0600), 10);
	use(t_openat(dir, "./below", O_RDWR), 11);
	use(t_openat(AT_FDCWD, "sub//below", O_WRONLY), 12);
	char whole[4096];
	MUST(getcwd(whole, sizeof whole - 20) != NULL);
	snprintf(whole + strlen(whole), 20, "/absolute");
	use(t_openat(dir, whole, O_WRONLY | O_CREAT, 0644), 13);
	use(m_open(dir, "below", 0, openat64(dir, "below", flags)), 14);
	use(m_open(dir, "by64", 0611, openat64(dir, "by64", O_CREAT | O_WRONLY, 0611)), 15);
	MUST(t_openat(dir, "none", O_RDONLY) < 0);
	t_close(dir);
}

static void rare(void)
{
	use(m_open(AT_FDCWD, "creat", 0640, creat("creat", 0640)), 20);
	use(m_open(AT_FDCWD, "creat64", 0641, creat64("creat64", 0641)), 21);
	use(m_open(AT_FDCWD, "open64", 0642, open64("open64", O_WRONLY | O_CREAT, 0642)), 22);
	use(t_open("open64", flags), 23); /* fortified: __open_2 */
	use(m_open(AT_FDCWD, "open64", 0, open64("open64", flags)), 24);
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);
	if (fd >= 0) { /* a file without a name: counted under that of the directory */
		m_open(AT_FDCWD, ".", 0600, fd);
		MUST(t_write(fd, buf, 25) == 25);
		t_close(fd);
	}
	struct open_how how = { .flags = O_RDWR | O_CREAT, .mode = 0600 };
	fd = (int)syscall(SYS_openat2, AT_FDCWD, "openat2", &how, sizeof how);
	if (fd >= 0 || errno != ENOSYS)
		use(m_open(AT_FDCWD, "openat2", 0600, fd), 26);
	fd = (int)syscall(SYS_openat, AT_FDCWD, "bynumber", O_RDWR | O_CREAT, 0640);
	use(m_open(AT_FDCWD, "bynumber", 0640, fd), 27);
}

int main(void)
{
	use(t_open("plain", O_WRONLY | O_CREAT, 0644), 1);
	temporary();
	by_directory();
	rare();
	t_done();
	return 0;
}
