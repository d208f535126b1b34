/* SPDX-License-Identifier: BSD-3-Clause */
/* pairs_mpi MODE bad|fixed N: one mistake that ranks make with a file, and the same work done
 * well; see pairs.c. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1024L * 1024)

static int rank, ranks, bad;
static long n;
static char *block; /* 16 MiB */

static MPI_File opened(const char *name, int mode)
{
	MPI_File f;

	if (MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &f) != MPI_SUCCESS)
		MPI_Abort(MPI_COMM_WORLD, 1);
	return f;
}

static long at_most(long x, long most)
{
	return x < most ? x : most;
}

/* a shared file, every rank its own part of it, in pieces of `size`; done well all of it at once */
static void parts(int writing, long size)
{
	long part = n * size, step = bad ? size : part;
	MPI_File f = opened("shared", MPI_MODE_CREATE | MPI_MODE_RDWR);

	if (!writing)
		MPI_File_write_at_all(f, rank * part, block, (int)part, MPI_BYTE,
				      MPI_STATUS_IGNORE);
	for (long at = 0; at < part; at += step) {
		MPI_Offset to = rank * part + at;

		if (bad && writing)
			MPI_File_write_at(f, to, block, (int)step, MPI_BYTE, MPI_STATUS_IGNORE);
		else if (bad)
			MPI_File_read_at(f, to, block, (int)step, MPI_BYTE, MPI_STATUS_IGNORE);
		else if (writing)
			MPI_File_write_at_all(f, to, block, (int)step, MPI_BYTE, MPI_STATUS_IGNORE);
		else
			MPI_File_read_at_all(f, to, block, (int)step, MPI_BYTE, MPI_STATUS_IGNORE);
	}
	MPI_File_close(&f);
}

static void small_write(void)
{
	parts(1, 512);
}

static void small_read(void)
{
	parts(0, 512);
}

/* every piece by a collective call of its own */
static void small_collective(void)
{
	long part = n * 512, step = bad ? 512 : part;
	MPI_File f = opened("shared", MPI_MODE_CREATE | MPI_MODE_WRONLY);

	for (long at = 0; at < part; at += step)
		MPI_File_write_at_all(f, rank * part + at, block, (int)step, MPI_BYTE,
				      MPI_STATUS_IGNORE);
	MPI_File_close(&f);
}

/* rank 0 writes for all, or each its own */
static void one_rank(void)
{
	long total = at_most(n * 64 * 1024, 512 * MIB);
	MPI_File f = opened("shared", MPI_MODE_CREATE | MPI_MODE_WRONLY);
	long mine = bad ? (rank == 0 ? total : 0) : total / ranks;

	for (long at = 0; at < mine; at += 4 * MIB)
		MPI_File_write_at(f, (bad ? 0 : rank * mine) + at, block, (int)(4 * MIB), MPI_BYTE,
				  MPI_STATUS_IGNORE);
	MPI_File_close(&f);
}

/* every rank reads all of the same input, or one does and tells the others */
static void same_input(void)
{
	long total = 16 * MIB;
	MPI_File f = opened("input", MPI_MODE_CREATE | MPI_MODE_RDWR);

	if (rank == 0)
		MPI_File_write_at(f, 0, block, (int)total, MPI_BYTE, MPI_STATUS_IGNORE);
	MPI_File_sync(f);
	MPI_Barrier(MPI_COMM_WORLD);
	for (long turn = 0; turn < 4 + n / 1000; turn++) {
		if (bad || (rank == 0 && turn == 0))
			MPI_File_read_at(f, 0, block, (int)total, MPI_BYTE, MPI_STATUS_IGNORE);
		if (!bad && turn == 0)
			MPI_Bcast(block, (int)total, MPI_BYTE, 0, MPI_COMM_WORLD);
	}
	MPI_File_close(&f);
}

/* a file of each rank, opened again for every record */
static void reopen(void)
{
	char name[32];
	MPI_File f;

	snprintf(name, sizeof(name), "own%d", rank);
	for (long i = 0; i < (bad ? n : 1); i++) {
		if (MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY,
				  MPI_INFO_NULL, &f) != MPI_SUCCESS)
			MPI_Abort(MPI_COMM_WORLD, 1);
		MPI_File_write_at(f, i * 512, block, bad ? 512 : (int)(512 * n), MPI_BYTE,
				  MPI_STATUS_IGNORE);
		MPI_File_close(&f);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = { { "small_write", small_write },
	      { "small_read", small_read },
	      { "small_collective", small_collective },
	      { "one_rank", one_rank },
	      { "same_input", same_input },
	      { "reopen", reopen } };

int main(int argc, char **argv)
{
	double from;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 4 || (block = malloc(16 * MIB)) == NULL)
		MPI_Abort(MPI_COMM_WORLD, 2);
	memset(block, 'x', 16 * MIB);
	bad = strcmp(argv[2], "bad") == 0;
	n = at_most(strtol(argv[3], NULL, 10), 32768); /* what one piece of a rank may be */
	MPI_Barrier(MPI_COMM_WORLD);
	from = MPI_Wtime();
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, argv[1]) == 0)
			modes[i].run();
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("%.6f\n", MPI_Wtime() - from);
	free(block);
	MPI_Finalize();
	return 0;
}
