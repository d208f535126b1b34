/* SPDX-License-Identifier: BSD-3-Clause */
/* pen.h: writes lines of text for a terminal of some width. Whatever is put on it comes from
 * logs, too, and may not do anything to the terminal: control characters and what turns the
 * direction of text become '?'. */
#ifndef RAMA_BASE_FORM_PEN_H
#define RAMA_BASE_FORM_PEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/out.h"

struct rama_pen {
	struct rama_out *o;
	unsigned width;	 /* columns */
	unsigned column; /* where the next character goes */
	bool colour, utf8;
};

/* The character at s, or '?' if it may not be shown or is no UTF-8; returns the bytes it takes
 * of s. For forms that are no terminals. */
size_t rama_pen_char(struct rama_out *o, const char *s);

/* columns that a text takes */
unsigned rama_pen_columns(const struct rama_pen *p, const char *s);
void rama_pen_text(struct rama_pen *p, const char *s);
void rama_pen_fmt(struct rama_pen *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* n bytes of a line of program text: as it is, but for characters that may not be shown; tabs
 * become spaces */
void rama_pen_code(struct rama_pen *p, const char *s, size_t n);
/* a text, or if it is wider than `most` its beginning and its end */
void rama_pen_cut(struct rama_pen *p, const char *s, unsigned most);
/* spaces up to a column; none if it is behind already */
void rama_pen_to(struct rama_pen *p, unsigned column);
/* ends at column `end` */
void rama_pen_right(struct rama_pen *p, const char *s, unsigned end);
void rama_pen_line(struct rama_pen *p);
/* "1;31": bold red, until rama_pen_plain */
void rama_pen_style(struct rama_pen *p, const char *code);
void rama_pen_plain(struct rama_pen *p);
/* Text over as many lines as it needs, between columns `left` and `right`, the first at the
 * current column. Breaks at spaces, but never between a number and its unit; a word that is
 * wider than a line is broken. Ends without a line end. */
void rama_pen_wrap(struct rama_pen *p, const char *s, unsigned left, unsigned right);
/* The same for text that goes on after a space, on the next line if its first word does not fit. */
void rama_pen_more(struct rama_pen *p, const char *s, unsigned left, unsigned right);
/* The same with a short text at the right end of the first line, beyond `right`. */
void rama_pen_wrap_beside(struct rama_pen *p, const char *s, unsigned left, unsigned right,
			  const char *beside);

#endif
