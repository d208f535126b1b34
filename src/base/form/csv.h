/* SPDX-License-Identifier: BSD-3-Clause */
/* csv.h: texts as cells of CSV (RFC 4180). */
#ifndef RAMA_BASE_FORM_CSV_H
#define RAMA_BASE_FORM_CSV_H

#include "base/out.h"

/* in quotes where it has to be, else as it is */
void rama_csv_bytes(struct rama_out *o, const char *s, size_t n);
void rama_csv_text(struct rama_out *o, const char *s);
/* Always in quotes, for readers that tell texts from numbers by them; bytes that are not UTF-8
 * become U+FFFD. */
void rama_csv_quoted(struct rama_out *o, const char *s, size_t n);

#endif
