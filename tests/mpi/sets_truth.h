/* SPDX-License-Identifier: BSD-3-Clause */
/* sets_truth.h: for programs that know what parallel HDF5 does for them, and say so in
 * $TRUTH_FILE.rank:
 *
 *   TRUTH pid rank name counter value     of this rank
 *   LEAST pid rank name counter value     at least this much, over all ranks together
 *
 * Nothing of src/ is used here. */
#ifndef SETS_TRUTH_H
#define SETS_TRUTH_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int rank, size;
static char path[1200]; /* of the file that is spoken of */
static FILE *out;

static inline void fail(const char *what)
{
	fprintf(stderr, "rank %d: %s\n", rank, what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* of a dataset, or without one, of the file */
static inline void say(const char *set, const char *counter, int64_t value)
{
	fprintf(out, "TRUTH %d %d %s%s%s H5%c_%s %lld\n", (int)getpid(), rank, path,
		set ? ":/" : "", set ? set : "", set ? 'D' : 'F', counter, (long long)value);
}

static inline void say_least(const char *counter, int64_t value)
{
	fprintf(out, "LEAST %d %d %s %s %lld\n", (int)getpid(), rank, path, counter,
		(long long)value);
}

struct set {
	const char *name;
	int64_t opens, ndims, points, bytes; /* bytes: of one value */
	int64_t chunk[2];		     /* the last dimension first; 0: none */
	bool collective;
	int64_t calls[2], moved[2]; /* reads, writes */
	int64_t small[2], large[2]; /* calls of up to 100 bytes, and up to 1 KiB or 10 KiB */
	int64_t larger[2], switches;
	int64_t regular, irregular, points_selected; /* accesses by what they select */
	char last;
};

/* one call for n values */
static inline void note(struct set *s, char kind, int64_t n)
{
	bool write = kind == 'w';
	int64_t bytes = n * s->bytes;

	s->calls[write]++;
	s->moved[write] += bytes;
	*(bytes <= 100	  ? &s->small[write]
	  : bytes <= 1024 ? &s->large[write]
			  : &s->larger[write]) += 1;
	s->switches += s->last != 0 && s->last != kind;
	s->last = kind;
}

static inline void say_set(const struct set *s)
{
	say(s->name, "OPENS", s->opens);
	say(s->name, "READS", s->calls[0]);
	say(s->name, "WRITES", s->calls[1]);
	say(s->name, "BYTES_READ", s->moved[0]);
	say(s->name, "BYTES_WRITTEN", s->moved[1]);
	say(s->name, "SIZE_READ_AGG_0_100", s->small[0]);
	say(s->name, "SIZE_READ_AGG_100_1K", s->large[0]);
	say(s->name, "SIZE_READ_AGG_1K_10K", s->larger[0]);
	say(s->name, "SIZE_WRITE_AGG_0_100", s->small[1]);
	say(s->name, "SIZE_WRITE_AGG_100_1K", s->large[1]);
	say(s->name, "SIZE_WRITE_AGG_1K_10K", s->larger[1]);
	say(s->name, "RW_SWITCHES", s->switches);
	say(s->name, "REGULAR_HYPERSLAB_SELECTS", s->regular);
	say(s->name, "IRREGULAR_HYPERSLAB_SELECTS", s->irregular);
	say(s->name, "POINT_SELECTS", s->points_selected);
	say(s->name, "DATASPACE_NDIMS", s->ndims);
	say(s->name, "DATASPACE_NPOINTS", s->points);
	say(s->name, "DATATYPE_SIZE", s->bytes);
	say(s->name, "CHUNK_SIZE_D1", s->chunk[0]);
	say(s->name, "CHUNK_SIZE_D2", s->chunk[1]);
	say(s->name, "USE_MPIIO_COLLECTIVE", s->collective);
}

static inline void begin_truth(int *argc, char ***argv)
{
	char name[1200];

	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (*argc != 3 || getenv("TRUTH_FILE") == NULL)
		fail("usage: CASE FOLDER");
	snprintf(name, sizeof(name), "%s.%d", getenv("TRUTH_FILE"), rank);
	out = fopen(name, "w");
	if (out == NULL)
		fail(name);
}

static inline void end_truth(void)
{
	fclose(out);
	MPI_Finalize();
}

#endif
