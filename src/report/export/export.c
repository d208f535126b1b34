/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/export/export.h"

#include <stdlib.h>

#include "base/grow.h"

const struct rama_report_export_form *const rama_report_export_forms[RAMA_REPORT_EXPORTS] = {
#define EXPORT(name, ...) &rama_report_export_form_##name,
#include "table/exports.def"
#undef EXPORT
};

static uint64_t nanoseconds(double t)
{
	return t > 0 ? (uint64_t)(t * 1e9 + 0.5) : 0;
}

/* ranks one after the other; what is outside comes before what is inside */
static int by_place(const void *a, const void *b)
{
	const struct rama_report_export_op *x = a, *y = b;

	if (x->op->rank != y->op->rank)
		return x->op->rank < y->op->rank ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	if (x->op->layer != y->op->layer)
		return x->op->layer < y->op->layer ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* the operations of a lane that have not ended yet, the innermost last */
struct lane {
	const struct rama_report_export_op *open[RAMA_JOB_LAYERS + 1];
	unsigned n;
};

struct lanes {
	struct lane *lane;
	size_t n, room;
};

/* Can it be in this lane? A call has beneath it only calls of lower layers: what overlaps in one
 * layer are calls of several threads. */
static bool fits(struct lane *l, const struct rama_report_export_op *x, bool nest)
{
	const struct rama_report_export_op *top;

	while (l->n > 0 && l->open[l->n - 1]->end <= x->start)
		l->n--;
	if (l->n == 0)
		return true;
	top = l->open[l->n - 1];
	return nest && top->end >= x->end && top->op->layer < x->op->layer;
}

/* first a lane where something is above it: only then is one of two the caller */
static struct lane *lane_find(struct lanes *all, const struct rama_report_export_op *x, bool nest)
{
	struct lane *free_one = NULL;

	for (size_t i = 0; i < all->n; i++) {
		struct lane *l = &all->lane[i];

		if (!fits(l, x, nest))
			continue;
		if (l->n > 0)
			return l;
		free_one = free_one != NULL ? free_one : l;
	}
	if (free_one != NULL)
		return free_one;
	if (!RAMA_GROW(all->lane, all->room, all->n + 1))
		return NULL;
	all->lane[all->n].n = 0;
	return &all->lane[all->n++];
}

static bool lanes_take(struct lanes *all, struct rama_report_export_op *x, bool nest,
		       uint32_t *number, uint32_t *depth)
{
	struct lane *l = lane_find(all, x, nest);

	if (l == NULL)
		return false;
	*number = (uint32_t)(l - all->lane);
	*depth = l->n;
	l->open[l->n++] = x;
	return true;
}

static int lanes_assign(struct rama_report_export *x)
{
	struct lanes nested = { 0 }, layer[RAMA_JOB_LAYERS] = { 0 };
	bool ok = true;

	for (size_t i = 0; i < x->n && ok; i++) {
		struct rama_report_export_op *op = &x->ops[i];
		uint32_t none;

		if (i > 0 && op->op->rank != op[-1].op->rank) {
			nested.n = 0;
			for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++)
				layer[l].n = 0;
		}
		ok = lanes_take(&nested, op, true, &op->nested_lane, &op->depth) &&
		     lanes_take(&layer[op->op->layer], op, false, &op->layer_lane, &none);
	}
	free(nested.lane);
	for (unsigned l = 0; l < RAMA_JOB_LAYERS; l++)
		free(layer[l].lane);
	return ok ? 0 : RAMA_EMEMORY;
}

/* ---- all of it ------------------------------------------------------------------------------- */

int rama_report_export_init(struct rama_report_export *x, const struct rama_job_view *v)
{
	*x = (struct rama_report_export){ .view = v, .n = v->n_every };
	x->ops = calloc(x->n + 1, sizeof(*x->ops));
	if (x->ops == NULL)
		return RAMA_EMEMORY;
	for (size_t i = 0; i < x->n; i++)
		x->ops[i] = (struct rama_report_export_op){
			.op = &v->every[i],
			.start = nanoseconds(v->every[i].start),
			.end = nanoseconds(v->every[i].end),
		};
	qsort(x->ops, x->n, sizeof(*x->ops), by_place);
	return lanes_assign(x);
}

void rama_report_export_fini(struct rama_report_export *x)
{
	free(x->ops);
	*x = (struct rama_report_export){ 0 };
}

size_t rama_report_export_rank_end(const struct rama_report_export *x, size_t from)
{
	size_t end = from;

	while (end < x->n && x->ops[end].op->rank == x->ops[from].op->rank)
		end++;
	return end;
}
