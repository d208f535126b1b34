/* SPDX-License-Identifier: BSD-3-Clause */
#include "table/terms.h"

const struct rama_term rama_terms[] = {
#define TERM(name, also, text) { name, also, text },
#include "table/terms.def"
#undef TERM
};
const unsigned rama_n_terms = sizeof(rama_terms) / sizeof(rama_terms[0]);
