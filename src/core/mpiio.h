/* SPDX-License-Identifier: BSD-3-Clause */
/* mpiio.h: what MPI_File_* calls mean for the counters of a file. See core/posix.h. */
#ifndef RAMA_CORE_MPIIO_H
#define RAMA_CORE_MPIIO_H

#include "core/kind.h"
#include "core/transfer.h"
#include "core/values.h"

/* rama_core_op.how of OPEN (the first two), READ and WRITE */
enum rama_core_mpi_how {
	RAMA_CORE_MPI_INDEP, /* a rank on its own */
	RAMA_CORE_MPI_COLL,  /* all ranks of a communicator of more than one */
	RAMA_CORE_MPI_SPLIT, /* ..._begin; the _end is not an operation */
	RAMA_CORE_MPI_NB,    /* i... calls, collective or not; nor is the wait */
	RAMA_CORE_MPI_HOWS
};

/* State of one file; part of the segment. */
struct rama_core_mpiio_file {
	uint32_t seq, name;
	uint8_t stuck;
	uint8_t pad[7];
	struct rama_core_progress progress;
	union rama_core_word w[RAMA_TAB_MPIIO__WORDS];
	struct rama_core_values access;
};

/* Bytes that an access asks for, whatever it gets: 0 if there is nothing or the type is not known.
 * What no memory can hold is cut. */
static inline int64_t rama_core_mpiio_size(int64_t type_size, int64_t count)
{
	int64_t n;

	if (count <= 0 || type_size <= 0)
		return 0;
	return __builtin_mul_overflow(type_size, count, &n) ? INT64_MAX : n;
}

void rama_core_mpiio_init(struct rama_core_mpiio_file *f, uint64_t id);
/* OPEN (mode: amode), CLOSE, READ, WRITE, SYNC, VIEW; and HINT for each of the calls that was given
 * an info object, with the times of that call, after it. */
void rama_core_mpiio_apply(struct rama_core_mpiio_file *f, const struct rama_core_op *op);
void rama_core_mpiio_finish(const struct rama_core_mpiio_file *f, double tick,
			    union rama_core_word w[RAMA_TAB_MPIIO__WORDS]);

#endif
