/* SPDX-License-Identifier: BSD-3-Clause */
/* svg.h: elements of pictures. Coordinates have one decimal, which is less than anybody sees.
 * look: attributes as they are written, class="bar" or fill="#fff" rx="2"; may be "". */
#ifndef RAMA_BASE_FORM_SVG_H
#define RAMA_BASE_FORM_SVG_H

#include "base/form/xml.h"

void rama_svg_rect(struct rama_out *o, double x, double y, double w, double h, const char *look);
void rama_svg_text(struct rama_out *o, double x, double y, const char *look, const char *s,
		   enum rama_xml_odd odd);

#endif
