/* SPDX-License-Identifier: BSD-3-Clause */
/* block.c: the outside of a block: its head, its checksums, its compression. */
#include "wire/block.h"

#include <stdlib.h>

#include <libdeflate.h>

#include "wire/columns.h"
#include "wire/key.h"

#define LEVEL 1 /* higher ones save little: what is left is mostly noise of durations */

/* places in the head */
enum {
	AT_MAGIC = 0,
	AT_HEAD_SUM = 4, /* of the head behind it, with the key of the job */
	AT_VERSION = 8,
	AT_FLAGS = 9,
	AT_JOB_LEN = 10,
	AT_BODY_SUM = 12,
	AT_STORED = 16, /* bytes of the body as they lie here */
	AT_BODY = 20,	/* and unpacked */
	AT_N = 24,
	AT_LANE = 28,
	AT_TID = 32,
	AT_ZERO = 36,
	AT_FIRST = 40,
	AT_LOST = 48,
	AT_RANK = 56,
	AT_T0 = 64,
	AT_T1 = 72,
	AT_SEGMENT = 80,
	AT_JOB = RAMA_WIRE_BLOCK_FIXED
};

struct head {
	unsigned flags;
	size_t size, stored, body;
};

bool rama_wire_what_valid(const struct rama_wire_what *w)
{
	const struct {
		const char *text;
		size_t room;
	} parts[] = { { w->layer, sizeof(w->layer) },
		      { w->op, sizeof(w->op) },
		      { w->fn, sizeof(w->fn) } };

	for (unsigned k = 0; k < 3; k++) {
		size_t n = strnlen(parts[k].text, parts[k].room);

		if (n == parts[k].room)
			return false;
		for (size_t i = 0; i < n; i++)
			if (parts[k].text[i] <= ' ' || parts[k].text[i] > '~')
				return false;
	}
	return true;
}

/* the packer's columns, made if need be; NULL: no memory */
static struct rama_wire_columns *block_columns(struct rama_wire_block_packer *p)
{
	struct rama_wire_columns *c = (struct rama_wire_columns *)(void *)p->buf;

	if (c == NULL && (c = calloc(1, sizeof(*c))) != NULL) {
		p->buf = (unsigned char *)c;
		p->room = sizeof(*c);
	}
	return c;
}

void rama_wire_block_packer_fini(struct rama_wire_block_packer *p)
{
	if (p->compressor != NULL)
		libdeflate_free_compressor(p->compressor);
	if (p->decompressor != NULL)
		libdeflate_free_decompressor(p->decompressor);
	free(p->buf);
	*p = (struct rama_wire_block_packer){ 0 };
}

size_t rama_wire_block_room(const struct rama_wire_block *b)
{
	return RAMA_WIRE_BLOCK_FIXED + RAMA_WIRE_JOB + RAMA_WIRE_BODY_ROOM(b->n, b->n_whats);
}

static int check(const struct rama_wire_block *b, struct rama_err *e)
{
	if (b->n == 0 || b->n > RAMA_WIRE_BLOCK_EVENTS)
		return rama_err_set(e, RAMA_EUSAGE, "a block has 1 to %d events, not %u",
				    RAMA_WIRE_BLOCK_EVENTS, b->n);
	if (b->n_whats == 0 || b->n_whats > RAMA_WIRE_BLOCK_WHATS)
		return rama_err_set(e, RAMA_EUSAGE, "a block has 1 to %d calls, not %u",
				    RAMA_WIRE_BLOCK_WHATS, b->n_whats);
	if (b->first > UINT64_MAX - b->n || b->rank < -1)
		return rama_err_set(e, RAMA_EUSAGE, "a block's numbers are not possible");
	if (!rama_wire_key_valid(b->job, sizeof(b->job)))
		return rama_err_set(e, RAMA_EUSAGE, "a block's job has no proper key");
	for (uint32_t i = 0; i < b->n_whats; i++)
		if (!rama_wire_what_valid(&b->what[i]))
			return rama_err_set(e, RAMA_EUSAGE, "call %u of a block has no proper name",
					    i);
	for (uint32_t i = 0; i < b->n; i++)
		if (b->event[i].what >= b->n_whats)
			return rama_err_set(e, RAMA_EUSAGE,
					    "event %u of a block is of call %u of %u", i,
					    b->event[i].what, b->n_whats);
	return 0;
}

static size_t put_head(unsigned char *to, const struct rama_wire_block *b, const struct head *h,
		       uint32_t body_sum)
{
	size_t job = strlen(b->job), size = AT_JOB + job;

	rama_wire_store_le(to + AT_MAGIC, RAMA_WIRE_BLOCK_MAGIC, 4);
	to[AT_VERSION] = RAMA_WIRE_BLOCK_VERSION;
	to[AT_FLAGS] = (unsigned char)h->flags;
	rama_wire_store_le(to + AT_JOB_LEN, job, 2);
	rama_wire_store_le(to + AT_BODY_SUM, body_sum, 4);
	rama_wire_store_le(to + AT_STORED, h->stored, 4);
	rama_wire_store_le(to + AT_BODY, h->body, 4);
	rama_wire_store_le(to + AT_N, b->n, 4);
	rama_wire_store_le(to + AT_LANE, b->lane, 4);
	rama_wire_store_le(to + AT_TID, b->tid, 4);
	rama_wire_store_le(to + AT_ZERO, 0, 4);
	rama_wire_store_le(to + AT_FIRST, b->first, 8);
	rama_wire_store_le(to + AT_LOST, b->lost, 8);
	rama_wire_store_le(to + AT_RANK, (uint64_t)b->rank, 8);
	rama_wire_store_le(to + AT_T0, (uint64_t)b->t0, 8);
	rama_wire_store_le(to + AT_T1, (uint64_t)b->t1, 8);
	memcpy(to + AT_SEGMENT, b->segment.b, sizeof(b->segment.b));
	memcpy(to + AT_JOB, b->job, job);
	rama_wire_store_le(to + AT_HEAD_SUM,
			   libdeflate_crc32(0, to + AT_VERSION, size - AT_VERSION), 4);
	return size;
}

int64_t rama_wire_block_pack(struct rama_wire_block_packer *p, struct rama_wire_block *b,
			     unsigned char *to, size_t room, struct rama_err *e)
{
	struct rama_wire_columns *c = block_columns(p);
	struct head h = { .flags = RAMA_WIRE_BLOCK_DEFLATED };
	unsigned char *body;
	int rc = check(b, e);

	if (rc < 0)
		return rc;
	if (p->compressor == NULL)
		p->compressor = libdeflate_alloc_compressor(LEVEL);
	if (c == NULL || p->compressor == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory to pack events");
	h.size = AT_JOB + strlen(b->job);
	h.body = rama_wire_columns_pack(c, b);
	if (room < h.size + h.body)
		return rama_err_set(e, RAMA_EUSAGE, "no room for a packed block");
	body = to + h.size;
	h.stored = libdeflate_deflate_compress(p->compressor, c->body, h.body, body, h.body - 1);
	if (h.stored == 0) {
		memcpy(body, c->body, h.body);
		h.stored = h.body;
		h.flags = 0;
	}
	put_head(to, b, &h, libdeflate_crc32(0, body, h.stored));
	return (int64_t)(h.size + h.stored);
}

static int damaged(struct rama_err *e, const char *what)
{
	return rama_err_set(e, RAMA_ECORRUPT, "block of events: %s", what);
}

/* the part that says how long everything is */
static int get_sizes(struct head *h, const unsigned char *bytes, size_t n, struct rama_err *e)
{
	if (n < RAMA_WIRE_BLOCK_FIXED)
		return rama_err_set(e, RAMA_ETRUNC, "block of events: its head ends early");
	if (rama_wire_load_le(bytes + AT_MAGIC, 4) != RAMA_WIRE_BLOCK_MAGIC)
		return rama_err_set(e, RAMA_ECORRUPT, "not a block of events");
	if (bytes[AT_VERSION] != RAMA_WIRE_BLOCK_VERSION)
		return rama_err_set(e, RAMA_EVERSION, "block of events: version %u is not known",
				    bytes[AT_VERSION]);
	h->flags = bytes[AT_FLAGS];
	h->size = AT_JOB + rama_wire_load_le(bytes + AT_JOB_LEN, 2);
	h->stored = rama_wire_load_le(bytes + AT_STORED, 4);
	h->body = rama_wire_load_le(bytes + AT_BODY, 4);
	if (h->size >= AT_JOB + RAMA_WIRE_JOB ||
	    (h->flags & ~(unsigned)RAMA_WIRE_BLOCK_DEFLATED) != 0)
		return damaged(e, "its head is damaged");
	if (n < h->size || n - h->size < h->stored)
		return rama_err_set(e, RAMA_ETRUNC, "block of events: ends early");
	if (n - h->size > h->stored)
		return damaged(e, "bytes follow its end");
	if (rama_wire_load_le(bytes + AT_HEAD_SUM, 4) !=
	    libdeflate_crc32(0, bytes + AT_VERSION, h->size - AT_VERSION))
		return damaged(e, "the checksum of its head differs");
	if (h->body > RAMA_WIRE_BODY_ROOM(RAMA_WIRE_BLOCK_EVENTS, RAMA_WIRE_BLOCK_WHATS) ||
	    h->stored > h->body || (h->flags == 0 && h->stored != h->body))
		return damaged(e, "its sizes are not possible");
	return 0;
}

int rama_wire_block_peek(const unsigned char *bytes, size_t n, char job[RAMA_WIRE_JOB],
			 uint32_t *events, struct rama_wire_segment_key *segment,
			 struct rama_err *e)
{
	char key[RAMA_WIRE_JOB] = "";
	struct head h;
	uint64_t count;
	int rc = get_sizes(&h, bytes, n, e);

	if (rc < 0)
		return rc;
	memcpy(key, bytes + AT_JOB, h.size - AT_JOB);
	if (strlen(key) != h.size - AT_JOB || !rama_wire_key_valid(key, sizeof(key)))
		return damaged(e, "its job has no proper key");
	count = rama_wire_load_le(bytes + AT_N, 4);
	if (count == 0 || count > RAMA_WIRE_BLOCK_EVENTS)
		return damaged(e, "its number of events is not possible");
	if (job != NULL)
		memcpy(job, key, sizeof(key));
	if (events != NULL)
		*events = (uint32_t)count;
	if (segment != NULL)
		memcpy(segment->b, bytes + AT_SEGMENT, sizeof(segment->b));
	return 0;
}

int rama_wire_block_head(struct rama_wire_block *b, const unsigned char *bytes, size_t n,
			 struct rama_err *e)
{
	char job[RAMA_WIRE_JOB];
	uint32_t events = 0;
	int rc = rama_wire_block_peek(bytes, n, job, &events, &b->segment, e);

	if (rc < 0)
		return rc;
	memcpy(b->job, job, sizeof(job));
	b->n = events;
	b->lane = (uint32_t)rama_wire_load_le(bytes + AT_LANE, 4);
	b->tid = (uint32_t)rama_wire_load_le(bytes + AT_TID, 4);
	b->first = rama_wire_load_le(bytes + AT_FIRST, 8);
	b->lost = rama_wire_load_le(bytes + AT_LOST, 8);
	b->rank = (int64_t)rama_wire_load_le(bytes + AT_RANK, 8);
	b->t0 = (int64_t)rama_wire_load_le(bytes + AT_T0, 8);
	b->t1 = (int64_t)rama_wire_load_le(bytes + AT_T1, 8);
	b->n_whats = 0;
	if (b->first > UINT64_MAX - b->n || b->rank < -1 || b->t0 > b->t1 ||
	    rama_wire_load_le(bytes + AT_ZERO, 4) != 0)
		return damaged(e, "its head is not possible");
	return 0;
}

int rama_wire_block_unpack(struct rama_wire_block_packer *p, struct rama_wire_block *b,
			   const unsigned char *bytes, size_t n, struct rama_err *e)
{
	struct rama_wire_columns *c = block_columns(p);
	struct head h;
	int rc = rama_wire_block_head(b, bytes, n, e);

	if (rc < 0 || (rc = get_sizes(&h, bytes, n, e)) < 0)
		return rc;
	if (p->decompressor == NULL)
		p->decompressor = libdeflate_alloc_decompressor();
	if (c == NULL || p->decompressor == NULL)
		return rama_err_set(e, RAMA_EMEMORY, "no memory to unpack events");
	if (rama_wire_load_le(bytes + AT_BODY_SUM, 4) !=
	    libdeflate_crc32(0, bytes + h.size, h.stored))
		return damaged(e, "its checksum differs");
	if (h.flags == 0)
		memcpy(c->body, bytes + h.size, h.body);
	else if (libdeflate_deflate_decompress(p->decompressor, bytes + h.size, h.stored, c->body,
					       h.body, NULL) != LIBDEFLATE_SUCCESS)
		return damaged(e, "it cannot be decompressed");
	return rama_wire_columns_unpack(c, b, h.body, e);
}
