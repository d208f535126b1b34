/* SPDX-License-Identifier: BSD-3-Clause */
/* pdf.c: a picture of ours as a page of PDF. Fonts are Helvetica and Helvetica-Bold, which every
 * reader has. */
#include <string.h>

#include "report/svg.h"

/* widths of Helvetica, thousandths of its size, from the blank on */
static const uint16_t wide[] = { 278, 278, 355, 556, 556, 889, 667, 191, 333,  333, 389, 584,
				 278, 333, 278, 278, 556, 556, 556, 556, 556,  556, 556, 556,
				 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722,
				 722, 667, 611, 778, 722, 278, 500, 667, 556,  833, 722, 778,
				 667, 778, 722, 667, 611, 722, 667, 944, 667,  667, 611, 278,
				 278, 278, 469, 556, 333, 556, 556, 500, 556,  556, 278, 556,
				 556, 222, 222, 500, 222, 833, 556, 556, 556,  556, 333, 500,
				 278, 556, 500, 722, 500, 500, 500, 334, 260,  334, 584 };

struct drawing {
	struct rama_out *o;
	double height;
};

/* ---- elements -------------------------------------------------------------------------------- */

static void put_colour(struct drawing *d, uint32_t rgb, const char *how)
{
	rama_out_fmt(d->o, "%.3f %.3f %.3f %s\n", (rgb >> 16 & 255) / 255.0,
		     (rgb >> 8 & 255) / 255.0, (rgb & 255) / 255.0, how);
}

/* y upwards */
static void put_rect(void *to, const struct rama_report_svg_look *l, double x, double y, double w,
		     double h)
{
	struct drawing *d = to;

	if (l->faint)
		rama_out_text(d->o, "/faint gs\n");
	put_colour(d, l->colour, "rg");
	rama_out_fmt(d->o, "%.2f %.2f %.2f %.2f re f\n", x, d->height - y - h, w, h);
	if (l->faint)
		rama_out_text(d->o, "/plain gs\n");
}

static void put_point(void *to, double x, double y, bool first)
{
	struct drawing *d = to;

	rama_out_fmt(d->o, "%.2f %.2f %c\n", x, d->height - y, first ? 'm' : 'l');
}

/* colours stand before the first point of a path */
static void begin_path(void *to, const struct rama_report_svg_look *l)
{
	put_colour(to, l->colour, l->stroke ? "RG" : "rg");
}

static void end_path(void *to, const struct rama_report_svg_look *l)
{
	rama_out_text(((struct drawing *)to)->o, l->stroke ? "S\n" : "h f\n");
}

/* The next character of a text as WinAnsi has it; others become a question mark. */
static unsigned character(const char **at, const char *end)
{
	static const struct {
		const char *text;
		unsigned is;
	} known[] = { { "&amp;", '&' },		{ "&lt;", '<' },	  { "&gt;", '>' },
		      { "&quot;", '"' },	{ "&#39;", '\'' },	  { "\xe2\x80\xa6", 0x85 },
		      { "\xe2\x80\x93", 0x96 }, { "\xe2\x80\x94", 0x97 }, { "\xe2\x80\xb9", 0x8b },
		      { "\xe2\x80\xba", 0x9b }, { "\xe2\x88\x92", 0x96 } };
	unsigned char c = (unsigned char)**at;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i].text);

		if ((size_t)(end - *at) >= n && memcmp(*at, known[i].text, n) == 0) {
			*at += n;
			return known[i].is;
		}
	}
	(*at)++;
	if (c < 0x80)
		return c;
	if ((c == 0xc2 || c == 0xc3) && *at < end) /* Latin-1 */
		return ((unsigned)(c & 3) << 6) | ((unsigned char)*(*at)++ & 0x3f);
	while (*at < end && ((unsigned char)**at & 0xc0) == 0x80)
		(*at)++;
	return '?';
}

static double width_of(const char *at, const char *end)
{
	double sum = 0;

	while (at < end) {
		unsigned c = character(&at, end);

		sum += c >= ' ' && c < 0x7f ? wide[c - ' '] : 556;
	}
	return sum / 1000;
}

static void put_text(void *to, const struct rama_report_svg_look *l, double x, double y,
		     double before, const char *p, const char *end)
{
	struct drawing *d = to;

	x -= before * width_of(p, end) * l->size * (l->bold ? 1.06 : 1);
	put_colour(d, l->colour, "rg");
	rama_out_fmt(d->o, "BT /%s %d Tf %.2f %.2f Td (", l->bold ? "bold" : "plain", (int)l->size,
		     x, d->height - y);
	while (p < end) {
		unsigned c = character(&p, end);

		if (c == '(' || c == ')' || c == '\\')
			rama_out_char(d->o, '\\');
		rama_out_char(d->o, (char)c);
	}
	rama_out_text(d->o, ") Tj ET\n");
}

/* ---- the file -------------------------------------------------------------------------------- */

void rama_report_pdf(struct rama_out *o, const char *body, size_t n, double width, double height)
{
	struct rama_out page;
	struct drawing d = { .o = &page, .height = height };
	const struct rama_report_canvas c = { put_rect, begin_path, put_point,
					      end_path, put_text,   &d };
	size_t at[8] = { 0 }, xref;
	const double unit =
		0.6; /* points of a pixel: 1,000 pixels are the width of a page of paper */

	rama_out_init(&page, NULL, NULL);
	rama_out_fmt(&page, "%g 0 0 %g 0 0 cm 1 w\n", unit, unit);
	rama_report_drawn(&c, body, n);
	rama_out_text(o, "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n");
#define OBJECT(k, ...)                            \
	do {                                      \
		at[k] = o->used;                  \
		rama_out_fmt(o, "%d 0 obj\n", k); \
		rama_out_fmt(o, __VA_ARGS__);     \
		rama_out_text(o, "\nendobj\n");   \
	} while (0)
	OBJECT(1, "<< /Type /Catalog /Pages 2 0 R >>");
	OBJECT(2, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>");
	OBJECT(3,
	       "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %.1f %.1f] /Contents 4 0 R /Resources "
	       "<< "
	       "/Font << /plain 5 0 R /bold 6 0 R >> /ExtGState << /faint << /ca 0.12 >> /plain << "
	       "/ca "
	       "1 >> >> >> >>",
	       unit * width, unit * height);
	at[4] = o->used;
	rama_out_fmt(o, "4 0 obj\n<< /Length %zu >>\nstream\n", page.used);
	rama_out_bytes(o, page.buf, page.used);
	rama_out_text(o, "endstream\nendobj\n");
	OBJECT(5,
	       "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>");
	OBJECT(6, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding "
		  "/WinAnsiEncoding >>");
	OBJECT(7, "<< /Producer (iorama " IORAMA_BUILD_VERSION ") >>");
#undef OBJECT
	xref = o->used;
	rama_out_text(o, "xref\n0 8\n0000000000 65535 f \n");
	for (unsigned i = 1; i < 8; i++)
		rama_out_fmt(o, "%010zu 00000 n \n", at[i]);
	rama_out_fmt(o, "trailer\n<< /Size 8 /Root 1 0 R /Info 7 0 R >>\nstartxref\n%zu\n%%%%EOF\n",
		     xref);
	if (page.error != 0 && o->error == 0)
		o->error = page.error;
	rama_out_fini(&page);
}
