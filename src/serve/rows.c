/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.c: rows of a store as JSON or CSV of an answer. */
#include <stdlib.h>
#include <string.h>

#include "query/cell.h"
#include "serve/call.h"

int rama_serve_rows_begin(struct rama_serve_rows *r, struct rama_serve_call *c,
			  const struct rama_query_columns *columns)
{
	*r = (struct rama_serve_rows){ .call = c, .rows = { .out = &c->out, .form = c->form } };
	return rama_rows_begin(&r->rows, columns->n, columns->name, columns->unit);
}

/* Programs for tables take a text that begins so for a formula. */
static bool is_formula(const struct rama_store_cell *c)
{
	return c->type == RAMA_STORE_CELL_TEXT && c->len > 0 &&
	       memchr("=+-@\t\r", c->text[0], 6) != NULL;
}

static int add_quoted(struct rama_rows *rows, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_store_cell *cell = calloc(rows->n, sizeof(*cell));
	char **text = calloc(rows->n, sizeof(*text));
	int rc = cell != NULL && text != NULL ? 0 : rama_err_no_memory(e);

	for (unsigned i = 0; rc == 0 && i < rows->n; i++) {
		cell[i] = row->cell[i];
		if (!is_formula(&cell[i]))
			continue;
		text[i] = malloc(cell[i].len + 2);
		if (text[i] == NULL) {
			rc = rama_err_no_memory(e);
			break;
		}
		text[i][0] = '\'';
		memcpy(text[i] + 1, cell[i].text, cell[i].len + 1);
		cell[i].text = text[i];
		cell[i].len++;
	}
	if (rc == 0)
		rc = rama_query_rows_add(rows, cell);
	for (unsigned i = 0; text != NULL && i < rows->n; i++)
		free(text[i]);
	free(text);
	free(cell);
	return rc;
}

int rama_serve_rows_add(void *ctx, const struct rama_store_row *row, struct rama_err *e)
{
	struct rama_serve_rows *r = ctx;

	for (unsigned i = 0; r->rows.form == RAMA_ROWS_CSV && i < r->rows.n; i++)
		if (is_formula(&row->cell[i]))
			return add_quoted(&r->rows, row, e);
	return rama_query_rows_add(&r->rows, row->cell);
}

void rama_serve_rows_end(struct rama_serve_rows *r, int rc, const struct rama_err *e)
{
	rama_rows_end(&r->rows);
	if (rc < 0)
		rama_serve_call_err(r->call, e);
}
