/* SPDX-License-Identifier: BSD-3-Clause */
/* events.h: events of a store as rows, with names of files and hosts. */
#ifndef RAMA_QUERY_EVENTS_H
#define RAMA_QUERY_EVENTS_H

#include "store/store.h"

/* the columns of a row, as store/events.def has them */
enum rama_query_event_column {
#define EVENT(id, ...) RAMA_QUERY_EVENT_##id,
#include "store/events.def"
	RAMA_QUERY_EVENT_COLUMNS
};
extern const char *const rama_query_event_name[RAMA_QUERY_EVENT_COLUMNS];
/* id, record, text; NULL: a number as it is */
extern const char *const rama_query_event_unit[RAMA_QUERY_EVENT_COLUMNS];

struct rama_query_events {
	struct rama_store_event_filter filter;
	const char *file; /* glob, NULL: all */
	uint64_t limit;	  /* of rows, 0: none */
	bool no_hosts;	  /* the column `host` is not wanted */
	bool more;	  /* set: there were more */
};

/* names: the same store once more, for what is looked up while events come. RAMA_EMISSING: no
 * file matches. */
int rama_query_events_list(struct rama_store *s, struct rama_store *names,
			   struct rama_query_events *q, rama_store_row_fn fn, void *ctx,
			   struct rama_err *e);

#endif
