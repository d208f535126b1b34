/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5_parallel.c CASE FOLDER: all ranks use the datasets of one file, and each says what the
 * log must show of it, see sets_truth.h. hdf5.c does what needs one process only. */
#include <hdf5.h>
#include <string.h>

#include "sets_truth.h"

#define P H5P_DEFAULT
#define INT H5T_NATIVE_INT

enum { ROWS = 6, COLUMNS = 30 };

static int numbers[ROWS * COLUMNS];

static int64_t must(int64_t r, const char *what, int line)
{
	if (r >= 0)
		return r;
	fprintf(stderr, "rank %d, line %d: %s failed\n", rank, line, what);
	MPI_Abort(MPI_COMM_WORLD, 98);
	return r;
}
#define MUST(x) must((int64_t)(x), #x, __LINE__)

/* ---- words ----------------------------------------------------------------------------------- */

static hid_t together; /* transfers of all ranks */

static hid_t open_file(const char *folder, const char *name, bool create)
{
	hid_t list = MUST(H5Pcreate(H5P_FILE_ACCESS)), file;

	snprintf(path, sizeof(path), "%s/%s.h5", folder, name);
	MUST(H5Pset_fapl_mpio(list, MPI_COMM_WORLD, MPI_INFO_NULL));
	file = create ? MUST(H5Fcreate(path, H5F_ACC_TRUNC, P, list))
		      : MUST(H5Fopen(path, H5F_ACC_RDONLY, list));
	MUST(H5Pclose(list));
	return file;
}

/* ROWS rows of each rank; chunk NULL: in one piece */
static hid_t make(hid_t file, struct set *s, const char *name, const hsize_t *chunk)
{
	hsize_t dims[2] = { (hsize_t)size * ROWS, COLUMNS };
	hid_t space = MUST(H5Screate_simple(2, dims, NULL)),
	      list = MUST(H5Pcreate(H5P_DATASET_CREATE));

	*s = (struct set){ .name = name,
			   .opens = 1,
			   .ndims = 2,
			   .points = (int64_t)(dims[0] * dims[1]),
			   .bytes = 4 };
	if (chunk != NULL) {
		MUST(H5Pset_chunk(list, 2, chunk));
		s->chunk[0] = (int64_t)chunk[1];
		s->chunk[1] = (int64_t)chunk[0];
	}
	hid_t set = MUST(H5Dcreate2(file, name, INT, space, P, list, P));
	MUST(H5Sclose(space));
	MUST(H5Pclose(list));
	return set;
}

static hid_t slab(hid_t set, hsize_t row, hsize_t column, const hsize_t count[2],
		  const hsize_t *stride)
{
	hsize_t start[2] = { (hsize_t)rank * ROWS + row, column };
	hid_t space = MUST(H5Dget_space(set));

	MUST(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL));
	return space;
}

static void move(hid_t set, struct set *s, char kind, hid_t space, bool collective)
{
	hsize_t n = (hsize_t)MUST(H5Sget_select_npoints(space));
	hid_t memory = MUST(H5Screate_simple(1, (hsize_t[]){ n > 0 ? n : 1 }, NULL));
	hid_t list = collective ? together : P;

	if (n == 0)
		MUST(H5Sselect_none(memory));
	if (kind == 'w')
		MUST(H5Dwrite(set, INT, memory, space, list, numbers));
	else
		MUST(H5Dread(set, INT, memory, space, list, numbers));
	s->collective |= collective;
	note(s, kind, (int64_t)n);
	MUST(H5Sclose(memory));
	MUST(H5Sclose(space));
}

static void say_file(int64_t opens, int64_t flushes, int64_t written)
{
	say(NULL, "OPENS", opens);
	say(NULL, "FLUSHES", flushes);
	say(NULL, "USE_MPIIO", 1);
	say_least("MPIIO_BYTES_WRITTEN", written);
	say_least(size > 1 ? "MPIIO_COLL_OPENS" : "MPIIO_INDEP_OPENS", opens);
	say_least("POSIX_BYTES_WRITTEN", written);
	say_least("POSIX_OPENS", 1);
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* regular pieces of a dataset in one piece: each rank for itself, then all together, then read
 * by another opening */
static void slabs(const char *folder)
{
	static const hsize_t block[2] = { ROWS, COLUMNS }, few[2] = { 2, 6 }, gap[2] = { 3, 5 };
	hid_t file = open_file(folder, "slabs", true);
	struct set s;
	hid_t set = make(file, &s, "slab", NULL);

	move(set, &s, 'w', slab(set, 0, 0, block, NULL), false);
	for (int i = 0; i <= rank; i++) /* as often as each likes */
		move(set, &s, 'w', slab(set, 1, 0, few, gap), false);
	move(set, &s, 'r', slab(set, 0, 0, few, NULL), false);
	move(set, &s, 'w', slab(set, 0, 3, few, gap), true);
	MUST(H5Dclose(set));
	MUST(H5Fflush(file, H5F_SCOPE_GLOBAL));
	MUST(H5Fclose(file));
	file = open_file(folder, "slabs", false);
	set = MUST(H5Dopen2(file, "slab", P));
	move(set, &s, 'r', slab(set, 0, 0, block, NULL), true);
	MUST(H5Dclose(set));
	MUST(H5Fclose(file));
	s.opens = 2;
	s.regular = rank + 5;
	say_set(&s);
	say_file(2, 1, s.moved[1]);
}

/* chunks that ranks do not share, and pieces that no single slab describes */
static void chunks(const char *folder)
{
	static const hsize_t block[2] = { ROWS, COLUMNS }, corner[2] = { 1, 2 },
			     chunk[2] = { ROWS / 2, 10 };
	hid_t file = open_file(folder, "chunks", true), space;
	struct set s;
	hid_t set = make(file, &s, "chunk", chunk);
	hsize_t other[2] = { (hsize_t)rank * ROWS + 4, 20 };

	move(set, &s, 'w', slab(set, 0, 0, block, NULL), true);
	move(set, &s, 'w', slab(set, 0, 0, block, NULL), false);
	space = slab(set, 0, 0, corner, NULL);
	MUST(H5Sselect_hyperslab(space, H5S_SELECT_OR, other, NULL, corner, NULL));
	move(set, &s, 'r', space, true);
	MUST(H5Dflush(set));
	MUST(H5Dclose(set));
	MUST(H5Fclose(file));
	s.regular = 2;
	s.irregular = 1;
	say_set(&s);
	say(s.name, "FLUSHES", 1);
	say(s.name, "ACCESS1_ACCESS", ROWS * COLUMNS * 4);
	say(s.name, "ACCESS1_COUNT", 2);
	say(s.name, "ACCESS2_ACCESS", 4 * 4);
	say(s.name, "ACCESS2_COUNT", 1);
	say_file(1, 0, s.moved[1]);
}

/* single points, and accesses of all in which only the first has something to do */
static void points(const char *folder)
{
	hid_t file = open_file(folder, "points", true), space;
	struct set s, t;
	hid_t set = make(file, &s, "point", NULL), last = make(file, &t, "first", NULL);
	hsize_t at[8][2];
	static const hsize_t block[2] = { 2, COLUMNS };
	int n = 2 + rank % 4;

	for (int i = 0; i < 8; i++) {
		at[i][0] = (hsize_t)(rank * ROWS + i % ROWS);
		at[i][1] = (hsize_t)(3 * i);
	}
	for (int i = 0; i < 2; i++) { /* alone, and all together */
		space = MUST(H5Dget_space(set));
		MUST(H5Sselect_elements(space, H5S_SELECT_SET, (size_t)n, &at[0][0]));
		move(set, &s, i == 0 ? 'w' : 'r', space, i == 1);
	}
	space = slab(last, 0, 0, block, NULL);
	if (rank != 0)
		MUST(H5Sselect_none(space));
	move(last, &t, 'w', space, true);
	MUST(H5Dclose(set));
	MUST(H5Dclose(last));
	MUST(H5Fclose(file));
	s.points_selected = 2;
	t.regular = rank == 0;
	say_set(&s);
	say_set(&t);
	say_file(1, 0, s.moved[1] + t.moved[1]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(const char *folder);
	} cases[] = { { "slabs", slabs }, { "chunks", chunks }, { "points", points } };

	begin_truth(&argc, &argv);
	together = MUST(H5Pcreate(H5P_DATASET_XFER));
	MUST(H5Pset_dxpl_mpio(together, H5FD_MPIO_COLLECTIVE));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run(argv[2]);
	MUST(H5Pclose(together));
	end_truth();
	return 0;
}
