/* SPDX-License-Identifier: BSD-3-Clause */
/* trace.c: events of all threads become the segments of files: counted in one walk over the
 * chunks, put into place in a second. A trace that is large takes some walks more, so that
 * memory stays small. */
#include <stdlib.h>
#include <string.h>

#include "core/times.h"
#include "gather/one.h"

#define BATCH_LEAST (256u << 10) /* segments put into place in one walk */
#define BATCH_SHARE 8		 /* or this part of all */

static const uint8_t module_of[RAMA_SEG_LAYERS] = {
#define TRACED(layer, word, name, module) RAMA_TAB_MOD_##module,
#include "table/layers.def"
};

/* ---- counting ------------------------------------------------------------------------------ */

/* 0 for writes, 1 for reads, as in the record */
static unsigned kind_of(const struct rama_seg_event *ev)
{
	return ev->kind == RAMA_TAB_OP_READ;
}

/* the name of an event that is part of a trace, or NULL; `last`: the one before */
static struct rama_gather_name *name_of(struct rama_gather *g, const struct rama_seg_event *ev,
					struct rama_gather_name *last)
{
	struct rama_gather_name *n = last;

	if (ev->layer >= RAMA_SEG_LAYERS ||
	    (ev->kind != RAMA_TAB_OP_READ && ev->kind != RAMA_TAB_OP_WRITE))
		return NULL;
	if (n == NULL || n->number != ev->name)
		n = rama_gather_name_get(g, ev->name);
	if (n == NULL || ev->name == 0) {
		g->partial |= 1ull << module_of[ev->layer];
		return NULL;
	}
	return n->untraced && ev->layer != RAMA_SEG_LAYER_STDIO ? NULL : n;
}

static struct rama_gather_trace *trace_of(struct rama_gather *g, struct rama_gather_name *n,
					  uint8_t layer)
{
	if (n->trace[layer] != 0)
		return &g->traces[n->trace[layer] - 1];
	if (g->n_traces == g->traces_room) {
		size_t room = g->traces_room == 0 ? 64 : 2 * g->traces_room;
		struct rama_gather_trace *more = realloc(g->traces, room * sizeof(*more));

		if (more == NULL)
			return NULL;
		g->traces = more;
		g->traces_room = room;
	}
	g->traces[g->n_traces] =
		(struct rama_gather_trace){ .name = n, .layer = layer, .first = UINT64_MAX };
	n->trace[layer] = (uint32_t)++g->n_traces;
	n->used = true;
	g->has |= 1ull << module_of[layer];
	return &g->traces[g->n_traces - 1];
}

static int count_chunk(struct rama_gather *g)
{
	struct rama_gather_name *n = NULL, *found;

	for (uint32_t i = 0; i < g->u.chunk.used; i++) {
		const struct rama_seg_event *ev = &g->u.chunk.event[i];
		struct rama_gather_trace *t;

		found = name_of(g, ev, n);
		if (found == NULL)
			continue;
		n = found;
		t = trace_of(g, n, ev->layer);
		if (t == NULL)
			return rama_gather_no_memory(g);
		t->count[kind_of(ev)]++;
		if (ev->start < t->first)
			t->first = ev->start;
	}
	return 0;
}

static int by_first(const void *a, const void *b)
{
	const struct rama_gather_trace *x = a, *y = b;

	if (x->layer != y->layer)
		return x->layer < y->layer ? -1 : 1;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->name->number < y->name->number ? -1 : x->name->number > y->name->number;
}

int rama_gather_trace_find(struct rama_gather *g)
{
	int rc = 0;

	for (uint64_t i = 0; i < rama_seg_chunks(g->s) && rc == 0; i++) {
		rc = rama_seg_chunk_get(g->s, i, &g->u.chunk, g->e);
		if (rc == 0)
			rc = count_chunk(g);
		if (rc == 0)
			rama_gather_calls_see(g);
	}
	if (rc != 0 || g->n_traces == 0)
		return rc;
	qsort(g->traces, g->n_traces, sizeof(*g->traces), by_first);
	for (size_t i = 0; i < g->n_traces; i++)
		g->traces[i].name->trace[g->traces[i].layer] = (uint32_t)i + 1;
	return 0;
}

/* ---- putting into place ---------------------------------------------------------------------- */

typedef union rama_core_word segment[RAMA_TAB_SEG_WORDS];

struct batch {
	size_t from, to; /* traces */
	segment *seg;
	uint64_t n;
};

static void place_chunk(struct rama_gather *g, struct batch *b)
{
	struct rama_gather_name *n = NULL, *found;
	double tick = g->s->tick;

	for (uint32_t i = 0; i < g->u.chunk.used; i++) {
		const struct rama_seg_event *ev = &g->u.chunk.event[i];
		struct rama_gather_trace *t;
		union rama_core_word *to;
		size_t at;

		found = name_of(g, ev, n);
		if (found == NULL)
			continue;
		n = found;
		at = n->trace[ev->layer];
		if (at <= b->from || at > b->to)
			continue;
		t = &g->traces[at - 1];
		/* a process that goes on may have added some since they were counted */
		if (t->count[kind_of(ev)] == 0)
			continue;
		t->count[kind_of(ev)]--;
		to = b->seg[t->at[kind_of(ev)]++];
		to[RAMA_TAB_SEG_OFFSET].i = ev->off;
		to[RAMA_TAB_SEG_LENGTH].i = ev->bytes;
		to[RAMA_TAB_SEG_START].f = rama_core_times_round((double)ev->start * tick);
		to[RAMA_TAB_SEG_END].f =
			rama_core_times_round((double)(ev->start + ev->length) * tick);
		to[RAMA_TAB_SEG_THREAD].u = g->u.chunk.thread;
	}
}

static int by_start(const void *a, const void *b)
{
	const union rama_core_word *x = a, *y = b;

	if (x[RAMA_TAB_SEG_START].f != y[RAMA_TAB_SEG_START].f)
		return x[RAMA_TAB_SEG_START].f < y[RAMA_TAB_SEG_START].f ? -1 : 1;
	if (x[RAMA_TAB_SEG_END].f != y[RAMA_TAB_SEG_END].f)
		return x[RAMA_TAB_SEG_END].f < y[RAMA_TAB_SEG_END].f ? -1 : 1;
	return x[RAMA_TAB_SEG_OFFSET].i < y[RAMA_TAB_SEG_OFFSET].i
		       ? -1
		       : x[RAMA_TAB_SEG_OFFSET].i > y[RAMA_TAB_SEG_OFFSET].i;
}

/* one thread's events are in order already */
static void sort(segment *seg, uint64_t n)
{
	uint64_t i = 1;

	while (i < n && seg[i - 1][RAMA_TAB_SEG_START].f <= seg[i][RAMA_TAB_SEG_START].f)
		i++;
	if (i < n)
		qsort(seg, (size_t)n, sizeof(*seg), by_start);
}

static int write_trace(struct rama_gather *g, const struct rama_gather_trace *t, segment *seg,
		       const uint64_t n[2])
{
	union rama_core_word w[RAMA_TAB_DXT__WORDS] = { { .u = 0 } };
	int rc;

	sort(seg, n[0]);
	sort(seg + n[0], n[1]);
	w[RAMA_TAB_ID].u = t->name->id;
	memcpy(&w[RAMA_TAB_DXT_HOSTNAME], g->s->id.host, strlen(g->s->id.host));
	w[RAMA_TAB_DXT_WRITE_COUNT].u = n[0];
	w[RAMA_TAB_DXT_READ_COUNT].u = n[1];
	rc = rama_gather_record(g, module_of[t->layer], w);
	return rc != 0 ? rc
		       : rama_gather_failed(g, rama_log_writer_segments(g->w, seg,
									(size_t)(n[0] + n[1])));
}

static int write_batch(struct rama_gather *g, struct batch *b)
{
	uint64_t at = 0;
	int rc = 0;

	for (size_t i = b->from; i < b->to; i++) {
		struct rama_gather_trace *t = &g->traces[i];

		t->at[0] = at;
		t->at[1] = at + t->count[0];
		at += t->count[0] + t->count[1];
		t->kept[0] = t->count[0];
		t->kept[1] = t->count[1];
	}
	for (uint64_t i = 0; i < rama_seg_chunks(g->s) && rc == 0; i++) {
		rc = rama_seg_chunk_get(g->s, i, &g->u.chunk, g->e);
		if (rc == 0)
			place_chunk(g, b);
	}
	at = 0;
	for (size_t i = b->from; i < b->to && rc == 0; i++) {
		const struct rama_gather_trace *t = &g->traces[i];

		rc = write_trace(g, t, b->seg + at, t->kept);
		at += t->kept[0] + t->kept[1];
	}
	return rc;
}

/* traces from `b->from` on that fit into one batch, at least one */
static void fill_batch(const struct rama_gather *g, struct batch *b, size_t end, uint64_t most)
{
	b->n = 0;
	for (b->to = b->from; b->to < end; b->to++) {
		uint64_t n = g->traces[b->to].count[0] + g->traces[b->to].count[1];

		if (b->to > b->from && b->n + n > most)
			break;
		b->n += n;
	}
}

int rama_gather_trace_write(struct rama_gather *g, enum rama_seg_layer layer)
{
	size_t begin = 0, end;
	uint64_t most = 0;
	struct batch b = { 0 };
	int rc = 0;

	while (begin < g->n_traces && g->traces[begin].layer < layer)
		begin++;
	for (end = begin; end < g->n_traces && g->traces[end].layer == layer; end++)
		most += g->traces[end].count[0] + g->traces[end].count[1];
	most = most / BATCH_SHARE > BATCH_LEAST ? most / BATCH_SHARE : BATCH_LEAST;
	for (b.from = begin; b.from < end && rc == 0; b.from = b.to) {
		fill_batch(g, &b, end, most);
		b.seg = calloc((size_t)b.n, sizeof(*b.seg));
		rc = b.seg == NULL ? rama_gather_no_memory(g) : write_batch(g, &b);
		free(b.seg);
	}
	return rc;
}
