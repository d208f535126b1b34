/* SPDX-License-Identifier: BSD-3-Clause */
/* pnetcdf_truth.c CASE FOLDER: makes PnetCDF calls of which it knows what they do, and says so:
 *
 *   TRUTH module name counter value     per rank: the same on each. What is not said is 0. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/map.h"

static int rank, size;
static char folder[1024];
static char path[1100];

static void check(int error, const char *what, int line)
{
	if (error == NC_NOERR)
		return;
	fprintf(stderr, "line %d: %s: %s\n", line, what, ncmpi_strerror(error));
	MPI_Abort(MPI_COMM_WORLD, 1);
}
#define OK(call) check((call), #call, __LINE__)

static void fail(const char *what)
{
	fprintf(stderr, "rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void say_file(const char *name, const char *counter, long value)
{
	if (rank == 0)
		printf("TRUTH PNETCDF_FILE %s/%s PNETCDF_FILE_%s %ld\n", folder, name, counter,
		       value);
}

static void say(const char *name, const char *var, const char *counter, long value)
{
	if (rank == 0)
		printf("TRUTH PNETCDF_VAR %s/%s:%s PNETCDF_VAR_%s %ld\n", folder, name, var,
		       counter, value);
}

static void say_shape(const char *name, const char *var, long ndims, long points, long bytes)
{
	say(name, var, "NDIMS", ndims);
	say(name, var, "NPOINTS", points);
	say(name, var, "DATATYPE_SIZE", bytes);
}

static const char *in_folder(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int create(const char *name)
{
	int ncid;

	OK(ncmpi_create(MPI_COMM_WORLD, in_folder(name), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL,
			&ncid));
	return ncid;
}

/* ---- every function there is, once ----------------------------------------------------------- */

enum { ROWS = 4, COLUMNS = 6, TYPES = 12 /* of numbers; flexible calls are one of them */ };
enum { HOW_INDEP, HOW_COLL, HOW_NB, HOW_BUFFERED = HOW_NB };
enum {
	ITEMS_VAR = 24,
	ITEMS_VAR1 = 1,
	ITEMS_VARA = 6,
	ITEMS_VARS = 6,
	ITEMS_VARM = 6,
	ITEMS_VARN = 4,
	ITEMS_VARD = 6
};

typedef MPI_Datatype rama_cap_handle;
#define int64_t MPI_Offset
#define ARG_(type, name, role) name
#define ARG(t) ARG_ t

/* text goes to text; names are all the preprocessor has to tell them by */
static int var_for(const char *name, int text, int number)
{
	return strstr(name, "_text") ? text : number;
}

static void one_of_each(int ncid, int text, int number, int how)
{
	static char memory[ROWS * COLUMNS * 8];
	MPI_Offset start[] = { 0, 0 }, edges[] = { 2, 3 }, stride[] = { 1, 2 }, imap[] = { 3, 1 };
	MPI_Offset second[] = { 1, 1 }, flat[] = { 1, 2 }, tall[] = { 2, 1 };
	MPI_Offset *starts[] = { start, second }, *lists[] = { flat, tall };
	MPI_Datatype filetype, memtype = MPI_DOUBLE;
	int parts = 2, pending, status, varid, *request = &pending;
	void *buf = memory;

	MPI_Type_contiguous(ITEMS_VARD, MPI_DOUBLE, &filetype);
	MPI_Type_commit(&filetype);
#define FN_NC(name, op, way, form, ...)                                \
	if (how == HOW_##way) {                                        \
		MPI_Offset items = ITEMS_##form;                       \
		varid = var_for(#name, text, number);                  \
		pending = NC_REQ_NULL;                                 \
		OK(name(RAMA_TAB_LIST(ARG, __VA_ARGS__)));             \
		if (how == HOW_NB)                                     \
			OK(ncmpi_wait_all(ncid, 1, request, &status)); \
		(void)items;                                           \
	}
#define FN_NCF(...)
#define FN_NCH(...)
#define NEED(...)
#include "table/fn_pnetcdf.def"
	MPI_Type_free(&filetype);
}
#undef int64_t

static void say_each(const char *var, long types, long bytes, long vard)
{
	static const char *const form[] = { "VAR", "VAR1", "VARA", "VARS", "VARM", "VARN" };
	static const char *const nb[] = { "IPUT", "IGET", "BPUT" };
	char name[32];

	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "PUT_%s", form[i]);
		say("each.nc", var, name, 2 * types);
		name[0] = 'G', name[1] = 'E';
		say("each.nc", var, name, 2 * types);
		for (int k = 0; k < 3; k++) {
			snprintf(name, sizeof(name), "%s_%s", nb[k], form[i]);
			say("each.nc", var, name, types);
		}
	}
	say("each.nc", var, "PUT_VARD", 2 * vard);
	say("each.nc", var, "GET_VARD", 2 * vard);
	say("each.nc", var, "OPENS", 1);
	say("each.nc", var, "INDEP_READS", 6 * types + vard);
	say("each.nc", var, "INDEP_WRITES", 6 * types + vard);
	say("each.nc", var, "COLL_READS", 6 * types + vard);
	say("each.nc", var, "COLL_WRITES", 6 * types + vard);
	say("each.nc", var, "NB_READS", 6 * types);
	say("each.nc", var, "NB_WRITES", 2 * 6 * types);
	/* 24 + 1 + 3 x 6 + 4 values */
	say("each.nc", var, "BYTES_WRITTEN", 4 * types * 47 * bytes + 2 * vard * 48);
	say("each.nc", var, "BYTES_READ", 3 * types * 47 * bytes + 2 * vard * 48);
	say_shape("each.nc", var, 2, ROWS * COLUMNS, bytes);
}

static void each(void)
{
	int dims[2], text, number, ncid = create("each.nc");

	OK(ncmpi_def_dim(ncid, "y", ROWS, &dims[0]));
	OK(ncmpi_def_dim(ncid, "x", COLUMNS, &dims[1]));
	OK(ncmpi_def_var(ncid, "text", NC_CHAR, 2, dims, &text));
	OK(ncmpi_def_var(ncid, "number", NC_DOUBLE, 2, dims, &number));
	OK(ncmpi__enddef(ncid, 0, 4, 0, 4));
	OK(ncmpi_buffer_attach(ncid, 4096));
	one_of_each(ncid, text, number, HOW_COLL);
	one_of_each(ncid, text, number, HOW_NB);
	OK(ncmpi_begin_indep_data(ncid));
	one_of_each(ncid, text, number, HOW_INDEP);
	OK(ncmpi_end_indep_data(ncid));
	OK(ncmpi_buffer_detach(ncid));
	OK(ncmpi_close(ncid));
	say_each("text", 1, 1, 0);
	say_each("number", TYPES, 8, 1);
	say_file("each.nc", "CREATES", 1);
	say_file("each.nc", "COLL_WAITS", 13 * 6 * 3);
}

/* ---- values arrive --------------------------------------------------------------------------- */

static void values(void)
{
	int dim, id, request, status, ncid = create("values.nc");
	double out[10], in[10];
	MPI_Offset start = 10 * rank, edge = 10, back = 2, half = 5;

	OK(ncmpi_def_dim(ncid, "x", 10 * size, &dim));
	OK(ncmpi_def_var(ncid, "v", NC_DOUBLE, 1, &dim, &id));
	OK(ncmpi_enddef(ncid));
	for (int i = 0; i < 10; i++)
		out[i] = 100 * rank + i;
	OK(ncmpi_put_vara_double_all(ncid, id, &start, &edge, out));
	OK(ncmpi_get_vars_double_all(ncid, id, &start, &half, &back, in));
	for (int i = 0; i < 5; i++)
		if (in[i] != out[2 * i])
			fail("wrong values by vars");
	OK(ncmpi_iget_vara(ncid, id, &start, &edge, in, 10, MPI_DOUBLE, &request));
	OK(ncmpi_wait_all(ncid, 1, &request, &status));
	if (memcmp(in, out, sizeof(in)) != 0)
		fail("wrong values by iget");
	OK(ncmpi_close(ncid));
	say_shape("values.nc", "v", 1, 10 * size, 8);
	say("values.nc", "v", "OPENS", 1);
	say("values.nc", "v", "COLL_WRITES", 1);
	say("values.nc", "v", "COLL_READS", 1);
	say("values.nc", "v", "NB_READS", 1);
	say("values.nc", "v", "PUT_VARA", 1);
	say("values.nc", "v", "GET_VARS", 1);
	say("values.nc", "v", "IGET_VARA", 1);
	say("values.nc", "v", "BYTES_WRITTEN", 80);
	say("values.nc", "v", "BYTES_READ", 40 + 80);
	say_file("values.nc", "CREATES", 1);
	say_file("values.nc", "COLL_WAITS", 1);
}

/* ---- two files at a time: their variables have the same numbers ------------------------------ */

static void two(void)
{
	int a = create("a.nc"), b = create("b.nc"), dim, id[2], again;
	short s[8] = { 0 };
	double d[8] = { 0 };

	OK(ncmpi_def_dim(a, "x", 8, &dim));
	OK(ncmpi_def_var(a, "v", NC_SHORT, 1, &dim, &id[0]));
	OK(ncmpi_def_dim(b, "x", 8, &dim));
	OK(ncmpi_def_var(b, "w", NC_DOUBLE, 1, &dim, &id[1]));
	if (id[0] != id[1])
		fail("the numbers differ");
	OK(ncmpi_enddef(a));
	OK(ncmpi_enddef(b));
	OK(ncmpi_put_var_short_all(a, id[0], s));
	OK(ncmpi_put_var_double_all(b, id[1], d));
	OK(ncmpi_put_var_double_all(b, id[1], d));
	OK(ncmpi_sync(a));
	OK(ncmpi_redef(b));
	OK(ncmpi_enddef(b));
	OK(ncmpi_close(b));
	OK(ncmpi_inq_varid(a, "v", &again));
	OK(ncmpi_get_var_short_all(a, id[0], s));
	OK(ncmpi_close(a));
	/* the number of b again, and its variable has not been asked for */
	OK(ncmpi_open(MPI_COMM_WORLD, in_folder("a.nc"), NC_NOWRITE, MPI_INFO_NULL, &a));
	OK(ncmpi_get_var_short_all(a, id[0], s));
	OK(ncmpi_close(a));
	say_shape("a.nc", "v", 1, 8, 2);
	say("a.nc", "v", "OPENS", 2);
	say("a.nc", "v", "COLL_WRITES", 1);
	say("a.nc", "v", "COLL_READS", 2);
	say("a.nc", "v", "PUT_VAR", 1);
	say("a.nc", "v", "GET_VAR", 2);
	say("a.nc", "v", "BYTES_WRITTEN", 16);
	say("a.nc", "v", "BYTES_READ", 32);
	say_file("a.nc", "CREATES", 1);
	say_file("a.nc", "OPENS", 1);
	say_file("a.nc", "SYNCS", 1);
	say_shape("b.nc", "w", 1, 8, 8);
	say("b.nc", "w", "OPENS", 1);
	say("b.nc", "w", "COLL_WRITES", 2);
	say("b.nc", "w", "PUT_VAR", 2);
	say("b.nc", "w", "BYTES_WRITTEN", 128);
	say_file("b.nc", "CREATES", 1);
	say_file("b.nc", "REDEFS", 1);
}

/* ---- variables that grow, and a file that another process has made --------------------------- */

static void grow(void)
{
	int dims[2], rec, fixed, one, ncid = create("grow.nc");
	MPI_Offset start[] = { 0, 0 }, edges[] = { 3, 5 };
	float f[64] = { 0 };

	OK(ncmpi_def_dim(ncid, "t", NC_UNLIMITED, &dims[0]));
	OK(ncmpi_def_dim(ncid, "x", 5, &dims[1]));
	OK(ncmpi_def_var(ncid, "rec", NC_FLOAT, 2, dims, &rec));
	OK(ncmpi_def_var(ncid, "fixed", NC_FLOAT, 1, &dims[1], &fixed));
	OK(ncmpi_def_var(ncid, "one", NC_INT, 0, NULL, &one));
	OK(ncmpi_enddef(ncid));
	OK(ncmpi_put_vara_float_all(ncid, rec, start, edges, f));
	OK(ncmpi_put_var_float_all(ncid, rec, f));
	OK(ncmpi_put_var_float_all(ncid, fixed, f)); /* does not grow with the others */
	OK(ncmpi_put_vara_int_all(ncid, one, NULL, NULL, (int[]){ 7 }));
	OK(ncmpi_close(ncid));
	say_shape("grow.nc", "rec", 2, 5, 4);
	say("grow.nc", "rec", "IS_RECORD_VAR", 1);
	say("grow.nc", "rec", "OPENS", 1);
	say("grow.nc", "rec", "COLL_WRITES", 2);
	say("grow.nc", "rec", "PUT_VAR", 1);
	say("grow.nc", "rec", "PUT_VARA", 1);
	say("grow.nc", "rec", "BYTES_WRITTEN", 60 + 60);
	say_shape("grow.nc", "fixed", 1, 5, 4);
	say("grow.nc", "fixed", "OPENS", 1);
	say("grow.nc", "fixed", "COLL_WRITES", 1);
	say("grow.nc", "fixed", "PUT_VAR", 1);
	say("grow.nc", "fixed", "BYTES_WRITTEN", 20);
	say_shape("grow.nc", "one", 0, 1, 4);
	say("grow.nc", "one", "OPENS", 1);
	say("grow.nc", "one", "COLL_WRITES", 1);
	say("grow.nc", "one", "PUT_VARA", 1);
	say("grow.nc", "one", "BYTES_WRITTEN", 4);
	say_file("grow.nc", "CREATES", 1);
}

static void old(void)
{
	int ncid;
	MPI_Offset start[] = { 1, 0 }, edges[] = { 2, 5 };
	float f[64];

	OK(ncmpi_open(MPI_COMM_WORLD, in_folder("grow.nc"), NC_NOWRITE, MPI_INFO_NULL, &ncid));
	OK(ncmpi_get_vara_float_all(ncid, 0, start, edges, f)); /* known by its number only */
	OK(ncmpi_close(ncid));
	say_shape("grow.nc", "rec", 2, 5, 4);
	say("grow.nc", "rec", "IS_RECORD_VAR", 1);
	say("grow.nc", "rec", "COLL_READS", 1);
	say("grow.nc", "rec", "GET_VARA", 1);
	say("grow.nc", "rec", "BYTES_READ", 40);
	say_file("grow.nc", "OPENS", 1);
}

/* ---- what fails, and other ends -------------------------------------------------------------- */

static void failing(void)
{
	int dim, id, none, ncid = create("failing.nc");
	MPI_Offset start = 100, edge = 4;
	double d[8] = { 0 };

	OK(ncmpi_def_dim(ncid, "x", 8, &dim));
	OK(ncmpi_def_var(ncid, "v", NC_DOUBLE, 1, &dim, &id));
	OK(ncmpi_enddef(ncid));
	if (ncmpi_put_vara_double_all(ncid, id, &start, &edge, d) == NC_NOERR ||
	    ncmpi_put_var_double(ncid, id, d) == NC_NOERR || /* not in this mode */
	    ncmpi_inq_varid(ncid, "absent", &none) == NC_NOERR || ncmpi_sync(-1) == NC_NOERR ||
	    ncmpi_open(MPI_COMM_WORLD, in_folder("absent.nc"), NC_NOWRITE, MPI_INFO_NULL, &none) ==
		    NC_NOERR)
		fail("something did not fail");
	if (ncmpi_wait(ncid, 0, NULL, NULL) == NC_NOERR) /* not in this mode either */
		fail("a wait did not fail");
	OK(ncmpi_begin_indep_data(ncid));
	OK(ncmpi_wait(ncid, 0, NULL, NULL));
	if (ncmpi_get_var_double(ncid, 77, d) == NC_NOERR) /* a collective call may crash */
		fail("a variable that is not there was read");
	OK(ncmpi_end_indep_data(ncid));
	OK(ncmpi_close(ncid));
	OK(ncmpi_open(MPI_COMM_WORLD, in_folder("failing.nc"), NC_WRITE, MPI_INFO_NULL, &ncid));
	OK(ncmpi_redef(ncid));
	OK(ncmpi_abort(ncid));
	/* has the same number */
	OK(ncmpi_create(MPI_COMM_WORLD, in_folder("after.nc"), NC_CLOBBER, MPI_INFO_NULL, &ncid));
	OK(ncmpi_close(ncid));
	say_file("after.nc", "CREATES", 1);
	say_file("failing.nc", "REDEFS", 1);
	say_file("failing.nc", "CREATES", 1);
	say_file("failing.nc", "OPENS", 1);
	say_file("failing.nc", "INDEP_WAITS", 1);
	say_file("failing.nc", "WAIT_FAILURES", 1);
	say("failing.nc", "v", "OPENS", 1);
	say_shape("failing.nc", "v", 1, 8, 8);
}

/* ---- more variables than are remembered at a time -------------------------------------------- */

static void many(void)
{
	enum { FILES = 4, VARS = 500 };
	int dim, id[VARS], ncid;
	char name[32], var[32];
	int value = 1;

	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "many%d.nc", i);
		ncid = create(name);
		OK(ncmpi_def_dim(ncid, "x", 1, &dim));
		for (int k = 0; k < VARS; k++) {
			snprintf(var, sizeof(var), "v%d", k);
			OK(ncmpi_def_var(ncid, var, NC_INT, 1, &dim, &id[k]));
		}
		OK(ncmpi_enddef(ncid));
		OK(ncmpi_put_var_int_all(ncid, id[i], &value));
		OK(ncmpi_close(ncid));
		say_file(name, "CREATES", 1);
		for (int k = 0; k < VARS; k++) {
			snprintf(var, sizeof(var), "v%d", k);
			say_shape(name, var, 1, 1, 4);
			say(name, var, "OPENS", 1);
			say(name, var, "COLL_WRITES", k == i);
			say(name, var, "PUT_VAR", k == i);
			say(name, var, "BYTES_WRITTEN", k == i ? 4 : 0);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "each", each }, { "values", values },	{ "two", two },	 { "grow", grow },
		      { "old", old },	{ "failing", failing }, { "many", many } };

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc < 3 || !realpath(argv[2], folder))
		fail("no folder");
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	MPI_Finalize();
	return 0;
}
