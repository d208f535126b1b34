/* SPDX-License-Identifier: BSD-3-Clause */
/* h5f.h: what H5F* calls mean for the counters of an HDF5 file. See core/posix.h. */
#ifndef RAMA_CORE_H5F_H
#define RAMA_CORE_H5F_H

#include "core/kind.h"

/* rama_core_op.how of OPEN: which driver the file access property list asks for */
enum rama_core_h5f_how { RAMA_CORE_H5F_OTHER, RAMA_CORE_H5F_MPIIO };

/* State of one file; part of the segment. */
struct rama_core_h5f_file {
	uint32_t seq, name;
	uint8_t stuck;
	uint8_t pad[7];
	uint64_t meta_end;
	union rama_core_word w[RAMA_TAB_H5F__WORDS];
};

void rama_core_h5f_init(struct rama_core_h5f_file *f, uint64_t id);
/* OPEN, FLUSH, CLOSE */
void rama_core_h5f_apply(struct rama_core_h5f_file *f, const struct rama_core_op *op);
void rama_core_h5f_finish(const struct rama_core_h5f_file *f, double tick,
			  union rama_core_word w[RAMA_TAB_H5F__WORDS]);

#endif
