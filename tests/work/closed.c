/* SPDX-License-Identifier: BSD-3-Clause */
/* closed.c: a program that is started without standard streams: its own files get their numbers. */
#include "truth.h"

int main(void)
{
	static char buf[10];
	for (int i = 0; i < 3; i++) {
		char name[10];
		snprintf(name, sizeof name, "file%d", i);
		int fd = t_open(name, O_RDWR | O_CREAT, 0644);
		MUST(fd == i && t_write(fd, buf, 5 + (size_t)i) == 5 + i);
	}
	/* the streams now lead to these files, which nobody told them */
	MUST(close(1) == 0);
	m_forget(1);
	t_done();
	return 0;
}
