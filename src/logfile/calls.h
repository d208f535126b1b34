/* SPDX-License-Identifier: BSD-3-Clause */
/* calls.h: the calls inside a record of the module CALLS: small numbers in few bytes each, which
 * docs/format/log.md tells. Written inside applications, too: no stdio. */
#ifndef RAMA_LOGFILE_CALLS_H
#define RAMA_LOGFILE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/record.h"

struct rama_log_call {
	uint32_t id, parent; /* of its thread's lane; parent 0: part of no other call */
	uint8_t layer;	     /* row of layers.def, by the order of events */
	bool write;
	uint8_t kind;  /* RAMA_TAB_OP_...: row of ops.def; NOTHING: one that we do not know */
	uint64_t file; /* record id */
	int64_t off, bytes;
	uint64_t start, length; /* ns since the origin of its program */
	/* name of the function, not ended by a NUL; reading: valid as long as the record */
	const char *op;
	size_t op_len;
	/* Of requests at daemons and servers (linked); zero of all others. tid: thread of the
	 * application that it was done for; unique: number of the request in its process; object:
	 * the file, the same at client and server; mark: FUSE: `unique` of the requests to servers
	 * that it became, CLIENT, SERVER: what was sent along with it; peer: record id of the name
	 * of the other side; user: number of the user whose thread it is, plus 1. 0: not known. */
	bool linked;
	uint64_t tid, unique, object, mark, peer, user;
};

/* of a process: CALLS_ROLE; what has none is of an old log */
enum { RAMA_LOG_ROLE_APPLICATION, RAMA_LOG_ROLE_FUSE, RAMA_LOG_ROLE_SERVER };

#define RAMA_LOG_CALLS_MOST 4096  /* calls of one record */
#define RAMA_LOG_CALLS_FILES 1024 /* files */
#define RAMA_LOG_CALLS_OPS 64	  /* different operations */
#define RAMA_LOG_CALLS_OP 63	  /* bytes of the name of one */
#define RAMA_LOG_CALLS_TIME (1ull << 61)

/* what is written: fill it with calls, give it to a record, empty it */
struct rama_log_calls_pen {
	struct {
		uint8_t layer, kind;
		bool linked;
		const char *name;
		size_t len;
	} op[RAMA_LOG_CALLS_OPS];
	uint64_t end[RAMA_LOG_CALLS_OPS]; /* where the last call of each ended in its file */
	union rama_core_word file[RAMA_LOG_CALLS_FILES];
	uint16_t file_at[2 * RAMA_LOG_CALLS_FILES]; /* by hash: index + 1 */
	unsigned n_ops, n_files;
	uint64_t n; /* calls */
	uint64_t id, start, tid, unique, mark, user;
	size_t used;
	unsigned char bytes[56 << 10];
	union rama_core_word words[8 << 10]; /* what the record gets */
};

void rama_log_calls_pen_clear(struct rama_log_calls_pen *p);
/* false: it is full, nothing was added; empty it and try again. Names of operations must stay
 * where they are until then. A time that cannot be is cut. */
bool rama_log_calls_pen_add(struct rama_log_calls_pen *p, const struct rama_log_call *c);
/* what the pen knows of the record: its count, and both arrays, which stay the pen's; its role
 * must not be negative */
void rama_log_calls_pen_give(struct rama_log_calls_pen *p, struct rama_core_record *r);

/* what is read; nothing in a record is believed */
struct rama_log_calls {
	struct {
		uint8_t layer, kind;
		bool linked, with_user;
		const char *name;
		size_t len;
	} op[RAMA_LOG_CALLS_OPS];
	uint64_t end[RAMA_LOG_CALLS_OPS];
	const union rama_core_word *file;
	uint64_t n_files, left, id, start, tid, unique, mark, user;
	bool old; /* version 1: without kinds and links */
	unsigned n_ops;
	const unsigned char *at, *stop;
	bool bad;
};

/* 0 or RAMA_ECORRUPT */
int rama_log_calls_open(struct rama_log_calls *c, const struct rama_core_record *r);
/* 1, 0 after the last, or RAMA_ECORRUPT */
int rama_log_calls_next(struct rama_log_calls *c, struct rama_log_call *to);

#endif
