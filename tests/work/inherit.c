/* SPDX-License-Identifier: BSD-3-Clause */
/* inherit.c: descriptors that were open before the program began: number 5 is "given". */
#include "truth.h"

static char buf[100];

int main(void)
{
	MUST(pwrite(5, buf, 20, 100) == 20);
	int fd = 5;
	m_open(AT_FDCWD, "given", 0, fd); /* nobody opened it here: taken back below */
	t_want("POSIX", "given", "OPENS", 0);
	m_rw(5, 'w', 100, 20, buf, T_PLAIN);
	MUST(t_pread(5, buf, 10, 50) == 10);
	int d = m_dup(5, dup(5));
	MUST(t_pwrite(d, buf, 5, 0) == 5);
	t_close(d);
	t_close(5);
	t_done();
	return 0;
}
