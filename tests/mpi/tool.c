/* SPDX-License-Identifier: BSD-3-Clause */
/* tool.c: another tool between the program and its MPI, as a library. It counts the writes it
 * sees and says so in $TOOL_FILE.rank; it must go on seeing them under observation, and they
 * must not be counted twice. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int writes;

int MPI_File_write_at(MPI_File f, MPI_Offset off, const void *buf, int n, MPI_Datatype type,
		      MPI_Status *status)
{
	writes++;
	return PMPI_File_write_at(f, off, buf, n, type, status);
}

int MPI_Finalize(void)
{
	char name[4096];
	FILE *out;
	int rank;

	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	snprintf(name, sizeof(name), "%s.%d", getenv("TOOL_FILE"), rank);
	out = fopen(name, "w");
	if (out != NULL) {
		fprintf(out, "%d\n", writes);
		fclose(out);
	}
	return PMPI_Finalize();
}
