/* SPDX-License-Identifier: BSD-3-Clause */
/* sql.h: a statement that is put together from pieces, and the values of its places. Inside
 * query only. */
#ifndef RAMA_QUERY_SQL_H
#define RAMA_QUERY_SQL_H

#include "base/out.h"
#include "store/store.h"

struct rama_query_sql {
	struct rama_out text;
	struct rama_store_cell *args;
	unsigned n;
	size_t room;
};

void rama_query_sql_init(struct rama_query_sql *q);
void rama_query_sql_fini(struct rama_query_sql *q);
/* Each '?' of the text becomes a place that takes the next of the cells; they must outlive the
 * statement. */
void rama_query_sql_add(struct rama_query_sql *q, const char *text,
			const struct rama_store_cell *cells);
void rama_query_sql_number(struct rama_query_sql *q, int64_t v);
/* 0 also when fn had enough */
int rama_query_sql_run(struct rama_query_sql *q, struct rama_store *s, rama_store_row_fn fn,
		       void *ctx, struct rama_err *e);

struct rama_store_cell rama_query_cell_int(int64_t v);
struct rama_store_cell rama_query_cell_real(double v);
struct rama_store_cell rama_query_cell_text(const char *s);

#endif
