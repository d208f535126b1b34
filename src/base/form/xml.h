/* SPDX-License-Identifier: BSD-3-Clause */
/* xml.h: texts inside XML and HTML, between tags and in attributes. */
#ifndef RAMA_BASE_FORM_XML_H
#define RAMA_BASE_FORM_XML_H

#include "base/out.h"

/* what becomes of characters that may not be shown */
enum rama_xml_odd {
	RAMA_XML_KEEP, /* nothing: the text was made harmless before */
	RAMA_XML_ASK,  /* '?', as on terminals (base/form/pen.h) */
	RAMA_XML_MARK, /* U+FFFD (base/form/text.h) */
	/* control characters are blanks; what would be markup is told by its number, as pictures of
	 * `emulate` always had it */
	RAMA_XML_BLANK,
};

void rama_xml_text(struct rama_out *o, const char *s, enum rama_xml_odd odd);

#endif
