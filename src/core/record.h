/* SPDX-License-Identifier: BSD-3-Clause */
/* record.h: one record of a module in memory. A record is a row of 8-byte words in the newest
 * layout and the host's byte order (table/index.h names them), so that what is written, reduced,
 * printed and stored is the same memory. */
#ifndef RAMA_CORE_RECORD_H
#define RAMA_CORE_RECORD_H

#include "table/table.h"

union rama_core_word {
	int64_t i;
	uint64_t u;
	double f;
	char b[8];
};

struct rama_core_record {
	const struct rama_tab_module *mod;
	const struct rama_tab_schema *schema; /* the module's record, or the header of the region */
	union rama_core_word *w;	      /* schema->words of them */
	/* what follows the fixed part; NULL for traces, whose segments are read one by one */
	union rama_core_word *array[2];
	uint64_t count[2]; /* elements, of schema->array[].words words each */
};

/* text of a RAW TEXT field: its bytes up to the first NUL, at most 8 * words */
static inline const char *rama_core_record_raw(const struct rama_core_record *r, unsigned word)
{
	return r->w[word].b;
}

/* Sums of values from a file may overflow; they wrap as they do in the original tools. */
static inline int64_t rama_core_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

#endif
