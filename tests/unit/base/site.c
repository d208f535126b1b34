/* SPDX-License-Identifier: BSD-3-Clause */
/* site.c: names of places in programs. */
#include "base/code/site.h"

#include "unit.h"

static const unsigned char build[] = { 0x8f, 0x3c, 0x00 };

static void what_is_put_is_read(void **state)
{
	char text[RAMA_SITE_TEXT];
	struct rama_site_frame f;
	struct rama_site_pen p;
	size_t at = 0;

	(void)state;
	rama_site_begin(&p, text, sizeof(text));
	assert_true(rama_site_add(&p, "/home/u/a.out", build, 3, 0x11a9));
	assert_true(rama_site_add(&p, NULL, NULL, 0, 0));
	assert_true(rama_site_add(&p, "/lib/x y[1]+0x3.so", NULL, 0, UINT64_MAX));
	assert_string_equal(text, "@/home/u/a.out[8f3c00]+0x11a9;+0x0;"
				  "/lib/x y[1]+0x3.so[]+0xffffffffffffffff");
	assert_int_equal(p.len, strlen(text));
	assert_true(rama_site_is(text, p.len));
	assert_true(rama_site_next(text, p.len, &at, &f));
	assert_int_equal(at, strlen("@/home/u/a.out[8f3c00]+0x11a9"));
	assert_int_equal(f.file_len, strlen("/home/u/a.out"));
	assert_memory_equal(f.file, "/home/u/a.out", f.file_len);
	assert_int_equal(f.n_build, 3);
	assert_memory_equal(f.build, build, 3);
	assert_int_equal(f.at, 0x11a9);
	assert_true(rama_site_next(text, p.len, &at, &f));
	assert_memory_equal(f.file, "/home/u/a.out", f.file_len); /* the same as before */
	assert_int_equal(f.at, 0);
	assert_true(rama_site_next(text, p.len, &at, &f));
	assert_memory_equal(f.file, "/lib/x y[1]+0x3.so", f.file_len);
	assert_int_equal(f.n_build, 0);
	assert_true(f.at == UINT64_MAX);
	assert_false(rama_site_next(text, p.len, &at, &f));
}

static void lines_of_source_are_read(void **state)
{
	char text[RAMA_SITE_TEXT];
	struct rama_site_frame f;
	struct rama_site_pen p;
	size_t at = 0;

	(void)state;
	rama_site_begin(&p, text, sizeof(text));
	assert_true(rama_site_add_line(&p, "/home/u/a (1).py", "Loader.<locals>.read", 18));
	assert_true(rama_site_add_line(&p, "/home/u/a (1).py", "<module>", 4000000000u / 10));
	assert_true(rama_site_add_line(&p, "b:1.py", "f", 7));
	assert_false(rama_site_add_line(&p, "b;1.py", "f", 7));
	assert_false(rama_site_add_line(&p, "b.py", "f(x)", 7));
	assert_false(rama_site_add_line(&p, "b.py", "f", 0));
	assert_true(rama_site_add(&p, "/lib/x.so", build, 1, 0x10));
	assert_string_equal(text, "@/home/u/a (1).py(Loader.<locals>.read):18;(<module>):400000000;"
				  "b:1.py(f):7;/lib/x.so[8f]+0x10");
	assert_true(rama_site_next(text, p.len, &at, &f));
	assert_int_equal(f.line, 18);
	assert_int_equal(f.file_len, strlen("/home/u/a (1).py"));
	assert_int_equal(f.function_len, strlen("Loader.<locals>.read"));
	assert_memory_equal(f.function, "Loader.<locals>.read", f.function_len);
	assert_true(rama_site_next(text, p.len, &at, &f));
	assert_int_equal(f.line, 400000000);
	assert_memory_equal(f.file, "/home/u/a (1).py", f.file_len);
	assert_true(rama_site_next(text, p.len, &at, &f));
	assert_memory_equal(f.file, "b:1.py", f.file_len);
	assert_true(rama_site_next(text, p.len, &at, &f));
	assert_null(f.function);
	assert_int_equal(f.at, 0x10);
	assert_int_equal(f.n_build, 1);
	assert_false(rama_site_next(text, p.len, &at, &f));
}

static void what_does_not_fit_is_left_out(void **state)
{
	char text[64], path[100];
	struct rama_site_pen p;

	(void)state;
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	rama_site_begin(&p, text, sizeof(text));
	assert_false(rama_site_add(&p, path, NULL, 0, 1));
	assert_string_equal(text, "");
	assert_true(rama_site_add(&p, "/a", build, 3, 1));
	assert_false(rama_site_add(&p, path, NULL, 0, 1));
	assert_string_equal(text, "@/a[8f3c00]+0x1");
	assert_false(rama_site_add(&p, "/b", build, RAMA_SITE_BUILD + 1, 1));
}

static void other_texts_are_no_places(void **state)
{
	static const char *const bad[] = {
		"",
		"@",
		"/a[]+0x1",
		"@+0x1",
		"@/a+0x1",
		"@/a[]",
		"@/a[]+0x",
		"@/a[]+1",
		"@[]+0x1",
		"@/a[1]+0x1",
		"@/a[zz]+0x1",
		"@/a[]+0x12345678123456789",
		"@/a[]+0X1",
		"@/a[00112233445566778899aabbccddeeff0011223344]+0x1",
		";/a[]+0x1",
		"@a]+0x1",
		"@/a.py(f):",
		"@/a.py(f):0",
		"@/a.py(f):01",
		"@/a.pyf):1",
		"@/a.py(f)1",
		"@(f):1",
		"@/a.py(f):1234567890",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++)
		if (rama_site_is(bad[i], strlen(bad[i])))
			fail_msg("%s", bad[i]);
}

UNIT_GROUP(site, test(what_is_put_is_read), test(lines_of_source_are_read),
	   test(what_does_not_fit_is_left_out), test(other_texts_are_no_places))
