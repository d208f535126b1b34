/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/form/xml.h"

#include "base/form/pen.h"
#include "base/form/text.h"

/* NULL: it is no markup */
static const char *entity(char c)
{
	return c == '&'	  ? "&amp;"
	       : c == '<' ? "&lt;"
	       : c == '>' ? "&gt;"
	       : c == '"' ? "&quot;"
			  : NULL;
}

/* one character that is no markup; returns the bytes it takes of s */
static size_t put_other(struct rama_out *o, const char *s, enum rama_xml_odd odd)
{
	size_t n = odd == RAMA_XML_MARK ? rama_text_sound(s) : 1;

	if (odd == RAMA_XML_ASK)
		return rama_pen_char(o, s);
	if (n == 0)
		rama_out_text(o, RAMA_TEXT_MARK);
	else if (odd == RAMA_XML_BLANK && (unsigned char)*s < ' ')
		rama_out_char(o, ' ');
	else
		rama_out_bytes(o, s, n);
	return n > 0 ? n : 1;
}

void rama_xml_text(struct rama_out *o, const char *s, enum rama_xml_odd odd)
{
	while (*s != '\0') {
		const char *markup = entity(*s);

		if (markup == NULL) {
			s += put_other(o, s, odd);
			continue;
		}
		if (odd == RAMA_XML_BLANK)
			rama_out_fmt(o, "&#%d;", *s);
		else
			rama_out_text(o, markup);
		s++;
	}
}
