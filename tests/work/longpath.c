/* SPDX-License-Identifier: BSD-3-Clause */
/* longpath.c: a path as long as the system takes, and a longer one of two parts: the totals. */
#include "truth.h"

#include <limits.h>

int main(void)
{
	static char path[PATH_MAX + 300], buf[10];
	size_t n = 0;
	int dirs = 0;
	while (n + 201 < PATH_MAX - 10) {
		memset(path + n, 'd', 200);
		path[n + 200] = 0;
		MUST(mkdir(path, 0755) == 0);
		path[n + 200] = '/';
		n += 201;
		dirs++;
	}
	memcpy(path + n, "end", 4);
	int fd = open(path, O_RDWR | O_CREAT, 0644);
	MUST(fd >= 0 && write(fd, buf, 10) == 10 && close(fd) == 0);
	/* a file below that directory has a name that no call could take whole */
	path[n - 1] = 0;
	int dir = open(path, O_RDONLY | O_DIRECTORY);
	MUST(dir >= 0);
	memset(path, 'e', 200);
	path[200] = 0;
	MUST(mkdirat(dir, path, 0755) == 0);
	memcpy(path + 200, "/end", 5);
	fd = openat(dir, path, O_RDWR | O_CREAT, 0644);
	MUST(fd >= 0 && write(fd, buf, 7) == 7 && close(fd) == 0 && close(dir) == 0);
	t_total("POSIX", "BYTES_WRITTEN", 17);
	t_total("POSIX", "OPENS", 3);
	t_total("EXTRA", "MKDIRS", dirs + 1);
	t_done();
	return 0;
}
