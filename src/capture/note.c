/* SPDX-License-Identifier: BSD-3-Clause */
/* note.c: a note by which a statically linked program can be told to have our library inside
 * (base/code/elf.h). */
#ifdef RAMA_STATIC_WRAP
#include <stdint.h>

#include "base/code/elf.h"

__attribute__((used, section(".note.iorama"), aligned(4))) static const struct {
	uint32_t name_size, text_size, type;
	char name[(sizeof(RAMA_ELF_NOTE) + 3) / 4 * 4];
} note = { sizeof(RAMA_ELF_NOTE), 0, 1, RAMA_ELF_NOTE };
#else
typedef int rama_note_unused; /* a file is never empty */
#endif
