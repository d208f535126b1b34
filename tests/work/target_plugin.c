/* SPDX-License-Identifier: BSD-3-Clause */
/* target_plugin.c: a library that comes into a process late, and does I/O of its own. */
#include <fcntl.h>
#include <unistd.h>

int plugin_writes(long n);

int plugin_writes(long n)
{
	int fd = open("plugin", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	for (long i = 0; i < n; i++)
		if (write(fd, "plugin", 6) != 6)
			return 1;
	return close(fd);
}
