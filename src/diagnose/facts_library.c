/* SPDX-License-Identifier: BSD-3-Clause */
/* facts_library.c: what HDF5 and PnetCDF do themselves, above the calls that they make: seconds
 * inside of them, their own metadata, chunks that are handled as a whole. */
#include <math.h>

#include "diagnose/facts.h"
#include "table/index.h"

static double bytes_of(const union rama_core_word *w, unsigned read, unsigned written)
{
	return rama_diag_count_of(w, read) + rama_diag_count_of(w, written);
}

/* Time in calls of a library less that of the calls that it makes: what it spends itself. All that
 * happens below counts, also what it does when a file is closed: so it is that much at least. */
static void library_parts(struct rama_diag_file_parts *t)
{
	const union rama_core_word *data = t->file->rec[RAMA_JOB_LAYER_H5D],
				   *var = t->file->rec[RAMA_JOB_LAYER_PNETCDF_VAR];
	struct rama_job_io above =
		data != NULL ? rama_job_io_of(RAMA_JOB_LAYER_H5D, data) : (struct rama_job_io){ 0 };

	if (var != NULL) {
		struct rama_job_io io = rama_job_io_of(RAMA_JOB_LAYER_PNETCDF_VAR, var);

		rama_job_io_add(&above, &io);
		above.write_time += rama_diag_time_of(t->file->rec[RAMA_JOB_LAYER_PNETCDF_FILE],
						      RAMA_TAB_PNETCDF_FILE_F_WAIT_TIME);
	}
	t->library_calls = (double)above.reads + (double)above.writes;
	t->library_bytes = (double)above.bytes_read + (double)above.bytes_written;
	t->library_below = t->file->io.read_time + t->file->io.write_time;
	/* without a record of the layer below nobody knows what was spent there */
	if (t->mpi || t->file->rec[RAMA_JOB_LAYER_POSIX] != NULL)
		t->library_time = fmax(0, above.read_time + above.write_time - t->library_below);
}

/* HDF5 that reads far more than it is asked for handles all of it: unpacks, converts, copies. What
 * is read may be packed, so that the share of what nobody asked for is that at least. */
static double unpack_time(const struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	struct rama_job_io above =
		rama_job_io_of(RAMA_JOB_LAYER_H5D, t->file->rec[RAMA_JOB_LAYER_H5D]);
	double asked = (double)above.bytes_read, read = (double)t->file->io.bytes_read;

	if (read < 2 * asked || read - asked < f->limits.amplification_bytes)
		return 0;
	return fmax(0, above.read_time - t->file->io.read_time) * (1 - asked / read);
}

static void hdf5_parts(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	const union rama_core_word *data = t->file->rec[RAMA_JOB_LAYER_H5D];
	const struct rama_diag_chunk_facts *c;

	if (data != NULL) {
		double moved =
			t->mpi ? bytes_of(t->file->rec[RAMA_JOB_LAYER_MPIIO],
					  RAMA_TAB_MPIIO_BYTES_READ, RAMA_TAB_MPIIO_BYTES_WRITTEN)
			       : bytes_of(t->file->rec[RAMA_JOB_LAYER_POSIX],
					  RAMA_TAB_POSIX_BYTES_READ, RAMA_TAB_POSIX_BYTES_WRITTEN);

		t->h5_own = fmax(0, moved - bytes_of(data, RAMA_TAB_H5D_BYTES_READ,
						     RAMA_TAB_H5D_BYTES_WRITTEN));
	}
	t->unpack_time = data != NULL ? unpack_time(t, f) : 0;
	if (f->chunks == NULL)
		return;
	c = &f->chunks[t->file - f->view->files];
	t->chunk_accesses = c->accesses;
	t->chunk_partial = c->partial;
	t->chunk_bytes = c->bytes;
	t->chunk_access = c->access;
}

#define START_TIME 0.01	  /* seconds in the system of a process that does nothing */
#define LEAST_CALL 0.3e-6 /* and of the quickest call of the system */

/* Do the calls of streams go to the system one by one? 1: yes, they are flushed, or the process was
 * in the system for as many calls; -1: no; 0: who can tell? Ranks of MPI that wait are in the
 * system as well. */
static double stdio_direct(const struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	const union rama_core_word *w = t->file->rec[RAMA_JOB_LAYER_STDIO];
	const struct rama_job_view *v = f->view;
	double calls = rama_diag_count_of(w, RAMA_TAB_STDIO_READS) +
		       rama_diag_count_of(w, RAMA_TAB_STDIO_WRITES);
	const struct rama_job_view_rank *r;

	if (2 * rama_diag_count_of(w, RAMA_TAB_STDIO_FLUSHES) >= calls)
		return 1;
	if (v->ranks == NULL || t->file->ranks > 1 || t->file->rank < 0 ||
	    t->file->rank >= v->nprocs || (v->nprocs > 1 && !v->processes))
		return 0;
	r = &v->ranks[t->file->rank];
	if (r->cpu_time <= 0 || v->layer[RAMA_JOB_LAYER_MPIIO].used)
		return 0;
	if (r->cpu_time - r->user_time >= START_TIME + LEAST_CALL * calls)
		return 1;
	return LEAST_CALL * calls >= START_TIME ? -1 : 0; /* of few calls it does not show */
}

void rama_diag_library_file(struct rama_diag_file_parts *t, const struct rama_diag_facts *f)
{
	if (t->file->rec[RAMA_JOB_LAYER_STDIO] != NULL)
		t->stdio_direct = stdio_direct(t, f);
	hdf5_parts(t, f);
	library_parts(t);
}
