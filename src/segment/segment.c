/* SPDX-License-Identifier: BSD-3-Clause */
#include "segment/segment.h"

#include <math.h>
#include <sched.h>
#include <string.h>

#define TRIES 200	       /* copies of a slot that is being changed */
#define TRIES_QUICK 20	       /* before others get the processor in between */
#define TICKS_MAX (1ull << 60) /* decades; later times are nonsense */

/* What is read after this is read after it. A full barrier, because the thread sanitizer does not
 * know the lighter one. */
static void then(void)
{
	__sync_synchronize();
}

/* ---- areas -------------------------------------------------------------------------------- */

static const struct rama_seg_area_get *area_of(const struct rama_seg *s, enum rama_seg_area a)
{
	return &s->head.area[a];
}

/* bytes at `off` of an area, which the caller has checked against its length */
static int area_read(struct rama_seg *s, enum rama_seg_area a, uint64_t off, void *to, size_t n,
		     struct rama_err *e)
{
	return s->src->read(s->src->ctx, area_of(s, a)->off + off, to, n, e);
}

size_t rama_seg_slot_size(enum rama_seg_kind kind)
{
	return rama_core_kinds[kind]->size;
}

static size_t item_size(enum rama_seg_area a)
{
	switch (a) {
	case RAMA_SEG_AREA_LANES:
		return sizeof(struct rama_seg_lane);
	case RAMA_SEG_AREA_EVENTS:
		return RAMA_SEG_CHUNK;
	case RAMA_SEG_AREA_RINGS:
		return sizeof(struct rama_seg_event);
	default:
		return 0;
	}
}

static uint64_t items(const struct rama_seg *s, enum rama_seg_area a)
{
	return area_of(s, a)->item > 0 ? area_of(s, a)->len / area_of(s, a)->item : 0;
}

static int check_area(struct rama_seg *s, enum rama_seg_area a, struct rama_err *e)
{
	struct rama_seg_area_get *area = &s->head.area[a];
	size_t size = item_size(a), padded = (size + 63) & ~(size_t)63;

	if (area->off % RAMA_SEG_PAGE != 0 || area->off < RAMA_SEG_PAGE ||
	    area->off > s->head.size || area->len > s->head.size - area->off)
		return rama_err_set(e, RAMA_ECORRUPT, "area %d lies outside the segment", (int)a);
	if (size > 0 && area->len > 0 && area->item != size && area->item != padded)
		return rama_err_set(e, RAMA_ECORRUPT, "area %d has items of %u bytes, not %zu",
				    (int)a, area->item, size);
	if (size == 0 && a != RAMA_SEG_AREA_RECORDS)
		area->item = 0;
	if (area->off >= s->src->size)
		area->len = 0;
	else if (area->len > s->src->size - area->off)
		area->len = s->src->size - area->off;
	return 0;
}

static int check_pool(struct rama_seg *s, struct rama_err *e)
{
	uint32_t chunk = area_of(s, RAMA_SEG_AREA_RECORDS)->item;

	if (chunk < RAMA_SEG_POOL_LEAST || (chunk & (chunk - 1)) != 0)
		return rama_err_set(e, RAMA_ECORRUPT, "has chunks of %u bytes for records", chunk);
	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++)
		if (s->head.slot[k] != rama_core_kinds[k]->size)
			return rama_err_set(e, RAMA_ECORRUPT,
					    "has slots of %u bytes for kind %u, not %u",
					    s->head.slot[k], k, rama_core_kinds[k]->size);
	return 0;
}

static int read_header(struct rama_seg *s, struct rama_err *e)
{
	struct rama_seg_header *h = &s->head;
	int rc = s->src->size < sizeof(*h) ? RAMA_ETRUNC
					   : s->src->read(s->src->ctx, 0, h, sizeof(*h), e);

	if (rc == RAMA_ETRUNC && s->src->size < sizeof(*h))
		return rama_err_set(e, rc, "ends within the header of a segment");
	if (rc != 0)
		return rc;
	if (h->magic != RAMA_SEG_MAGIC)
		return rama_err_set(e, RAMA_EFORMAT, "is not a segment");
	if (h->version != RAMA_SEG_VERSION)
		return rama_err_set(e, RAMA_EVERSION,
				    "is a segment of version %u, this program reads version %d",
				    h->version, RAMA_SEG_VERSION);
	if (h->areas < RAMA_SEG_AREAS || h->areas > sizeof(h->area) / sizeof(h->area[0]))
		return rama_err_set(e, RAMA_ECORRUPT, "claims %u areas", h->areas);
	s->cut = s->src->size < h->size;
	for (int a = 0; a < RAMA_SEG_AREAS && rc == 0; a++)
		rc = check_area(s, (enum rama_seg_area)a, e);
	return rc == 0 ? check_pool(s, e) : rc;
}

/* ---- chunks of records ----------------------------------------------------------------------- */

static uint32_t pool_size(const struct rama_seg *s)
{
	return area_of(s, RAMA_SEG_AREA_RECORDS)->item;
}

/* slots of a kind that a chunk holds */
static uint32_t per_chunk(const struct rama_seg *s, unsigned kind)
{
	return pool_size(s) / rama_core_kinds[kind]->size;
}

/* Which chunks hold slots of which kind; those that hold something else, or nothing that is
 * known, are nobody's. */
static void sort_chunks(struct rama_seg *s)
{
	uint16_t at[RAMA_SEG_KINDS + 1] = { 0 };

	for (uint32_t c = 0; c < s->pool_known; c++) {
		unsigned kind = s->head.pool[c] - RAMA_SEG_POOL_SLOTS;

		if (kind < RAMA_SEG_KINDS)
			at[kind + 1]++;
	}
	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++)
		at[k + 1] = (uint16_t)(at[k + 1] + at[k]);
	memcpy(s->first, at, sizeof(at));
	for (uint32_t c = 0; c < s->pool_known; c++) {
		unsigned kind = s->head.pool[c] - RAMA_SEG_POOL_SLOTS;

		if (kind < RAMA_SEG_KINDS)
			s->chunk[at[kind]++] = (uint16_t)c;
	}
}

/* The state was read before: what it counts is in chunks that are told by now. */
static int read_chunks(struct rama_seg *s, struct rama_err *e)
{
	uint64_t all = (area_of(s, RAMA_SEG_AREA_RECORDS)->len + pool_size(s) - 1) / pool_size(s);
	uint32_t n = s->state.pool_used;
	int rc;

	if (n > RAMA_SEG_POOL_CHUNKS)
		n = RAMA_SEG_POOL_CHUNKS;
	if (n > all)
		n = (uint32_t)all;
	if (n == s->pool_known)
		return 0;
	rc = s->src->read(s->src->ctx, offsetof(struct rama_seg_header, pool), s->head.pool,
			  sizeof(s->head.pool), e);
	s->pool_known = rc == 0 ? n : 0;
	sort_chunks(s);
	return rc;
}

/* how many slots of a kind the chunks hold that are there */
static uint32_t slots_there(const struct rama_seg *s, unsigned kind)
{
	uint64_t len = area_of(s, RAMA_SEG_AREA_RECORDS)->len, n = 0;
	uint32_t per = per_chunk(s, kind);

	for (unsigned i = s->first[kind]; i < s->first[kind + 1]; i++) {
		uint64_t at = (uint64_t)s->chunk[i] * pool_size(s);
		uint64_t left = at < len ? (len - at) / rama_core_kinds[kind]->size : 0;

		n += left < per ? left : per;
		if (left < per) /* the file ends here */
			break;
	}
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

uint64_t rama_seg_slot_place(const struct rama_seg *s, enum rama_seg_kind kind, uint32_t i)
{
	const struct rama_seg_area_get *a = area_of(s, RAMA_SEG_AREA_RECORDS);
	uint32_t per = per_chunk(s, kind);
	uint64_t at;

	if (per == 0 || i / per >= (uint32_t)(s->first[kind + 1] - s->first[kind]))
		return 0;
	at = (uint64_t)s->chunk[s->first[kind] + i / per] * pool_size(s) +
	     (uint64_t)(i % per) * rama_core_kinds[kind]->size;
	return at <= a->len && rama_core_kinds[kind]->size <= a->len - at ? a->off + at : 0;
}

/* ---- identity, state, control ---------------------------------------------------------------- */

static int read_struct(struct rama_seg *s, enum rama_seg_area a, void *to, size_t n,
		       struct rama_err *e)
{
	if (area_of(s, a)->len < n)
		return rama_err_set(e, s->cut ? RAMA_ETRUNC : RAMA_ECORRUPT,
				    "ends before it says what it is (area %d)", (int)a);
	return area_read(s, a, 0, to, n, e);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void tame_texts(struct rama_seg *s)
{
	struct rama_seg_identity *id = &s->id;

	id->boot[sizeof(id->boot) - 1] = '\0';
	id->host[sizeof(id->host) - 1] = '\0';
	id->job[sizeof(id->job) - 1] = '\0';
	id->tag[sizeof(id->tag) - 1] = '\0';
	id->exe[sizeof(id->exe) - 1] = '\0';
	id->command[sizeof(id->command) - 1] = '\0';
	id->mounts[sizeof(id->mounts) - 1] = '\0';
	id->batch[sizeof(id->batch) - 1] = '\0';
}

static void tame_counts(struct rama_seg *s)
{
	struct rama_seg_state *st = &s->state;

	st->why[sizeof(st->why) - 1] = '\0';
	st->hooks[sizeof(st->hooks) - 1] = '\0';
	for (unsigned i = 0; i < RAMA_SEG_UNSEEN_NAMES; i++)
		st->unseen_name[i].name[sizeof(st->unseen_name[i].name) - 1] = '\0';
	st->names_used = least(st->names_used, area_of(s, RAMA_SEG_AREA_RECORDS)->len);
	st->names_used = least(st->names_used, (uint64_t)s->pool_known * pool_size(s));
	for (unsigned i = 0; i < RAMA_SEG_KINDS; i++)
		st->slots_used[i] = (uint32_t)least(st->slots_used[i], slots_there(s, i));
	st->lanes_used = (uint32_t)least(st->lanes_used, items(s, RAMA_SEG_AREA_LANES));
	st->chunks_used = least(st->chunks_used, items(s, RAMA_SEG_AREA_EVENTS));
}

static bool sane_hz(double hz)
{
	return isfinite(hz) && hz >= 1e3 && hz <= 1e12;
}

/* Ticks of `n` in `ns` nanoseconds, unless that contradicts what was known at the start. */
static double tick_from(const struct rama_seg_ticks *c, uint64_t n, uint64_t ns)
{
	double hz = (double)n / (double)ns * 1e9;
	bool agrees = !sane_hz(c->hz) || (hz > c->hz * 0.5 && hz < c->hz * 2);

	return n > 0 && ns > 0 && sane_hz(hz) && agrees ? 1 / hz : 0;
}

static void set_clock(struct rama_seg *s)
{
	const struct rama_seg_ticks *c = &s->id.clock;
	bool ended = c->tick1 > c->tick0 && c->mono1 > c->mono0;

	s->tick = 0;
	s->end_tick = ended && c->tick1 - c->tick0 < TICKS_MAX ? c->tick1 - c->tick0 : 0;
	if (c->source == RAMA_SEG_CLOCK_MONOTONIC)
		s->tick = 1e-9;
	else if (ended)
		s->tick = tick_from(c, c->tick1 - c->tick0, c->mono1 - c->mono0);
	if (s->tick == 0)
		s->tick = sane_hz(c->hz) ? 1 / c->hz : 1e-9;
}

void rama_seg_now(struct rama_seg *s, uint64_t tick, uint64_t mono)
{
	const struct rama_seg_ticks *c = &s->id.clock;
	double t;

	if (s->end_tick > 0 || c->source == RAMA_SEG_CLOCK_MONOTONIC || tick <= c->tick0 ||
	    mono <= c->mono0)
		return;
	t = tick_from(c, tick - c->tick0, mono - c->mono0);
	if (t > 0)
		s->tick = t;
}

int rama_seg_count(struct rama_seg *s, struct rama_err *e)
{
	int rc = read_struct(s, RAMA_SEG_AREA_STATE, &s->state, sizeof(s->state), e);

	/* what the state counts was written before it */
	then();
	if (rc == 0)
		rc = read_chunks(s, e);
	if (rc == 0)
		tame_counts(s);
	return rc;
}

int rama_seg_refresh(struct rama_seg *s, struct rama_err *e)
{
	int rc = rama_seg_count(s, e);

	if (rc == 0)
		rc = read_struct(s, RAMA_SEG_AREA_IDENTITY, &s->id, sizeof(s->id), e);
	if (rc == 0)
		rc = read_struct(s, RAMA_SEG_AREA_CONTROL, &s->control, sizeof(s->control), e);
	if (rc != 0)
		return rc;
	tame_texts(s);
	set_clock(s);
	return 0;
}

int rama_seg_open(struct rama_seg *s, struct rama_source *src, struct rama_err *e)
{
	int rc;

	*s = (struct rama_seg){ .src = src };
	rc = read_header(s, e);
	return rc == 0 ? rama_seg_refresh(s, e) : rc;
}

/* ---- names --------------------------------------------------------------------------------- */

/* Where names go on: this place, or the beginning of the next chunk of names. *end: of the
 * chunk, as far as it is used */
static uint64_t next_names(const struct rama_seg *s, uint64_t at, uint64_t *end)
{
	uint64_t used = s->state.names_used, c = at / pool_size(s);

	while (at < used && s->head.pool[c] != RAMA_SEG_POOL_NAMES)
		at = ++c * pool_size(s);
	*end = least((c + 1) * pool_size(s), used);
	return least(at, used);
}

uint64_t rama_seg_name_place(const struct rama_seg *s, uint32_t number)
{
	uint64_t at = (uint64_t)(number - 1) * 8, end;

	return number > 0 && next_names(s, at, &end) == at && at < end ? at : UINT64_MAX;
}

/* what a name is, and how long it is; `have`: bytes of it that were read */
union name_bytes {
	struct rama_seg_name n;
	char bytes[offsetof(struct rama_seg_name, text) + 232];
};

static int take_name(struct rama_seg *s, uint64_t at, const union name_bytes *first, size_t have,
		     struct rama_seg_name_get *name, struct rama_err *e)
{
	enum { HEAD = offsetof(struct rama_seg_name, text) };
	size_t keep = first->n.len < sizeof(name->text) - 1 ? first->n.len : sizeof(name->text) - 1;
	int rc = 0;

	*name = (struct rama_seg_name_get){ .number = (uint32_t)(at / 8 + 1), .id = first->n.id };
	if (keep <= have - HEAD)
		memcpy(name->text, first->bytes + HEAD, keep);
	else
		rc = area_read(s, RAMA_SEG_AREA_RECORDS, at + HEAD, name->text, keep, e);
	name->text[keep] = '\0';
	name->len = (uint32_t)strlen(name->text);
	return rc == 0 ? 1 : rc;
}

int rama_seg_name_next(struct rama_seg *s, uint64_t *at, struct rama_seg_name_get *name,
		       struct rama_err *e)
{
	enum { HEAD = offsetof(struct rama_seg_name, text) };
	union name_bytes first;

	for (;;) {
		uint64_t end, whole, here = next_names(s, *at, &end), left = end - here;
		size_t have = left < sizeof(first) ? (size_t)left : sizeof(first);
		int rc;

		*at = here;
		if (here >= s->state.names_used)
			return 0;
		if (left <= HEAD && end == s->state.names_used)
			return rama_err_set(e, RAMA_ECORRUPT, "the names end within one");
		memset(&first.n, 0, sizeof(first.n));
		rc = left <= HEAD ? 0
				  : area_read(s, RAMA_SEG_AREA_RECORDS, here, first.bytes, have, e);
		if (rc != 0)
			return rc;
		if (first.n.id == 0 && first.n.len == 0 && end != s->state.names_used) {
			*at = end; /* the rest of the chunk was too small for the next one */
			continue;
		}
		whole = ((uint64_t)HEAD + first.n.len + 1 + 7) & ~7ull;
		if (whole > left)
			return rama_err_set(e, RAMA_ECORRUPT,
					    "name at %llu claims %u bytes, %llu are left",
					    (unsigned long long)here, first.n.len,
					    (unsigned long long)left);
		*at = here + whole;
		return take_name(s, here, &first, have, name, e);
	}
}

/* ---- slots --------------------------------------------------------------------------------- */

uint32_t rama_seg_slots(const struct rama_seg *s, enum rama_seg_kind kind)
{
	return s->state.slots_used[kind];
}

/* The process has ended: nobody changes the slot any more. */
static int copy_at_rest(struct rama_seg *s, enum rama_seg_kind kind, uint64_t off, void *slot,
			struct rama_err *e)
{
	const struct rama_core_slot *head = slot;
	int rc = s->src->read(s->src->ctx, off, slot, rama_core_kinds[kind]->size, e);

	return rc != 0 ? rc : head->seq % 2 == 0 && !head->stuck;
}

int rama_seg_slot(struct rama_seg *s, enum rama_seg_kind kind, uint32_t i, void *slot,
		  struct rama_err *e)
{
	const struct rama_core_slot *head = slot;
	uint64_t off = rama_seg_slot_place(s, kind, i);
	int rc = 0;

	if (off == 0)
		return rama_err_set(e, RAMA_EUSAGE, "there is no slot %u", i);
	if (s->state.phase == RAMA_SEG_DONE || s->state.phase == RAMA_SEG_REPLACED)
		return copy_at_rest(s, kind, off, slot, e);
	for (unsigned n = 0; n < TRIES; n++) {
		struct rama_core_slot before, after;

		if (n > TRIES_QUICK)
			sched_yield();
		rc = s->src->read(s->src->ctx, off, &before, sizeof(before), e);
		then();
		if (rc == 0)
			rc = s->src->read(s->src->ctx, off, slot, rama_core_kinds[kind]->size, e);
		then();
		if (rc == 0)
			rc = s->src->read(s->src->ctx, off, &after, sizeof(after), e);
		if (rc != 0)
			return rc;
		if (before.seq == after.seq && head->seq == before.seq && before.seq % 2 == 0)
			return !head->stuck;
	}
	return 0;
}

/* ---- lanes and events ------------------------------------------------------------------------ */

uint32_t rama_seg_lanes(const struct rama_seg *s)
{
	return s->state.lanes_used;
}

int rama_seg_lane_get(struct rama_seg *s, uint32_t i, struct rama_seg_lane *lane,
		      struct rama_err *e)
{
	if (i >= items(s, RAMA_SEG_AREA_LANES))
		return rama_err_set(e, RAMA_EUSAGE, "there is no lane %u", i);
	return area_read(s, RAMA_SEG_AREA_LANES,
			 (uint64_t)i * area_of(s, RAMA_SEG_AREA_LANES)->item, lane, sizeof(*lane),
			 e);
}

uint64_t rama_seg_chunks(const struct rama_seg *s)
{
	return s->state.chunks_used;
}

int rama_seg_chunk_get(struct rama_seg *s, uint64_t i, struct rama_seg_chunk *chunk,
		       struct rama_err *e)
{
	enum { HEAD = offsetof(struct rama_seg_chunk, event) };
	uint64_t off = i * RAMA_SEG_CHUNK;
	int rc;

	if (i >= items(s, RAMA_SEG_AREA_EVENTS))
		return rama_err_set(e, RAMA_EUSAGE, "there is no chunk %llu",
				    (unsigned long long)i);
	rc = area_read(s, RAMA_SEG_AREA_EVENTS, off, chunk, HEAD, e);
	then(); /* events below `used` were written before it */
	if (rc != 0)
		return rc;
	if (chunk->used > RAMA_SEG_CHUNK_EVENTS)
		chunk->used = RAMA_SEG_CHUNK_EVENTS;
	return area_read(s, RAMA_SEG_AREA_EVENTS, off + HEAD, chunk->event,
			 chunk->used * sizeof(chunk->event[0]), e);
}
