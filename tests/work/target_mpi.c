/* SPDX-License-Identifier: BSD-3-Clause */
/* target_mpi.c DIR A B C [lie]: each rank opens an MPI file, tells its process number in
 * DIR/pid.RANK, and waits for DIR/go. Then rank r writes A + r times to a file of its own, B + r
 * times to the MPI file with independent calls, and all of them C times to another MPI file with
 * collective ones. It says so in DIR/done.RANK, waits for DIR/end, and ends. 0 instead of A, B or
 * C: not at all; a B below 0: so many collective ones. lie: its variables give it the number of
 * another rank. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *dir;
static int rank, size;

static void wait_for(const char *name)
{
	char path[4096];
	struct timespec t = { 0, 5000000 };

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	while (access(path, F_OK) != 0)
		nanosleep(&t, NULL);
}

static void tell(const char *name)
{
	char path[4096], full[4200];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s.%d", dir, name, rank);
	snprintf(path, sizeof(path), "%s/.%s.%d", dir, name, rank);
	f = fopen(path, "w");
	if (f == NULL)
		MPI_Abort(MPI_COMM_WORLD, 3);
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
	rename(path, full);
}

static MPI_File open_mpi(const char *name)
{
	char path[4096];
	MPI_File f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			  &f) != MPI_SUCCESS)
		MPI_Abort(MPI_COMM_WORLD, 3);
	return f;
}

static void work(MPI_File before, int a, int b, int c)
{
	char bytes[1000], path[4096];

	memset(bytes, 'a' + rank, sizeof(bytes));
	if (a > 0) {
		snprintf(path, sizeof(path), "%s/posix.%d", dir, rank);
		int fd = open(path, O_WRONLY | O_CREAT, 0600);

		for (int i = 0; i < a + rank; i++)
			if (write(fd, bytes, 100) != 100)
				MPI_Abort(MPI_COMM_WORLD, 3);
		close(fd);
	}
	for (int i = 0; b > 0 && i < b + rank; i++)
		MPI_File_write_at(before, (MPI_Offset)(i * size + rank) * 1000, bytes, 1000,
				  MPI_CHAR, MPI_STATUS_IGNORE);
	for (int i = 0; b < 0 && i < -b; i++)
		MPI_File_write_at_all(before, (MPI_Offset)(i * size + rank) * 1000, bytes, 1000,
				      MPI_CHAR, MPI_STATUS_IGNORE);
	if (c > 0) {
		MPI_File during = open_mpi("during");

		for (int i = 0; i < c; i++)
			MPI_File_write_at_all(during, (MPI_Offset)(i * size + rank) * 1000, bytes,
					      1000, MPI_CHAR, MPI_STATUS_IGNORE);
		MPI_File_close(&during);
	}
}

static void lie(void)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", size - 1 - rank);
	setenv("OMPI_COMM_WORLD_RANK", text, 1);
	setenv("PMI_RANK", text, 1);
}

int main(int argc, char **argv)
{
	char byte = 'x';
	MPI_File before;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc < 5)
		MPI_Abort(MPI_COMM_WORLD, 2);
	dir = argv[1];
	if (argc > 5)
		lie();
	before = open_mpi("before");
	MPI_File_write_at(before, rank, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE);
	tell("pid");
	wait_for("go");
	work(before, (int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10),
	     (int)strtol(argv[4], NULL, 10));
	tell("done");
	wait_for("end");
	MPI_File_close(&before);
	MPI_Finalize();
	return 0;
}
