/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/form/svg.h"

static void is_written(const char *s, enum rama_xml_odd odd, const char *want)
{
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	rama_xml_text(&o, s, odd);
	rama_out_char(&o, '\0');
	assert_string_equal(o.buf, want);
	rama_out_fini(&o);
}

static void markup_is_text(void **st)
{
	static const char all[] = "<a b=\"c\">&amp;'</a>";
	static const char named[] = "&lt;a b=&quot;c&quot;&gt;&amp;amp;'&lt;/a&gt;";

	(void)st;
	is_written(all, RAMA_XML_KEEP, named);
	is_written(all, RAMA_XML_ASK, named);
	is_written(all, RAMA_XML_MARK, named);
	is_written(all, RAMA_XML_BLANK, "&#60;a b=&#34;c&#34;&#62;&#38;amp;'&#60;/a&#62;");
}

static void odd_characters_are_replaced(void **st)
{
	static const char odd[] = "é\033[1m\xff.";

	(void)st;
	is_written(odd, RAMA_XML_KEEP, odd);
	is_written(odd, RAMA_XML_ASK, "é?[1m?.");
	is_written(odd, RAMA_XML_MARK, "é\xef\xbf\xbd[1m\xef\xbf\xbd.");
	is_written(odd, RAMA_XML_BLANK, "é [1m\xff.");
}

static void pictures_have_elements(void **st)
{
	struct rama_out o;

	(void)st;
	rama_out_init(&o, NULL, NULL);
	rama_svg_rect(&o, 1, 2.25, 3.06, 4, "class=\"a\"");
	rama_svg_text(&o, 1, 2, "", "<&>", RAMA_XML_KEEP);
	rama_svg_text(&o, -1, 2, "font-size=\"10\"", "\001", RAMA_XML_BLANK);
	rama_out_char(&o, '\0');
	assert_string_equal(o.buf,
			    "<rect x=\"1.0\" y=\"2.2\" width=\"3.1\" height=\"4.0\" class=\"a\"/>"
			    "<text x=\"1.0\" y=\"2.0\">&lt;&amp;&gt;</text>"
			    "<text x=\"-1.0\" y=\"2.0\" font-size=\"10\"> </text>");
	rama_out_fini(&o);
}

UNIT_GROUP(xml, test(markup_is_text), test(odd_characters_are_replaced),
	   test(pictures_have_elements))
