/* SPDX-License-Identifier: BSD-3-Clause */
/* together.c FOLDER ROUNDS BLOCK [PAUSE [open]]: all ranks write FOLDER/all together, ROUNDS
 * times; the last rank has nothing to write in every third of them. Then each writes a block
 * alone, and after a sync all of it is read together. Each second rank is in a group that writes
 * FOLDER/even together. PAUSE: milliseconds before each call of a round. open: no file is ever
 * closed. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int rank, ranks, rounds, block, pause_ms, stays_open;
static char *data;

static void rest(void)
{
	struct timespec t = { pause_ms / 1000, pause_ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

static void all_of_them(const char *path)
{
	MPI_File f;

	MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
	for (int i = 0; i < rounds; i++) {
		rest();
		MPI_File_write_at_all(f, ((MPI_Offset)i * ranks + rank) * block, data,
				      i % 3 == 2 && rank == ranks - 1 ? 0 : block, MPI_BYTE,
				      MPI_STATUS_IGNORE);
	}
	MPI_File_write_at(f, ((MPI_Offset)rounds * ranks + rank) * block, data, block, MPI_BYTE,
			  MPI_STATUS_IGNORE);
	MPI_File_sync(f);
	MPI_Barrier(MPI_COMM_WORLD);
	for (int i = 0; i < rounds; i++)
		MPI_File_read_at_all(f, ((MPI_Offset)i * ranks + (rank + 1) % ranks) * block, data,
				     block, MPI_BYTE, MPI_STATUS_IGNORE);
	if (!stays_open)
		MPI_File_close(&f);
}

static void some_of_them(const char *path)
{
	MPI_Comm some;
	MPI_File f;

	MPI_Comm_split(MPI_COMM_WORLD, rank % 2 == 0 ? 0 : MPI_UNDEFINED, rank, &some);
	if (some == MPI_COMM_NULL)
		return;
	MPI_File_open(some, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &f);
	for (int i = 0; i < rounds; i++)
		MPI_File_write_at_all(f, ((MPI_Offset)i * ranks + rank) * block, data, block,
				      MPI_BYTE, MPI_STATUS_IGNORE);
	if (!stays_open)
		MPI_File_close(&f);
	MPI_Comm_free(&some);
}

int main(int argc, char **argv)
{
	char path[4096];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	rounds = argc > 3 ? (int)strtol(argv[2], NULL, 10) : 0;
	block = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
	pause_ms = argc > 4 ? (int)strtol(argv[4], NULL, 10) : 0;
	stays_open = argc > 5;
	data = calloc((size_t)block + 1, 1);
	if (block < 1 || data == NULL)
		MPI_Abort(MPI_COMM_WORLD, 2);
	snprintf(path, sizeof(path), "%s/all", argv[1]);
	all_of_them(path);
	snprintf(path, sizeof(path), "%s/even", argv[1]);
	some_of_them(path);
	free(data);
	return MPI_Finalize();
}
