/* SPDX-License-Identifier: BSD-3-Clause */
/* group.c: files in groups, by directory and name. */
#include "core/group.h"

#include <string.h>

#include "unit.h"

static void names_differ_in_digits(void **state)
{
	static const char *const row[][3] = {
		{ "/data/train/img0017.jpg", "/data/train/<img#.jpg>", "/data/train/<img#.jpg>" },
		{ "/data/train/7", "/data/train/<#>", "/data/train/<#>" },
		{ "/n/h12/run7/s3/a.tar.001", "/n/h12/run7/s3/<a.tar.#>",
		  "/n/h12/run#/s#/<a.tar.#>" },
		{ "/d/e/.hidden", "/d/e/<.hidden>", "/d/e/<.hidden>" },
		{ "/d/e/0a1b2c3d4e.bin", "/d/e/<*.bin>", "/d/e/<*.bin>" },
		{ "/top9.txt", "/<top#.txt>", "/<top#.txt>" },
		{ "/n/h/run7/<img#.jpg>", "/n/h/run7/<img#.jpg>", "/n/h/run#/<img#.jpg>" },
		{ "/d/e/a1b2c3.x", "/d/e/<a#b#c#.x>", "/d/e/<a#b#c#.x>" },
	};
	char to[RAMA_CORE_GROUP_TEXT];

	(void)state;
	for (size_t i = 0; i < LENGTH(row); i++)
		for (unsigned coarse = 0; coarse < 2; coarse++) {
			size_t n = rama_core_group_name(to, row[i][0], strlen(row[i][0]), coarse);

			assert_string_equal(to, row[i][1 + coarse]);
			assert_int_equal(n, strlen(to));
			assert_true(rama_core_group_is(to, n));
			if (strchr(row[i][0], '<') == NULL)
				assert_false(rama_core_group_is(row[i][0], strlen(row[i][0])));
		}
}

static void other_names_have_none(void **state)
{
	char to[RAMA_CORE_GROUP_TEXT], path[600];

	(void)state;
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	assert_int_equal(rama_core_group_name(to, "<STDIN>", 7, false), 0);
	assert_int_equal(rama_core_group_name(to, "", 0, false), 0);
	assert_int_equal(rama_core_group_name(to, "/dir/", 5, false), 0);
	assert_int_equal(rama_core_group_name(to, path, sizeof(path), false), 0);
	assert_int_equal(rama_core_group_name(to, path, RAMA_CORE_GROUP_TEXT - 2, false), 0);
	assert_int_equal(rama_core_group_name(to, path, RAMA_CORE_GROUP_TEXT - 3, false),
			 RAMA_CORE_GROUP_TEXT - 1);
	assert_false(rama_core_group_is("<STDIN>", 7));
	assert_false(rama_core_group_is("/a/<>", 5));
	assert_false(rama_core_group_is("/a/<b", 5));
	assert_false(rama_core_group_is("", 0));
}

UNIT_GROUP(group, test(names_differ_in_digits), test(other_names_have_none))
