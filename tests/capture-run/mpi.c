/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi.c: rank r of a job writes r + 1 blocks of 4096 bytes into out.r, and all meet at a
 * barrier. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char block[4096];
	char name[32];
	int rank, fd;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof(name), "out.%d", rank);
	fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
	for (int i = 0; i <= rank; i++)
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			MPI_Abort(MPI_COMM_WORLD, 1);
	close(fd);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return argc - 1;
}
