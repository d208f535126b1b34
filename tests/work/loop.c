/* SPDX-License-Identifier: BSD-3-Clause */
/* loop.c N: N times open, write, read, stat, close: for counting system calls. */
#include "truth.h"

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
	char buf[8], name[20];
	struct stat st;
	for (long i = 0; i < n; i++) {
		snprintf(name, sizeof name, "f%ld", i % 10);
		int fd = open(name, O_RDWR | O_CREAT, 0644);
		if (write(fd, buf, 8) != 8 || pread(fd, buf, 8, 0) != 8 || fstat(fd, &st) != 0)
			return 1;
		close(fd);
	}
	return 0;
}
