/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.c: traced events of all layers become records of the module CALLS, thread by thread in the
 * order in which they ended, with the call that each was part of. */
#include <stdlib.h>
#include <string.h>

#include "gather/one.h"
#include "logfile/calls.h"
#include "table/fn.h"

/* requests at daemons and servers of any kind; of all else what moves bytes or waits for them */
static bool is_call(const struct rama_seg_event *ev)
{
	return ev->layer < RAMA_SEG_EVENT_LAYERS && ev->fn < RAMA_TAB_FNS &&
	       ev->kind < RAMA_TAB_OPS &&
	       (ev->layer >= RAMA_SEG_LAYER_FUSE || ev->kind == RAMA_TAB_OP_READ ||
		ev->kind == RAMA_TAB_OP_WRITE || ev->kind == RAMA_TAB_OP_SYNC ||
		ev->kind == RAMA_TAB_OP_DATASYNC);
}

/* the name of an event that is a call of this module, or NULL; `last`: the one before */
static struct rama_gather_name *name_of(struct rama_gather *g, const struct rama_seg_event *ev,
					struct rama_gather_name *last)
{
	struct rama_gather_name *n = last;

	if (!is_call(ev))
		return NULL;
	if (n == NULL || n->number != ev->name)
		n = rama_gather_name_get(g, ev->name);
	if (n == NULL) {
		g->partial |= 1ull << RAMA_TAB_MOD_CALLS;
		return NULL;
	}
	return n->untraced && ev->layer != RAMA_SEG_LAYER_STDIO ? NULL : n;
}

/* the link of event i of a chunk, or NULL */
static const struct rama_seg_link *link_of(const struct rama_seg_chunk *chunk, uint32_t i)
{
	const struct rama_seg_link *l;

	if (chunk->event[i].layer < RAMA_SEG_LAYER_FUSE || i + 1 >= chunk->used)
		return NULL;
	l = (const void *)&chunk->event[i + 1];
	return l->layer == RAMA_SEG_EVENT_LINK && l->call == chunk->event[i].call ? l : NULL;
}

static struct rama_gather_name *peer_of(struct rama_gather *g, const struct rama_seg_link *l)
{
	return l != NULL && l->peer != 0 ? rama_gather_name_get(g, l->peer) : NULL;
}

void rama_gather_calls_see(struct rama_gather *g)
{
	struct rama_gather_name *n = NULL, *found, *peer;

	for (uint32_t i = 0; i < g->u.chunk.used; i++) {
		found = name_of(g, &g->u.chunk.event[i], n);
		if (found == NULL)
			continue;
		n = found;
		n->used = true;
		peer = peer_of(g, link_of(&g->u.chunk, i));
		if (peer != NULL)
			peer->used = true;
		g->has |= 1ull << RAMA_TAB_MOD_CALLS;
	}
}

/* ---- writing -------------------------------------------------------------------------------- */

struct work {
	struct rama_gather *g;
	struct rama_log_calls_pen pen;
	uint64_t thread;
	uint32_t lane, tid;
};

static int64_t role_of(const struct rama_seg_identity *id)
{
	return id->flags & RAMA_SEG_FILE_SERVER	  ? RAMA_LOG_ROLE_SERVER
	       : id->flags & RAMA_SEG_FUSE_DAEMON ? RAMA_LOG_ROLE_FUSE
						  : RAMA_LOG_ROLE_APPLICATION;
}

static int flush(struct work *k)
{
	const struct rama_tab_module *mod = rama_tab_module_get(RAMA_TAB_MOD_CALLS);
	union rama_core_word w[RAMA_TAB_CALLS__WORDS] = { { .u = 0 } };
	struct rama_core_record r = { .mod = mod, .schema = mod->record, .w = w };
	int rc;

	if (k->pen.n == 0)
		return 0;
	w[RAMA_TAB_ID].u = rama_gather_id(RAMA_GATHER_CALLS);
	w[RAMA_TAB_RANK].i = k->g->p->rank;
	w[RAMA_TAB_CALLS_PID].i = k->g->s->id.pid;
	w[RAMA_TAB_CALLS_PROGRAM].u = k->g->s->id.clock.real0;
	w[RAMA_TAB_CALLS_LANE].u = k->lane;
	w[RAMA_TAB_CALLS_THREAD].u = k->thread;
	w[RAMA_TAB_CALLS_TID].u = k->tid;
	w[RAMA_TAB_CALLS_HOST].u = rama_gather_id(k->g->s->id.host);
	w[RAMA_TAB_CALLS_ROLE].i = role_of(&k->g->s->id);
	w[RAMA_TAB_CALLS_F_ORIGIN_TIMESTAMP].f = 1e-9; /* 0 would mean never */
	rama_log_calls_pen_give(&k->pen, &r);
	rc = rama_gather_failed(k->g, rama_log_writer_record(k->g->w, &r));
	rama_log_calls_pen_clear(&k->pen);
	return rc;
}

/* Whatever lies inside of another call in ticks does so in ns, too. */
static uint64_t ns_of(const struct rama_gather *g, uint64_t ticks)
{
	double ns = (double)ticks * (g->s->tick * 1e9);

	return ns < (double)RAMA_LOG_CALLS_TIME ? (uint64_t)ns : RAMA_LOG_CALLS_TIME;
}

static void set_link(struct rama_gather *g, const struct rama_seg_link *l, struct rama_log_call *c)
{
	struct rama_gather_name *peer = peer_of(g, l);

	if (l == NULL)
		return;
	c->linked = true;
	c->tid = l->tid;
	c->unique = l->unique;
	c->object = l->object;
	c->mark = l->mark;
	c->user = l->user;
	c->peer = peer != NULL && peer->used ? peer->id : 0;
}

static int write_call(struct work *k, const struct rama_seg_event *ev,
		      const struct rama_seg_link *link, uint64_t file)
{
	uint64_t start = ns_of(k->g, ev->start), end = ns_of(k->g, ev->start + ev->length);
	bool write = ev->kind == RAMA_TAB_OP_WRITE;
	const char *known = rama_tab_fn_info[ev->fn].name;
	const char *op = known != NULL ? known : write ? "write" : "read";
	struct rama_log_call c = { .id = ev->call,
				   .parent = ev->parent != ev->call ? ev->parent : 0,
				   .layer = ev->layer,
				   .write = write,
				   .kind = ev->kind,
				   .file = file,
				   .off = ev->off,
				   .bytes = ev->bytes,
				   .start = start,
				   .length = end > start ? end - start : 0,
				   .op = op,
				   .op_len = strlen(op) };
	int rc = 0;

	set_link(k->g, link, &c);
	if (!rama_log_calls_pen_add(&k->pen, &c)) {
		rc = flush(k);
		rama_log_calls_pen_clear(&k->pen);
		rama_log_calls_pen_add(&k->pen, &c);
	}
	return rc;
}

static int write_chunk(struct work *k)
{
	const struct rama_seg_chunk *chunk = &k->g->u.chunk;
	struct rama_gather_name *n = NULL, *found;
	int rc = 0;

	if (chunk->lane != k->lane || chunk->thread != k->thread || chunk->tid != k->tid)
		rc = flush(k);
	k->tid = chunk->tid;
	k->lane = chunk->lane;
	k->thread = chunk->thread;
	for (uint32_t i = 0; i < chunk->used && rc == 0; i++) {
		found = name_of(k->g, &chunk->event[i], n);
		/* a process that goes on may have added some whose name was not written */
		if (found == NULL || !found->used)
			continue;
		n = found;
		rc = write_call(k, &chunk->event[i], link_of(chunk, i), n->id);
	}
	return rc;
}

int rama_gather_calls_write(struct rama_gather *g)
{
	struct work *k = malloc(sizeof(*k));
	int rc = 0;

	if (k == NULL)
		return rama_gather_no_memory(g);
	k->g = g;
	k->thread = k->lane = k->tid = 0;
	rama_log_calls_pen_clear(&k->pen);
	for (uint64_t i = 0; i < rama_seg_chunks(g->s) && rc == 0; i++) {
		rc = rama_seg_chunk_get(g->s, i, &g->u.chunk, g->e);
		if (rc == 0)
			rc = write_chunk(k);
	}
	if (rc == 0)
		rc = flush(k);
	free(k);
	return rc;
}
