/* SPDX-License-Identifier: BSD-3-Clause */
/* leaf.c STATUS BYTES FILE: adds BYTES bytes to FILE in pieces of 10, says what LD_PRELOAD it
 * sees, and ends with STATUS. Plain C, so that it can be built for any C library and processor. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *preload = getenv("LD_PRELOAD"), *runtime = getenv("IORAMA_RUNTIME");
	int fd, left;

	if (argc != 4)
		return 99;
	fd = open(argv[3], O_WRONLY | O_CREAT | O_APPEND, 0666);
	for (left = atoi(argv[2]); left > 0; left -= 10)
		if (write(fd, "0123456789", left < 10 ? left : 10) < 1)
			return 98;
	close(fd);
	printf("leaf LD_PRELOAD=%s%s\n", preload ? preload : "-", runtime ? " RUNTIME" : "");
	return atoi(argv[1]);
}
