/* SPDX-License-Identifier: BSD-3-Clause */
/* uring.h: rings of io_uring. Requests and completions go through memory that the program shares
 * with the kernel, without calls; but that memory can be mapped a second time, and then be read
 * whenever we are called (a sight): core/foreign/uring.h.
 *
 *   ring.c    rings, from setup to close, and their registered files
 *   sight.c   requests -> flights -> what ended
 *   count.c   what ended -> counters and events
 *   inline.c  programs that enter the kernel by an instruction of their own */
#ifndef RAMA_CAPTURE_URING_URING_H
#define RAMA_CAPTURE_URING_URING_H

#include <linux/io_uring.h>

#include "capture/runtime.h"
#include "core/foreign/uring.h"

#pragma GCC visibility push(hidden)

enum { RAMA_CAP_URING_PATHS = 64, RAMA_CAP_URING_PATH = 512 };

/* in memory that forked processes share */
struct rama_cap_uring_shared {
	struct {
		uint32_t number; /* of the flight */
		char text[RAMA_CAP_URING_PATH];
	} path[RAMA_CAP_URING_PATHS];
	uint32_t paths;				     /* that were ever used */
	_Alignas(64) struct rama_core_uring_table t; /* its flights follow */
};

#define RAMA_CAP_URING_NO_FILE 1u /* .file: nothing that we observe; 0: not known */

/* a registered file */
struct rama_cap_uring_file {
	uint64_t file;
	int32_t fd;
	int32_t owner; /* process that registered it */
};

struct rama_cap_uring {
	uint32_t state; /* FREE, MAKING, LIVE */
	int fd;
	uint64_t id;
	struct rama_core_uring_map map;
	struct rama_cap_uring_shared *shared;
	uint64_t entering; /* when the call began that submits now; 0: none does */
	struct rama_cap_uring_file *files;
	uint32_t n_files;
	bool sqpoll;
	bool blind;    /* its memory cannot be read: what is submitted is missed */
	bool watched;  /* may be used without calls */
	int32_t maker; /* process that shared is of */
	size_t shared_bytes;
};

/* not 0: there are rings, or were */
extern uint32_t rama_cap_uring_rings;
/* rings that may be used without calls */
extern uint32_t rama_cap_uring_watched;

/* ring.c */
struct rama_cap_uring *rama_cap_uring_find(int fd); /* NULL: it is none that we know */
/* A ring was set up. plain: by system call, so that others may follow by instruction. */
void rama_cap_uring_made(int fd, const struct io_uring_params *p, bool plain);
/* before the descriptor is closed, or gets another meaning */
void rama_cap_uring_close(int fd);
void rama_cap_uring_close_range(unsigned first, unsigned last);
/* registered files change: all of them, or n from `at` on. fds: an address of the program's, 0:
 * there are none yet */
void rama_cap_uring_files_set(int fd, uintptr_t fds, uint32_t n);
void rama_cap_uring_files_update(int fd, uint32_t at, uintptr_t fds, uint32_t n);
/* after io_uring_register() has succeeded */
void rama_cap_uring_registered(int fd, unsigned opcode, uintptr_t arg, unsigned n);
/* of the program: some or all of n bytes; how many */
size_t rama_cap_uring_copy(void *to, uintptr_t from, size_t n);

/* sight.c; errno is kept */
/* t0: when the call began that may have submitted; 0: it did not */
void rama_cap_uring_sight(struct rama_cap_uring *r, uint64_t t0);
void rama_cap_uring_sight_all(uint64_t t0);
/* around a call on a ring (NULL: all); result: of the call, how many were submitted */
void rama_cap_uring_before(struct rama_cap_uring *r, const struct rama_cap_span *sp, bool submits);
void rama_cap_uring_after(struct rama_cap_uring *r, const struct rama_cap_span *sp, bool submits,
			  long result);
/* around one of the three system calls; caller: whose code it is, where that is not known yet to
 * come to us by itself */
struct rama_cap_uring_call {
	const struct rama_cap_span *sp;
	struct rama_cap_uring *ring;
	const long *arg;
	long number;
};
struct rama_cap_uring_call rama_cap_uring_begin(const struct rama_cap_span *sp, long number,
						const long *arg);
void rama_cap_uring_end(const struct rama_cap_uring_call *c, long result, const void *caller);
/* the end of the process, or of its log */
void rama_cap_uring_last_sight(void);
/* around a call that waits for anything; only if rama_cap_uring_watched */
void rama_cap_uring_watch(void);
void rama_cap_uring_missed(uint64_t n);

/* count.c */
#define RAMA_CAP_URING_BATCH 12
struct rama_cap_uring_batch {
	struct rama_core_uring_flight item[RAMA_CAP_URING_BATCH];
	unsigned n;
	/* of the one that has any */
	char path[2][RAMA_CAP_URING_PATH];
};
/* those that are simple, while we are busy; then the others, while we are not */
void rama_cap_uring_count(struct rama_cap_thread *t, const struct rama_cap_uring *r,
			  struct rama_cap_uring_batch *b);
void rama_cap_uring_count_paths(struct rama_cap_uring *r, struct rama_cap_uring_batch *b);

#ifndef RAMA_STATIC_WRAP
/* inline.c: the code at this address has set up a ring by a system call */
void rama_cap_uring_inline(const void *caller);
#else
static inline void rama_cap_uring_inline(const void *caller)
{
	(void)caller;
}
#endif

#pragma GCC visibility pop
#endif
