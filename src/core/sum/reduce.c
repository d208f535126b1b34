/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/sum/reduce.h"

#include <string.h>

#define WIDE_MAX 11 /* words of the widest value of a list */

bool rama_core_reducible(const struct rama_tab_module *mod)
{
	return mod->header == NULL && !(mod->flags & (RAMA_TAB_TRACE | RAMA_TAB_LISTS)) &&
	       mod->id != RAMA_TAB_MOD_HEATMAP && mod->id != RAMA_TAB_MOD_LUSTRE &&
	       mod->id != RAMA_TAB_MOD_PROCESS;
}

static double io_time(const struct rama_core_plan *p, const union rama_core_word *w)
{
	double t = 0;

	if (p->read_time != RAMA_TAB_NO_WORD)
		t += w[p->read_time].f;
	if (p->write_time != RAMA_TAB_NO_WORD)
		t += w[p->write_time].f;
	if (p->meta_time != RAMA_TAB_NO_WORD)
		t += w[p->meta_time].f;
	return t;
}

static int64_t io_bytes(const struct rama_core_plan *p, const union rama_core_word *w)
{
	return p->bytes_read != RAMA_TAB_NO_WORD
		       ? rama_core_add(w[p->bytes_read].i, w[p->bytes_written].i)
		       : 0;
}

/* rank, bytes and time of an extreme, in this order in the enum */
static void set_extreme(const struct rama_core_plan *p, union rama_core_word *w, unsigned kind,
			int64_t rank, int64_t bytes, double time)
{
	if (p->at[kind] == RAMA_TAB_NO_WORD)
		return;
	w[p->at[kind]].i = rank;
	w[p->at[kind + 1]].i = bytes;
	w[p->at[kind + 2]].f = time;
}

void rama_core_reduce_prepare(const struct rama_core_plan *p, union rama_core_word *w)
{
	if (w[RAMA_TAB_RANK].i >= 0) {
		set_extreme(p, w, RAMA_TAB_FAST_RANK, w[RAMA_TAB_RANK].i, io_bytes(p, w),
			    io_time(p, w));
		set_extreme(p, w, RAMA_TAB_SLOW_RANK, w[RAMA_TAB_RANK].i, io_bytes(p, w),
			    io_time(p, w));
	}
	w[RAMA_TAB_RANK].i = -1;
}

void rama_core_reduce_undo(const struct rama_core_plan *p, union rama_core_word *w, int64_t rank)
{
	w[RAMA_TAB_RANK].i = rank;
	set_extreme(p, w, RAMA_TAB_FAST_RANK, 0, 0, 0);
	set_extreme(p, w, RAMA_TAB_SLOW_RANK, 0, 0, 0);
	rama_core_reduce_finish(p, w, (struct rama_core_spread){ .n = 1 });
}

struct rama_core_spread rama_core_spread_of(const struct rama_core_plan *p,
					    const union rama_core_word *w, double n)
{
	struct rama_core_spread s = { .n = n,
				      .time_sum = io_time(p, w),
				      .bytes_sum = (double)io_bytes(p, w) };

	if (n > 1 && p->at[RAMA_TAB_VAR_TIME] != RAMA_TAB_NO_WORD) {
		s.time_sq = w[p->at[RAMA_TAB_VAR_TIME]].f * n;
		s.bytes_sq = w[p->at[RAMA_TAB_VAR_BYTES]].f * n;
	}
	return s;
}

static double merged_sq(double n1, double t1, double s1, double n2, double t2, double s2)
{
	double d = n2 / n1 * t1 - t2;

	return s1 + s2 + n1 / (n2 * (n1 + n2)) * d * d;
}

struct rama_core_spread rama_core_spread_merge(struct rama_core_spread a, struct rama_core_spread b)
{
	if (a.n == 0)
		return b;
	if (b.n == 0)
		return a;
	return (struct rama_core_spread){
		.n = a.n + b.n,
		.time_sum = a.time_sum + b.time_sum,
		.time_sq = merged_sq(a.n, a.time_sum, a.time_sq, b.n, b.time_sum, b.time_sq),
		.bytes_sum = a.bytes_sum + b.bytes_sum,
		.bytes_sq = merged_sq(a.n, a.bytes_sum, a.bytes_sq, b.n, b.bytes_sum, b.bytes_sq),
	};
}

void rama_core_reduce_finish(const struct rama_core_plan *p, union rama_core_word *w,
			     struct rama_core_spread s)
{
	if (p->at[RAMA_TAB_VAR_TIME] == RAMA_TAB_NO_WORD)
		return;
	w[p->at[RAMA_TAB_VAR_TIME]].f = s.n > 0 ? s.time_sq / s.n : 0;
	w[p->at[RAMA_TAB_VAR_BYTES]].f = s.n > 0 ? s.bytes_sq / s.n : 0;
}

struct value {
	union rama_core_word v[WIDE_MAX];
	int64_t count;
};

/* higher count first, then larger size */
static bool better(const struct value *a, const struct value *b, unsigned width)
{
	if (a->count != b->count)
		return a->count > b->count;
	for (unsigned i = 0; i < width; i++) /* lists of several words: the larger word decides */
		if (a->v[i].i != b->v[i].i)
			return a->v[i].i > b->v[i].i;
	return false;
}

/* the best four of both lists; equal values add their counts */
static void merge_top(const struct rama_core_top *top, union rama_core_word *y,
		      const union rama_core_word *x)
{
	struct value all[8];
	unsigned n = 0;

	for (unsigned i = 0; i < 8; i++) {
		const union rama_core_word *from = i < 4 ? y : x;
		const union rama_core_word *value = &from[top->value[i % 4]];
		int64_t count = from[top->count[i % 4]].i;
		unsigned k = 0;

		if (value->i == 0 && count == 0)
			continue;
		while (k < n && memcmp(all[k].v, value, top->width * sizeof(*value)) != 0)
			k++;
		if (k == n) {
			memcpy(all[n].v, value, top->width * sizeof(*value));
			all[n++].count = 0;
		}
		all[k].count = rama_core_add(all[k].count, count);
	}
	for (unsigned i = 1; i < n; i++) { /* insertion keeps the order of equals */
		struct value v = all[i];
		unsigned k = i;

		for (; k > 0 && better(&v, &all[k - 1], top->width); k--)
			all[k] = all[k - 1];
		all[k] = v;
	}
	for (unsigned i = 0; i < 4; i++) {
		memset(&y[top->value[i]], 0, top->width * sizeof(*y));
		if (i < n)
			memcpy(&y[top->value[i]], all[i].v, top->width * sizeof(*y));
		y[top->count[i]].i = i < n ? all[i].count : 0;
	}
}

static void reduce_field(const struct rama_tab_field *f, union rama_core_word *y,
			 const union rama_core_word *x)
{
	switch (f->reduce) {
	case RAMA_TAB_SUM:
	case RAMA_TAB_SUM_NEG:
		if (f->type == RAMA_TAB_F64)
			y->f += x->f;
		else
			y->i = rama_core_add(y->i, x->i);
		if (f->reduce == RAMA_TAB_SUM_NEG && y->i < 0)
			y->i = -1;
		break;
	case RAMA_TAB_MAX:
		if (f->type == RAMA_TAB_F64 ? x->f > y->f : x->i > y->i)
			*y = *x;
		break;
	case RAMA_TAB_MIN_NZ:
		if ((x->f < y->f && x->f > 0) || y->f == 0)
			*y = *x;
		break;
	case RAMA_TAB_KEEP:
		memcpy(y, x, f->words * sizeof(*y));
		break;
	case RAMA_TAB_ANY:
		y->i = x->i == 1 || y->i == 1 ? 1 : y->i;
		break;
	default:
		break; /* kinds that move together */
	}
}

/* first: word that decides; the `n` words of `kinds` go with it */
static void take_if(bool take, const struct rama_core_plan *p, union rama_core_word *y,
		    const union rama_core_word *x, unsigned kind, unsigned n)
{
	for (unsigned i = 0; take && i < n; i++)
		if (p->at[kind + i] != RAMA_TAB_NO_WORD)
			y[p->at[kind + i]] = x[p->at[kind + i]];
}

void rama_core_reduce(const struct rama_core_plan *p, union rama_core_word *y,
		      const union rama_core_word *x)
{
	const struct rama_tab_schema *s = p->mod->record;
	unsigned read = p->at[RAMA_TAB_LEAD_READ], write = p->at[RAMA_TAB_LEAD_WRITE],
		 fast = p->at[RAMA_TAB_FAST_TIME], slow = p->at[RAMA_TAB_SLOW_TIME];

	for (unsigned i = 0; i < *s->n_fields; i++)
		if (s->fields[i].word != RAMA_TAB_NO_WORD)
			reduce_field(&s->fields[i], &y[s->fields[i].word], &x[s->fields[i].word]);
	take_if(read != RAMA_TAB_NO_WORD && x[read].f > y[read].f, p, y, x, RAMA_TAB_LEAD_READ, 2);
	take_if(write != RAMA_TAB_NO_WORD && x[write].f > y[write].f, p, y, x, RAMA_TAB_LEAD_WRITE,
		2);
	take_if(fast != RAMA_TAB_NO_WORD && x[fast].f < y[fast].f, p, y, x, RAMA_TAB_FAST_RANK, 3);
	take_if(slow != RAMA_TAB_NO_WORD && x[slow].f > y[slow].f, p, y, x, RAMA_TAB_SLOW_RANK, 3);
	if (p->access.width > 0)
		merge_top(&p->access, y, x);
	if (p->stride.width > 0)
		merge_top(&p->stride, y, x);
}
