/* SPDX-License-Identifier: BSD-3-Clause */
/* dup.c: several descriptors for one file. */
#include "truth.h"

static char buf[1000];

int main(void)
{
	int fd = t_open("first", O_RDWR | O_CREAT | O_TRUNC, 0644);
	int a = m_dup(fd, dup(fd)), b = m_dup(fd, dup2(fd, 77)),
	    c = m_dup(fd, dup3(fd, 78, O_CLOEXEC));
	int d = m_dup(fd, fcntl(fd, F_DUPFD, 90)), e = m_dup(fd, fcntl(fd, F_DUPFD_CLOEXEC, 90));
	int f = m_dup(fd, fcntl64(fd, F_DUPFD, 300));
	MUST(b == 77 && c == 78 && d == 90 && e == 91 && f == 300);
	int all[] = { fd, a, b, c, d, e, f };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		MUST(t_write(all[i], buf, 10 + i) == (ssize_t)(10 + i));
	/* fcntl that makes no descriptor */
	MUST(fcntl(fd, F_GETFL) >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
	MUST(t_lseek(fd, 0, SEEK_SET) == 0 && t_read(f, buf, 33) == 33);

	/* over an open file: the number now means the other file */
	int g = t_open("second", O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(t_write(g, buf, 100) == 100);
	MUST(m_dup(fd, dup2(fd, g)) == g);
	MUST(t_write(g, buf, 200) == 200);
	MUST(m_dup(fd, dup2(fd, fd)) == fd);
	MUST(t_write(fd, buf, 1) == 1);
	t_close(g);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		t_close(all[i]);

	/* what nobody opened */
	int pipes[2];
	MUST(pipe(pipes) == 0);
	int x = m_dup(pipes[1], dup(pipes[1]));
	MUST(t_write(x, buf, 5) == 5);
	MUST(m_dup(pipes[1], dup2(pipes[1], 200)) == 200);
	/* its number was once that of a file */
	int h = t_open("third", O_WRONLY | O_CREAT, 0644);
	MUST(t_write(h, buf, 3) == 3);
	MUST(m_dup(pipes[1], dup2(pipes[1], h)) == h);
	MUST(t_write(h, buf, 4) == 4);
	t_close(h);
	/* a socket takes the number of a closed file */
	h = t_open("third", O_WRONLY);
	t_close(h);
	int again[2];
	MUST(pipe(again) == 0);
	MUST(t_write(again[1], buf, 7) == 7);
	MUST(m_dup(999, dup(999)) < 0 && errno == EBADF);
	t_done();
	return 0;
}
