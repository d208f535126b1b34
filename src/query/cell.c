/* SPDX-License-Identifier: BSD-3-Clause */
#include "query/cell.h"

struct rama_cell rama_query_cell(const struct rama_store_cell *c, const char *unit)
{
	switch (c->type) {
	case RAMA_STORE_CELL_INT:
		if (unit != NULL && strcmp(unit, "record") == 0)
			return (struct rama_cell){ RAMA_CELL_ID, { .id = (uint64_t)c->i } };
		return (struct rama_cell){ RAMA_CELL_INT, { .i = c->i } };
	case RAMA_STORE_CELL_REAL:
		return (struct rama_cell){ RAMA_CELL_REAL, { .f = c->f } };
	case RAMA_STORE_CELL_TEXT:
		return (struct rama_cell){ RAMA_CELL_TEXT, { { c->text, c->len } } };
	case RAMA_STORE_CELL_BYTES:
		return (struct rama_cell){ RAMA_CELL_BYTES, { { c->text, c->len } } };
	default:
		return (struct rama_cell){ .kind = RAMA_CELL_NONE };
	}
}

int rama_query_rows_add(struct rama_rows *r, const struct rama_store_cell *cell)
{
	for (unsigned i = 0; i < r->n; i++)
		r->cell[i] = rama_query_cell(&cell[i], r->unit != NULL ? r->unit[i] : NULL);
	return rama_rows_add(r, r->cell);
}
