/* SPDX-License-Identifier: BSD-3-Clause */
/* html.h: the report as one page that needs nothing else: the built page of web/ with the JSON
 * document inside it, packed, and the picture for readers without scripts. */
#ifndef RAMA_REPORT_HTML_H
#define RAMA_REPORT_HTML_H

#include "report/report.h"

/* Errors of memory and of writing are kept by `o`. */
void rama_report_html(struct rama_out *o, const struct rama_report *r);

#endif
