/* SPDX-License-Identifier: BSD-3-Clause */
/* apply.c: what focus.c decides, done by the control words of the segments on this node.
 * Processes of a job are one group, file servers another, FUSE daemons a third. What each process
 * had asked for stands in its segment: it holds again when nobody chooses any more, also if we are
 * killed (the process sees that our beat stands still, or the next agent does). */
#include <stdlib.h>
#include <string.h>

#include "agent/loop.h"
#include "base/grow.h"
#include "base/now.h"
#include "table/layers.h"

#define ALL_LAYERS ((1u << RAMA_SEG_EVENT_LAYERS) - 1)

uint64_t rama_agent_focus_id(const struct rama_agent_drain_seg *s)
{
	uint64_t half[2] = { 0 };

	memcpy(half, &s->key, sizeof(half) < sizeof(s->key) ? sizeof(half) : sizeof(s->key));
	return (half[0] ^ half[1]) | 2;
}

const char *rama_agent_focus_word(const struct rama_agent_drain_seg *s)
{
	uint32_t flags = __atomic_load_n(&s->id->flags, __ATOMIC_RELAXED);

	if ((flags & RAMA_SEG_FILE_SERVER) != 0)
		return RAMA_AGENT_FOCUS_SERVERS;
	return (flags & RAMA_SEG_FUSE_DAEMON) != 0 ? RAMA_AGENT_FOCUS_DAEMONS : s->job->key;
}

int rama_agent_focus_start(struct rama_agent *a, struct rama_err *e)
{
	struct rama_bus_sink_options how = { .tell = a->o.tell, .ctx = a->o.ctx };

	if (!a->o.focus || a->post == NULL)
		return 0;
	how.agent = rama_agent_post_name(a->post);
	return rama_bus_talk_open(&a->talk, a->o.sink, "focus", &how, e);
}

/* ---- control words --------------------------------------------------------------------------- */

static void set(uint32_t *word, uint32_t to)
{
	if (__atomic_load_n(word, __ATOMIC_RELAXED) != to)
		__atomic_store_n(word, to, __ATOMIC_RELAXED);
}

static void give_back(struct rama_seg_control *c)
{
	if (__atomic_load_n(&c->focus, __ATOMIC_RELAXED) == RAMA_SEG_FOCUS_NONE)
		return;
	set(&c->trace, c->asked_trace);
	set(&c->live, c->asked_live);
	set(&c->focus, RAMA_SEG_FOCUS_NONE);
}

/* reads and writes, which are what a trace keeps */
static uint32_t traced_layers(void)
{
	uint32_t traced = 0;

	for (unsigned i = 0; i < RAMA_TAB_LAYER_ROWS; i++)
		traced |= (uint32_t)(rama_tab_event_layer[i].trace != 0) << i;
	return traced | (ALL_LAYERS & ~((1u << RAMA_SEG_LAYERS) - 1));
}

static void choose(struct rama_seg_control *c, bool chosen)
{
	if (__atomic_load_n(&c->focus, __ATOMIC_RELAXED) == RAMA_SEG_FOCUS_NONE) {
		c->asked_trace = __atomic_load_n(&c->trace, __ATOMIC_RELAXED);
		c->asked_live = __atomic_load_n(&c->live, __ATOMIC_RELAXED);
	}
	set(&c->focus, chosen ? RAMA_SEG_FOCUS_CHOSEN : RAMA_SEG_FOCUS_SUMS);
	set(&c->trace, c->asked_trace | (chosen ? traced_layers() : 0));
	set(&c->live, chosen ? ALL_LAYERS : 0);
}

/* Events that somebody lent who was killed before he gave them back. The word is taken first:
 * who lends anew meanwhile is not undone, but for the moment between both. */
void rama_agent_focus_end_lent(struct rama_seg_control *c)
{
	uint32_t until = __atomic_load_n(&c->live_until, __ATOMIC_ACQUIRE);

	if (until == 0 || rama_now_ms() / 1000 < until ||
	    !__atomic_compare_exchange_n(&c->live_until, &until, 0, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	if (__atomic_load_n(&c->focus, __ATOMIC_RELAXED) == RAMA_SEG_FOCUS_NONE)
		set(&c->live, 0);
	else
		c->asked_live = 0;
}

void rama_agent_focus_follow(struct rama_agent *a, struct rama_agent_drain_seg *s)
{
	give_back(s->map.control); /* of an agent that was killed */
	if (a->o.focus)
		choose(s->map.control, false);
}

void rama_agent_focus_leave(struct rama_agent *a, struct rama_agent_drain_seg *s)
{
	if (a->o.focus && s->map.control != NULL)
		give_back(s->map.control);
}

/* calls that made no event, for whoever makes a log of it */
static void note_left(struct rama_agent *a, const struct rama_agent_drain_seg *s)
{
	const struct rama_agent_focus_past *p =
		rama_agent_focus_past(&a->focus, rama_agent_focus_id(s));
	uint64_t left = p != NULL ? p->left_out : 0;

	set(&s->map.control->left_out[0], (uint32_t)left);
	set(&s->map.control->left_out[1], (uint32_t)(left >> 32));
}

/* ---- once a second --------------------------------------------------------------------------- */

static struct rama_agent_focus_one one_of(const struct rama_agent_drain_seg *s)
{
	uint64_t requests = __atomic_load_n(&s->state->requests, __ATOMIC_RELAXED),
		 ticks = __atomic_load_n(&s->state->requests_ticks, __ATOMIC_RELAXED);
	struct rama_agent_focus_one one = { .id = rama_agent_focus_id(s),
					    .group = rama_agent_focus_group_of(
						    rama_agent_focus_word(s)),
					    .calls = s->io_calls,
					    .ns = s->io_ns };
	int64_t ns;

	if (requests > 0) {
		ns = rama_seg_clock_ns(s->clock, &s->own, ticks);
		one.calls = requests;
		one.ns = ns > 0 ? (uint64_t)ns : 0;
	}
	return one;
}

static void hear(void *ctx, const unsigned char *bytes, size_t n)
{
	struct rama_agent *a = ctx;
	struct rama_wire_message m;
	struct rama_arena arena = { 0 };
	struct rama_err e = { 0 };

	if (rama_wire_message_decode(&m, bytes, n, &arena, &e) == 0 &&
	    m.kind == RAMA_WIRE_MSG_FOCUS)
		rama_agent_focus_others_hear(&a->others, &m.focus, rama_agent_post_name(a->post),
					     a->drain.mono);
	rama_arena_fini(&arena);
}

void rama_agent_focus_second(struct rama_agent *a)
{
	struct rama_agent_focus_elsewhere elsewhere = { 0 };
	struct rama_agent_focus_one *list;

	if (!a->o.focus)
		return;
	if (a->talk != NULL) {
		rama_bus_talk_hear(a->talk, hear, a);
		elsewhere = rama_agent_focus_others_round(&a->others, rama_agent_post_name(a->post),
							  a->drain.mono);
	}
	list = calloc(a->n_segs + 1, sizeof(*list));
	for (size_t i = 0; list != NULL && i < a->n_segs; i++)
		list[i] = one_of(a->seg[i]);
	if (list != NULL && rama_agent_focus_round(&a->focus, list, a->n_segs, &elsewhere)) {
		for (size_t i = 0; i < a->n_segs; i++) {
			a->seg[i]->focused = list[i].traced;
			choose(a->seg[i]->map.control, list[i].traced);
			note_left(a, a->seg[i]);
		}
		if (a->talk != NULL)
			rama_agent_focus_say(a);
	}
	free(list);
}
