/* SPDX-License-Identifier: BSD-3-Clause */
/* fake.c: as LIBRARY, as much of an MPI as the program needs, in one process that takes itself
 * for rank 0 of 3. KIND_abi keeps to the ABI of MPI 5 and insists on its constants; KIND_unknown
 * is like no other MPI; with KIND_none there is only the program, which asks in vain. WITH_MAIN
 * has both in one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct handle *handle;
#define WORLD ((handle)0x101)
#define INFO_NULL ((handle)0x130)
#define BYTE ((handle)0x247)
#define PAIR ((handle)0x1234) /* a type of the program's own */
#define INFO ((handle)0x5678)

int MPI_Init(int *argc, char ***argv);
int MPI_Finalize(void);
int MPI_File_open(handle comm, const char *name, int mode, handle info, handle *f);
int MPI_File_write_at(handle f, int64_t off, const void *buf, int n, handle type, void *status);
int MPI_File_close(handle *f);
int PMPI_Comm_rank(handle comm, int *rank);
int PMPI_Comm_size(handle comm, int *size);
int PMPI_Type_size(handle type, int *size);
int PMPI_Initialized(int *flag);
int PMPI_Get_library_version(char *text, int *len);
int MPI_Abi_get_version(int *major, int *minor);

#ifdef LIBRARY
static void insist(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fake: %s\n", what);
	exit(3);
}

int MPI_Init(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	return 0;
}

int MPI_Finalize(void)
{
	return 0;
}

int MPI_File_open(handle comm, const char *name, int mode, handle info, handle *f)
{
	(void)comm, (void)mode, (void)info;
	*f = (handle)fopen(name, "w");
	return *f == NULL;
}

int MPI_File_write_at(handle f, int64_t off, const void *buf, int n, handle type, void *status)
{
	(void)off, (void)type, (void)status;
	return fwrite(buf, 1, (size_t)n, (FILE *)f) != (size_t)n;
}

int MPI_File_close(handle *f)
{
	return fclose((FILE *)*f) != 0;
}

int PMPI_Get_library_version(char *text, int *len)
{
	*len = snprintf(text, 64, "Nobody's MPI 1.0");
	return 0;
}

#ifdef KIND_abi
int MPI_Abi_get_version(int *major, int *minor)
{
	*major = 1;
	*minor = 0;
	return 0;
}

int PMPI_Initialized(int *flag)
{
	*flag = 1;
	return 0;
}
#define USED 1
#else
#define USED 0
#endif

/* an MPI that is not known is asked nothing */
int PMPI_Comm_rank(handle comm, int *rank)
{
	insist(USED && comm == WORLD, "rank of what?");
	*rank = 0;
	return 0;
}

int PMPI_Comm_size(handle comm, int *size)
{
	insist(USED && comm == WORLD, "size of what?");
	*size = 3;
	return 0;
}

int PMPI_Type_size(handle type, int *size)
{
	insist(USED && (type == BYTE || type == PAIR), "size of what type?");
	*size = type == PAIR ? 2 : 1;
	return 0;
}

#endif

#if defined(KIND_none)
#pragma weak MPI_Finalize

/* our library has the name, but nothing behind it: a call is an error, not a crash */
int main(void)
{
	return MPI_Finalize != NULL && MPI_Finalize() == 0;
}

#elif !defined(LIBRARY) || defined(WITH_MAIN)
int main(int argc, char **argv)
{
	handle f;

	if (MPI_Init(&argc, &argv) != 0 || MPI_File_open(WORLD, "data", 34, INFO, &f) != 0)
		return 1;
	if (MPI_File_write_at(f, 0, "0123456789", 10, BYTE, NULL) != 0 ||
	    MPI_File_write_at(f, 10, "0123456789", 10, PAIR, NULL) != 0)
		return 1;
	return MPI_File_close(&f) != 0 || MPI_Finalize() != 0;
}
#endif
