/* SPDX-License-Identifier: BSD-3-Clause */
/* writer.c: a task that writes blocks of 4096 bytes into a file of its own, and so knows the truth:
 * the size of that file is what was written, also if it was killed.
 *
 *   writer STEM BLOCKS [eat]     BLOCKS 0: until somebody ends it; eat: takes memory meanwhile
 *
 * With -DWITH_MPI it is a rank. The file is STEM.RANK, or STEM.PID without MPI. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

int main(int argc, char **argv)
{
	const struct timespec pause = { 0, 2000000 };
	char path[4096], block[4096];
	long blocks = argc > 2 ? atol(argv[2]) : 1;
	int rank = (int)getpid(), fd;

#ifdef WITH_MPI
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
	memset(block, 'x', sizeof(block));
	snprintf(path, sizeof(path), "%s.%d", argv[1], rank);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
	if (fd < 0)
		return 1;
	for (long i = 0; blocks == 0 || i < blocks; i++) {
		if (write(fd, block, sizeof(block)) != sizeof(block))
			return 1;
		if (blocks == 0)
			nanosleep(&pause, NULL);
		if (argc > 3 && i >= 20) { /* and keeps it */
			char *more = malloc(16 << 20);

			if (more != NULL)
				memset(more, 1, 16 << 20);
		}
	}
	close(fd);
#ifdef WITH_MPI
	MPI_Finalize();
#endif
	return 0;
}
