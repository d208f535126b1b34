/* SPDX-License-Identifier: BSD-3-Clause */
/* hdf5.c CASE: does what the case says with HDF5 in the current directory and appends to
 * $TRUTH_FILE what the log must show of it, by the plainest reading of the rules:
 *
 *   TRUTH module name counter value     other counters of calls, bytes and shapes are 0
 *
 * Nothing of src/ is used here. It is also built as a library (-DPLUGIN), for programs with two
 * HDF5s. */
#include <hdf5.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define P H5P_DEFAULT
#define INT H5T_NATIVE_INT

static char cwd[1024], buf[1 << 20];
static FILE *truth;

static int64_t must(int64_t r, const char *what, int line)
{
	if (r >= 0)
		return r;
	fprintf(stderr, "line %d: %s failed\n", line, what);
	exit(98);
}
#define MUST(x) must((int64_t)(x), #x, __LINE__)

static void want(const char *module, const char *name, const char *counter, int64_t value)
{
	fprintf(truth, "TRUTH %s %s/%s %s_%s %lld\n", module, cwd, name, module, counter,
		(long long)value);
}
#define FILE_IS(name, counter, value) want("H5F", name, counter, value)
#define SET_IS(name, counter, value) want("H5D", name, counter, value)

static hid_t space_of(int n, const hsize_t *dims)
{
	return MUST(H5Screate_simple(n, dims, NULL));
}

static hid_t make(hid_t at, const char *name, int n, const hsize_t *dims)
{
	hid_t s = space_of(n, dims), d = MUST(H5Dcreate2(at, name, INT, s, P, P, P));

	MUST(H5Sclose(s));
	return d;
}

static void shape(const char *name, int64_t opens, int64_t ndims, int64_t npoints)
{
	SET_IS(name, "OPENS", opens);
	SET_IS(name, "DATASPACE_NDIMS", ndims);
	SET_IS(name, "DATASPACE_NPOINTS", npoints);
	SET_IS(name, "DATATYPE_SIZE", 4);
}

static void moved(const char *name, const char *kind, int64_t calls, int64_t bytes)
{
	char counter[64];

	snprintf(counter, sizeof(counter), "%sS", kind);
	SET_IS(name, counter, calls);
	snprintf(counter, sizeof(counter), "BYTES_%s", kind[0] == 'R' ? "READ" : "WRITTEN");
	SET_IS(name, counter, bytes);
}

static void access_is(const char *name, int slot, int64_t bytes, int64_t count)
{
	char counter[64];

	snprintf(counter, sizeof(counter), "ACCESS%d_ACCESS", slot);
	SET_IS(name, counter, bytes);
	snprintf(counter, sizeof(counter), "ACCESS%d_COUNT", slot);
	SET_IS(name, counter, count);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void files(void)
{
	hid_t f = MUST(H5Fcreate("a.h5", H5F_ACC_TRUNC, P, P));
	hid_t g = MUST(H5Gcreate2(f, "g", P, P, P));
	hsize_t n = 4;
	hid_t d = make(g, "d", 1, &n);

	MUST(H5Fflush(f, H5F_SCOPE_LOCAL));
	MUST(H5Fflush(g, H5F_SCOPE_GLOBAL)); /* any object of the file will do */
	MUST(H5Fflush(d, H5F_SCOPE_LOCAL));
	MUST(H5Dclose(d));
	MUST(H5Gclose(g));
	MUST(H5Fclose(f));
	for (int i = 0; i < 3; i++) {
		f = MUST(H5Fopen(i ? ".//a.h5" : "a.h5", H5F_ACC_RDONLY, P));
		MUST(H5Fclose(f));
	}
	FILE_IS("a.h5", "OPENS", 4);
	FILE_IS("a.h5", "FLUSHES", 3);
	shape("a.h5:/gd", 1, 1, 4);
}

static void chunked(hid_t f)
{
	hsize_t dims[6] = { 2, 3, 4, 5, 6, 7 }, chunk[6] = { 1, 2, 3, 4, 5, 6 };
	hid_t s = space_of(6, dims), p = MUST(H5Pcreate(H5P_DATASET_CREATE));

	MUST(H5Pset_chunk(p, 6, chunk));
	hid_t d = MUST(H5Dcreate2(f, "six", INT, s, P, p, P));
	MUST(H5Dwrite(d, INT, H5S_ALL, H5S_ALL, P, buf));
	MUST(H5Dclose(d));
	MUST(H5Sclose(s));
	MUST(H5Pclose(p));
	shape("b.h5:/six", 1, 6, 5040);
	moved("b.h5:/six", "WRITE", 1, 20160);
	access_is("b.h5:/six", 1, 20160, 1);
	SET_IS("b.h5:/six", "SIZE_WRITE_AGG_10K_100K", 1);
	for (int i = 1; i <= 5; i++) { /* the last dimension first */
		char counter[32];
		snprintf(counter, sizeof(counter), "CHUNK_SIZE_D%d", i);
		SET_IS("b.h5:/six", counter, 7 - i);
	}
}

/* all ways to select a part of a 10 x 20 array */
static void selections(hid_t f)
{
	hsize_t dims[2] = { 10, 20 }, start[2] = { 1, 2 }, stride[2] = { 3, 5 },
		count[2] = { 2, 3 }, block[2] = { 2, 4 },
		points[3][2] = { { 0, 0 }, { 4, 4 }, { 9, 19 } }, n = 3;
	hid_t d = make(f, "part", 2, dims), s = MUST(H5Dget_space(d));

	MUST(H5Dwrite(d, INT, H5S_ALL, H5S_ALL, P, buf));
	MUST(H5Dwrite(d, INT, s, s, P, buf)); /* the whole of it, said explicitly */
	MUST(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, stride, count, block));
	MUST(H5Dread(d, INT, s, s, P, buf)); /* 4 x 12 */
	MUST(H5Dread(d, INT, s, s, P, buf));
	MUST(H5Dread(d, INT, s, s, P, buf));
	hsize_t one[2] = { 1, 1 }, corner[2] = { 9, 0 };
	MUST(H5Sselect_hyperslab(s, H5S_SELECT_OR, corner, NULL, one, NULL));
	MUST(H5Dread(d, INT, s, s, P, buf)); /* 49 */
	MUST(H5Sselect_elements(s, H5S_SELECT_SET, 3, &points[0][0]));
	hid_t m = space_of(1, &n);
	MUST(H5Dwrite(d, INT, m, s, P, buf));
	MUST(H5Sselect_none(s));
	MUST(H5Sselect_none(m));
	MUST(H5Dwrite(d, INT, m, s, P, buf));
	MUST(H5Dflush(d));
	MUST(H5Sclose(m));
	MUST(H5Sclose(s));
	MUST(H5Dclose(d));
	shape("b.h5:/part", 1, 2, 200);
	moved("b.h5:/part", "WRITE", 4, 800 + 800 + 12);
	moved("b.h5:/part", "READ", 4, 3 * 192 + 196);
	SET_IS("b.h5:/part", "FLUSHES", 1);
	SET_IS("b.h5:/part", "RW_SWITCHES", 2);
	SET_IS("b.h5:/part", "REGULAR_HYPERSLAB_SELECTS", 3);
	SET_IS("b.h5:/part", "IRREGULAR_HYPERSLAB_SELECTS", 1);
	SET_IS("b.h5:/part", "POINT_SELECTS", 1);
	SET_IS("b.h5:/part", "SIZE_WRITE_AGG_0_100", 2);
	SET_IS("b.h5:/part", "SIZE_WRITE_AGG_100_1K", 2);
	SET_IS("b.h5:/part", "SIZE_READ_AGG_100_1K", 4);
	access_is("b.h5:/part", 1, 192, 3);
	SET_IS("b.h5:/part", "ACCESS1_LENGTH_D5", 4);
	SET_IS("b.h5:/part", "ACCESS1_LENGTH_D4", 12);
	SET_IS("b.h5:/part", "ACCESS1_STRIDE_D5", 3);
	SET_IS("b.h5:/part", "ACCESS1_STRIDE_D4", 5);
	access_is("b.h5:/part", 2, 800, 2);
	access_is("b.h5:/part", 3, 196, 1);
	access_is("b.h5:/part", 4, 12, 1);
}

/* what is written to all of it is as much as it holds then */
static void growing(hid_t f)
{
	hsize_t dim = 10, most = H5S_UNLIMITED, chunk = 5, more = 30;
	hid_t s = MUST(H5Screate_simple(1, &dim, &most)), p = MUST(H5Pcreate(H5P_DATASET_CREATE));

	MUST(H5Pset_chunk(p, 1, &chunk));
	hid_t d = MUST(H5Dcreate2(f, "grows", INT, s, P, p, P));
	MUST(H5Dwrite(d, INT, H5S_ALL, H5S_ALL, P, buf));
	MUST(H5Dset_extent(d, &more));
	MUST(H5Dwrite(d, INT, H5S_ALL, H5S_ALL, P, buf));
	MUST(H5Dclose(d));
	MUST(H5Sclose(s));
	MUST(H5Pclose(p));
	shape("b.h5:/grows", 1, 1, 10);
	SET_IS("b.h5:/grows", "CHUNK_SIZE_D1", 5);
	moved("b.h5:/grows", "WRITE", 2, 40 + 120);
	access_is("b.h5:/grows", 1, 120, 1);
	access_is("b.h5:/grows", 2, 40, 1);
	SET_IS("b.h5:/grows", "SIZE_WRITE_AGG_0_100", 1);
	SET_IS("b.h5:/grows", "SIZE_WRITE_AGG_100_1K", 1);
}

/* one number, and none at all */
static void small(hid_t f)
{
	hid_t s = MUST(H5Screate(H5S_SCALAR)), z = MUST(H5Screate(H5S_NULL));
	hid_t d = MUST(H5Dcreate2(f, "scalar", INT, s, P, P, P));
	hid_t e = MUST(H5Dcreate2(f, "null", INT, z, P, P, P));

	MUST(H5Dwrite(d, INT, H5S_ALL, H5S_ALL, P, buf));
	MUST(H5Dwrite(e, INT, H5S_ALL, H5S_ALL, P, buf));
	MUST(H5Dclose(d));
	MUST(H5Dclose(e));
	MUST(H5Sclose(s));
	MUST(H5Sclose(z));
	shape("b.h5:/scalar", 1, 0, 1);
	moved("b.h5:/scalar", "WRITE", 1, 4);
	access_is("b.h5:/scalar", 1, 4, 1);
	SET_IS("b.h5:/scalar", "SIZE_WRITE_AGG_0_100", 1);
	shape("b.h5:/null", 1, 0, 0);
	moved("b.h5:/null", "WRITE", 1, 0);
	SET_IS("b.h5:/null", "SIZE_WRITE_AGG_0_100", 1);
}

static void datasets(void)
{
	hid_t f = MUST(H5Fcreate("b.h5", H5F_ACC_TRUNC, P, P));

	chunked(f);
	selections(f);
	growing(f);
	small(f);
	MUST(H5Fclose(f));
	FILE_IS("b.h5", "OPENS", 1);
}

/* every way to open */
static void ways(void)
{
	hid_t f = MUST(H5Fcreate("c.h5", H5F_ACC_TRUNC, P, P)), d[9];
	hid_t g = MUST(H5Gcreate2(f, "grp", P, P, P));
	hsize_t n = 8;
	hid_t s = space_of(1, &n);
	H5O_info_t info;

	d[0] = MUST(H5Dcreate1(f, "x", INT, s, P));
	d[1] = MUST(H5Dopen1(f, "x"));
	d[2] = MUST(H5Oopen(f, "x", P));
	MUST(H5Oget_info_by_name(f, "x", &info, P));
	d[3] = MUST(H5Oopen_by_addr(f, info.addr));
	d[4] = MUST(H5Oopen_by_idx(f, "/", H5_INDEX_NAME, H5_ITER_INC, 1, P));
	for (int i = 0; i < 5; i++)
		MUST(H5Dwrite(d[i], INT, H5S_ALL, H5S_ALL, P, buf));
	MUST(H5Oclose(d[2]));
	MUST(H5Oclose(d[3]));
	for (int i = 0; i < 5; i++)
		if (i < 2 || i > 3)
			MUST(H5Dclose(d[i]));
	hid_t o = MUST(H5Oopen(f, "grp", P)); /* no dataset */
	MUST(H5Oclose(o));
	/* the address may leave no name */
	shape("c.h5:/x", 5, 1, 8);
	moved("c.h5:/x", "WRITE", 5, 5 * 32);
	access_is("c.h5:/x", 1, 32, 5);
	SET_IS("c.h5:/x", "SIZE_WRITE_AGG_0_100", 5);
	MUST(H5Sclose(s));
	MUST(H5Gclose(g));
	MUST(H5Fclose(f));
	FILE_IS("c.h5", "OPENS", 1);
}

/* what is counted more than once is closed when the last one is */
static void references(void)
{
	hid_t f = MUST(H5Fcreate("d.h5", H5F_ACC_TRUNC, P, P));
	hsize_t n = 8;
	hid_t d = make(f, "x", 1, &n);

	MUST(H5Iinc_ref(d));
	MUST(H5Dclose(d));
	MUST(H5Dwrite(d, INT, H5S_ALL, H5S_ALL, P, buf));
	MUST(H5Iinc_ref(d));
	MUST(H5Idec_ref(d));
	MUST(H5Dwrite(d, INT, H5S_ALL, H5S_ALL, P, buf));
	MUST(H5Idec_ref(d));
	MUST(H5Idec_ref(f));
	shape("d.h5:/x", 1, 1, 8);
	moved("d.h5:/x", "WRITE", 2, 64);
	access_is("d.h5:/x", 1, 32, 2);
	SET_IS("d.h5:/x", "SIZE_WRITE_AGG_0_100", 2);
	FILE_IS("d.h5", "OPENS", 1);
}

/* identifiers come and go: none may be lost, none mixed up */
static void many(void)
{
	enum { FILES = 20, TURNS = 400 };
	hid_t f[FILES];
	hsize_t n = 2;
	char name[64];

	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "m%d.h5", i);
		f[i] = MUST(H5Fcreate(name, H5F_ACC_TRUNC, P, P));
		MUST(H5Dclose(make(f[i], "x", 1, &n)));
	}
	for (int t = 0; t < TURNS; t++)
		for (int i = 0; i < FILES; i++) {
			hid_t d = MUST(H5Dopen2(f[i], "x", P));
			if (t % FILES == i)
				MUST(H5Dwrite(d, INT, H5S_ALL, H5S_ALL, P, buf));
			MUST(t % 2 ? H5Dclose(d) : H5Idec_ref(d));
		}
	for (int i = 0; i < FILES; i++) {
		MUST(H5Fclose(f[i]));
		snprintf(name, sizeof(name), "m%d.h5", i);
		FILE_IS(name, "OPENS", 1);
		snprintf(name, sizeof(name), "m%d.h5:/x", i);
		shape(name, 1 + TURNS, 1, 2);
		moved(name, "WRITE", TURNS / FILES, TURNS / FILES * 8);
		access_is(name, 1, 8, TURNS / FILES);
		SET_IS(name, "SIZE_WRITE_AGG_0_100", TURNS / FILES);
	}
}

/* ---- manners --------------------------------------------------------------------------------- */

static int complaints;

static herr_t complain(hid_t stack, void *data)
{
	(void)stack;
	complaints += *(int *)data;
	return 0;
}

/* Errors are the application's own: none of ours are told, and those it waits for stay. */
static void errors(void)
{
	H5E_auto2_t is;
	void *data;
	int one = 1;

	MUST(H5Eset_auto2(H5E_DEFAULT, complain, &one));
	if (H5Fopen("missing.h5", H5F_ACC_RDONLY, P) >= 0 || complaints != 1 ||
	    H5Eget_num(H5E_DEFAULT) < 2)
		exit(97);
	hid_t f = MUST(H5Fcreate("e.h5", H5F_ACC_TRUNC, P, P));
	hsize_t n = 8;
	hid_t d = make(f, "x", 1, &n);
	if (H5Dopen2(f, "missing", P) >= 0 || complaints != 2 || H5Eget_num(H5E_DEFAULT) < 2)
		exit(97);
	if (H5Dread(d, -1, H5S_ALL, H5S_ALL, P, buf) >= 0 || complaints != 3)
		exit(97);
	MUST(H5Dwrite(d, INT, H5S_ALL, H5S_ALL, P, buf));
	MUST(H5Dclose(d));
	if (H5Dclose(d) >= 0 || complaints != 4)
		exit(97);
	MUST(H5Fclose(f));
	MUST(H5Eget_auto2(H5E_DEFAULT, &is, &data));
	if (is != complain || data != &one || complaints != 4)
		exit(97);
	/* the old way to say it */
	MUST(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
	f = MUST(H5Fopen("e.h5", H5F_ACC_RDONLY, P));
	MUST(H5Eget_auto2(H5E_DEFAULT, &is, &data));
	if (is != NULL)
		exit(97);
	MUST(H5Fclose(f));
	FILE_IS("e.h5", "OPENS", 2);
	shape("e.h5:/x", 1, 1, 8);
	moved("e.h5:/x", "WRITE", 1, 32);
	access_is("e.h5:/x", 1, 32, 1);
	SET_IS("e.h5:/x", "SIZE_WRITE_AGG_0_100", 1);
}

/* nothing stays open that the application did not leave open; hdf5_fake.c looks at what HDF5
 * does not tell */
static void leaks(void)
{
	hid_t f = MUST(H5Fcreate("l.h5", H5F_ACC_TRUNC, P, P)),
	      p = MUST(H5Pcreate(H5P_DATASET_CREATE));
	hsize_t n = 8, chunk = 4, most = H5S_UNLIMITED;
	hid_t s = MUST(H5Screate_simple(1, &n, &most));
	MUST(H5Pset_chunk(p, 1, &chunk));
	hid_t d = MUST(H5Dcreate2(f, "x", INT, s, P, p, P));
	MUST(H5Dclose(d));
	ssize_t before = MUST(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL));
	for (int i = 0; i < 10; i++) {
		d = MUST(H5Dopen2(f, "x", P));
		MUST(H5Dread(d, INT, H5S_ALL, H5S_ALL, P, buf));
		MUST(H5Dread(d, INT, s, s, P, buf));
		MUST(H5Fflush(d, H5F_SCOPE_LOCAL));
		MUST(H5Dclose(d));
	}
	if (H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) != before)
		exit(96);
	MUST(H5Sclose(s));
	MUST(H5Pclose(p));
	MUST(H5Fclose(f));
	FILE_IS("l.h5", "OPENS", 1);
	FILE_IS("l.h5", "FLUSHES", 10);
	shape("l.h5:/x", 11, 1, 8);
	SET_IS("l.h5:/x", "CHUNK_SIZE_D1", 4);
	moved("l.h5:/x", "READ", 20, 640);
	access_is("l.h5:/x", 1, 32, 20);
	SET_IS("l.h5:/x", "SIZE_READ_AGG_0_100", 20);
}

/* a child goes on with what its parent has opened */
static void forked(void)
{
	hid_t f = MUST(H5Fcreate("f.h5", H5F_ACC_TRUNC, P, P));
	hsize_t n = 8;
	hid_t d = make(f, "x", 1, &n);
	int status = -1;

	MUST(H5Dwrite(d, INT, H5S_ALL, H5S_ALL, P, buf));
	MUST(H5Fflush(f, H5F_SCOPE_GLOBAL));
	pid_t pid = fork();
	if (pid == 0) {
		MUST(H5Dread(d, INT, H5S_ALL, H5S_ALL, P, buf));
		hid_t e = MUST(H5Dopen2(f, "x", P));
		MUST(H5Dclose(e));
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		exit(95);
	MUST(H5Dclose(d));
	MUST(H5Fclose(f));
	FILE_IS("f.h5", "OPENS", 1);
	FILE_IS("f.h5", "FLUSHES", 1);
	shape("f.h5:/x", 2, 1, 8); /* of both processes */
	access_is("f.h5:/x", 1, 32, 2);
	moved("f.h5:/x", "WRITE", 1, 32);
	moved("f.h5:/x", "READ", 1, 32);
	SET_IS("f.h5:/x", "SIZE_WRITE_AGG_0_100", 1);
	SET_IS("f.h5:/x", "SIZE_READ_AGG_0_100", 1);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void open_truth(void)
{
	truth = fopen(getenv("TRUTH_FILE"), "a");
	if (!truth || !getcwd(cwd, sizeof(cwd)))
		exit(99);
}

#ifdef PLUGIN
/* a turn with this library's HDF5: file and dataset stay open until the last */
int plugin(const char *name, int turn);
int plugin(const char *name, int turn)
{
	static hid_t f, d;
	hsize_t n = 8;
	char set[64];

	if (turn == 0) {
		f = MUST(H5Fcreate(name, H5F_ACC_TRUNC, P, P));
		d = make(f, "x", 1, &n);
	}
	MUST(H5Dwrite(d, INT, H5S_ALL, H5S_ALL, P, buf));
	if (turn >= 0)
		return 0;
	MUST(H5Dclose(d));
	MUST(H5Fclose(f));
	open_truth();
	snprintf(set, sizeof(set), "%s:/x", name);
	FILE_IS(name, "OPENS", 1);
	shape(set, 1, 1, 8);
	moved(set, "WRITE", -turn + 1, (-turn + 1) * 32);
	access_is(set, 1, 32, -turn + 1);
	SET_IS(set, "SIZE_WRITE_AGG_0_100", -turn + 1);
	fclose(truth);
	return 0;
}
#else
int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "files", files },	    { "datasets", datasets }, { "ways", ways },
		      { "references", references }, { "many", many },	      { "errors", errors },
		      { "leaks", leaks },	    { "forked", forked } };

	open_truth();
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return fclose(truth) != 0;
		}
	return 2;
}
#endif
