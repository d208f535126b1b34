/* SPDX-License-Identifier: BSD-3-Clause */
/* netcdf_truth.c CASE FOLDER: makes NetCDF-4 calls of which it knows what HDF5 and the layers
 * below must do for them, and says so, see sets_truth.h.
 *
 * A variable is a dataset, and so is a dimension; each access to a variable is one transfer of a
 * hyperslab. With -DPARALLEL all ranks write one file, else each has its own, with a NetCDF that
 * knows nothing of MPI. */
#include <mpi.h>
#include <netcdf.h>
#ifdef PARALLEL
#include <netcdf_par.h>
#endif
#include <string.h>

#include "sets_truth.h"

enum { ROWS = 6, COLUMNS = 40, STEPS = 3 };

static double numbers[ROWS * COLUMNS * STEPS];

static void check(int error, const char *what, int line)
{
	if (error == NC_NOERR)
		return;
	fprintf(stderr, "rank %d, line %d: %s: %s\n", rank, line, what, nc_strerror(error));
	MPI_Abort(MPI_COMM_WORLD, 1);
}
#define OK(call) check((call), #call, __LINE__)

/* ---- what must be in the log ----------------------------------------------------------------- */

static void say_file(int64_t opens, int64_t written)
{
	bool parallel = false;

#ifdef PARALLEL
	parallel = true;
	say_least("MPIIO_BYTES_WRITTEN", written);
	say_least("MPIIO_COLL_OPENS", size > 1);
#endif
	say(NULL, "OPENS", opens);
	say(NULL, "USE_MPIIO", parallel);
	say_least("POSIX_OPENS", 1);
	say_least("POSIX_BYTES_WRITTEN", written);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int create(const char *folder, const char *name)
{
	int ncid;

#ifdef PARALLEL
	snprintf(path, sizeof(path), "%s/%s.nc", folder, name);
	OK(nc_create_par(path, NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &ncid));
#else
	snprintf(path, sizeof(path), "%s/%s.%d.nc", folder, name, rank);
	OK(nc_create(path, NC_NETCDF4 | NC_CLOBBER, &ncid));
#endif
	return ncid;
}

static int open_again(void)
{
	int ncid;

#ifdef PARALLEL
	OK(nc_open_par(path, NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &ncid));
#else
	OK(nc_open(path, NC_NOWRITE, &ncid));
#endif
	return ncid;
}

/* whether all ranks take part in each access */
static void access_by(int ncid, int varid, struct set *s, bool collective)
{
#ifdef PARALLEL
	OK(nc_var_par_access(ncid, varid, collective ? NC_COLLECTIVE : NC_INDEPENDENT));
	s->collective |= collective;
#else
	(void)ncid, (void)varid, (void)s, (void)collective;
#endif
}

/* the ranks whose rows are in one file, and the place of this one among them */
#ifdef PARALLEL
#define MEMBERS size
#define PLACE rank
#else
#define MEMBERS 1
#define PLACE 0
#endif

/* a dimension without a variable of its name is a dataset of that many numbers, which nobody
 * moves */
static void say_dimension(const char *name, int64_t opens, int64_t n)
{
	struct set s = { .name = name, .opens = opens, .ndims = 1, .points = n, .bytes = 4 };

	say_set(&s);
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* rows of each rank, in one piece and in chunks, whole, with strides and value by value; then
 * read again */
static void blocks(const char *folder)
{
	int ncid = create(folder, "blocks"), dims[2], flat, tiled;
	size_t rows = (size_t)MEMBERS * ROWS, start[2] = { (size_t)PLACE * ROWS, 0 },
	       count[2] = { ROWS, COLUMNS }, tile[2] = { ROWS, COLUMNS / 2 },
	       half[2] = { ROWS / 2, COLUMNS / 4 };
	ptrdiff_t stride[2] = { 2, 4 };
	struct set a = { .name = "flat",
			 .opens = 1,
			 .ndims = 2,
			 .points = (int64_t)rows * COLUMNS,
			 .bytes = 8 };
	struct set b = { .name = "tiled",
			 .opens = 1,
			 .ndims = 2,
			 .points = (int64_t)rows * COLUMNS,
			 .bytes = 4,
			 .chunk = { COLUMNS / 2, ROWS } };

	OK(nc_def_dim(ncid, "row", rows, &dims[0]));
	OK(nc_def_dim(ncid, "column", COLUMNS, &dims[1]));
	OK(nc_def_var(ncid, "flat", NC_DOUBLE, 2, dims, &flat));
	OK(nc_def_var(ncid, "tiled", NC_FLOAT, 2, dims, &tiled));
	OK(nc_def_var_chunking(ncid, flat, NC_CONTIGUOUS, NULL));
	OK(nc_def_var_chunking(ncid, tiled, NC_CHUNKED, tile));
	OK(nc_enddef(ncid));
	access_by(ncid, flat, &a, false);
	OK(nc_put_vara_double(ncid, flat, start, count, numbers));
	note(&a, 'w', ROWS * COLUMNS);
	OK(nc_put_vars_double(ncid, flat, start, half, stride, numbers));
	note(&a, 'w', ROWS / 2 * COLUMNS / 4);
	for (int i = 0; i <= rank; i++) { /* as many as each likes */
		size_t at[2] = { start[0], (size_t)i };

		OK(nc_put_var1_double(ncid, flat, at, &numbers[i]));
		note(&a, 'w', 1);
	}
	access_by(ncid, tiled, &b, true);
	OK(nc_put_vara_double(ncid, tiled, start, count, numbers));
	note(&b, 'w', ROWS * COLUMNS);
	OK(nc_get_vars_double(ncid, tiled, start, half, stride, numbers));
	note(&b, 'r', ROWS / 2 * COLUMNS / 4);
	OK(nc_close(ncid));

	ncid = open_again();
	OK(nc_get_vara_double(ncid, flat, start, count, numbers));
	note(&a, 'r', ROWS * COLUMNS);
	OK(nc_close(ncid));
	a.opens = b.opens = 2;
	a.regular = a.calls[0] + a.calls[1];
	say_set(&a);
	b.regular = b.calls[0] + b.calls[1];
	say_set(&b);
	say_dimension("row", 2, (int64_t)rows);
	say_dimension("column", 2, COLUMNS);
	say_file(2, a.moved[1] + b.moved[1]);
	say(NULL, "FLUSHES", 2); /* enddef, and close of what was written */
}

/* a dimension that grows, with a variable of its own, and a single number */
static void steps(const char *folder)
{
	int ncid = create(folder, "steps"), dims[2], var, time, one, value = 42;
	size_t width = (size_t)MEMBERS * COLUMNS;
	size_t chunk[2] = { 1, COLUMNS }, first = 4;
	struct set v = { .name = "v", .opens = 1, .ndims = 2, .bytes = 4, .chunk = { COLUMNS, 1 } };
	struct set t = { .name = "time", .opens = 1, .ndims = 1, .bytes = 8, .chunk = { 4, 0 } };
	struct set c = { .name = "one", .opens = 1, .ndims = 0, .points = 1, .bytes = 4 };

	OK(nc_def_dim(ncid, "time", NC_UNLIMITED, &dims[0]));
	OK(nc_def_dim(ncid, "x", width, &dims[1]));
	OK(nc_def_var(ncid, "time", NC_DOUBLE, 1, dims, &time));
	OK(nc_def_var(ncid, "v", NC_INT, 2, dims, &var));
	OK(nc_def_var(ncid, "one", NC_INT, 0, NULL, &one));
	OK(nc_def_var_chunking(ncid, time, NC_CHUNKED, &first));
	OK(nc_def_var_chunking(ncid, var, NC_CHUNKED, chunk));
	OK(nc_enddef(ncid));
	access_by(ncid, time, &t, true); /* what grows has to */
	access_by(ncid, var, &v, true);
	access_by(ncid, one, &c, false);
	for (size_t i = 0; i < STEPS; i++) {
		size_t start[2] = { i, (size_t)PLACE * COLUMNS }, count[2] = { 1, COLUMNS };

		OK(nc_put_vara_double(ncid, time, &i, &chunk[0], &numbers[i]));
		note(&t, 'w', 1);
		OK(nc_put_vara_double(ncid, var, start, count, numbers));
		note(&v, 'w', COLUMNS);
	}
	if (PLACE == 0) {
		OK(nc_put_var_int(ncid, one, &value));
		note(&c, 'w', 1);
	}
	OK(nc_sync(ncid));
	OK(nc_close(ncid));
	v.regular = v.calls[1];
	say_set(&v);
	t.regular = t.calls[1];
	say_set(&t);
	say_set(&c);
	say_dimension("x", 1, (int64_t)width);
	say_file(1, v.moved[1] + t.moved[1] + c.moved[1]);
	say(NULL, "FLUSHES", 3); /* enddef and close do it, too */
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const char *folder);
	} cases[] = { { "blocks", blocks }, { "steps", steps } };

	begin_truth(&argc, &argv);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run(argv[2]);
	end_truth();
	return 0;
}
