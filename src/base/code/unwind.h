/* SPDX-License-Identifier: BSD-3-Clause */
/* unwind.h: one frame of a stack up, by the tables that compilers leave for exceptions
 * (.eh_frame), on x86-64. Pure: memory is read by a function of the caller's, which may refuse;
 * nothing that was read is trusted, every loop has a limit. No memory but the stack, about 1.5
 * KiB of it, so that it can be used in signal handlers. */
#ifndef RAMA_BASE_CODE_UNWIND_H
#define RAMA_BASE_CODE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* registers by the numbers that DWARF gives them */
enum { RAMA_UNWIND_RBP = 6, RAMA_UNWIND_RSP = 7, RAMA_UNWIND_PC = 16, RAMA_UNWIND_REGISTERS };

/* n bytes at an address of the program; false: they are not there */
typedef bool rama_unwind_read(void *ctx, uint64_t at, void *to, size_t n);

struct rama_unwind {
	rama_unwind_read *read;
	void *ctx;
	uint64_t reg[RAMA_UNWIND_REGISTERS];
	uint32_t known; /* bit per register */
	bool exact;	/* pc is where the frame goes on, not a return address */
};

/* tables: address of .eh_frame_hdr of the module that pc lies in. false: the end, or nothing is
 * known of that frame; what is in `u` is then worth nothing. The stack pointer only ever grows. */
bool rama_unwind_up(struct rama_unwind *u, uint64_t tables);

#endif
