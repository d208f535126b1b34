/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.c: data that goes from file to file without passing through the program. Each call is a read
 * of the source and a write of the target. */
#include "truth.h"

#include <sys/sendfile.h>

static char buf[65536];

static void both(int from, off_t in, int to, off_t at, ssize_t n)
{
	m_rw(from, 'r', in, n, NULL, T_COPY);
	m_rw(to, 'w', at, n, NULL, T_COPY);
}

int main(void)
{
	int a = t_open("from", O_RDWR | O_CREAT | O_TRUNC, 0644);
	int b = t_open("to", O_RDWR | O_CREAT | O_TRUNC, 0644);
	off_t in = 100, at = 5000;
	off64_t in64 = 100, at64 = 5000;
	int pipes[2];
	ssize_t n;
	MUST(t_write(a, buf, sizeof buf) == sizeof buf);
	MUST(t_lseek(a, 0, SEEK_SET) == 0 && pipe(pipes) == 0);

	n = sendfile(b, a, NULL, 1000);
	both(a, -1, b, -1, n);
	MUST(n == 1000);
	n = sendfile(b, a, &in, 2000);
	both(a, 100, b, -1, n);
	MUST(n == 2000 && in == 2100);
	in64 = 7;
	n = sendfile64(b, a, &in64, 200);
	both(a, 7, b, -1, n);
	MUST(n == 200);
	in64 = 300;
	n = copy_file_range(a, &in64, b, &at64, 4000, 0);
	both(a, 300, b, 5000, n);
	MUST(n == 4000);
	n = copy_file_range(a, &in64, b, NULL, 4000, 0);
	both(a, 4300, b, -1, n);
	MUST(n > 0);
	in64 = 0;
	n = splice(a, &in64, pipes[1], NULL, 3000, 0);
	m_rw(a, 'r', 0, n, NULL, T_COPY);
	MUST(n == 3000);
	at64 = at;
	n = splice(pipes[0], NULL, b, &at64, 3000, 0);
	m_rw(b, 'w', 5000, n, NULL, T_COPY);
	MUST(n == 3000);
	MUST(sendfile(pipes[1], a, &in, 10) == 10);
	m_rw(a, 'r', 2100, 10, NULL, T_COPY);
	t_close(a);
	t_close(b);
	t_done();
	return 0;
}
