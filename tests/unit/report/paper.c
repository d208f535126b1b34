/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "base/form/text.h"
#include "report/diff/diff.h"
#include "report/fleet/fleet.h"
#include "report/paper.h"

static void texts_are_harmless(void **st)
{
	static const char *const pairs[][2] = {
		{ "plain", "plain" },
		{ "µ × → –", "µ × → –" },
		{ "a\033[31mb", "a\xef\xbf\xbd[31mb" },
		{ "line\nbreak", "line\xef\xbf\xbd"
				 "break" },
		{ "\xff\xc0\xaf",
		  "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* no UTF-8; '/' the long way */
		{ "cut \xe2\x86", "cut \xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xe2\x80\xaeturned", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdturned" },
		{ "", "" },
	};
	struct rama_report_paper p = { 0 };

	(void)st;
	for (size_t i = 0; i < LENGTH(pairs); i++)
		assert_string_equal(rama_report_paper_text(&p, pairs[i][0]), pairs[i][1]);
	assert_int_equal(rama_text_width("a→b×"), 4);
	rama_report_paper_fini(&p);
}

static const struct rama_grid_column columns[] = {
	{ .key = "name", .header = "name", .wide = true },
	{ .key = "n", .header = "count", .unit = "count" },
	{ .key = "note", .header = "note", .drop = 1 },
};

static void fill(struct rama_report_paper *p, const char *name)
{
	struct rama_grid *s = rama_report_paper_sheet(p, "t", "Title", columns, 3);
	struct rama_grid_cell *row = rama_report_paper_row(p, s);

	row[0] = rama_grid_text_cell(name);
	row[1] = rama_report_paper_value(p, "count", 1234);
	row[2] = rama_grid_text_cell("a, \"b\"");
}

static void printed(const struct rama_report_paper *p, unsigned width, bool utf8, const char *want)
{
	struct rama_grid_style style = { .width = width, .utf8 = utf8 };
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	rama_report_paper_print(p, &o, &style);
	rama_out_char(&o, '\0');
	assert_string_equal(o.buf, want);
	rama_out_fini(&o);
}

static void tables_fit(void **st)
{
	struct rama_report_paper p = { .verdict = "One two three four five six seven eight." };

	(void)st;
	fill(&p, "/scratch/a/long/name/of/some/file.h5");
	printed(&p, 80, true,
		"One two three four five six seven eight.\n\nTitle\n"
		"  name                                  count  note\n"
		"  /scratch/a/long/name/of/some/file.h5  1,234  a, \"b\"\n");
	/* the name gives way, then a column that may go, then the name again */
	printed(&p, 50, true,
		"One two three four five six seven eight.\n\nTitle\n"
		"  name                               count  note\n"
		"  /scratch/a/long/…/of/some/file.h5  1,234  a, \"b\"\n");
	rama_report_paper_fini(&p);
}

static void narrow_tables_drop_columns(void **st)
{
	struct rama_report_paper p = { .verdict = "One two three four five six seven eight." };

	(void)st;
	fill(&p, "/scratch/a/long/name/of/some/file.h5");
	printed(&p, 30, true,
		"One two three four five six\nseven eight.\n\nTitle\n"
		"  name                   count\n"
		"  /scratch/a…me/file.h5  1,234\n");
	rama_report_paper_fini(&p);
}

static void csv_is_plain(void **st)
{
	struct rama_report_paper p = { 0 };
	struct rama_out o;

	(void)st;
	fill(&p, "x");
	rama_out_init(&o, NULL, NULL);
	rama_grid_csv(&o, rama_report_paper_find(&p, "t"));
	rama_out_char(&o, '\0');
	assert_string_equal(o.buf, "name,n,note\nx,1234,\"a, \"\"b\"\"\"\n");
	assert_null(rama_report_paper_find(&p, "other"));
	rama_out_fini(&o);
	rama_report_paper_fini(&p);
}

static void differences_have_a_tolerance(void **st)
{
	(void)st;
	assert_int_equal(rama_report_change_of(100, 105, 0.05), RAMA_REPORT_SAME);
	assert_int_equal(rama_report_change_of(100, 106, 0.05), RAMA_REPORT_MORE);
	assert_int_equal(rama_report_change_of(106, 100, 0.05), RAMA_REPORT_LESS);
	assert_int_equal(rama_report_change_of(0, 0, 0), RAMA_REPORT_SAME);
	assert_int_equal(rama_report_change_of(0, 1e-9, 0.05), RAMA_REPORT_MORE);
	assert_int_equal(rama_report_change_of(NAN, 1, 0), RAMA_REPORT_SAME);
}

static void users_are_in_names(void **st)
{
	static const struct {
		const char *path;
		size_t n;
	} c[] = { { "/logs/2026/3/1/ann_sim_id123-4_3-1-7-99_1.darshan", 3 },
		  { "bob_my_app_id7_3-1-7-99_1.darshan", 3 },
		  { "ann_idx_idy_id9.darshan", 3 },
		  { "job.darshan", 0 },
		  { "_sim_id123.darshan", 0 },
		  { "x_id5.darshan", 0 },
		  { "a_b_identity.darshan", 0 } };

	(void)st;
	for (size_t i = 0; i < LENGTH(c); i++) {
		const char *user;

		assert_int_equal(rama_report_fleet_user(c[i].path, &user), c[i].n);
	}
}

UNIT_GROUP(paper, test(texts_are_harmless), test(tables_fit), test(narrow_tables_drop_columns),
	   test(csv_is_plain), test(differences_have_a_tolerance), test(users_are_in_names))
