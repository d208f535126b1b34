/* SPDX-License-Identifier: BSD-3-Clause */
/* skeleton.c: how to write a kind of record. Copy this file to core/x.c and change what it counts;
 * docs/howto-add-module.md does that, step by step, with a module that works. This one is compiled
 * and tested, but no row names it: no log has its records.
 *
 * A kind is the memory of one file (or dataset, or whatever has a name) in an observed process,
 * and three functions: init begins it, apply adds one call to it, finish makes the record of the
 * log. All of them are pure. No clock, no memory of their own, no system call, no lock: the caller
 * holds the slot's lock while init and apply are at work, in the middle of somebody else's
 * program. What they cost is added to every call of it. */
#include <string.h>

#include "core/kind.h"
#include "core/times.h"

/* The words of the record. Of a real kind they come from counters_x.def, as RAMA_TAB_X_OPENS and
 * so on: `#define REC` in table/modules.def says so. Words 0 and 1 are its id and its rank. */
enum {
	OPENS = RAMA_TAB_BASE_WORDS,
	WRITES,
	BYTES_WRITTEN,
	F_WRITE_START_TIMESTAMP,
	F_WRITE_END_TIMESTAMP,
	F_WRITE_TIME,
	WORDS
};

/* The slot. It is part of the segment, which other processes read while it changes: no pointers,
 * and a change of a released kind needs another RAMA_SEG_VERSION (segment/layout.h). At most
 * RAMA_CORE_SLOT_MOST bytes. */
struct slot {
	struct rama_core_slot head; /* must be first; others look after it */
	uint64_t write_end;	    /* what only this kind needs to remember from call to call */
	/* The record. Words that are times hold ticks as long as the process runs. */
	union rama_core_word w[WORDS];
};

/* The first call on a name. All of the slot is set: it may hold anything. */
static void init(void *slot, const struct rama_core_new *n)
{
	struct slot *s = slot;

	memset(s, 0, sizeof(*s));
	s->w[RAMA_TAB_ID].u = n->id;
}

/* One call. Which kinds of operations come here is said by the rows of fn_x.def. A call that failed
 * comes too, for names that are known already. */
static void apply(void *slot, const struct rama_core_op *op)
{
	struct slot *s = slot;
	union rama_core_word *w = s->w;

	if (!op->ok)
		return;
	switch (op->kind) {
	case RAMA_TAB_OP_OPEN:
		w[OPENS].i++;
		break;
	case RAMA_TAB_OP_WRITE:
		w[WRITES].i++;
		w[BYTES_WRITTEN].i = rama_core_add(w[BYTES_WRITTEN].i, op->bytes);
		rama_core_times_stamp(&w[F_WRITE_START_TIMESTAMP], &w[F_WRITE_END_TIMESTAMP], op);
		/* calls of several threads that overlap count once */
		rama_core_times_add(&w[F_WRITE_TIME], &s->write_end, op);
		break;
	default: /* means nothing here */
		break;
	}
}

/* The record of the log: what was kept as it is, times as seconds. The caller sets id and rank. The
 * slot may come from a process that was killed while it wrote: nothing in it may be trusted to
 * be an index or a length. */
static void finish(const void *slot, double tick, union rama_core_word *w)
{
	const struct slot *s = slot;

	memcpy(w, s->w, sizeof(s->w));
	w[F_WRITE_START_TIMESTAMP].f = rama_core_times_moment(w[F_WRITE_START_TIMESTAMP], tick);
	w[F_WRITE_END_TIMESTAMP].f = rama_core_times_moment(w[F_WRITE_END_TIMESTAMP], tick);
	w[F_WRITE_TIME].f = rama_core_times_sum(w[F_WRITE_TIME], tick);
}

/* What table/modules.def names, by the column `record` of a row K: rama_core_kind_x. */
extern const struct rama_core_kind rama_core_kind_skeleton; /* real ones: core/kind.h */
const struct rama_core_kind rama_core_kind_skeleton = {
	RAMA_CORE_KIND_OF(struct slot),
	.init = init,
	.apply = apply,
	.finish = finish,
};
