/* SPDX-License-Identifier: BSD-3-Clause */
/* svg.h: the pieces of the picture; internal to svg*.c. */
#ifndef RAMA_REPORT_SVG_H
#define RAMA_REPORT_SVG_H

#include "report/report.h"

#define RAMA_REPORT_SVG_WIDTH 1000
#define RAMA_REPORT_SVG_LEFT 20
#define RAMA_REPORT_SVG_RIGHT 980
#define RAMA_REPORT_SVG_LEVELS 16 /* of the heat map's ramp */

struct rama_report_svg_page {
	struct rama_out *o;
	const struct rama_job_view *v;
	const struct rama_diag *d;
	double y; /* what is above is taken */
};

/* class: of the style in svg.c; anchor: start, middle or end */
void rama_report_svg_text(struct rama_report_svg_page *g, double x, double y, const char *class,
			  const char *anchor, const char *s);
void rama_report_svg_rect(struct rama_report_svg_page *g, double x, double y, double w, double h,
			  const char *class);
/* a heading, and a line that says how to read what follows */
void rama_report_svg_title(struct rama_report_svg_page *g, const char *title, const char *note);

void rama_report_svg_timeline(struct rama_report_svg_page *g);

#endif
