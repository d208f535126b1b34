/* SPDX-License-Identifier: BSD-3-Clause */
/* list.h: a list of jobs at work. Inside query only. */
#ifndef RAMA_QUERY_LIST_H
#define RAMA_QUERY_LIST_H

#include "query/order.h"
#include "query/sql.h"

struct rama_query_entry {
	int64_t job;
	struct rama_store_cell key;
};

struct rama_query_list {
	struct rama_store *store;
	struct rama_query_jobs *q;
	struct rama_query_place after;
	struct rama_query_order *order;
	/* jobs that may meet the conditions */
	int64_t *few;
	size_t n_few;
	bool is_few;
	/* names that the glob matches */
	struct rama_store_cell *names;
	size_t n_names;
	bool by_name; /* else each row is compared */
	/* the page */
	struct rama_query_entry *entry;
	size_t n, room, want;
	rama_store_row_fn fn;
	void *ctx;
	const struct rama_store_cell *same; /* the key of what comes now; NULL: it is in the row */
	uint64_t given;
	bool enough; /* fn has said so */
};

/* " AND …" for each condition on the row j of jobs */
void rama_query_list_conditions(struct rama_query_sql *sql, const struct rama_query_list *l);
/* the names that the glob matches; by_name stays false if there are too many names to look at */
int rama_query_list_names(struct rama_query_list *l, struct rama_err *e);
/* Finds few jobs that may meet the conditions, if there are few; is_few says so. */
int rama_query_list_few(struct rama_query_list *l, struct rama_err *e);

#endif
