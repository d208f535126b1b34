/* SPDX-License-Identifier: BSD-3-Clause */
/* text.h: between the files that write the report for a terminal. */
#ifndef RAMA_REPORT_TEXT_H
#define RAMA_REPORT_TEXT_H

#include "base/pen.h"
#include "report/table.h"
#include "report/words.h"

/* text_tables.c: layers, sizes, files, ranks and so on, for --verbose */
void rama_report_text_tables(struct rama_pen *p, const struct rama_report *r);

#endif
