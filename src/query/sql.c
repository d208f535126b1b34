/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/sql.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void rama_query_sql_init(struct rama_query_sql *q)
{
	*q = (struct rama_query_sql){ 0 };
	rama_out_init(&q->text, NULL, NULL);
}

void rama_query_sql_fini(struct rama_query_sql *q)
{
	rama_out_fini(&q->text);
	free(q->args);
	*q = (struct rama_query_sql){ 0 };
}

static void add_arg(struct rama_query_sql *q, const struct rama_store_cell *cell)
{
	if (!RAMA_GROW(q->args, q->room, q->n + 1)) {
		q->text.error = RAMA_EMEMORY;
		return;
	}
	q->args[q->n++] = *cell;
	rama_out_char(&q->text, '$');
	rama_out_u64(&q->text, q->n);
}

void rama_query_sql_add(struct rama_query_sql *q, const char *text,
			const struct rama_store_cell *cells)
{
	for (size_t n; *text != '\0'; text += n + (text[n] == '?')) {
		n = strcspn(text, "?");
		rama_out_bytes(&q->text, text, n);
		if (text[n] == '?')
			add_arg(q, cells++);
	}
}

void rama_query_sql_number(struct rama_query_sql *q, int64_t v)
{
	rama_out_i64(&q->text, v);
}

int rama_query_sql_run(struct rama_query_sql *q, struct rama_store *s, rama_store_row_fn fn,
		       void *ctx, struct rama_err *e)
{
	int rc;

	rama_out_char(&q->text, '\0');
	if (q->text.error != 0)
		return rama_err_set(e, q->text.error, "out of memory");
	rc = rama_store_select(s, q->text.buf, q->args, q->n, fn, ctx, e);
	return rc > 0 ? 0 : rc;
}

struct rama_store_cell rama_query_cell_int(int64_t v)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_INT, .i = v };
}

struct rama_store_cell rama_query_cell_real(double v)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_REAL, .f = v };
}

struct rama_store_cell rama_query_cell_text(const char *s)
{
	return (struct rama_store_cell){ .type = RAMA_STORE_CELL_TEXT,
					 .text = s,
					 .len = strlen(s) };
}
