/* SPDX-License-Identifier: BSD-3-Clause */
/* kind.h: a kind of record as a process keeps it while it runs, and what can be done with it.
 * Each kind is one file of this folder that ends with its struct rama_core_kind; skeleton.c is
 * the manual. Which kinds there are is told by the rows K of table/modules.def. All of it is
 * pure: operations in, counters out. */
#ifndef RAMA_CORE_KIND_H
#define RAMA_CORE_KIND_H

#include "core/op.h"
#include "core/record.h"

/* What a slot begins with. The rest is up to its kind; the words of its record are in there. */
struct rama_core_slot {
	uint32_t seq;  /* even: at rest; odd: being changed. Also the lock among threads */
	uint32_t name; /* 0: the slot is not in use yet */
	uint8_t stuck; /* a thread died while changing it: no longer updated */
};
#define RAMA_CORE_SLOT_MOST 8192 /* bytes: no slot is larger, nor a chunk of slots smaller */

/* what is known when the first call on a file makes a slot for it; a kind takes what it needs */
struct rama_core_new {
	uint64_t id;	    /* of the record: the hash of its name */
	bool standard;	    /* the name is <STDIN>, <STDOUT> or <STDERR> */
	bool sees_mmap;	    /* mappings are observed, so that none is 0 and not unknown */
	unsigned lacks;	    /* H5D: RAMA_CORE_H5D_NO_... */
	int64_t mem_align;  /* as the user set it */
	int64_t file_align; /* of the file system */
	uint64_t file_id;   /* of a part of a file (dataset, variable): record of the file */
};

struct rama_core_kind {
	uint16_t size;	/* bytes of a slot */
	uint16_t words; /* where in it the words of the record are */
	/* of memory that may hold anything; seq, name and stuck become 0 */
	void (*init)(void *slot, const struct rama_core_new *n);
	/* One call, while the slot is locked. Those that mean nothing to it change nothing. NULL:
	 * calls come with more than an operation, through functions of its own. */
	void (*apply)(void *slot, const struct rama_core_op *op);
	/* The record for the log: ticks of `tick` seconds become seconds. The slot may hold
	 * anything: its process may have been killed, or be hostile. */
	void (*finish)(const void *slot, double tick, union rama_core_word *w);
	/* Is the record left out of the log? NULL: never. */
	bool (*is_idle)(const void *slot);
};

/* the first two members */
#define RAMA_CORE_KIND_OF(type) .size = sizeof(type), .words = offsetof(type, w)

#define M(...)
#define K(id, symbol, name, newest, released, record, ...) \
	extern const struct rama_core_kind rama_core_kind_##record;
#include "table/modules.def"

/* by kind; their modules of the log */
extern const struct rama_core_kind *const rama_core_kinds[RAMA_TAB_KINDS];
extern const uint8_t rama_core_kind_module[RAMA_TAB_KINDS];

#endif
