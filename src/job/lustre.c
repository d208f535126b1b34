/* SPDX-License-Identifier: BSD-3-Clause */
/* lustre.c: how files lie on storage targets, and what each target had to do. */
#include <stdlib.h>
#include <string.h>

#include "job/work.h"

#define OSTS_MOST 4096 /* stripes of one file: Lustre has 2000 at most */

/* bytes of a file of that size that a component holds */
static int64_t held(const union rama_core_word *comp, int64_t size)
{
	int64_t from = comp[RAMA_TAB_LUSTRE_COMP_EXT_START].i,
		to = comp[RAMA_TAB_LUSTRE_COMP_EXT_END].i;

	from = from > 0 ? from : 0;
	to = to < 0 || to > size ? size : to;
	return to > from ? to - from : 0;
}

static int64_t file_size(const struct rama_job_view_file *f)
{
	static const struct {
		uint8_t layer;
		uint16_t word[2];
	} at[] = {
		{ RAMA_JOB_LAYER_POSIX,
		  { RAMA_TAB_POSIX_MAX_BYTE_READ, RAMA_TAB_POSIX_MAX_BYTE_WRITTEN } },
		{ RAMA_JOB_LAYER_STDIO,
		  { RAMA_TAB_STDIO_MAX_BYTE_READ, RAMA_TAB_STDIO_MAX_BYTE_WRITTEN } },
	};
	int64_t size = 0;

	for (unsigned i = 0; i < 4; i++) {
		const union rama_core_word *w = f->rec[at[i / 2].layer];

		if (w != NULL && w[at[i / 2].word[i % 2]].i > size)
			size = w[at[i / 2].word[i % 2]].i;
	}
	return size < INT64_MAX ? size + 1 : size;
}

/* of several components the one that holds most; without any (old records) there are only
 * targets */
struct choice {
	const union rama_core_word *comp;
	uint64_t first; /* of its targets */
	int64_t stripes;
};

static struct choice choose(const struct rama_core_record *r, int64_t size)
{
	struct choice best = { .stripes = r->count[0] == 0 ? (int64_t)r->count[1] : 0 };
	uint64_t first = 0;
	int64_t most = -1;

	for (uint64_t i = 0; i < r->count[0]; i++) {
		const union rama_core_word *comp = &r->array[0][i * RAMA_TAB_LUSTRE_COMP__WORDS];
		int64_t stripes = comp[RAMA_TAB_LUSTRE_COMP_STRIPE_COUNT].i, has = held(comp, size);

		stripes = stripes > 0 ? stripes : 0;
		if (has > most && comp[RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE].i > 0) {
			most = has;
			best = (struct choice){ .comp = comp, .first = first, .stripes = stripes };
		}
		first += (uint64_t)stripes;
	}
	return best;
}

static int take(struct rama_job_view *v, const struct rama_core_record *r)
{
	struct rama_job_view_file *f;
	struct rama_job_view_stripes *s;
	struct choice c;
	uint64_t n, *at = rama_map_get(&v->by_id, r->w[RAMA_TAB_ID].u);

	if (at == NULL || v->files[*at].stripes != NULL) /* of no file that was used */
		return 0;
	f = &v->files[*at];
	c = choose(r, file_size(f));
	n = c.first < r->count[1] ? r->count[1] - c.first : 0;
	n = n < (uint64_t)c.stripes ? n : (uint64_t)c.stripes;
	n = n < OSTS_MOST ? n : OSTS_MOST;
	s = rama_arena_alloc(&v->arena, sizeof(*s) + (size_t)n * sizeof(*s->osts));
	if (s == NULL)
		return RAMA_EMEMORY;
	*s = (struct rama_job_view_stripes){ .stripe_count = c.stripes,
					     .components = (int64_t)r->count[0],
					     .n_osts = (uint32_t)n,
					     .osts = (int64_t *)(s + 1) };
	if (c.comp != NULL)
		s->stripe_size = c.comp[RAMA_TAB_LUSTRE_COMP_STRIPE_SIZE].i;
	for (uint64_t i = 0; i < n; i++)
		s->osts[i] = r->array[1][c.first + i].i;
	f->stripes = s;
	return 0;
}

int rama_job_view_stripes(struct rama_job_view *v)
{
	struct rama_log_cursor c;
	struct rama_core_record *r;
	int rc = rama_log_cursor_open(&c, v->work->log, RAMA_TAB_MOD_LUSTRE), bad = 0;

	while (rc > 0 && bad == 0 && (rc = rama_log_cursor_next(&c, &r)) > 0)
		bad = take(v, r);
	v->work->records[RAMA_TAB_MOD_LUSTRE] += c.index;
	rama_log_cursor_close(&c);
	return bad != 0 ? bad : rc;
}

/* ---- targets -------------------------------------------------------------------------------- */

static int add_file(struct rama_job_view *v, struct rama_map *by_ost, size_t *room,
		    const struct rama_job_view_file *f)
{
	double n = f->stripes->n_osts, time = rama_job_io_time(&f->disk);
	double bytes = (double)f->disk.bytes_read + (double)f->disk.bytes_written;

	for (uint32_t i = 0; i < f->stripes->n_osts; i++) {
		bool fresh;
		uint64_t *at = rama_map_put(by_ost, (uint64_t)f->stripes->osts[i], &fresh);
		struct rama_job_view_ost *o;

		if (at == NULL || !RAMA_GROW(v->osts, *room, v->n_osts + 1))
			return RAMA_EMEMORY;
		if (fresh) {
			*at = v->n_osts;
			v->osts[v->n_osts++] =
				(struct rama_job_view_ost){ .ost = f->stripes->osts[i] };
		}
		o = &v->osts[*at];
		o->files++;
		o->bytes += bytes / n;
		o->time += time / n;
		if (f->stripes->n_osts == 1) {
			o->alone++;
			o->mean += time; /* a sum until all files are in */
			o->slowest = time > o->slowest ? time : o->slowest;
		}
	}
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct rama_job_view_ost *x = a, *y = b;

	return x->ost < y->ost ? -1 : x->ost > y->ost;
}

int rama_job_view_osts_finish(struct rama_job_view *v)
{
	struct rama_map by_ost = { 0 };
	size_t room = 0;
	int rc = 0;

	for (size_t i = 0; i < v->n_files && rc == 0; i++)
		if (v->files[i].stripes != NULL && !v->files[i].pseudo)
			rc = add_file(v, &by_ost, &room, &v->files[i]);
	rama_map_fini(&by_ost);
	for (size_t i = 0; i < v->n_osts; i++)
		if (v->osts[i].alone > 0)
			v->osts[i].mean /= v->osts[i].alone;
	if (v->n_osts > 0)
		qsort(v->osts, v->n_osts, sizeof(*v->osts), by_number);
	return rc;
}
