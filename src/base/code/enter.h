/* SPDX-License-Identifier: BSD-3-Clause */
/* enter.h: places in the code of a program that make one system call by themselves:
 * `mov $NUMBER, %eax`, some moves between registers and memory, `syscall`; and what takes their
 * place. x86-64. Pure: bytes in, bytes out; nothing in them is trusted. */
#ifndef RAMA_BASE_CODE_ENTER_H
#define RAMA_BASE_CODE_ENTER_H

#include <stddef.h>
#include <stdint.h>

#define RAMA_ENTER_JUMP 5     /* bytes that a jump takes */
#define RAMA_ENTER_BETWEEN 64 /* most bytes between the two instructions */
#define RAMA_ENTER_STUB 128   /* most bytes of what takes its place */

struct rama_enter_site {
	uint64_t at;   /* of the mov, over which the jump will be */
	uint64_t back; /* behind the syscall */
	unsigned char between[RAMA_ENTER_BETWEEN];
	unsigned n; /* bytes of it */
};

/* The first `most` places in code that lies at `from`: how many there are. */
unsigned rama_enter_find(const unsigned char *code, size_t n, uint64_t from, uint32_t number,
			 struct rama_enter_site *to, unsigned most);
/* Instructions for address `lies` that do what the place did, but call `instead` (with 128 bytes
 * of the stack left alone) where it had its system call. How many bytes; 0: it cannot be. */
size_t rama_enter_stub(const struct rama_enter_site *s, uint64_t lies, uint64_t instead,
		       unsigned char to[RAMA_ENTER_STUB]);

#endif
