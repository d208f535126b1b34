/* SPDX-License-Identifier: BSD-3-Clause */
/* svg_parts.h: the pieces of the picture; internal to svg*.c. */
#ifndef RAMA_REPORT_SVG_PARTS_H
#define RAMA_REPORT_SVG_PARTS_H

#include "report/svg.h"

#define SVG_WIDTH 1000
#define SVG_LEFT 20
#define SVG_RIGHT 980
#define SVG_LEVELS 16 /* of the heat map's ramp */

struct svg {
	struct rama_out *o;
	const struct rama_view *v;
	const struct rama_diagnosis *d;
	double y; /* what is above is taken */
};

/* characters that would be markup, or that XML does not allow, do no harm */
void rama_svg_escape(struct rama_out *o, const char *s);
/* class: of the style in svg.c; anchor: start, middle or end */
void rama_svg_text(struct svg *g, double x, double y, const char *class, const char *anchor,
		   const char *s);
void rama_svg_rect(struct svg *g, double x, double y, double w, double h, const char *class);
/* a heading, and a line that says how to read what follows */
void rama_svg_title(struct svg *g, const char *title, const char *note);

void rama_svg_timeline(struct svg *g);
void rama_svg_sizes(struct svg *g);

#endif
