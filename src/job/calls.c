/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.c: calls with the calls inside of them, as the module CALLS of a traced log has them: the
 * longest trees are kept, for pages. A tree is as long as the call at its root. Parts of a tree
 * that stand in another record than their root are left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job/work.h"
#include "logfile/calls.h"

#define DEEPEST 16 /* calls inside of each other */

static const char *const layer_name[] = {
#define TRACED(layer, word, name, ...) name,
#define EVENTS(layer, word, name, ...) name,
#include "table/layers.def"
};

/* a call of the record that is read */
struct item {
	struct rama_log_call c;
	uint32_t root, above; /* indices of the same; above: UINT32_MAX at a root */
	uint32_t place;	      /* among those kept; UINT32_MAX: not there */
};

struct tree {
	double length;
	uint32_t first, n; /* in `call` */
};

struct pool {
	struct rama_job_view *v;
	struct item *item;
	uint32_t *order; /* of items */
	uint32_t n;
	struct rama_job_view_call *call;
	size_t n_calls, calls_room;
	struct tree *tree;
	size_t n_trees, trees_room;
	double least; /* shorter trees are not kept */
	bool cut;
};

/* ---- a record ------------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b, void *items)
{
	const struct item *sorting = items;
	uint32_t x = sorting[*(const uint32_t *)a].c.id, y = sorting[*(const uint32_t *)b].c.id;

	return (x > y) - (x < y);
}

/* trees together, what is around before what is inside */
static int by_root(const void *a, const void *b, void *items)
{
	const struct item *sorting = items;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct item *x = &sorting[i], *y = &sorting[j];

	if (x->root != y->root)
		return x->root < y->root ? -1 : 1;
	if ((x->root == i) != (y->root == j))
		return x->root == i ? -1 : 1;
	if (x->c.start != y->c.start)
		return x->c.start < y->c.start ? -1 : 1;
	if (x->c.length != y->c.length)
		return x->c.length > y->c.length ? -1 : 1;
	return (i > j) - (i < j);
}

static uint32_t item_of(const struct pool *p, uint32_t id)
{
	uint32_t low = 0, high = p->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (p->item[p->order[mid]].c.id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < p->n && p->item[p->order[low]].c.id == id ? p->order[low] : UINT32_MAX;
}

static void find_roots(struct pool *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		p->item[i].above =
			p->item[i].c.parent != 0 ? item_of(p, p->item[i].c.parent) : UINT32_MAX;
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t at = i;

		for (unsigned k = 0; k < DEEPEST && p->item[at].above != UINT32_MAX; k++)
			at = p->item[at].above;
		p->item[i].root = at;
	}
}

/* ---- what is kept --------------------------------------------------------------------------- */

static int longest_first(const void *a, const void *b)
{
	const struct tree *x = a, *y = b;

	if (x->length != y->length)
		return x->length > y->length ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static int by_place(const void *a, const void *b)
{
	const struct tree *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* the longest trees that fit stay, in the order in which they were found */
static void prune(struct pool *p)
{
	size_t sum = 0, kept = 0, to = 0;

	qsort(p->tree, p->n_trees, sizeof(*p->tree), longest_first);
	while (kept < p->n_trees && sum + p->tree[kept].n <= RAMA_JOB_CALLS_KEPT)
		sum += p->tree[kept++].n;
	if (kept == p->n_trees)
		return;
	p->cut = true;
	p->least = kept > 0 ? p->tree[kept - 1].length : p->tree[0].length;
	p->n_trees = kept;
	qsort(p->tree, kept, sizeof(*p->tree), by_place);
	for (size_t i = 0; i < kept; i++) {
		struct tree *t = &p->tree[i];
		int32_t back = (int32_t)(t->first - to);

		memmove(&p->call[to], &p->call[t->first], t->n * sizeof(*p->call));
		for (uint32_t k = 0; k < t->n; k++)
			p->call[to + k].parent -= p->call[to + k].parent >= 0 ? back : 0;
		t->first = (uint32_t)to;
		to += t->n;
	}
	p->n_calls = to;
}

static const char *kept_name(struct pool *p, const struct rama_log_call *c)
{
	for (size_t i = 0; i < p->v->n_call_ops; i++)
		if (strlen(p->v->call_ops[i]) == c->op_len &&
		    memcmp(p->v->call_ops[i], c->op, c->op_len) == 0)
			return p->v->call_ops[i];
	if (p->v->n_call_ops == RAMA_JOB_CALL_OPS)
		return "";
	p->v->call_ops[p->v->n_call_ops] = rama_arena_text(&p->v->arena, c->op, c->op_len);
	return p->v->call_ops[p->v->n_call_ops] != NULL ? p->v->call_ops[p->v->n_call_ops++] : NULL;
}

/* the calls order[from] .. order[from + n - 1] are one tree */
static int keep(struct pool *p, const struct rama_core_record *r, double origin, uint32_t from,
		uint32_t n)
{
	const struct rama_log_call *root = &p->item[p->order[from]].c;
	double length = 1e-9 * (double)root->length, start = origin + 1e-9 * (double)root->start;

	if (!rama_job_view_wanted(p->v, start, start + length))
		return 0;
	if (n < 2 || n > RAMA_JOB_CALLS_KEPT || (p->cut && length <= p->least))
		return 0;
	if (!RAMA_GROW(p->call, p->calls_room, p->n_calls + n) ||
	    !RAMA_GROW(p->tree, p->trees_room, p->n_trees + 1))
		return RAMA_EMEMORY;
	p->tree[p->n_trees++] = (struct tree){ length, (uint32_t)p->n_calls, n };
	for (uint32_t k = 0; k < n; k++) {
		struct item *x = &p->item[p->order[from + k]];
		uint64_t *file = rama_map_get(&p->v->by_id, x->c.file);
		uint32_t above = x->above != UINT32_MAX ? p->item[x->above].place : UINT32_MAX;
		struct rama_job_view_call *to = &p->call[p->n_calls];

		x->place = (uint32_t)p->n_calls++;
		*to = (struct rama_job_view_call){
			.file = file != NULL ? (uint32_t)*file : UINT32_MAX,
			.parent = k == 0		? -1
				  : above != UINT32_MAX ? (int32_t)above
							: (int32_t)(x->place - k),
			.rank = (int32_t)(p->v->work->first + r->w[RAMA_TAB_RANK].i),
			.kind = !x->c.write,
			.layer = x->c.layer < sizeof(layer_name) / sizeof(*layer_name)
					 ? layer_name[x->c.layer]
					 : "?",
			.op = kept_name(p, &x->c),
			.bytes = x->c.bytes > 0 ? x->c.bytes : 0,
			.start = origin + 1e-9 * (double)x->c.start,
			.end = origin + 1e-9 * (double)(x->c.start + x->c.length)
		};
		if (to->op == NULL)
			return RAMA_EMEMORY;
	}
	if (p->n_calls > 4 * (size_t)RAMA_JOB_CALLS_KEPT)
		prune(p);
	return 0;
}

static int take(struct pool *p, const struct rama_core_record *r)
{
	double origin = r->w[RAMA_TAB_CALLS_F_ORIGIN_TIMESTAMP].f;
	int64_t rank = r->w[RAMA_TAB_RANK].i;
	struct rama_log_calls calls;
	int rc = rama_log_calls_open(&calls, r);

	if (rank < 0 || rank >= p->v->work->n)
		return 0;
	origin = (origin > 0 && origin < 1e12 ? origin : 0) + p->v->work->shift;
	p->n = 0;
	while (rc == 0 && p->n < RAMA_LOG_CALLS_MOST &&
	       rama_log_calls_next(&calls, &p->item[p->n].c) > 0) {
		p->item[p->n].place = UINT32_MAX;
		p->order[p->n] = p->n;
		p->n++;
	}
	qsort_r(p->order, p->n, sizeof(*p->order), by_id, p->item);
	find_roots(p);
	qsort_r(p->order, p->n, sizeof(*p->order), by_root, p->item);
	rc = 0;
	for (uint32_t i = 0, end; i < p->n && rc == 0; i = end) {
		for (end = i + 1;
		     end < p->n && p->item[p->order[end]].root == p->item[p->order[i]].root;)
			end++;
		rc = keep(p, r, origin, i, end - i);
	}
	return rc;
}

static int finish(struct pool *p)
{
	struct rama_job_view *v = p->v;

	prune(p);
	v->calls = rama_arena_alloc(&v->arena, p->n_calls * sizeof(*v->calls) + 1);
	if (v->calls == NULL)
		return RAMA_EMEMORY;
	if (p->n_calls > 0)
		memcpy(v->calls, p->call, p->n_calls * sizeof(*v->calls));
	v->n_calls = p->n_calls;
	v->calls_all = !p->cut;
	return 0;
}

/* of one log; several logs of a job are parts whose calls are rarely wanted together */
int rama_job_view_calls(struct rama_job_view *v)
{
	struct pool p = { .v = v };
	struct rama_core_record *r;
	struct rama_log_cursor c;
	int rc, bad = 0;

	if (!v->opt.detail || v->work->log->part[RAMA_TAB_MOD_CALLS].len == 0 || v->n_calls > 0)
		return 0;
	p.item = malloc(RAMA_LOG_CALLS_MOST * sizeof(*p.item));
	p.order = malloc(RAMA_LOG_CALLS_MOST * sizeof(*p.order));
	bad = p.item != NULL && p.order != NULL ? 0 : RAMA_EMEMORY;
	rc = bad == 0 ? rama_log_cursor_open(&c, v->work->log, RAMA_TAB_MOD_CALLS) : 0;
	while (rc > 0 && bad == 0 && (rc = rama_log_cursor_next(&c, &r)) > 0)
		bad = take(&p, r);
	if (p.item != NULL && p.order != NULL)
		rama_log_cursor_close(&c);
	if (bad == 0 && rc >= 0)
		bad = finish(&p);
	free(p.item);
	free(p.order);
	free(p.call);
	free(p.tree);
	return bad != 0 ? bad : rc;
}
