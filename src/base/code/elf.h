/* SPDX-License-Identifier: BSD-3-Clause */
/* elf.h: what kind of program a file is, told from its bytes. Nothing in them is trusted: every
 * offset and length is checked, loops have limits, and what makes no sense is "cannot be told".
 * Pure; no memory but the caller's and less than 2 KiB of stack, so that it can be used between
 * vfork and exec. */
#ifndef RAMA_BASE_CODE_ELF_H
#define RAMA_BASE_CODE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* why a program cannot be observed; 0: it can, or that cannot be told */
enum rama_unseen {
	RAMA_UNSEEN_NOT,
#define UNSEEN(name, key, one, many) RAMA_UNSEEN_##name,
#include "base/code/unseen.def"
#undef UNSEEN
	RAMA_UNSEEN_REASONS
};

const char *rama_unseen_key(enum rama_unseen why);
const char *rama_unseen_one(enum rama_unseen why);  /* "is statically linked" */
const char *rama_unseen_many(enum rama_unseen why); /* "statically linked" */

/* bytes of a file: up to n of them from off on; how many there are, or negative */
struct rama_elf_bytes {
	long (*read)(void *ctx, uint64_t off, void *buf, size_t n);
	void *ctx;
};

#define RAMA_ELF_NAME 64

struct rama_elf {
	bool is;		   /* it is an ELF file */
	enum rama_unseen why;	   /* STATIC, BITS, MACHINE, LIBC, or NOT */
	char first[RAMA_ELF_NAME]; /* library that must be the first of all; "": none */
};

/* name: of the file, since a loader may be started as a program; any path, or NULL */
void rama_elf_look(struct rama_elf *to, const struct rama_elf_bytes *from, const char *name);

/* Is it a library that must be the first of all? name: a path, of n bytes */
bool rama_elf_first(const char *name, size_t n);

/* owner of the note by which programs are known that have our library inside them */
#define RAMA_ELF_NOTE "iorama"

#endif
