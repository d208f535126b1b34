/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/sum/total.h"

#include <string.h>

void rama_core_total_init(struct rama_core_total *t, const struct rama_tab_module *mod,
			  union rama_core_word *w)
{
	*t = (struct rama_core_total){ .w = w };
	rama_core_plan_init(&t->plan, mod);
	memset(w, 0, mod->record->words * sizeof(*w));
}

/* Equal values add up in place; others are put before the first slot they beat. The new count is
 * compared as the 32-bit number it was at run time. */
static void add_top(union rama_core_word *y, const union rama_core_word *x,
		    const struct rama_core_top *top)
{
	bool known[4] = { false };

	for (unsigned j = 0; j < 4; j++) {
		for (unsigned k = 0; k < 4; k++) {
			if (y[top->value[k]].i == x[top->value[j]].i) {
				y[top->count[k]].i =
					rama_core_add(y[top->count[k]].i, x[top->count[j]].i);
				known[j] = true;
			}
		}
	}
	for (unsigned j = 0; j < 4; j++) {
		int64_t value = x[top->value[j]].i, count = (int32_t)x[top->count[j]].u;
		unsigned k = 0;

		if (known[j])
			continue;
		if (value == 0)
			break;
		while (k < 4 && (y[top->count[k]].i > count ||
				 (y[top->count[k]].i == count && y[top->value[k]].i > value)))
			k++;
		if (k == 4)
			break;
		for (unsigned s = 3; s > k; s--) {
			y[top->value[s]] = y[top->value[s - 1]];
			y[top->count[s]] = y[top->count[s - 1]];
		}
		y[top->value[k]].i = value;
		y[top->count[k]].i = x[top->count[j]].i;
	}
}

static void add_field(struct rama_core_total *t, const struct rama_tab_field *f,
		      const union rama_core_word *x)
{
	union rama_core_word *y = &t->w[f->word];

	switch (f->reduce) {
	case RAMA_TAB_SUM:
	case RAMA_TAB_SUM_NEG:
		if (f->type == RAMA_TAB_F64) {
			y->f += x->f;
			break;
		}
		y->i = rama_core_add(y->i, x->i);
		if ((t->plan.mod->flags & RAMA_TAB_CLAMP) && y->i < 0)
			y->i = -1;
		break;
	case RAMA_TAB_MAX:
		if (f->type == RAMA_TAB_F64 ? x->f > y->f : x->i > y->i)
			*y = *x;
		break;
	case RAMA_TAB_MIN_NZ:
		if (x->f > 0 && (y->f == 0 || x->f < y->f))
			*y = *x;
		break;
	case RAMA_TAB_KEEP:
		*y = *x;
		break;
	default:
		break; /* kinds that move together: below */
	}
}

static void add_slowest_call(struct rama_core_total *t, const union rama_core_word *x,
			     unsigned lead, unsigned with)
{
	unsigned l = t->plan.at[lead], w = t->plan.at[with];

	if (l != RAMA_TAB_NO_WORD && w != RAMA_TAB_NO_WORD && x[l].f > t->w[l].f) {
		t->w[l] = x[l];
		t->w[w] = x[w];
	}
}

/* FASTEST_*, SLOWEST_*: have a meaning only while all records are of one file */
static void add_extreme(struct rama_core_total *t, const union rama_core_word *x, unsigned rank,
			bool slowest)
{
	const struct rama_core_plan *p = &t->plan;
	unsigned wr = p->at[rank], wb = p->at[rank + 1], wt = p->at[rank + 2];
	union rama_core_word r, b, time;

	if (wt == RAMA_TAB_NO_WORD)
		return;
	if (!t->same) {
		t->w[wr].i = t->w[wb].i = -1;
		t->w[wt].f = 0;
		return;
	}
	r = x[wr], b = x[wb], time = x[wt];
	if (x[RAMA_TAB_RANK].i != -1) {
		r.i = x[RAMA_TAB_RANK].i;
		b.i = rama_core_add(x[p->bytes_read].i, x[p->bytes_written].i);
		time.f = x[p->read_time].f + x[p->write_time].f + x[p->meta_time].f;
	}
	if (!t->any || (slowest ? time.f > t->w[wt].f : time.f < t->w[wt].f)) {
		t->w[wr] = r;
		t->w[wb] = b;
		t->w[wt] = time;
	}
}

void rama_core_total_add(struct rama_core_total *t, const struct rama_core_record *r)
{
	const struct rama_tab_schema *s = t->plan.mod->record;
	const struct rama_core_top *a = &t->plan.access;

	if (!t->any)
		t->id = r->w[RAMA_TAB_ID].u;
	t->same = t->id == r->w[RAMA_TAB_ID].u;
	if (!t->same)
		t->id = 0; /* as the original: from here on only an id of 0 matches */
	for (unsigned i = 0; i < *s->n_fields; i++)
		if (s->fields[i].place == RAMA_TAB_COUNTER)
			add_field(t, &s->fields[i], &r->w[s->fields[i].word]);
	add_slowest_call(t, r->w, RAMA_TAB_LEAD_READ, RAMA_TAB_WITH_READ);
	add_slowest_call(t, r->w, RAMA_TAB_LEAD_WRITE, RAMA_TAB_WITH_WRITE);
	/* MPI-IO ignores lists that are empty; for the others an empty slot is a value like any */
	if (a->width == 1 && (t->plan.mod->id != RAMA_TAB_MOD_MPIIO || r->w[a->value[0]].i != 0))
		add_top(t->w, r->w, a);
	if (t->plan.stride.width == 1)
		add_top(t->w, r->w, &t->plan.stride);
	add_extreme(t, r->w, RAMA_TAB_FAST_RANK, false);
	add_extreme(t, r->w, RAMA_TAB_SLOW_RANK, true);
	t->any = true;
}
