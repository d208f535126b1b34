/* SPDX-License-Identifier: BSD-3-Clause */
/* worker.h: the program that does the work under a launcher, built once for each MPI. */
#ifndef RAMA_WORKER_WORKER_H
#define RAMA_WORKER_WORKER_H

#include <mpi.h>

#include "emulate/engine/engine.h"

extern const struct rama_emu_engine rama_worker_engine_mpiio, rama_worker_engine_hdf5,
	rama_worker_engine_pnetcdf;

/* communicator of the ranks that share a file; this rank's own when it has it alone */
static inline MPI_Comm rama_worker_comm(const struct rama_emu_handle *h)
{
	return h->opt.group != NULL ? *(MPI_Comm *)h->opt.group : MPI_COMM_SELF;
}

/* hints "key=value;key=value" as an info object, MPI_INFO_NULL if there are none; to be freed by
 * rama_worker_no_info() */
int rama_worker_info(const char *hints, MPI_Info *info, struct rama_err *e);
void rama_worker_no_info(MPI_Info *info);

/* What has the name of the file? Rank 0 of the communicator looks, all get its answer. Where there
 * was nothing a file is made only if there is nothing still. An empty one has no format yet. */
enum rama_worker_there { RAMA_WORKER_NOTHING, RAMA_WORKER_EMPTY, RAMA_WORKER_FILE };
enum rama_worker_there rama_worker_look(const struct rama_emu_handle *h);

#endif
