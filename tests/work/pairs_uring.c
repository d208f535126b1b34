/* SPDX-License-Identifier: BSD-3-Clause */
/* pairs_uring MODE bad|fixed N: N pages of a file that is on disk only, here and there, through
 * io_uring: one at a time, or many. Prints the seconds that it took. Works in the current
 * folder. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, DEPTH = 32 };

static char page[DEPTH][PAGE] __attribute__((aligned(PAGE)));

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void fill(long n)
{
	int fd = open("data", O_CREAT | O_TRUNC | O_WRONLY, 0600);
	static char block[256 * PAGE];

	memset(block, 'x', sizeof(block));
	for (long at = 0; fd >= 0 && at < n; at += 256)
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			die("data");
	if (fd < 0 || fsync(fd) != 0)
		die("data");
	close(fd);
}

static void submit(struct io_uring *ring, int fd, long i, long n)
{
	struct io_uring_sqe *wanted = io_uring_get_sqe(ring);
	unsigned long where = (unsigned long)i * 7919 % (unsigned long)n;

	if (wanted == NULL)
		die("queue");
	io_uring_prep_read(wanted, fd, page[i % DEPTH], PAGE, where * PAGE);
}

int main(int argc, char **argv)
{
	long n, depth;
	struct io_uring ring;
	struct io_uring_cqe *done;
	struct timespec from, to;
	int fd;

	if (argc != 4)
		return 2;
	n = strtol(argv[3], NULL, 10);
	depth = strcmp(argv[2], "bad") == 0 ? 1 : DEPTH;
	fill(n);
	fd = open("data", O_RDONLY | O_DIRECT);
	if (fd < 0 || io_uring_queue_init(DEPTH, &ring, 0) != 0)
		die("io_uring");
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (long i = 0; i < n; i += depth) {
		long k = n - i < depth ? n - i : depth;

		for (long j = 0; j < k; j++)
			submit(&ring, fd, i + j, n);
		if (io_uring_submit(&ring) < 0)
			die("submit");
		for (; k > 0; k--) {
			if (io_uring_wait_cqe(&ring, &done) != 0 || done->res != PAGE)
				die("wait");
			io_uring_cqe_seen(&ring, done);
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &to);
	io_uring_queue_exit(&ring);
	printf("%.6f\n",
	       (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
	return 0;
}
