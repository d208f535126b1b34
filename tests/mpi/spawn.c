/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn.c FOLDER: two ranks start three more with MPI_Comm_spawn, from the same file. All of
 * them write, and say what to $TRUTH_FILE.WORLD.rank in the lines of truth.c. Nothing of src/ is
 * used here. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHILDREN = 3, SIZE = 100 };

static FILE *out;
static int rank;
static char buf[SIZE];

static void tell(const char *path, const char *counter, int value)
{
	fprintf(out, "TRUTH %d %d %s %s %d\n", (int)getpid(), rank, path, counter, value);
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s failed\n", what);
	MPI_Abort(MPI_COMM_WORLD, 98);
}

/* a file of this world, and one of this rank */
static void work(const char *folder, const char *world)
{
	char path[4096];
	MPI_File f;
	int n = 2 + rank, fd;

	snprintf(path, sizeof(path), "%s/%s", folder, world);
	must(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
			   &f) == MPI_SUCCESS,
	     "MPI_File_open");
	for (int i = 0; i < n; i++)
		MPI_File_write_at(f, (MPI_Offset)(10 * rank + i) * SIZE, buf, SIZE, MPI_BYTE,
				  MPI_STATUS_IGNORE);
	MPI_File_close(&f);
	tell(path, "MPIIO_INDEP_WRITES", n);
	tell(path, "MPIIO_BYTES_WRITTEN", n * SIZE);
	snprintf(path, sizeof(path), "%s/%s.%d", folder, world, rank);
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	for (int i = 0; i < n; i++)
		must(write(fd, buf, SIZE) == SIZE, "write");
	close(fd);
	tell(path, "POSIX_WRITES", n);
	tell(path, "POSIX_BYTES_WRITTEN", n * SIZE);
}

int main(int argc, char **argv)
{
	char path[4096];
	const char *world = "parent";
	MPI_Comm others, all;
	int errors[CHILDREN], size = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_get_parent(&others);
	if (others != MPI_COMM_NULL)
		world = "child";
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc != 2 || getenv("TRUTH_FILE") == NULL)
		return 2;
	snprintf(path, sizeof(path), "%s.%s.%d", getenv("TRUTH_FILE"), world, rank);
	out = fopen(path, "w");
	must(out != NULL, path);
	if (strcmp(world, "parent") == 0)
		must(MPI_Comm_spawn(argv[0], argv + 1, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD,
				    &others, errors) == MPI_SUCCESS,
		     "MPI_Comm_spawn");
	work(argv[1], world);
	must(MPI_Intercomm_merge(others, strcmp(world, "child") == 0, &all) == MPI_SUCCESS,
	     "MPI_Intercomm_merge");
	MPI_Comm_size(all, &size);
	fclose(out);
	MPI_Barrier(all);
	MPI_Comm_free(&all);
	MPI_Comm_disconnect(&others);
	MPI_Finalize();
	return size == 2 + CHILDREN ? 0 : 3;
}
