/* SPDX-License-Identifier: BSD-3-Clause */
/* seg.h: segments put together in memory by hand, as a process would leave them. Used by tests and by
 * the fuzz target. Times are given in ticks of one nanosecond. */
#ifndef RAMA_TESTS_SEG_H
#define RAMA_TESTS_SEG_H

#include <stdlib.h>
#include <string.h>

#include "core/recordid.h"
#include "segment/layout.h"

#define SEG_REAL0 1700000000000000000ull /* start of the process, ns since 1970 */
#define SEG_SECOND 1000000000ull
#define SEG_END (10 * SEG_SECOND) /* it ran ten seconds */
#define SEG_NAMES 16384

struct seg {
	unsigned char *bytes;
	size_t size;
	struct rama_seg_header *head;
	struct rama_seg_identity *id;
	struct rama_seg_state *state;
	struct rama_seg_control *control;
};

static inline void *seg_area(const struct seg *s, enum rama_area a)
{
	return s->bytes + s->head->area[a].off;
}

/* how much of what there is */
struct seg_sizes {
	unsigned slots, lanes, chunks; /* slots: of each kind */
	size_t rings;		       /* events */
};

/* places for areas: identity, state, control, names, slots, lanes, chunks, rings */
static inline void seg_layout(struct rama_seg_header *h, const struct seg_sizes *sizes)
{
	size_t item[RAMA_AREAS] = { 0 }, n[RAMA_AREAS] = { 0 }, at = RAMA_SEG_PAGE;

	n[RAMA_AREA_IDENTITY] = sizeof(struct rama_seg_identity);
	n[RAMA_AREA_STATE] = sizeof(struct rama_seg_state);
	n[RAMA_AREA_CONTROL] = sizeof(struct rama_seg_control);
	item[RAMA_AREA_NAMES] = 8;
	n[RAMA_AREA_NAMES] = SEG_NAMES / 8;
#define KIND(kind, slot, module)                      \
	item[RAMA_AREA_##kind] = sizeof(struct slot); \
	n[RAMA_AREA_##kind] = sizes->slots;
#include "segment/kinds.def"
#undef KIND
	item[RAMA_AREA_LANES] = sizeof(struct rama_seg_lane);
	n[RAMA_AREA_LANES] = sizes->lanes;
	item[RAMA_AREA_EVENTS] = RAMA_SEG_CHUNK;
	n[RAMA_AREA_EVENTS] = sizes->chunks;
	item[RAMA_AREA_RINGS] = sizeof(struct rama_event);
	n[RAMA_AREA_RINGS] = sizes->rings;
	for (unsigned a = 0; a < RAMA_AREAS; a++) {
		size_t len = n[a] * (item[a] > 0 ? item[a] : 1);

		h->area[a] =
			(struct rama_seg_area){ .off = at, .len = len, .item = (uint32_t)item[a] };
		at += (len + RAMA_SEG_PAGE - 1) / RAMA_SEG_PAGE * RAMA_SEG_PAGE;
	}
	h->size = at;
}

static inline void seg_text(char *to, size_t size, const char *text)
{
	size_t n = strlen(text) < size - 1 ? strlen(text) : size - 1;

	memset(to, 0, size);
	memcpy(to, text, n);
}

/* A process that ran ten seconds, ended by itself and did nothing. Slot 0 of each kind is the catch-all
 * record, not in use. */
static inline void seg_make_sized(struct seg *s, const struct seg_sizes *sizes)
{
	struct rama_seg_header head = { .magic = RAMA_SEG_MAGIC,
					.version = RAMA_SEG_VERSION,
					.areas = RAMA_AREAS };

	seg_layout(&head, sizes);
	*s = (struct seg){ .size = head.size, .bytes = calloc(1, head.size) };
	if (s->bytes == NULL)
		abort();
	memcpy(s->bytes, &head, sizeof(head));
	s->head = (struct rama_seg_header *)(void *)s->bytes;
	s->id = seg_area(s, RAMA_AREA_IDENTITY);
	s->state = seg_area(s, RAMA_AREA_STATE);
	s->control = seg_area(s, RAMA_AREA_CONTROL);
	s->id->clock = (struct rama_seg_clock){ .source = RAMA_CLOCK_MONOTONIC,
						.hz = 1e9,
						.tick0 = 7000,
						.mono0 = 7000,
						.real0 = SEG_REAL0,
						.tick1 = 7000 + SEG_END,
						.mono1 = 7000 + SEG_END,
						.real1 = SEG_REAL0 + SEG_END };
	s->id->jobid = 4242;
	s->id->rank = -1;
	s->id->pid = 100;
	s->id->ppid = 99;
	s->id->uid = 1000;
	s->id->pid_start = 5555;
	s->id->mem_align = 8;
	s->id->small_trigger = s->id->unaligned_trigger = -1;
	seg_text(s->id->boot, sizeof(s->id->boot), "00000000-1111-2222-3333-444444444444");
	seg_text(s->id->host, sizeof(s->id->host), "node1");
	seg_text(s->id->job, sizeof(s->id->job), "job");
	seg_text(s->id->exe, sizeof(s->id->exe), "/bin/work");
	seg_text(s->id->command, sizeof(s->id->command), "work --hard");
	seg_text(s->id->mounts, sizeof(s->id->mounts), "/\text4\n/home\tnfs\n");
	s->state->phase = RAMA_SEG_DONE;
	s->state->threads_most = 1;
	for (unsigned i = 0; i < RAMA_KINDS; i++)
		s->state->slots_used[i] = sizes->slots > 0;
	s->state->rings_limit = head.area[RAMA_AREA_RINGS].len;
}

static inline void seg_make(struct seg *s, unsigned slots, unsigned lanes, unsigned chunks)
{
	seg_make_sized(s, &(struct seg_sizes){ slots, lanes, chunks, 0 });
}

static inline void seg_free(struct seg *s)
{
	free(s->bytes);
	*s = (struct seg){ 0 };
}

/* returns its number */
static inline uint32_t seg_name(struct seg *s, const char *text)
{
	unsigned char *area = seg_area(s, RAMA_AREA_NAMES);
	struct rama_seg_name *n = (struct rama_seg_name *)(void *)(area + s->state->names_used);
	size_t len = strlen(text);
	uint32_t number = (uint32_t)(s->state->names_used / 8 + 1);

	n->id = rama_record_id(text, len);
	n->len = (uint32_t)len;
	memcpy(n->text, text, len + 1);
	s->state->names_used += (sizeof(*n) + len + 1 + 7) / 8 * 8;
	return number;
}

static inline uint64_t seg_id(const struct seg *s, uint32_t number)
{
	const unsigned char *area = seg_area(s, RAMA_AREA_NAMES);

	return ((const struct rama_seg_name *)(const void *)(area + (number - 1) * 8))->id;
}

static inline struct rama_posix_file *seg_posix(struct seg *s, uint32_t name)
{
	struct rama_posix_file *f = seg_area(s, RAMA_AREA_POSIX);

	f += s->state->slots_used[RAMA_KIND_POSIX]++;
	rama_posix_init(f, seg_id(s, name), 8, 4096);
	f->name = name;
	s->state->registered |= 1ull << RAMA_MOD_POSIX;
	return f;
}

static inline struct rama_stdio_file *seg_stdio(struct seg *s, uint32_t name, bool standard)
{
	struct rama_stdio_file *f = seg_area(s, RAMA_AREA_STDIO);

	f += s->state->slots_used[RAMA_KIND_STDIO]++;
	rama_stdio_init(f, seg_id(s, name), standard);
	f->name = name;
	s->state->registered |= 1ull << RAMA_MOD_STDIO;
	return f;
}

static inline struct rama_extra_file *seg_extra(struct seg *s, uint32_t name)
{
	struct rama_extra_file *f = seg_area(s, RAMA_AREA_EXTRA);

	f += s->state->slots_used[RAMA_KIND_EXTRA]++;
	rama_extra_init(f, seg_id(s, name));
	f->name = name;
	s->state->registered |= 1ull << RAMA_MOD_EXTRA;
	return f;
}

/* one more lane, its heat maps begun */
static inline struct rama_seg_lane *seg_lane(struct seg *s, uint64_t thread)
{
	struct rama_seg_lane *l = seg_area(s, RAMA_AREA_LANES);

	l += s->state->lanes_used++;
	l->thread = thread;
	l->owned = 1;
	for (unsigned i = 0; i < RAMA_LAYERS; i++)
		rama_heat_init(&l->heat[i], SEG_SECOND / 10);
	return l;
}

static inline struct rama_seg_chunk *seg_chunk(struct seg *s, uint64_t thread)
{
	unsigned char *area = seg_area(s, RAMA_AREA_EVENTS);
	struct rama_seg_chunk *c =
		(struct rama_seg_chunk *)(void *)(area + RAMA_SEG_CHUNK * s->state->chunks_used++);

	c->thread = thread;
	return c;
}

static inline void seg_event(struct rama_seg_chunk *c, struct rama_event ev)
{
	c->event[c->used++] = ev;
}

#endif
