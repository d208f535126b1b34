/* SPDX-License-Identifier: BSD-3-Clause */
/* together FILE BYTES REQUEST write|read all|alone: every rank moves its part of a shared file in
 * requests of that size, by MPI-IO, together or alone, and nothing else: what IOR does at its
 * least. Prints the seconds in these calls of the rank that spent most in them, and the median of
 * the calls of rank 0, which others on the machine disturb less. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int move(MPI_File f, MPI_Offset at, char *data, int n, int write, int all)
{
	if (write)
		return all ? MPI_File_write_at_all(f, at, data, n, MPI_BYTE, MPI_STATUS_IGNORE)
			   : MPI_File_write_at(f, at, data, n, MPI_BYTE, MPI_STATUS_IGNORE);
	return all ? MPI_File_read_at_all(f, at, data, n, MPI_BYTE, MPI_STATUS_IGNORE)
		   : MPI_File_read_at(f, at, data, n, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	long long bytes = argc == 6 ? strtoll(argv[2], NULL, 10) : 0, each;
	int n = argc == 6 ? (int)strtol(argv[3], NULL, 10) : 0, rank, ranks, failed = 0;
	int write = argc == 6 && strcmp(argv[4], "write") == 0;
	double began, took, most, *call = NULL, last, now;
	long long calls = 0;
	MPI_File f;
	char *data;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	data = n > 0 ? calloc(1, (size_t)n) : NULL;
	if (data == NULL || bytes <= 0) {
		fprintf(stderr, "Usage: together FILE BYTES REQUEST write|read all|alone\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
		return 2;
	}
	each = bytes / ranks;
	call = calloc((size_t)(each / n) + 1, sizeof(*call));
	if (call == NULL)
		MPI_Abort(MPI_COMM_WORLD, 4);
	if (MPI_File_open(MPI_COMM_WORLD, argv[1],
			  write ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY,
			  MPI_INFO_NULL, &f) != MPI_SUCCESS)
		MPI_Abort(MPI_COMM_WORLD, 4);
	MPI_Barrier(MPI_COMM_WORLD);
	began = last = MPI_Wtime();
	for (long long i = 0; i + n <= each && !failed; i += n) {
		failed = move(f, rank * each + i, data, n, write, strcmp(argv[5], "all") == 0) !=
			 MPI_SUCCESS;
		now = MPI_Wtime();
		call[calls++] = now - last;
		last = now;
	}
	took = MPI_Wtime() - began;
	MPI_File_close(&f);
	MPI_Reduce(&took, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	qsort(call, (size_t)calls, sizeof(*call), by_value);
	if (rank == 0 && !failed && calls > 0)
		printf("%.9f %.9f\n", most, call[calls / 2]);
	free(call);
	free(data);
	MPI_Finalize();
	return failed;
}
