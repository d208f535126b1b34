/* SPDX-License-Identifier: BSD-3-Clause */
/* access.c: patterns of access and the counters that follow from them. */
#include "truth.h"

static char buf[5 << 20];

static void patterns(void)
{
	int fd = t_open("pattern", O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < 10; i++)
		MUST(t_write(fd, buf, 1000) == 1000);
	for (int i = 0; i < 5; i++)
		MUST(t_pwrite(fd, buf, 50, 20000 + i * 4096) == 50);
	for (int i = 4; i >= 0; i--)
		MUST(t_pread(fd, buf + i, 500, i * 1000) == 500);
	MUST(t_lseek(fd, 0, SEEK_SET) == 0);
	for (int i = 0; i < 7; i++)
		MUST(t_read(fd, buf, 1000) == 1000);
	MUST(t_lseek(fd, -100, SEEK_END) > 0);
	MUST(t_read(fd, buf, 1000) == 100 && t_read(fd, buf, 1000) == 0);
	t_close(fd);
}

/* every bucket of the histogram, its limits and one beyond */
static void sizes(void)
{
	static const long size[] = { 0,	     1,	      99,      100,	101,	 1023,
				     1024,   1025,    10239,   10240,	10241,	 102400,
				     102401, 1048575, 1048576, 1048577, 4194304, 4194305 };
	int fd = t_open("sizes", O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (unsigned i = 0; i < sizeof size / sizeof *size; i++)
		MUST(t_write(fd, buf, (size_t)size[i]) == size[i]);
	MUST(t_lseek(fd, 0, SEEK_SET) == 0);
	for (unsigned i = 0; i < sizeof size / sizeof *size; i++)
		MUST(t_read(fd, buf, (size_t)size[i]) == size[i]);
	t_close(fd);
}

/* two strides, reads and writes in turn, more distinct sizes than are kept */
static void strides(void)
{
	int fd = t_open("strides", O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < 20; i++)
		MUST(t_pwrite(fd, buf, 512, (off_t)i * 8192) == 512);
	for (int i = 0; i < 12; i++)
		MUST(t_pwrite(fd, buf, 64, 1000000 + (off_t)i * 1000) == 64);
	for (int i = 0; i < 6; i++) {
		MUST(t_pread(fd, buf, 512, (off_t)i * 8192) == 512);
		MUST(t_pwrite(fd, buf, 512, (off_t)i * 8192) == 512);
	}
	t_close(fd);
	fd = t_open("distinct", O_RDWR | O_CREAT | O_TRUNC, 0644);
	for (int i = 0; i < 40; i++)
		for (int k = 0; k < 1 + i / 8; k++)
			MUST(t_write(fd, buf, (size_t)i) == i);
	for (int i = 0; i < 9; i++)
		MUST(t_write(fd, buf, 35) == 35);
	t_close(fd);
}

/* two descriptors of one file share its record */
static void twice(void)
{
	int a = t_open("twice", O_RDWR | O_CREAT | O_TRUNC, 0640), b;
	MUST(t_write(a, buf, 300) == 300);
	b = t_open("./twice", O_RDWR);
	MUST(t_write(a, buf, 10) == 10 && t_read(b, buf, 20) == 20 && t_write(b, buf, 30) == 30);
	t_close(a);
	MUST(t_write(b, buf, 5) == 5);
	t_close(b);
	a = t_open("twice", O_WRONLY | O_APPEND);
	MUST(t_write(a, buf, 13) == 13);
	t_close(a);
}

/* beyond 4 GiB */
static void far(void)
{
	off_t at = (off_t)6 << 30;
	int fd = t_open("far", O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(t_pwrite(fd, buf, 100, at) == 100 && t_write(fd, buf, 50) == 50);
	MUST(t_lseek(fd, at, SEEK_SET) == at && t_read(fd, buf, 1000) == 100);
	MUST(t_pwrite(fd, buf, 8, at + ((off_t)1 << 33)) == 8);
	t_close(fd);
}

static void failures(void)
{
	MUST(t_open("missing", O_RDONLY) < 0 && errno == ENOENT);
	int fd = t_open("readonly", O_RDONLY | O_CREAT, 0444);
	MUST(t_write(fd, buf, 10) < 0 && errno == EBADF);
	MUST(t_pwrite(fd, buf, 10, 5) < 0 && errno == EBADF);
	MUST(t_lseek(fd, -5, SEEK_SET) < 0 && errno == EINVAL);
	t_close(fd);
	MUST(t_read(fd, buf, 1) < 0 && errno == EBADF);
	MUST(close(fd) < 0 && errno == EBADF);
	fd = t_open("writeonly", O_WRONLY | O_CREAT, 0600);
	MUST(t_read(fd, buf, 10) < 0 && errno == EBADF);
	t_close(fd);
}

int main(void)
{
	patterns();
	sizes();
	strides();
	twice();
	far();
	failures();
	t_done();
	return 0;
}
