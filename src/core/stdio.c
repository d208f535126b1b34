/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/stdio.h"

#include <string.h>

void rama_core_stdio_init(struct rama_core_stdio_file *f, uint64_t id, bool standard)
{
	memset(f, 0, sizeof(*f));
	f->w[RAMA_TAB_ID].u = id;
	f->standard = standard;
	f->w[RAMA_TAB_STDIO_OPENS].i = standard;
}

static void write_time(struct rama_core_stdio_file *f, const struct rama_core_op *op)
{
	union rama_core_word *w = f->w;

	rama_core_times_stamp(&w[RAMA_TAB_STDIO_F_WRITE_START_TIMESTAMP],
			      &w[RAMA_TAB_STDIO_F_WRITE_END_TIMESTAMP], op);
	rama_core_times_add(&w[RAMA_TAB_STDIO_F_WRITE_TIME], &f->write_end, op);
}

static void meta(struct rama_core_stdio_file *f, const struct rama_core_op *op)
{
	rama_core_times_add(&f->w[RAMA_TAB_STDIO_F_META_TIME], &f->meta_end, op);
}

static void opened(struct rama_core_stdio_file *f, const struct rama_core_op *op)
{
	f->w[RAMA_TAB_STDIO_OPENS].i++;
	rama_core_times_stamp(&f->w[RAMA_TAB_STDIO_F_OPEN_START_TIMESTAMP],
			      &f->w[RAMA_TAB_STDIO_F_OPEN_END_TIMESTAMP], op);
	meta(f, op);
}

void rama_core_stdio_apply(struct rama_core_stdio_file *f, const struct rama_core_op *op)
{
	if (!op->ok && op->kind != RAMA_TAB_OP_CLOSE)
		return;
	switch (op->kind) {
	case RAMA_TAB_OP_READ:
		if (op->bytes >= 0)
			rama_core_stdio_move(f, op, true);
		break;
	case RAMA_TAB_OP_WRITE:
		if (op->bytes >= 0)
			rama_core_stdio_move(f, op, false);
		break;
	case RAMA_TAB_OP_FLUSH:
		f->w[RAMA_TAB_STDIO_FLUSHES].i++;
		write_time(f, op);
		break;
	case RAMA_TAB_OP_SEEK:
		f->offset = op->off;
		f->w[RAMA_TAB_STDIO_SEEKS].i++;
		meta(f, op);
		break;
	case RAMA_TAB_OP_OPEN:
		f->offset = 0;
		opened(f, op);
		break;
	case RAMA_TAB_OP_FDOPEN:
		f->w[RAMA_TAB_STDIO_FDOPENS].i++;
		opened(f, op);
		break;
	case RAMA_TAB_OP_CLOSE: /* the stream is gone, whatever the call returned */
		rama_core_times_stamp(&f->w[RAMA_TAB_STDIO_F_CLOSE_START_TIMESTAMP],
				      &f->w[RAMA_TAB_STDIO_F_CLOSE_END_TIMESTAMP], op);
		meta(f, op);
		break;
	}
}

void rama_core_stdio_finish(const struct rama_core_stdio_file *f, double tick,
			    union rama_core_word w[RAMA_TAB_STDIO__WORDS])
{
	memcpy(w, f->w, sizeof(f->w));
	for (unsigned i = RAMA_TAB_STDIO_F_META_TIME; i <= RAMA_TAB_STDIO_F_READ_TIME; i++)
		w[i].f = rama_core_times_sum(f->w[i], tick);
	for (unsigned i = RAMA_TAB_STDIO_F_OPEN_START_TIMESTAMP;
	     i <= RAMA_TAB_STDIO_F_READ_END_TIMESTAMP; i++)
		w[i].f = rama_core_times_moment(f->w[i], tick);
	for (unsigned i = RAMA_TAB_STDIO_F_FASTEST_RANK_TIME; i < RAMA_TAB_STDIO__WORDS; i++)
		w[i].f = 0; /* of several ranks only */
}

/* ---- the kind -------------------------------------------------------------------------------- */

static void init(void *slot, const struct rama_core_new *n)
{
	rama_core_stdio_init(slot, n->id, n->standard);
}

static void apply(void *slot, const struct rama_core_op *op)
{
	rama_core_stdio_apply(slot, op);
}

static void finish(const void *slot, double tick, union rama_core_word *w)
{
	rama_core_stdio_finish(slot, tick, w);
}

/* standard streams are there from the start, whoever uses them or not */
static bool is_idle(const void *slot)
{
	const struct rama_core_stdio_file *f = slot;

	return f->standard && f->w[RAMA_TAB_STDIO_READS].i <= 0 &&
	       f->w[RAMA_TAB_STDIO_WRITES].i <= 0;
}

const struct rama_core_kind rama_core_kind_stdio = {
	RAMA_CORE_KIND_OF(struct rama_core_stdio_file),
	.init = init,
	.apply = apply,
	.finish = finish,
	.is_idle = is_idle,
};
