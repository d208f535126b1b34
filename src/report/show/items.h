/* SPDX-License-Identifier: BSD-3-Clause */
/* items.h: a record as the names and values people see, in the order of the text form. */
#ifndef RAMA_REPORT_SHOW_ITEMS_H
#define RAMA_REPORT_SHOW_ITEMS_H

#include "core/record.h"
#include "logfile/log.h"

struct rama_report_item {
	const char *name;
	uint8_t type; /* RAMA_TAB_I64, RAMA_TAB_U64, RAMA_TAB_F64 or RAMA_TAB_TEXT */
	bool is_id;
	union rama_core_word value;
	const char *text; /* RAMA_TAB_TEXT */
	size_t text_len;
};

struct rama_report_items {
	void (*fn)(void *ctx, const struct rama_report_item *item);
	void *ctx;
	bool sync; /* kept between records: APMPI's header says whether sync times mean anything */
};

void rama_report_items_each(struct rama_report_items *it, const struct rama_core_record *r);

/* name and mount columns of a record */
struct rama_report_place {
	const char *name; /* never NULL */
	const char *mount, *fs;
	bool named;
	char buf[160];
};
void rama_report_place_of(struct rama_report_place *c, const struct rama_log *log,
			  const struct rama_core_record *r);

#endif
