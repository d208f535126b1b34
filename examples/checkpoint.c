/* SPDX-License-Identifier: BSD-3-Clause; mpicc -O2 checkpoint.c -o checkpoint
 *
 * checkpoint [--good] [--verify]: heat spreads on a grid that is split over the ranks of MPI,
 * and every few steps goes into a checkpoint. It starts from start.bin, and makes that if there
 * is none.
 *
 * It treats its files badly, as many programs do: rank 0 reads the input for all, one cell at a
 * time; every rank opens the file again for each checkpoint and writes its part in small pieces.
 * With --good the same bytes go into the same places, but all ranks read and write together,
 * each its whole part in one call, into a file opened once. --verify compares with what a single
 * process computes. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CELLS 1024 /* of the grid, in a row and in a column */
#define PIECE 3	   /* cells of one write, the bad way */
#define STEPS 50
#define EVERY 10 /* steps from one checkpoint to the next */
#define START "start.bin"
#define SAVED "checkpoints.bin"

/* What one rank has of the grid: some rows, in a frame of its neighbours' cells and of cold
 * ones. */
struct part {
	MPI_Comm comm;
	int rank, up, down;
	int row, rows; /* the first, and how many */
	double *now, *next;
	MPI_Datatype inside; /* memory without the frame */
	MPI_Datatype place;  /* this part among all cells of a file */
	MPI_File file;	     /* of checkpoints, the good way */
	long count[3];	     /* opens, reads, writes */
};

static double *cell(const struct part *p, int row, int col)
{
	return &p->now[(row + 1) * (CELLS + 2) + col + 1];
}

static void fail(const char *what)
{
	perror(what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void part_init(struct part *p, MPI_Comm comm)
{
	int ranks;

	p->comm = comm;
	MPI_Comm_size(comm, &ranks);
	MPI_Comm_rank(comm, &p->rank);
	p->up = p->rank > 0 ? p->rank - 1 : MPI_PROC_NULL;
	p->down = p->rank < ranks - 1 ? p->rank + 1 : MPI_PROC_NULL;
	p->row = CELLS * p->rank / ranks;
	p->rows = CELLS * (p->rank + 1) / ranks - p->row;
	p->now = calloc((size_t)(p->rows + 2) * (CELLS + 2), sizeof(double));
	p->next = calloc((size_t)(p->rows + 2) * (CELLS + 2), sizeof(double));
	if (p->now == NULL || p->next == NULL)
		fail("memory");
	MPI_Type_create_subarray(2, (int[]){ p->rows + 2, CELLS + 2 }, (int[]){ p->rows, CELLS },
				 (int[]){ 1, 1 }, MPI_ORDER_C, MPI_DOUBLE, &p->inside);
	MPI_Type_create_subarray(2, (int[]){ CELLS, CELLS }, (int[]){ p->rows, CELLS },
				 (int[]){ p->row, 0 }, MPI_ORDER_C, MPI_DOUBLE, &p->place);
	MPI_Type_commit(&p->inside);
	MPI_Type_commit(&p->place);
}

static void part_fini(struct part *p)
{
	MPI_Type_free(&p->inside);
	MPI_Type_free(&p->place);
	free(p->now);
	free(p->next);
}

static void step(struct part *p)
{
	const int wide = CELLS + 2;
	double *other = p->next;

	MPI_Sendrecv(cell(p, 0, 0), CELLS, MPI_DOUBLE, p->up, 0, cell(p, p->rows, 0), CELLS,
		     MPI_DOUBLE, p->down, 0, p->comm, MPI_STATUS_IGNORE);
	MPI_Sendrecv(cell(p, p->rows - 1, 0), CELLS, MPI_DOUBLE, p->down, 1, cell(p, -1, 0), CELLS,
		     MPI_DOUBLE, p->up, 1, p->comm, MPI_STATUS_IGNORE);
	for (int row = 0; row < p->rows; row++) {
		const double *c = cell(p, row, 0);
		double *to = &other[c - p->now];

		for (int i = 0; i < CELLS; i++)
			to[i] = c[i] + 0.2 * ((c[i - 1] + c[i + 1]) + (c[i - wide] + c[i + wide]) -
					      4 * c[i]);
	}
	p->next = p->now;
	p->now = other;
}

static void make_input(void)
{
	FILE *out = fopen(START, "wb");

	for (int i = 0; out && i < CELLS * CELLS; i++) /* warm and cold columns */
		fwrite(&(double){ i / 128 % 2 * 100 + i % 7 }, sizeof(double), 1, out);
	if (out == NULL || ferror(out) || fclose(out) != 0)
		fail(START);
}

static void read_badly(struct part *p)
{
	static double all[CELLS * CELLS];

	if (p->rank == 0) {
		FILE *in = fopen(START, "rb");

		for (int i = 0; i < CELLS * CELLS; i++, p->count[1]++)
			if (in == NULL || fread(&all[i], sizeof(*all), 1, in) != 1)
				fail(START);
		fclose(in);
		p->count[0]++;
	}
	MPI_Bcast(all, CELLS * CELLS, MPI_DOUBLE, 0, p->comm);
	for (int row = 0; row < p->rows; row++)
		memcpy(cell(p, row, 0), &all[(p->row + row) * CELLS], CELLS * sizeof(*all));
}

static MPI_File open_view(struct part *p, const char *path, int mode)
{
	MPI_File file;
	MPI_Info hints;

	MPI_Info_create(&hints);
	MPI_Info_set(hints, "romio_cb_read", "enable"); /* else ROMIO may read what it writes */
	MPI_Info_set(hints, "romio_cb_write", "enable");
	MPI_File_open(p->comm, path, mode, hints, &file);
	MPI_Info_free(&hints);
	MPI_File_set_view(file, 0, MPI_DOUBLE, p->place, "native", MPI_INFO_NULL);
	p->count[0]++;
	return file;
}

static void read_well(struct part *p)
{
	MPI_File file = open_view(p, START, MPI_MODE_RDONLY);

	MPI_File_read_at_all(file, 0, p->now, 1, p->inside, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
	p->count[1]++;
}

static void save_badly(struct part *p, MPI_Offset number)
{
	MPI_File file;

	MPI_File_open(MPI_COMM_SELF, SAVED, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
		      &file);
	p->count[0]++;
	for (int row = 0; row < p->rows; row++)
		for (int col = 0; col < CELLS; col += PIECE, p->count[2]++) {
			MPI_Offset at = (number * CELLS + p->row + row) * CELLS + col;
			int count = CELLS - col < PIECE ? CELLS - col : PIECE;

			MPI_File_write_at(file, at * (MPI_Offset)sizeof(double), cell(p, row, col),
					  count, MPI_DOUBLE, MPI_STATUS_IGNORE);
		}
	MPI_File_close(&file);
}

/* The view is the place of this part in every checkpoint, so an offset counts the cells saved
 * before. */
static void save_well(struct part *p, MPI_Offset number)
{
	if (number == 0)
		p->file = open_view(p, SAVED, MPI_MODE_CREATE | MPI_MODE_WRONLY);
	MPI_File_write_at_all(p->file, number * p->rows * CELLS, p->now, 1, p->inside,
			      MPI_STATUS_IGNORE);
	p->count[2]++;
	if (number == STEPS / EVERY - 1)
		MPI_File_close(&p->file);
}

/* Returns the seconds that input and output took; they begin when all ranks are ready. */
static double simulate(struct part *p, bool good)
{
	double spent = 0;

	for (int i = 0; i <= STEPS; i++) {
		if (i > 0)
			step(p);
		if (i % EVERY != 0)
			continue;
		MPI_Barrier(p->comm);
		spent -= MPI_Wtime();
		if (i == 0)
			(good ? read_well : read_badly)(p);
		else
			(good ? save_well : save_badly)(p, i / EVERY - 1);
		spent += MPI_Wtime();
	}
	return spent;
}

static bool verify(void)
{
	static double saved[CELLS];
	struct part all = { .rank = 0 };
	FILE *in = fopen(SAVED, "rb");
	long wrong = 0;

	if (in == NULL)
		fail(SAVED);
	part_init(&all, MPI_COMM_SELF);
	read_well(&all);
	for (int i = 1; i <= STEPS; i++) {
		step(&all);
		for (int row = 0; i % EVERY == 0 && row < CELLS; row++)
			wrong += fread(saved, sizeof(saved), 1, in) != 1 ||
				 memcmp(saved, cell(&all, row, 0), sizeof(saved)) != 0;
	}
	fclose(in);
	part_fini(&all);
	printf("verified: %ld rows of the checkpoints are wrong\n", wrong);
	return wrong == 0;
}

int main(int argc, char **argv)
{
	bool good = argc > 1 && strcmp(argv[1], "--good") == 0, right = true;
	struct part p = { .rank = 0 };
	double spent, most;
	long all[3];

	MPI_Init(&argc, &argv);
	MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
	part_init(&p, MPI_COMM_WORLD);
	if (p.rank == 0 && access(START, F_OK) != 0)
		make_input();
	if (p.rank == 0)
		remove(SAVED);
	spent = simulate(&p, good);
	MPI_Reduce(p.count, all, 3, MPI_LONG, MPI_SUM, 0, p.comm);
	MPI_Reduce(&spent, &most, 1, MPI_DOUBLE, MPI_MAX, 0, p.comm);
	if (p.rank == 0)
		printf("the %s way: %ld opens, %ld reads, %ld writes, %.2f s in I/O\n",
		       good ? "good" : "bad", all[0], all[1], all[2], most);
	if (p.rank == 0 && strcmp(argv[argc - 1], "--verify") == 0)
		right = verify();
	part_fini(&p);
	MPI_Finalize();
	/* not MPI_Abort: launchers may throw away what was said just before */
	return right ? 0 : 1;
}
