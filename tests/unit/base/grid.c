/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables and their cells, in every form. */
#include "unit.h"

#include "base/form/rows.h"

/* ---- cells ----------------------------------------------------------------------------------- */

static void cells_have_forms(void **st)
{
	static const struct {
		struct rama_cell c;
		const char *unit, *csv, *json, *text;
	} x[] = {
		{ { .kind = RAMA_CELL_NONE }, "count", "", "null", "" },
		{ { RAMA_CELL_TEXT, { { "a,b", 3 } } }, NULL, "\"a,b\"", "\"a,b\"", "a,b" },
		{ { RAMA_CELL_BYTES, { { "\x01\xff", 2 } } },
		  NULL,
		  "01ff",
		  "\"01ff\"",
		  "(2 bytes)" },
		{ { RAMA_CELL_ID, { .id = UINT64_MAX } },
		  "record",
		  "18446744073709551615",
		  "\"18446744073709551615\"",
		  "18446744073709551615" },
		{ { RAMA_CELL_INT, { .i = -12345 } }, NULL, "-12345", "-12345", "-12345" },
		{ { RAMA_CELL_INT, { .i = 12345 } }, "id", "12345", "12345", "12345" },
		{ { RAMA_CELL_INT, { .i = 12345 } }, "count", "12345", "12345", "12,345" },
		{ { RAMA_CELL_INT, { .i = 2048 } }, "bytes", "2048", "2048", "2.0 KiB" },
		{ { RAMA_CELL_INT, { .i = 999 } }, "span", "999", "999", "999 ns" },
		{ { RAMA_CELL_INT, { .i = 2310000 } }, "span", "2310000", "2310000", "2.31 ms" },
		{ { RAMA_CELL_INT, { .i = 0 } },
		  "when",
		  "1970-01-01T00:00:00.000000000Z",
		  "\"1970-01-01T00:00:00.000000000Z\"",
		  NULL },
		{ { RAMA_CELL_REAL, { .f = 0.1 } }, NULL, "0.1", "0.1", "0.1" },
		{ { RAMA_CELL_REAL, { .f = 1234567.125 } },
		  NULL,
		  "1234567.125",
		  "1234567.125",
		  "1.23457e+06" },
		{ { RAMA_CELL_REAL, { .f = NAN } }, NULL, "", "null", NULL },
		{ { RAMA_CELL_REAL, { .f = 90 } }, "s", "90", "90", "1 min 30 s" },
		{ { RAMA_CELL_REAL, { .f = 90 } }, "seconds", "90", "90", "90.0 s" },
		{ { RAMA_CELL_FIGURE, { .f = 1.0 / 3 } },
		  "figure",
		  "0.333333333",
		  "0.333333333",
		  "0.33" },
		{ { RAMA_CELL_FIGURE, { .f = 9007199254740991.0 } },
		  "share",
		  "9007199254740991",
		  "9007199254740991",
		  NULL },
		{ { RAMA_CELL_FLAG, { .flag = true } }, "flag", "1", "true", "yes" },
		{ { RAMA_CELL_FLAG, { .flag = false } }, NULL, "0", "false", "no" },
	};

	(void)st;
	for (size_t i = 0; i < LENGTH(x); i++) {
		char to[RAMA_CELL_SHOWN];
		struct rama_json j;
		struct rama_out o;

		rama_out_init(&o, NULL, NULL);
		rama_cell_csv(&o, &x[i].c, x[i].unit);
		rama_out_char(&o, '|');
		rama_json_init(&j, &o);
		rama_cell_json(&j, &x[i].c, x[i].unit);
		rama_out_char(&o, '\0');
		assert_memory_equal(o.buf, x[i].csv, strlen(x[i].csv));
		assert_int_equal(o.buf[strlen(x[i].csv)], '|');
		assert_string_equal(o.buf + strlen(x[i].csv) + 1, x[i].json);
		if (x[i].text != NULL)
			assert_string_equal(rama_cell_text(to, &x[i].c, x[i].unit), x[i].text);
		rama_out_fini(&o);
	}
}

/* ---- grids ----------------------------------------------------------------------------------- */

static struct rama_grid_column columns[] = {
	{ .key = "name", .header = "name", .wide = true },
	{ .key = "n", .header = "count", .unit = "count", .bar = true },
	{ .key = "note", .header = "<note>", .drop = 1 },
};

static void fill(struct rama_grid *g)
{
	static const char *const names[] = { "/a/rather/long/name/of/a/file", "é|" };

	*g = (struct rama_grid){ .title = "T", .columns = columns, .n_columns = 3 };
	for (size_t i = 0; i < LENGTH(names); i++) {
		struct rama_grid_cell *row = rama_grid_row(g);

		assert_non_null(row);
		row[0] = rama_grid_text_cell(names[i]);
		row[1] = (struct rama_grid_cell){ i == 0 ? "1,200" : "300", i == 0 ? 1200 : 300,
						  i == 0 ? RAMA_TONE_BAD : RAMA_TONE_BOLD };
		row[2].text = i == 0 ? "x,y" : NULL;
	}
}

static void is_printed(void (*print)(struct rama_out *o, const struct rama_grid *g),
		       const struct rama_grid *g, const char *want)
{
	struct rama_out o;

	rama_out_init(&o, NULL, NULL);
	print(&o, g);
	rama_out_char(&o, '\0');
	assert_string_equal(o.buf, want);
	rama_out_fini(&o);
}

static void wide(struct rama_out *o, const struct rama_grid *g)
{
	struct rama_grid_style style = { .width = 80, .colour = true, .utf8 = true };

	rama_grid_text(o, g, &style);
}

static void narrow(struct rama_out *o, const struct rama_grid *g)
{
	struct rama_grid_style style = { .width = 26 };

	rama_grid_text(o, g, &style);
}

/* 24 columns of a name are worth more than a column that may go */
static void by_pen(struct rama_out *o, const struct rama_grid *g)
{
	struct rama_grid_style style = { .width = 36, .utf8 = true, .pen = true };
	struct rama_grid_layout l;

	rama_grid_fit(&l, g, &style, 24);
	rama_grid_put_row(o, g, &l, &style, NULL);
	for (size_t r = 0; r < g->n_rows; r++)
		rama_grid_put_row(o, g, &l, &style, &g->cells[r * g->n_columns]);
}

static void bars(struct rama_out *o, const char *s)
{
	for (; *s != '\0'; s++)
		rama_out_text(o, *s == '|' ? "\\|" : (char[]){ *s, '\0' });
}

static void marked(struct rama_out *o, const struct rama_grid *g)
{
	rama_grid_markdown(o, g, bars);
}

static void grids_have_forms(void **st)
{
	struct rama_grid g;

	(void)st;
	fill(&g);
	is_printed(rama_grid_csv, &g,
		   "name,n,note\n/a/rather/long/name/of/a/file,1200,\"x,y\"\né|,300,\n");
	is_printed(marked, &g,
		   "| name | count | <note> |\n|---|---:|---|\n"
		   "| /a/rather/long/name/of/a/file | 1,200 | x,y |\n| é\\| | **300** |  |\n");
	is_printed(rama_grid_html, &g,
		   "<table><thead><tr><th scope=\"col\" class=\"w\">name</th>"
		   "<th scope=\"col\" class=\"n\">count</th>"
		   "<th scope=\"col\" class=\"\">&lt;note&gt;</th></tr></thead><tbody>\n"
		   "<tr><td class=\"w \">/a/rather/long/name/of/a/file</td>"
		   "<td class=\"n b bad\" style=\"--p:100.0%\" data-v=\"1200\">1,200</td>"
		   "<td class=\" \">x,y</td></tr>\n"
		   "<tr><td class=\"w \">é|</td>"
		   "<td class=\"n b bold\" style=\"--p:25.0%\" data-v=\"300\">300</td>"
		   "<td class=\" \"></td></tr>\n</tbody></table>");
	rama_grid_fini(&g);
}

static void grids_fit_terminals(void **st)
{
	struct rama_grid g;

	(void)st;
	fill(&g);
	g.more = 7;
	is_printed(wide, &g,
		   "\n\033[1mT\033[0m\n"
		   "  \033[2mname                         \033[0m  \033[2mcount\033[0m"
		   "  \033[2m<note>\033[0m\n"
		   "  /a/rather/long/name/of/a/file  \033[31m1,200\033[0m  x,y\n"
		   "  é|                             \033[1m  300\033[0m\n"
		   "  and 7 more\n");
	/* the note goes, then the name is cut; without UTF-8 nothing but ASCII is left */
	is_printed(narrow, &g,
		   "\nT\n  name               count\n  /a/rathe~f/a/file  1,200\n"
		   "  ?|                   300\n  and 7 more\n");
	is_printed(by_pen, &g,
		   "  name                         count\n  /a/rather/lon…ame/of/a/file  1,200\n"
		   "  é|                             300\n");
	rama_grid_fini(&g);
}

static void columns_can_go(void **st)
{
	struct rama_grid_column some[3];
	struct rama_grid g;

	(void)st;
	memcpy(some, columns, sizeof(some));
	fill(&g);
	g.columns = some;
	rama_grid_keep(&g, some, (bool[]){ false, true, true });
	is_printed(rama_grid_csv, &g, "n,note\n1200,\"x,y\"\n300,\n");
	rama_grid_fini(&g);
}

/* ---- rows that come one by one --------------------------------------------------------------- */

static void rows_of(enum rama_rows_form form, unsigned n, struct rama_out *o)
{
	static const char *const name[] = { "i", "text,", "end" };
	struct rama_rows r = { .out = o, .form = form };

	rama_out_init(o, NULL, NULL);
	assert_int_equal(rama_rows_begin(&r, 3, name, NULL), 0);
	for (unsigned i = 0; i < n; i++) {
		r.cell[0] = (struct rama_cell){ RAMA_CELL_INT, { .i = i } };
		r.cell[1] = (struct rama_cell){ RAMA_CELL_TEXT,
						{ { i == 1 ? "a\033b" : "x", i == 1 ? 3 : 1 } } };
		r.cell[2] = (struct rama_cell){ .kind = RAMA_CELL_NONE };
		assert_int_equal(rama_rows_add(&r, r.cell), 0);
	}
	rama_rows_end(&r);
	rama_out_char(o, '\0');
}

static void rows_have_forms(void **st)
{
	static const char *const want[] = {
		[RAMA_ROWS_TEXT] = "i  text,  end\n0  x      -\n1  a?b    -\n",
		[RAMA_ROWS_CSV] = "i,\"text,\",end\n0,x,\n1,a\033b,\n",
		[RAMA_ROWS_JSON] = "[\n{\"i\":0,\"text,\":\"x\",\"end\":null},\n"
				   "{\"i\":1,\"text,\":\"a\\u001bb\",\"end\":null}\n]\n",
	};
	struct rama_out o;

	(void)st;
	for (unsigned f = 0; f < LENGTH(want); f++) {
		rows_of(f, 2, &o);
		assert_string_equal(o.buf, want[f]);
		rama_out_fini(&o);
	}
}

/* columns have the width that the first 200 rows need */
static void many_rows_are_not_kept(void **st)
{
	struct rama_out o;
	const char *at;

	(void)st;
	rows_of(RAMA_ROWS_TEXT, 1002, &o);
	at = strstr(o.buf, "\n199  ");
	assert_non_null(at);
	assert_memory_equal(at, "\n199  x      -\n200  x      -\n", 29);
	assert_non_null(strstr(o.buf, "\n1001   x      -\n"));
	rama_out_fini(&o);
}

UNIT_GROUP(grid, test(cells_have_forms), test(grids_have_forms), test(grids_fit_terminals),
	   test(columns_can_go), test(rows_have_forms), test(many_rows_are_not_kept))
