/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/h5d.h"

#include <string.h>

RAMA_CORE_TRANSFER_CHECK(H5D);
_Static_assert(RAMA_TAB_H5D_ACCESS1_COUNT ==
			       RAMA_TAB_H5D_ACCESS1_ACCESS + 4 * RAMA_CORE_TUPLE_WORDS &&
		       RAMA_TAB_H5D_ACCESS1_STRIDE_D1 ==
			       RAMA_TAB_H5D_ACCESS1_LENGTH_D1 + RAMA_CORE_DIMS,
	       "slots of the most frequent accesses follow each other");
_Static_assert(RAMA_TAB_H5D_CHUNK_SIZE_D5 == RAMA_TAB_H5D_CHUNK_SIZE_D1 + RAMA_CORE_DIMS - 1,
	       "as do chunk sizes");

static const struct rama_core_transfer_words words[] = {
	RAMA_CORE_TRANSFER_WORDS(H5D, READ, READ),
	RAMA_CORE_TRANSFER_WORDS(H5D, WRITE, WRITTEN),
};

void rama_core_h5d_chunk(struct rama_core_h5d_shape *s, unsigned ndims, const uint64_t *dims)
{
	for (unsigned k = 0; k < RAMA_CORE_DIMS; k++)
		s->chunk[k] = k < ndims ? (int64_t)dims[ndims - 1 - k] : 0;
}

/* The first dimension goes to slot D5, and those after it to D4, D3, ...: other than for chunks, D1
 * is the last one of an array of five dimensions only. The log format has it so. */
void rama_core_h5d_hyperslab(struct rama_core_h5d_access *a, unsigned ndims, const uint64_t *stride,
			     const uint64_t *count, const uint64_t *block)
{
	unsigned skip = ndims > RAMA_CORE_DIMS ? ndims - RAMA_CORE_DIMS : 0;

	for (unsigned i = 0; i < RAMA_CORE_DIMS; i++) {
		bool there = skip + i < ndims;

		a->length[RAMA_CORE_DIMS - 1 - i] =
			there ? (int64_t)(count[skip + i] * block[skip + i]) : 0;
		a->stride[RAMA_CORE_DIMS - 1 - i] = there ? (int64_t)stride[skip + i] : 0;
	}
}

void rama_core_h5d_init(struct rama_core_h5d_file *f, uint64_t id, uint64_t file_id, unsigned lacks)
{
	memset(f, 0, sizeof(*f));
	f->w[RAMA_TAB_ID].u = id;
	f->w[RAMA_TAB_H5D_FILE_REC_ID].u = file_id;
	if (lacks & RAMA_CORE_H5D_NO_FLUSH)
		f->w[RAMA_TAB_H5D_FLUSHES].i = -1;
	if (lacks & RAMA_CORE_H5D_NO_SELECT)
		f->w[RAMA_TAB_H5D_REGULAR_HYPERSLAB_SELECTS].i =
			f->w[RAMA_TAB_H5D_IRREGULAR_HYPERSLAB_SELECTS].i = -1;
	rama_core_tuples_init(&f->access);
}

static void meta(struct rama_core_h5d_file *f, const struct rama_core_op *op)
{
	rama_core_times_add(&f->w[RAMA_TAB_H5D_F_META_TIME], &f->progress.end[RAMA_CORE_META], op);
}

void rama_core_h5d_open(struct rama_core_h5d_file *f, const struct rama_core_op *op,
			const struct rama_core_h5d_shape *s)
{
	union rama_core_word *w = f->w;

	if (!op->ok)
		return;
	w[RAMA_TAB_H5D_OPENS].i++;
	w[RAMA_TAB_H5D_USE_DEPRECATED].i = s->deprecated;
	w[RAMA_TAB_H5D_DATASPACE_NDIMS].i = s->ndims;
	w[RAMA_TAB_H5D_DATASPACE_NPOINTS].i = s->npoints;
	w[RAMA_TAB_H5D_DATATYPE_SIZE].i = s->type_size;
	for (unsigned k = 0; k < RAMA_CORE_DIMS; k++)
		w[RAMA_TAB_H5D_CHUNK_SIZE_D1 + k].i = s->chunk[k];
	rama_core_times_stamp(&w[RAMA_TAB_H5D_F_OPEN_START_TIMESTAMP],
			      &w[RAMA_TAB_H5D_F_OPEN_END_TIMESTAMP], op);
	meta(f, op);
}

/* -1 stays: it is not known how often */
static void count_known(union rama_core_word *w)
{
	if (w->i >= 0)
		w->i++;
}

static void shape(struct rama_core_h5d_file *f, int64_t bytes, const struct rama_core_h5d_access *a)
{
	struct rama_core_tuple t = { .size = bytes };

	if (a->select == RAMA_CORE_H5D_POINTS)
		f->w[RAMA_TAB_H5D_POINT_SELECTS].i++;
	else if (a->select == RAMA_CORE_H5D_REGULAR)
		count_known(&f->w[RAMA_TAB_H5D_REGULAR_HYPERSLAB_SELECTS]);
	else if (a->select == RAMA_CORE_H5D_IRREGULAR)
		count_known(&f->w[RAMA_TAB_H5D_IRREGULAR_HYPERSLAB_SELECTS]);
	if (a->collective)
		f->w[RAMA_TAB_H5D_USE_MPIIO_COLLECTIVE].i = 1;
	if (f->w[RAMA_TAB_H5D_REGULAR_HYPERSLAB_SELECTS].i < 0) { /* nothing is known of shapes */
		memset(t.length, 0xff, sizeof(t.length));
		memset(t.stride, 0xff, sizeof(t.stride));
	} else if (a->select == RAMA_CORE_H5D_REGULAR) {
		memcpy(t.length, a->length, sizeof(t.length));
		memcpy(t.stride, a->stride, sizeof(t.stride));
	}
	rama_core_tuples_add(&f->access, &t);
}

static void transfer(struct rama_core_h5d_file *f, const struct rama_core_op *op,
		     const struct rama_core_h5d_access *a, bool wr)
{
	static const struct rama_core_h5d_access all = { .select = RAMA_CORE_H5D_ALL };

	f->w[wr ? RAMA_TAB_H5D_WRITES : RAMA_TAB_H5D_READS].i++;
	rama_core_transfer(f->w, &f->progress, &words[wr], op, RAMA_TAB_H5D_RW_SWITCHES);
	shape(f, op->bytes, a ? a : &all);
}

void rama_core_h5d_apply(struct rama_core_h5d_file *f, const struct rama_core_op *op,
			 const struct rama_core_h5d_access *a)
{
	if (!op->ok && op->kind != RAMA_TAB_OP_CLOSE)
		return;
	switch (op->kind) {
	case RAMA_TAB_OP_READ:
		transfer(f, op, a, false);
		break;
	case RAMA_TAB_OP_WRITE:
		transfer(f, op, a, true);
		break;
	case RAMA_TAB_OP_FLUSH:
		count_known(&f->w[RAMA_TAB_H5D_FLUSHES]);
		meta(f, op);
		break;
	case RAMA_TAB_OP_CLOSE:
		rama_core_times_stamp(&f->w[RAMA_TAB_H5D_F_CLOSE_START_TIMESTAMP],
				      &f->w[RAMA_TAB_H5D_F_CLOSE_END_TIMESTAMP], op);
		meta(f, op);
		break;
	case RAMA_TAB_OP_XATTR: /* its attributes and the like: time, and no counter */
	case RAMA_TAB_OP_ACCESS:
	case RAMA_TAB_OP_LINK:
	case RAMA_TAB_OP_TRUNCATE:
	case RAMA_TAB_OP_STATOTHER:
		meta(f, op);
		break;
	}
}

void rama_core_h5d_finish(const struct rama_core_h5d_file *f, double tick,
			  union rama_core_word w[RAMA_TAB_H5D__WORDS])
{
	memcpy(w, f->w, sizeof(f->w));
	rama_core_tuples_top4(&f->access, &w[RAMA_TAB_H5D_ACCESS1_ACCESS],
			      &w[RAMA_TAB_H5D_ACCESS1_COUNT]);
	rama_core_transfer_finish(&w[RAMA_TAB_H5D_F_OPEN_START_TIMESTAMP], tick);
}

/* ---- the kind -------------------------------------------------------------------------------- */

static void init(void *slot, const struct rama_core_new *n)
{
	rama_core_h5d_init(slot, n->id, n->file_id, n->lacks);
}

static void finish(const void *slot, double tick, union rama_core_word *w)
{
	rama_core_h5d_finish(slot, tick, w);
}

const struct rama_core_kind rama_core_kind_h5d = {
	RAMA_CORE_KIND_OF(struct rama_core_h5d_file),
	.init = init,
	.finish = finish,
};
