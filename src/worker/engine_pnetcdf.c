/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_pnetcdf.c: PnetCDF, format CDF-5. A file holds one variable, "data", of as many bytes
 * as the unit has; none if it has none. */
#include <pnetcdf.h>
#include <stdlib.h>

#include "worker/worker.h"

#define VARIABLE "data"
#define DIMENSION "bytes"

struct file {
	int file, var; /* var -1: the file is empty */
	MPI_Offset size;
	bool collective;
};

static int failed(const struct rama_emu_handle *h, const char *what, int64_t off, int rc,
		  struct rama_err *e)
{
	if (off >= 0)
		return rama_err_set(e, RAMA_EIO, "%s: PnetCDF: %s at %lld: %s", h->path, what,
				    (long long)off, ncmpi_strerror(rc));
	return rama_err_set(e, RAMA_EIO, "%s: PnetCDF: %s: %s", h->path, what, ncmpi_strerror(rc));
}

static int define(struct file *f)
{
	int dim, rc = NC_NOERR;

	if (f->size > 0) { /* a dimension of length 0 would be one without an end */
		rc = ncmpi_def_dim(f->file, DIMENSION, f->size, &dim);
		if (rc == NC_NOERR)
			rc = ncmpi_def_var(f->file, VARIABLE, NC_UBYTE, 1, &dim, &f->var);
	}
	return rc == NC_NOERR ? ncmpi_enddef(f->file) : rc;
}

static int look_up(struct file *f)
{
	int dim;

	f->size = 0;
	if (ncmpi_inq_varid(f->file, VARIABLE, &f->var) != NC_NOERR) {
		f->var = -1;
		return NC_NOERR;
	}
	if (ncmpi_inq_dimid(f->file, DIMENSION, &dim) != NC_NOERR)
		return NC_EBADDIM;
	return ncmpi_inq_dimlen(f->file, dim, &f->size);
}

static int netcdf_open(struct rama_emu_handle *h, int flags, struct rama_err *e)
{
	struct file *f = calloc(1, sizeof(*f));
	bool write = flags & RAMA_EMU_OPEN_WRITE;
	enum rama_worker_there there = write ? rama_worker_look(h) : RAMA_WORKER_FILE;
	bool create = write && (flags & RAMA_EMU_OPEN_TRUNCATE || there != RAMA_WORKER_FILE);
	int how = there == RAMA_WORKER_NOTHING ? NC_NOCLOBBER : NC_CLOBBER;
	MPI_Comm comm = rama_worker_comm(h);
	MPI_Info info;
	int rc;

	if (f == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	*f = (struct file){ .var = -1,
			    .size = h->opt.size > 0 ? h->opt.size : 0,
			    .collective = h->opt.collective && h->opt.group != NULL };
	rc = rama_worker_info(h->opt.hints, &info, e);
	if (rc != 0) {
		free(f);
		return rc;
	}
	rc = create ? ncmpi_create(comm, h->path, how | NC_64BIT_DATA, info, &f->file)
		    : ncmpi_open(comm, h->path, write ? NC_WRITE : NC_NOWRITE, info, &f->file);
	rama_worker_no_info(&info);
	if (rc != NC_NOERR) {
		free(f);
		return failed(h, "open", -1, rc, e);
	}
	rc = create ? define(f) : look_up(f);
	if (rc == NC_NOERR && !f->collective)
		rc = ncmpi_begin_indep_data(f->file);
	if (rc != NC_NOERR) {
		ncmpi_abort(f->file);
		free(f);
		return failed(h, "open", -1, rc, e);
	}
	h->state = f;
	return 0;
}

static int netcdf_move(struct rama_emu_handle *h, struct rama_emu_request q, struct rama_err *e)
{
	struct file *f = h->state;
	MPI_Offset from = q.n > 0 ? q.off : 0, count = (MPI_Offset)q.n;
	void *buf = q.buf;
	int rc = NC_NOERR;

	if (q.off + (int64_t)q.n > f->size)
		return rama_err_set(e, RAMA_ETRUNC, "%s: the variable ends at %lld, before %lld",
				    h->path, (long long)f->size, (long long)q.off + (long long)q.n);
	if (f->var < 0)
		return 0;
	if (f->collective)
		rc = q.write ? ncmpi_put_vara_uchar_all(f->file, f->var, &from, &count, buf)
			     : ncmpi_get_vara_uchar_all(f->file, f->var, &from, &count, buf);
	else if (q.n > 0)
		rc = q.write ? ncmpi_put_vara_uchar(f->file, f->var, &from, &count, buf)
			     : ncmpi_get_vara_uchar(f->file, f->var, &from, &count, buf);
	return rc == NC_NOERR ? 0 : failed(h, q.write ? "write" : "read", q.off, rc, e);
}

static int netcdf_sync(struct rama_emu_handle *h, struct rama_err *e)
{
	struct file *f = h->state;
	int rc = ncmpi_sync(f->file);

	return rc == NC_NOERR ? 0 : failed(h, "sync", -1, rc, e);
}

static int netcdf_close(struct rama_emu_handle *h, struct rama_err *e)
{
	struct file *f = h->state;
	int rc = NC_NOERR;

	if (e != NULL) { /* else others may not come: the file is left to the end of the process */
		if (!f->collective)
			rc = ncmpi_end_indep_data(f->file);
		rc = rc == NC_NOERR ? ncmpi_close(f->file) : rc;
	}
	free(f);
	return rc == NC_NOERR ? 0 : failed(h, "close", -1, rc, e);
}

const struct rama_emu_engine rama_worker_engine_pnetcdf = {
	.name = "pnetcdf",
	.doc = "PnetCDF: one variable of bytes, collective or independent",
	.needs_mpi = true,
	.container = true,
	.open = netcdf_open,
	.move = netcdf_move,
	.sync = netcdf_sync,
	.close = netcdf_close,
};
