/* SPDX-License-Identifier: BSD-3-Clause */
/* move.h: the beginning of a function, moved to another place, so that a jump can be put over it.
 * Pure: bytes in, bytes out; nothing in them is trusted. */
#ifndef RAMA_ATTACH_MOVE_H
#define RAMA_ATTACH_MOVE_H

#include <stddef.h>
#include <stdint.h>

/* why it cannot be done; RAMA_ATTACH_MOVE_DONE: it can */
enum rama_attach_move {
	RAMA_ATTACH_MOVE_DONE,
	RAMA_ATTACH_MOVE_SHORT,	  /* it ends before there is room for a jump */
	RAMA_ATTACH_MOVE_INSIDE,  /* it jumps to its own beginning */
	RAMA_ATTACH_MOVE_FAR,	  /* what it refers to cannot be reached from there */
	RAMA_ATTACH_MOVE_LOOP,	  /* a jump that has no long form */
	RAMA_ATTACH_MOVE_CALL,	  /* a call comes back into bytes that will be others */
	RAMA_ATTACH_MOVE_TRAP,	  /* a debugger's breakpoint is there */
	RAMA_ATTACH_MOVE_UNKNOWN, /* it is no code */
	RAMA_ATTACH_MOVE_NOT_HERE /* built without Zydis, or for another processor */
};

struct rama_attach_moved {
	unsigned char code[160]; /* ends with a jump back */
	size_t n;
	size_t taken; /* bytes of the function */
	/* each instruction: where it was and where it is now, from the beginning of both */
	struct {
		uint8_t from, to;
	} step[8];
	unsigned steps;
};

/* The function has `n` bytes and lies at `at`; its beginning will lie at `to`. */
enum rama_attach_move rama_attach_move(struct rama_attach_moved *m, const unsigned char *code,
				       size_t n, uint64_t at, uint64_t to);
const char *rama_attach_move_why(enum rama_attach_move why);

#endif
