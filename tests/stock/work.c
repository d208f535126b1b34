/* SPDX-License-Identifier: BSD-3-Clause */
/* work.c: work FILES THREADS [child|kill]: a little of everything that a log can hold. Each
 * process writes FILES files of its own in turns of THREADS threads, which all live until the
 * end, and one stream; says how many bytes went where; and ends, after a child that does the
 * same, or by a signal. WITH_MPI, WITH_HDF5, WITH_PNETCDF: uses those too. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif
#ifdef WITH_HDF5
#include <hdf5.h>
#endif
#ifdef WITH_PNETCDF
#include <pnetcdf.h>
#endif

#define BYTES 100
#define READ 60
#define THREADS_MOST 16

static int files, threads, who;
static pthread_barrier_t all;

static void *work(void *arg)
{
	int me = (int)(long)arg;
	char name[64], buf[BYTES] = "x";

	for (int i = me; i < files; i += threads) {
		int fd;

		snprintf(name, sizeof(name), "own.%d.%d", who, i);
		fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (fd < 0 || pwrite(fd, buf, BYTES, 0) != BYTES || pread(fd, buf, READ, 0) != READ)
			abort();
		close(fd);
	}
	pthread_barrier_wait(&all); /* so that no two of them have the same number */
	return NULL;
}

static void stream(void)
{
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "stream.%d", who);
	f = fopen(name, "w");
	if (f == NULL || fputs("hello, stream\n", f) < 0)
		abort();
	fclose(f);
}

static void libraries(void)
{
#ifdef WITH_HDF5
	hsize_t n = 10;
	int data[10] = { 0 };
	char name[64];
	hid_t file, space, set;

	snprintf(name, sizeof(name), "set.%d.h5", who);
	file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	space = H5Screate_simple(1, &n, NULL);
	set = H5Dcreate2(file, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	if (H5Dwrite(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
		abort();
	H5Dclose(set);
	H5Sclose(space);
	H5Fclose(file);
#endif
#ifdef WITH_MPI
	MPI_File f;

	if (MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
			  &f) != MPI_SUCCESS)
		abort();
	MPI_File_write_at(f, who * BYTES, "y", 1, MPI_CHAR, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
#endif
#ifdef WITH_PNETCDF
	int nc, dim, var, values[10] = { 0 };
	MPI_Offset start = 0, count = 10;

	if (ncmpi_create(MPI_COMM_WORLD, "all.nc", NC_CLOBBER, MPI_INFO_NULL, &nc) != NC_NOERR)
		abort();
	ncmpi_def_dim(nc, "x", 10, &dim);
	ncmpi_def_var(nc, "v", NC_INT, 1, &dim, &var);
	ncmpi_enddef(nc);
	ncmpi_put_vara_int_all(nc, var, &start, &count, values);
	ncmpi_close(nc);
#endif
}

static void everything(void)
{
	pthread_t id[THREADS_MOST];

	pthread_barrier_init(&all, NULL, (unsigned)threads);
	for (int i = 1; i < threads; i++)
		if (pthread_create(&id[i], NULL, work, (void *)(long)i) != 0)
			abort();
	work(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(id[i], NULL);
	pthread_barrier_destroy(&all);
	stream();
	libraries();
	printf("wrote %d read %d threads %d\n", files * BYTES, files * READ, threads);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const char *end = argc > 3 ? argv[3] : "";

#ifdef WITH_MPI
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &who);
#endif
	files = atoi(argv[1]);
	threads = atoi(argv[2]);
	if (threads < 1 || threads > THREADS_MOST)
		return 2;
	if (strcmp(end, "child") == 0) {
		pid_t child = fork();

		if (child == 0) {
			who = 1000;
			everything();
			exit(0);
		}
		waitpid(child, NULL, 0);
	}
	everything();
	if (strcmp(end, "kill") == 0)
		raise(SIGKILL);
#ifdef WITH_MPI
	MPI_Finalize();
#endif
	return 0;
}
