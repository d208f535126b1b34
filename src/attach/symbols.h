/* SPDX-License-Identifier: BSD-3-Clause */
/* symbols.h: where a function lies in a library, told from the file's bytes, which are not
 * trusted. */
#ifndef RAMA_ATTACH_SYMBOLS_H
#define RAMA_ATTACH_SYMBOLS_H

#include <stdint.h>

#include "base/err.h"

/* Offset of a defined function from where the library's first byte is mapped. */
int rama_attach_symbol(const char *path, const char *name, uint64_t *offset, struct rama_err *e);
/* the same for bytes in memory; -1: it has no such function, -2: these are no such library */
int rama_attach_symbol_find(const unsigned char *bytes, uint64_t n, const char *name,
			    uint64_t *offset);

#endif
