/* SPDX-License-Identifier: BSD-3-Clause */
/* svg.h: the pieces of the picture; internal to svg*.c. */
#ifndef RAMA_REPORT_SVG_H
#define RAMA_REPORT_SVG_H

#include "base/err.h"
#include "report/form.h"

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

/* the sentence, in lines */
void rama_report_svg_verdict(struct rama_report_svg_page *g, const char *text);
/* at g->y; cut where it would be too long */
void rama_report_svg_line(struct rama_report_svg_page *g, double x, const char *text);

/* how elements of a class look in the light theme */
struct rama_report_svg_look {
	uint32_t colour;
	double size; /* of text */
	bool bold, stroke, faint;
};
struct rama_report_svg_look rama_report_svg_look(const char *class, size_t n);

/* The picture whose elements are in `body`, of that height; both: light or dark, as the reader has
 * it, and with a frame; else on white. SVG only has both. Frees `body`. */
void rama_report_svg_finish(struct rama_out *o, struct rama_out *body, double height,
			    const char *title, bool both, enum rama_report_file file);

/* Where the elements of a picture go to, one by one; pixels, y downwards. */
struct rama_report_canvas {
	void (*rect)(void *to, const struct rama_report_svg_look *l, double x, double y, double w,
		     double h);
	void (*begin)(void *to, const struct rama_report_svg_look *l); /* of a path */
	void (*point)(void *to, double x, double y, bool first);
	void (*ended)(void *to, const struct rama_report_svg_look *l);
	/* before: which share of it stands before x; as XML has it */
	void (*text)(void *to, const struct rama_report_svg_look *l, double x, double y,
		     double before, const char *at, const char *end);
	void *to;
};
void rama_report_drawn(const struct rama_report_canvas *c, const char *body, size_t n);

/* Elements as svg*.c write them, on a page of that size in pixels; `o` is empty. */
void rama_report_pdf(struct rama_out *o, const char *body, size_t n, double width, double height);
void rama_report_png(struct rama_out *o, const char *body, size_t n, double width, double height);
/* Can the system do it? RAMA_EIO: no. */
int rama_report_png_possible(struct rama_err *e);

/* diff/svg.c: as struct rama_report_form has them */
void rama_report_diff_svg(const struct rama_report_diff *d, struct rama_out *o,
			  const struct rama_report_ask *a);
void rama_report_diff_figure(const struct rama_report_diff *d, struct rama_out *o,
			     const struct rama_report_ask *a);
void rama_report_spread_svg(const struct rama_report_spread *s, struct rama_out *o,
			    const struct rama_report_ask *a);
void rama_report_spread_figure(const struct rama_report_spread *s, struct rama_out *o,
			       const struct rama_report_ask *a);

void rama_report_svg_timeline(struct rama_report_svg_page *g);

#endif
