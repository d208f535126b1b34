/* SPDX-License-Identifier: BSD-3-Clause */
/* events.h: events of calls that have just been recorded: kept in the trace, or live (events.c). */
#ifndef RAMA_CAPTURE_EVENTS_H
#define RAMA_CAPTURE_EVENTS_H

#include "capture/runtime.h"

#pragma GCC visibility push(hidden)

/* Are events of this layer asked for, to keep or live? Two words next to each other, read as
 * one. */
typedef uint64_t __attribute__((may_alias)) rama_cap_two_words;
static inline bool rama_cap_eventful(enum rama_seg_layer layer)
{
	const volatile rama_cap_two_words *words =
		(const volatile rama_cap_two_words *)&rama_cap_run.control->trace;

	return RAMA_CAP_UNLIKELY((*words & 0x100000001ull << layer) != 0);
}
_Static_assert(offsetof(struct rama_seg_control, live) == 4, "next to each other");
static inline bool rama_cap_live_on(enum rama_seg_layer layer)
{
	return RAMA_CAP_UNLIKELY(*(const volatile uint32_t *)&rama_cap_run.control->live >> layer &
				 1);
}
/* What daemons and servers do for others is counted where an agent wants to know who is slowest. */
static inline bool rama_cap_requests_count(void)
{
	return *(const volatile uint32_t *)&rama_cap_run.control->focus != 0;
}
/* a read or write that succeeded; rama_cap_eventful() */
void rama_cap_access(struct rama_cap_thread *t, enum rama_seg_layer layer, uint32_t name,
		     const struct rama_core_op *op);
/* any other call, and what failed; rama_cap_live_on() */
void rama_cap_live_call(struct rama_cap_thread *t, enum rama_seg_layer layer, uint32_t name,
			const struct rama_core_op *op);
/* A request that this process has done for others, and its link; call: id that was given to it in
 * this thread, or 0. It is part of no call of the thread that ends it. rama_cap_eventful() */
void rama_cap_request(struct rama_cap_thread *t, enum rama_seg_layer layer, uint32_t name,
		      const struct rama_core_op *op, struct rama_seg_link *link, uint32_t call);
/* The same, as it will lie in memory: filled in when it begins, but for what only its end knows. A
 * call of 0 gets a number; link.layer and link.call are set here. */
struct rama_cap_request {
	struct rama_seg_event event;
	struct rama_seg_link link;
};
void rama_cap_request_slow(struct rama_cap_thread *t, struct rama_cap_request *q, bool ok)
	__attribute__((cold));
static inline void rama_cap_request_put(struct rama_cap_thread *t, struct rama_cap_request *q,
					bool ok)
{
	const struct rama_seg_control *control = rama_cap_run.control;
	struct rama_seg_chunk *c = t->chunk;
	uint8_t layer = q->event.layer;

	if (q->event.call == 0)
		q->event.call = (uint32_t)++t->lane->calls;
	q->link.call = q->event.call;
	q->link.layer = RAMA_SEG_EVENT_LINK;
	if (RAMA_CAP_UNLIKELY(!c) || RAMA_CAP_UNLIKELY(c->used + 2 > RAMA_SEG_CHUNK_EVENTS) ||
	    RAMA_CAP_UNLIKELY(!(*(const volatile uint32_t *)&control->trace >> layer & 1)) ||
	    rama_cap_live_on(layer)) {
		rama_cap_request_slow(t, q, ok);
		return;
	}
	/* as all events: whoever reads `used`, also after a kill, finds those below it whole */
	memcpy(&c->event[c->used], q, sizeof(*q));
	__atomic_store_n(&c->used, c->used + 2, __ATOMIC_RELEASE);
}
/* a failed call on a path that may not exist; rama_cap_live_on() */
void rama_cap_live_path(struct rama_cap_thread *t, enum rama_seg_layer layer, const char *path,
			size_t len, const struct rama_core_op *op);

#pragma GCC visibility pop
#endif
