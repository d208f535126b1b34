/* SPDX-License-Identifier: BSD-3-Clause */
/* h5d.h: what H5D* calls mean for the counters of an HDF5 dataset. See core/posix.h. */
#ifndef RAMA_CORE_H5D_H
#define RAMA_CORE_H5D_H

#include "core/kind.h"
#include "core/transfer.h"
#include "core/tuples.h"

/* State of one dataset; part of the segment. */
struct rama_core_h5d_file {
	uint32_t seq, name;
	uint8_t stuck;
	uint8_t pad[7];
	struct rama_core_progress progress;
	union rama_core_word w[RAMA_TAB_H5D__WORDS];
	struct rama_core_tuples access;
};

/* a dataset as it is when it is opened */
struct rama_core_h5d_shape {
	int64_t ndims, npoints, type_size;
	/* as in the record: the last dimension first; 0: not chunked */
	int64_t chunk[RAMA_CORE_DIMS];
	bool deprecated; /* opened by H5Dcreate1 or H5Dopen1 */
};

enum rama_core_h5d_select {
	RAMA_CORE_H5D_ALL, /* the whole dataset; also: nothing of it */
	RAMA_CORE_H5D_POINTS,
	RAMA_CORE_H5D_REGULAR,
	RAMA_CORE_H5D_IRREGULAR
};

/* which part of a dataset a read or write is about; how many bytes is told by the operation */
struct rama_core_h5d_access {
	uint8_t select; /* enum rama_core_h5d_select */
	bool collective;
	int64_t length[RAMA_CORE_DIMS], stride[RAMA_CORE_DIMS]; /* as in the record */
};

/* what the HDF5 library has no function for: its counters are -1 */
enum { RAMA_CORE_H5D_NO_FLUSH = 1, RAMA_CORE_H5D_NO_SELECT = 2 };

/* The dimensions of a chunk or of a regular hyperslab, as HDF5 tells them, get their slots. Of more
 * than five dimensions the last five do. */
void rama_core_h5d_chunk(struct rama_core_h5d_shape *s, unsigned ndims, const uint64_t *dims);
void rama_core_h5d_hyperslab(struct rama_core_h5d_access *a, unsigned ndims, const uint64_t *stride,
			     const uint64_t *count, const uint64_t *block);

/* lacks: RAMA_CORE_H5D_NO_... */
void rama_core_h5d_init(struct rama_core_h5d_file *f, uint64_t id, uint64_t file_id,
			unsigned lacks);
void rama_core_h5d_open(struct rama_core_h5d_file *f, const struct rama_core_op *op,
			const struct rama_core_h5d_shape *s);
/* READ, WRITE, FLUSH, CLOSE; `a` is needed for the first two only: NULL is all of the dataset */
void rama_core_h5d_apply(struct rama_core_h5d_file *f, const struct rama_core_op *op,
			 const struct rama_core_h5d_access *a);
void rama_core_h5d_finish(const struct rama_core_h5d_file *f, double tick,
			  union rama_core_word w[RAMA_TAB_H5D__WORDS]);

#endif
