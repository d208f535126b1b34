/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/h5f.h"

#include <string.h>

#include "core/times.h"

void rama_core_h5f_init(struct rama_core_h5f_file *f, uint64_t id)
{
	memset(f, 0, sizeof(*f));
	f->w[RAMA_TAB_ID].u = id;
}

void rama_core_h5f_apply(struct rama_core_h5f_file *f, const struct rama_core_op *op)
{
	union rama_core_word *w = f->w;

	if (!op->ok && op->kind != RAMA_TAB_OP_CLOSE)
		return;
	switch (op->kind) {
	case RAMA_TAB_OP_OPEN:
		w[RAMA_TAB_H5F_OPENS].i++;
		w[RAMA_TAB_H5F_USE_MPIIO].i = op->how == RAMA_CORE_H5F_MPIIO;
		rama_core_times_stamp(&w[RAMA_TAB_H5F_F_OPEN_START_TIMESTAMP],
				      &w[RAMA_TAB_H5F_F_OPEN_END_TIMESTAMP], op);
		break;
	case RAMA_TAB_OP_FLUSH:
		w[RAMA_TAB_H5F_FLUSHES].i++;
		break;
	case RAMA_TAB_OP_CLOSE:
		rama_core_times_stamp(&w[RAMA_TAB_H5F_F_CLOSE_START_TIMESTAMP],
				      &w[RAMA_TAB_H5F_F_CLOSE_END_TIMESTAMP], op);
		break;
	case RAMA_TAB_OP_XATTR: /* attributes, groups, links, named types: time, and no counter */
	case RAMA_TAB_OP_MKDIR:
	case RAMA_TAB_OP_READDIR:
	case RAMA_TAB_OP_LINK:
	case RAMA_TAB_OP_UNLINK:
	case RAMA_TAB_OP_RENAME:
	case RAMA_TAB_OP_ACCESS:
	case RAMA_TAB_OP_STATOTHER:
	case RAMA_TAB_OP_TRUNCATE:
		break;
	default:
		return;
	}
	rama_core_times_add(&w[RAMA_TAB_H5F_F_META_TIME], &f->meta_end, op);
}

void rama_core_h5f_finish(const struct rama_core_h5f_file *f, double tick,
			  union rama_core_word w[RAMA_TAB_H5F__WORDS])
{
	memcpy(w, f->w, sizeof(f->w));
	for (unsigned i = RAMA_TAB_H5F_F_OPEN_START_TIMESTAMP;
	     i <= RAMA_TAB_H5F_F_CLOSE_END_TIMESTAMP; i++)
		w[i].f = rama_core_times_moment(f->w[i], tick);
	w[RAMA_TAB_H5F_F_META_TIME].f = rama_core_times_sum(f->w[RAMA_TAB_H5F_F_META_TIME], tick);
}

/* ---- the kind -------------------------------------------------------------------------------- */

static void init(void *slot, const struct rama_core_new *n)
{
	rama_core_h5f_init(slot, n->id);
}

static void apply(void *slot, const struct rama_core_op *op)
{
	rama_core_h5f_apply(slot, op);
}

static void finish(const void *slot, double tick, union rama_core_word *w)
{
	rama_core_h5f_finish(slot, tick, w);
}

const struct rama_core_kind rama_core_kind_h5f = {
	RAMA_CORE_KIND_OF(struct rama_core_h5f_file),
	.init = init,
	.apply = apply,
	.finish = finish,
};
