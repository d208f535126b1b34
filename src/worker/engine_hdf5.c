/* SPDX-License-Identifier: BSD-3-Clause */
/* engine_hdf5.c: parallel HDF5. A file holds one dataset, "data", of as many bytes as the unit
 * has. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/worker.h"

#define DATASET "data"

struct file {
	hid_t file, data, how; /* how data are moved: collective or not */
	hsize_t size;
};

/* ---- errors --------------------------------------------------------------------------------- */

static herr_t innermost(unsigned n, const H5E_error2_t *at, void *ctx)
{
	(void)n;
	snprintf(ctx, 256, "%s", at->desc);
	return 0;
}

static int failed(const struct rama_emu_handle *h, const char *what, int64_t off,
		  struct rama_err *e)
{
	char text[256] = "no reason given", place[48] = "";

	H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, innermost, text);
	if (off >= 0)
		snprintf(place, sizeof(place), " at %lld", (long long)off);
	return rama_err_set(e, RAMA_EIO, "%s: HDF5: %s%s: %s", h->path, what, place, text);
}

/* ---- open ----------------------------------------------------------------------------------- */

static hid_t access_list(const struct rama_emu_handle *h, struct rama_err *e)
{
	hid_t list = H5Pcreate(H5P_FILE_ACCESS);
	MPI_Info info;

	if (rama_worker_info(h->opt.hints, &info, e) != 0 ||
	    H5Pset_fapl_mpio(list, rama_worker_comm(h), info) < 0) {
		H5Pclose(list);
		list = -1;
	}
	rama_worker_no_info(&info);
	return list;
}

static int create_data(struct file *f, hsize_t size, const struct rama_emu_engine_options *opt)
{
	hsize_t chunk = (hsize_t)opt->chunk < size ? (hsize_t)opt->chunk : size;
	hid_t space = H5Screate_simple(1, &size, NULL), how = H5Pcreate(H5P_DATASET_CREATE);

	/* every byte will be written: zeros first would be written for nothing */
	H5Pset_fill_time(how, H5D_FILL_TIME_NEVER);
	if (chunk > 0)
		H5Pset_chunk(how, 1, &chunk);
	if (chunk > 0 && opt->compress > 0)
		H5Pset_deflate(how, opt->compress);
	f->data = H5Dcreate2(f->file, DATASET, H5T_NATIVE_UINT8, space, H5P_DEFAULT, how,
			     H5P_DEFAULT);
	H5Pclose(how);
	H5Sclose(space);
	return f->data < 0 ? -1 : 0;
}

static int open_data(struct file *f)
{
	hid_t space;

	f->data = H5Dopen2(f->file, DATASET, H5P_DEFAULT);
	if (f->data < 0)
		return -1;
	space = H5Dget_space(f->data);
	if (H5Sget_simple_extent_ndims(space) != 1 ||
	    H5Sget_simple_extent_dims(space, &f->size, NULL) < 0)
		f->size = 0;
	H5Sclose(space);
	return 0;
}

static void let_go(struct file *f)
{
	if (f->data >= 0)
		H5Dclose(f->data);
	if (f->file >= 0)
		H5Fclose(f->file);
	H5Pclose(f->how);
	free(f);
}

static int hdf5_open(struct rama_emu_handle *h, int flags, struct rama_err *e)
{
	struct file *f = calloc(1, sizeof(*f));
	bool write = flags & RAMA_EMU_OPEN_WRITE;
	enum rama_worker_there there = write ? rama_worker_look(h) : RAMA_WORKER_FILE;
	bool create = write && (flags & RAMA_EMU_OPEN_TRUNCATE || there != RAMA_WORKER_FILE);
	unsigned how = there == RAMA_WORKER_NOTHING ? H5F_ACC_EXCL : H5F_ACC_TRUNC;
	hid_t list;
	int rc;

	if (f == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory");
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	*f = (struct file){ .file = -1,
			    .data = -1,
			    .size = (hsize_t)(h->opt.size > 0 ? h->opt.size : 0) };
	f->how = H5Pcreate(H5P_DATASET_XFER);
	/* what is packed is written together, if by one alone */
	if ((h->opt.collective && h->opt.group != NULL) || (write && h->opt.compress > 0))
		H5Pset_dxpl_mpio(f->how, H5FD_MPIO_COLLECTIVE);
	list = access_list(h, e);
	if (list < 0) {
		let_go(f);
		return e->code != 0 ? e->code : failed(h, "open", -1, e);
	}
	f->file = create ? H5Fcreate(h->path, how, H5P_DEFAULT, list)
			 : H5Fopen(h->path, write ? H5F_ACC_RDWR : H5F_ACC_RDONLY, list);
	H5Pclose(list);
	rc = f->file < 0 ? -1 : create ? create_data(f, f->size, &h->opt) : open_data(f);
	if (rc != 0) {
		rc = failed(h, "open", -1, e);
		let_go(f);
		return rc;
	}
	h->state = f;
	return 0;
}

/* ---- requests ------------------------------------------------------------------------------- */

/* the bytes of a request in the dataset and in memory; empty ones select nothing */
static int select_bytes(const struct file *f, hsize_t from, hsize_t n, hid_t *there, hid_t *here)
{
	*there = H5Dget_space(f->data);
	*here = H5Screate_simple(1, &n, NULL);
	if (n > 0)
		return H5Sselect_hyperslab(*there, H5S_SELECT_SET, &from, NULL, &n, NULL) < 0 ? -1
											      : 0;
	return H5Sselect_none(*there) < 0 || H5Sselect_none(*here) < 0 ? -1 : 0;
}

static int hdf5_move(struct rama_emu_handle *h, struct rama_emu_request q, struct rama_err *e)
{
	struct file *f = h->state;
	hid_t there, here;
	herr_t rc;

	if ((hsize_t)q.off + q.n > f->size)
		return rama_err_set(e, RAMA_ETRUNC, "%s: the dataset ends at %llu, before %llu",
				    h->path, (unsigned long long)f->size,
				    (unsigned long long)q.off + q.n);
	rc = select_bytes(f, (hsize_t)q.off, q.n, &there, &here);
	if (rc == 0)
		rc = q.write ? H5Dwrite(f->data, H5T_NATIVE_UINT8, here, there, f->how, q.buf)
			     : H5Dread(f->data, H5T_NATIVE_UINT8, here, there, f->how, q.buf);
	if (rc < 0)
		rc = failed(h, q.write ? "write" : "read", q.off, e);
	H5Sclose(there);
	H5Sclose(here);
	return rc;
}

static int hdf5_sync(struct rama_emu_handle *h, struct rama_err *e)
{
	struct file *f = h->state;

	return H5Fflush(f->file, H5F_SCOPE_LOCAL) < 0 ? failed(h, "flush", -1, e) : 0;
}

static int hdf5_close(struct rama_emu_handle *h, struct rama_err *e)
{
	struct file *f = h->state;
	int rc = 0;

	if (e == NULL) { /* others may not come: the file is left to the end of the process */
		free(f);
		return 0;
	}
	if (H5Dclose(f->data) < 0 || H5Fclose(f->file) < 0)
		rc = failed(h, "close", -1, e);
	f->data = f->file = -1;
	let_go(f);
	return rc;
}

const struct rama_emu_engine rama_worker_engine_hdf5 = {
	.name = "hdf5",
	.doc = "parallel HDF5: one dataset of bytes, collective or independent",
	.needs_mpi = true,
	.container = true,
	.open = hdf5_open,
	.move = hdf5_move,
	.sync = hdf5_sync,
	.close = hdf5_close,
};
