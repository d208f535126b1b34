/* SPDX-License-Identifier: BSD-3-Clause */
/* page.h: a screen as data: pieces of text with a place and a style. Made without knowing
 * where it is shown: on a terminal by ncurses, or printed line by line. No text on it can do
 * anything to a terminal. */
#ifndef RAMA_LOOK_WATCH_PAGE_H
#define RAMA_LOOK_WATCH_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/out.h"

/* looks, not meanings alone: words say the same where there is no colour */
enum rama_look_style {
	RAMA_LOOK_STYLE_PLAIN,
	RAMA_LOOK_STYLE_BOLD,
	RAMA_LOOK_STYLE_DIM,
	RAMA_LOOK_STYLE_READ,
	RAMA_LOOK_STYLE_WRITE,
	RAMA_LOOK_STYLE_META,
	RAMA_LOOK_STYLE_GOOD,
	RAMA_LOOK_STYLE_WARN,
	RAMA_LOOK_STYLE_BAD,
	RAMA_LOOK_STYLE_HEAD, /* of a table */
	RAMA_LOOK_STYLES
};

struct rama_look_page_span {
	unsigned row, col;
	const char *text;
	enum rama_look_style style;
};

struct rama_look_page {
	unsigned width;
	unsigned height; /* 0: as many lines as it takes */
	bool utf8;
	unsigned row, col; /* where the next piece goes */
	bool dim;	   /* everything from now on is grey */
	int chosen;	   /* line that is marked; -1: none */
	struct rama_look_page_span *span;
	size_t n, room;
	struct rama_arena arena;
	struct rama_out out;
	bool failed; /* no memory: something is missing */
};

void rama_look_page_init(struct rama_look_page *p, unsigned width, unsigned height, bool utf8);
void rama_look_page_fini(struct rama_look_page *p);
/* columns of a text */
unsigned rama_look_page_columns(const struct rama_look_page *p, const char *text);
/* A text at the current column, cut in its middle if it is wider than `most` or than the line. */
void rama_look_page_put(struct rama_look_page *p, enum rama_look_style style, const char *text,
			unsigned most);
void rama_look_page_fmt(struct rama_look_page *p, enum rama_look_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* goes to a column; what stands there already stays */
void rama_look_page_to(struct rama_look_page *p, unsigned col);
/* a text that ends at column `end` */
void rama_look_page_right(struct rama_look_page *p, enum rama_look_style style, const char *text,
			  unsigned end);
void rama_look_page_line(struct rama_look_page *p);
/* one of two words: that for terminals with UTF-8, or that for others */
static inline const char *rama_look_page_word(const struct rama_look_page *p, const char *utf8,
					      const char *ascii)
{
	return p->utf8 ? utf8 : ascii;
}

/* all lines, with colour if wanted */
void rama_look_page_print(const struct rama_look_page *p, struct rama_out *o, bool colour);

#endif
