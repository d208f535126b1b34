/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include <unistd.h>

#include "emulate/own/place.h"
#include "emulate/pattern.h"

static void lines_come_out_as_they_went_in(void **state)
{
	static const char *const bad[] = {
		"",
		"# file 1 2 3 4 5 x",
		"file 1 2 3 4 x",
		"file 1 2 3 4 5 ",
		"file 1 2 3 4 5 /x",
		"file 1 2 3 4 5 ..",
		"file 1 2 3 4 5 ../x",
		"file 1 2 3 4 5 a/../x",
		"file 1 2 3 4 5 a/..",
		"file -1 2 3 4 5 x",
		"file 1 9223372036854775808 3 4 5 x",
		"file 1  2 3 4 5 x",
		"in abcdefg x",
		"in abcdefghi x",
		"in ABCDEFGH x",
		"in abcdefgh ..",
	};
	struct rama_emu_own_line l;
	char put[200];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (rama_emu_own_line_parse(bad[i], &l))
			fail_msg("'%s' is a line", bad[i]);
	assert_true(rama_emu_own_line_parse("file 18446744073709551615 2 3 4 5 a b/..c", &l));
	assert_true(l.kind == 'f' && l.inode == UINT64_MAX && l.born == 2 && l.changed == 3 &&
		    l.size == 4 && l.device == 5);
	assert_string_equal(l.name, "a b/..c");
	assert_int_equal(rama_emu_own_line_put(&l, put, sizeof(put)), 42);
	assert_string_equal(put, "file 18446744073709551615 2 3 4 5 a b/..c\n");
	assert_int_equal(rama_emu_own_line_put(&l, put, 20), -1);
	assert_true(rama_emu_own_line_parse("in abcdef01 .", &l));
	assert_true(l.kind == 'i' && strcmp(l.run, "abcdef01") == 0 && strcmp(l.name, ".") == 0);
}

/* what a file of these bytes is: 0 another's, 1 ours, 2 empty */
static int whose(const char *bytes, size_t n)
{
	FILE *f = tmpfile();
	bool empty = false;
	int is;

	assert_non_null(f);
	assert_int_equal(write(fileno(f), bytes, n), n);
	is = rama_emu_own_data(fileno(f), (int64_t)n, &empty);
	fclose(f);
	return is && empty ? 2 : is;
}

static void data_tell_whose_they_are(void **state)
{
	static char b[3 << 20];
	const struct rama_emu_pattern p = { 7, 8, 9 };

	(void)state;
	assert_int_equal(whose("", 0), 2);
	memset(b, 0, sizeof(b));
	assert_int_equal(whose(b, sizeof(b)), 2);
	rama_emu_pattern_fill(&p, b, sizeof(b), 0);
	assert_int_equal(whose(b, sizeof(b)), 1);
	assert_int_equal(whose(b, 4097), 1); /* cut anywhere */
	assert_int_equal(whose(b, 3 * 32), 1);
	assert_int_equal(whose(b, 40), 0); /* too little to be sure */
	assert_int_equal(whose("precious\n", 9), 0);
	memset(b + 5000, 0, 7000); /* what was not written */
	assert_int_equal(whose(b, sizeof(b)), 1);
	memcpy(b + 20001, "mine", 4);
	assert_int_equal(whose(b, sizeof(b)), 0);
	rama_emu_pattern_fill(&p, b, sizeof(b), 0);
	memcpy(b + 32 * 40, b + 32, 32); /* of another place */
	assert_int_equal(whose(b, sizeof(b)), 0);
	rama_emu_pattern_fill(&p, b, sizeof(b), 0);
	memset(b, 'x', 32); /* the first cell, of which the place alone says nothing */
	assert_int_equal(whose(b, sizeof(b)), 0);
	memset(b, 0, sizeof(b));
	b[8] = b[30] = 1; /* in no cell at all */
	assert_int_equal(whose(b, sizeof(b)), 0);
}

/* whatever a name says, it leads nowhere but below its place */
static void names_lead_down_only(void **state)
{
	static const char *const bad[] = { "/d/..",    "/d/../x", "/d/a/../x", "/d/a/..",
					   "/d//../x", "/e/x",	  "/d",	       "/dx" };
	static const char *const good[] = { "/d/x", "/d/..x", "/d/a/x..", "/d/a/...", "/d//x" };
	struct rama_emu_own *own = NULL;
	struct rama_emu_team t;
	struct rama_err e = { 0 };
	const char *name;
	int worst = -1;

	(void)state;
	assert_int_equal(rama_emu_team_local(&t, 1, &e), 0);
	assert_int_equal(rama_emu_own_new(&own, &t, &e), 0);
	assert_int_equal(rama_emu_own_where(own, "/d", &e), 0); /* it need not be there */
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (rama_emu_own_find(own, bad[i], &name) != NULL)
			fail_msg("%s leads to %s", bad[i], name);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		if (rama_emu_own_find(own, good[i], &name) == NULL)
			fail_msg("%s is not found", good[i]);
	rama_emu_own_free(own, false);
	rama_emu_team_end(&t, 0, &worst, &e);
}

UNIT_GROUP(own, test(names_lead_down_only), test(lines_come_out_as_they_went_in),
	   test(data_tell_whose_they_are))
