/* SPDX-License-Identifier: BSD-3-Clause */
/* at_work.c DIR INDEX: a process that is either in one call or moves a file. INDEX odd: prints
 * when it asks for the lock of DIR/held (ns since 1970), waits for it, prints "locked", and rests.
 * Even: writes 64 KiB every 5 ms to DIR/moved.INDEX while DIR/go is there, then rests. Each ends
 * with its standard input, and prints how many bytes it wrote. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static char data[65536];

static void wait_for_lock(const char *dir)
{
	char path[4096];
	struct timespec t;
	int fd;

	snprintf(path, sizeof(path), "%s/held", dir);
	fd = open(path, O_RDWR);
	clock_gettime(CLOCK_REALTIME, &t);
	printf("%lld\n", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
	fflush(stdout);
	if (fd < 0 || flock(fd, LOCK_EX) != 0)
		exit(1);
	printf("locked\n");
	fflush(stdout);
}

static long long move(const char *dir, long index)
{
	char path[4096], go[4096];
	long long n = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/moved.%ld", dir, index);
	snprintf(go, sizeof(go), "%s/go", dir);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	while (fd >= 0 && access(go, F_OK) == 0) {
		if (pwrite(fd, data, sizeof(data), 0) != (ssize_t)sizeof(data))
			exit(1);
		n += (long long)sizeof(data);
		usleep(5000);
	}
	return n;
}

int main(int argc, char **argv)
{
	long index = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	long long n = 0;
	char c;

	if (argc < 3)
		return 2;
	if (index % 2 == 1)
		wait_for_lock(argv[1]);
	else
		n = move(argv[1], index);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	printf("%lld\n", n);
	return 0;
}
