/* SPDX-License-Identifier: BSD-3-Clause */
/* pnetcdf.h: what ncmpi_* calls mean for the counters of a PnetCDF file and of its variables. See
 * core/posix.h. */
#ifndef RAMA_CORE_PNETCDF_H
#define RAMA_CORE_PNETCDF_H

#include "core/op.h"
#include "core/record.h"
#include "core/transfer.h"
#include "core/tuples.h"

/* rama_op.how of WAIT (the first two), READ and WRITE */
enum rama_nc_how {
	RAMA_NC_INDEP,
	RAMA_NC_COLL,	 /* ..._all */
	RAMA_NC_NB,	 /* iput, iget */
	RAMA_NC_BUFFERED /* bput */
};

/* ---- files ----------------------------------------------------------------------------------- */

/* State of one file; part of the segment. */
struct rama_pnetcdf_file {
	uint32_t seq, name;
	uint8_t stuck;
	uint8_t pad[7];
	uint64_t meta_end, wait_end;
	union rama_word w[RAMA_PNETCDF_FILE__WORDS];
};

void rama_pnetcdf_file_init(struct rama_pnetcdf_file *f, uint64_t id);
/* CREATE, OPEN, ENDDEF, REDEF, SYNC, WAIT, CLOSE. Of CLOSE, `off` and `bytes` are what the library
 * says it has read and written while the file was open; -1: it could not say. */
void rama_pnetcdf_file_apply(struct rama_pnetcdf_file *f, const struct rama_op *op);
void rama_pnetcdf_file_finish(const struct rama_pnetcdf_file *f, double tick,
			      union rama_word w[RAMA_PNETCDF_FILE__WORDS]);

/* ---- variables ------------------------------------------------------------------------------- */

/* State of one variable; part of the segment. */
struct rama_pnetcdf_var {
	uint32_t seq, name;
	uint8_t stuck;
	uint8_t pad[7];
	struct rama_progress progress;
	union rama_word w[RAMA_PNETCDF_VAR__WORDS];
	struct rama_tuples access;
};

/* a variable as it is when it is defined or looked up */
struct rama_pnetcdf_shape {
	int64_t ndims;
	int64_t npoints; /* product of all dimensions but the unlimited one */
	int64_t type_size;
	bool is_record; /* the first dimension is the unlimited one */
};

/* the ways to say which part of a variable is meant, in the order of the record's counters */
enum rama_nc_form {
	RAMA_NC_VAR,
	RAMA_NC_VAR1,
	RAMA_NC_VARA,
	RAMA_NC_VARS,
	RAMA_NC_VARM,
	RAMA_NC_VARN,
	RAMA_NC_VARD,
	RAMA_NC_FORMS
};

/* which part of a variable a read or write is about; how many bytes is told by the operation */
struct rama_pnetcdf_access {
	uint8_t form;				      /* enum rama_nc_form */
	int64_t length[RAMA_DIMS], stride[RAMA_DIMS]; /* as in the record */
};

/* Counts and strides of a call get their slots, in the order of the array; of more than five
 * dimensions the last five do. Forms other than VARS and VARM have no strides; `stride` NULL: each
 * is 1. Returns how many values the call is about. */
int64_t rama_pnetcdf_select(struct rama_pnetcdf_access *a, unsigned ndims, const int64_t *count,
			    const int64_t *stride);

void rama_pnetcdf_var_init(struct rama_pnetcdf_var *f, uint64_t id, uint64_t file_id);
/* OPEN; of an operation of another kind only the shape is taken down */
void rama_pnetcdf_var_open(struct rama_pnetcdf_var *f, const struct rama_op *op,
			   const struct rama_pnetcdf_shape *s);
/* READ, WRITE */
void rama_pnetcdf_var_apply(struct rama_pnetcdf_var *f, const struct rama_op *op,
			    const struct rama_pnetcdf_access *a);
void rama_pnetcdf_var_finish(const struct rama_pnetcdf_var *f, double tick,
			     union rama_word w[RAMA_PNETCDF_VAR__WORDS]);

#endif
