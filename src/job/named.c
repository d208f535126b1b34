/* SPDX-License-Identifier: BSD-3-Clause */
/* named.c: phases that the program has named, over all ranks, and what was moved in them. Times of
 * several ranks that overlap are one time of the job. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job/work.h"

#define SECONDS_MOST 1e9 /* a time beyond is damage */

static struct rama_job_view_named *named_get(struct rama_job_view *v, uint64_t id)
{
	const struct rama_log_name *name = rama_log_name_get(v->work->log, id);
	const char *text = name != NULL ? name->text : "?";

	for (size_t i = 0; i < v->n_named; i++)
		if (strcmp(v->named[i].name, text) == 0)
			return &v->named[i];
	if (!RAMA_GROW(v->named, v->work->named_room, v->n_named + 1))
		return NULL;
	text = rama_arena_text(&v->arena, text, strlen(text));
	if (text == NULL)
		return NULL;
	v->named[v->n_named] = (struct rama_job_view_named){ .name = text, .slow_rank = -1 };
	return &v->named[v->n_named++];
}

static bool add_span(struct rama_job_view_named *p, double start, double end)
{
	if (!RAMA_GROW(p->spans, p->spans_room, p->n_spans + 1))
		return false;
	p->spans[p->n_spans++] = (struct rama_job_view_span){ start, end };
	return true;
}

/* nothing in a record is trusted */
static bool add_spans(struct rama_job_view_named *p, const struct rama_core_record *r, double first)
{
	const union rama_core_word *w = r->array[0];
	bool ok = true;

	for (uint64_t i = 0; w != NULL && i < r->count[0] && ok; i++) {
		double start = first + (double)w[2 * i].i * 1e-9,
		       length = (double)w[2 * i + 1].i * 1e-9;

		if (start >= 0 && start < SECONDS_MOST && length < SECONDS_MOST)
			ok = add_span(p, start, w[2 * i + 1].i < 0 ? INFINITY : start + length);
	}
	return ok;
}

static bool take(struct rama_job_view *v, const struct rama_core_record *r)
{
	const union rama_core_word *w = r->w;
	struct rama_job_view_named *p = named_get(v, w[RAMA_TAB_ID].u);
	double first = w[RAMA_TAB_PHASE_F_START_TIMESTAMP].f, time = w[RAMA_TAB_PHASE_F_TIME].f,
	       longest = w[RAMA_TAB_PHASE_F_LONGEST].f;
	int64_t rank = v->work->first + w[RAMA_TAB_RANK].i;

	if (p == NULL)
		return false;
	if (!(first >= 0 && first < SECONDS_MOST) || w[RAMA_TAB_PHASE_TIMES].i <= 0 ||
	    w[RAMA_TAB_PHASE_BYTES_WRITTEN].i < 0 || w[RAMA_TAB_PHASE_BYTES_READ].i < 0)
		return true;
	p->ranks++;
	p->times = rama_core_add(p->times, w[RAMA_TAB_PHASE_TIMES].i);
	p->open += w[RAMA_TAB_PHASE_OPEN].i > 0;
	p->bytes[0] = rama_core_add(p->bytes[0], w[RAMA_TAB_PHASE_BYTES_WRITTEN].i);
	p->bytes[1] = rama_core_add(p->bytes[1], w[RAMA_TAB_PHASE_BYTES_READ].i);
	p->joined = p->joined || w[RAMA_TAB_PHASE_JOINED].i > 0;
	if (longest > p->longest && longest < SECONDS_MOST)
		p->longest = longest;
	if (time < SECONDS_MOST && (p->slow_rank < 0 || time > p->slow_time)) {
		p->slow_time = time;
		p->slow_rank = rank;
	}
	return add_spans(p, r, first + v->work->shift);
}

int rama_job_view_named_read(struct rama_job_view *v)
{
	struct rama_log_cursor c;
	struct rama_core_record *r;
	bool ok = true;
	int rc = rama_log_cursor_open(&c, v->work->log, RAMA_TAB_MOD_PHASE);

	while (rc > 0 && ok && (rc = rama_log_cursor_next(&c, &r)) > 0) {
		v->work->records[RAMA_TAB_MOD_PHASE]++;
		ok = take(v, r);
	}
	rama_log_cursor_close(&c);
	return ok ? rc : RAMA_EMEMORY;
}

static int by_start(const void *a, const void *b)
{
	const struct rama_job_view_span *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* sorted, without overlap, within the run */
static void join_spans(struct rama_job_view_named *p, double run_time)
{
	size_t n = 0;

	if (p->n_spans > 1)
		qsort(p->spans, p->n_spans, sizeof(*p->spans), by_start);
	for (size_t i = 0; i < p->n_spans; i++) {
		struct rama_job_view_span s = p->spans[i];

		s.end = fmax(s.start, fmin(s.end, run_time));
		if (n > 0 && s.start <= p->spans[n - 1].end)
			p->spans[n - 1].end = fmax(p->spans[n - 1].end, s.end);
		else
			p->spans[n++] = s;
	}
	p->n_spans = n;
	for (size_t i = 0; i < n; i++)
		p->time += p->spans[i].end - p->spans[i].start;
	p->start = n > 0 ? p->spans[0].start : 0;
	p->end = n > 0 ? p->spans[n - 1].end : 0;
}

static double overlap(const struct rama_job_view_named *p, double from, double to)
{
	double sum = 0;

	for (size_t i = 0; i < p->n_spans && p->spans[i].start < to; i++)
		sum += fmax(0, fmin(to, p->spans[i].end) - fmax(from, p->spans[i].start));
	return sum;
}

static int by_start_of_all(const void *a, const void *b)
{
	const struct rama_job_view_named *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

int rama_job_view_named_finish(struct rama_job_view *v)
{
	for (size_t i = 0; i < v->n_named; i++) {
		struct rama_job_view_named *p = &v->named[i];
		struct rama_job_view_span *own;

		join_spans(p, v->run_time);
		own = rama_arena_alloc(&v->arena, p->n_spans * sizeof(*own) + 1);
		if (own == NULL)
			return RAMA_EMEMORY;
		if (p->n_spans > 0)
			memcpy(own, p->spans, p->n_spans * sizeof(*own));
		free(p->spans);
		p->spans = own;
		p->spans_room = 0;
		for (size_t k = 0; k < v->n_phases; k++)
			p->io_time += overlap(p, v->phases[k].start, v->phases[k].end);
	}
	if (v->n_named > 1)
		qsort(v->named, v->n_named, sizeof(*v->named), by_start_of_all);
	return 0;
}

void rama_job_view_named_free(struct rama_job_view *v)
{
	for (size_t i = 0; i < v->n_named; i++)
		if (v->named[i].spans_room > 0)
			free(v->named[i].spans);
	free(v->named);
	v->named = NULL;
	v->n_named = 0;
}

const char *rama_job_view_named_at(const struct rama_job_view *v, double from, double to)
{
	const struct rama_job_view_named *best = NULL;

	/* of those that hold nearly all of it the shortest: phases may be inside of each other */
	for (size_t i = 0; i < v->n_named; i++) {
		const struct rama_job_view_named *p = &v->named[i];

		if (overlap(p, from, to) >= 0.9 * (to - from) &&
		    (best == NULL || p->time < best->time))
			best = p;
	}
	return best != NULL ? best->name : NULL;
}
