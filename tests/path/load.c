/* SPDX-License-Identifier: BSD-3-Clause */
/* load.c OBSERVED QUIET: an MPI job that never stops writing: each rank its own file, and all
 * together one file through MPI-IO. Whatever was written is read again, not from memory, and
 * compared. It ends when QUIET/end is there; then QUIET/image.RANK has what OBSERVED/own.RANK must
 * have, and what OBSERVED/shared must have at the place of the rank. QUIET/pid.RANK, QUIET/rounds:
 * how far it is. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 160 << 10, PIECES = 6 };

static unsigned char image[PIECES][PIECE], again[PIECE];

static void stop(const char *what)
{
	perror(what);
	MPI_Abort(MPI_COMM_WORLD, 3);
	exit(3);
}

static void fill(unsigned char *to, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + 1;

	for (size_t i = 0; i < PIECE; i += sizeof(x)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		memcpy(to + i, &x, sizeof(x));
	}
}

static void put(const char *folder, const char *name, int rank, const void *bytes, size_t n)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), rank < 0 ? "%s/%s" : "%s/%s.%d", folder, name, rank);
	f = fopen(path, "w");
	if (f == NULL || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
		stop(path);
}

static int is_over(const char *folder)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/end", folder);
	return access(path, F_OK) == 0;
}

static void own(int fd, long round)
{
	off_t at = (off_t)(round % PIECES) * PIECE;

	if (pwrite(fd, image[round % PIECES], PIECE, at) != PIECE)
		stop("pwrite");
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (pread(fd, again, PIECE, at) != PIECE)
		stop("pread");
	if (memcmp(again, image[round % PIECES], PIECE) != 0)
		stop("own: other bytes");
}

static void together(MPI_File file, int rank, long round)
{
	MPI_Offset at = ((MPI_Offset)rank * PIECES + round % PIECES) * PIECE;
	MPI_Status status;

	if (MPI_File_write_at_all(file, at, image[round % PIECES], PIECE, MPI_BYTE, &status) !=
	    MPI_SUCCESS)
		stop("MPI_File_write_at_all");
	/* another rank may have written it for this one, and be at it yet */
	if (MPI_File_sync(file) != MPI_SUCCESS || MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS ||
	    MPI_File_sync(file) != MPI_SUCCESS)
		stop("MPI_File_sync");
	if (MPI_File_read_at(file, at, again, PIECE, MPI_BYTE, &status) != MPI_SUCCESS)
		stop("MPI_File_read_at");
	if (memcmp(again, image[round % PIECES], PIECE) != 0)
		stop("together: other bytes");
}

int main(int argc, char **argv)
{
	char text[4096];
	MPI_File file;
	int rank, fd, over = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc < 3)
		stop("load OBSERVED QUIET");
	snprintf(text, sizeof(text), "%s/shared", argv[1]);
	if (MPI_File_open(MPI_COMM_WORLD, text, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			  &file) != MPI_SUCCESS)
		stop(text);
	snprintf(text, sizeof(text), "%s/own.%d", argv[1], rank);
	fd = open(text, O_CREAT | O_RDWR, 0600);
	if (fd < 0)
		stop(text);
	put(argv[2], "pid", rank, text, (size_t)snprintf(text, sizeof(text), "%d", (int)getpid()));
	for (long round = 0; !over; round++) {
		fill(image[round % PIECES], (uint64_t)round * 64 + (uint64_t)rank);
		own(fd, round);
		together(file, rank, round);
		if (rank == 0)
			put(argv[2], "rounds", -1, text,
			    (size_t)snprintf(text, sizeof(text), "%ld", round));
		over = rank == 0 && round >= PIECES && is_over(argv[2]);
		MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	put(argv[2], "image", rank, image, sizeof(image));
	MPI_File_close(&file);
	if (close(fd) != 0)
		stop("close");
	MPI_Finalize();
	return 0;
}
