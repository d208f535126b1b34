/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/extra.h"

#include <string.h>

#include "core/times.h"

enum { RAMA_TAB_EXTRA_NONE = 0 }; /* word 0 is the id: no counter */

static const uint8_t counter_of[RAMA_TAB_OPS] = {
#define OP(kind, counter) [RAMA_TAB_OP_##kind] = RAMA_TAB_EXTRA_##counter,
#include "table/ops.def"
#undef OP
};
_Static_assert(RAMA_TAB_EXTRA__WORDS <= UINT8_MAX, "counters fit the table");

void rama_core_extra_init(struct rama_core_extra_file *f, uint64_t id)
{
	memset(f, 0, sizeof(*f));
	f->w[RAMA_TAB_ID].u = id;
}

void rama_core_extra_apply(struct rama_core_extra_file *f, const struct rama_core_op *op)
{
	unsigned counter = op->kind < RAMA_TAB_OPS ? counter_of[op->kind] : RAMA_TAB_EXTRA_NONE;

	if (!op->ok)
		counter = op->kind == RAMA_TAB_OP_OPEN ? RAMA_TAB_EXTRA_OPENS_FAILED
						       : RAMA_TAB_EXTRA_CALLS_FAILED;
	if (counter == RAMA_TAB_EXTRA_NONE)
		return;
	f->w[counter].i++;
	rama_core_times_stamp(&f->w[RAMA_TAB_EXTRA_F_META_START_TIMESTAMP],
			      &f->w[RAMA_TAB_EXTRA_F_META_END_TIMESTAMP], op);
	rama_core_times_add(&f->w[RAMA_TAB_EXTRA_F_META_TIME], &f->meta_end, op);
}

void rama_core_extra_finish(const struct rama_core_extra_file *f, double tick,
			    union rama_core_word w[RAMA_TAB_EXTRA__WORDS])
{
	memset(w, 0, (RAMA_TAB_EXTRA_F_WRITE_SUM + 1) * sizeof(*w));
	memcpy(w + RAMA_TAB_EXTRA_F_WRITE_SUM + 1, f->w + RAMA_TAB_EXTRA_F_WRITE_SUM + 1,
	       (RAMA_TAB_EXTRA__WORDS - RAMA_TAB_EXTRA_F_WRITE_SUM - 1) * sizeof(*w));
	w[RAMA_TAB_ID] = f->w[RAMA_TAB_ID];
	w[RAMA_TAB_EXTRA_F_META_TIME].f =
		rama_core_times_sum(f->w[RAMA_TAB_EXTRA_F_META_TIME], tick);
	w[RAMA_TAB_EXTRA_F_META_START_TIMESTAMP].f =
		rama_core_times_moment(f->w[RAMA_TAB_EXTRA_F_META_START_TIMESTAMP], tick);
	w[RAMA_TAB_EXTRA_F_META_END_TIMESTAMP].f =
		rama_core_times_moment(f->w[RAMA_TAB_EXTRA_F_META_END_TIMESTAMP], tick);
}

/* ---- the kind -------------------------------------------------------------------------------- */

static void init(void *slot, const struct rama_core_new *n)
{
	rama_core_extra_init(slot, n->id);
}

static void apply(void *slot, const struct rama_core_op *op)
{
	rama_core_extra_apply(slot, op);
}

static void finish(const void *slot, double tick, union rama_core_word *w)
{
	rama_core_extra_finish(slot, tick, w);
}

const struct rama_core_kind rama_core_kind_extra = {
	RAMA_CORE_KIND_OF(struct rama_core_extra_file),
	.init = init,
	.apply = apply,
	.finish = finish,
};
