/* SPDX-License-Identifier: BSD-3-Clause */
/* truth.c CASE FILE: every rank does what the case says with FILE and prints the counters that
 * the log must show of it, by the plainest reading of the rules:
 *
 *   TRUTH pid rank path counter value     other counters of calls and bytes are 0
 *   DXT pid rank path r|w offset length   in the order in which they were made; offset -1: not
 *                                         determined
 *
 * The output is gathered on rank 0 and goes to $TRUTH_FILE. Nothing of src/ is used here. */
#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef WITH_THREADS
#include <pthread.h>
#endif

enum { ROOM = 1 << 16, BLOCK = 1000 };

static char said[ROOM];
static size_t used;
static int rank, size;
static char path[4096]; /* as the log has it */
static char buf[1 << 16];

static void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(said + used, sizeof(said) - used, fmt, ap);
	va_end(ap);
	used += n > 0 ? (size_t)n : 0;
	if (used >= sizeof(said))
		MPI_Abort(MPI_COMM_WORLD, 99);
}

static void want(const char *counter, int64_t value)
{
	say("TRUTH %d %d %s MPIIO_%s %lld\n", (int)getpid(), rank, path, counter, (long long)value);
}

static void event(char kind, int64_t off, int64_t len)
{
	say("DXT %d %d %s %c %lld %lld\n", (int)getpid(), rank, path, kind, (long long)off,
	    (long long)len);
}

static void must(int rc, const char *what, int line)
{
	if (rc == MPI_SUCCESS)
		return;
	fprintf(stderr, "rank %d, line %d: %s failed\n", rank, line, what);
	MPI_Abort(MPI_COMM_WORLD, 98);
}
#define MUST(x) must((x), #x, __LINE__)

static MPI_File open_it(MPI_Comm comm, const char *name, int mode)
{
	MPI_File f;

	MUST(MPI_File_open(comm, name, mode, MPI_INFO_NULL, &f));
	return f;
}

#define RW (MPI_MODE_CREATE | MPI_MODE_RDWR)

/* ---- cases ----------------------------------------------------------------------------------- */

/* each rank for itself, by position and by offset, with types of several sizes */
static void independent(const char *name)
{
	MPI_File f = open_it(MPI_COMM_WORLD, name, RW);
	int64_t base = (int64_t)rank * 4 * BLOCK;

	MUST(MPI_File_write_at(f, base, buf, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
	MUST(MPI_File_seek(f, base + BLOCK, MPI_SEEK_SET));
	MUST(MPI_File_write(f, buf, BLOCK / 4, MPI_INT, MPI_STATUS_IGNORE));
	MUST(MPI_File_write(f, buf, BLOCK / 8, MPI_DOUBLE, MPI_STATUS_IGNORE));
	MUST(MPI_File_write(f, buf, 0, MPI_DOUBLE, MPI_STATUS_IGNORE));
	MUST(MPI_File_sync(f));
	MPI_Status st;
	MUST(MPI_File_read_at(f, base, buf, 2 * BLOCK, MPI_CHAR, &st));
	MUST(MPI_File_seek(f, base, MPI_SEEK_SET));
	MUST(MPI_File_read(f, buf, 7, MPI_SHORT, &st));
	MUST(MPI_File_close(&f));
	want(size > 1 ? "COLL_OPENS" : "INDEP_OPENS", 1);
	want("MODE", RW);
	want("INDEP_WRITES", 4);
	want("INDEP_READS", 2);
	want("BYTES_WRITTEN", 3 * BLOCK);
	want("BYTES_READ", 2 * BLOCK + 14);
	want("SYNCS", 1);
	want("RW_SWITCHES", 1);
	want("SIZE_WRITE_AGG_0_100", 1);
	want("SIZE_WRITE_AGG_100_1K", 3);
	want("SIZE_READ_AGG_0_100", 1);
	want("SIZE_READ_AGG_1K_10K", 1);
	event('w', base, BLOCK);
	event('w', base + BLOCK, BLOCK);
	event('w', base + 2 * BLOCK, BLOCK);
	event('w', base + 3 * BLOCK, 0);
	event('r', base, 2 * BLOCK);
	event('r', base, 14);
}

/* together, and with hints at the open */
static void collective(const char *name)
{
	MPI_Info info;
	MPI_File f;
	int64_t base = (int64_t)rank * BLOCK;

	MUST(MPI_Info_create(&info));
	MUST(MPI_Info_set(info, "cb_nodes", "1"));
	MUST(MPI_File_open(MPI_COMM_WORLD, name, RW, info, &f));
	MUST(MPI_Info_free(&info));
	MUST(MPI_File_write_at_all(f, base, buf, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
	MUST(MPI_File_seek(f, base, MPI_SEEK_SET));
	MUST(MPI_File_write_all(f, buf, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_at_all(f, base, buf, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
	MUST(MPI_File_seek(f, base, MPI_SEEK_SET));
	MUST(MPI_File_read_all(f, buf, BLOCK / 2, MPI_BYTE, MPI_STATUS_IGNORE));
	MUST(MPI_File_set_size(f, (MPI_Offset)size * BLOCK)); /* these two leave no trace */
	MUST(MPI_File_preallocate(f, (MPI_Offset)size * BLOCK));
	MUST(MPI_File_close(&f));
	want(size > 1 ? "COLL_OPENS" : "INDEP_OPENS", 1);
	want("MODE", RW);
	want("HINTS", 1);
	want("COLL_WRITES", 2);
	want("COLL_READS", 2);
	want("BYTES_WRITTEN", 2 * BLOCK);
	want("BYTES_READ", BLOCK + BLOCK / 2);
	want("RW_SWITCHES", 1);
	want("SIZE_WRITE_AGG_100_1K", 2);
	want("SIZE_READ_AGG_100_1K", 2);
	event('w', base, BLOCK);
	event('w', base, BLOCK);
	event('r', base, BLOCK);
	event('r', base, BLOCK / 2);
}

/* counted when they begin; the waiting counts nothing */
static void nonblocking(const char *name)
{
	MPI_File f = open_it(MPI_COMM_SELF, name, RW);
	MPI_Request rq;

#define WAIT(x)                                         \
	do {                                            \
		MUST(x);                                \
		MUST(MPI_Wait(&rq, MPI_STATUS_IGNORE)); \
	} while (0)
	WAIT(MPI_File_iwrite_at(f, 0, buf, BLOCK, MPI_BYTE, &rq));
	WAIT(MPI_File_iwrite(f, buf, BLOCK, MPI_BYTE, &rq));
	WAIT(MPI_File_iwrite_all(f, buf, BLOCK, MPI_BYTE, &rq));
	WAIT(MPI_File_iwrite_at_all(f, 3 * BLOCK, buf, BLOCK, MPI_BYTE, &rq));
	WAIT(MPI_File_iwrite_shared(f, buf, BLOCK, MPI_BYTE, &rq));
	WAIT(MPI_File_iread_at(f, 0, buf, 2 * BLOCK, MPI_BYTE, &rq));
	MUST(MPI_File_seek(f, 0, MPI_SEEK_SET));
	WAIT(MPI_File_iread(f, buf, BLOCK, MPI_BYTE, &rq));
	WAIT(MPI_File_iread_all(f, buf, BLOCK, MPI_BYTE, &rq));
	WAIT(MPI_File_iread_at_all(f, 5, buf, BLOCK, MPI_BYTE, &rq));
	WAIT(MPI_File_iread_shared(f, buf, BLOCK, MPI_BYTE, &rq));
	MUST(MPI_File_close(&f));
	want("INDEP_OPENS", 1);
	want("MODE", RW);
	want("NB_WRITES", 5);
	want("NB_READS", 5);
	want("BYTES_WRITTEN", 5 * BLOCK);
	want("BYTES_READ", 6 * BLOCK);
	want("RW_SWITCHES", 1);
	want("SIZE_WRITE_AGG_100_1K", 5);
	want("SIZE_READ_AGG_100_1K", 4);
	want("SIZE_READ_AGG_1K_10K", 1);
	event('w', 0, BLOCK);
	event('w', 0, BLOCK);
	event('w', BLOCK, BLOCK);
	event('w', 3 * BLOCK, BLOCK);
	event('w', 0, BLOCK);
	event('r', 0, 2 * BLOCK);
	event('r', 0, BLOCK);
	event('r', BLOCK, BLOCK);
	event('r', 5, BLOCK);
	event('r', BLOCK, BLOCK);
}

static void split(const char *name)
{
	MPI_File f = open_it(MPI_COMM_WORLD, name, RW);
	int64_t base = (int64_t)rank * BLOCK;

	MUST(MPI_File_write_at_all_begin(f, base, buf, BLOCK, MPI_BYTE));
	MUST(MPI_File_write_at_all_end(f, buf, MPI_STATUS_IGNORE));
	MUST(MPI_File_seek(f, base, MPI_SEEK_SET));
	MUST(MPI_File_write_all_begin(f, buf, BLOCK, MPI_BYTE));
	MUST(MPI_File_write_all_end(f, buf, MPI_STATUS_IGNORE));
	MUST(MPI_File_write_ordered_begin(f, buf, BLOCK, MPI_BYTE));
	MUST(MPI_File_write_ordered_end(f, buf, MPI_STATUS_IGNORE));
	MUST(MPI_File_read_at_all_begin(f, base, buf, BLOCK, MPI_BYTE));
	MUST(MPI_File_read_at_all_end(f, buf, MPI_STATUS_IGNORE));
	MUST(MPI_File_seek(f, base, MPI_SEEK_SET));
	MUST(MPI_File_read_all_begin(f, buf, BLOCK, MPI_BYTE));
	MUST(MPI_File_read_all_end(f, buf, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&f));
	want(size > 1 ? "COLL_OPENS" : "INDEP_OPENS", 1);
	want("MODE", RW);
	want("SPLIT_WRITES", 3);
	want("SPLIT_READS", 2);
	want("BYTES_WRITTEN", 3 * BLOCK);
	want("BYTES_READ", 2 * BLOCK);
	want("RW_SWITCHES", 1);
	want("SIZE_WRITE_AGG_100_1K", 3);
	want("SIZE_READ_AGG_100_1K", 2);
	event('w', base, BLOCK);
	event('w', base, BLOCK);
	event('w', size > 1 ? -1 : 0, BLOCK);
	event('r', base, BLOCK);
	event('r', base, BLOCK);
}

/* positions that all share; who comes first is not determined */
static void shared(const char *name)
{
	MPI_File f = open_it(MPI_COMM_WORLD, name, RW);

	MUST(MPI_File_write_shared(f, buf, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
	MPI_Barrier(MPI_COMM_WORLD);
	MUST(MPI_File_write_ordered(f, buf, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
	MUST(MPI_File_seek_shared(f, 0, MPI_SEEK_SET));
	MUST(MPI_File_read_shared(f, buf, BLOCK / 2, MPI_BYTE, MPI_STATUS_IGNORE));
	MPI_Barrier(MPI_COMM_WORLD);
	MUST(MPI_File_read_ordered(f, buf, BLOCK / 2, MPI_BYTE, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&f));
	want(size > 1 ? "COLL_OPENS" : "INDEP_OPENS", 1);
	want("MODE", RW);
	want("INDEP_WRITES", 1);
	want("COLL_WRITES", 1);
	want("INDEP_READS", 1);
	want("COLL_READS", 1);
	want("BYTES_WRITTEN", 2 * BLOCK);
	want("BYTES_READ", BLOCK);
	want("RW_SWITCHES", 1);
	want("SIZE_WRITE_AGG_100_1K", 2);
	want("SIZE_READ_AGG_100_1K", 2);
	event('w', size > 1 ? -2 : 0, BLOCK); /* -2: any */
	event('w', size > 1 ? -1 : BLOCK, BLOCK);
	event('r', size > 1 ? -2 : 0, BLOCK / 2);
	event('r', size > 1 ? -1 : BLOCK / 2, BLOCK / 2);
}

/* rank r sees every size-th piece of 100 ints, from piece r on, behind a header of 64 bytes */
static void views(const char *name)
{
	MPI_File f = open_it(MPI_COMM_WORLD, name, RW);
	MPI_Datatype piece, tile, two;
	MPI_Info info;
	enum { INTS = 100 };
	int64_t mine = 64 + (int64_t)rank * INTS * 4, round = (int64_t)size * INTS * 4;

	MUST(MPI_Type_contiguous(INTS, MPI_INT, &piece));
	MUST(MPI_Type_create_resized(piece, 0, (MPI_Aint)round, &tile));
	MUST(MPI_Type_commit(&tile));
	MUST(MPI_Type_vector(10, 5, 8, MPI_INT, &two)); /* 50 ints with gaps, in memory */
	MUST(MPI_Type_commit(&two));
	MUST(MPI_Info_create(&info));
	MUST(MPI_Info_set(info, "cb_buffer_size", "65536"));
	MUST(MPI_File_set_view(f, mine, MPI_INT, tile, "native", info));
	MUST(MPI_File_set_info(f, info));
	MUST(MPI_Info_free(&info));
	MUST(MPI_File_write_all(f, buf, 2 * INTS, MPI_INT, MPI_STATUS_IGNORE));
	MUST(MPI_File_write_at(f, 3 * INTS, buf, 1, two, MPI_STATUS_IGNORE));
	MUST(MPI_File_write(f, buf, 2, two, MPI_STATUS_IGNORE));
	MUST(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
	MUST(MPI_File_read_at(f, mine, buf, INTS, MPI_INT, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&f));
	MPI_Type_free(&piece), MPI_Type_free(&tile), MPI_Type_free(&two);
	want(size > 1 ? "COLL_OPENS" : "INDEP_OPENS", 1);
	want("MODE", RW);
	want("VIEWS", 2);
	want("HINTS", 1);
	want("COLL_WRITES", 1);
	want("INDEP_WRITES", 2);
	want("INDEP_READS", 1);
	want("BYTES_WRITTEN", 2 * INTS * 4 + 200 + 400);
	want("BYTES_READ", INTS * 4);
	want("RW_SWITCHES", 1);
	want("SIZE_WRITE_AGG_100_1K", 3);
	want("SIZE_READ_AGG_100_1K", 1);
	event('w', mine, 2 * INTS * 4);
	event('w', mine + 3 * round, 200);
	event('w', mine + 2 * round, 400);
	event('r', mine, INTS * 4);
}

/* only what succeeds counts */
static void failing(const char *name)
{
	MPI_File f, none;

	MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
	f = open_it(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
	if (MPI_File_open(MPI_COMM_SELF, "no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &none) ==
	    MPI_SUCCESS)
		MPI_Abort(MPI_COMM_WORLD, 97);
	if (MPI_File_read(f, buf, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS)
		MPI_Abort(MPI_COMM_WORLD, 96);
	MUST(MPI_File_write(f, buf, 1, MPI_BYTE, MPI_STATUS_IGNORE));
	MUST(MPI_File_close(&f));
	want("INDEP_OPENS", 1);
	want("MODE", MPI_MODE_CREATE | MPI_MODE_WRONLY);
	want("INDEP_WRITES", 1);
	want("BYTES_WRITTEN", 1);
	want("SIZE_WRITE_AGG_0_100", 1);
	event('w', 0, 1);
}

/* a name with the kind of its file system, the other names of calls, and calls with large counts */
static void names(const char *name)
{
	char with[5000];
	MPI_File f;
	int n = 2;

	snprintf(with, sizeof(with), "ufs:%s", name);
	MUST(PMPI_File_open(MPI_COMM_SELF, with, RW, MPI_INFO_NULL, &f));
	MUST(PMPI_File_write_at(f, 0, buf, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
	MUST(PMPI_File_read_at(f, 0, buf, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
	event('w', 0, BLOCK);
	event('r', 0, BLOCK);
#if MPI_VERSION >= 4
	MUST(MPI_File_write_at_c(f, 0, buf, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
	MUST(PMPI_File_read_at_c(f, 10, buf, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
	event('w', 0, BLOCK);
	event('r', 10, BLOCK);
	n = 4;
#endif
	MUST(PMPI_File_close(&f));
	want("INDEP_OPENS", 1);
	want("MODE", RW);
	want("INDEP_WRITES", n / 2);
	want("INDEP_READS", n / 2);
	want("BYTES_WRITTEN", n / 2 * BLOCK);
	want("BYTES_READ", n / 2 * BLOCK);
	want("RW_SWITCHES", n - 1);
	want("SIZE_WRITE_AGG_100_1K", n / 2);
	want("SIZE_READ_AGG_100_1K", n / 2);
}

/* many files open at once, opened and closed in another order, all of one name */
static void handles(const char *name)
{
	enum { FILES = 100 };
	MPI_File f[FILES];

	for (int i = 0; i < FILES; i++)
		f[i] = open_it(MPI_COMM_SELF, name, RW);
	for (int i = 0; i < FILES; i += 2)
		MUST(MPI_File_close(&f[i]));
	for (int i = 0; i < FILES; i += 2)
		f[i] = open_it(MPI_COMM_SELF, name, RW);
	for (int i = 0; i < FILES; i++)
		MUST(MPI_File_write_at(f[i], i, buf, 1, MPI_BYTE, MPI_STATUS_IGNORE));
	for (int i = FILES - 1; i >= 0; i--)
		MUST(MPI_File_close(&f[i]));
	want("INDEP_OPENS", FILES + FILES / 2);
	want("MODE", RW);
	want("INDEP_WRITES", FILES);
	want("BYTES_WRITTEN", FILES);
	want("SIZE_WRITE_AGG_0_100", FILES);
	for (int i = 0; i < FILES; i++)
		event('w', i, 1);
}

#ifdef WITH_THREADS
enum { THREADS = 4, ROUNDS = 200 };
static const char *thread_name;

static void *thread(void *arg)
{
	char mine[4200], one = 1;
	MPI_File f;

	(void)arg;
	snprintf(mine, sizeof(mine), "%s", thread_name);
	for (int i = 0; i < ROUNDS; i++) {
		f = open_it(MPI_COMM_SELF, mine, RW);
		MUST(MPI_File_write_at(f, i, &one, 1, MPI_BYTE, MPI_STATUS_IGNORE));
		MUST(MPI_File_close(&f));
	}
	return NULL;
}

/* handles that come and go in several threads */
static void threads(const char *name)
{
	pthread_t t[THREADS];

	MPI_File f = open_it(MPI_COMM_SELF, name, RW);

	/* what MPI sets up at the first one is not made for several threads at once */
	MUST(MPI_File_close(&f));
	thread_name = name;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, thread, NULL) != 0)
			MPI_Abort(MPI_COMM_WORLD, 95);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	want("INDEP_OPENS", THREADS * ROUNDS + 1);
	want("MODE", RW);
	want("INDEP_WRITES", THREADS * ROUNDS);
	want("BYTES_WRITTEN", THREADS * ROUNDS);
	want("SIZE_WRITE_AGG_0_100", THREADS * ROUNDS);
}
#endif

/* ---- all of it ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	void (*run)(const char *name);
	bool own; /* each rank has its own file */
} cases[] = {
	{ "independent", independent, false }, { "collective", collective, false },
	{ "nonblocking", nonblocking, true },  { "split", split, false },
	{ "shared", shared, false },	       { "views", views, false },
	{ "failing", failing, true },	       { "names", names, true },
	{ "handles", handles, true },
#ifdef WITH_THREADS
	{ "threads", threads, true },
#endif
};

static void tell(void)
{
	FILE *out = NULL;

	if (rank == 0) {
		out = fopen(getenv("TRUTH_FILE"), "w");
		if (out == NULL)
			MPI_Abort(MPI_COMM_WORLD, 94);
		fwrite(said, 1, used, out);
	}
	for (int r = 1; r < size; r++) {
		MPI_Status st;
		int n;

		if (rank == r)
			MPI_Send(said, (int)used, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
		if (rank != 0)
			continue;
		MPI_Recv(said, ROOM, MPI_CHAR, r, 7, MPI_COMM_WORLD, &st);
		MPI_Get_count(&st, MPI_CHAR, &n);
		fwrite(said, 1, (size_t)n, out);
	}
	if (out != NULL)
		fclose(out);
}

int main(int argc, char **argv)
{
	char name[4096];
	bool known = false;

#ifdef WITH_THREADS
	int level;
	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	if (level < MPI_THREAD_MULTIPLE) {
		MPI_Finalize();
		return 77;
	}
#else
	MPI_Init(&argc, &argv);
#endif
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc != 3)
		return 2;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char cwd[2048] = "";

		if (strcmp(cases[i].name, argv[1]) != 0)
			continue;
		known = true;
		if (cases[i].own)
			snprintf(name, sizeof(name), "%s.%d", argv[2], rank);
		else
			snprintf(name, sizeof(name), "%s", argv[2]);
		if (name[0] != '/' && getcwd(cwd, sizeof(cwd)) == NULL)
			return 2;
		snprintf(path, sizeof(path), "%s%s%.2000s", cwd, cwd[0] ? "/" : "", name);
		cases[i].run(name);
	}
	if (known)
		tell();
	MPI_Finalize();
	return known ? 0 : 2;
}
