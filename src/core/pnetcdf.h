/* SPDX-License-Identifier: BSD-3-Clause */
/* pnetcdf.h: what ncmpi_* calls mean for the counters of a PnetCDF file and of its variables. See
 * core/posix.h. */
#ifndef RAMA_CORE_PNETCDF_H
#define RAMA_CORE_PNETCDF_H

#include "core/kind.h"
#include "core/transfer.h"
#include "core/tuples.h"

/* rama_core_op.how of WAIT (the first two), READ and WRITE */
enum rama_core_nc_how {
	RAMA_CORE_NC_HOW_INDEP,
	RAMA_CORE_NC_HOW_COLL,	  /* ..._all */
	RAMA_CORE_NC_HOW_NB,	  /* iput, iget */
	RAMA_CORE_NC_HOW_BUFFERED /* bput */
};

/* ---- files ----------------------------------------------------------------------------------- */

/* State of one file; part of the segment. */
struct rama_core_pnetcdf_file {
	uint32_t seq, name;
	uint8_t stuck;
	uint8_t pad[7];
	uint64_t meta_end, wait_end;
	union rama_core_word w[RAMA_TAB_PNETCDF_FILE__WORDS];
};

void rama_core_pnetcdf_file_init(struct rama_core_pnetcdf_file *f, uint64_t id);
/* CREATE, OPEN, ENDDEF, REDEF, SYNC, WAIT, CLOSE. Of CLOSE, `off` and `bytes` are what the library
 * says it has read and written while the file was open; -1: it could not say. */
void rama_core_pnetcdf_file_apply(struct rama_core_pnetcdf_file *f, const struct rama_core_op *op);
void rama_core_pnetcdf_file_finish(const struct rama_core_pnetcdf_file *f, double tick,
				   union rama_core_word w[RAMA_TAB_PNETCDF_FILE__WORDS]);

/* ---- variables ------------------------------------------------------------------------------- */

/* State of one variable; part of the segment. */
struct rama_core_pnetcdf_var {
	uint32_t seq, name;
	uint8_t stuck;
	uint8_t pad[7];
	struct rama_core_progress progress;
	union rama_core_word w[RAMA_TAB_PNETCDF_VAR__WORDS];
	struct rama_core_tuples access;
};

/* a variable as it is when it is defined or looked up */
struct rama_core_pnetcdf_shape {
	int64_t ndims;
	int64_t npoints; /* product of all dimensions but the unlimited one */
	int64_t type_size;
	bool is_record; /* the first dimension is the unlimited one */
};

/* the ways to say which part of a variable is meant, in the order of the record's counters */
enum rama_core_nc_form {
	RAMA_CORE_NC_VAR,
	RAMA_CORE_NC_VAR1,
	RAMA_CORE_NC_VARA,
	RAMA_CORE_NC_VARS,
	RAMA_CORE_NC_VARM,
	RAMA_CORE_NC_VARN,
	RAMA_CORE_NC_VARD,
	RAMA_CORE_NC_FORMS
};

/* which part of a variable a read or write is about; how many bytes is told by the operation */
struct rama_core_pnetcdf_access {
	uint8_t form;						/* enum rama_core_nc_form */
	int64_t length[RAMA_CORE_DIMS], stride[RAMA_CORE_DIMS]; /* as in the record */
};

/* Counts and strides of a call get their slots, in the order of the array; of more than five
 * dimensions the last five do. Forms other than VARS and VARM have no strides; `stride` NULL: each
 * is 1. Returns how many values the call is about. */
int64_t rama_core_pnetcdf_select(struct rama_core_pnetcdf_access *a, unsigned ndims,
				 const int64_t *count, const int64_t *stride);

void rama_core_pnetcdf_var_init(struct rama_core_pnetcdf_var *f, uint64_t id, uint64_t file_id);
/* OPEN; of an operation of another kind only the shape is taken down */
void rama_core_pnetcdf_var_open(struct rama_core_pnetcdf_var *f, const struct rama_core_op *op,
				const struct rama_core_pnetcdf_shape *s);
/* READ, WRITE */
void rama_core_pnetcdf_var_apply(struct rama_core_pnetcdf_var *f, const struct rama_core_op *op,
				 const struct rama_core_pnetcdf_access *a);
void rama_core_pnetcdf_var_finish(const struct rama_core_pnetcdf_var *f, double tick,
				  union rama_core_word w[RAMA_TAB_PNETCDF_VAR__WORDS]);

#endif
