/* SPDX-License-Identifier: BSD-3-Clause */
/* columns.h: the inside of a block: what packing and unpacking share. Events fall apart into
 * columns; what an event has in common with the one before it (or with the last one on its file)
 * becomes a bit of its kind, so that columns hold surprises only. docs/format/wire.md tells the
 * bytes. */
#ifndef RAMA_WIRE_COLUMNS_H
#define RAMA_WIRE_COLUMNS_H

#include "wire/block.h"
#include "wire/coding.h"

#define RAMA_WIRE_BLOCK_MAGIC 0x4b4c4249u /* "IBLK" */
#define RAMA_WIRE_BLOCK_VERSION 1
#define RAMA_WIRE_BLOCK_DEFLATED 1 /* flag: the body is a stream of raw deflate */
#define RAMA_WIRE_BLOCK_FIXED 96   /* bytes of the head before the key of the job */

/* A kind is a row of the table of calls (low byte) and what was as expected (high byte). */
enum {
	RAMA_WIRE_CODE_FAILED = 1,
	RAMA_WIRE_CODE_OFF_NEXT = 2,	/* offset: where the last access to this record ended */
	RAMA_WIRE_CODE_OFF_NONE = 4,	/* offset: -1 */
	RAMA_WIRE_CODE_BYTES_SAME = 8,	/* bytes: as in the last event of this row of the table */
	RAMA_WIRE_CODE_BYTES_NONE = 16, /* bytes: -1 */
	RAMA_WIRE_CODE_CALL_NEXT = 32,	/* call: one more than that of the event before */
	RAMA_WIRE_CODE_PARENT_NONE = 64,
	RAMA_WIRE_CODE_PARENT_SAME = 128 /* parent: that of the event before */
};
#define RAMA_WIRE_CODES 65536

enum rama_wire_column {
	RAMA_WIRE_COL_KIND,
	RAMA_WIRE_COL_RECORD,
	RAMA_WIRE_COL_GAP, /* folded: start - end of the event before */
	RAMA_WIRE_COL_DUR,
	RAMA_WIRE_COL_OFF,    /* folded: offset - where the last access ended */
	RAMA_WIRE_COL_BYTES,  /* themselves */
	RAMA_WIRE_COL_CALL,   /* folded: call - the one before */
	RAMA_WIRE_COL_PARENT, /* folded: call - parent */
	RAMA_WIRE_COLUMNS
};

#define RAMA_WIRE_COLUMN_CONSTANT 0x80 /* added to the width */
#define RAMA_WIRE_COLUMN_HEAD 2	       /* width, shift */

/* A body at its largest: the table of calls, kinds, ids of records, and columns as wide as they
 * get. */
#define RAMA_WIRE_BODY_WHATS(n) (RAMA_WIRE_VARINT_MOST + (n) * sizeof(struct rama_wire_what))
#define RAMA_WIRE_BODY_EVENT (2 + 8 + 2 + 2 + 4 * 8 + 2 * 5)
#define RAMA_WIRE_BODY_ROOM(n, calls)                                     \
	(RAMA_WIRE_BODY_WHATS(calls) + (size_t)(n)*RAMA_WIRE_BODY_EVENT + \
	 RAMA_WIRE_COLUMNS * (RAMA_WIRE_COLUMN_HEAD + 8) + 2 * RAMA_WIRE_VARINT_MOST)

#define RAMA_WIRE_RECORD_SLOTS (4 * RAMA_WIRE_BLOCK_EVENTS)

/* working memory of a packer */
struct rama_wire_columns {
	uint64_t col[RAMA_WIRE_COLUMNS][RAMA_WIRE_BLOCK_EVENTS];
	uint32_t n[RAMA_WIRE_COLUMNS];		 /* values in each */
	uint64_t record[RAMA_WIRE_BLOCK_EVENTS]; /* ids, in order of their first event */
	uint64_t next[RAMA_WIRE_BLOCK_EVENTS];	 /* where the last access to each ended */
	uint64_t same[RAMA_WIRE_BLOCK_WHATS];	 /* bytes of the last event of each row */
	uint16_t code[RAMA_WIRE_BLOCK_EVENTS];	 /* kinds, in order of their first event */
	uint32_t count[RAMA_WIRE_BLOCK_EVENTS];	 /* events of each kind */
	uint32_t n_records, n_codes;
	uint16_t code_at[RAMA_WIRE_CODES]; /* number of a kind + 1; all 0 between calls */
	uint16_t slot[RAMA_WIRE_RECORD_SLOTS];
	unsigned char body[RAMA_WIRE_BODY_ROOM(RAMA_WIRE_BLOCK_EVENTS, RAMA_WIRE_BLOCK_WHATS)];
};

/* Events of a block into columns and those into c->body; returns its bytes. The block was
 * checked. Fills t0 and t1. */
size_t rama_wire_columns_pack(struct rama_wire_columns *c, struct rama_wire_block *b);
/* The first n bytes of c->body into table and events; b has a head. */
int rama_wire_columns_unpack(struct rama_wire_columns *c, struct rama_wire_block *b, size_t n,
			     struct rama_err *e);

/* names in a table of calls: visible ASCII only */
bool rama_wire_what_valid(const struct rama_wire_what *w);

#endif
