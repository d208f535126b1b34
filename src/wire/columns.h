/* SPDX-License-Identifier: BSD-3-Clause */
/* columns.h: the inside of a block: what packing and unpacking share. Events fall apart into columns; what an event
 * has in common with the one before it (or with the last one on its file) becomes a bit of its kind, so that columns
 * hold surprises only. docs/format/wire.md tells the bytes. */
#ifndef RAMA_WIRE_COLUMNS_H
#define RAMA_WIRE_COLUMNS_H

#include "wire/block.h"
#include "wire/coding.h"

#define RAMA_BLOCK_MAGIC 0x4b4c4249u /* "IBLK" */
#define RAMA_BLOCK_VERSION 1
#define RAMA_BLOCK_DEFLATED 1 /* flag: the body is a stream of raw deflate */
#define RAMA_BLOCK_FIXED 96   /* bytes of the head before the key of the job */

/* A kind is a row of the table of calls (low byte) and what was as expected (high byte). */
enum {
	RAMA_CODE_FAILED = 1,
	RAMA_CODE_OFF_NEXT = 2,	   /* offset: where the last access to this record ended */
	RAMA_CODE_OFF_NONE = 4,	   /* offset: -1 */
	RAMA_CODE_BYTES_SAME = 8,  /* bytes: as in the last event of this row of the table */
	RAMA_CODE_BYTES_NONE = 16, /* bytes: -1 */
	RAMA_CODE_CALL_NEXT = 32,  /* call: one more than that of the event before */
	RAMA_CODE_PARENT_NONE = 64,
	RAMA_CODE_PARENT_SAME = 128 /* parent: that of the event before */
};
#define RAMA_CODES 65536

enum rama_column {
	RAMA_COL_KIND,
	RAMA_COL_RECORD,
	RAMA_COL_GAP, /* folded: start - end of the event before */
	RAMA_COL_DUR,
	RAMA_COL_OFF,	 /* folded: offset - where the last access ended */
	RAMA_COL_BYTES,	 /* themselves */
	RAMA_COL_CALL,	 /* folded: call - the one before */
	RAMA_COL_PARENT, /* folded: call - parent */
	RAMA_COLUMNS
};

#define RAMA_COLUMN_CONSTANT 0x80 /* added to the width */
#define RAMA_COLUMN_HEAD 2	  /* width, shift */

/* A body at its largest: the table of calls, kinds, ids of records, and columns as wide as they get. */
#define RAMA_BODY_WHATS(n) (RAMA_VARINT_MOST + (n) * sizeof(struct rama_what))
#define RAMA_BODY_EVENT (2 + 8 + 2 + 2 + 4 * 8 + 2 * 5)
#define RAMA_BODY_ROOM(n, calls)                                \
	(RAMA_BODY_WHATS(calls) + (size_t)(n)*RAMA_BODY_EVENT + \
	 RAMA_COLUMNS * (RAMA_COLUMN_HEAD + 8) + 2 * RAMA_VARINT_MOST)

#define RAMA_RECORD_SLOTS (4 * RAMA_BLOCK_EVENTS)

/* working memory of a packer */
struct rama_columns {
	uint64_t col[RAMA_COLUMNS][RAMA_BLOCK_EVENTS];
	uint32_t n[RAMA_COLUMNS];	    /* values in each */
	uint64_t record[RAMA_BLOCK_EVENTS]; /* ids, in order of their first event */
	uint64_t next[RAMA_BLOCK_EVENTS];   /* where the last access to each ended */
	uint64_t same[RAMA_BLOCK_WHATS];    /* bytes of the last event of each row */
	uint16_t code[RAMA_BLOCK_EVENTS];   /* kinds, in order of their first event */
	uint32_t count[RAMA_BLOCK_EVENTS];  /* events of each kind */
	uint32_t n_records, n_codes;
	uint16_t code_at[RAMA_CODES]; /* number of a kind + 1; all 0 between calls */
	uint16_t slot[RAMA_RECORD_SLOTS];
	unsigned char body[RAMA_BODY_ROOM(RAMA_BLOCK_EVENTS, RAMA_BLOCK_WHATS)];
};

/* the packer's columns, made if need be; NULL: no memory */
struct rama_columns *rama_block_columns(struct rama_block_packer *p);

/* Events of a block into columns and those into c->body; returns its bytes. The block was checked. Fills t0 and t1. */
size_t rama_columns_pack(struct rama_columns *c, struct rama_block *b);
/* The first n bytes of c->body into table and events; b has a head. */
int rama_columns_unpack(struct rama_columns *c, struct rama_block *b, size_t n, struct rama_err *e);

/* names in a table of calls: visible ASCII only */
bool rama_what_valid(const struct rama_what *w);

#endif
