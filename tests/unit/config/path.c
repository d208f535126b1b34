/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "config/path.h"

static void names_are_cleaned(void **state)
{
	static const struct {
		const char *base, *path, *name;
	} rows[] = {
		/* taken as they are */
		{ "/home/u", NULL, "" },
		{ "/home/u", "", "" },
		{ "/home/u", "<STDIN>", "<STDIN>" },
		{ "/home/u", "<a//b", "<a//b" },
		/* relative ones */
		{ "/home/u", "a", "/home/u/a" },
		{ "/home/u", "a/b", "/home/u/a/b" },
		{ "/home/u/", "a", "/home/u/a" },
		{ "/", "a", "/a" },
		{ "/home/u", "./a", "/home/u/a" },
		{ "/home/u", ".//./a", "/home/u/a" },
		{ "/home/u", ".", "/home/u/." },
		{ "/home/u", "..", "/home/u/.." },
		{ "/home/u", "../a", "/home/u/../a" },
		{ "/home/u", "./", "/home/u/" },
		{ "/home/u", ".a/.b", "/home/u/.a/.b" },
		{ "/home//u/./v", "a", "/home/u/v/a" },
		{ "/home/.", "a", "/home/a" },
		/* slashes and dots */
		{ "/x", "/a//b", "/a/b" },
		{ "/x", "///a////b", "/a/b" },
		{ "/x", "/a/./b", "/a/b" },
		{ "/x", "/a/././b", "/a/b" },
		{ "/x", "/.//./b", "/b" },
		{ "/x", "/a/.//b", "/a/b" },
		{ "/x", "/a/.", "/a/." },
		{ "/x", "/a/./.", "/a/." },
		{ "/x", "/a/", "/a/" },
		{ "/x", "/a//", "/a/" },
		{ "/x", "/a/./", "/a/" },
		{ "/x", "/a/../b", "/a/../b" },
		{ "/x", "/a./b", "/a./b" },
		{ "/x", "/a/.b", "/a/.b" },
		{ "/x", "/a/..b/./...", "/a/..b/..." },
		{ "/x", "/", "/" },
		{ "/x", "//", "/" },
		{ "/x", "/.", "/." },
		/* no current directory is known */
		{ NULL, "a//b", "a/b" },
		{ "", "./a", "./a" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		char to[64];
		long n = rama_config_path_clean(to, sizeof(to), rows[i].base, rows[i].path);

		assert_string_equal(to, rows[i].name);
		assert_int_equal(n, strlen(rows[i].name));
	}
}

/* the rule in its own words: // becomes / until there is none, then /./ becomes / */
static void replace_all(char *s, const char *what)
{
	for (char *p = strstr(s, what); p != NULL; p = strstr(s, what))
		memmove(p, p + strlen(what) - 1, strlen(p + strlen(what) - 1) + 1);
}

static void any_mix_is_cleaned(void **state)
{
	struct rng r = { 7 };

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		char path[20], base[12] = "/", to[64], truth[64];
		unsigned n = (unsigned)rng_below(&r, sizeof(path) - 1) + 1,
			 b = (unsigned)rng_below(&r, 10);

		for (unsigned k = 0; k < n; k++)
			path[k] = "//..a"[rng_below(&r, 5)];
		path[n] = '\0';
		for (unsigned k = 0; k < b; k++)
			base[k + 1] = "/.b"[rng_below(&r, 3)];
		base[b + 1] = '\0';
		snprintf(truth, sizeof(truth), "%s%s%s", path[0] == '/' ? "" : base,
			 path[0] == '/' ? "" : "/", path);
		replace_all(truth, "//");
		replace_all(truth, "/./");
		assert_int_equal(rama_config_path_clean(to, sizeof(to), base, path), strlen(truth));
		if (strcmp(to, truth) != 0)
			fail_msg("'%s' in '%s' is '%s', not '%s'", path, base, to, truth);
	}
}

static void what_does_not_fit_is_refused(void **state)
{
	char to[8];

	(void)state;
	assert_int_equal(rama_config_path_clean(to, sizeof(to), "/abc", "def"), -1);
	assert_int_equal(rama_config_path_clean(to, sizeof(to), "/abc", "de"), 7);
	assert_int_equal(rama_config_path_clean(to, sizeof(to), "/", "/abcdefg"), -1);
	assert_int_equal(rama_config_path_clean(to, sizeof(to), "/", "<STDOUT>"), -1);
	assert_int_equal(rama_config_path_clean(to, 0, "/", "a"), -1);
	assert_int_equal(rama_config_path_clean(to, sizeof(to), "/", "////./abcdef"), 7);
}

static void an_empty_path_is_the_directory_itself(void **state)
{
	char to[32];

	(void)state;
	assert_int_equal(rama_config_path_clean_at(to, sizeof(to), "/d//e", ""), 4);
	assert_string_equal(to, "/d/e");
	assert_int_equal(rama_config_path_clean_at(to, sizeof(to), "/d", "f"), 4);
	assert_string_equal(to, "/d/f");
	assert_int_equal(rama_config_path_clean_at(to, sizeof(to), "/d", "/f"), 2);
	assert_string_equal(to, "/f");
	assert_int_equal(rama_config_path_clean_at(to, sizeof(to), "/d", NULL), 0);
}

static void a_kind_of_file_system_is_no_part_of_the_name(void **state)
{
	static const char *const cases[][2] = {
		{ "ufs:/x", "/x" },   { "c:/x", "c:/x" }, { ":/x", ":/x" }, { "/x", "/x" },
		{ "nfs:a:b", "a:b" }, { "ab:", "" },	  { "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(rama_config_path_without_prefix(cases[i][0]), cases[i][1]);
	assert_null(rama_config_path_without_prefix(NULL));
}

UNIT_GROUP(path, test(a_kind_of_file_system_is_no_part_of_the_name), test(names_are_cleaned),
	   test(any_mix_is_cleaned), test(what_does_not_fit_is_refused),
	   test(an_empty_path_is_the_directory_itself))
