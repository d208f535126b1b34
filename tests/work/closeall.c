/* SPDX-License-Identifier: BSD-3-Clause */
/* closeall.c HOW: all descriptors are closed, known or not, and I/O goes on. */
#include "truth.h"

static char buf[100];

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "loop";
	int fd = t_open("before", O_WRONLY | O_CREAT, 0644);
	MUST(t_write(fd, buf, 10) == 10);
	if (!strcmp(how, "loop")) {
		for (int i = 3; i < 65536; i++)
			close(i);
	} else if (!strcmp(how, "range")) {
		MUST(close_range(3, ~0u, 0) == 0);
	} else {
		closefrom(3);
	}
	m_forget(fd);
	MUST(write(fd, buf, 1) < 0 && errno == EBADF);
	int again = t_open("after", O_RDWR | O_CREAT, 0600);
	MUST(again == 3); /* nobody else keeps the number */
	MUST(t_write(again, buf, 20) == 20 && t_pread(again, buf, 5, 0) == 5);
	t_close(again);
	fd = t_open("before", O_WRONLY);
	MUST(t_write(fd, buf, 30) == 30);
	t_close(fd);
	/* a range that is to be closed at exec stays open */
	fd = t_open("cloexec", O_WRONLY | O_CREAT, 0644);
	MUST(close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) == 0);
	MUST(t_write(fd, buf, 40) == 40);
	t_close(fd);
	t_done();
	return 0;
}
