/* SPDX-License-Identifier: BSD-3-Clause */
/* drawn.c: a picture of ours read again, for other kinds of files than SVG: what svg*.c and
 * diff/svg.c write, which are rectangles, paths of straight lines, texts and groups that are moved
 * and scaled, and nothing else: what is not known is left out. Colours are those of the light
 * theme. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/svg.h"

struct reading {
	const struct rama_report_canvas *c;
	double x, y, sx, sy; /* of the group */
};

/* ---- attributes ------------------------------------------------------------------------------ */

/* of an element that ends at `end`: the value of name="…", its length in *n; NULL: there is none */
static const char *attribute(const char *at, const char *end, const char *name, size_t *n)
{
	size_t len = strlen(name);

	for (; at + len + 2 < end; at++) {
		const char *stop;

		if (*at != ' ' || memcmp(at + 1, name, len) != 0 || at[1 + len] != '=' ||
		    at[2 + len] != '"')
			continue;
		at += len + 3;
		stop = memchr(at, '"', (size_t)(end - at));
		*n = stop != NULL ? (size_t)(stop - at) : 0;
		return stop != NULL ? at : NULL;
	}
	return NULL;
}

static double number(const char *at, const char *end, const char *name)
{
	size_t n;
	const char *v = attribute(at, end, name, &n);

	return v != NULL ? strtod(v, NULL) : 0;
}

static bool is(const char *value, size_t n, const char *word)
{
	return value != NULL && strlen(word) == n && memcmp(value, word, n) == 0;
}

static struct rama_report_svg_look look_of(const char *at, const char *end)
{
	size_t n;
	const char *class = attribute(at, end, "class", &n);

	return rama_report_svg_look(class != NULL ? class : "", class != NULL ? n : 0);
}

/* ---- elements -------------------------------------------------------------------------------- */

static void take_rect(const struct reading *r, const char *at, const char *end)
{
	struct rama_report_svg_look l = look_of(at, end);

	r->c->rect(r->c->to, &l, number(at, end, "x"), number(at, end, "y"),
		   number(at, end, "width"), number(at, end, "height"));
}

/* runs of cells, which the picture has as strokes one cell high */
static void take_cells(const struct reading *r, const struct rama_report_svg_look *l,
		       const char *at, const char *end)
{
	while (at < end && *at == 'M') {
		char *next;
		double x = strtod(at + 1, &next), y = strtod(next, &next), w = 0;

		if (*next == 'h')
			w = strtod(next + 1, &next);
		/* a little wider, so that no reader shows a gap between neighbours */
		r->c->rect(r->c->to, l, r->x + r->sx * x, r->y + r->sy * (y - 0.5),
			   r->sx * w + 0.25, r->sy);
		if (next <= at)
			return;
		at = next;
	}
}

static void take_path(const struct reading *r, const char *at, const char *end)
{
	struct rama_report_svg_look l = look_of(at, end);
	size_t n;
	const char *p = attribute(at, end, "d", &n), *stop = p + n;
	double x = 0, y = 0;

	if (p == NULL)
		return;
	if (r->sx != 1 || r->sy != 1) {
		take_cells(r, &l, p, stop);
		return;
	}
	r->c->begin(r->c->to, &l);
	while (p < stop) {
		char what = *p++, *next = (char *)p;
		double v = what != 'z' ? strtod(p, &next) : 0;

		if (what == 'M') {
			x = v;
			y = strtod(next, &next);
		} else if (what == 'H' || what == 'h') {
			x = what == 'H' ? v : x + v;
		} else if (what == 'V' || what == 'v') {
			y = what == 'V' ? v : y + v;
		}
		if (strchr("MHhVv", what) != NULL)
			r->c->point(r->c->to, r->x + x, r->y + y, what == 'M');
		p = next;
	}
	r->c->ended(r->c->to, &l);
}

/* from behind its tag to its end */
static void take_text(const struct reading *r, const char *at, const char *end, const char *close)
{
	struct rama_report_svg_look l = look_of(at, end);
	size_t n;
	const char *anchor = attribute(at, end, "text-anchor", &n);
	double before = is(anchor, n, "end") ? 1 : is(anchor, n, "middle") ? 0.5 : 0;

	r->c->text(r->c->to, &l, number(at, end, "x"), number(at, end, "y"), before, end + 1,
		   close);
}

static void take_group(struct reading *r, const char *at, const char *end)
{
	size_t n;
	const char *t = attribute(at, end, "transform", &n);

	r->x = r->y = 0;
	r->sx = r->sy = 1;
	if (t != NULL &&
	    sscanf(t, "translate(%lf %lf) scale(%lf %lf)", &r->x, &r->y, &r->sx, &r->sy) != 4)
		r->sx = r->sy = 1;
}

void rama_report_drawn(const struct rama_report_canvas *c, const char *body, size_t n)
{
	struct reading r = { .c = c, .sx = 1, .sy = 1 };
	const char *at = body, *end = body + n, *tag;

	while (at < end && (tag = memchr(at, '<', (size_t)(end - at))) != NULL) {
		const char *close = memchr(tag, '>', (size_t)(end - tag));

		if (close == NULL)
			return;
		at = close + 1;
		if (strncmp(tag, "<rect ", 6) == 0) {
			take_rect(&r, tag, close);
		} else if (strncmp(tag, "<path ", 6) == 0) {
			take_path(&r, tag, close);
		} else if (strncmp(tag, "<text ", 6) == 0) {
			const char *stop = memchr(at, '<', (size_t)(end - at));

			if (stop != NULL)
				take_text(&r, tag, close, stop);
		} else if (strncmp(tag, "<g ", 3) == 0) {
			take_group(&r, tag, close);
		} else if (strncmp(tag, "</g", 3) == 0) {
			take_group(&r, tag, tag);
		}
	}
}
