/* SPDX-License-Identifier: BSD-3-Clause */
#include "logfile/joined.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/reduce.h"

void rama_log_joined_fini(struct rama_log_joined *j)
{
	free(j->rec);
	rama_map_fini(&j->by_id);
	rama_arena_fini(&j->arena);
	*j = (struct rama_log_joined){ 0 };
}

static int copy_array(struct rama_log_joined *j, struct rama_core_record *to,
		      const struct rama_core_record *r, unsigned k)
{
	size_t size = r->count[k] * r->schema->array[k].words * sizeof(*r->w);

	to->array[k] = size > 0 ? rama_arena_alloc(&j->arena, size) : NULL;
	if (size > 0 && to->array[k] == NULL)
		return RAMA_EMEMORY;
	if (size > 0)
		memcpy(to->array[k], r->array[k], size);
	to->count[k] = r->count[k];
	return 0;
}

static int first(struct rama_log_joined *j, const struct rama_core_record *r)
{
	size_t size = r->schema->words * sizeof(*r->w);
	struct rama_core_record *to;
	int rc = 0;

	if (j->n == j->room) {
		size_t room = j->room == 0 ? 16 : 2 * j->room;
		struct rama_core_record *more = realloc(j->rec, room * sizeof(*more));

		if (more == NULL)
			return RAMA_EMEMORY;
		j->rec = more;
		j->room = room;
	}
	to = &j->rec[j->n];
	*to = (struct rama_core_record){ .mod = r->mod, .schema = r->schema };
	to->w = rama_arena_alloc(&j->arena, size);
	if (to->w == NULL)
		return RAMA_EMEMORY;
	memcpy(to->w, r->w, size);
	for (unsigned k = 0; k < r->schema->n_arrays && rc == 0; k++)
		rc = copy_array(j, to, r, k);
	j->n += rc == 0;
	return rc;
}

static void add_bins(struct rama_core_record *y, const struct rama_core_record *x)
{
	for (unsigned k = 0; k < 2; k++)
		for (uint64_t i = 0; i < y->count[k] && i < x->count[k]; i++)
			y->array[k][i].i = rama_core_add(y->array[k][i].i, x->array[k][i].i);
}

static void add_counters(const struct rama_core_plan *p, union rama_core_word *y,
			 union rama_core_word *x)
{
	int64_t rank = y[RAMA_TAB_RANK].i;
	uint64_t renamed = p->mod->id == RAMA_TAB_MOD_POSIX ? y[RAMA_TAB_POSIX_RENAMED_FROM].u : 0;

	rama_core_reduce_prepare(p, y);
	rama_core_reduce_prepare(p, x);
	rama_core_reduce(p, y, x);
	rama_core_reduce_undo(p, y, rank);
	if (renamed != 0) /* the first one counts */
		y[RAMA_TAB_POSIX_RENAMED_FROM].u = renamed;
}

int rama_log_joined_add(struct rama_log_joined *j, const struct rama_core_plan *p,
			struct rama_core_record *r)
{
	bool fresh;
	uint64_t *at = rama_map_put(&j->by_id, r->w[RAMA_TAB_ID].u, &fresh);
	struct rama_core_record *y;
	int64_t threads;

	if (at == NULL)
		return RAMA_EMEMORY;
	if (fresh) {
		*at = j->n;
		return first(j, r);
	}
	y = &j->rec[*at];
	if (r->mod->id == RAMA_TAB_MOD_HEATMAP) {
		add_bins(y, r);
		return 0;
	}
	if (r->mod->id != RAMA_TAB_MOD_PROCESS) {
		add_counters(p, y->w, r->w);
		return 0;
	}
	threads = y->w[RAMA_TAB_PROCESS_THREADS].i;
	add_counters(p, y->w, r->w);
	if (threads > y->w[RAMA_TAB_PROCESS_THREADS].i)
		y->w[RAMA_TAB_PROCESS_THREADS].i = threads;
	return copy_array(j, y, r, 0); /* the command line of the last program */
}
