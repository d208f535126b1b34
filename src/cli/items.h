/* SPDX-License-Identifier: BSD-3-Clause */
/* items.h: a record as the names and values people see, in the order of the text form. */
#ifndef RAMA_CLI_ITEMS_H
#define RAMA_CLI_ITEMS_H

#include "core/record.h"

struct rama_cli_item {
	const char *name;
	uint8_t type; /* RAMA_TAB_I64, RAMA_TAB_U64, RAMA_TAB_F64 or RAMA_TAB_TEXT */
	bool is_id;
	union rama_core_word value;
	const char *text; /* RAMA_TAB_TEXT */
	size_t text_len;
};

struct rama_cli_items {
	void (*fn)(void *ctx, const struct rama_cli_item *item);
	void *ctx;
	bool sync; /* kept between records: APMPI's header says whether sync times mean anything */
};

void rama_cli_items_each(struct rama_cli_items *it, const struct rama_core_record *r);

#endif
