/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/foreign/uring.h"

#include <string.h>

/* of the kernel: struct io_uring_sqe and struct io_uring_cqe; older headers lack some */
enum {
	SQE_FIXED_FILE = 1,
	SQE_CQE_SKIP_SUCCESS = 1 << 6,
	CQE_MORE = 1 << 1,
	CQE_NOTICE = 1 << 3,
	SYNC_DATA_ONLY = 1,
	AT_FLAGS = 28,
	AT_USER_DATA = 4, /* word */
	AT_FILE_INDEX = 44,
	AT_SPLICE_OFF = 16,
	NO_FIELD = 64,
	LARGEST = 1 << 24 /* entries of a ring; the kernel has fewer */
};
#define SPLICE_FIXED_IN (1u << 31)

static const struct row {
	uint16_t fn;
	uint8_t kind, shape;
	uint8_t fd, off, mem, len, path;
} rows[] = {
#define URING(opcode, name, kind, shape, fd, off, mem, len, path) \
	[opcode] = { RAMA_TAB_FN_uring_##name,                    \
		     RAMA_TAB_OP_##kind,                          \
		     RAMA_CORE_URING_##shape,                     \
		     fd,                                          \
		     off,                                         \
		     mem,                                         \
		     len,                                         \
		     path },
#include "table/uring.def"
#undef URING
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

/* ---- memory ---------------------------------------------------------------------------------- */

static bool holds(size_t len, uint64_t from, uint64_t n)
{
	return from <= len && n <= len - from && from % 4 == 0;
}

static bool is_size(uint32_t n)
{
	return n > 0 && n <= LARGEST && (n & (n - 1)) == 0;
}

bool rama_core_uring_fits(const struct rama_core_uring_map *m)
{
	return is_size(m->sq_entries) && is_size(m->cq_entries) &&
	       (m->sqe_size == 64 || m->sqe_size == 128) &&
	       (m->cqe_size == 16 || m->cqe_size == 32) && holds(m->sq_len, m->sq_head, 4) &&
	       holds(m->sq_len, m->sq_tail, 4) && holds(m->cq_len, m->cq_tail, 4) &&
	       m->cqes % 8 == 0 &&
	       holds(m->cq_len, m->cqes, (uint64_t)m->cq_entries * m->cqe_size) &&
	       holds(m->sqes_len, 0, (uint64_t)m->sq_entries * m->sqe_size) &&
	       (m->sq_array == 0 || holds(m->sq_len, m->sq_array, 4ull * m->sq_entries));
}

static uint64_t long_word(const volatile unsigned char *at)
{
	return __atomic_load_n((const volatile uint64_t *)(const volatile void *)at,
			       __ATOMIC_RELAXED);
}

/* ---- requests -------------------------------------------------------------------------------- */

static uint64_t field8(const uint64_t w[8], unsigned at)
{
	return at < NO_FIELD ? w[at / 8] : 0;
}

static uint32_t field4(const uint64_t w[8], unsigned at)
{
	uint32_t x = 0;

	if (at < NO_FIELD)
		memcpy(&x, (const unsigned char *)w + at, sizeof(x));
	return x;
}

void rama_core_uring_decode(const uint64_t w[8], struct rama_core_uring_sqe *to)
{
	unsigned opcode = ((const unsigned char *)w)[0], flags = ((const unsigned char *)w)[1];
	const struct row *r = &rows[opcode < ROWS ? opcode : 0];

	to->user_data = w[AT_USER_DATA];
	to->fn = r->fn;
	to->kind = r->kind;
	to->shape = opcode < ROWS ? r->shape : RAMA_CORE_URING_UNKNOWN;
	to->silent = (flags & SQE_CQE_SKIP_SUCCESS) != 0;
	to->fixed = (flags & SQE_FIXED_FILE) != 0;
	to->fixed_in = false;
	to->fd = r->fd < NO_FIELD ? (int32_t)field4(w, r->fd) : -1;
	to->off = (int64_t)field8(w, r->off);
	to->has_off = r->off < NO_FIELD && to->off != -1;
	to->mem = field8(w, r->mem);
	to->len = field4(w, r->len);
	to->path = field8(w, r->path);
	to->more = field4(w, AT_FLAGS);
	to->file_index = 0;
	to->fd_in = -1;
	to->off_in = 0;
	switch (to->shape) {
	case RAMA_CORE_URING_OPEN:
	case RAMA_CORE_URING_HOW:
	case RAMA_CORE_URING_CLOSE:
		to->file_index = field4(w, AT_FILE_INDEX);
		break;
	case RAMA_CORE_URING_SYNC:
		if (to->more & SYNC_DATA_ONLY)
			to->kind = RAMA_TAB_OP_DATASYNC;
		break;
	case RAMA_CORE_URING_COPY:
		to->fd_in = (int32_t)field4(w, AT_FILE_INDEX);
		to->off_in = (int64_t)field8(w, AT_SPLICE_OFF);
		to->fixed_in = (to->more & SPLICE_FIXED_IN) != 0;
		break;
	}
}

bool rama_core_uring_next_sqe(struct rama_core_uring_table *t, const struct rama_core_uring_map *m,
			      uint32_t until, struct rama_core_uring_sqe *to)
{
	uint32_t mask = m->sq_entries - 1;

	/* `until` never runs backwards, but what it is read from is not ours */
	if (t->sq_seen == until || until - t->sq_seen > UINT32_MAX / 2)
		return false;
	if (until - t->sq_seen > m->sq_entries) {
		t->sq_lost += until - t->sq_seen - m->sq_entries;
		t->sq_seen = until - m->sq_entries;
	}
	while (t->sq_seen != until) {
		uint32_t at = t->sq_seen++ & mask;
		uint64_t w[8];

		if (m->sq_array)
			at = rama_core_uring_word(m->sq, m->sq_array + 4 * at);
		if (at > mask) /* the kernel drops it */
			continue;
		for (unsigned i = 0; i < 8; i++)
			w[i] = long_word(m->sqes + (size_t)at * m->sqe_size + 8 * (size_t)i);
		rama_core_uring_decode(w, to);
		return true;
	}
	return false;
}

/* ---- completions ----------------------------------------------------------------------------- */

bool rama_core_uring_next_cqe(struct rama_core_uring_table *t, const struct rama_core_uring_map *m,
			      struct rama_core_uring_cqe *to)
{
	for (;;) {
		uint32_t tail = rama_core_uring_word(m->cq, m->cq_tail), at = t->cq_seen;

		if (at == tail || tail - at > UINT32_MAX / 2)
			return false;
		if (tail - at > m->cq_entries) {
			t->cq_lost += tail - at - m->cq_entries;
			at = tail - m->cq_entries;
		}
		const volatile unsigned char *c =
			m->cq + m->cqes + (size_t)(at & (m->cq_entries - 1)) * m->cqe_size;
		uint64_t user_data = long_word(c), rest = long_word(c + 8);

		t->cq_seen = at + 1;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (rama_core_uring_word(m->cq, m->cq_tail) - at > m->cq_entries) {
			t->cq_lost++; /* another one was being written there */
			continue;
		}
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		rest = rest >> 32 | rest << 32;
#endif
		to->user_data = user_data;
		to->res = (int32_t)(uint32_t)rest;
		to->more = (rest >> 32 & CQE_MORE) != 0;
		to->notice = (rest >> 32 & CQE_NOTICE) != 0;
		return true;
	}
}

/* ---- flights --------------------------------------------------------------------------------- */

struct bucket {
	uint32_t first, last; /* + 1; 0: none */
};

static struct bucket *buckets(struct rama_core_uring_table *t)
{
	return (struct bucket *)(t + 1);
}

static struct rama_core_uring_flight *flights(struct rama_core_uring_table *t)
{
	return (struct rama_core_uring_flight *)(buckets(t) + t->size);
}

size_t rama_core_uring_table_bytes(uint32_t size)
{
	return sizeof(struct rama_core_uring_table) +
	       (size_t)size * (sizeof(struct bucket) + sizeof(struct rama_core_uring_flight));
}

void rama_core_uring_table_init(struct rama_core_uring_table *t, uint32_t size, uint64_t id)
{
	uint32_t lock = t->lock;

	memset(t, 0, sizeof(*t) + (size_t)size * sizeof(struct bucket));
	t->lock = lock;
	t->size = size;
	t->id = id;
}

struct rama_core_uring_flight *rama_core_uring_at(struct rama_core_uring_table *t, uint32_t n)
{
	return n < t->size ? &flights(t)[n] : NULL;
}

static struct bucket *bucket_of(struct rama_core_uring_table *t, uint64_t user_data)
{
	return &buckets(t)[(user_data * 0x9e3779b97f4a7c15ull >> 32) & (t->size - 1)];
}

/* Takes the first flight of a user_data out of its list. */
static struct rama_core_uring_flight *unlink_first(struct rama_core_uring_table *t,
						   uint64_t user_data)
{
	struct bucket *b = bucket_of(t, user_data);
	struct rama_core_uring_flight *f, *before = NULL;
	uint32_t at = b->first;

	for (uint32_t i = 0; i < t->size && (f = rama_core_uring_at(t, at - 1)) != NULL; i++) {
		if (f->user_data == user_data && !f->done) {
			if (before)
				before->next = f->next;
			else
				b->first = f->next;
			if (b->last == at)
				b->last = before ? (uint32_t)(before - flights(t)) + 1 : 0;
			t->flying -= t->flying > 0;
			return f;
		}
		before = f;
		at = f->next;
	}
	return NULL;
}

static struct rama_core_uring_flight *find_first(struct rama_core_uring_table *t,
						 uint64_t user_data)
{
	struct rama_core_uring_flight *f;
	uint32_t at = bucket_of(t, user_data)->first;

	for (uint32_t i = 0; i < t->size && (f = rama_core_uring_at(t, at - 1)) != NULL; i++) {
		if (f->user_data == user_data && !f->done)
			return f;
		at = f->next;
	}
	return NULL;
}

void rama_core_uring_free(struct rama_core_uring_table *t, struct rama_core_uring_flight *f)
{
	f->used = f->done = false;
	f->next = t->free;
	t->free = (uint32_t)(f - flights(t)) + 1;
}

/* The one that the hand points to next is given up, so that a program whose completions are not
 * seen does not fill the table for good. */
static struct rama_core_uring_flight *give_up_one(struct rama_core_uring_table *t)
{
	for (uint32_t i = 0; i < t->size; i++) {
		struct rama_core_uring_flight *f = &flights(t)[t->clock++ & (t->size - 1)];

		if (!f->used)
			continue;
		if (f->done)
			t->done -= t->done > 0;
		else
			f = unlink_first(t, f->user_data); /* or an older one of the same name */
		if (!f)
			continue;
		t->dropped++;
		return f;
	}
	return NULL;
}

static struct rama_core_uring_flight *take(struct rama_core_uring_table *t)
{
	struct rama_core_uring_flight *f = rama_core_uring_at(t, t->free - 1);

	if (f && !f->used) {
		t->free = f->next;
		return f;
	}
	t->free = 0;
	if (t->fresh < t->size)
		return &flights(t)[t->fresh++];
	return give_up_one(t);
}

struct rama_core_uring_flight *rama_core_uring_begin(struct rama_core_uring_table *t,
						     uint64_t user_data)
{
	struct rama_core_uring_flight *f, *old;
	struct bucket *b = bucket_of(t, user_data);

	/* Where something went by, one of the same name may be left that ended long ago. */
	if ((t->sq_lost | t->cq_lost) && (old = unlink_first(t, user_data)) != NULL)
		rama_core_uring_free(t, old);
	f = take(t);
	if (!f)
		return NULL;
	memset(f, 0, sizeof(*f));
	f->user_data = user_data;
	f->number = t->numbers++;
	f->used = true;
	uint32_t at = (uint32_t)(f - flights(t)) + 1;
	struct rama_core_uring_flight *last = rama_core_uring_at(t, b->last - 1);
	if (last)
		last->next = at;
	else
		b->first = at;
	b->last = at;
	t->flying++;
	return f;
}

struct rama_core_uring_flight *rama_core_uring_end(struct rama_core_uring_table *t,
						   const struct rama_core_uring_cqe *c)
{
	struct rama_core_uring_flight *f =
		c->more ? find_first(t, c->user_data) : unlink_first(t, c->user_data);

	if (!f && !c->notice && !t->posts)
		t->cq_lost++;
	return f;
}

uint64_t rama_core_uring_missed(const struct rama_core_uring_table *t)
{
	return (t->sq_lost > t->cq_lost ? t->sq_lost : t->cq_lost) + t->dropped;
}
