/* SPDX-License-Identifier: BSD-3-Clause */
/* s3d.c FILE BUFFER: four ranks write a field of 11 x 80 x 80 x 80 doubles, 45,056,000 bytes from
 * byte 1024 on, as S3D writes its checkpoints: each has a block of it, and one collective call
 * writes all, through buffers of so many bytes. With PNETCDF it is a variable of a netCDF file. The
 * first rank reads it again and compares. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef PNETCDF
#include <pnetcdf.h>
#endif

enum { SPECIES = 11, SIDE = 80, HALF = SIDE / 2, BLOCK = SPECIES * SIDE * HALF * HALF };

static void check(int bad, const char *what)
{
	if (bad) {
		fprintf(stderr, "s3d: %s\n", what);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
}

static const char *buffer;

static MPI_Info hints(void)
{
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_Info_set(info, "cb_buffer_size", buffer);
	MPI_Info_set(info, "romio_cb_write", "enable");
	MPI_Info_set(info, "cb_nodes", "1");
	MPI_Info_set(info, "nc_var_align_size", "1024");
	MPI_Info_set(info, "nc_header_align_size", "1024");
	return info;
}

#ifdef PNETCDF
static void write_field(const char *name, int rank, const double *mine)
{
	MPI_Offset start[] = { 0, 0, HALF * (rank / 2), HALF * (rank % 2) };
	MPI_Offset count[] = { SPECIES, SIDE, HALF, HALF };
	int dim[4], id, var, rc;

	rc = ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, hints(), &id);
	check(rc != NC_NOERR, "create");
	for (int i = 0; i < 4; i++)
		rc |= ncmpi_def_dim(id, &"a\0b\0c\0d"[2 * i], i == 0 ? SPECIES : SIDE, &dim[i]);
	rc |= ncmpi_def_var(id, "yspecies", NC_DOUBLE, 4, dim, &var);
	rc |= ncmpi_enddef(id);
	rc |= ncmpi_put_vara_double_all(id, var, start, count, mine);
	check(rc | ncmpi_close(id), "write");
}
#else
static void write_field(const char *name, int rank, const double *mine)
{
	int size[] = { SPECIES, SIDE, SIDE, SIDE }, part[] = { SPECIES, SIDE, HALF, HALF },
	    start[] = { 0, 0, HALF * (rank / 2), HALF * (rank % 2) };
	MPI_Datatype block;
	MPI_File f;

	MPI_Type_create_subarray(4, size, part, start, MPI_ORDER_C, MPI_DOUBLE, &block);
	MPI_Type_commit(&block);
	check(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, hints(), &f),
	      "open");
	MPI_File_set_view(f, 1024, MPI_DOUBLE, block, "native", hints());
	check(MPI_File_write_at_all(f, 0, mine, BLOCK, MPI_DOUBLE, MPI_STATUS_IGNORE), "write");
	MPI_File_close(&f);
	MPI_Type_free(&block);
}
#endif

/* where in the field a number of a block stands, which is also its value */
static long place(int rank, int i)
{
	int x = i % HALF, y = i / HALF % HALF, rest = i / HALF / HALF;

	return ((long)rest * SIDE + HALF * (rank / 2) + y) * SIDE + HALF * (rank % 2) + x;
}

static double value(double d)
{
#ifdef PNETCDF /* netCDF is big-endian */
	unsigned char *p = (unsigned char *)&d;

	for (int i = 0; i < 4; i++) {
		unsigned char was = p[i];

		p[i] = p[7 - i];
		p[7 - i] = was;
	}
#endif
	return d;
}

static int wrong_in(const char *name)
{
	double *all = calloc(4 * BLOCK, sizeof(*all));
	FILE *f = fopen(name, "rb");
	int wrong = all == NULL || f == NULL || fseek(f, 1024, SEEK_SET) != 0 ||
		    fread(all, sizeof(*all), 4 * BLOCK, f) != 4 * BLOCK;

	for (long i = 0; i < 4L * BLOCK && !wrong; i++)
		wrong = value(all[i]) != (double)i;
	if (f != NULL)
		fclose(f);
	free(all);
	return wrong;
}

int main(int argc, char **argv)
{
	double *mine = malloc(BLOCK * sizeof(*mine));
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	check(argc < 3 || size != 4 || mine == NULL, "a file, a size, four ranks");
	buffer = argv[2];
	for (int i = 0; i < BLOCK; i++)
		mine[i] = (double)place(rank, i);
	write_field(argv[1], rank, mine);
	MPI_Barrier(MPI_COMM_WORLD);
	check(rank == 0 && wrong_in(argv[1]), "it is not what was written");
	free(mine);
	MPI_Finalize();
	return 0;
}
