/* SPDX-License-Identifier: BSD-3-Clause */
/* uring.h: a ring of io_uring read from the side: requests and completions as they go by, and
 * which of them belong together. Pure: memory in, requests out. The memory is the program's and
 * the kernel's: it changes under us, so that every word is read once, and nothing in it is
 * trusted.
 *
 *   requests (SQ)     sq_seen  -> tail    each read once, and kept as a flight by its user_data
 *   completions (CQ)  cq_seen  -> tail    each finds the flight that it ends
 *
 * All four numbers only grow, so that what went by unseen is at least counted. */
#ifndef RAMA_CORE_FOREIGN_URING_H
#define RAMA_CORE_FOREIGN_URING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/op.h"

enum rama_core_uring_shape {
	RAMA_CORE_URING_NONE,
	RAMA_CORE_URING_DATA,
	RAMA_CORE_URING_VECTOR,
	RAMA_CORE_URING_SYNC,
	RAMA_CORE_URING_META,
	RAMA_CORE_URING_OPEN,
	RAMA_CORE_URING_HOW,
	RAMA_CORE_URING_CLOSE,
	RAMA_CORE_URING_STAT,
	RAMA_CORE_URING_PATH,
	RAMA_CORE_URING_RENAME,
	RAMA_CORE_URING_COPY,
	RAMA_CORE_URING_FILES,
	RAMA_CORE_URING_POST,
	RAMA_CORE_URING_UNKNOWN /* an operation that no row tells of */
};

/* Where a ring lies: offsets are those that the kernel gave, checked by rama_core_uring_fits() */
struct rama_core_uring_map {
	const volatile unsigned char *sq, *cq, *sqes; /* sq and cq may be one */
	size_t sq_len, cq_len, sqes_len;
	uint32_t sq_head, sq_tail, sq_array; /* in sq; sq_array 0: requests are in order */
	uint32_t cq_tail, cqes;		     /* in cq */
	uint32_t sq_entries, cq_entries;     /* powers of two */
	uint32_t sqe_size, cqe_size;
};
bool rama_core_uring_fits(const struct rama_core_uring_map *m);

static inline uint32_t rama_core_uring_word(const volatile unsigned char *at, uint32_t off)
{
	return __atomic_load_n((const volatile uint32_t *)(const volatile void *)(at + off),
			       __ATOMIC_ACQUIRE);
}

/* one request, as it was when it was read; fields that its row does not name are 0, fd -1 */
struct rama_core_uring_sqe {
	uint64_t user_data;
	uint64_t mem, path;
	int64_t off;
	uint32_t len;
	int32_t fd;
	int32_t fd_in;	     /* COPY: where from, at off_in */
	uint32_t file_index; /* OPEN, CLOSE: of a registered file + 1; 0: none */
	int64_t off_in;
	uint32_t more; /* flags of the operation itself */
	uint16_t fn;
	uint8_t kind, shape;
	bool fixed, fixed_in; /* descriptors are numbers of registered files */
	bool has_off;
	bool silent; /* there will be no completion if it succeeds */
};
void rama_core_uring_decode(const uint64_t w[8], struct rama_core_uring_sqe *to);

struct rama_core_uring_cqe {
	uint64_t user_data;
	int32_t res;
	bool more;   /* others of the same request follow */
	bool notice; /* it says nothing of a request */
};

#define RAMA_CORE_URING_NONE_AT UINT32_MAX

/* a request that is under way, and whatever its owner keeps of it */
struct rama_core_uring_flight {
	uint64_t user_data;
	uint64_t t0, t1; /* t1: once it is done */
	int64_t off, off_in;
	uint64_t file, file_in; /* the owner's */
	uint64_t mem, answer;	/* STAT: where the answer goes */
	uint32_t len;
	int32_t fd, fd_in;
	int32_t owner; /* who asked for it: a process */
	int32_t res;
	uint32_t file_index;
	uint32_t number; /* of requests, as they came */
	uint32_t next;
	uint16_t fn;
	uint16_t path, path_to; /* the owner's; 0: none */
	uint8_t kind, shape;
	bool has_off, fixed, done, used;
};

/* Of one ring, in memory that forked processes share. Flights with the same user_data end in the
 * order in which they began. Indexes are looked at before they are used: a jump may have left it
 * half changed. */
struct rama_core_uring_table {
	uint32_t lock;
	uint32_t size; /* of flight[], a power of two */
	uint64_t id;   /* of the ring */
	uint32_t sq_seen, cq_seen;
	uint32_t flying;  /* flights under way */
	uint32_t deep;	  /* of those, reads and writes: the owner's */
	uint32_t numbers; /* the next */
	uint32_t free;	  /* the first of those given back */
	uint32_t fresh;	  /* those from here on were never used */
	uint32_t done;	  /* ended, but their owner has not come for them */
	uint32_t clock;	  /* hand of rama_core_uring_begin() when all are taken */
	/* what went by: requests not read, completions not read or of requests that were not,
	 * flights given up for want of room */
	uint64_t sq_lost, cq_lost, dropped;
	uint64_t told; /* of those, how many were told already */
	bool posts;    /* completions come from other rings, too */
};
size_t rama_core_uring_table_bytes(uint32_t size);
void rama_core_uring_table_init(struct rama_core_uring_table *t, uint32_t size, uint64_t id);

/* The next request up to `until`, or false. */
bool rama_core_uring_next_sqe(struct rama_core_uring_table *t, const struct rama_core_uring_map *m,
			      uint32_t until, struct rama_core_uring_sqe *to);
/* The next completion, or false. */
bool rama_core_uring_next_cqe(struct rama_core_uring_table *t, const struct rama_core_uring_map *m,
			      struct rama_core_uring_cqe *to);
/* A flight for a request: user_data, number are set; the rest is zero. NULL: it was dropped. */
struct rama_core_uring_flight *rama_core_uring_begin(struct rama_core_uring_table *t,
						     uint64_t user_data);
/* The flight of a completion, taken out of those under way, unless `more`; NULL: there is none,
 * which is counted. */
struct rama_core_uring_flight *rama_core_uring_end(struct rama_core_uring_table *t,
						   const struct rama_core_uring_cqe *c);
/* It may be used again. */
void rama_core_uring_free(struct rama_core_uring_table *t, struct rama_core_uring_flight *f);
/* the n-th place */
struct rama_core_uring_flight *rama_core_uring_at(struct rama_core_uring_table *t, uint32_t n);
/* operations that went by unseen */
uint64_t rama_core_uring_missed(const struct rama_core_uring_table *t);

#endif
