/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.h: rows as a table for people, CSV or JSON, as they come: memory does not grow with their
 * number. */
#ifndef RAMA_BASE_FORM_ROWS_H
#define RAMA_BASE_FORM_ROWS_H

#include "base/arena.h"
#include "base/form/cell.h"
#include "base/form/grid.h"

enum rama_rows_form { RAMA_ROWS_TEXT, RAMA_ROWS_CSV, RAMA_ROWS_JSON };

struct rama_rows {
	struct rama_out *out;
	enum rama_rows_form form;
	unsigned n;
	char **name; /* NULL: not begun */
	const char *const *unit;
	struct rama_cell *cell; /* n of them, for whoever has to make them */
	struct rama_json json;
	uint64_t rows;
	/* the table: the first rows are kept until it is known how wide its columns are */
	struct rama_grid kept;
	struct rama_arena arena;
	unsigned *width;
	bool *right;
	bool laid_out;
};

/* Units (base/form/cell.h) must live as long as it does; they may be NULL. 0 or RAMA_EMEMORY;
 * end in any case. */
int rama_rows_begin(struct rama_rows *r, unsigned n, const char *const *name,
		    const char *const *unit);
int rama_rows_add(struct rama_rows *r, const struct rama_cell *cell);
void rama_rows_end(struct rama_rows *r);

#endif
