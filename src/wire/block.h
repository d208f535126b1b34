/* SPDX-License-Identifier: BSD-3-Clause */
/* block.h: events of one thread of one process, packed: the only form in which events leave a
 * node, wait in a spool and lie in a store. Columns, each coded as small as it gets, then
 * compressed as one. docs/format/wire.md tells the bytes. A block stands for itself: functions
 * and operations are named in it, files by the id of their record. */
#ifndef RAMA_WIRE_BLOCK_H
#define RAMA_WIRE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define RAMA_WIRE_BLOCK_EVENTS 8192 /* at most */
#define RAMA_WIRE_BLOCK_WHATS 256   /* different calls in one block, at most */
#define RAMA_WIRE_JOB 128	    /* bytes of a job's key with its NUL */

/* one event, with absolute time */
struct rama_wire_event {
	/* ns since 1970: when it ended. The time by which events are ordered and found */
	int64_t end;
	int64_t dur;	       /* ns */
	int64_t off, bytes;    /* -1: it has none */
	uint64_t record;       /* id of the record of its file; 0: none */
	uint32_t call, parent; /* ids of calls of this thread; parent 0: none */
	uint16_t what;	       /* row of the block's table of calls */
	bool failed;
};

/* what a call was: a row of the block's own table */
struct rama_wire_what {
	char layer[16]; /* POSIX, STDIO, MPI-IO, H5F, H5D, PNETCDF: names of modules */
	/* open, close, read, write, sync, ...: lower-case names of rama_tab_opkind */
	char op[16];
	char fn[48]; /* pwrite64 */
};

/* 128 bits that tell one segment (one program in one process) from all others, ever */
struct rama_wire_segment_key {
	uint8_t b[16];
};

struct rama_wire_block {
	char job[RAMA_WIRE_JOB]; /* key of the job, see message.h */
	struct rama_wire_segment_key segment;
	int64_t rank;	    /* as known when it was packed; -1: not known */
	uint32_t lane, tid; /* lane of the segment, thread of the system */
	uint64_t first;	    /* sequence number of event[0]; the others follow without a gap */
	/* events of this lane that were dropped before event[n - 1], since its beginning */
	uint64_t lost;
	int64_t t0, t1; /* least and greatest `end` */
	uint32_t n, n_whats;
	struct rama_wire_what what[RAMA_WIRE_BLOCK_WHATS];
	struct rama_wire_event event[RAMA_WIRE_BLOCK_EVENTS];
};

/* Fills t0 and t1. Bytes for the packed block: rama_wire_block_room() is always enough. Returns
 * their number or a negative error. Keeps a compressor of its own in *packer (0 at the start;
 * rama_wire_block_packer_fini). */
struct rama_wire_block_packer {
	void *compressor, *decompressor;
	unsigned char *buf;
	size_t room;
};
size_t rama_wire_block_room(const struct rama_wire_block *b);
int64_t rama_wire_block_pack(struct rama_wire_block_packer *p, struct rama_wire_block *b,
			     unsigned char *to, size_t room, struct rama_err *e);
/* Trusts nothing; what it gives can be relied on: n <= RAMA_WIRE_BLOCK_EVENTS, n > 0, texts end,
 * what < n_whats, t0 and t1 true. */
int rama_wire_block_unpack(struct rama_wire_block_packer *p, struct rama_wire_block *b,
			   const unsigned char *bytes, size_t n, struct rama_err *e);
/* the head alone (no events, no table of calls): needs no decompression */
int rama_wire_block_head(struct rama_wire_block *b, const unsigned char *bytes, size_t n,
			 struct rama_err *e);
/* of the head only the key of the job, the number of events and the segment (each may be NULL);
 * needs no struct rama_wire_block, which is large */
int rama_wire_block_peek(const unsigned char *bytes, size_t n, char job[RAMA_WIRE_JOB],
			 uint32_t *events, struct rama_wire_segment_key *segment,
			 struct rama_err *e);
/* Has it events of this file? Judged by the first n bytes of a packed block, in which its table of
 * records lies: 1: yes, 0: no, -1: that many bytes do not tell, or are damaged. */
int rama_wire_block_has_file(const unsigned char *bytes, size_t n, uint64_t record);
#define RAMA_WIRE_BLOCK_LITTLE 2048 /* enough for some hundred files */
#define RAMA_WIRE_BLOCK_BEGIN 6144
void rama_wire_block_packer_fini(struct rama_wire_block_packer *p);

#endif
