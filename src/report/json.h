/* SPDX-License-Identifier: BSD-3-Clause */
/* json.h: the parts of the JSON document, between the files that write it. Each writes key and
 * value. */
#ifndef RAMA_REPORT_JSON_H
#define RAMA_REPORT_JSON_H

#include "report/table.h"

/* json_data.c: from layers to ranks */
void rama_report_json_data(struct rama_json *j, const struct rama_report *r);

/* "key":[...] of all rows of a table */
void rama_report_json_rows(struct rama_json *j, const char *key, const struct rama_report_table *t,
			   const struct rama_report *r);

#endif
