/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/form/svg.h"

void rama_svg_rect(struct rama_out *o, double x, double y, double w, double h, const char *look)
{
	rama_out_fmt(o, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"%s%s/>", x, y, w,
		     h, *look != '\0' ? " " : "", look);
}

void rama_svg_text(struct rama_out *o, double x, double y, const char *look, const char *s,
		   enum rama_xml_odd odd)
{
	rama_out_fmt(o, "<text x=\"%.1f\" y=\"%.1f\"%s%s>", x, y, *look != '\0' ? " " : "", look);
	rama_xml_text(o, s, odd);
	rama_out_text(o, "</text>");
}
