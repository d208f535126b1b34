/* SPDX-License-Identifier: BSD-3-Clause */
/* mix.c ENDING SEED FOLDER: every rank makes random calls of all kinds on files that all ranks,
 * the half of them with the same parity, or only itself have open, then ends as ENDING says. It
 * prints the counters that the log must show, in the lines of truth.c, to $TRUTH_FILE.rank.
 * Nothing of src/ is used here.
 *
 * finalize: as usual; exit: all ranks without MPI_Finalize; one: the last rank alone leaves,
 * with status 5; abort: MPI_Abort on the last rank, with 7; kill: all ranks die of a signal. */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGE = 1 << 23, REACH = 100000, MOST = 3000, NAMES = 64, NAME_ROOM = 4096 };
enum form { AT, OWN, SHARED, I_AT, I_OWN, I_SHARED, TOGETHER };
enum all { AT_ALL = TOGETHER, ALL, ORDERED, I_AT_ALL, I_ALL, B_AT_ALL, B_ALL, B_ORDERED, FORMS };

struct file {
	MPI_File f;
	MPI_Comm comm;
	uint64_t common, mine; /* random numbers: the same on all ranks of comm, and not */
	char path[NAME_ROOM];
	const char *name[NAMES]; /* what was counted */
	int64_t value[NAMES];
	int names;
	char last; /* r or w */
};

static int rank, size;
static char buf[8 * MOST];
static FILE *out;

static uint64_t draw(uint64_t *state, uint64_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state >> 33) % below;
}

static void must(bool ok, const char *what, int line)
{
	if (ok)
		return;
	fprintf(stderr, "rank %d, line %d: %s failed\n", rank, line, what);
	MPI_Abort(MPI_COMM_WORLD, 98);
}
#define MUST(x) must((x) == MPI_SUCCESS, #x, __LINE__)

static void add(struct file *f, const char *name, int64_t value)
{
	int i = 0;

	while (i < f->names && strcmp(f->name[i], name) != 0)
		i++;
	must(i < NAMES, "room", __LINE__);
	f->name[i] = name;
	f->value[i] += value;
	f->names += i == f->names;
}

static void note(struct file *f, enum form form, bool write, int64_t bytes)
{
	static const char *const how[FORMS][2] = {
		[AT] = { "INDEP_READS", "INDEP_WRITES" },
		[OWN] = { "INDEP_READS", "INDEP_WRITES" },
		[SHARED] = { "INDEP_READS", "INDEP_WRITES" },
		[I_AT] = { "NB_READS", "NB_WRITES" },
		[I_OWN] = { "NB_READS", "NB_WRITES" },
		[I_SHARED] = { "NB_READS", "NB_WRITES" },
		[AT_ALL] = { "COLL_READS", "COLL_WRITES" },
		[ALL] = { "COLL_READS", "COLL_WRITES" },
		[ORDERED] = { "COLL_READS", "COLL_WRITES" },
		[I_AT_ALL] = { "NB_READS", "NB_WRITES" },
		[I_ALL] = { "NB_READS", "NB_WRITES" },
		[B_AT_ALL] = { "SPLIT_READS", "SPLIT_WRITES" },
		[B_ALL] = { "SPLIT_READS", "SPLIT_WRITES" },
		[B_ORDERED] = { "SPLIT_READS", "SPLIT_WRITES" },
	};
	static const char *const ranges[2][3] = {
		{ "SIZE_READ_AGG_0_100", "SIZE_READ_AGG_100_1K", "SIZE_READ_AGG_1K_10K" },
		{ "SIZE_WRITE_AGG_0_100", "SIZE_WRITE_AGG_100_1K", "SIZE_WRITE_AGG_1K_10K" },
	};
	char kind = write ? 'w' : 'r';

	add(f, how[form][write], 1);
	add(f, write ? "BYTES_WRITTEN" : "BYTES_READ", bytes);
	add(f, ranges[write][bytes <= 100 ? 0 : bytes <= 1024 ? 1 : 2], 1);
	if (f->last != 0 && f->last != kind)
		add(f, "RW_SWITCHES", 1);
	f->last = kind;
	fprintf(out, "DXT %d %d %s %c -2 %lld\n", (int)getpid(), rank, f->path, kind,
		(long long)bytes);
}

/* one call of each name, for reading and for writing */
#define DO(rd, wr, ...) MUST(write ? MPI_File_##wr(__VA_ARGS__) : MPI_File_##rd(__VA_ARGS__))
#define WAIT MUST(MPI_Wait(&rq, MPI_STATUS_IGNORE))

static void alone(MPI_File f, enum form form, bool write, MPI_Offset at, int n, MPI_Datatype t)
{
	MPI_Request rq;
	MPI_Status st;

	switch (form) {
	case AT:
		DO(read_at, write_at, f, at, buf, n, t, &st);
		break;
	case OWN:
		DO(read, write, f, buf, n, t, MPI_STATUS_IGNORE);
		break;
	case SHARED:
		DO(read_shared, write_shared, f, buf, n, t, &st);
		break;
	case I_AT:
		DO(iread_at, iwrite_at, f, at, buf, n, t, &rq);
		WAIT;
		break;
	case I_OWN:
		DO(iread, iwrite, f, buf, n, t, &rq);
		WAIT;
		break;
	default:
		DO(iread_shared, iwrite_shared, f, buf, n, t, &rq);
		WAIT;
	}
}

static void together(MPI_File f, int form, bool write, MPI_Offset at, int n, MPI_Datatype t)
{
	MPI_Request rq;
	MPI_Status st;

	switch (form) {
	case AT_ALL:
		DO(read_at_all, write_at_all, f, at, buf, n, t, &st);
		break;
	case ALL:
		DO(read_all, write_all, f, buf, n, t, &st);
		break;
	case ORDERED:
		DO(read_ordered, write_ordered, f, buf, n, t, &st);
		break;
	case I_AT_ALL:
		DO(iread_at_all, iwrite_at_all, f, at, buf, n, t, &rq);
		WAIT;
		break;
	case I_ALL:
		DO(iread_all, iwrite_all, f, buf, n, t, &rq);
		WAIT;
		break;
	case B_AT_ALL:
		DO(read_at_all_begin, write_at_all_begin, f, at, buf, n, t);
		DO(read_at_all_end, write_at_all_end, f, buf, &st);
		break;
	case B_ALL:
		DO(read_all_begin, write_all_begin, f, buf, n, t);
		DO(read_all_end, write_all_end, f, buf, &st);
		break;
	default:
		DO(read_ordered_begin, write_ordered_begin, f, buf, n, t);
		DO(read_ordered_end, write_ordered_end, f, buf, &st);
	}
}

/* now each rank sees every other block of 64 bytes, now the file as it is */
static void look(struct file *f)
{
	MPI_Datatype blocks = MPI_BYTE;
	MPI_Info info = MPI_INFO_NULL;

	if (draw(&f->common, 2)) {
		MUST(MPI_Type_vector(8, 64, 128, MPI_BYTE, &blocks));
		MUST(MPI_Type_commit(&blocks));
	}
	if (draw(&f->common, 2)) {
		MUST(MPI_Info_create(&info));
		MUST(MPI_Info_set(info, "cb_buffer_size", "65536"));
		add(f, "HINTS", 1);
	}
	MUST(MPI_File_set_view(f->f, 0, MPI_BYTE, blocks, "native", info));
	add(f, "VIEWS", 1);
	if (info != MPI_INFO_NULL)
		MPI_Info_free(&info);
	if (blocks != MPI_BYTE)
		MPI_Type_free(&blocks);
}

/* what the ranks do together is drawn from `common`, the rest from `mine` */
static void step(struct file *f, const MPI_Datatype type[3], const int bytes[3])
{
	uint64_t what = draw(&f->common, 12);
	bool all = draw(&f->common, 2), write = draw(&f->common, 2);
	int common = (int)draw(&f->common, FORMS - TOGETHER), own = (int)draw(&f->mine, TOGETHER);
	int kind = (int)draw(&f->mine, 3);
	int n = draw(&f->mine, 8) == 0 ? 0 : (int)draw(&f->mine, (uint64_t)(MOST / bytes[kind]));
	MPI_Offset at = (MPI_Offset)rank * REACH + (MPI_Offset)draw(&f->mine, REACH - MOST);

	if (what == 0) {
		look(f);
	} else if (what == 1) {
		MUST(MPI_File_sync(f->f));
		add(f, "SYNCS", 1);
	} else if (what == 2) {
		MUST(MPI_File_seek(f->f, at, MPI_SEEK_SET));
	} else if (all) {
		together(f->f, TOGETHER + common, write, at, n, type[kind]);
		note(f, (enum form)(TOGETHER + common), write, (int64_t)n * bytes[kind]);
	} else {
		alone(f->f, (enum form)own, write, at, n, type[kind]);
		note(f, (enum form)own, write, (int64_t)n * bytes[kind]);
	}
}

static void open_file(struct file *f, MPI_Comm comm, uint64_t seed, const char *folder,
		      const char *name)
{
	int mode = MPI_MODE_CREATE | MPI_MODE_RDWR, members;

	*f = (struct file){ .comm = comm, .common = seed, .mine = seed * 1000 + (uint64_t)rank };
	snprintf(f->path, sizeof(f->path), "%s/%s", folder, name);
	MUST(MPI_File_open(comm, f->path, mode, MPI_INFO_NULL, &f->f));
	MUST(MPI_File_seek(f->f, (MPI_Offset)rank * REACH, MPI_SEEK_SET));
	MUST(MPI_File_set_size(f->f, LARGE)); /* OMPIO waits for ever for what is behind the end */
	MPI_Comm_size(comm, &members);
	add(f, members > 1 ? "COLL_OPENS" : "INDEP_OPENS", 1);
	add(f, "MODE", mode);
}

static void tell(const char *path, const char *module, const char *name, int64_t value)
{
	fprintf(out, "TRUTH %d %d %s %s_%s %lld\n", (int)getpid(), rank, path, module, name,
		(long long)value);
}

/* below MPI: one file of all ranks, one of each rank, and a stream that only rank 0 writes */
static void plain(const char *folder)
{
	char path[NAME_ROOM];

	for (int own = 0; own < 2; own++) {
		snprintf(path, sizeof(path), own ? "%s/plain.%d" : "%s/plain", folder, rank);
		int fd = open(path, O_CREAT | O_RDWR, 0600), n = 3 + rank;
		for (int i = 0; i < n; i++)
			must(pwrite(fd, buf, 200, (off_t)rank * 1000 + i) == 200, "pwrite",
			     __LINE__);
		must(pread(fd, buf, 50, (off_t)rank * 1000) == 50, "pread", __LINE__);
		close(fd);
		tell(path, "POSIX", "OPENS", 1);
		tell(path, "POSIX", "WRITES", n);
		tell(path, "POSIX", "READS", 1);
		tell(path, "POSIX", "BYTES_WRITTEN", n * 200);
		tell(path, "POSIX", "BYTES_READ", 50);
		tell(path, "POSIX", "RW_SWITCHES", 1);
		tell(path, "POSIX", "SIZE_WRITE_100_1K", n);
	}
	if (rank != 0)
		return;
	snprintf(path, sizeof(path), "%s/stream", folder);
	FILE *f = fopen(path, "w");
	must(f != NULL && fwrite(buf, 1, 777, f) == 777, "fwrite", __LINE__);
	fclose(f);
	tell(path, "STDIO", "OPENS", 1);
	tell(path, "STDIO", "WRITES", 1);
	tell(path, "STDIO", "BYTES_WRITTEN", 777);
}

static void work(uint64_t seed, const char *folder)
{
	MPI_Datatype type[3] = { MPI_BYTE, MPI_DOUBLE, MPI_DATATYPE_NULL };
	const int bytes[3] = { 1, 8, 24 };
	struct file *file = calloc(3, sizeof(*file));
	MPI_Comm half;
	char name[64];

	must(file != NULL, "memory", __LINE__);
	MUST(MPI_Type_vector(6, 1, 2, MPI_INT, &type[2]));
	MUST(MPI_Type_commit(&type[2]));
	MUST(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
	open_file(&file[0], MPI_COMM_WORLD, seed, folder, "world");
	snprintf(name, sizeof(name), "half.%d", rank % 2);
	open_file(&file[1], half, seed + 1, folder, name);
	snprintf(name, sizeof(name), "self.%d", rank);
	open_file(&file[2], MPI_COMM_SELF, seed + 2 + (uint64_t)rank, folder, name);
	for (int i = 0; i < 16 + 40 / size; i++)
		for (int k = 0; k < 3; k++)
			step(&file[k], type, bytes);
	for (int k = 0; k < 3; k++) {
		MUST(MPI_File_close(&file[k].f));
		for (int i = 0; i < file[k].names; i++)
			tell(file[k].path, "MPIIO", file[k].name[i], file[k].value[i]);
	}
	MPI_Type_free(&type[2]);
	MPI_Comm_free(&half);
	free(file);
}

int main(int argc, char **argv)
{
	char path[NAME_ROOM];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (argc != 4 || getenv("TRUTH_FILE") == NULL)
		return 2;
	snprintf(path, sizeof(path), "%s.%d", getenv("TRUTH_FILE"), rank);
	out = fopen(path, "w");
	must(out != NULL, path, __LINE__);
	plain(argv[3]);
	work(strtoull(argv[2], NULL, 10), argv[3]);
	fclose(out);
	MPI_Barrier(MPI_COMM_WORLD);
	if (strcmp(argv[1], "exit") == 0)
		exit(0);
	if (strcmp(argv[1], "kill") == 0)
		kill(getpid(), SIGKILL);
	if (rank == size - 1 && strcmp(argv[1], "one") == 0)
		_exit(5);
	if (rank == size - 1 && strcmp(argv[1], "abort") == 0)
		MPI_Abort(MPI_COMM_WORLD, 7);
	if (strcmp(argv[1], "finalize") != 0) /* wait for the one that does not come */
		MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
