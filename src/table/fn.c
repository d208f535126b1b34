/* SPDX-License-Identifier: BSD-3-Clause */
/* fn.c: names of the functions we observe. */
#include "table/fn.h"

#define FN(name, ...) [RAMA_TAB_FN_##name] = { #name, TABLE },
#define HOOK(symbol, name, ...) [RAMA_TAB_FN_##symbol] = { name, "hooks" },
#include "table/fn_words.h"

const struct rama_tab_fn_info rama_tab_fn_info[RAMA_TAB_FNS] = {
#include "table/fn.def"
};
