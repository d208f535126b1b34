/* SPDX-License-Identifier: BSD-3-Clause */
/* pairs_lib MODE bad|fixed N: one mistake that programs make with HDF5 or netCDF, and the same work
 * done well. N is how often; files hold the same both ways. Prints the seconds that it took. Works
 * in the current folder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hdf5.h>

static long n;
static int bad;
static double *data;

static hid_t checked(hid_t id, const char *what)
{
	if (id < 0) {
		fprintf(stderr, "%s failed\n", what);
		exit(1);
	}
	return id;
}

/* a number at a time, or all of them at once */
static void elements(int writing)
{
	hsize_t whole = (hsize_t)n, one = 1;
	hid_t file = checked(H5Fcreate("data.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "file");
	hid_t space = checked(H5Screate_simple(1, &whole, NULL), "space");
	hid_t part = checked(H5Screate_simple(1, &one, NULL), "space");
	hid_t set = checked(H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT,
				       H5P_DEFAULT, H5P_DEFAULT),
			    "dataset");

	if (!writing || !bad)
		checked(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data),
			"write");
	for (hsize_t i = 0; bad && i < whole; i++) {
		H5Sselect_hyperslab(space, H5S_SELECT_SET, &i, NULL, &one, NULL);
		checked(writing ? H5Dwrite(set, H5T_NATIVE_DOUBLE, part, space, H5P_DEFAULT,
					   &data[i])
				: H5Dread(set, H5T_NATIVE_DOUBLE, part, space, H5P_DEFAULT,
					  &data[i]),
			"transfer");
	}
	if (!writing && !bad)
		checked(H5Dread(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data),
			"read");
	H5Dclose(set);
	H5Sclose(part);
	H5Sclose(space);
	H5Fclose(file);
}

enum { ROWS = 256, COLUMNS = 8192, DEEP = 64 }; /* a chunk: DEEP whole rows, 4 MiB */

/* Rows of a packed dataset, one by one: without room for a chunk each row unpacks one anew. */
static void packed_rows(void)
{
	hsize_t whole[2] = { ROWS, COLUMNS }, chunk[2] = { DEEP, COLUMNS }, row[2] = { 1, COLUMNS };
	hid_t file = checked(H5Fcreate("data.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "file");
	hid_t space = checked(H5Screate_simple(2, whole, NULL), "space");
	hid_t part = checked(H5Screate_simple(2, row, NULL), "space");
	hid_t make = H5Pcreate(H5P_DATASET_CREATE), use = H5Pcreate(H5P_DATASET_ACCESS), set;
	double *all = malloc(sizeof(*all) * ROWS * COLUMNS);

	if (all == NULL)
		exit(2);
	for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++)
		all[i] = (double)(i * 2654435761u % 1000003) / 7;
	H5Pset_chunk(make, 2, chunk);
	H5Pset_deflate(make, 1);
	H5Pset_chunk_cache(use, 101, bad ? 0 : (size_t)64 << 20, 0.75);
	set = checked(H5Dcreate2(file, "x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, make, use),
		      "dataset");
	checked(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, all), "write");
	for (long i = 0; i < n; i++) {
		hsize_t at[2] = { (hsize_t)i * 7 % ROWS, 0 };

		H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, row, NULL);
		checked(H5Dread(set, H5T_NATIVE_DOUBLE, part, space, H5P_DEFAULT, all), "read");
	}
	free(all);
	H5Dclose(set);
	H5Fclose(file);
}

int main(int argc, char **argv)
{
	struct timespec from, to;

	if (argc != 4)
		return 2;
	bad = strcmp(argv[2], "bad") == 0;
	n = atol(argv[3]);
	data = calloc((size_t)n, sizeof(*data));
	if (n <= 0 || data == NULL)
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &from);
	if (strcmp(argv[1], "element_write") == 0)
		elements(1);
	else if (strcmp(argv[1], "element_read") == 0)
		elements(0);
	else if (strcmp(argv[1], "packed_rows") == 0)
		packed_rows();
	else
		return 2;
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.6f\n",
	       (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9);
	free(data);
	return 0;
}
