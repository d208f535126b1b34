/* SPDX-License-Identifier: BSD-3-Clause */
/* query_events.h: events of a store as rows, with names of files and hosts. */
#ifndef RAMA_CLI_QUERY_EVENTS_H
#define RAMA_CLI_QUERY_EVENTS_H

#include "cli/rows.h"

struct rama_query_events {
	struct rama_event_filter filter;
	const char *file; /* glob, NULL: all */
	uint64_t limit;	  /* of rows that are printed, 0: none */
	enum rama_rows_form form;
	bool more; /* set: there were more */
};

/* names: the same store once more, for what is looked up while events come */
int rama_query_events(struct rama_store *s, struct rama_store *names, struct rama_query_events *q,
		      struct rama_out *out, struct rama_err *e);

#endif
