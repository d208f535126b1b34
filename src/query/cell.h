/* SPDX-License-Identifier: BSD-3-Clause */
/* cell.h: rows of a store as cells of a table (base/form/cell.h). */
#ifndef RAMA_QUERY_CELL_H
#define RAMA_QUERY_CELL_H

#include "base/form/rows.h"
#include "store/store.h"

/* unit `record`: all 64 bits are the number */
struct rama_cell rama_query_cell(const struct rama_store_cell *c, const char *unit);
/* as rama_rows_add() */
int rama_query_rows_add(struct rama_rows *r, const struct rama_store_cell *cell);

#endif
