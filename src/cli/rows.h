/* SPDX-License-Identifier: BSD-3-Clause */
/* rows.h: rows that a store answers, as a table for people, CSV or JSON, as they come: memory
 * does not grow with their number. */
#ifndef RAMA_CLI_ROWS_H
#define RAMA_CLI_ROWS_H

#include "base/json.h"
#include "base/out.h"
#include "store/store.h"

enum rama_cli_rows_form { RAMA_CLI_ROWS_TEXT, RAMA_CLI_ROWS_CSV, RAMA_CLI_ROWS_JSON };

/* unit of a column: text, id (a number that is a name), when (ns since 1970), span (ns), record
 * (64 bits), or one of base/human.h; NULL: as it is */
struct rama_cli_rows {
	struct rama_out *out;
	enum rama_cli_rows_form form;
	unsigned n;
	char **name; /* NULL: not begun */
	const char *const *unit;
	struct rama_json json;
	uint64_t rows;
	/* the table: the first rows are kept until it is known how wide its columns are */
	char **cell;
	unsigned *width;
	bool *right;
	unsigned kept;
	bool laid_out;
};

/* Units must live as long as it does; they may be NULL. 0 or RAMA_EMEMORY; end in any case. */
int rama_cli_rows_begin(struct rama_cli_rows *r, unsigned n, const char *const *name,
			const char *const *unit);
int rama_cli_rows_add(struct rama_cli_rows *r, const struct rama_store_cell *cell);
void rama_cli_rows_end(struct rama_cli_rows *r);

/* one cell: CSV, quoted if it must be; JSON */
void rama_cli_cell_csv(struct rama_out *out, const struct rama_store_cell *c, const char *unit);
void rama_cli_cell_json(struct rama_json *j, const struct rama_store_cell *c, const char *unit);
/* as people read it: "-" for nothing */
#define RAMA_CLI_CELL_TEXT_MOST 400
void rama_cli_cell_shown(char to[RAMA_CLI_CELL_TEXT_MOST], const struct rama_store_cell *c,
			 const char *unit);

/* Standard output as something that is written as it comes. end: 0, or the exit status after the
 * reason was printed; a reader that has gone has seen enough. */
void rama_cli_stdout_begin(struct rama_out *out);
int rama_cli_stdout_end(struct rama_out *out);

#endif
