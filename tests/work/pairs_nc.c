/* SPDX-License-Identifier: BSD-3-Clause */
/* pairs_nc MODE bad|fixed N: one mistake that programs make with PnetCDF, and the same work done
 * well, by all ranks of an MPI job. N is how often; files hold the same both ways. Rank 0 prints
 * the seconds that it took. Works in the current folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#include <pnetcdf.h>

static void checked(int rc, const char *what)
{
	if (rc != NC_NOERR) {
		fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(rc));
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

/* each number posted by itself, or all of a rank at once; the bytes go out together both ways */
static void elements(int rank, int ranks, int n, int bad)
{
	double *data = calloc((size_t)n, sizeof(*data));
	MPI_Offset start = (MPI_Offset)rank * n, count = bad ? 1 : n, end = start + n;
	int nc, dimension, variable;

	checked(ncmpi_create(MPI_COMM_WORLD, "data.nc", NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL,
			     &nc),
		"create");
	checked(ncmpi_def_dim(nc, "x", (MPI_Offset)ranks * n, &dimension), "dimension");
	checked(ncmpi_def_var(nc, "u", NC_DOUBLE, 1, &dimension, &variable), "variable");
	checked(ncmpi_enddef(nc), "enddef");
	for (int i = 0; start < end; start += count, i += (int)count)
		checked(ncmpi_iput_vara_double(nc, variable, &start, &count, &data[i], NULL),
			"iput");
	checked(ncmpi_wait_all(nc, NC_REQ_ALL, NULL, NULL), "wait");
	checked(ncmpi_close(nc), "close");
	free(data);
}

int main(int argc, char **argv)
{
	int rank, ranks, n;
	double began;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (argc != 4 || strcmp(argv[1], "element_put") != 0 || (n = atoi(argv[3])) <= 0)
		MPI_Abort(MPI_COMM_WORLD, 2);
	began = MPI_Wtime();
	elements(rank, ranks, n, strcmp(argv[2], "bad") == 0);
	if (rank == 0)
		printf("%.6f\n", MPI_Wtime() - began);
	MPI_Finalize();
	return 0;
}
