/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

#include "launch/run/run.h"
#include "launch/switch.h"
#include "launch/run/vars.h"

static void sizes_and_tags_are_known(void **state)
{
	static const char *const sizes[] = { "1", "64M", "64m", "1GiB", "12KiB" }, *const no[] = {
		"", "M", "64X", "6 M", "-1", "64MB"
	};
	char tag[70];

	(void)state;
	for (size_t i = 0; i < LENGTH(sizes); i++)
		assert_true(rama_launch_vars_is_size(sizes[i]));
	for (size_t i = 0; i < LENGTH(no); i++)
		assert_false(rama_launch_vars_is_size(no[i]));
	assert_true(rama_launch_run_is_tag("a.b-c_9"));
	assert_false(rama_launch_run_is_tag(""));
	assert_false(rama_launch_run_is_tag("a b"));
	memset(tag, 'x', sizeof(tag));
	tag[63] = '\0';
	assert_true(rama_launch_run_is_tag(tag));
	tag[63] = 'x';
	tag[64] = '\0';
	assert_false(rama_launch_run_is_tag(tag));
}

static void globs_are_joined(void **state)
{
	static const char *const globs[] = { "/a*", "/b" };
	struct rama_arena a = { 0 };
	struct rama_err e = { 0 };
	const char *many[40];
	static char longest[2048];

	(void)state;
	unsetenv("IORAMA_TEST_GLOBS");
	assert_string_equal(rama_launch_vars_globs("IORAMA_TEST_GLOBS", globs, 2, &a, &e),
			    "/a*\n/b");
	setenv("IORAMA_TEST_GLOBS", "/z", 1);
	assert_string_equal(rama_launch_vars_globs("IORAMA_TEST_GLOBS", globs, 1, &a, &e),
			    "/z\n/a*");
	unsetenv("IORAMA_TEST_GLOBS");
	assert_int_equal(e.code, 0);
	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < LENGTH(many); i++)
		many[i] = longest;
	assert_null(rama_launch_vars_globs("IORAMA_TEST_GLOBS", many, LENGTH(many), &a, &e));
	assert_int_equal(e.code, RAMA_EUSAGE);
	rama_arena_fini(&a);
}

static void preload_comes_first(void **state)
{
	char *words[] = { "a", "b c", NULL };
	struct rama_program kind = { 0 };
	struct rama_arena a = { 0 };

	(void)state;
	setenv("LD_PRELOAD", "", 1);
	assert_string_equal(rama_launch_vars_preload("/l.so", &kind, &a), "/l.so");
	kind.why = RAMA_UNSEEN_STATIC;
	if (rama_program_stops(kind.why))
		assert_string_equal(rama_launch_vars_preload("/l.so", &kind, &a), "");
	unsetenv("LD_PRELOAD");
	assert_string_equal(rama_launch_vars_joined(words, &a), "a b c");
	rama_arena_fini(&a);
}

static void layers_have_words(void **state)
{
	char text[RAMA_LAUNCH_SWITCH_WORDS];

	(void)state;
	assert_string_equal(rama_launch_switch_words(text, 0), "off");
	assert_string_equal(rama_launch_switch_words(text, UINT32_MAX), "all");
	assert_string_equal(rama_launch_switch_words(text, 1u << RAMA_SEG_LAYER_POSIX |
								   1u << RAMA_SEG_LAYER_STDIO),
			    "POSIX,STDIO");
}

UNIT_GROUP(vars, test(sizes_and_tags_are_known), test(globs_are_joined), test(preload_comes_first),
	   test(layers_have_words))
