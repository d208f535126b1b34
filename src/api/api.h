/* SPDX-License-Identifier: BSD-3-Clause */
/* api.h: what the two halves of the C library share. */
#ifndef RAMA_API_API_H
#define RAMA_API_API_H

#include "core/record.h"
#include "iorama/log.h"
#include "logfile/log.h"

struct iorama_record {
	struct rama_core_record r;
	char host[65];
	union rama_core_word *owned[3]; /* of records made by the user: words and arrays */
};

/* our error in the form users see; returns the code */
int rama_api_error(struct iorama_error *to, const struct rama_err *from);
int rama_api_fail(struct iorama_error *to, int code, const char *text);
/* field of a record by its name, and array by its name (-1: none) */
const struct rama_tab_field *rama_api_field(const struct rama_core_record *r, const char *name);
int rama_api_array(const struct rama_core_record *r, const char *name);

#endif
