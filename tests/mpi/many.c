/* SPDX-License-Identifier: BSD-3-Clause */
/* many.c N DIR: each rank writes N files of its own, and all ranks one together; the number of
 * bytes that a file has is that of its name. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char name[4096];
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (long i = 0; argc > 2 && i <= strtol(argv[1], NULL, 10); i++) {
		if (i == 0)
			snprintf(name, sizeof(name), "%s/common", argv[2]);
		else
			snprintf(name, sizeof(name), "%s/rank%d-%ld", argv[2], rank, i);
		int fd = open(name, O_RDWR | O_CREAT, 0600);
		if (fd < 0 || write(fd, name, strlen(name)) != (ssize_t)strlen(name) ||
		    close(fd) != 0)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	MPI_Finalize();
	return 0;
}
