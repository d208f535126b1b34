/* SPDX-License-Identifier: BSD-3-Clause */
/* phase.c: phases that a program names: when it was in which. Several threads that are in one are
 * in it once: from the first that begins to the last that ends. See skeleton.c. */
#include "core/phase.h"

#include <string.h>

#include "core/times.h"

#define TICKS_MAX (1ull << 60) /* decades; later times are nonsense */

static void init(void *slot, const struct rama_core_new *n)
{
	struct rama_core_phase *s = slot;

	memset(s, 0, sizeof(*s));
	s->w[RAMA_TAB_ID].u = n->id;
}

/* Room for one more: the two times with the least between them become one. */
static void make_room(struct rama_core_phase *s)
{
	unsigned at = 0;
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i + 1 < RAMA_CORE_PHASE_SPANS; i++) {
		uint64_t gap = s->span[i + 1].start - s->span[i].end;

		if (gap < least) {
			least = gap;
			at = i;
		}
	}
	s->span[at].end = s->span[at + 1].end;
	memmove(&s->span[at + 1], &s->span[at + 2],
		(RAMA_CORE_PHASE_SPANS - at - 2) * sizeof(s->span[0]));
	s->spans--;
	s->w[RAMA_TAB_PHASE_JOINED].i++;
}

static void begin(struct rama_core_phase *s, const struct rama_core_op *op)
{
	union rama_core_word *w = s->w;
	uint64_t now = op->t0;

	if (s->depth++ > 0)
		return;
	/* threads do not always come here in the order of their clocks */
	if (s->spans > 0 && now < s->span[s->spans - 1].end)
		now = s->span[s->spans - 1].end;
	s->from = now;
	s->moved[0] = op->bytes;
	s->moved[1] = op->off;
	w[RAMA_TAB_PHASE_TIMES].i++;
	if (w[RAMA_TAB_PHASE_F_START_TIMESTAMP].u == 0)
		w[RAMA_TAB_PHASE_F_START_TIMESTAMP].u = now;
	w[RAMA_TAB_PHASE_F_END_TIMESTAMP].u = now;
}

/* so many more; a bin that became another one meanwhile may have been counted twice, or not */
static int64_t more(int64_t now, int64_t then)
{
	return now > then ? now - then : 0;
}

static void end(struct rama_core_phase *s, const struct rama_core_op *op)
{
	union rama_core_word *w = s->w;
	uint64_t now = op->t0;

	if (s->depth == 0 || --s->depth > 0)
		return;
	if (now < s->from)
		now = s->from;
	w[RAMA_TAB_PHASE_F_END_TIMESTAMP].u = now;
	w[RAMA_TAB_PHASE_F_TIME].u += now - s->from;
	w[RAMA_TAB_PHASE_BYTES_WRITTEN].i += more(op->bytes, s->moved[0]);
	w[RAMA_TAB_PHASE_BYTES_READ].i += more(op->off, s->moved[1]);
	if (now - s->from > w[RAMA_TAB_PHASE_F_LONGEST].u)
		w[RAMA_TAB_PHASE_F_LONGEST].u = now - s->from;
	if (s->spans == RAMA_CORE_PHASE_SPANS)
		make_room(s);
	s->span[s->spans++] = (struct rama_core_phase_span){ s->from, now };
}

static void apply(void *slot, const struct rama_core_op *op)
{
	if (op->kind == RAMA_TAB_OP_OPEN)
		begin(slot, op);
	else if (op->kind == RAMA_TAB_OP_CLOSE)
		end(slot, op);
}

static int64_t nanoseconds(uint64_t ticks, double tick)
{
	double ns = (double)ticks * tick * 1e9;

	return ns < 9e18 ? (int64_t)ns : INT64_MAX;
}

static void finish(const void *slot, double tick, union rama_core_word *w)
{
	const struct rama_core_phase *s = slot;
	uint64_t start = s->w[RAMA_TAB_PHASE_F_START_TIMESTAMP].u, last = start;
	union rama_core_word *to = w + RAMA_TAB_PHASE__WORDS;
	unsigned n = s->spans < RAMA_CORE_PHASE_SPANS ? s->spans : RAMA_CORE_PHASE_SPANS, kept = 0;

	memcpy(w, s->w, sizeof(s->w));
	for (unsigned i = 0; i < n; i++) {
		const struct rama_core_phase_span *x = &s->span[i];

		if (x->start < last || x->end < x->start || x->end > TICKS_MAX)
			continue; /* damage */
		to[2 * kept].i = nanoseconds(x->start - start, tick);
		to[2 * kept++ + 1].i = nanoseconds(x->end - x->start, tick);
		last = x->end;
	}
	w[RAMA_TAB_PHASE_OPEN].i = s->depth > 0;
	if (s->depth > 0 && s->from >= last && s->from < TICKS_MAX) {
		to[2 * kept].i = nanoseconds(s->from - start, tick);
		to[2 * kept++ + 1].i = -1;
	}
	w[RAMA_TAB_PHASE_SPANS].u = kept;
	for (unsigned i = RAMA_TAB_PHASE_F_START_TIMESTAMP; i <= RAMA_TAB_PHASE_F_END_TIMESTAMP;
	     i++)
		w[i].f = rama_core_times_moment(s->w[i], tick);
	for (unsigned i = RAMA_TAB_PHASE_F_TIME; i <= RAMA_TAB_PHASE_F_LONGEST; i++)
		w[i].f = rama_core_times_sum(s->w[i], tick);
}

static bool is_idle(const void *slot)
{
	const struct rama_core_phase *s = slot;

	return s->w[RAMA_TAB_PHASE_TIMES].i == 0;
}

const struct rama_core_kind rama_core_kind_phase = {
	RAMA_CORE_KIND_OF(struct rama_core_phase),
	.init = init,
	.apply = apply,
	.finish = finish,
	.is_idle = is_idle,
};
