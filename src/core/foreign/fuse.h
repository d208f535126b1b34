/* SPDX-License-Identifier: BSD-3-Clause */
/* fuse.h: messages between the kernel and a FUSE daemon, as they lie in the daemon's memory. Rows:
 * table/hooks.def. Pure, and nothing in a message is believed. Inline, since each request of the
 * kernel comes through here. */
#ifndef RAMA_CORE_FOREIGN_FUSE_H
#define RAMA_CORE_FOREIGN_FUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "table/fn.h"

#define RAMA_CORE_FUSE_IN 64	    /* no more of a request is looked at */
#define RAMA_CORE_FUSE_OUT 24	    /* nor of an answer; */
#define RAMA_CORE_FUSE_OUT_LEAST 16 /* it has no less */

struct rama_core_fuse_request {
	uint64_t unique; /* answers name it; not 0 */
	uint64_t node;	 /* the file */
	uint32_t tid;	 /* thread of the application; 0: not known */
	uint32_t uid;	 /* its user */
	uint16_t fn;	 /* RAMA_TAB_FN_fuse_...; RAMA_TAB_FN_NONE: no row, or it has no answer */
	uint8_t kind;	 /* RAMA_TAB_OP_... */
	int64_t off;	 /* -1: it has none */
	int64_t bytes;	 /* that were asked for */
};

/* Where things stand. A request: length (4), operation (4), unique (8), node (8), user, group,
 * thread (4 each), 4 more; then, of reads and writes, handle (8), offset (8), size (4). */
enum {
	RAMA_CORE_FUSE_IN_HEAD = 40,
	RAMA_CORE_FUSE_IN_OFFSET = RAMA_CORE_FUSE_IN_HEAD + 8,
	RAMA_CORE_FUSE_IN_SIZE = RAMA_CORE_FUSE_IN_HEAD + 16,
};

static inline uint32_t rama_core_fuse_u32(const unsigned char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t rama_core_fuse_u64(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void rama_core_fuse_look_up(struct rama_core_fuse_request *r, uint32_t opcode)
{
	switch (opcode) {
#define FUSE_OP(symbol, name, op, number)               \
	case number:                                    \
		r->fn = (uint16_t)RAMA_TAB_FN_##symbol; \
		r->kind = RAMA_TAB_OP_##op;             \
		break;
#include "table/hooks.def"
	default:
		r->fn = RAMA_TAB_FN_NONE;
		r->kind = RAMA_TAB_OP_NOTHING;
		break;
	}
}

/* p: the first bytes of a message, `have` of `whole`. false: it is none. */
static inline bool rama_core_fuse_request(struct rama_core_fuse_request *r, const unsigned char *p,
					  size_t have, size_t whole)
{
	if (have < RAMA_CORE_FUSE_IN_HEAD || have > whole || rama_core_fuse_u32(p) != whole ||
	    rama_core_fuse_u64(p + 8) == 0)
		return false;
	r->unique = rama_core_fuse_u64(p + 8);
	r->node = rama_core_fuse_u64(p + 16);
	r->uid = rama_core_fuse_u32(p + 24);
	r->tid = rama_core_fuse_u32(p + 32);
	r->off = -1;
	r->bytes = 0;
	rama_core_fuse_look_up(r, rama_core_fuse_u32(p + 4));
	if ((r->fn == RAMA_TAB_FN_fuse_read || r->fn == RAMA_TAB_FN_fuse_write) &&
	    have >= RAMA_CORE_FUSE_IN_SIZE + 4) {
		uint64_t off = rama_core_fuse_u64(p + RAMA_CORE_FUSE_IN_OFFSET);

		r->off = off <= INT64_MAX ? (int64_t)off : -1;
		r->bytes = rama_core_fuse_u32(p + RAMA_CORE_FUSE_IN_SIZE);
	}
	return true;
}

struct rama_core_fuse_answer {
	uint64_t unique; /* 0: it tells the kernel something that was not asked for */
	bool ok;
	int64_t bytes; /* that moved */
};

/* An answer: length (4), error (4), unique (8); of a write how much was written (4). Asked for with
 * each request, and so inline: the number of the request that is answered; 0: it is no answer */
static inline uint64_t rama_core_fuse_answered(const unsigned char *p, size_t have)
{
	uint64_t unique;

	if (have < RAMA_CORE_FUSE_OUT_LEAST)
		return 0;
	memcpy(&unique, p + 8, sizeof(unique));
	return unique;
}
static inline bool rama_core_fuse_answer(struct rama_core_fuse_answer *a, uint8_t kind,
					 const unsigned char *p, size_t have, size_t whole)
{
	uint32_t length, error, bytes;

	if (have < RAMA_CORE_FUSE_OUT_LEAST || have > whole)
		return false;
	memcpy(&length, p, sizeof(length));
	if (length != whole)
		return false;
	memcpy(&error, p + 4, sizeof(error));
	a->unique = rama_core_fuse_answered(p, have);
	a->ok = error == 0;
	a->bytes = 0;
	if (a->ok && kind == RAMA_TAB_OP_READ)
		a->bytes = (int64_t)(whole - RAMA_CORE_FUSE_OUT_LEAST);
	else if (a->ok && kind == RAMA_TAB_OP_WRITE && have >= RAMA_CORE_FUSE_OUT_LEAST + 4) {
		memcpy(&bytes, p + RAMA_CORE_FUSE_OUT_LEAST, sizeof(bytes));
		a->bytes = bytes;
	}
	return true;
}

#endif
