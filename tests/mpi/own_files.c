/* SPDX-License-Identifier: BSD-3-Clause */
/* own_files.c FOLDER FILES BYTES: each rank writes FILES files of BYTES bytes each, in FOLDER,
 * and nothing else. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, files = argc > 2 ? atoi(argv[2]) : 1;
	size_t bytes = argc > 3 ? (size_t)atol(argv[3]) : 1;
	char *data = calloc(bytes + 1, 1), path[4096];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < files; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/own.%d.%d", argv[1], rank, i);
		fd = open(path, O_WRONLY | O_CREAT, 0644);
		if (fd < 0 || data == NULL || write(fd, data, bytes) != (ssize_t)bytes ||
		    close(fd) != 0)
			MPI_Abort(MPI_COMM_WORLD, 3);
	}
	free(data);
	return MPI_Finalize();
}
