/* SPDX-License-Identifier: BSD-3-Clause */
/* What libc answers is the truth: its regular expressions in the C locale, and its globs. */
#include "unit.h"

#include <fnmatch.h>
#include <regex.h>

#include "base/pattern.h"

static struct rama_patterns ps;

static int add(enum rama_pattern_kind kind, const char *pattern)
{
	const char *why = NULL;
	int n;

	rama_patterns_init(&ps);
	n = rama_patterns_add(&ps, kind, pattern, strlen(pattern), &why);
	assert_true((n < 0) == (why != NULL));
	return n;
}

/* the text is copied so that a sanitizer sees a read beyond its end */
static bool matches(const char *text)
{
	size_t len = strlen(text);
	char *copy = malloc(len > 0 ? len : 1);
	bool found;

	assert_non_null(copy);
	memcpy(copy, text, len);
	found = rama_patterns_match(&ps, 0, copy, len);
	free(copy);
	return found;
}

/* ---- regular expressions --------------------------------------------------------------------- */

static void regexes_by_hand(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool found;
	} rows[] = {
		{ "", "", true },
		{ "", "x", true },
		{ "a", "xay", true },
		{ "a", "xyz", false },
		{ "^/scratch/", "/scratch/a", true },
		{ "^/scratch/", "/home/scratch/a", false },
		{ "\\.h5$", "/data/a.h5", true },
		{ "\\.h5$", "/data/a.h5.tmp", false },
		{ "\\.h5$", "/data/ah5", false },
		{ "a.c", "abc", true },
		{ "a.c", "ac", false },
		{ "^(ab|cd)+$", "abcdab", true },
		{ "^(ab|cd)+$", "abcda", false },
		{ "^a{2,3}$", "a", false },
		{ "^a{2,3}$", "aa", true },
		{ "^a{2,3}$", "aaa", true },
		{ "^a{2,3}$", "aaaa", false },
		{ "^a{2,}$", "a", false },
		{ "^a{2,}$", "aaaaaaa", true },
		{ "^a{,2}$", "", true },
		{ "^a{,2}$", "aaa", false },
		{ "^(ab){2}c{0}d$", "ababd", true },
		{ "^(ab){2}c{0}d$", "ababcd", false },
		{ "[[:digit:]]{4}", "run-2026.log", true },
		{ "[[:digit:]]{4}", "run-206.log", false },
		{ "^[^a-c]$", "d", true },
		{ "^[^a-c]$", "b", false },
		{ "^[]x]$", "]", true },
		{ "^[a-]$", "-", true },
		{ "^(a*)*$", "aaa", true },
		{ "^(a*)*$", "aab", false },
		{ "^((a|b)*c|(d|e)+f){1,2}$", "ababcddef", true },
		{ "^((a|b)*c|(d|e)+f){1,2}$", "ababcddefc", false },
		{ "x|^$", "", true },
		{ "x|^$", "y", false },
		{ "a)", "a)", true },
		{ "\\<tmp\\>", "/a/tmp/b", true },
		{ "\\<tmp\\>", "/a/tmp_1", false },
		{ "^\\w+\\s\\W$", "a_1 -", true },
		{ "^.$", "\xff", true },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		assert_true(add(RAMA_PATTERN_REGEX, rows[i].pattern) == 0);
		if (matches(rows[i].text) != rows[i].found)
			fail_msg("'%s' on '%s' is wrong", rows[i].pattern, rows[i].text);
	}
}

static void wrong_ones_are_refused(void **state)
{
	static const char *const rows[] = {
		"*",	     "+a",     "a|*",	  "(",	      "(a",    "a{2,1}", "a{",
		"a{x}",	     "{1}",    "^*",	  "[a",	      "[z-a]", "a\\",	 "[[:foo:]]",
		"[[:alpha]", "(a)\\1", "[a-c-e]", "[[.ab.]]", "()(",   "[",	 "a{}"
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++)
		if (add(RAMA_PATTERN_REGEX, rows[i]) != RAMA_EUSAGE)
			fail_msg("'%s' is taken", rows[i]);
}

static void large_ones_are_refused_and_leave_nothing(void **state)
{
	const char *why;
	char deep[400];

	(void)state;
	assert_int_equal(add(RAMA_PATTERN_REGEX, "a{600}"), RAMA_ELIMIT);
	assert_int_equal(ps.n_nodes, 0);
	assert_int_equal(add(RAMA_PATTERN_REGEX, "((((a{9}){9}){9}){9}){9}"), RAMA_ELIMIT);
	assert_int_equal(add(RAMA_PATTERN_REGEX, "a{40000}"), RAMA_ELIMIT);
	memset(deep, '(', 200);
	memset(deep + 200, ')', 199);
	deep[399] = '\0';
	assert_int_equal(add(RAMA_PATTERN_REGEX, deep), RAMA_ELIMIT);

	/* what fits before stays right when the memory is used up */
	assert_int_equal(add(RAMA_PATTERN_REGEX, "^[x-z]{3}$"), 0);
	while (rama_patterns_add(&ps, RAMA_PATTERN_REGEX, "[ab]{100}", 9, &why) >= 0)
		;
	assert_true(ps.n > 30);
	assert_true(matches("xyz") && !matches("xy"));
	assert_true(rama_patterns_match(&ps, ps.n - 1, "abbbbbbbbbb", 11) == false);
}

/* ---- random ones ----------------------------------------------------------------------------- */

/* few letters, so that many texts match */
static size_t put(char *to, size_t at, size_t room, const char *s)
{
	size_t n = strlen(s);

	if (at + n >= room)
		return at;
	memcpy(to + at, s, n + 1);
	return at + n;
}

static void random_regex(struct rng *r, char *to, size_t room)
{
	static const char *const parts[] = {
		"a",	 "b",	  "c",	  "a",	   "b",		  "ab",
		"-",	 ".",	  "(",	  "(",	   ")",		  ")",
		"|",	 "*",	  "+",	  "?",	   "{2}",	  "{1,2}",
		"{,2}",	 "{1,}",  "{0}",  "^",	   "$",		  "[ab]",
		"[^a]",	 "[a-c]", "[]a]", "[b-]",  "[[:alpha:]]", "[^[:digit:]b]",
		"\\.",	 "\\*",	  "\\w",  "\\W",   "[",		  "{",
		"\\",	 "]",	  "}",	  "[+--]", "[[.a.]b]",	  "[[=c=]]",
		"1",	 "[0-9]", "\\s",  "_",	   "{2,3}",	  "()",
		"[c-a]", "[^]-]", "\\<",  "\\>",   "\\b",
	};
	unsigned n = 1 + (unsigned)rng_below(r, 9);
	size_t at = 0;
	unsigned open = 0;

	to[0] = '\0';
	for (unsigned i = 0; i < n; i++) {
		const char *part = parts[rng_below(r, LENGTH(parts))];

		open += part[0] == '(' && part[1] == '\0';
		at = put(to, at, room, part);
	}
	/* most are closed */
	while (open-- > 0 && rng_below(r, 20) != 0)
		at = put(to, at, room, ")");
}

static void random_text(struct rng *r, char *to, unsigned most)
{
	static const char letters[] = "aaabbbccc-.*_1] +A/";
	unsigned n = (unsigned)rng_below(r, most);

	for (unsigned i = 0; i < n; i++)
		to[i] = letters[rng_below(r, sizeof(letters) - 1)];
	to[n] = '\0';
}

static void compare_regex(struct rng *r, const char *pattern, unsigned *compared, unsigned *found)
{
	regex_t libc;
	bool good = regcomp(&libc, pattern, REG_EXTENDED | REG_NOSUB) == 0;
	int ours = add(RAMA_PATTERN_REGEX, pattern);

	if (ours != RAMA_ELIMIT && good != (ours >= 0))
		fail_msg("'%s': libc says %d, we say %d", pattern, good, ours);
	for (unsigned i = 0; good && ours >= 0 && i < 25; i++) {
		char text[24];
		bool yes;

		random_text(r, text, i < 3 ? 3 : sizeof(text));
		yes = regexec(&libc, text, 0, NULL, 0) == 0;
		if (yes != matches(text))
			fail_msg("'%s' on '%s': libc says %d", pattern, text, yes);
		++*compared;
		*found += yes;
	}
	if (good)
		regfree(&libc);
}

static void random_regexes_are_as_in_libc(void **state)
{
	struct rng r = { 1 };
	unsigned compared = 0, found = 0;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		char pattern[128];

		random_regex(&r, pattern, sizeof(pattern));
		compare_regex(&r, pattern, &compared, &found);
	}
	/* the comparison means something only if both answers are common */
	assert_true(compared > 100000);
	assert_true(found > compared / 10 && found < compared * 9 / 10);
}

static void every_byte_of_every_class(void **state)
{
	static const char *const patterns[] = { "[[:alpha:]]",
						"[[:digit:]]",
						"[[:alnum:]]",
						"[[:upper:]]",
						"[[:lower:]]",
						"[[:space:]]",
						"[[:blank:]]",
						"[[:punct:]]",
						"[[:print:]]",
						"[[:graph:]]",
						"[[:cntrl:]]",
						"[[:xdigit:]]",
						"\\w",
						"\\W",
						"\\s",
						"\\S",
						"[^[:alpha:]]",
						"[!-~]",
						"." };

	(void)state;
	for (size_t i = 0; i < LENGTH(patterns); i++) {
		regex_t libc;

		assert_int_equal(regcomp(&libc, patterns[i], REG_EXTENDED | REG_NOSUB), 0);
		assert_int_equal(add(RAMA_PATTERN_REGEX, patterns[i]), 0);
		for (unsigned c = 1; c < 256; c++) {
			char text[2] = { (char)c, '\0' };

			if (matches(text) != (regexec(&libc, text, 0, NULL, 0) == 0))
				fail_msg("'%s' is wrong about byte %u", patterns[i], c);
		}
		regfree(&libc);
	}
}

static void globs_by_hand(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool found;
	} rows[] = {
		{ "*.h5", "/data/deep/a.h5", true },
		{ "*.h5", "/data/a.h5x", false },
		{ "/data/*", "/data/a/b", true },
		{ "/data/*", "/home/data/a", false },
		{ "/data/?", "/data/a", true },
		{ "/data/?", "/data/ab", false },
		{ "*/tmp/*", "/a/tmp/b", true },
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "*[0-9]", "step7", true },
		{ "*[!0-9]", "step7", false },
		{ "\\*", "*", true },
		{ "\\*", "x", false },
		{ "a[", "a[", true },
		{ "a.b", "axb", false },
		{ "(a|b)+", "(a|b)+", true },
		{ "^a$", "a", false },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		assert_true(add(RAMA_PATTERN_GLOB, rows[i].pattern) == 0);
		if (matches(rows[i].text) != rows[i].found)
			fail_msg("'%s' on '%s' is wrong", rows[i].pattern, rows[i].text);
	}
}

static void random_globs_are_as_in_libc(void **state)
{
	static const char *const parts[] = { "a",    "b",    "*",    "*",     "*",	     "?",
					     "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]",	     "/",
					     ".",    "-",    "1",    "\\*",   "[[:alpha:]]", "[a-]",
					     "ab",   "]",    "\\a" };
	struct rng r = { 2 };
	unsigned compared = 0, found = 0;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		char pattern[64];
		size_t at = 0;

		pattern[0] = '\0';
		for (uint64_t n = rng_below(&r, 6); n > 0; n--)
			at = put(pattern, at, sizeof(pattern), parts[rng_below(&r, LENGTH(parts))]);
		assert_true(add(RAMA_PATTERN_GLOB, pattern) == 0);
		for (unsigned k = 0; k < 20; k++) {
			char text[16];
			bool yes;

			random_text(&r, text, k < 10 ? 5 : sizeof(text));
			yes = fnmatch(pattern, text, 0) == 0;
			if (yes != matches(text))
				fail_msg("'%s' on '%s': libc says %d", pattern, text, yes);
			compared++;
			found += yes;
		}
	}
	assert_true(found > compared / 20);
}

/* what takes a backtracking matcher longer than the universe exists */
static void time_does_not_explode(void **state)
{
	char text[4001];

	(void)state;
	memset(text, 'a', 4000);
	text[4000] = '\0';
	assert_int_equal(add(RAMA_PATTERN_REGEX, "^(a|a)*(a*)*(aa?)*b$"), 0);
	assert_false(matches(text));
	assert_int_equal(add(RAMA_PATTERN_GLOB, "*a*a*a*a*a*a*a*a*a*b"), 0);
	assert_false(matches(text));
}

UNIT_GROUP(pattern, test(regexes_by_hand), test(wrong_ones_are_refused),
	   test(large_ones_are_refused_and_leave_nothing), test(random_regexes_are_as_in_libc),
	   test(every_byte_of_every_class), test(globs_by_hand), test(random_globs_are_as_in_libc),
	   test(time_does_not_explode))
