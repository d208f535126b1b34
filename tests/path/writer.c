/* SPDX-License-Identifier: BSD-3-Clause */
/* writer.c FILE BYTES [later|split]: all ranks write so many bytes each, one after the other in the
 * file, with a collective call, and read them again; later: each with a call that does not wait;
 * split: with two halves of a collective call, and a write of its own between them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	int rank, bytes = argc > 2 ? atoi(argv[2]) : 0, bad = 0;
	unsigned char *p;
	MPI_File f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	p = malloc((size_t)bytes);
	for (int i = 0; i < bytes; i++)
		p[i] = (unsigned char)(i * 7 + rank);
	if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			  &f) != MPI_SUCCESS)
		MPI_Abort(MPI_COMM_WORLD, 2);
	if (argc > 3 && strcmp(argv[3], "split") == 0) {
		MPI_File own;

		MPI_File_write_at_all_begin(f, (MPI_Offset)rank * bytes, p, bytes, MPI_BYTE);
		MPI_File_open(MPI_COMM_SELF, argv[4 + rank], MPI_MODE_CREATE | MPI_MODE_WRONLY,
			      MPI_INFO_NULL, &own);
		MPI_File_write_at(own, 0, p, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
		MPI_File_write_at_all_end(f, p, MPI_STATUS_IGNORE);
		MPI_File_close(&own);
	} else if (argc > 3) {
		MPI_Request r;

		MPI_File_iwrite_at(f, (MPI_Offset)rank * bytes, p, bytes, MPI_BYTE, &r);
		MPI_Wait(&r, MPI_STATUS_IGNORE);
	} else {
		MPI_File_write_at_all(f, (MPI_Offset)rank * bytes, p, bytes, MPI_BYTE,
				      MPI_STATUS_IGNORE);
	}
	for (int i = 0; i < bytes; i++)
		p[i] = 0;
	MPI_File_read_at_all(f, (MPI_Offset)rank * bytes, p, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
	for (int i = 0; i < bytes; i++)
		bad += p[i] != (unsigned char)(i * 7 + rank);
	MPI_File_close(&f);
	free(p);
	if (bad > 0)
		fprintf(stderr, "rank %d: %d bytes are wrong\n", rank, bad);
	MPI_Finalize();
	return bad > 0;
}
