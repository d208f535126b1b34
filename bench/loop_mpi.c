/* SPDX-License-Identifier: BSD-3-Clause */
/* loop_mpi COUNT FILE: COUNT times MPI_File_write_at of 1 byte, on every rank into one file. What
 * bench/mpi.py counts is the function loop_calls. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int loop_calls(MPI_File file, long count);

__attribute__((noinline)) int loop_calls(MPI_File file, long count)
{
	for (long i = 0; i < count; i++)
		if (MPI_File_write_at(file, i, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	long count = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
	int failed = 0;
	MPI_File file;

	if (count <= 0) {
		fprintf(stderr, "Usage: loop_mpi COUNT FILE\n");
		return 2;
	}
	MPI_Init(&argc, &argv);
	if (MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			  &file) != MPI_SUCCESS) {
		fprintf(stderr, "loop_mpi: %s cannot be opened\n", argv[2]);
		MPI_Abort(MPI_COMM_WORLD, 4);
		return 4;
	}
	failed = loop_calls(file, count);
	MPI_File_close(&file);
	MPI_Finalize();
	return failed;
}
