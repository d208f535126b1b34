/* SPDX-License-Identifier: BSD-3-Clause */
/* shutdown_mpi FILES FOLDER: every rank of MPI writes and reads FILES small files below FOLDER,
 * once each, and prints the seconds that MPI_Finalize takes, which is where one log of all ranks
 * is made. For bench/shutdown.py.
 *
 * FOLDER may contain %d, which becomes the rank: files of its own then, by name. */
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* 0, or why not */
static const char *use_file(const char *path, int rank)
{
	char bytes[32] = "";
	int fd = open(path, O_RDWR);

	if (fd < 0)
		return "cannot be opened";
	for (int i = 0; i < 2; i++) {
		off_t at = (off_t)(2 * rank + i) * (off_t)sizeof(bytes);

		if (pwrite(fd, bytes, sizeof(bytes), at) != (ssize_t)sizeof(bytes) ||
		    pread(fd, bytes, sizeof(bytes) / 2, at) != (ssize_t)(sizeof(bytes) / 2)) {
			close(fd);
			return "cannot be used";
		}
	}
	close(fd);
	return NULL;
}

/* FOLDER of this rank */
static void folder_of(char to[PATH_MAX], const char *folder, int rank)
{
	const char *mark = strstr(folder, "%d");

	if (mark == NULL)
		snprintf(to, PATH_MAX, "%s", folder);
	else
		snprintf(to, PATH_MAX, "%.*s%d%s", (int)(mark - folder), folder, rank, mark + 2);
}

int main(int argc, char **argv)
{
	int rank, files = argc == 3 ? (int)strtol(argv[1], NULL, 10) : 0;
	char folder[PATH_MAX], path[PATH_MAX + 32];
	double begin;

	if (files <= 0) {
		fprintf(stderr, "Usage: shutdown_mpi FILES FOLDER\n");
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	folder_of(folder, argv[2], rank);
	for (int i = 0; i < files; i++) {
		snprintf(path, sizeof(path), "%s/field-%04d.h5", folder, i);
		const char *problem = use_file(path, rank);
		if (problem != NULL) {
			fprintf(stderr, "shutdown_mpi: %s %s\n", path, problem);
			MPI_Abort(MPI_COMM_WORLD, 4);
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	begin = now();
	MPI_Finalize();
	printf("finalize %d %.6f\n", rank, now() - begin);
	return 0;
}
