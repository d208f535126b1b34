/* SPDX-License-Identifier: BSD-3-Clause */
/* loop_hdf5 COUNT FILE: COUNT times H5Dwrite of a dataset of 16 doubles, always the same. What
 * bench/mpi.py counts is the function loop_calls. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

#define SIZE 16

int loop_calls(hid_t set, long count);

__attribute__((noinline)) int loop_calls(hid_t set, long count)
{
	static double data[SIZE];

	for (long i = 0; i < count; i++)
		if (H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	long count = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
	hid_t file, space, set;
	int failed;

	if (count <= 0) {
		fprintf(stderr, "Usage: loop_hdf5 COUNT FILE\n");
		return 2;
	}
	file = H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	space = H5Screate_simple(1, (hsize_t[]){ SIZE }, NULL);
	set = H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT,
			 H5P_DEFAULT);
	if (file < 0 || set < 0)
		return 4;
	failed = loop_calls(set, count);
	H5Dclose(set);
	H5Sclose(space);
	H5Fclose(file);
	return failed;
}
