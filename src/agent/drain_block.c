/* SPDX-License-Identifier: BSD-3-Clause */
/* drain_block.c: events of a ring become a block; names of files go before the block that needs
 * them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/drain.h"
#include "table/fn.h"
#include "table/layers.h"

#define NAMES_MOST 4096	       /* in one message */
#define NAMES_KNOWN (1u << 20) /* of a job, that are remembered to have been sent */

/* ---- names ----------------------------------------------------------------------------------- */

struct fresh {
	struct rama_wire_msg_name name[NAMES_MOST];
	uint32_t n;
};

/* the names that are complete by now */
static void see_names_used(struct rama_agent_drain_seg *s)
{
	struct rama_err e;

	if (__atomic_load_n(&s->state->names_used, __ATOMIC_ACQUIRE) > s->names_at)
		rama_seg_count(&s->map.seg, &e); /* what cannot be read stays as it was */
}

/* 1: a name that nobody was told, 0: no more, negative: damaged from here on */
static int next_fresh(struct rama_agent_drain *d, struct rama_agent_drain_seg *s, uint64_t *at,
		      struct rama_wire_msg_name *to)
{
	struct rama_seg_name_get name;
	struct rama_err e;
	int rc;

	while ((rc = rama_seg_name_next(&s->map.seg, at, &name, &e)) == 1) {
		uint64_t *id = rama_map_put(&s->names, name.number, NULL);

		if (id == NULL)
			return RAMA_EMEMORY;
		*id = name.id;
		if (name.id == 0 || name.len == 0 || rama_map_get(&s->job->names, name.id) != NULL)
			continue;
		to->record = name.id;
		to->len = name.len;
		to->path = rama_arena_text(&d->arena, name.text, name.len);
		return to->path != NULL ? 1 : RAMA_EMEMORY;
	}
	return rc;
}

static int send_names(struct rama_agent_drain_seg *s, struct fresh *f, struct rama_err *e)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_NAMES };
	int rc;

	if (f->n == 0)
		return 0;
	m.names = (struct rama_wire_msg_names){ .job = s->job->key, .n = f->n, .name = f->name };
	rc = rama_agent_post_send(s->job->post, &m, s->job->key, 0, e);
	for (uint32_t i = 0; rc == 0 && i < f->n && s->job->names.used < NAMES_KNOWN; i++)
		rama_map_put(&s->job->names, f->name[i].record, NULL);
	f->n = 0;
	return rc;
}

int rama_agent_drain_names(struct rama_agent_drain *d, struct rama_agent_drain_seg *s,
			   struct rama_err *e)
{
	struct fresh *f;
	uint64_t at = s->names_at;
	int rc = 1;

	see_names_used(s);
	if (s->map.seg.state.names_used <= s->names_at)
		return 0;
	f = malloc(sizeof(*f));
	if (f == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "out of memory");
	f->n = 0;
	while (rc == 1) {
		rc = next_fresh(d, s, &at, &f->name[f->n]);
		f->n += rc == 1;
		if (f->n == NAMES_MOST || rc <= 0) {
			int sent = send_names(s, f, e);

			rama_arena_fini(&d->arena);
			if (sent != 0) {
				free(f);
				return sent; /* all of these come again */
			}
			s->names_at = at;
		}
	}
	if (rc < 0) /* what follows cannot be read: it is not tried again */
		s->names_at = s->map.seg.state.names_used;
	free(f);
	return 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static const char *const op_name[RAMA_TAB_OPS] = {
#define OP(kind, counter) [RAMA_TAB_OP_##kind] = #kind,
#include "table/ops.def"
#undef OP
};

static void lower(char *to, size_t room, const char *from)
{
	size_t i = 0;

	for (; from[i] != '\0' && i + 1 < room; i++)
		to[i] = (char)(from[i] >= 'A' && from[i] <= 'Z' ? from[i] - 'A' + 'a' : from[i]);
	to[i] = '\0';
}

static void describe(struct rama_wire_what *w, uint32_t layer, uint32_t kind, uint32_t fn)
{
	const char *name = fn < RAMA_TAB_FNS && rama_tab_fn_info[fn].name != NULL
				   ? rama_tab_fn_info[fn].name
				   : "unknown";

	*w = (struct rama_wire_what){ 0 };
	snprintf(w->layer, sizeof(w->layer), "%s",
		 layer < RAMA_SEG_EVENT_LAYERS ? rama_tab_event_layer[layer].name : "unknown");
	lower(w->op, sizeof(w->op), kind < RAMA_TAB_OPS ? op_name[kind] : "unknown");
	snprintf(w->fn, sizeof(w->fn), "%s", *name != '\0' ? name : "unknown");
}

/* The row of the block's table for this call; -1: the table is full. */
static int what_of(struct rama_agent_drain *d, const struct rama_seg_event *ev)
{
	const uint32_t most = sizeof(d->what_of) / sizeof(d->what_of[0]);
	uint32_t layer = ev->layer & ~(uint32_t)RAMA_SEG_EVENT_FAILED;
	uint32_t key = (uint32_t)ev->fn | (uint32_t)ev->kind << 16 | layer << 24;
	uint32_t at = key * 2654435761u >> 22;

	for (; d->what_of[at % most] != 0; at++)
		if (d->what_key[d->what_of[at % most] - 1] == key)
			return d->what_of[at % most] - 1;
	if (d->block->n_whats == RAMA_WIRE_BLOCK_WHATS)
		return -1;
	describe(&d->block->what[d->block->n_whats], layer, ev->kind, ev->fn);
	d->what_key[d->block->n_whats] = key;
	d->what_of[at % most] = (uint16_t)++d->block->n_whats;
	return (int)d->block->n_whats - 1;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Fills the block with the first of n raw events; returns how many fitted. */
static uint32_t convert(struct rama_agent_drain *d, struct rama_agent_drain_seg *s,
			struct rama_agent_drain_lane *lane, uint32_t n)
{
	uint64_t record = 0;
	uint32_t name = 0, i;

	for (i = 0; i < n; i++) {
		const struct rama_seg_event *ev = &d->raw[i];
		struct rama_wire_event *to = &d->block->event[i];
		uint64_t end = s->own.tick0 + ev->start + ev->length;
		int what = what_of(d, ev);

		if (what < 0)
			break;
		if (ev->name != name) {
			const uint64_t *id = rama_map_get(&s->names, ev->name);

			record = id != NULL ? *id : 0;
			name = ev->name;
		}
		*to = (struct rama_wire_event){
			.end = rama_seg_clock_real(s->clock, &s->own, end),
			.dur = rama_seg_clock_ns(s->clock, &s->own, ev->length),
			.off = ev->off,
			.bytes = ev->bytes,
			.record = record,
			.call = ev->call,
			.parent = ev->parent,
			.what = (uint16_t)what,
			.failed = (ev->layer & RAMA_SEG_EVENT_FAILED) != 0
		};
		lane->end = to->end;
	}
	return i;
}

static int send_block(struct rama_agent_drain *d, struct rama_agent_drain_seg *s,
		      struct rama_err *e)
{
	struct rama_wire_message m = { .kind = RAMA_WIRE_MSG_BLOCK };
	int64_t n = rama_wire_block_pack(&d->packer, d->block, d->packed,
					 rama_wire_block_room(d->block), e);

	if (n < 0)
		return (int)n;
	m.block.bytes = d->packed;
	m.block.len = (size_t)n;
	if (!rama_agent_post_has_room(s->job->post, (size_t)n + 256))
		return rama_err_set(e, RAMA_ELIMIT, "the spool is full");
	return rama_agent_post_send(s->job->post, &m, s->job->key, d->block->n, e);
}

int64_t rama_agent_drain_lane(struct rama_agent_drain *d, struct rama_agent_drain_seg *s,
			      uint32_t lane, struct rama_err *e)
{
	struct rama_agent_drain_lane *l = &s->lane[lane];
	struct rama_wire_block *b = d->block;
	uint32_t tid = 0, n = rama_seg_ring_read(&s->map, lane, l->taken, d->raw,
						 RAMA_WIRE_BLOCK_EVENTS, &tid);
	int rc;

	if (n == 0)
		return 0;
	if (rama_agent_drain_rank(s))
		s->told.any = false;
	rc = s->told.any ? 0 : rama_agent_drain_tell(d, s, false, e);
	if (rc == 0)
		rc = rama_agent_drain_names(d, s, e);
	if (rc != 0)
		return rc;
	memset(d->what_of, 0, sizeof(d->what_of));
	b->n_whats = 0;
	memcpy(b->job, s->job->key, sizeof(b->job));
	b->segment = s->key;
	b->rank = s->rank;
	b->lane = lane;
	b->tid = tid;
	b->first = l->taken;
	b->lost = l->dropped;
	b->n = convert(d, s, l, n);
	rc = send_block(d, s, e);
	if (rc != 0)
		return rc;
	l->taken += b->n;
	s->taken += b->n;
	rama_seg_ring_give_back(&s->map, lane, l->taken);
	return b->n;
}
