/* SPDX-License-Identifier: BSD-3-Clause */
/* kill TALLY FOLDER MILLISECONDS: every rank makes MPI-IO and plain calls for some time or until
 * it is killed. After each call it counts the call in its rows of TALLY, which is shared memory,
 * so that the file tells later what was finished in time. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 8, NAME_ROOM = 4096, READ_SIZE = 300, WRITE_SIZE = 500, REACH = 1 << 16 };
enum { WORLD, SELF, PLAIN, FILES };
enum { OPENS, READS, WRITES, BYTES_READ, BYTES_WRITTEN, COLUMNS };
enum { STARTED = 1, RUNNING, LEAVING, LEFT };

struct rank {
	uint64_t pid;
	uint64_t stage;
	uint64_t count[FILES][COLUMNS];
};

static struct rank *me;
static char data[WRITE_SIZE];

/* the compiler must not move a count before its call, nor leave it in a register */
static void put(uint64_t *where, uint64_t value)
{
	__atomic_store_n(where, value, __ATOMIC_RELEASE);
}

static void count(int file, int calls, int bytes, uint64_t n)
{
	put(&me->count[file][calls], me->count[file][calls] + 1);
	if (bytes != 0)
		put(&me->count[file][bytes], me->count[file][bytes] + n);
}

static MPI_File open_it(MPI_Comm comm, int which, const char *path)
{
	MPI_File f;

	if (MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f) !=
	    MPI_SUCCESS)
		_exit(4);
	count(which, OPENS, 0, 0);
	return f;
}

static void access_it(MPI_File f, int which, int round, int rank)
{
	MPI_Offset at = (MPI_Offset)rank * REACH + round % 100 * WRITE_SIZE;

	if (MPI_File_write_at(f, at, data, WRITE_SIZE, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS)
		count(which, WRITES, BYTES_WRITTEN, WRITE_SIZE);
	if (MPI_File_read_at(f, at, data, READ_SIZE, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS)
		count(which, READS, BYTES_READ, READ_SIZE);
}

static void plain(const char *path, int round)
{
	int fd = open(path, O_CREAT | O_RDWR, 0600);

	if (fd < 0)
		_exit(4);
	count(PLAIN, OPENS, 0, 0);
	if (pwrite(fd, data, WRITE_SIZE, round % 100 * WRITE_SIZE) == WRITE_SIZE)
		count(PLAIN, WRITES, BYTES_WRITTEN, WRITE_SIZE);
	close(fd);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* all ranks make the same number of rounds */
static void work(const char *folder, int rank, double limit)
{
	char path[FILES][NAME_ROOM];
	double end = seconds() + limit;
	int again = 1;

	snprintf(path[WORLD], NAME_ROOM, "%s/world", folder);
	snprintf(path[SELF], NAME_ROOM, "%s/self.%d", folder, rank);
	snprintf(path[PLAIN], NAME_ROOM, "%s/plain.%d", folder, rank);
	for (int round = 0; again; round++) {
		MPI_File world = open_it(MPI_COMM_WORLD, WORLD, path[WORLD]);
		MPI_File self = open_it(MPI_COMM_SELF, SELF, path[SELF]);

		for (int i = 0; i < 20; i++) {
			access_it(world, WORLD, round + i, rank);
			access_it(self, SELF, round + i, 0);
			plain(path[PLAIN], round + i);
		}
		MPI_File_close(&self);
		MPI_File_close(&world);
		again = seconds() < end;
		MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	const char *word = getenv("OMPI_COMM_WORLD_RANK");
	int rank, fd;

	if (word == NULL)
		word = getenv("PMI_RANK");
	if (argc != 4 || word == NULL)
		return fprintf(stderr, "Usage: mpirun kill TALLY FOLDER MILLISECONDS\n"), 2;
	rank = (int)strtol(word, NULL, 10);
	fd = open(argv[1], O_RDWR);
	if (fd < 0 || rank < 0 || rank >= MOST)
		return perror(argv[1]), 4;
	me = mmap(NULL, MOST * sizeof(*me), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (me == MAP_FAILED)
		return perror(argv[1]), 4;
	close(fd);
	me += rank;
	put(&me->pid, (uint64_t)getpid());
	put(&me->stage, STARTED);
	MPI_Init(&argc, &argv);
	put(&me->stage, RUNNING);
	work(argv[2], rank, 1e-3 * strtod(argv[3], NULL));
	put(&me->stage, LEAVING);
	MPI_Finalize();
	put(&me->stage, LEFT);
	return 0;
}
