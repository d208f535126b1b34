/* SPDX-License-Identifier: BSD-3-Clause */
/* seg.h: segments put together in memory by hand, as a process would leave them. Used by tests
 * and by the fuzz target. Times are given in ticks of one nanosecond. */
#ifndef RAMA_TESTS_SEG_H
#define RAMA_TESTS_SEG_H

#include <stdlib.h>
#include <string.h>

#include "core/extra.h"
#include "core/foreign/lustre.h"
#include "core/mpiio.h"
#include "core/pnetcdf.h"
#include "core/posix.h"
#include "core/recordid.h"
#include "core/stdio.h"
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

static inline void *seg_area(const struct seg *s, enum rama_seg_area a)
{
	return s->bytes + s->head->area[a].off;
}

/* how much of what there is */
struct seg_sizes {
	unsigned slots, lanes, chunks; /* slots: of each kind */
	size_t rings;		       /* events */
	/* bytes of a chunk of records; 0: so many that one is enough for all slots of a kind,
	 * which then follow each other */
	uint32_t pool;
};

/* chunks of records, and how large they are */
static inline size_t seg_pool(const struct seg_sizes *sizes, size_t *chunk)
{
	size_t n;

	*chunk = sizes->pool > 0 ? sizes->pool : SEG_NAMES;
	while (sizes->pool == 0 && *chunk < sizes->slots * sizeof(struct rama_core_pnetcdf_var))
		*chunk *= 2;
	n = SEG_NAMES > *chunk ? 2 * SEG_NAMES / *chunk : 1;
	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++)
		n += (sizes->slots + *chunk / rama_core_kinds[k]->size - 1) /
		     (*chunk / rama_core_kinds[k]->size);
	return n;
}

/* places for areas: identity, state, control, records, lanes, chunks, rings */
static inline void seg_layout(struct rama_seg_header *h, const struct seg_sizes *sizes)
{
	size_t item[RAMA_SEG_AREAS] = { 0 }, n[RAMA_SEG_AREAS] = { 0 }, at = RAMA_SEG_PAGE;

	n[RAMA_SEG_AREA_IDENTITY] = sizeof(struct rama_seg_identity);
	n[RAMA_SEG_AREA_STATE] = sizeof(struct rama_seg_state);
	n[RAMA_SEG_AREA_CONTROL] = sizeof(struct rama_seg_control);
	n[RAMA_SEG_AREA_RECORDS] = seg_pool(sizes, &item[RAMA_SEG_AREA_RECORDS]);
	item[RAMA_SEG_AREA_LANES] = sizeof(struct rama_seg_lane);
	n[RAMA_SEG_AREA_LANES] = sizes->lanes;
	item[RAMA_SEG_AREA_EVENTS] = RAMA_SEG_CHUNK;
	n[RAMA_SEG_AREA_EVENTS] = sizes->chunks;
	item[RAMA_SEG_AREA_RINGS] = sizeof(struct rama_seg_event);
	n[RAMA_SEG_AREA_RINGS] = sizes->rings;
	for (unsigned a = 0; a < RAMA_SEG_AREAS; a++) {
		size_t len = n[a] * (item[a] > 0 ? item[a] : 1);

		h->area[a] = (struct rama_seg_area_get){ .off = at,
							 .len = len,
							 .item = (uint32_t)item[a] };
		at += (len + RAMA_SEG_PAGE - 1) / RAMA_SEG_PAGE * RAMA_SEG_PAGE;
	}
	h->size = at;
	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++)
		h->slot[k] = rama_core_kinds[k]->size;
}

/* the next chunk of records, for names or slots; its place in the area */
static inline size_t seg_take(struct seg *s, unsigned what)
{
	const struct rama_seg_area_get *a = &s->head->area[RAMA_SEG_AREA_RECORDS];

	if (s->state->pool_used >= a->len / a->item)
		abort();
	s->head->pool[s->state->pool_used] = (uint8_t)what;
	return (size_t)s->state->pool_used++ * a->item;
}

/* slot i of a kind, which is in a chunk that was taken; NULL: it is not */
static inline void *seg_slot(const struct seg *s, unsigned kind, uint32_t i)
{
	uint32_t chunk = s->head->area[RAMA_SEG_AREA_RECORDS].item,
		 per = chunk / rama_core_kinds[kind]->size;
	uint32_t before = i / per;

	for (uint32_t c = 0; c < s->state->pool_used; c++)
		if (s->head->pool[c] == RAMA_SEG_POOL_SLOTS + kind && before-- == 0)
			return (unsigned char *)seg_area(s, RAMA_SEG_AREA_RECORDS) + c * chunk +
			       (size_t)(i % per) * rama_core_kinds[kind]->size;
	return NULL;
}

/* one more */
static inline void *seg_slot_take(struct seg *s, unsigned kind)
{
	uint32_t i = s->state->slots_used[kind]++;

	if (seg_slot(s, kind, i) == NULL)
		seg_take(s, RAMA_SEG_POOL_SLOTS + kind);
	return seg_slot(s, kind, i);
}

static inline void seg_text(char *to, size_t size, const char *text)
{
	size_t n = strlen(text) < size - 1 ? strlen(text) : size - 1;

	memset(to, 0, size);
	memcpy(to, text, n);
}

/* A process that ran ten seconds, ended by itself and did nothing. Slot 0 of each kind is the
 * catch-all record, not in use. */
static inline void seg_make_sized(struct seg *s, const struct seg_sizes *sizes)
{
	struct rama_seg_header head = { .magic = RAMA_SEG_MAGIC,
					.version = RAMA_SEG_VERSION,
					.areas = RAMA_SEG_AREAS };

	seg_layout(&head, sizes);
	*s = (struct seg){ .size = head.size, .bytes = calloc(1, head.size) };
	if (s->bytes == NULL)
		abort();
	memcpy(s->bytes, &head, sizeof(head));
	s->head = (struct rama_seg_header *)(void *)s->bytes;
	s->id = seg_area(s, RAMA_SEG_AREA_IDENTITY);
	s->state = seg_area(s, RAMA_SEG_AREA_STATE);
	s->control = seg_area(s, RAMA_SEG_AREA_CONTROL);
	s->id->clock = (struct rama_seg_ticks){ .source = RAMA_SEG_CLOCK_MONOTONIC,
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
	seg_take(s, RAMA_SEG_POOL_NAMES);
	for (unsigned i = 0; i < RAMA_SEG_KINDS && sizes->slots > 0; i++)
		seg_slot_take(s, i);
	s->state->rings_limit = head.area[RAMA_SEG_AREA_RINGS].len;
}

static inline void seg_make(struct seg *s, unsigned slots, unsigned lanes, unsigned chunks)
{
	seg_make_sized(s, &(struct seg_sizes){ slots, lanes, chunks, 0, 0 });
}

static inline void seg_free(struct seg *s)
{
	free(s->bytes);
	*s = (struct seg){ 0 };
}

/* returns its number */
static inline uint32_t seg_name(struct seg *s, const char *text)
{
	unsigned char *area = seg_area(s, RAMA_SEG_AREA_RECORDS);
	size_t len = strlen(text), chunk = s->head->area[RAMA_SEG_AREA_RECORDS].item;
	size_t need = (sizeof(struct rama_seg_name) + len + 1 + 7) / 8 * 8;

	if (s->state->names_used > 0 && (s->state->names_used - 1) % chunk + need >= chunk)
		s->state->names_used = seg_take(s, RAMA_SEG_POOL_NAMES);
	struct rama_seg_name *n = (struct rama_seg_name *)(void *)(area + s->state->names_used);
	uint32_t number = (uint32_t)(s->state->names_used / 8 + 1);

	n->number = number;
	n->id = rama_core_record_id(text, len);
	n->len = (uint32_t)len;
	memcpy(n->text, text, len + 1);
	s->state->names_used += need;
	return number;
}

static inline uint64_t seg_id(const struct seg *s, uint32_t number)
{
	const unsigned char *area = seg_area(s, RAMA_SEG_AREA_RECORDS);

	return ((const struct rama_seg_name *)(const void *)(area + (number - 1) * 8))->id;
}

static inline struct rama_core_posix_file *seg_posix(struct seg *s, uint32_t name)
{
	struct rama_core_posix_file *f = seg_slot_take(s, RAMA_SEG_KIND_POSIX);

	rama_core_posix_init(f, seg_id(s, name), 8, 4096);
	f->name = name;
	s->state->registered |= 1ull << RAMA_TAB_MOD_POSIX;
	return f;
}

static inline struct rama_core_stdio_file *seg_stdio(struct seg *s, uint32_t name, bool standard)
{
	struct rama_core_stdio_file *f = seg_slot_take(s, RAMA_SEG_KIND_STDIO);

	rama_core_stdio_init(f, seg_id(s, name), standard);
	f->name = name;
	s->state->registered |= 1ull << RAMA_TAB_MOD_STDIO;
	return f;
}

static inline struct rama_core_extra_file *seg_extra(struct seg *s, uint32_t name)
{
	struct rama_core_extra_file *f = seg_slot_take(s, RAMA_SEG_KIND_EXTRA);

	rama_core_extra_init(f, seg_id(s, name));
	f->name = name;
	s->state->registered |= 1ull << RAMA_TAB_MOD_EXTRA;
	return f;
}

/* one more lane, its heat maps begun */
static inline struct rama_seg_lane *seg_lane(struct seg *s, uint64_t thread)
{
	struct rama_seg_lane *l = seg_area(s, RAMA_SEG_AREA_LANES);

	l += s->state->lanes_used++;
	l->thread = thread;
	l->owned = 1;
	for (unsigned i = 0; i < RAMA_SEG_LAYERS; i++)
		rama_core_heat_init(&l->heat[i], SEG_SECOND / 10);
	return l;
}

static inline struct rama_seg_chunk *seg_chunk(struct seg *s, uint64_t thread)
{
	unsigned char *area = seg_area(s, RAMA_SEG_AREA_EVENTS);
	struct rama_seg_chunk *c =
		(struct rama_seg_chunk *)(void *)(area + RAMA_SEG_CHUNK * s->state->chunks_used++);

	c->thread = thread;
	return c;
}

static inline void seg_event(struct rama_seg_chunk *c, struct rama_seg_event ev)
{
	c->event[c->used++] = ev;
}

#endif
