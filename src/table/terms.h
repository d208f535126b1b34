/* SPDX-License-Identifier: BSD-3-Clause */
/* terms.h: words that reports use, from terms.def. */
#ifndef RAMA_TABLE_TERMS_H
#define RAMA_TABLE_TERMS_H

struct rama_tab_term {
	const char *name, *also, *text; /* also: other words for it, with commas, or "" */
};
extern const struct rama_tab_term rama_tab_terms[];
extern const unsigned rama_tab_n_terms;

#endif
