/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/terms.h"

const struct rama_tab_term rama_tab_terms[] = {
#define TERM(name, also, text) { name, also, text },
#include "table/terms.def"
#undef TERM
};
const unsigned rama_tab_n_terms = sizeof(rama_tab_terms) / sizeof(rama_tab_terms[0]);
