/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/mpiio.h"

#include <string.h>

RAMA_CORE_TRANSFER_CHECK(MPIIO);
_Static_assert(RAMA_TAB_MPIIO_NB_WRITES == RAMA_TAB_MPIIO_INDEP_READS + 2 * RAMA_CORE_MPI_NB + 1 &&
		       RAMA_TAB_MPIIO_SPLIT_READS ==
			       RAMA_TAB_MPIIO_INDEP_READS + 2 * RAMA_CORE_MPI_SPLIT,
	       "counters of calls stand in the order of enum rama_core_mpi_how");
_Static_assert((RAMA_CORE_MPI_HOWS & (RAMA_CORE_MPI_HOWS - 1)) == 0,
	       "a mask keeps `how` in its range");

static const struct rama_core_transfer_words words[] = {
	RAMA_CORE_TRANSFER_WORDS(MPIIO, READ, READ),
	RAMA_CORE_TRANSFER_WORDS(MPIIO, WRITE, WRITTEN),
};

/* `wr` is a constant wherever this is used. The values come last: what may call is then a jump. */
static RAMA_CORE_INLINE void transfer(struct rama_core_mpiio_file *restrict f,
				      const struct rama_core_op *restrict op, unsigned wr)
{
	f->w[RAMA_TAB_MPIIO_INDEP_READS + 2 * (op->how & (RAMA_CORE_MPI_HOWS - 1)) + wr].i++;
	rama_core_transfer(f->w, &f->progress, &words[wr], op, RAMA_TAB_MPIIO_RW_SWITCHES);
	rama_core_values_add(&f->access, op->bytes);
}

static void meta(struct rama_core_mpiio_file *f, const struct rama_core_op *op)
{
	rama_core_times_add(&f->w[RAMA_TAB_MPIIO_F_META_TIME], &f->progress.end[RAMA_CORE_META],
			    op);
}

static void opened(struct rama_core_mpiio_file *f, const struct rama_core_op *op)
{
	f->w[op->how == RAMA_CORE_MPI_COLL ? RAMA_TAB_MPIIO_COLL_OPENS : RAMA_TAB_MPIIO_INDEP_OPENS]
		.i++;
	f->w[RAMA_TAB_MPIIO_MODE].i = op->mode;
	rama_core_times_stamp(&f->w[RAMA_TAB_MPIIO_F_OPEN_START_TIMESTAMP],
			      &f->w[RAMA_TAB_MPIIO_F_OPEN_END_TIMESTAMP], op);
	meta(f, op);
}

static void other(struct rama_core_mpiio_file *f, const struct rama_core_op *op)
{
	switch (op->kind) {
	case RAMA_TAB_OP_OPEN:
		opened(f, op);
		break;
	case RAMA_TAB_OP_CLOSE:
		rama_core_times_stamp(&f->w[RAMA_TAB_MPIIO_F_CLOSE_START_TIMESTAMP],
				      &f->w[RAMA_TAB_MPIIO_F_CLOSE_END_TIMESTAMP], op);
		meta(f, op);
		break;
	case RAMA_TAB_OP_SYNC: /* time of writing, without being a write */
		f->w[RAMA_TAB_MPIIO_SYNCS].i++;
		rama_core_times_add(&f->w[RAMA_TAB_MPIIO_F_WRITE_TIME],
				    &f->progress.end[RAMA_CORE_WRITE], op);
		break;
	case RAMA_TAB_OP_VIEW: /* its time counts if hints came with it: the log format has it so */
		f->w[RAMA_TAB_MPIIO_VIEWS].i++;
		break;
	case RAMA_TAB_OP_HINT: /* of an open: its time is counted already and adds nothing */
		f->w[RAMA_TAB_MPIIO_HINTS].i++;
		meta(f, op);
		break;
	}
}

void rama_core_mpiio_init(struct rama_core_mpiio_file *f, uint64_t id)
{
	memset(f, 0, sizeof(*f));
	f->w[RAMA_TAB_ID].u = id;
	rama_core_values_init(&f->access);
}

void rama_core_mpiio_apply(struct rama_core_mpiio_file *restrict f,
			   const struct rama_core_op *restrict op)
{
	/* the handle is gone after a close, whatever it returned */
	if (RAMA_CORE_SELDOM(!op->ok && op->kind != RAMA_TAB_OP_CLOSE))
		return;
	if (op->kind == RAMA_TAB_OP_READ)
		transfer(f, op, 0);
	else if (op->kind == RAMA_TAB_OP_WRITE)
		transfer(f, op, 1);
	else
		other(f, op);
}

void rama_core_mpiio_finish(const struct rama_core_mpiio_file *f, double tick,
			    union rama_core_word w[RAMA_TAB_MPIIO__WORDS])
{
	memcpy(w, f->w, sizeof(f->w));
	rama_core_values_top4(&f->access, &w[RAMA_TAB_MPIIO_ACCESS1_ACCESS],
			      &w[RAMA_TAB_MPIIO_ACCESS1_COUNT]);
	rama_core_transfer_finish(&w[RAMA_TAB_MPIIO_F_OPEN_START_TIMESTAMP], tick);
}

/* ---- the kind -------------------------------------------------------------------------------- */

static void init(void *slot, const struct rama_core_new *n)
{
	rama_core_mpiio_init(slot, n->id);
}

static void apply(void *slot, const struct rama_core_op *op)
{
	rama_core_mpiio_apply(slot, op);
}

static void finish(const void *slot, double tick, union rama_core_word *w)
{
	rama_core_mpiio_finish(slot, tick, w);
}

const struct rama_core_kind rama_core_kind_mpiio = {
	RAMA_CORE_KIND_OF(struct rama_core_mpiio_file),
	.init = init,
	.apply = apply,
	.finish = finish,
};
