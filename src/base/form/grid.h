/* SPDX-License-Identifier: BSD-3-Clause */
/* grid.h: a table, made once and printed as text, CSV, Markdown or HTML.
 *
 * A cell has a text for people and, if it is a number, the plain value for CSV. Texts are kept as
 * given: they must live as long as the grid, and may be printed as they are. Rows that come one by
 * one and are too many to be kept are base/form/rows.h. */
#ifndef RAMA_BASE_FORM_GRID_H
#define RAMA_BASE_FORM_GRID_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/out.h"

/* how a cell or a line is meant; told by word too, never by colour alone */
enum rama_tone {
	RAMA_TONE_PLAIN,
	RAMA_TONE_GOOD,
	RAMA_TONE_WARN,
	RAMA_TONE_BAD,
	RAMA_TONE_DIM,
	RAMA_TONE_BOLD,
	RAMA_TONES
};
extern const char *const rama_tone_class[RAMA_TONES]; /* in HTML */

struct rama_grid_cell {
	const char *text; /* NULL: nothing */
	double value;	  /* NAN: it is no number */
	enum rama_tone tone;
};

struct rama_grid_column {
	const char *key;    /* of CSV and of scripts */
	const char *header; /* of people */
	const char *unit;   /* as rama_human_value() names them; NULL: text, on the left */
	bool wide;	    /* takes the room that is left; longer texts are cut in the middle */
	bool bar;	    /* pages draw its values as bars too */
	unsigned drop;	    /* left out first on narrow terminals, the highest first; 0: never */
};

struct rama_grid {
	const char *key, *title; /* title NULL: the table alone, on terminals */
	const char *note;	 /* one line under it, or NULL */
	const char *none;	 /* said instead of an empty table; NULL: then it is not there */
	const struct rama_grid_column *columns;
	unsigned n_columns;
	struct rama_grid_cell *cells; /* n_rows x n_columns */
	size_t n_rows, room;	      /* room: of cells */
	unsigned more;		      /* rows that are not shown */
	bool more_uncounted;	      /* there are more of them than that */
	bool data;		      /* for CSV only: too long for people */
};

/* n_columns empty cells of a new row; NULL: out of memory */
struct rama_grid_cell *rama_grid_row(struct rama_grid *g);
/* leaves columns out; `columns`: the array of the grid's columns, which is the caller's */
void rama_grid_keep(struct rama_grid *g, struct rama_grid_column *columns, const bool *keep);
void rama_grid_fini(struct rama_grid *g);
/* a cell that is no number */
static inline struct rama_grid_cell rama_grid_text_cell(const char *text)
{
	return (struct rama_grid_cell){ .text = text, .value = NAN };
}

/* ---- text ------------------------------------------------------------------------------------ */

struct rama_grid_style {
	unsigned width; /* columns of the terminal */
	bool colour;
	bool utf8;
	/* Texts go through a pen (base/form/pen.h): for those that were not made harmless before.
	 * Wide characters take two columns, and all cells of a row are written, also empty ones. */
	bool pen;
};

#define RAMA_GRID_COLUMNS 32 /* of a table on a terminal */
struct rama_grid_layout {
	unsigned n;
	unsigned width[RAMA_GRID_COLUMNS];
	bool shown[RAMA_GRID_COLUMNS];
};
/* How wide columns are, and which there is room for. good: names that are cut stay at least as
 * long as this as long as a column can go instead. */
void rama_grid_fit(struct rama_grid_layout *l, const struct rama_grid *g,
		   const struct rama_grid_style *style, unsigned good);
/* one line; row NULL: the headers */
void rama_grid_put_row(struct rama_out *o, const struct rama_grid *g,
		       const struct rama_grid_layout *l, const struct rama_grid_style *style,
		       const struct rama_grid_cell *row);
/* A sentence, wrapped between words; the line is filled up to `at` already, further ones are
 * indented. */
void rama_grid_put_line(struct rama_out *o, const struct rama_grid_style *style, const char *s,
			enum rama_tone tone, unsigned at, unsigned indent);
/* title, headers, rows, what is left out, note */
void rama_grid_text(struct rama_out *o, const struct rama_grid *g,
		    const struct rama_grid_style *style);

/* ---- other forms ----------------------------------------------------------------------------- */

void rama_grid_csv(struct rama_out *o, const struct rama_grid *g);
/* mark: writes a text that may hold characters that mean something there */
typedef void rama_grid_mark(struct rama_out *o, const char *s);
/* headers and rows only */
void rama_grid_markdown(struct rama_out *o, const struct rama_grid *g, rama_grid_mark *mark);
/* <table>, with the values in data-v for scripts that sort it */
void rama_grid_html(struct rama_out *o, const struct rama_grid *g);

#endif
