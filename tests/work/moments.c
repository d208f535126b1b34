/* SPDX-License-Identifier: BSD-3-Clause */
/* moments.c [preloaded]: I/O before main and after it: constructors, atexit, destructors. With an
 * argument: plugin.c is preloaded too, which was there first. */
#include "plugin.h"

static char buf[100];

static void put(const char *name, size_t n)
{
	int fd = t_open(name, O_RDWR | O_CREAT, 0644);
	MUST(t_write(fd, buf, n) == (ssize_t)n && t_pread(fd, buf, 1, 0) == 1);
	t_close(fd);
}

__attribute__((constructor)) static void before(void)
{
	put("constructor", 10);
}

static void at_exit(void)
{
	put("atexit", 20);
}

__attribute__((destructor)) static void after(void)
{
	put("destructor", 30);
	t_done();
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) { /* its destructor runs after ours: whether that is still seen is open */
		m_plugin("loaded", 11);
	}
	atexit(at_exit);
	put("main", 40);
	FILE *f = t_fopen("stream", "w");
	t_fwrite(buf, 1, 50, f);
	return 0; /* the stream is closed by the C library */
}
