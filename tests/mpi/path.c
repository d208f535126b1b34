/* SPDX-License-Identifier: BSD-3-Clause */
/* path.c FILE collective|own BLOCK COUNT BUFFER: ranks write a file together.
 * collective: COUNT blocks of each rank, by turns, in one call that rank 0 does with a buffer of
 * BUFFER bytes; own: COUNT calls of one block each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_together(MPI_File f, int rank, int ranks, int block, int count, const char *data)
{
	MPI_Datatype turns;

	MPI_Type_vector(count, block, block * ranks, MPI_BYTE, &turns);
	MPI_Type_commit(&turns);
	MPI_File_set_view(f, (MPI_Offset)rank * block, MPI_BYTE, turns, "native", MPI_INFO_NULL);
	MPI_File_write_at_all(f, 0, data, block * count, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_Type_free(&turns);
}

int main(int argc, char **argv)
{
	int rank, ranks, block = argc > 5 ? (int)strtol(argv[3], NULL, 10) : 0;
	int count = argc > 5 ? (int)strtol(argv[4], NULL, 10) : 0;
	MPI_Info hints;
	MPI_File f;
	char *data;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	data = calloc((size_t)block * (size_t)count + 1, 1);
	if (block < 1 || data == NULL)
		MPI_Abort(MPI_COMM_WORLD, 2);
	MPI_Info_create(&hints);
	MPI_Info_set(hints, "romio_cb_write", "enable");
	MPI_Info_set(hints, "cb_nodes", "1");
	MPI_Info_set(hints, "cb_buffer_size", argv[5]);
	MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, hints, &f);
	if (strcmp(argv[2], "collective") == 0)
		write_together(f, rank, ranks, block, count, data);
	for (int i = 0; i < count && strcmp(argv[2], "own") == 0; i++)
		MPI_File_write_at(f, ((MPI_Offset)i * ranks + rank) * block, data, block, MPI_BYTE,
				  MPI_STATUS_IGNORE);
	MPI_File_close(&f);
	MPI_Info_free(&hints);
	free(data);
	return MPI_Finalize();
}
