/* SPDX-License-Identifier: BSD-3-Clause */
/* plugin.c: a library that does I/O when it is loaded and unloaded. Also preloaded before ours, so
 * that its constructor runs at a moment when nothing is ready yet. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void put(const char *name, size_t n)
{
	static char buf[100];
	int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (fd < 0 || write(fd, buf, n) != (ssize_t)n)
		abort();
	close(fd);
}

__attribute__((constructor)) static void loaded(void)
{
	put("loaded", 11);
}

__attribute__((destructor)) static void unloaded(void)
{
	put("unloaded", 12);
}
