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

/* A function of a program or library, whether it is exported or not: from its own table of symbols,
 * which it may have been stripped of, else among those it exports. */
struct rama_attach_function {
	uint64_t offset, size;
	unsigned found; /* how many have this name; 0: none */
};
int rama_attach_symbol_own(const unsigned char *bytes, uint64_t n, const char *name,
			   struct rama_attach_function *f); /* as above */
int rama_attach_symbol_in(const char *path, const char *name, struct rama_attach_function *f,
			  struct rama_err *e); /* none is no error */

/* as rama_attach_symbol(), of data that the library exports */
int rama_attach_symbol_data(const char *path, const char *name, uint64_t *offset,
			    struct rama_err *e);

#endif
