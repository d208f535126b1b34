/* SPDX-License-Identifier: BSD-3-Clause */
/* inherit.c: descriptors that were open before the program began: 5, 6 and 7 are "given" to
 * "given3"; 6 stands at byte 300. */
#include "truth.h"

static char buf[100];

/* nobody opened it here: what the model counts for that is taken back */
static void given(int fd, const char *name, off_t at)
{
	m_open(AT_FDCWD, name, 0, fd);
	m_at(fd, at);
	t_want("POSIX", name, "OPENS", 0);
}

int main(void)
{
	MUST(pwrite(5, buf, 20, 100) == 20);
	int fd = 5;
	given(6, "given2", 300);
	given(7, "given3", 0);
	m_rw(7, 'w', -1, 30, buf, T_PLAIN);
	given(fd, "given", 0);
	m_rw(5, 'w', 100, 20, buf, T_PLAIN);
	MUST(t_pread(5, buf, 10, 50) == 10);
	/* another one, used first without a position: it stands at 300 */
	MUST(t_read(6, buf, 40) == 40);
	MUST(write(7, buf, 30) == 30);
	MUST(t_write(7, buf, 25) == 25);
	int d = m_dup(5, dup(5));
	MUST(t_pwrite(d, buf, 5, 0) == 5);
	t_close(d);
	t_close(5);
	t_done();
	return 0;
}
