/* SPDX-License-Identifier: BSD-3-Clause */
#include "any/seg.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "core/recordid.h"

enum {
	POOL = 65536,	    /* bytes of a chunk of records, at least */
	STEP = 16384,	    /* that get memory at a time */
	LANES = 16,	    /* of which one is used */
	INDEX_FIRST = 1024, /* names */
	NAMES = RAMA_SEG_KINDS,
	TRACE_LEAST = 2 << 20 /* tracing can be switched on later */
};
#define MEMORY_LEAST (1u << 20)
#define LANE ((sizeof(struct rama_seg_lane) + 63) & ~(size_t)63)

/* ---- memory: a page of a file may be touched only when it is there, or a full file system would
 * end us
 * -------------------------------------------------------------------------------------------- */

static bool fill(const struct rama_any_seg *s, const void *p, size_t n)
{
	size_t from = (size_t)((const unsigned char *)p - s->base);
	size_t page = from & ~(size_t)(RAMA_SEG_PAGE - 1);
	int rc;

	do
		rc = fallocate(s->fd, 0, (off_t)page, (off_t)(from + n - page));
	while (rc != 0 && errno == EINTR);
	/* file systems that cannot be asked are asked by writing */
	if (rc != 0 && (errno == EOPNOTSUPP || errno == ENOSYS))
		rc = posix_fallocate(s->fd, (off_t)page, (off_t)(from + n - page));
	return rc == 0;
}

static unsigned char *area(const struct rama_any_seg *s, enum rama_seg_area a)
{
	return s->base + s->head->area[a].off;
}

static uint64_t pages(uint64_t n)
{
	return (n + RAMA_SEG_PAGE - 1) & ~(uint64_t)(RAMA_SEG_PAGE - 1);
}

/* ---- the records area ------------------------------------------------------------------------ */

static uint32_t pool_size(const struct rama_any_seg *s)
{
	return s->head->area[RAMA_SEG_AREA_RECORDS].item;
}

/* the next chunk becomes what somebody needs; it is told when it is there */
static bool take_chunk(struct rama_any_seg *s, unsigned what, uint32_t n)
{
	struct rama_any_seg_pool *p = &s->pool[what];
	uint32_t c = s->state->pool_used, size = pool_size(s);
	uint32_t first = n > STEP ? (uint32_t)pages(n) : STEP;
	unsigned char *at = area(s, RAMA_SEG_AREA_RECORDS) + (uint64_t)c * size;

	if ((uint64_t)(c + 1) * size > s->head->area[RAMA_SEG_AREA_RECORDS].len ||
	    !fill(s, at, first))
		return false;
	*p = (struct rama_any_seg_pool){ .at = at, .chunk = c, .ready = first };
	__atomic_store_n(&s->head->pool[c],
			 (uint8_t)(what == NAMES ? RAMA_SEG_POOL_NAMES
						 : RAMA_SEG_POOL_SLOTS + what),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&s->state->pool_used, c + 1, __ATOMIC_RELEASE);
	return true;
}

static unsigned char *room(struct rama_any_seg *s, unsigned what, uint32_t n)
{
	struct rama_any_seg_pool *p = &s->pool[what];

	if ((p->at == NULL || n > pool_size(s) - p->used) && !take_chunk(s, what, n))
		return NULL;
	while (p->used + n > p->ready) {
		uint32_t step = pool_size(s) - p->ready < STEP ? pool_size(s) - p->ready : STEP;

		if (!fill(s, p->at + p->ready, step))
			return NULL;
		p->ready += step;
	}
	return p->at + p->used;
}

/* ---- names ----------------------------------------------------------------------------------- */

struct rama_seg_name *rama_any_seg_name_at(const struct rama_any_seg *s, uint32_t number)
{
	return (struct rama_seg_name *)(area(s, RAMA_SEG_AREA_RECORDS) +
					(uint64_t)(number - 1) * 8);
}

static uint32_t place_of(const struct rama_any_seg *s, uint64_t id)
{
	uint32_t i = (uint32_t)id & s->index_mask;

	while (s->index[i] != 0 && rama_any_seg_name_at(s, s->index[i])->id != id)
		i = (i + 1) & s->index_mask;
	return i;
}

static bool grow_index(struct rama_any_seg *s)
{
	uint32_t mask = s->index_mask * 2 + 1, old = s->index_mask, *was = s->index;

	if (s->n_names < s->index_mask / 4 * 3)
		return true;
	s->index = calloc((size_t)mask + 1, sizeof(*s->index));
	if (s->index == NULL) {
		s->index = was;
		return false;
	}
	s->index_mask = mask;
	for (uint32_t i = 0; i <= old; i++)
		if (was[i] != 0)
			s->index[place_of(s, rama_any_seg_name_at(s, was[i])->id)] = was[i];
	free(was);
	return true;
}

static struct rama_seg_name *add_name(struct rama_any_seg *s, uint64_t id, const char *text,
				      size_t len)
{
	uint32_t need = (uint32_t)(sizeof(struct rama_seg_name) + len + 1 + 7) & ~7u;
	struct rama_any_seg_pool *p = &s->pool[NAMES];
	struct rama_seg_name *n;
	uint64_t at;

	if (s->names_bytes + need > s->names_most || !grow_index(s))
		return NULL;
	n = (struct rama_seg_name *)room(s, NAMES, need);
	if (n == NULL)
		return NULL;
	at = (uint64_t)p->chunk * pool_size(s) + p->used;
	n->id = id;
	n->len = (uint32_t)len;
	n->number = (uint32_t)(at / 8 + 1);
	memcpy(n->text, text, len);
	n->text[len] = '\0';
	p->used += need;
	s->names_bytes += need;
	s->n_names++;
	s->index[place_of(s, id)] = n->number;
	__atomic_store_n(&s->state->names_used, at + need, __ATOMIC_RELEASE);
	__atomic_store_n(&s->state->beat, s->state->beat + 1, __ATOMIC_RELAXED);
	return n;
}

struct rama_seg_name *rama_any_seg_name(struct rama_any_seg *s, const char *text, size_t len,
					bool make)
{
	uint64_t id = rama_core_record_id(text, len);
	uint32_t number = s->index[place_of(s, id)];
	struct rama_seg_name *n;

	if (number != 0)
		return rama_any_seg_name_at(s, number);
	if (!make)
		return NULL;
	n = add_name(s, id, text, len);
	return n != NULL ? n : rama_any_seg_name_at(s, 1);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static uint32_t per_chunk(const struct rama_any_seg *s, unsigned kind)
{
	return pool_size(s) / rama_core_kinds[kind]->size;
}

/* *number: chunk and place in it, plus 1 */
static void *next_slot(struct rama_any_seg *s, unsigned kind, const struct rama_seg_name *n,
		       int64_t more, uint32_t *number)
{
	struct rama_any_seg_pool *p = &s->pool[kind];
	struct rama_core_slot *slot = NULL;
	uint32_t limit = rama_config_settings_records(s->settings, rama_core_kind_module[kind]);

	if (limit == RAMA_CONFIG_SETTINGS_ANY || s->state->slots_used[kind] <= limit)
		slot = (struct rama_core_slot *)room(s, kind, rama_core_kinds[kind]->size);
	if (slot == NULL)
		return NULL;
	*number = p->chunk * per_chunk(s, kind) + p->used / rama_core_kinds[kind]->size + 1;
	rama_core_kinds[kind]->init(slot, &(struct rama_core_new){
						  .id = n->id,
						  .sees_mmap = true,
						  .mem_align = s->id->mem_align,
						  .file_align = more,
					  });
	slot->name = n->number;
	p->used += rama_core_kinds[kind]->size;
	__atomic_store_n(&s->state->slots_used[kind], s->state->slots_used[kind] + 1,
			 __ATOMIC_RELEASE);
	return slot;
}

static void *slot_at(const struct rama_any_seg *s, unsigned kind, uint32_t number)
{
	uint32_t per = per_chunk(s, kind);

	return area(s, RAMA_SEG_AREA_RECORDS) + (uint64_t)(number / per) * pool_size(s) +
	       (size_t)(number % per) * rama_core_kinds[kind]->size;
}

void *rama_any_seg_slot(struct rama_any_seg *s, struct rama_seg_name *n, enum rama_seg_kind kind,
			int64_t more)
{
	struct rama_seg_name *others = rama_any_seg_name_at(s, 1);
	unsigned module = rama_core_kind_module[kind];
	void *slot = NULL;
	uint32_t number;

	if (n->slot[kind] != 0)
		return slot_at(s, kind, n->slot[kind] - 1);
	if (n == others && s->others[kind] != NULL)
		return s->others[kind];
	if (!rama_config_settings_observes(s->settings, module, n->text, n->len))
		return NULL;
	s->state->registered |= 1ull << module;
	if (s->others[kind] == NULL) /* the catch-all is the first of its kind */
		s->others[kind] =
			next_slot(s, kind, others, kind == RAMA_SEG_KIND_POSIX ? -1 : 0, &number);
	if (s->others[kind] != NULL && n != others)
		slot = next_slot(s, kind, n, more, &number);
	if (slot == NULL) {
		s->state->folded[kind]++;
		s->state->partial |= 1ull << module;
		return s->others[kind];
	}
	__atomic_store_n(&n->slot[kind], number, __ATOMIC_RELEASE);
	return slot;
}

void rama_any_seg_begin(uint32_t *seq)
{
	__atomic_store_n(seq, *seq + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* before what changes */
}

void rama_any_seg_end(uint32_t *seq)
{
	__atomic_store_n(seq, *seq + 1, __ATOMIC_RELEASE);
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct rama_seg_chunk *chunk_at(const struct rama_any_seg *s, uint32_t i)
{
	return (struct rama_seg_chunk *)(area(s, RAMA_SEG_AREA_EVENTS) +
					 (uint64_t)i * RAMA_SEG_CHUNK);
}

static bool next_events(struct rama_any_seg *s, uint32_t *chunk, uint32_t tid)
{
	uint64_t i = s->state->chunks_used;
	struct rama_seg_chunk *c = chunk_at(s, (uint32_t)i);

	if (i >= s->state->chunks_limit)
		return false;
	if (!fill(s, c, RAMA_SEG_CHUNK)) {
		s->state->chunks_limit = 0;
		return false;
	}
	c->thread = tid;
	c->tid = tid;
	__atomic_store_n(&s->state->chunks_used, i + 1, __ATOMIC_RELEASE);
	*chunk = (uint32_t)i + 1;
	return true;
}

void rama_any_seg_event(struct rama_any_seg *s, uint32_t *chunk, uint32_t tid,
			const struct rama_seg_event *e)
{
	struct rama_seg_chunk *c;

	if ((*chunk == 0 || chunk_at(s, *chunk - 1)->used >= RAMA_SEG_CHUNK_EVENTS) &&
	    !next_events(s, chunk, tid)) {
		s->lane->lost++;
		return;
	}
	c = chunk_at(s, *chunk - 1);
	c->event[c->used] = *e;
	__atomic_store_n(&c->used, c->used + 1, __ATOMIC_RELEASE);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* no more records and events than these */
static void plan(struct rama_seg_header *h, uint64_t memory, uint64_t trace)
{
	uint64_t chunk = POOL, at = RAMA_SEG_PAGE;
	uint64_t len[RAMA_SEG_AREAS] = {
		[RAMA_SEG_AREA_IDENTITY] = sizeof(struct rama_seg_identity),
		[RAMA_SEG_AREA_STATE] = sizeof(struct rama_seg_state),
		[RAMA_SEG_AREA_CONTROL] = sizeof(struct rama_seg_control),
		[RAMA_SEG_AREA_LANES] = LANES * LANE,
		[RAMA_SEG_AREA_EVENTS] = trace / RAMA_SEG_CHUNK * RAMA_SEG_CHUNK,
	};

	while (memory / chunk > RAMA_SEG_POOL_CHUNKS && chunk < 1u << 30)
		chunk *= 2;
	len[RAMA_SEG_AREA_RECORDS] = memory / chunk * chunk;
	*h = (struct rama_seg_header){ .magic = RAMA_SEG_MAGIC,
				       .version = RAMA_SEG_VERSION,
				       .areas = RAMA_SEG_AREAS };
	for (unsigned k = 0; k < RAMA_SEG_KINDS; k++)
		h->slot[k] = rama_core_kinds[k]->size;
	h->area[RAMA_SEG_AREA_RECORDS].item = (uint32_t)chunk;
	h->area[RAMA_SEG_AREA_LANES].item = (uint32_t)LANE;
	h->area[RAMA_SEG_AREA_EVENTS].item = RAMA_SEG_CHUNK;
	h->area[RAMA_SEG_AREA_RINGS].item = sizeof(struct rama_seg_event);
	for (unsigned i = 0; i < RAMA_SEG_AREAS; i++) {
		h->area[i].off = at;
		h->area[i].len = len[i];
		at += pages(len[i]);
	}
	h->size = at;
}

static void point(struct rama_any_seg *s, const struct rama_seg_header *h)
{
	s->head = (struct rama_seg_header *)s->base;
	s->id = (struct rama_seg_identity *)(s->base + h->area[RAMA_SEG_AREA_IDENTITY].off);
	s->state = (struct rama_seg_state *)(s->base + h->area[RAMA_SEG_AREA_STATE].off);
	s->control = (struct rama_seg_control *)(s->base + h->area[RAMA_SEG_AREA_CONTROL].off);
	s->lane = (struct rama_seg_lane *)(s->base + h->area[RAMA_SEG_AREA_LANES].off);
}

static bool map(struct rama_any_seg *s, const struct rama_seg_header *h)
{
	if (ftruncate(s->fd, (off_t)h->size) != 0)
		return false;
	s->base = mmap(NULL, h->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s->fd, 0);
	if (s->base == MAP_FAILED) {
		s->base = NULL;
		return false;
	}
	s->size = h->size;
	if (!fill(s, s->base, h->area[RAMA_SEG_AREA_RECORDS].off) ||
	    !fill(s, s->base + h->area[RAMA_SEG_AREA_LANES].off, LANE))
		return false;
	point(s, h);
	*s->head = *h;
	return true;
}

static bool begin(struct rama_any_seg *s, const struct rama_seg_identity *id)
{
	static const char others[] = RAMA_SEG_CATCHALL;

	*s->id = *id;
	s->control->trace = id->trace;
	s->state->chunks_limit = rama_config_settings_trace_memory(s->settings) / RAMA_SEG_CHUNK;
	if (s->state->chunks_limit == 0)
		s->state->chunks_limit = TRACE_LEAST / RAMA_SEG_CHUNK;
	if (s->state->chunks_limit > s->head->area[RAMA_SEG_AREA_EVENTS].len / RAMA_SEG_CHUNK)
		s->state->chunks_limit = s->head->area[RAMA_SEG_AREA_EVENTS].len / RAMA_SEG_CHUNK;
	s->names_most = s->head->area[RAMA_SEG_AREA_RECORDS].len;
	if (s->settings->name_memory > 0 && s->settings->name_memory < s->names_most)
		s->names_most = s->settings->name_memory;
	s->index = calloc(INDEX_FIRST, sizeof(*s->index));
	s->index_mask = INDEX_FIRST - 1;
	for (unsigned i = 0; i < RAMA_SEG_LAYERS; i++) /* as all processes have it: 0.1 s */
		rama_core_heat_init(&s->lane->heat[i], (uint64_t)(id->clock.hz / 10));
	s->lane->owned = 1;
	s->lane->tid = (uint32_t)id->pid;
	s->lane->thread = (uint64_t)id->pid;
	__atomic_store_n(&s->state->lanes_used, 1, __ATOMIC_RELEASE);
	return s->index != NULL && add_name(s, rama_core_record_id(others, sizeof(others) - 1),
					    others, sizeof(others) - 1) != NULL;
}

/* HOST.PID.K.seg: the first K that nobody has. A file without a name gets one when it is whole. */
static int name_file(int dir, int fd, const struct rama_seg_identity *id, char name[160])
{
	char self[40];
	int rc = -1;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	errno = EEXIST;
	for (unsigned k = 0; k < 10000 && rc < 0 && errno == EEXIST; k++) {
		snprintf(name, 160, "%s.%lld.%u.seg", id->host, (long long)id->pid, k);
		rc = fd < 0 ? openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				     0600)
			    : linkat(AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW);
	}
	return rc;
}

/* what limits leave: much, or at least a little */
static bool make_in(struct rama_any_seg *s, const struct rama_seg_identity *id)
{
	uint64_t memory = s->settings->memory, trace;
	struct rama_seg_header h;

	trace = rama_config_settings_trace_memory(s->settings);
	memory = memory < MEMORY_LEAST ? MEMORY_LEAST : memory;
	plan(&h, memory, trace < TRACE_LEAST ? TRACE_LEAST : trace);
	if (!map(s, &h) && s->base == NULL) {
		plan(&h, MEMORY_LEAST, TRACE_LEAST);
		map(s, &h);
	}
	return s->head != NULL && begin(s, id);
}

int rama_any_seg_make(struct rama_any_seg *s, const char *dir,
		      const struct rama_config_settings *settings,
		      const struct rama_seg_identity *id)
{
	int at = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char name[160];
	bool named, ok;

	*s = (struct rama_any_seg){ .fd = -1, .settings = settings };
	if (at < 0)
		return RAMA_EIO;
	s->fd = openat(at, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	named = s->fd < 0;
	if (named)
		s->fd = name_file(at, -1, id, name);
	ok = s->fd >= 0 && make_in(s, id) && (named || name_file(at, s->fd, id, name) == 0);
	if (!ok && named && s->fd >= 0)
		unlinkat(at, name, 0);
	close(at);
	if (ok)
		return 0;
	rama_any_seg_close(s);
	return RAMA_EIO;
}

void rama_any_seg_close(struct rama_any_seg *s)
{
	if (s->base != NULL)
		munmap(s->base, s->size);
	if (s->fd >= 0)
		close(s->fd);
	free(s->index);
	*s = (struct rama_any_seg){ .fd = -1 };
}
