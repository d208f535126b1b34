/* SPDX-License-Identifier: BSD-3-Clause */
#include "look/watch/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/form/pen.h"

void rama_look_page_init(struct rama_look_page *p, unsigned width, unsigned height, bool utf8)
{
	*p = (struct rama_look_page){
		.width = width, .height = height, .utf8 = utf8, .chosen = -1
	};
	rama_out_init(&p->out, NULL, NULL);
}

void rama_look_page_fini(struct rama_look_page *p)
{
	free(p->span);
	rama_arena_fini(&p->arena);
	rama_out_fini(&p->out);
	*p = (struct rama_look_page){ 0 };
}

static struct rama_pen pen_of(const struct rama_look_page *p, struct rama_out *o)
{
	return (struct rama_pen){ .o = o, .width = p->width, .utf8 = p->utf8 };
}

unsigned rama_look_page_columns(const struct rama_look_page *p, const char *text)
{
	struct rama_pen pen = pen_of(p, NULL);

	return rama_pen_columns(&pen, text);
}

static void add(struct rama_look_page *p, enum rama_look_style style, const char *text, size_t n)
{
	char *copy = rama_arena_text(&p->arena, text, n);

	if (copy == NULL || !RAMA_GROW(p->span, p->room, p->n + 1)) {
		p->failed = true;
		return;
	}
	p->span[p->n++] = (struct rama_look_page_span){
		.row = p->row, .col = p->col, .text = copy, .style = style
	};
}

void rama_look_page_put(struct rama_look_page *p, enum rama_look_style style, const char *text,
			unsigned most)
{
	struct rama_pen pen = pen_of(p, &p->out);
	unsigned left = p->col < p->width ? p->width - p->col : 0;

	if (most > left)
		most = left;
	if (most == 0 || *text == '\0' || (p->height > 0 && p->row >= p->height))
		return;
	p->out.used = 0;
	rama_pen_cut(&pen, text, most);
	if (p->out.error != 0)
		p->failed = true;
	else
		add(p, p->dim && style != RAMA_LOOK_STYLE_HEAD ? RAMA_LOOK_STYLE_DIM : style,
		    p->out.buf, p->out.used);
	p->col += pen.column;
}

void rama_look_page_fmt(struct rama_look_page *p, enum rama_look_style style, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rama_look_page_put(p, style, text, p->width);
}

void rama_look_page_to(struct rama_look_page *p, unsigned col)
{
	p->col = col;
}

void rama_look_page_right(struct rama_look_page *p, enum rama_look_style style, const char *text,
			  unsigned end)
{
	unsigned n = rama_look_page_columns(p, text);

	p->col = n < end ? end - n : 0;
	rama_look_page_put(p, style, text, end - p->col);
}

void rama_look_page_line(struct rama_look_page *p)
{
	p->row++;
	p->col = 0;
}

/* ---- printing -------------------------------------------------------------------------------- */

static const char *const code[RAMA_LOOK_STYLES] = {
	[RAMA_LOOK_STYLE_PLAIN] = "",	      [RAMA_LOOK_STYLE_BOLD] = "1",
	[RAMA_LOOK_STYLE_DIM] = "2",	      [RAMA_LOOK_STYLE_READ] = "34",
	[RAMA_LOOK_STYLE_META] = "35",	      [RAMA_LOOK_STYLE_GOOD] = "32",
	[RAMA_LOOK_STYLE_WRITE] = "38;5;166", [RAMA_LOOK_STYLE_WARN] = "33",
	[RAMA_LOOK_STYLE_BAD] = "31",	      [RAMA_LOOK_STYLE_HEAD] = "1",
};

void rama_look_page_print(const struct rama_look_page *p, struct rama_out *o, bool colour)
{
	unsigned row = 0, col = 0;

	for (size_t i = 0; i < p->n; i++) {
		const struct rama_look_page_span *s = &p->span[i];
		bool styled = colour && code[s->style][0] != '\0';

		for (; row < s->row; row++, col = 0)
			rama_out_char(o, '\n');
		for (; col < s->col; col++)
			rama_out_char(o, ' ');
		if (styled)
			rama_out_fmt(o, "\033[%sm", code[s->style]);
		rama_out_text(o, s->text);
		if (styled)
			rama_out_text(o, "\033[0m");
		col += rama_look_page_columns(p, s->text);
	}
	for (; row < p->row; row++)
		rama_out_char(o, '\n');
}
