/* SPDX-License-Identifier: BSD-3-Clause */
/* readwrite.c: every function that reads or writes at a descriptor. Lengths are not constant, so
 * that a fortified build takes the checked symbols. */
#include "truth.h"

#include <stdarg.h>

static char buf[65536], odd[100];
static volatile size_t hundred = 100;
static volatile int too_few = -1;
static struct iovec v[3] = { { buf, 100 }, { buf + 200, 200 }, { buf + 800, 300 } };
static struct iovec crooked[2] = { { buf, 8 }, { odd + 1, 9 } };

#define RV(call, fd, off, vec, n) m_rwv(fd, 'r', off, call, vec, n)
#define WV(call, fd, off, vec, n) m_rwv(fd, 'w', off, call, vec, n)

static void vectors(int fd)
{
	MUST(WV(writev(fd, v, 3), fd, -1, v, 3) == 600);
	MUST(WV(pwritev(fd, v, 2, 5000), fd, 5000, v, 2) == 300);
	MUST(WV(pwritev64(fd, v, 3, 6000), fd, 6000, v, 3) == 600);
	MUST(WV(pwritev2(fd, v, 1, 7000, 0), fd, 7000, v, 1) == 100);
	MUST(WV(pwritev64v2(fd, v, 2, 8000, 0), fd, 8000, v, 2) == 300);
	MUST(WV(writev(fd, crooked, 2), fd, -1, crooked, 2) == 17);
	MUST(t_lseek(fd, 0, SEEK_SET) == 0);
	MUST(RV(readv(fd, v, 1), fd, -1, v, 1) == 100);
	MUST(RV(preadv(fd, v, 2, 0), fd, 0, v, 2) == 300);
	MUST(RV(preadv64(fd, v, 3, 6000), fd, 6000, v, 3) == 600);
	MUST(RV(preadv2(fd, v, 1, 7000, 0), fd, 7000, v, 1) == 100);
	MUST(RV(preadv64v2(fd, v, 2, 8000, 0), fd, 8000, v, 2) == 300);
	MUST(RV(preadv(fd, crooked, 2, 1), fd, 1, crooked, 2) == 17);
	/* offset -1: from where it is */
	MUST(m_seek(fd, lseek64(fd, 700, SEEK_SET)) == 700);
	MUST(RV(preadv2(fd, v, 1, -1, 0), fd, -1, v, 1) == 100);
	MUST(WV(pwritev2(fd, v, 1, -1, 0), fd, -1, v, 1) == 100);
	MUST(RV(readv(fd, v, too_few), fd, -1, v, 0) < 0 && errno == EINVAL);
	MUST(WV(writev(fd, v, too_few), fd, -1, v, 0) < 0 && errno == EINVAL);
}

static void single(int fd)
{
	size_t n = hundred;
	MUST(t_write(fd, buf, n) == 100);
	MUST(t_write(fd, odd + 1, n - 50) == 50);
	MUST(t_pwrite(fd, buf, n, 300) == 100);
	MUST(m_rw(fd, 'w', 4096, pwrite64(fd, buf, n, 4096), buf, T_PLAIN) == 100);
	MUST(t_lseek(fd, 0, SEEK_SET) == 0);
	MUST(t_read(fd, buf, n) == 100);
	MUST(t_read(fd, odd + 3, n - 50) == 50);
	MUST(t_pread(fd, buf, n, 300) == 100);
	MUST(m_rw(fd, 'r', 4000, pread64(fd, buf, n, 4000), buf, T_PLAIN) == 100);
	MUST(m_seek(fd, lseek64(fd, 0, SEEK_END)) == 4196);
	MUST(t_read(fd, buf, n) == 0);
	MUST(t_pread(fd, buf, n, -5) < 0 && errno == EINVAL);
}

static int vdput(int fd, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	int n = vdprintf(fd, format, ap);
	va_end(ap);
	return n;
}

/* text for a descriptor */
static void printed(int fd)
{
	MUST(m_rw(fd, 'w', -1, dprintf(fd, "%d\n", (int)hundred), NULL, T_PLAIN) == 4);
	MUST(m_rw(fd, 'w', -1, vdput(fd, "%s", "abc"), NULL, T_PLAIN) == 3);
}

int main(void)
{
	int fd = t_open("single", O_RDWR | O_CREAT | O_TRUNC, 0644);
	single(fd);
	MUST(m_sync(fd, "FSYNCS", fsync(fd)) == 0 && m_sync(fd, "FDSYNCS", fdatasync(fd)) == 0);
	t_close(fd);
	fd = t_open("vectors", O_RDWR | O_CREAT | O_TRUNC, 0644);
	vectors(fd);
	t_close(fd);
	fd = t_open("printed", O_RDWR | O_CREAT | O_TRUNC, 0644);
	printed(fd);
	t_close(fd);
	/* calls on things that are not observed */
	int pipes[2];
	MUST(pipe(pipes) == 0);
	MUST(t_write(pipes[1], buf, 10) == 10 && t_read(pipes[0], buf, 10) == 10);
	t_close(pipes[0]);
	t_close(pipes[1]);
	fd = t_open("/dev/null", O_RDWR);
	MUST(t_write(fd, buf, 10) == 10);
	t_close(fd);
	t_done();
	return 0;
}
