/* SPDX-License-Identifier: BSD-3-Clause */
/* parallel_model.c: random histories of MPI-IO files, HDF5 datasets and PnetCDF variables that a
 * naive model must agree on. */
#include "model.h"

#include "core/h5d.h"
#include "core/mpiio.h"
#include "core/pnetcdf.h"

#define ROUNDS 30

static void shape_from(int64_t more[10], const int64_t length[5], const int64_t stride[5])
{
	memcpy(more, length, 5 * sizeof(more[0]));
	memcpy(more + 5, stride, 5 * sizeof(more[0]));
}

/* few shapes, so that some come again and again */
static void random_shape(struct rng *r, int64_t length[5], int64_t stride[5])
{
	for (int k = 0; k < 5; k++) {
		length[k] = rng_below(r, 4) ? 8 : (int64_t)rng_below(r, 3);
		stride[k] = rng_below(r, 6) ? 1 : (int64_t)rng_below(r, 3);
	}
}

/* ---- MPI-IO ---------------------------------------------------------------------------------- */

static void mpiio_model(struct model *m, const struct rama_core_op *op)
{
	static const char *const calls[2][4] = {
		{ "INDEP_READS", "COLL_READS", "SPLIT_READS", "NB_READS" },
		{ "INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES" },
	};

	if (!op->ok && op->kind != RAMA_TAB_OP_CLOSE)
		return;
	if (op->kind == RAMA_TAB_OP_READ || op->kind == RAMA_TAB_OP_WRITE) {
		++*model_count(m, calls[op->kind == RAMA_TAB_OP_WRITE][op->how]);
		model_transfer(m, op, NULL);
	}
	if (op->kind == RAMA_TAB_OP_OPEN) {
		++*model_count(m, op->how == RAMA_CORE_MPI_COLL ? "COLL_OPENS" : "INDEP_OPENS");
		*model_count(m, "MODE") = op->mode;
		model_stamp(model_time(m, "F_OPEN_START_TIMESTAMP"),
			    model_time(m, "F_OPEN_END_TIMESTAMP"), op);
	}
	if (op->kind == RAMA_TAB_OP_CLOSE)
		model_stamp(model_time(m, "F_CLOSE_START_TIMESTAMP"),
			    model_time(m, "F_CLOSE_END_TIMESTAMP"), op);
	if (op->kind == RAMA_TAB_OP_HINT)
		++*model_count(m, "HINTS");
	if (op->kind == RAMA_TAB_OP_VIEW)
		++*model_count(m, "VIEWS");
	if (op->kind == RAMA_TAB_OP_SYNC) {
		++*model_count(m, "SYNCS");
		model_add_time(model_time(m, "F_WRITE_TIME"), &m->write_end, op);
	}
	if (op->kind == RAMA_TAB_OP_OPEN || op->kind == RAMA_TAB_OP_CLOSE ||
	    op->kind == RAMA_TAB_OP_HINT)
		model_meta(m, op);
}

static void histories_of_mpi_files_agree(void **state)
{
	static const uint8_t other[] = { RAMA_TAB_OP_OPEN, RAMA_TAB_OP_CLOSE, RAMA_TAB_OP_SYNC,
					 RAMA_TAB_OP_VIEW, RAMA_TAB_OP_HINT,  RAMA_TAB_OP_SEEK };
	static struct model m;
	struct rng r = { 81 };

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		union rama_core_word w[RAMA_TAB_MPIIO__WORDS];
		struct rama_core_mpiio_file f;
		uint64_t clock = 1000;

		rama_core_mpiio_init(&f, 9);
		model_init(&m, RAMA_TAB_MOD_MPIIO, 9);
		for (uint64_t i = rng_below(&r, MODEL_CALLS); i > 0; i--) {
			struct rama_core_op op = model_random_op(&r, &clock, other, LENGTH(other));

			op.how = (uint8_t)rng_below(&r, 4);
			op.mode = (int32_t)rng_below(&r, 100);
			rama_core_mpiio_apply(&f, &op);
			mpiio_model(&m, &op);
		}
		model_top(&m, 1);
		rama_core_mpiio_finish(&f, 1, w);
		model_check(&m, w, round);
	}
}

/* ---- HDF5 datasets --------------------------------------------------------------------------- */

static void h5d_model_open(struct model *m, const struct rama_core_op *op,
			   const struct rama_core_h5d_shape *s)
{
	static const char *const chunk[] = { "CHUNK_SIZE_D1", "CHUNK_SIZE_D2", "CHUNK_SIZE_D3",
					     "CHUNK_SIZE_D4", "CHUNK_SIZE_D5" };

	if (!op->ok)
		return;
	++*model_count(m, "OPENS");
	*model_count(m, "DATASPACE_NDIMS") = s->ndims;
	*model_count(m, "DATASPACE_NPOINTS") = s->npoints;
	*model_count(m, "DATATYPE_SIZE") = s->type_size;
	*model_count(m, "USE_DEPRECATED") = s->deprecated;
	for (int k = 0; k < 5; k++)
		*model_count(m, chunk[k]) = s->chunk[k];
	model_stamp(model_time(m, "F_OPEN_START_TIMESTAMP"), model_time(m, "F_OPEN_END_TIMESTAMP"),
		    op);
	model_meta(m, op);
}

static void h5d_model_access(struct model *m, const struct rama_core_op *op,
			     const struct rama_core_h5d_access *a, bool can_ask)
{
	int64_t more[10] = { 0 };

	++*model_count(m, op->kind == RAMA_TAB_OP_READ ? "READS" : "WRITES");
	if (a->select == RAMA_CORE_H5D_POINTS)
		++*model_count(m, "POINT_SELECTS");
	if (a->select == RAMA_CORE_H5D_REGULAR && can_ask)
		++*model_count(m, "REGULAR_HYPERSLAB_SELECTS");
	if (a->select == RAMA_CORE_H5D_IRREGULAR && can_ask)
		++*model_count(m, "IRREGULAR_HYPERSLAB_SELECTS");
	if (a->collective)
		*model_count(m, "USE_MPIIO_COLLECTIVE") = 1;
	if (a->select == RAMA_CORE_H5D_REGULAR)
		shape_from(more, a->length, a->stride);
	for (int k = 0; !can_ask && k < 10; k++)
		more[k] = -1;
	model_transfer(m, op, more);
}

static void h5d_model(struct model *m, const struct rama_core_op *op,
		      const struct rama_core_h5d_access *a, bool can_ask)
{
	if (!op->ok && op->kind != RAMA_TAB_OP_CLOSE)
		return;
	if (op->kind == RAMA_TAB_OP_READ || op->kind == RAMA_TAB_OP_WRITE)
		h5d_model_access(m, op, a, can_ask);
	if (op->kind == RAMA_TAB_OP_FLUSH)
		++*model_count(m, "FLUSHES");
	if (op->kind == RAMA_TAB_OP_CLOSE)
		model_stamp(model_time(m, "F_CLOSE_START_TIMESTAMP"),
			    model_time(m, "F_CLOSE_END_TIMESTAMP"), op);
	if (op->kind == RAMA_TAB_OP_FLUSH || op->kind == RAMA_TAB_OP_CLOSE)
		model_meta(m, op);
}

static void h5d_random_step(struct rng *r, uint64_t *clock, struct rama_core_h5d_file *f,
			    struct model *m, bool can_ask)
{
	static const uint8_t other[] = { RAMA_TAB_OP_OPEN, RAMA_TAB_OP_CLOSE, RAMA_TAB_OP_FLUSH,
					 RAMA_TAB_OP_SYNC };
	struct rama_core_op op = model_random_op(r, clock, other, LENGTH(other));
	struct rama_core_h5d_access a = { .select = (uint8_t)rng_below(r, 4),
					  .collective = rng_below(r, 200) == 0 };
	struct rama_core_h5d_shape s = { .ndims = (int64_t)rng_below(r, 6),
					 .npoints = (int64_t)rng_below(r, 10000),
					 .type_size = (int64_t)rng_below(r, 9),
					 .deprecated = rng_below(r, 2) };

	random_shape(r, a.length, a.stride);
	random_shape(r, s.chunk, (int64_t[5]){ 0 });
	if (op.kind == RAMA_TAB_OP_OPEN) {
		rama_core_h5d_open(f, &op, &s);
		h5d_model_open(m, &op, &s);
	} else {
		rama_core_h5d_apply(f, &op, &a);
		h5d_model(m, &op, &a, can_ask);
	}
}

static void histories_of_datasets_agree(void **state)
{
	static struct model m;
	struct rng r = { 82 };

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		bool can_ask = round % 3 != 0;
		union rama_core_word w[RAMA_TAB_H5D__WORDS];
		struct rama_core_h5d_file f;
		uint64_t clock = 1000;

		rama_core_h5d_init(&f, 9, 10, can_ask ? 0 : RAMA_CORE_H5D_NO_SELECT);
		model_init(&m, RAMA_TAB_MOD_H5D, 9);
		*model_count(&m, "FILE_REC_ID") = 10;
		if (!can_ask)
			*model_count(&m, "REGULAR_HYPERSLAB_SELECTS") =
				*model_count(&m, "IRREGULAR_HYPERSLAB_SELECTS") = -1;
		for (uint64_t i = rng_below(&r, MODEL_CALLS); i > 0; i--)
			h5d_random_step(&r, &clock, &f, &m, can_ask);
		model_top(&m, MODEL_WIDE);
		rama_core_h5d_finish(&f, 1, w);
		model_check(&m, w, round);
	}
}

/* ---- PnetCDF variables ----------------------------------------------------------------------- */

static void pnetcdf_model(struct model *m, const struct rama_core_op *op,
			  const struct rama_core_pnetcdf_access *a)
{
	static const char *const put[] = { "PUT", "PUT", "IPUT", "BPUT" };
	static const char *const get[] = { "GET", "GET", "IGET", "IGET" };
	static const char *const way[] = { "INDEP", "COLL", "NB", "NB" };
	static const char *const form[] = { "VAR", "VAR1", "VARA", "VARS", "VARM", "VARN", "VARD" };
	bool rd = op->kind == RAMA_TAB_OP_READ;
	int64_t more[10];
	char name[40];

	if (!op->ok || (op->kind != RAMA_TAB_OP_READ && op->kind != RAMA_TAB_OP_WRITE))
		return;
	snprintf(name, sizeof(name), "%s_%s", way[op->how], rd ? "READS" : "WRITES");
	++*model_count(m, name);
	snprintf(name, sizeof(name), "%s_%s", (rd ? get : put)[op->how], form[a->form]);
	++*model_count(m, name);
	shape_from(more, a->length, a->stride);
	model_transfer(m, op, more);
}

static void histories_of_variables_agree(void **state)
{
	static const uint8_t other[] = { RAMA_TAB_OP_CLOSE, RAMA_TAB_OP_FLUSH, RAMA_TAB_OP_OPEN };
	static struct model m;
	struct rng r = { 83 };

	(void)state;
	for (int round = 0; round < ROUNDS; round++) {
		union rama_core_word w[RAMA_TAB_PNETCDF_VAR__WORDS];
		struct rama_core_pnetcdf_var v;
		uint64_t clock = 1000;

		rama_core_pnetcdf_var_init(&v, 9, 10);
		model_init(&m, RAMA_TAB_MOD_PNETCDF_VAR, 9);
		*model_count(&m, "FILE_REC_ID") = 10;
		for (uint64_t i = rng_below(&r, MODEL_CALLS); i > 0; i--) {
			struct rama_core_op op = model_random_op(&r, &clock, other, LENGTH(other));
			struct rama_core_pnetcdf_access a = { 0 };

			op.how = (uint8_t)rng_below(&r, 4);
			a.form = (uint8_t)rng_below(&r, op.how < RAMA_CORE_NC_HOW_NB ? 7 : 6);
			random_shape(&r, a.length, a.stride);
			rama_core_pnetcdf_var_apply(&v, &op, &a);
			pnetcdf_model(&m, &op, &a);
		}
		model_top(&m, MODEL_WIDE);
		rama_core_pnetcdf_var_finish(&v, 1, w);
		model_check(&m, w, round);
	}
}

UNIT_GROUP(parallel_model, test(histories_of_mpi_files_agree), test(histories_of_datasets_agree),
	   test(histories_of_variables_agree))
