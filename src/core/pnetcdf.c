/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/pnetcdf.h"

#include <string.h>

/* ---- files ----------------------------------------------------------------------------------- */

#define FILE_WORD(name) RAMA_TAB_PNETCDF_FILE_##name

_Static_assert(FILE_WORD(F_WAIT_END_TIMESTAMP) == FILE_WORD(F_OPEN_START_TIMESTAMP) + 5 &&
		       FILE_WORD(F_WAIT_TIME) == FILE_WORD(F_META_TIME) + 1 &&
		       RAMA_TAB_PNETCDF_FILE__WORDS == FILE_WORD(F_WAIT_TIME) + 1,
	       "moments, then sums");

void rama_core_pnetcdf_file_init(struct rama_core_pnetcdf_file *f, uint64_t id)
{
	memset(f, 0, sizeof(*f));
	f->w[RAMA_TAB_ID].u = id;
}

static void file_stamp(struct rama_core_pnetcdf_file *f, unsigned start, unsigned end,
		       const struct rama_core_op *op)
{
	rama_core_times_stamp(&f->w[start], &f->w[end], op);
}

static void file_opened(struct rama_core_pnetcdf_file *f, const struct rama_core_op *op,
			unsigned counter)
{
	f->w[counter].i++;
	file_stamp(f, FILE_WORD(F_OPEN_START_TIMESTAMP), FILE_WORD(F_OPEN_END_TIMESTAMP), op);
}

/* once unknown, a sum stays so */
static void add_known(union rama_core_word *sum, int64_t n)
{
	sum->i = sum->i < 0 || n < 0 ? -1 : rama_core_add(sum->i, n);
}

static void file_closed(struct rama_core_pnetcdf_file *f, const struct rama_core_op *op)
{
	add_known(&f->w[FILE_WORD(BYTES_READ)], op->off);
	add_known(&f->w[FILE_WORD(BYTES_WRITTEN)], op->bytes);
	file_stamp(f, FILE_WORD(F_CLOSE_START_TIMESTAMP), FILE_WORD(F_CLOSE_END_TIMESTAMP), op);
}

/* has a time whether or not it succeeds */
static void file_waited(struct rama_core_pnetcdf_file *f, const struct rama_core_op *op)
{
	unsigned counter = !op->ok			      ? FILE_WORD(WAIT_FAILURES)
			   : op->how == RAMA_CORE_NC_HOW_COLL ? FILE_WORD(COLL_WAITS)
							      : FILE_WORD(INDEP_WAITS);

	f->w[counter].i++;
	file_stamp(f, FILE_WORD(F_WAIT_START_TIMESTAMP), FILE_WORD(F_WAIT_END_TIMESTAMP), op);
	rama_core_times_add(&f->w[FILE_WORD(F_WAIT_TIME)], &f->wait_end, op);
}

void rama_core_pnetcdf_file_apply(struct rama_core_pnetcdf_file *f, const struct rama_core_op *op)
{
	if (op->kind == RAMA_TAB_OP_WAIT)
		file_waited(f, op);
	if (!op->ok && op->kind != RAMA_TAB_OP_CLOSE)
		return;
	switch (op->kind) {
	case RAMA_TAB_OP_CREATE:
		file_opened(f, op, FILE_WORD(CREATES));
		break;
	case RAMA_TAB_OP_OPEN:
		file_opened(f, op, FILE_WORD(OPENS));
		break;
	case RAMA_TAB_OP_REDEF:
		f->w[FILE_WORD(REDEFS)].i++;
		break;
	case RAMA_TAB_OP_SYNC:
		f->w[FILE_WORD(SYNCS)].i++;
		break;
	case RAMA_TAB_OP_CLOSE:
		file_closed(f, op);
		break;
	case RAMA_TAB_OP_ENDDEF:
		break;
	default:
		return;
	}
	rama_core_times_add(&f->w[FILE_WORD(F_META_TIME)], &f->meta_end, op);
}

void rama_core_pnetcdf_file_finish(const struct rama_core_pnetcdf_file *f, double tick,
				   union rama_core_word w[RAMA_TAB_PNETCDF_FILE__WORDS])
{
	memcpy(w, f->w, sizeof(f->w));
	for (unsigned i = FILE_WORD(F_OPEN_START_TIMESTAMP); i <= FILE_WORD(F_WAIT_END_TIMESTAMP);
	     i++)
		w[i].f = rama_core_times_moment(f->w[i], tick);
	for (unsigned i = FILE_WORD(F_META_TIME); i <= FILE_WORD(F_WAIT_TIME); i++)
		w[i].f = rama_core_times_sum(f->w[i], tick);
}

static void file_init(void *slot, const struct rama_core_new *n)
{
	rama_core_pnetcdf_file_init(slot, n->id);
}

static void file_apply(void *slot, const struct rama_core_op *op)
{
	rama_core_pnetcdf_file_apply(slot, op);
}

static void file_finish(const void *slot, double tick, union rama_core_word *w)
{
	rama_core_pnetcdf_file_finish(slot, tick, w);
}

const struct rama_core_kind rama_core_kind_pnetcdf_file = {
	RAMA_CORE_KIND_OF(struct rama_core_pnetcdf_file),
	.init = file_init,
	.apply = file_apply,
	.finish = file_finish,
};

/* ---- variables ------------------------------------------------------------------------------- */

#define VAR_WORD(name) RAMA_TAB_PNETCDF_VAR_##name

RAMA_CORE_TRANSFER_CHECK(PNETCDF_VAR);
_Static_assert(VAR_WORD(ACCESS1_COUNT) == VAR_WORD(ACCESS1_ACCESS) + 4 * RAMA_CORE_TUPLE_WORDS &&
		       VAR_WORD(ACCESS1_STRIDE_D1) == VAR_WORD(ACCESS1_LENGTH_D1) + RAMA_CORE_DIMS,
	       "slots of the most frequent accesses follow each other");
_Static_assert(VAR_WORD(NB_WRITES) == VAR_WORD(INDEP_READS) + 2 * RAMA_CORE_NC_HOW_NB + 1,
	       "counters of calls stand in the order of enum rama_core_nc_how");
_Static_assert(VAR_WORD(PUT_VARD) == VAR_WORD(PUT_VAR) + RAMA_CORE_NC_VARD &&
		       VAR_WORD(GET_VARD) == VAR_WORD(GET_VAR) + RAMA_CORE_NC_VARD &&
		       VAR_WORD(IPUT_VARN) == VAR_WORD(IPUT_VAR) + RAMA_CORE_NC_VARN &&
		       VAR_WORD(IGET_VARN) == VAR_WORD(IGET_VAR) + RAMA_CORE_NC_VARN &&
		       VAR_WORD(BPUT_VARN) == VAR_WORD(BPUT_VAR) + RAMA_CORE_NC_VARN,
	       "counters of forms stand in the order of enum rama_core_nc_form");

static const struct rama_core_transfer_words words[] = {
	RAMA_CORE_TRANSFER_WORDS(PNETCDF_VAR, READ, READ),
	RAMA_CORE_TRANSFER_WORDS(PNETCDF_VAR, WRITE, WRITTEN),
};

int64_t rama_core_pnetcdf_select(struct rama_core_pnetcdf_access *a, unsigned ndims,
				 const int64_t *count, const int64_t *stride)
{
	bool strided = a->form == RAMA_CORE_NC_VARS || a->form == RAMA_CORE_NC_VARM;
	unsigned skip = ndims > RAMA_CORE_DIMS ? ndims - RAMA_CORE_DIMS : 0;
	int64_t points = 1;

	for (unsigned k = 0; k < RAMA_CORE_DIMS; k++) {
		bool there = skip + k < ndims;

		a->length[k] = there ? count[skip + k] : 0;
		a->stride[k] = !there || !strided ? 0 : stride ? stride[skip + k] : 1;
	}
	for (unsigned i = 0; i < ndims; i++) {
		if (count[i] <= 0)
			return 0;
		if (__builtin_mul_overflow(points, count[i], &points))
			points = INT64_MAX;
	}
	return points;
}

void rama_core_pnetcdf_var_init(struct rama_core_pnetcdf_var *f, uint64_t id, uint64_t file_id)
{
	memset(f, 0, sizeof(*f));
	f->w[RAMA_TAB_ID].u = id;
	f->w[VAR_WORD(FILE_REC_ID)].u = file_id;
	rama_core_tuples_init(&f->access);
}

void rama_core_pnetcdf_var_open(struct rama_core_pnetcdf_var *f, const struct rama_core_op *op,
				const struct rama_core_pnetcdf_shape *s)
{
	if (!op->ok)
		return;
	f->w[VAR_WORD(NDIMS)].i = s->ndims;
	f->w[VAR_WORD(NPOINTS)].i = s->npoints;
	f->w[VAR_WORD(DATATYPE_SIZE)].i = s->type_size;
	f->w[VAR_WORD(IS_RECORD_VAR)].i = s->is_record;
	if (op->kind != RAMA_TAB_OP_OPEN)
		return;
	f->w[VAR_WORD(OPENS)].i++;
	rama_core_times_stamp(&f->w[VAR_WORD(F_OPEN_START_TIMESTAMP)],
			      &f->w[VAR_WORD(F_OPEN_END_TIMESTAMP)], op);
	rama_core_times_add(&f->w[VAR_WORD(F_META_TIME)], &f->progress.end[RAMA_CORE_META], op);
}

static void count_form(struct rama_core_pnetcdf_var *f, unsigned how, unsigned form, bool wr)
{
	bool blocking = how <= RAMA_CORE_NC_HOW_COLL;
	unsigned first = blocking ? (wr ? VAR_WORD(PUT_VAR) : VAR_WORD(GET_VAR))
			 : !wr	  ? VAR_WORD(IGET_VAR)
			 : how == RAMA_CORE_NC_HOW_BUFFERED ? VAR_WORD(BPUT_VAR)
							    : VAR_WORD(IPUT_VAR);

	if (form <= (blocking ? RAMA_CORE_NC_VARD : RAMA_CORE_NC_VARN)) /* there is no iput_vard */
		f->w[first + form].i++;
}

static void transfer(struct rama_core_pnetcdf_var *f, const struct rama_core_op *op,
		     const struct rama_core_pnetcdf_access *a, bool wr)
{
	unsigned way = op->how < RAMA_CORE_NC_HOW_NB ? op->how : RAMA_CORE_NC_HOW_NB;
	struct rama_core_tuple t = { .size = op->bytes };

	f->w[VAR_WORD(INDEP_READS) + 2 * way + wr].i++;
	count_form(f, op->how, a->form, wr);
	rama_core_transfer(f->w, &f->progress, &words[wr], op, VAR_WORD(RW_SWITCHES));
	memcpy(t.length, a->length, sizeof(t.length));
	memcpy(t.stride, a->stride, sizeof(t.stride));
	rama_core_tuples_add(&f->access, &t);
}

void rama_core_pnetcdf_var_apply(struct rama_core_pnetcdf_var *f, const struct rama_core_op *op,
				 const struct rama_core_pnetcdf_access *a)
{
	if (op->ok && op->kind == RAMA_TAB_OP_READ)
		transfer(f, op, a, false);
	else if (op->ok && op->kind == RAMA_TAB_OP_WRITE)
		transfer(f, op, a, true);
}

void rama_core_pnetcdf_var_finish(const struct rama_core_pnetcdf_var *f, double tick,
				  union rama_core_word w[RAMA_TAB_PNETCDF_VAR__WORDS])
{
	memcpy(w, f->w, sizeof(f->w));
	rama_core_tuples_top4(&f->access, &w[VAR_WORD(ACCESS1_ACCESS)],
			      &w[VAR_WORD(ACCESS1_COUNT)]);
	rama_core_transfer_finish(&w[VAR_WORD(F_OPEN_START_TIMESTAMP)], tick);
}

/* ---- the kind -------------------------------------------------------------------------------- */

static void var_init(void *slot, const struct rama_core_new *n)
{
	rama_core_pnetcdf_var_init(slot, n->id, n->file_id);
}

static void var_finish(const void *slot, double tick, union rama_core_word *w)
{
	rama_core_pnetcdf_var_finish(slot, tick, w);
}

const struct rama_core_kind rama_core_kind_pnetcdf_var = {
	RAMA_CORE_KIND_OF(struct rama_core_pnetcdf_var),
	.init = var_init,
	.finish = var_finish,
};
