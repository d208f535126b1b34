/* SPDX-License-Identifier: BSD-3-Clause */
/* close.c FOLDER: closes files in every way there is. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

static int open_one(const char *name)
{
	int fd = open(name, O_RDWR);
	char c;

	if (fd < 0 || read(fd, &c, 1) < 0) {
		perror(name);
		exit(1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	if (argc < 2 || chdir(argv[1]) != 0)
		return 2;
	close(open_one("plain"));
	close(open_one("nothing"));
	close(open_one("garbage"));
	errno = 77; /* that a file has no layout is not the program's matter */
	close(open_one("nothing"));
	if (errno != 77)
		return 3;

	FILE *stream = fopen("stream", "r");
	if (!stream || fgetc(stream) == EOF || fclose(stream) != 0)
		return 4;

	int first = open_one("range");
	close_range((unsigned)first, (unsigned)first, 0);

	/* the last close tells what it is by then */
	first = open_one("grown");
	int second = dup(first);
	close(first);
	char bytes[256];
	ssize_t n = getxattr("plain", "user.layout", bytes, sizeof(bytes));
	if (n > 0 && setxattr("grown", "user.layout", bytes, (size_t)n, 0) != 0)
		return 5;
	close(second);
	return 0;
}
