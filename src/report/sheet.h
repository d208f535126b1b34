/* SPDX-License-Identifier: BSD-3-Clause */
/* sheet.h: a paper of sentences and tables, made once and printed as text, Markdown, HTML or
 * CSV. For what compares jobs (diff, fleet); the report of one job has pictures and a page of
 * its own.
 *
 * A cell has a text for people and, if it is a number, the plain value for CSV. Texts are kept
 * as given: they must live as long as the paper; rama_report_paper_fmt() and its like keep them
 * in the paper's own memory. */
#ifndef RAMA_REPORT_SHEET_H
#define RAMA_REPORT_SHEET_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/out.h"
#include "base/text.h"

/* how a cell or a line is meant; told by word too, never by colour alone */
enum rama_report_tone {
	RAMA_REPORT_TONE_PLAIN,
	RAMA_REPORT_TONE_GOOD,
	RAMA_REPORT_TONE_WARN,
	RAMA_REPORT_TONE_BAD,
	RAMA_REPORT_TONE_DIM,
	RAMA_REPORT_TONE_BOLD,
	RAMA_REPORT_TONES
};

struct rama_report_sheet_cell {
	const char *text; /* NULL: nothing */
	double value;	  /* NAN: it is no number */
	enum rama_report_tone tone;
};

struct rama_report_sheet_column {
	const char *key;    /* of CSV and of scripts */
	const char *header; /* of people */
	const char *unit;   /* as rama_human_value() names them; NULL: text */
	bool wide;	    /* takes the room that is left; longer texts are cut in the middle */
	bool bar;	    /* pages draw its values as bars too */
	unsigned drop;	    /* left out first on narrow terminals, the highest first; 0: never */
};

struct rama_report_sheet {
	const char *key, *title; /* title NULL: the table alone, on terminals */
	const char *note;	 /* one line under it, or NULL */
	const char *none;	 /* said instead of an empty table; NULL: then it is not there */
	const struct rama_report_sheet_column *columns;
	unsigned n_columns;
	struct rama_report_sheet_cell *cells; /* n_rows x n_columns */
	size_t n_rows, room;
	unsigned more;	     /* rows that are not shown */
	bool more_uncounted; /* there are more of them than that */
	bool data;	     /* for CSV only: too long for people */
};

struct rama_report_line {
	const char *text;
	enum rama_report_tone tone;
};

#define RAMA_REPORT_PAPER_LINES 32
#define RAMA_REPORT_PAPER_SHEETS 24

struct rama_report_paper {
	struct rama_arena arena;
	const char *title; /* of the page */
	const char *verdict;
	enum rama_report_tone tone; /* of the verdict */
	struct rama_report_line head[RAMA_REPORT_PAPER_LINES], foot[RAMA_REPORT_PAPER_LINES];
	unsigned n_head, n_foot;
	struct rama_report_sheet sheets[RAMA_REPORT_PAPER_SHEETS];
	unsigned n_sheets;
	bool failed; /* out of memory; what is missing must not be printed as if it were all */
};

void rama_report_paper_fini(struct rama_report_paper *p);
const char *rama_report_paper_fmt(struct rama_report_paper *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* a copy that may be printed: control characters and bytes that are no UTF-8 are replaced */
const char *rama_report_paper_text(struct rama_report_paper *p, const char *s);
void rama_report_paper_head(struct rama_report_paper *p, enum rama_report_tone tone,
			    const char *text);
void rama_report_paper_foot(struct rama_report_paper *p, enum rama_report_tone tone,
			    const char *text);

/* the next one; key, title and columns are kept as given */
struct rama_report_sheet *rama_report_paper_sheet(struct rama_report_paper *p, const char *key,
						  const char *title,
						  const struct rama_report_sheet_column *columns,
						  unsigned n_columns);
/* n_columns empty cells; never NULL (without memory: cells nobody sees) */
struct rama_report_sheet_cell *rama_report_sheet_row(struct rama_report_paper *p,
						     struct rama_report_sheet *s);
const struct rama_report_sheet *rama_report_paper_find(const struct rama_report_paper *p,
						       const char *key);

/* cells of values, with the text that people read */
struct rama_report_sheet_cell rama_report_sheet_value(struct rama_report_paper *p, const char *unit,
						      double value);
struct rama_report_sheet_cell rama_report_sheet_text(const char *text);

/* " · 2 Mar 2022 19:52 UTC" of a time in seconds since 1970, "" if it is none */
#define RAMA_REPORT_DATE 64
const char *rama_report_date_text(char to[RAMA_REPORT_DATE], int64_t seconds);

struct rama_report_paper_style {
	unsigned width; /* columns of the terminal */
	bool colour;
	bool utf8;
};

void rama_report_paper_print(const struct rama_report_paper *p, struct rama_out *o,
			     const struct rama_report_paper_style *style);
void rama_report_paper_markdown(const struct rama_report_paper *p, struct rama_out *o);
void rama_report_paper_html(const struct rama_report_paper *p, struct rama_out *o);
void rama_report_sheet_csv(const struct rama_report_sheet *s, struct rama_out *o);

#endif
