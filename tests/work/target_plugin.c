/* SPDX-License-Identifier: BSD-3-Clause */
/* target_plugin.c: a library that comes into a process late, and does I/O of its own. With
 * -DWAITS=FIFO its beginning takes until somebody writes there. */
#include <fcntl.h>
#include <unistd.h>

int plugin_writes(long n);

#ifdef WAITS
/* read() is no call in which a thread is borrowed */
static __attribute__((constructor)) void wait_for_it(void)
{
	char byte;
	int fd = open(WAITS, O_RDONLY);

	if (read(fd, &byte, 1) == 1)
		close(fd);
}
#endif

int plugin_writes(long n)
{
	int fd = open("plugin", O_WRONLY | O_CREAT | O_TRUNC, 0644);

	for (long i = 0; i < n; i++)
		if (write(fd, "plugin", 6) != 6)
			return 1;
	return close(fd);
}
