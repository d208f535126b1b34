/* SPDX-License-Identifier: BSD-3-Clause */
/* split_end.c: an MPI below the one that is there, which does part of a split call only when that
 * ends: its last bytes, to the file that IORAMA_TEST_SPLIT names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int MPI_File_write_at_all_end(MPI_File f, const void *p, MPI_Status *s)
{
	int (*real)(MPI_File, const void *, MPI_Status *), fd;

	*(void **)&real = dlsym(RTLD_NEXT, "MPI_File_write_at_all_end");
	fd = open(getenv("IORAMA_TEST_SPLIT"), O_WRONLY | O_CREAT, 0600);
	if (fd < 0 || pwrite(fd, p, 1, 0) != 1)
		MPI_Abort(MPI_COMM_WORLD, 3);
	close(fd);
	return real(f, p, s);
}
