/* SPDX-License-Identifier: BSD-3-Clause */
/* proc.c: what the machine knows of processes. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "look/parts.h"

int rama_look_alive(const char *proc, int64_t pid, uint64_t start)
{
	char path[512], line[1024], *p, state;
	unsigned long long began;
	ssize_t n;
	int fd;

	if (pid <= 0 ||
	    snprintf(path, sizeof(path), "%s/%lld/stat", proc, (long long)pid) >= (int)sizeof(path))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, line, sizeof(line) - 1) : -1;
	if (fd >= 0)
		close(fd);
	line[n > 0 ? n : 0] = '\0';
	/* its name may hold anything: fields are counted from the last parenthesis on */
	p = strrchr(line, ')');
	if (p == NULL || sscanf(p + 1, " %c", &state) != 1)
		return 0;
	for (unsigned field = 2; field < 22 && p != NULL; field++)
		p = strchr(p + 1, ' ');
	if (p == NULL ||
	    sscanf(p, " %llu", &began) != 1) // NOLINT(cert-err34-c): a line of the kernel
		return 0;
	return began == start && state != 'Z' && state != 'X';
}

bool rama_look_descriptor(const char *proc, int64_t pid, int fd, char *to, size_t room)
{
	char path[512];
	ssize_t n;

	if (snprintf(path, sizeof(path), "%s/%lld/fd/%d", proc, (long long)pid, fd) >=
	    (int)sizeof(path))
		return false;
	n = readlink(path, to, room - 1);
	to[n > 0 ? n : 0] = '\0';
	return n > 0;
}
