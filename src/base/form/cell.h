/* SPDX-License-Identifier: BSD-3-Clause */
/* cell.h: one value of a table, in each form. Its column says the unit:
 *
 *   text, id      as it is (id: a number that is a name)
 *   when          a time, ns since 1970           span     ns
 *   s             seconds, from a minute on as a duration
 *   seconds       always in seconds
 *   count, bytes, share, ...   as base/human.h names them
 *   NULL          not known: as it is */
#ifndef RAMA_BASE_FORM_CELL_H
#define RAMA_BASE_FORM_CELL_H

#include "base/json.h"

struct rama_cell {
	enum rama_cell_kind {
		RAMA_CELL_NONE,
		RAMA_CELL_TEXT,
		RAMA_CELL_BYTES, /* printed as hexadecimal digits */
		RAMA_CELL_ID,	 /* 64 bits, a string in JSON */
		RAMA_CELL_INT,
		RAMA_CELL_REAL,	  /* with as many digits as make it exact */
		RAMA_CELL_FIGURE, /* does not need all its digits: nine, or all if it is whole */
		RAMA_CELL_FLAG
	} kind;
	union {
		struct {
			const char *text; /* ends with NUL */
			size_t len;
		};
		uint64_t id;
		int64_t i;
		double f;
		bool flag;
	};
};

/* texts in quotes if they must be; nothing at all for NONE and numbers that are not finite */
void rama_cell_csv(struct rama_out *o, const struct rama_cell *c, const char *unit);
/* null for NONE and numbers that are not finite */
void rama_cell_json(struct rama_json *j, const struct rama_cell *c, const char *unit);
/* as people read it; `to`, or the text of the cell itself; "" for NONE */
#define RAMA_CELL_SHOWN 64
const char *rama_cell_text(char to[RAMA_CELL_SHOWN], const struct rama_cell *c, const char *unit);

/* a FIGURE; in JSON null if not finite */
void rama_cell_figure_csv(struct rama_out *o, double v);
void rama_cell_figure_json(struct rama_json *j, double v);
void rama_cell_key_figure(struct rama_json *j, const char *key, double v);

#endif
