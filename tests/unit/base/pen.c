/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/form/pen.h"

/* a pen that writes into memory */
struct page {
	struct rama_out out;
	struct rama_pen pen;
};

static void begin(struct page *g, unsigned width, bool utf8)
{
	rama_out_init(&g->out, NULL, NULL);
	g->pen = (struct rama_pen){ .o = &g->out, .width = width, .utf8 = utf8 };
}

static void end(struct page *g, const char *want)
{
	rama_out_char(&g->out, '\0');
	assert_string_equal(g->out.buf, want);
	rama_out_fini(&g->out);
}

static void harmful_characters_are_replaced(void **st)
{
	struct page g;

	(void)st;
	begin(&g, 80, true);
	rama_pen_text(&g.pen, "a\033[31mb\nc\x7f\xc2\x9b" /* CSI */
			      "d\xe2\x80\xae" /* right to left */ "e\xff\xc3");
	assert_int_equal(g.pen.column, 16);
	end(&g, "a?[31mb?c??d?e??");
}

static void broken_utf8_does_not_run_over_the_end(void **st)
{
	static const char *const texts[] = { "\xe2",	 "\xe2\x80",	 "\xf0\x9f\x98",
					     "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80" };
	static const char *const want[] = { "?", "??", "???", "??", "???", "????" };

	(void)st;
	for (size_t i = 0; i < LENGTH(texts); i++) {
		struct page g;

		begin(&g, 80, true);
		rama_pen_text(&g.pen, texts[i]);
		end(&g, want[i]);
	}
}

static void own_signs_have_ascii_forms(void **st)
{
	struct page g;

	(void)st;
	begin(&g, 80, false);
	rama_pen_text(&g.pen, "3.9× · 12–710 µs → … é █░");
	end(&g, "3.9x - 12-710 us -> ... ? #.");
}

static void wide_and_combining_characters_take_their_columns(void **st)
{
	struct page g;

	(void)st;
	begin(&g, 80, true);
	assert_int_equal(rama_pen_columns(&g.pen, "文件"), 4);
	assert_int_equal(rama_pen_columns(&g.pen, "e\xcc\x81"), 1);
	end(&g, "");
}

static void long_names_lose_their_middle(void **st)
{
	struct page g;

	(void)st;
	begin(&g, 80, true);
	rama_pen_cut(&g.pen, "/scratch/project/out.h5", 11);
	assert_int_equal(g.pen.column, 11);
	rama_pen_text(&g.pen, "|");
	rama_pen_cut(&g.pen, "short", 11);
	end(&g, "/scra…ut.h5|short");
	begin(&g, 80, false);
	rama_pen_cut(&g.pen, "/scratch/project/out.h5", 11);
	end(&g, "/scr...t.h5");
}

static void lines_break_at_spaces(void **st)
{
	struct page g;

	(void)st;
	begin(&g, 12, true);
	rama_pen_to(&g.pen, 2);
	rama_pen_wrap(&g.pen, "one two  three four", 2, 12);
	end(&g, "  one two\n  three four");
}

static void never_between_a_number_and_its_unit(void **st)
{
	struct page g;

	(void)st;
	begin(&g, 20, true);
	rama_pen_wrap(&g.pen, "it takes about 1,450 s, of 3.9 MiB each (84 %)", 0, 20);
	end(&g, "it takes about\n1,450 s, of 3.9 MiB\neach (84 %)");
	begin(&g, 16, true);
	rama_pen_wrap(&g.pen, "for 12 min 7 s or 4 files", 0, 12);
	end(&g, "for 12 min\n7 s or 4\nfiles");
}

static void words_wider_than_a_line_are_broken(void **st)
{
	struct page g;

	(void)st;
	begin(&g, 8, true);
	rama_pen_wrap(&g.pen, "see /a/long/path/here now", 0, 8);
	end(&g, "see\n/a/long/\npath/her\ne now");
}

static void a_mark_stands_at_the_end_of_the_first_line(void **st)
{
	struct page g;

	(void)st;
	begin(&g, 16, true);
	rama_pen_wrap_beside(&g.pen, "one two three four", 0, 10, "W01");
	end(&g, "one two      W01\nthree four");
	begin(&g, 16, true);
	rama_pen_wrap_beside(&g.pen, "one", 0, 10, "W01");
	end(&g, "one          W01");
}

static void code_keeps_its_spaces(void **st)
{
	struct page g;

	(void)st;
	begin(&g, 80, true);
	rama_pen_code(&g.pen, "\tif  (x)\033\nrest", 9);
	end(&g, "    if  (x)?");
}

static void styles_are_for_colour_only(void **st)
{
	struct page g;

	(void)st;
	begin(&g, 80, true);
	rama_pen_style(&g.pen, "1;31");
	rama_pen_text(&g.pen, "HIGH");
	rama_pen_plain(&g.pen);
	g.pen.colour = true;
	rama_pen_style(&g.pen, "1;31");
	rama_pen_text(&g.pen, "HIGH");
	rama_pen_plain(&g.pen);
	assert_int_equal(g.pen.column, 8);
	end(&g, "HIGH\033[1;31mHIGH\033[0m");
}

UNIT_GROUP(pen, test(harmful_characters_are_replaced), test(broken_utf8_does_not_run_over_the_end),
	   test(own_signs_have_ascii_forms), test(wide_and_combining_characters_take_their_columns),
	   test(long_names_lose_their_middle), test(lines_break_at_spaces),
	   test(never_between_a_number_and_its_unit), test(words_wider_than_a_line_are_broken),
	   test(a_mark_stands_at_the_end_of_the_first_line), test(code_keeps_its_spaces),
	   test(styles_are_for_colour_only))
