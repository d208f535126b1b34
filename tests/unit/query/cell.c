/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "query/cell.h"

static void rows_of_a_store_are_rows(void **st)
{
	static const char *const name[] = { "record", "n", "x", "t", "b", "none" };
	static const char *const unit[] = { "record", "count", NULL, "text", NULL, "when" };
	static const struct rama_store_cell cell[] = {
		{ .type = RAMA_STORE_CELL_INT, .i = -1 },
		{ .type = RAMA_STORE_CELL_INT, .i = -1 },
		{ .type = RAMA_STORE_CELL_REAL, .f = 0.5 },
		{ .type = RAMA_STORE_CELL_TEXT, .text = "a,b", .len = 3 },
		{ .type = RAMA_STORE_CELL_BYTES, .text = "\x0a\xb0", .len = 2 },
		{ .type = RAMA_STORE_CELL_NULL },
	};
	struct rama_out o;
	struct rama_rows r = { .out = &o, .form = RAMA_ROWS_CSV };

	(void)st;
	rama_out_init(&o, NULL, NULL);
	assert_int_equal(rama_rows_begin(&r, LENGTH(name), name, unit), 0);
	assert_int_equal(rama_query_rows_add(&r, cell), 0);
	rama_rows_end(&r);
	rama_out_char(&o, '\0');
	assert_string_equal(o.buf, "record,n,x,t,b,none\n"
				   "18446744073709551615,-1,0.5,\"a,b\",0ab0,\n");
	rama_out_fini(&o);
}

UNIT_GROUP(cell, test(rows_of_a_store_are_rows))
