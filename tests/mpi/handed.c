/* SPDX-License-Identifier: BSD-3-Clause */
/* handed.c PROGRAM: each rank writes 10 bytes to a file of its own and starts the program, rank
 * + 1 times. */
#include <fcntl.h>
#include <mpi.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	char name[32], *words[] = { argv[1], "0", "0", "/dev/null", NULL };
	int rank, fd, status = argc != 2;
	pid_t pid;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof(name), "rank.%d", rank);
	fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	status |= write(fd, "0123456789", 10) != 10;
	close(fd);
	for (int i = 0; i <= rank; i++) {
		status |= posix_spawn(&pid, words[0], NULL, NULL, words, environ);
		waitpid(pid, NULL, 0);
	}
	MPI_Finalize();
	return status;
}
