/* SPDX-License-Identifier: BSD-3-Clause */
/* fn.h: the functions we observe as data: their ids, names and what their arguments mean. The
 * rows are those of fn.def. */
#ifndef RAMA_TABLE_FN_H
#define RAMA_TABLE_FN_H

#include <stdint.h>

enum rama_tab_opkind {
#define OP(kind, counter) RAMA_TAB_OP_##kind,
#include "table/ops.def"
#undef OP
	RAMA_TAB_OPS
};

#define FN(name, ...) RAMA_TAB_FN_##name,
#define HOOK(symbol, ...) RAMA_TAB_FN_##symbol,
#include "table/fn_words.h"
enum rama_tab_fn {
	RAMA_TAB_FN_NONE,
#include "table/fn.def"
	RAMA_TAB_FNS
};
#include "table/fn_words_end.h"
#undef HOOK

struct rama_tab_fn_info {
	const char *name;
	const char *table; /* posix, stdio, libaio, uring, wait, process, mpi, hdf5, ... */
};
extern const struct rama_tab_fn_info rama_tab_fn_info[RAMA_TAB_FNS];

#endif
